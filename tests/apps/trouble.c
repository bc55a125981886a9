/* SPDX-License-Identifier: MIT */
/* trouble leak|step: what somebody new to nvsnoop may look for. leak: each batch keeps a buffer
 * that nobody frees. step: one of many steps takes long, because the host does something else. */
#include <string.h>
#include <unistd.h>
#include "app.h"

#define APART __attribute__((noinline))
#define BATCHES 40
#define STEPS 40
#define SLOW 25
#define BATCH_BYTES 1000000u

static CUfunction add;
static CUdeviceptr data;

APART static CUdeviceptr load_batch(void)
{
	CUdeviceptr batch;

	CK(cuMemAlloc_v2(&batch, BATCH_BYTES));
	return batch;
}

APART static void leak(void)
{
	for (int i = 0; i < BATCHES; i++) {
		CUdeviceptr kept = load_batch(), scratch = load_batch();

		app_add(add, kept, 1, NULL);
		CK(cuCtxSynchronize());
		CK(cuMemFree_v2(scratch));
		usleep(1000);
	}
}

APART static void step(void)
{
	for (int i = 0; i < STEPS; i++) {
		app_add(add, data, 1, NULL);
		CK(cuCtxSynchronize());
		if (i == SLOW)
			usleep(400000); /* reads its next data */
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	app_context(0);
	add = app_kernel("softgpu_add");
	CK(cuMemAlloc_v2(&data, BATCH_BYTES));
	if (!strcmp(what, "leak"))
		leak();
	else
		step();
	puts("done");
	return 0;
}
