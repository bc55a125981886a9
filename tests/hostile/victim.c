/* SPDX-License-Identifier: MIT */
/* Submits once. Linked with the library itself, so that the library is loaded where the loader
 * refuses to preload it. */
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
