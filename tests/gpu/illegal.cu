/* SPDX-License-Identifier: MIT */
/* A kernel whose store of 0x12345678 tests/gpu/faults.py replaces by an instruction that does not exist. */
struct args {
	int *p;
	unsigned long long at;
	int bad;
};

extern "C" __global__ void illegal(struct args a)
{
	if (a.bad)
		a.p[threadIdx.x] = 0x12345678;
	a.p[32] = 1;
}
