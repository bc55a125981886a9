/* SPDX-License-Identifier: MIT */
/* cuFFT and cuBLAS on all GPUs: one plan and one product, each distributed by the library. */
#include <cublasXt.h>
#include <cufftXt.h>
#include <vector>
#include "common.cuh"

#define FFT(call)                                                                                  \
	do {                                                                                       \
		cufftResult r_ = (call);                                                           \
		if (r_ != CUFFT_SUCCESS) {                                                         \
			printf("%s: %d\n", #call, (int)r_);                                        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)
#define BLAS(call)                                                                                 \
	do {                                                                                       \
		cublasStatus_t r_ = (call);                                                        \
		if (r_ != CUBLAS_STATUS_SUCCESS) {                                                 \
			printf("%s: %d\n", #call, (int)r_);                                        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void transform(std::vector<int> &gpus)
{
	const int n = 1 << 20;
	std::vector<cufftComplex> data(n);
	cufftHandle plan;
	cudaLibXtDesc *spread;
	std::vector<size_t> work(gpus.size());

	for (int i = 0; i < n; i++)
		data[i] = {(float)(i % 97), (float)(i % 31)};
	FFT(cufftCreate(&plan));
	FFT(cufftXtSetGPUs(plan, (int)gpus.size(), gpus.data()));
	FFT(cufftMakePlan1d(plan, n, CUFFT_C2C, 1, work.data()));
	FFT(cufftXtMalloc(plan, &spread, CUFFT_XT_FORMAT_INPLACE));
	FFT(cufftXtMemcpy(plan, spread, data.data(), CUFFT_COPY_HOST_TO_DEVICE));
	FFT(cufftXtExecDescriptorC2C(plan, spread, spread, CUFFT_FORWARD));
	FFT(cufftXtMemcpy(plan, data.data(), spread, CUFFT_COPY_DEVICE_TO_HOST));
	FFT(cufftXtFree(spread));
	FFT(cufftDestroy(plan));
	printf("fft %016llx\n", (unsigned long long)checksum(data.data(), n * sizeof(data[0])));
}

static void product(std::vector<int> &gpus)
{
	const size_t n = 2048;
	std::vector<float> a(n * n), b(n * n), c(n * n);
	cublasXtHandle_t handle;
	float one = 1, zero = 0;

	for (size_t i = 0; i < n * n; i++) {
		a[i] = (float)(i % 7);
		b[i] = (float)(i % 5);
	}
	BLAS(cublasXtCreate(&handle));
	BLAS(cublasXtDeviceSelect(handle, (int)gpus.size(), gpus.data()));
	BLAS(cublasXtSetBlockDim(handle, 1024));
	BLAS(cublasXtSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.data(), n, b.data(), n,
			   &zero, c.data(), n));
	BLAS(cublasXtDestroy(handle));
	printf("product %016llx\n", (unsigned long long)checksum(c.data(), n * n * sizeof(c[0])));
}

int main()
{
	int count;

	CHECK(cudaGetDeviceCount(&count));
	std::vector<int> gpus(count);
	for (int i = 0; i < count; i++)
		gpus[i] = i;
	transform(gpus);
	product(gpus);
	return 0;
}
