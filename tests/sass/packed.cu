/* SPDX-License-Identifier: MIT */
/*
 * One kernel in fatbins of every compression mode, for architectures of one kind and of several:
 *
 *	for mode in none speed size; do
 *		nvcc -fatbin --compress-mode=$mode -gencode arch=compute_75,code=sm_75 \
 *		    -gencode arch=compute_90,code=[sm_90,compute_90] \
 *		    -gencode arch=compute_90a,code=sm_90a -o data/packed-$mode.fatbin packed.cu
 *	done
 */
extern "C" __global__ void scale(float *a, float by)
{
	a[blockIdx.x * blockDim.x + threadIdx.x] *= by;
}
