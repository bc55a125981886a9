/* SPDX-License-Identifier: MIT */
/*
 * What the CUDA victims share: a check around every call, and a checksum of results, so that a run with the library
 * can be held against one without.
 */
#ifndef NVSNOOP_TEST_COMMON_CUH
#define NVSNOOP_TEST_COMMON_CUH

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t result_ = (call);                                                      \
		if (result_ != cudaSuccess) {                                                      \
			printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                       \
			       cudaGetErrorString(result_));                                       \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* FNV-1a. */
static inline uint64_t checksum(const void *data, size_t bytes)
{
	const unsigned char *p = (const unsigned char *)data;
	uint64_t sum = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < bytes; i++)
		sum = (sum ^ p[i]) * 0x100000001b3ull;
	return sum;
}

/* Prints the checksum of a buffer on the device. */
static inline void print_device_checksum(const char *name, const void *device, size_t bytes)
{
	void *host = malloc(bytes);

	CHECK(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
	printf("%s %016llx\n", name, (unsigned long long)checksum(host, bytes));
	free(host);
}

#endif
