/* SPDX-License-Identifier: MIT */
/* Submits once; linked with the library itself, so that it is there where the loader refuses to
 * preload. */
#include <unistd.h>
#include "tests/apps/app.h"

int main(void)
{
	CUdeviceptr p;

	app_context(0);
	CK(cuMemAlloc_v2(&p, 4096));
	CK(cuMemsetD32_v2(p, 7, 1));
	printf("word %u, uid %d of %d\n", app_word(p), (int)geteuid(), (int)getuid());
	return 0;
}
