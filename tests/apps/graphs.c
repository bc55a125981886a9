/* SPDX-License-Identifier: MIT */
/* graphs [RUNS]: graphs of 1 to 200 captured launches, uploaded and launched several times. Every
 * kernel increments a counter. Also runs on a real GPU. */
#include "app.h"

int main(int argc, char **argv)
{
	static const int lengths[] = {1, 2, 3, 5, 17, 18, 20, 34, 35, 100, 200};
	uint32_t runs = argc > 1 ? (uint32_t)atoi(argv[1]) : 4, expect = 0;
	CUfunction add;
	CUdeviceptr d;
	CUstream s;

	app_context(0);
	add = app_kernel("softgpu_add");
	CK(cuMemAlloc_v2(&d, 512));
	CK(cuMemsetD32_v2(d, 0, 4));
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuCtxSynchronize());
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		CUgraph g;
		CUgraphExec e;

		CK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
		for (int k = 0; k < lengths[i]; k++)
			app_add(add, d, 1, s);
		CK(cuStreamEndCapture(s, &g));
		CK(cuGraphInstantiateWithFlags(&e, g, 0));
		if (i % 2)
			CK(cuGraphUpload(e, s));
		for (uint32_t r = 0; r < runs; r++) {
			CK(cuGraphLaunch(e, s));
			app_add(add, d, 1, s);
		}
		CK(cuStreamSynchronize(s));
		expect += runs * ((uint32_t)lengths[i] + 1);
		EXPECT(app_word(d) == expect, "after graphs of %d launches %u counted, not %u",
		       lengths[i], app_word(d), expect);
		CK(cuGraphExecDestroy(e));
		CK(cuGraphDestroy(g));
	}
	printf("graphs ok, %u launches\n", expect);
	return 0;
}
