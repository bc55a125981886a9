/* SPDX-License-Identifier: MIT */
/* Replaces libcuda in synthetic stacks: exported entry points, and one function that is not
 * exported. */
#define NVS_CODE(name) __asm__(".rept 64\n\tnop\n\t.endr\n\t/* " #name " */")

void cuLaunchKernel(void);
void cuMemcpyHtoDAsync_v2(void);
void *cuFakeInternal(void);

void cuLaunchKernel(void)
{
	NVS_CODE(launch);
}

void cuMemcpyHtoDAsync_v2(void)
{
	NVS_CODE(copy);
}

__attribute__((noinline)) static void submit(void)
{
	NVS_CODE(submit);
}

/* Where the function without a name lies. */
void *cuFakeInternal(void)
{
	return (void *)submit;
}
