/* SPDX-License-Identifier: MIT */
/* Kernels with source lines, for tests of --fault: data/lines-sm_90.cubin is
 * nvcc -O2 -lineinfo -arch=sm_90 -cubin lines.cu, run in this folder. */

extern "C" __global__ void store(int *p, long at)
{
	p[at] = 1;
}

extern "C" __global__ void load(int *p, int *q)
{
	int v = *q;

	p[1] = v;
}
