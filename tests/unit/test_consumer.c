/* SPDX-License-Identifier: MIT */
/* Public reading: what a consumer receives, how it stops the reading, and consumers that were built
 * for another version of the library. */
/* LINK: decode -lzstd */
#include <errno.h>
#include "tests/unit/expect.h"
#include "tests/unit/mktrace.h"
#include "nvsnoop/decode.h"

static char path[] = "/tmp/nvsnoop-consumer-XXXXXX";

/* Two kernels by one handle, of which the second fails, and a graph of one node that is launched.
 */
static void api(struct mk *m, uint32_t number, const char *text, uint32_t length, uint32_t nargs)
{
	struct nvs_rec_api *rec = mk_rec(m, NVS_REC_API, sizeof(*rec) + length);

	rec->api = number;
	rec->nargs = nargs;
	rec->length = length;
	memcpy(rec->text, text, length);
}

static struct nvs_rec_call *call(struct mk *m, uint32_t number_of_api, uint64_t number,
				 uint32_t nargs)
{
	struct nvs_rec_call *rec = mk_rec(m, NVS_REC_CALL, sizeof(*rec) + nargs * 8);

	rec->api = number_of_api;
	rec->number = number;
	rec->begin = 5;
	rec->depth = 1;
	rec->nargs = (uint16_t)nargs;
	return rec;
}

static void launch(struct mk *m, uint64_t number, uint32_t result)
{
	struct nvs_rec_call_begin *begin = mk_rec(m, NVS_REC_CALL_BEGIN, sizeof(*begin));
	struct nvs_rec_call *rec;

	begin->api = 1;
	begin->number = number;
	begin->begin = 5;
	begin->depth = 1;
	mk_simple(m, 0, 0, 4)->rec.flags |= 1u << NVS_SUB_CALL_SHIFT;
	rec = call(m, 1, number, 7);
	rec->result = result;
	rec->args[0] = 0xf00;
	for (uint32_t i = 1; i < 7; i++)
		rec->args[i] = i;
}

static void make_trace(void)
{
	static const char entry[] =
		"cuLaunchKernel\0launch\0f:function\0gridDimX:u32\0gridDimY:u32\0"
		"gridDimZ:u32\0blockDimX:u32\0blockDimY:u32\0blockDimZ:u32";
	static const char of_graphs[] = "cuGraphLaunch\0graph-launch\0hGraphExec:exec";
	struct nvs_rec_kernel *kernel;
	struct nvs_rec_graph *graph;
	struct mk m;

	memset(&m, 0, sizeof(m));
	mk_open(&m, path);
	mk_thread(&m, 0, 100, "main");
	mk_channel(&m, 0);
	api(&m, 1, entry, sizeof(entry), 7);
	api(&m, 2, of_graphs, sizeof(of_graphs), 1);
	kernel = mk_rec(&m, NVS_REC_KERNEL, sizeof(*kernel) + 4);
	kernel->rec.flags = NVS_KERNEL_ATTRS;
	kernel->function = 0xf00;
	kernel->registers = 40;
	kernel->length = 4;
	memcpy(kernel->name, "step", 4);
	launch(&m, 0, 0);
	launch(&m, 1, 1);
	graph = mk_rec(&m, NVS_REC_GRAPH, sizeof(*graph) + sizeof(graph->nodes[0]));
	graph->rec.flags = NVS_GRAPH_LAST;
	graph->exec = 0xe00;
	graph->event = NVS_GRAPH_INSTANTIATED;
	graph->nnodes = 1;
	graph->nodes[0].function = 0xf00;
	graph->nodes[0].grid[0] = 9;
	call(&m, 2, 2, 1)->args[0] = 0xe00;
	mk_end(&m);
	mk_frame_end(&m);
	mk_close(&m);
}

struct seen {
	uint32_t submissions, called, operations, calls, launches, graphs, records, findings;
	int answer; /* to the second submission */
};

static int on_submission(void *arg, struct nvs_trace *t, const struct nvs_submission *s,
			 const struct nvs_call *c)
{
	struct seen *seen = arg;

	seen->called += c && !strcmp(nvs_call_api_name(c), "cuLaunchKernel");
	return ++seen->submissions == 2 ? seen->answer : 0;
}

static int on_operation(void *arg, struct nvs_trace *t, const struct nvs_operation *o)
{
	((struct seen *)arg)->operations++;
	return 0;
}

static int on_call(void *arg, struct nvs_trace *t, const struct nvs_call *c)
{
	struct nvs_arg a;

	((struct seen *)arg)->calls++;
	if (nvs_call_group(c) != NVS_CALL_GROUP_LAUNCH)
		return 0;
	EXPECT(nvs_call_arg(c, "gridDimY", &a) && a.value == 2 && a.kind == NVS_KIND_UNSIGNED);
	EXPECT(!nvs_call_arg(c, "gridDim", &a));
	EXPECT_EQ(nvs_call_ran(c), c->number == 0);
	return 0;
}

static int on_launch(void *arg, struct nvs_trace *t, const struct nvs_launch *l)
{
	((struct seen *)arg)->launches++;
	EXPECT_STR(l->kernel, "step");
	EXPECT(l->has_shape && l->grid[0] == 1 && l->grid[2] == 3 && l->block[0] == 4);
	EXPECT(l->has_attributes && l->registers == 40);
	return 0;
}

static int on_graph(void *arg, struct nvs_trace *t, const struct nvs_graph *g)
{
	static const uint32_t events[] = {NVS_GRAPH_INSTANTIATED, NVS_GRAPH_LAUNCHED};
	struct seen *seen = arg;

	EXPECT_EQ(g->event, events[seen->graphs++]);
	EXPECT_EQ(!g->call, g->event == NVS_GRAPH_INSTANTIATED);
	EXPECT(g->nnodes == 1 && g->nodes[0].grid[0] == 9 && g->exec == 0xe00);
	EXPECT_STR(nvs_graph_kernel(g, 0), "step");
	EXPECT_STR(nvs_graph_kernel(g, 1), "");
	return 0;
}

static int on_record(void *arg, struct nvs_trace *t, const struct nvs_rec *rec)
{
	((struct seen *)arg)->records++;
	return 0;
}

static int on_finding(void *arg, struct nvs_trace *t, const struct nvs_finding *f)
{
	((struct seen *)arg)->findings++;
	EXPECT(*f->text);
	return 0;
}

static const struct nvs_consumer all = {
	.size = sizeof(all),
	.flags = NVS_READ_CALLS,
	.submission = on_submission,
	.operation = on_operation,
	.call = on_call,
	.launch = on_launch,
	.graph = on_graph,
	.record = on_record,
	.finding = on_finding,
};

static void test_all(struct nvs_trace *t)
{
	struct nvs_error err;

	for (int pass = 0; pass < 2; pass++) {
		struct seen seen = {0};

		EXPECT_EQ(nvs_trace_read(t, &all, &seen, &err), 0);
		EXPECT_EQ(seen.submissions, 2);
		EXPECT_EQ(seen.called, 2);
		EXPECT_EQ(seen.calls, 3);
		EXPECT_EQ(seen.launches, 2);
		EXPECT_EQ(seen.graphs, 2);
		EXPECT(seen.records > 6);
		/* The end of the channel is not told. */
		EXPECT_EQ(seen.findings, 1);
	}
	EXPECT_EQ(nvs_trace_read(t, NULL, NULL, NULL), 0);
	EXPECT_EQ(nvs_trace_session(t)->counts.submissions, 2);
}

/* Each callback alone gets what it gets with all others. */
static void test_needs(struct nvs_trace *t)
{
	struct nvs_consumer c = {.size = sizeof(c)};
	struct seen seen = {0};

	c.submission = on_submission;
	EXPECT_EQ(nvs_trace_read(t, &c, &seen, NULL), 0);
	EXPECT_EQ(seen.submissions, 2);
	EXPECT_EQ(seen.called, 0);
	c.submission = NULL;
	c.launch = on_launch;
	EXPECT_EQ(nvs_trace_read(t, &c, &seen, NULL), 0);
	EXPECT_EQ(seen.launches, 2);
	c.launch = NULL;
	c.graph = on_graph;
	EXPECT_EQ(nvs_trace_read(t, &c, &seen, NULL), 0);
	EXPECT_EQ(seen.graphs, 2);
	EXPECT_EQ(seen.submissions, 2);
	EXPECT_EQ(seen.calls + seen.operations + seen.records + seen.findings, 0);
}

static void test_end(struct nvs_trace *t)
{
	struct seen seen = {.answer = 7};
	struct nvs_error err;

	EXPECT_EQ(nvs_trace_read(t, &all, &seen, &err), 7);
	EXPECT_EQ(seen.submissions, 2);
	EXPECT_EQ(seen.calls, 1);
	EXPECT_EQ(seen.findings, 0);
	seen = (struct seen){.answer = -EINTR};
	EXPECT_EQ(nvs_trace_read(t, &all, &seen, &err), -EINTR);
	EXPECT(strstr(err.text, path) && strstr(err.text, strerror(EINTR)));
	seen = (struct seen){0};
	EXPECT_EQ(nvs_trace_read(t, &all, &seen, &err), 0);
	EXPECT_EQ(seen.calls, 3);
}

/* Programs that were built before something was added, or after. */
static void test_sizes(struct nvs_trace *t)
{
	struct {
		struct nvs_consumer c;
		void *more;
	} newer = {.c = all};
	struct nvs_read_options options = {.partial = true};
	struct nvs_consumer older = all;
	struct seen seen = {0};
	struct nvs_trace *other;
	struct nvs_error err;

	older.size = offsetof(struct nvs_consumer, launch);
	EXPECT_EQ(nvs_trace_read(t, &older, &seen, &err), 0);
	EXPECT_EQ(seen.calls, 3);
	EXPECT_EQ(seen.launches + seen.graphs + seen.records + seen.findings, 0);
	older.size = 0;
	EXPECT_EQ(nvs_trace_read(t, &older, &seen, &err), -EINVAL);
	EXPECT(strstr(err.text, "size"));
	newer.c.size = sizeof(newer);
	EXPECT_EQ(nvs_trace_read(t, &newer.c, &seen, &err), 0);
	newer.more = &newer;
	EXPECT_EQ(nvs_trace_read(t, &newer.c, &seen, &err), -EINVAL);
	EXPECT_EQ(nvs_trace_open(&other, path, &options, &err), -EINVAL);
	EXPECT(!other && strstr(err.text, "size"));
	EXPECT_EQ(nvs_struct_size("nvs_consumer"), sizeof(struct nvs_consumer));
	EXPECT_EQ(nvs_struct_size("nvs_trace"), 0);
}

int main(void)
{
	struct nvs_error err;
	struct nvs_trace *t;

	close(mkstemp(path));
	make_trace();
	if (nvs_trace_open(&t, path, NULL, &err)) {
		printf("%s\n", err.text);
		return 1;
	}
	test_all(t);
	test_needs(t);
	test_end(t);
	test_sizes(t);
	nvs_trace_close(t);
	unlink(path);
	return expect_done();
}
