/* SPDX-License-Identifier: MIT */
/* The API layer with a libcuda without a GPU that reports its calls: calls through every way to get
 * an entry point, calls that do not return, and the resulting trace. */
/* LINK: preload decode -lzstd */
#include <dlfcn.h>
#include <libgen.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>
#include "decode/calls/args.h"
#include "decode/calls/handles.h"
#include "decode/trace/stream.h"
#include "preload/api/intercept/api.h"
#include "preload/base/preload.h"
#include "tests/apps/api/fakecuda.h"
#include "tests/unit/expect.h"

typedef int launch_fn(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		      void *, void **, void **);

static char folder[4096], path[4096 + 64];
static struct fake_state *fake;
static void *cuda, *plugin, *lazy, *thrower;

static void *open_beside(const char *name)
{
	void *handle;

	snprintf(path, sizeof(path), "%s/../../apps/api/%s", folder, name);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		printf("%s\n", dlerror());
	return handle;
}

#define GET(name) ((__typeof__(&name##_type))dlsym(cuda, #name))

extern int cuInit_type(unsigned);
extern int cuMemAlloc_v2_type(uint64_t *, size_t);
extern int cuMemcpyHtoD_v2_type(uint64_t, const void *, size_t);
extern int cuStreamSynchronize_type(void *);
extern int cuStreamAddCallback_type(void *, void (*)(void *, int, void *), void *, unsigned);
extern int cuModuleGetFunction_type(void **, void *, const char *);
extern int cuModuleUnload_type(void *);
extern int cuProfilerStart_type(double, double, double, double, double, double, double, double);
extern int cuGetProcAddress_type(const char *, void **, int, uint64_t);
extern int cuGetProcAddress_v2_type(const char *, void **, int, uint64_t, int *);
extern int cuStreamBeginCapture_v2_type(void *, unsigned);
extern int cuStreamBeginRecaptureToGraph_type(void *, unsigned, void *, void *, void *);
extern int cuStreamEndCapture_type(void *, void **);
extern int cuGraphInstantiateWithFlags_type(void **, void *, unsigned long long);
extern int cuGraphLaunch_type(void *, void *);
extern int cuStreamDestroy_v2_type(void *);
extern int cuCtxDestroy_v2_type(void *);
extern int cuLibraryGetKernel_type(void **, void *, const char *);
extern int cuLibraryUnload_type(void *);
extern int cuKernelGetFunction_type(void **, void *);
extern int cuNotListed_type(void);
extern launch_fn cuLaunchKernel_type;

static bool is_thunk(const void *p)
{
	return (uintptr_t)p - (uintptr_t)nvs_api_thunks < sizeof(nvs_api_thunks);
}

/* ---- acting ---- */

static void *function_called(const char *name)
{
	void *f = NULL;

	EXPECT_EQ(GET(cuModuleGetFunction)(&f, (void *)0x3000, name), 0);
	return f;
}

static void act_arguments(void)
{
	void *params[1], *extra[1], *f = function_called("_Z4addiPf");

	EXPECT_EQ(GET(cuLaunchKernel)(f, 1, 2, 3, 4, 5, 6, 7, (void *)0x1234, params, extra), 0);
	EXPECT(fake->last.func == f && fake->stream == (void *)0x1234);
	EXPECT(fake->last.params == params && fake->last.extra == extra);
	for (unsigned i = 0; i < 3; i++) {
		EXPECT_EQ(fake->last.grid[i], i + 1);
		EXPECT_EQ(fake->last.block[i], i + 4);
	}
	EXPECT_EQ(fake->last.shared, 7);
	EXPECT_EQ(GET(cuProfilerStart)(1, 2, 3, 4, 5, 6, 7, 8), 0);
	EXPECT_EQ((uint64_t)fake->sum, 204);
}

static void act_failures(void)
{
	uint64_t p = 0;

	fake->result = 719;
	EXPECT_EQ(GET(cuLaunchKernel)(function_called("_Z4addiPf"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL,
				      NULL),
		  719);
	fake->result = 0;
	EXPECT_EQ(GET(cuMemAlloc_v2)(NULL, 4), 1);
	EXPECT_EQ(GET(cuMemAlloc_v2)(&p, 0), 1);
	EXPECT_EQ(GET(cuMemAlloc_v2)(&p, 4096), 0);
	EXPECT_EQ(p, 0x700000000000ull);
}

static void act_resolving(void)
{
	void *p = NULL, *q = NULL, *r = NULL;
	int status = 9;

	EXPECT_EQ(GET(cuGetProcAddress_v2)("cuGetProcAddress", &p, 12000, 0, &status), 0);
	EXPECT(is_thunk(p) && status == 0);
	EXPECT(p == (void *)GET(cuGetProcAddress_v2));
	/* By what it gave. */
	EXPECT_EQ(((__typeof__(&cuGetProcAddress_v2_type))p)("cuStreamSynchronize", &q, 12000, 0,
							     NULL),
		  0);
	EXPECT(is_thunk(q) && q == (void *)GET(cuStreamSynchronize));
	EXPECT_EQ(((__typeof__(&cuStreamSynchronize_type))q)(NULL), 0);
	EXPECT_EQ(GET(cuGetProcAddress)("cuMemAlloc", &r, 11000, 0), 0);
	EXPECT(r == (void *)GET(cuMemAlloc_v2));
	EXPECT_EQ(GET(cuGetProcAddress)("cuNotListed", &r, 11000, 0), 0);
	EXPECT(r && !is_thunk(r) && !is_thunk(GET(cuNotListed)));
	EXPECT_EQ(GET(cuNotListed)(), 7);
	EXPECT_EQ(GET(cuGetProcAddress_v2)("cuAskedForAlone", &p, 12000, 0, NULL), 0);
	EXPECT(p == r);
	/* For programs built with a default stream for each thread. */
	EXPECT_EQ(GET(cuGetProcAddress_v2)("cuLaunchKernel", &p, 12000, 2, NULL), 0);
	EXPECT(is_thunk(p) && p == dlsym(cuda, "cuLaunchKernel_ptsz"));
	EXPECT_EQ(((launch_fn *)p)(function_called("_Z4addiPf"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL,
				   NULL),
		  0);
	EXPECT_EQ(fake->ptsz_launches, 1);
	EXPECT_EQ(GET(cuGetProcAddress)("cuNothing", &r, 11000, 0), 500);
}

/* What the loader bound: at once, lazily, and in data. */
static void act_linked(void)
{
	uint64_t launches = fake->launches, syncs = fake->syncs;
	void *f = function_called("_Z6linkedv");

	EXPECT_EQ(((int (*)(void *, unsigned))dlsym(plugin, "plugin_launch"))(f, 11), 0);
	EXPECT_EQ(((int (*)(void *, unsigned))dlsym(lazy, "plugin_launch"))(f, 12), 0);
	EXPECT_EQ(((int (*)(void))dlsym(plugin, "plugin_sync"))(), 0);
	EXPECT_EQ(((int (*)(void))dlsym(lazy, "plugin_sync"))(), 0);
	EXPECT_EQ(fake->launches - launches, 2);
	EXPECT_EQ(fake->syncs - syncs, 2);
}

static int midway_looks;

static void look_midway(void)
{
	midway_looks++;
	nvs_api_rebind();
}

/* Looked at while the loader is still at it, an object is left alone, and looked at again. */
static void act_midway(void)
{
	void *midway = open_beside("midway.so"), *halfway;

	EXPECT(midway != NULL);
	if (!midway)
		return;
	*(void (**)(void))dlsym(midway, "midway_hook") = look_midway;
	halfway = open_beside("halfway.so");
	*(void (**)(void))dlsym(midway, "midway_hook") = NULL;
	EXPECT(halfway != NULL && midway_looks > 0);
	if (!halfway)
		return;
	EXPECT(is_thunk(*(void **)dlsym(halfway, "halfway_before")));
	EXPECT(is_thunk(*(void **)dlsym(halfway, "halfway_after")));
	EXPECT_EQ(((int (*)(void))dlsym(halfway, "halfway_midway_again"))(), 14);
}

/* The caller's own view: libcuda is in the plugin's scope and in nobody else's. */
static void act_next(void)
{
	void *(*next)(const char *) = (void *(*)(const char *))dlsym(plugin, "plugin_next");
	void *(*any)(const char *) = (void *(*)(const char *))dlsym(plugin, "plugin_default");

	EXPECT(dlsym(RTLD_DEFAULT, "cuLaunchKernel") == NULL);
	EXPECT(dlsym(RTLD_NEXT, "cuLaunchKernel") == NULL);
	EXPECT(next("cuLaunchKernel") == (void *)GET(cuLaunchKernel));
	EXPECT(any("cuLaunchKernel") == (void *)GET(cuLaunchKernel));
	EXPECT(next("cuNothingAtAll") == NULL);
	EXPECT(any("plugin_next") == (void *)next);
	EXPECT(dlsym(cuda, "dlsym") != NULL);
}

static jmp_buf back;

static void jumper(void *stream, int status, void *user)
{
	longjmp(back, 1);
}

static void nested(void *stream, int status, void *user)
{
	GET(cuStreamSynchronize)(stream);
	(*(int *)user)++;
}

static void leaver(void *stream, int status, void *user)
{
	GET(cuStreamSynchronize)(stream);
	pthread_exit(user);
}

static void *run_leaver(void *arg)
{
	GET(cuStreamAddCallback)(NULL, leaver, arg, 0);
	return NULL;
}

static void act_leaving(void)
{
	pthread_t thread;
	void *result = NULL;
	int n = 0;

	GET(cuStreamAddCallback)(NULL, nested, &n, 0);
	EXPECT_EQ(n, 1);
	EXPECT_EQ(((int (*)(int))dlsym(thrower, "throw_through"))(42), 42);
	if (!setjmp(back))
		GET(cuStreamAddCallback)(NULL, jumper, NULL, 0);
	/* The next call finds the one before it gone. */
	GET(cuStreamSynchronize)((void *)0x77);
	EXPECT(!pthread_create(&thread, NULL, run_leaver, &n) && !pthread_join(thread, &result));
	EXPECT(result == &n);
}

#define RECAPTURED 5

static void act_graph(void)
{
	void *stream = (void *)0x5000, *graph = NULL, *exec = NULL,
	     *f = function_called("captured_kernel");

	EXPECT_EQ(GET(cuStreamBeginCapture_v2)(stream, 0), 0);
	for (unsigned i = 0; i < 40; i++)
		EXPECT_EQ(GET(cuLaunchKernel)(f, i + 1, 1, 1, 64, 1, 1, 0, stream, NULL, NULL), 0);
	EXPECT_EQ(GET(cuStreamEndCapture)(stream, &graph), 0);
	EXPECT_EQ(GET(cuGraphInstantiateWithFlags)(&exec, graph, 0), 0);
	EXPECT_EQ(GET(cuLaunchKernel)(f, 1, 1, 1, 64, 1, 1, 0, stream, NULL, NULL), 0);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(GET(cuGraphLaunch)(exec, stream), 0);
	EXPECT_EQ(GET(cuStreamBeginRecaptureToGraph)(stream, 0, graph, NULL, NULL), 0);
	for (unsigned i = 0; i < RECAPTURED; i++)
		EXPECT_EQ(GET(cuLaunchKernel)(f, i + 1, 1, 1, 64, 1, 1, 0, stream, NULL, NULL), 0);
	EXPECT_EQ(GET(cuStreamEndCapture)(stream, &graph), 0);
}

static char long_name[5000];

/* Names beyond what a call's record keeps, none at all, and a handle that means something else
 * later. */
static void act_names(void)
{
	uint64_t asked;

	memset(long_name, 'n', sizeof(long_name) - 1);
	for (int i = 0; i < 2; i++)
		GET(cuLaunchKernel)
	(function_called(long_name), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	GET(cuLaunchKernel)(function_called("unnamed"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	asked = fake->asked_names;
	GET(cuLaunchKernel)(function_called("_Z4addiPf"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	EXPECT_EQ(fake->asked_names, asked);
	GET(cuModuleUnload)((void *)0x3000);
	GET(cuLaunchKernel)(function_called("_Z4addiPf"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	EXPECT_EQ(fake->asked_names, asked + 1);
}

static void launch_of(void *f)
{
	EXPECT_EQ(GET(cuLaunchKernel)(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 0);
}

/* Handles whose owner is gone mean nothing, and are not to be asked about. */
static void act_owners(void)
{
	void *kernel = NULL, *function = NULL;
	uint64_t asked, kernels;

	asked = fake->asked_names;
	GET(cuCtxDestroy_v2)((void *)0x4000);
	launch_of(function_called("_Z4addiPf"));
	EXPECT_EQ(fake->asked_names, asked + 1);
	EXPECT_EQ(GET(cuLibraryGetKernel)(&kernel, (void *)0x6000, "in_library"), 0);
	launch_of(kernel);
	EXPECT_EQ(fake->asked_kernels, 1);
	/* A driver that does not tell a function's name tells its kernel's. */
	EXPECT_EQ(GET(cuKernelGetFunction)(&function, kernel), 0);
	launch_of(function);
	GET(cuLibraryUnload)((void *)0x6001);
	launch_of(kernel); /* of another library: it is still one */
	EXPECT_EQ(fake->asked_kernels, 2);
	/* The same address, now of something else. */
	GET(cuLibraryUnload)((void *)0x6000);
	asked = fake->asked_names;
	kernels = fake->asked_kernels;
	launch_of(kernel);
	EXPECT_EQ(fake->asked_names, asked + 1);
	EXPECT_EQ(fake->asked_kernels, kernels);
}

/* While one stream is captured, another goes: it is not to be asked about any more. */
static void act_destroyed(void)
{
	void *stream = (void *)0x5100, *graph = NULL;

	EXPECT_EQ(GET(cuStreamBeginCapture_v2)(stream, 0), 0);
	EXPECT_EQ(GET(cuStreamDestroy_v2)((void *)0x5200), 0);
	EXPECT_EQ(fake->asked_destroyed, 0);
	EXPECT_EQ(GET(cuStreamEndCapture)(stream, &graph), 0);
}

/* Generations of handles are counted in 16 bits. */
static void act_generations(void)
{
	void *f = function_called("_Z4addiPf");
	uint64_t asked;

	launch_of(f);
	asked = fake->asked_names;
	/* Each unload counts before and after. */
	for (uint32_t i = 0; i < 1u << 15; i++)
		GET(cuModuleUnload)((void *)0x3000);
	launch_of(f);
	EXPECT_EQ(fake->asked_names, asked + 1);
}

/* ---- what the trace tells ---- */

struct told {
	struct nvs_handles *handles;
	uint64_t calls, launch, direct, captured, failed, nested, unwound, abandoned, early,
		graph_nodes, passed;
	uint64_t linked, long_named, by_name[8], graph_launches, unfinished, last_number[4];
	bool order;
};

static int on_call(void *arg, const struct nvs_call *call)
{
	struct told *t = arg;
	struct nvs_arg f = {0}, grid = {0};

	nvs_handles_call(t->handles, call);
	t->calls++;
	t->failed += nvs_call_failed(call);
	t->unwound += !!(call->flags & NVS_CALL_UNWOUND);
	t->abandoned += !!(call->flags & NVS_CALL_ABANDONED);
	t->early += !!(call->flags & NVS_CALL_EARLY);
	t->nested += call->depth > 1;
	t->unfinished += !call->end;
	t->graph_launches += !strcmp(call->api->name, "cuGraphLaunch");
	if (strcmp(call->api->name, "cuLaunchKernel"))
		return 0;
	t->launch++;
	EXPECT(nvs_call_arg(call, "f", &f) && nvs_call_arg(call, "gridDimX", &grid));
	if (call->result)
		return 0;
	t->captured += !!(call->flags & NVS_CALL_CAPTURED);
	t->direct += !(call->flags & NVS_CALL_CAPTURED);
	t->linked += grid.value == 11 || grid.value == 12;
	if (!strcmp(nvs_handles_get_kernel(t->handles, f.value)->name, "_Z4addiPf"))
		t->by_name[0]++;
	if (!strcmp(nvs_handles_get_kernel(t->handles, f.value)->name, "in_library"))
		t->by_name[2]++;
	if (!strcmp(nvs_handles_get_kernel(t->handles, f.value)->name, long_name))
		t->long_named++;
	if (!strcmp(nvs_handles_get_kernel(t->handles, f.value)->name, "unnamed"))
		t->by_name[1]++;
	return 0;
}

static int on_kernel(void *arg, const struct nvs_rec_kernel *rec)
{
	struct told *t = arg;

	EXPECT_EQ(nvs_handles_kernel(t->handles, rec), 0);
	EXPECT(!(rec->rec.flags & NVS_KERNEL_ATTRS) || rec->registers == 14);
	return 0;
}

static int on_graph(void *arg, const struct nvs_rec_graph *rec)
{
	struct told *t = arg;

	for (uint32_t i = 0; i < rec->nnodes; i++) {
		EXPECT_EQ(rec->nodes[i].grid[0], rec->first + i + 1);
		t->graph_nodes++;
	}
	return nvs_handles_graph(t->handles, rec);
}

static int on_submission(void *arg, struct nvs_trace *trace, const struct nvs_submission *s)
{
	return 0;
}

static int on_record(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec)
{
	const struct nvs_rec_api *api = (const void *)rec;
	void **both = arg;

	if (rec->type == NVS_REC_API && rec->flags & NVS_API_PASSED)
		((struct told *)both[1])->passed += !strcmp(api->text, "cuNotListed")	    ? 1
						    : !strcmp(api->text, "cuAskedForAlone") ? 100
											    : 10000;
	return nvs_calls_record(both[0], rec);
}

static void check(const char *file)
{
	static const struct nvs_stream_consumer consumer = {.submission = on_submission,
							    .record = on_record};
	struct told t = {.handles = nvs_handles_new()};
	struct nvs_calls_sink sink = {
		.call = on_call, .kernel = on_kernel, .graph = on_graph, .arg = &t};
	struct nvs_error err = {""};
	struct nvs_trace *trace;
	void *both[2];

	if (nvs_trace_open(&trace, file, NULL, &err)) {
		printf("%s\n", err.text);
		EXPECT(false);
		return;
	}
	both[0] = nvs_calls_new(trace, &sink);
	both[1] = &t;
	EXPECT_EQ(nvs_stream_read(trace, &consumer, both, &err), 0);
	EXPECT_EQ(nvs_calls_finish(both[0]), 0);
	/* Every launch but the raw one. */
	EXPECT_EQ(t.launch, fake->launches - 1);
	EXPECT_EQ(t.captured, 40 + RECAPTURED);
	EXPECT_EQ(t.direct, fake->launches - 1 - 40 - RECAPTURED - 1);
	EXPECT_EQ(t.linked, 2 + 2); /* and two of the captured ones */
	EXPECT_EQ(t.failed, 1 + 2 + 1);
	EXPECT_EQ(t.early, 2);
	EXPECT_EQ(t.unwound, 2); /* the exception, the thread's end */
	EXPECT_EQ(t.abandoned, 1);
	EXPECT_EQ(t.nested, 2);
	EXPECT_EQ(t.unfinished, 0);
	EXPECT_EQ(t.passed, 101);
	EXPECT_EQ(t.graph_nodes, 40);
	EXPECT_EQ(t.graph_launches, 3);
	EXPECT_EQ(t.by_name[0], 3 + 1 + 2);
	EXPECT_EQ(t.by_name[2], 3); /* twice by its kernel, once by its function */
	EXPECT_EQ(t.by_name[1], 1); /* the driver does not say; the call that made the handle did */
	EXPECT_EQ(t.long_named, 2);
	EXPECT_EQ(nvs_handles_exec_count(t.handles), 1);
	if (nvs_handles_exec_count(t.handles))
		EXPECT_EQ(nvs_handles_exec_at(t.handles, 0)->origin, NVS_GRAPH_FROM_CAPTURE);
	nvs_calls_free(both[0]);
	nvs_handles_free(t.handles);
	nvs_trace_close(trace);
}

/* Without the option snapshot its work is done at no call. */
static void check_hooks(void)
{
	uint32_t of_snapshots = 0, others = 0;

	for (uint32_t i = 0; i < NVS_API_SLOTS && nvs_api_slots[i].api; i++) {
		const struct nvs_api_slot *slot = nvs_api_slots + i;

		of_snapshots += slot->api->for_snapshots;
		others += slot->after != NULL;
		EXPECT(slot->after == (slot->api->for_snapshots ? NULL : slot->api->after));
		EXPECT(slot->before == (slot->api->for_snapshots ? NULL : slot->api->before));
	}
	EXPECT(of_snapshots > 2 && others > 2);
}

int main(int argc, char **argv)
{
	char file[] = "/tmp/nvsnoop-api-XXXXXX", again[8192];
	launch_fn *raw;

	if (!getenv("NVSNOOP_OUT")) {
		/* The library has read its options before main(). */
		close(mkstemp(file));
		setenv("NVSNOOP_OUT", file, 1);
		setenv("NVSNOOP_OPTIONS", "overwrite,quiet", 1);
		execv("/proc/self/exe", argv);
		return 1;
	}
	again[readlink("/proc/self/exe", again, sizeof(again) - 1)] = '\0';
	snprintf(folder, sizeof(folder), "%s", dirname(again));
	nvs_api_start(); /* the library's constructor, which is not linked into this program */
	cuda = open_beside("libcuda.so.1");
	plugin = open_beside("plugin.so");
	lazy = open_beside("plugin_lazy.so");
	thrower = open_beside("thrower.so");
	EXPECT(cuda && plugin && lazy && thrower);
	if (!cuda || !plugin || !lazy || !thrower)
		return expect_done();
	fake = dlsym(cuda, "fake");
	raw = ((launch_fn * (*)(void)) dlsym(cuda, "fake_raw_launch"))();
	EXPECT(is_thunk(GET(cuInit)) && !is_thunk(raw));
	/* Before there is a trace. */
	EXPECT_EQ(GET(cuInit)(0), 0);
	EXPECT_EQ(GET(cuStreamSynchronize)(NULL), 0);
	nvs_session_start();
	EXPECT(nvs_session_is_active());
	EXPECT_EQ(raw((void *)"raw", 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 0);
	act_arguments();
	act_failures();
	act_resolving();
	act_linked();
	act_midway();
	act_next();
	act_leaving();
	act_graph();
	act_names();
	act_owners();
	act_destroyed();
	act_generations();
	check_hooks();
	nvs_session_finish();
	check(getenv("NVSNOOP_OUT"));
	unlink(getenv("NVSNOOP_OUT"));
	return expect_done();
}
