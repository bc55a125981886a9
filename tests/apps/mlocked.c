/* SPDX-License-Identifier: MIT */
/* mlocked: a program that locks all its memory, current and future, and then uses CUDA. Prints how
 * much is locked; exits with 77 if that is not permitted. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "app.h"

int main(void)
{
	char line[256];
	FILE *f;

	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		fprintf(stderr, "mlockall: %s\n", strerror(errno));
		return 77;
	}
	app_context(0);
	CK(cuLaunchKernel(app_kernel("nothing"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	CK(cuCtxSynchronize());
	f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "VmLck:", 6))
			fputs(line, stdout);
	puts("mlocked ok");
	return 0;
}
