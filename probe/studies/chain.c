/* SPDX-License-Identifier: MIT */
/* Chains of a short kernel on one stream, launched as a graph or one by one. */
#include <string.h>
#include "probe/studies/graph.h"

#define ELEMENTS 1024u
#define BLOCK 256u

/* p[i] *= by for n elements. PTX, so that the driver compiles it for the GPU at hand. */
static const char ptx[] = ".version 7.0\n"
			  ".target sm_70\n"
			  ".address_size 64\n"
			  ".visible .entry scale(.param .u64 p, .param .f32 by, .param .u32 n)\n"
			  "{\n"
			  "	.reg .pred %q;\n"
			  "	.reg .f32 %f<3>;\n"
			  "	.reg .b32 %r<6>;\n"
			  "	.reg .b64 %d<4>;\n"
			  "	ld.param.u64 %d1, [p];\n"
			  "	ld.param.f32 %f1, [by];\n"
			  "	ld.param.u32 %r1, [n];\n"
			  "	mov.u32 %r2, %ctaid.x;\n"
			  "	mov.u32 %r3, %ntid.x;\n"
			  "	mov.u32 %r4, %tid.x;\n"
			  "	mad.lo.u32 %r5, %r2, %r3, %r4;\n"
			  "	setp.ge.u32 %q, %r5, %r1;\n"
			  "	@%q bra END;\n"
			  "	cvta.to.global.u64 %d1, %d1;\n"
			  "	mul.wide.u32 %d2, %r5, 4;\n"
			  "	add.u64 %d3, %d1, %d2;\n"
			  "	ld.global.f32 %f2, [%d3];\n"
			  "	mul.f32 %f2, %f2, %f1;\n"
			  "	st.global.f32 [%d3], %f2;\n"
			  "END:\n"
			  "	ret;\n"
			  "}\n";

static void launch_kernel(struct probe_chain *c)
{
	float by = 1.5f;
	uint32_t n = ELEMENTS;
	void *parameters[] = {&c->data.gpu, &by, &n};

	PROBE_CU(cuLaunchKernel(c->kernel, ELEMENTS / BLOCK, 1, 1, BLOCK, 1, 1, 0, c->stream,
				parameters, NULL));
}

void probe_chain_open(struct probe_chain *c)
{
	*c = (struct probe_chain){0};
	if (!cu.cuModuleLoadData || !cu.cuModuleGetFunction || !cu.cuModuleUnload ||
	    !cu.cuLaunchKernel || !cu.cuStreamBeginCapture_v2 || !cu.cuStreamEndCapture ||
	    !cu.cuStreamDestroy_v2 || !cu.cuGraphInstantiateWithFlags || !cu.cuGraphUpload ||
	    !cu.cuGraphLaunch || !cu.cuGraphExecDestroy || !cu.cuGraphDestroy)
		probe_die("libcuda.so.1 cannot upload graphs: the driver is too old");
	probe_memory(&c->data, PROBE_DEVICE, ELEMENTS * sizeof(float));
	PROBE_CU(cuStreamCreate(&c->stream, PROBE_STREAM_NON_BLOCKING));
	PROBE_CU(cuMemsetD8Async(c->data.gpu, 0, c->data.size, c->stream));
	PROBE_CU(cuModuleLoadData(&c->module, ptx));
	PROBE_CU(cuModuleGetFunction(&c->kernel, c->module, "scale"));
	/* The first launch may load code. */
	launch_kernel(c);
	probe_chain_wait(c);
}

void probe_chain_build(struct probe_chain *c, uint32_t n)
{
	uint64_t begin;

	PROBE_CU(cuStreamBeginCapture_v2(c->stream, 0));
	while (n--)
		launch_kernel(c);
	PROBE_CU(cuStreamEndCapture(c->stream, &c->graph));
	begin = probe_now();
	PROBE_CU(cuGraphInstantiateWithFlags(&c->exec, c->graph, 0));
	c->instantiate_us = (double)(probe_now() - begin) / 1000;
	PROBE_CU(cuGraphUpload(c->exec, c->stream));
	probe_chain_wait(c);
}

void probe_chain_destroy(struct probe_chain *c)
{
	PROBE_CU(cuGraphExecDestroy(c->exec));
	PROBE_CU(cuGraphDestroy(c->graph));
	c->exec = c->graph = NULL;
}

void probe_chain_close(struct probe_chain *c)
{
	PROBE_CU(cuModuleUnload(c->module));
	PROBE_CU(cuStreamDestroy_v2(c->stream));
	probe_memory_free(&c->data);
}

double probe_chain_launch(struct probe_chain *c)
{
	uint64_t begin = probe_now();
	int error = cu.cuGraphLaunch(c->exec, c->stream);
	uint64_t end = probe_now();

	probe_check(error, "cuGraphLaunch");
	return (double)(end - begin) / 1000;
}

double probe_chain_kernels(struct probe_chain *c, uint32_t n)
{
	uint64_t begin = probe_now();

	while (n--)
		launch_kernel(c);
	return (double)(probe_now() - begin) / 1000;
}

void probe_chain_wait(struct probe_chain *c)
{
	PROBE_CU(cuStreamSynchronize(c->stream));
}
