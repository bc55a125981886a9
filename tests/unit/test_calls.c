/* SPDX-License-Identifier: MIT */
/* Calls as the reader assembles them, from hand-made traces: nesting, calls that never return,
 * losses, and invalid records. */
/* LINK: decode -lzstd */
#include "decode/trace/records.h"
#include "decode/calls/args.h"
#include "decode/calls/handles.h"
#include "decode/calls/pass.h"
#include "decode/trace/stream.h"
#include "tests/unit/expect.h"
#include "tests/unit/mktrace.h"

static char path[] = "/tmp/nvsnoop-calls-XXXXXX";

static void api(struct mk *m, uint32_t number, const char *text, uint32_t length, uint32_t nargs)
{
	struct nvs_rec_api *rec = mk_rec(m, NVS_REC_API, sizeof(*rec) + length);

	rec->api = number;
	rec->nargs = nargs;
	rec->length = length;
	memcpy(rec->text, text, length);
}

static void begin(struct mk *m, uint32_t thread, uint32_t number_of_api, uint64_t number,
		  uint32_t depth)
{
	struct nvs_rec_call_begin *rec = mk_rec(m, NVS_REC_CALL_BEGIN, sizeof(*rec));

	rec->thread = thread;
	rec->api = number_of_api;
	rec->number = number;
	rec->begin = 5;
	rec->depth = depth;
}

static struct nvs_rec_call *call(struct mk *m, uint32_t thread, uint32_t number_of_api,
				 uint64_t number, uint32_t depth, uint32_t nargs, uint32_t bytes)
{
	struct nvs_rec_call *rec = mk_rec(m, NVS_REC_CALL, sizeof(*rec) + nargs * 8 + bytes);

	rec->thread = thread;
	rec->api = number_of_api;
	rec->number = number;
	rec->depth = (uint16_t)depth;
	rec->nargs = (uint16_t)nargs;
	rec->bytes = bytes;
	return rec;
}

static void submit(struct mk *m, uint32_t thread, uint32_t depth)
{
	mk_simple(m, thread, 0, 4)->rec.flags |= (uint16_t)(depth << NVS_SUB_CALL_SHIFT);
}

struct seen {
	uint64_t calls, open, submissions;
	char names[512]; /* "outer:2 inner:1 " as they are handed out */
	char first[256]; /* arguments of the first call */
	char flights[256]; /* "name@thread:depth " */
};

static int on_call(void *arg, const struct nvs_call *c)
{
	struct seen *s = arg;
	size_t n = strlen(s->names);
	char text[128];

	s->calls++;
	s->open += !c->end;
	s->submissions += c->submissions;
	snprintf(s->names + n, sizeof(s->names) - n, "%s:%llu ", c->api->name,
		 (unsigned long long)c->submissions);
	for (uint32_t i = 0; i < c->nargs && s->calls == 1; i++) {
		n = strlen(s->first);
		snprintf(s->first + n, sizeof(s->first) - n, "%s=%s ", c->api->arg[i],
			 nvs_call_print(c, i, text, sizeof(text)));
	}
	return 0;
}

static int on_submission(void *arg, struct nvs_trace *t, const struct nvs_submission *s)
{
	return nvs_calls_submission(arg, s);
}

static int on_record(void *arg, struct nvs_trace *t, const struct nvs_rec *rec)
{
	return nvs_calls_record(arg, rec);
}

static void read_back(struct seen *seen)
{
	static const struct nvs_stream_consumer consumer = {NVS_READ_WHOLE, on_submission,
							    on_record};
	struct nvs_calls_sink sink = {.call = on_call, .arg = seen};
	struct nvs_error err = {""};
	struct nvs_calls *calls;
	struct nvs_trace *t;

	memset(seen, 0, sizeof(*seen));
	if (nvs_trace_open(&t, path, NULL, &err)) {
		printf("%s\n", err.text);
		exit(1);
	}
	calls = nvs_calls_new(t, &sink);
	EXPECT_EQ(nvs_stream_read(t, &consumer, calls, &err), 0);
	EXPECT_EQ(nvs_calls_finish(calls), 0);
	nvs_calls_free(calls);
	for (uint32_t i = 0; nvs_trace_inflight(t, i); i++) {
		const struct nvs_inflight *f = nvs_trace_inflight(t, i);
		size_t n = strlen(seen->flights);

		snprintf(seen->flights + n, sizeof(seen->flights) - n, "%s@%u:%u ", f->api,
			 f->thread, f->depth);
		EXPECT_EQ(f->end >= f->begin, 1);
	}
	nvs_trace_close(t);
}

static void start(struct mk *m)
{
	memset(m, 0, sizeof(*m));
	mk_open(m, path);
	mk_thread(m, 0, 100, "main");
	mk_thread(m, 1, 101, "other");
	mk_channel(m, 0);
	api(m, 1, "outer\0g\0name:str\0n:u32\0p:ptr\0bad:i32", 37, 4);
	api(m, 2, "inner\0g", 8, 0);
	api(m, 3, "silent\0g", 9, 0);
}

static void finish(struct mk *m)
{
	mk_channel_gone(m, 0);
	mk_end(m);
	mk_frame_end(m);
	mk_close(m);
}

static void test_nesting(void)
{
	struct nvs_rec_call *rec;
	struct seen s;
	struct mk m;

	start(&m);
	submit(&m, 0, 0); /* outside of any */
	begin(&m, 0, 1, 0, 1);
	submit(&m, 0, 1);
	call(&m, 0, 3, 1, 2, 0, 0); /* nested and silent */
	begin(&m, 0, 2, 2, 2);
	submit(&m, 0, 2);
	begin(&m, 1, 2, 0, 1);
	submit(&m, 1, 1); /* the other thread, meanwhile */
	rec = call(&m, 0, 2, 2, 2, 0, 0);
	rec->rec.flags = NVS_CALL_BEGUN;
	submit(&m, 0, 1);
	rec = call(&m, 0, 1, 0, 1, 0, 0);
	rec->rec.flags = NVS_CALL_BEGUN;
	finish(&m);
	read_back(&s);
	EXPECT_STR(s.names, "silent:0 inner:1 outer:2 inner:1 ");
	EXPECT_EQ(s.open, 1); /* the other thread's never returned */
	EXPECT_EQ(s.submissions, 4);
}

static void test_lost_end(void)
{
	struct seen s;
	struct mk m;

	start(&m);
	begin(&m, 0, 1, 0, 1);
	submit(&m, 0, 1);
	begin(&m, 0, 2, 1, 2);
	submit(&m, 0, 2);
	begin(&m, 0, 2, 5, 1); /* both ended, and nobody said so */
	submit(&m, 0, 1);
	call(&m, 0, 2, 5, 1, 0, 0)->rec.flags = NVS_CALL_BEGUN;
	submit(&m, 0, 1); /* names a call that is over */
	finish(&m);
	read_back(&s);
	EXPECT_STR(s.names, "inner:1 outer:1 inner:1 ");
	EXPECT_EQ(s.open, 2);
}

static void in_flight(struct mk *m, uint32_t thread, uint32_t number_of_api, uint64_t number,
		      uint32_t depth)
{
	begin(m, thread, number_of_api, number, depth);
	((struct nvs_rec *)(m->buf + m->len - sizeof(struct nvs_rec_call_begin)))->flags =
		NVS_BEGIN_IN_FLIGHT;
}

/* At the end it is said what had not returned: what was told of before is not told again. */
static void test_in_flight(void)
{
	struct seen s;
	struct mk m;

	start(&m);
	begin(&m, 0, 1, 0, 1);
	submit(&m, 0, 1);
	call(&m, 1, 2, 0, 1, 0, 0);
	call(&m, 1, 3, 1, 1, 0, 0);
	in_flight(&m, 0, 1, 0, 1); /* is told of already */
	in_flight(&m, 0, 3, 1, 2); /* inside it, and submitted nothing */
	in_flight(&m, 1, 3, 1, 1); /* has returned */
	in_flight(&m, 1, 3, 2, 1); /* begun since anything was heard of the process */
	((struct nvs_rec_call_begin *)(m.buf + m.len - sizeof(struct nvs_rec_call_begin)))->begin =
		UINT64_MAX / 2;
	finish(&m);
	read_back(&s);
	EXPECT_STR(s.names, "inner:0 silent:0 silent:0 outer:1 silent:0 ");
	EXPECT_EQ(s.open, 3);
	EXPECT_STR(s.flights, "outer@0:1 silent@0:2 silent@1:1 ");
}

static void test_arguments(void)
{
	struct nvs_rec_call *rec;
	struct seen s;
	struct mk m;

	start(&m);
	rec = call(&m, 0, 1, 0, 1, 4, 3);
	rec->args[0] = 3 | 9ull << 32;
	rec->args[1] = 77;
	rec->args[2] = 0x1000;
	rec->args[3] = 0xffffffff;
	rec->absent = 1u << 2;
	memcpy(&rec->args[4], "a\nb", 3);
	finish(&m);
	read_back(&s);
	EXPECT_STR(s.first, "name=\"a\\x0ab\"... n=77 p=? bad=-1 ");
	/* A string longer than what is there, more arguments than the entry point has. */
	start(&m);
	rec = call(&m, 0, 1, 0, 1, 4, 3);
	rec->args[0] = 4 | 9ull << 32;
	rec = call(&m, 0, 2, 0, 1, 20, 0);
	rec = call(&m, 0, 99, 0, 1, 2, 0); /* of an unknown one */
	rec = call(&m, 0, 0xfffffff0, 0, 1, 2, 0);
	begin(&m, 0xfffffff0, 1, 0, 1);
	begin(&m, 0, 1, 0, 0xfffffff0);
	begin(&m, 0, 0xfffffff0, 0, 1);
	finish(&m);
	read_back(&s);
	EXPECT_STR(s.first, "");
	EXPECT_EQ(s.calls, 3);
}

/* Bytes of a copy between two operands: of pointers; of arrays it is elements that are counted. */
static void test_operands(void)
{
	struct nvs_call_api api = {
		.name = "cuMemcpy3DWithAttributesAsync",
		.nargs = 7,
		.arg = {"srcType", "src", "dstType", "dst", "width", "height", "depth"},
		.kind = {"u32", "devptr", "u32", "devptr", "u64", "u64", "u64"},
	};
	uint64_t args[] = {1, 0x1000, 1, 0x2000, 64, 3, 2}, bytes, copies;
	struct nvs_call call = {.api = &api, .nargs = 7, .args = args};

	nvs_call_api_resolve(&api, "copy");
	EXPECT_EQ(api.group, NVS_CALL_GROUP_COPY);
	EXPECT_EQ(api.role, NVS_CALL_ROLE_COPY_BOX);
	EXPECT(nvs_call_copied(&call, &bytes, &copies));
	EXPECT_EQ(bytes, 64 * 3 * 2);
	EXPECT_EQ(copies, 1);
	args[6] = 0;
	EXPECT(nvs_call_copied(&call, &bytes, &copies));
	EXPECT_EQ(bytes, 64 * 3);
	args[2] = 2;
	EXPECT(!nvs_call_copied(&call, &bytes, &copies));
	EXPECT_EQ(bytes, 0);
}

static enum nvs_call_role role_of(const char *name, const char *group)
{
	struct nvs_call_api api = {.name = name};

	nvs_call_api_resolve(&api, group);
	EXPECT_EQ(api.per_thread, strstr(name, "_pt") != NULL);
	return api.role;
}

/* Forms of one entry point do the same, those that are newer than the list as well. */
static void test_roles(void)
{
	static const char *const none[] = {"",
					   "_v2",
					   "cuMem",
					   "cuMemAllocX",
					   "cuMemAlloc_v",
					   "cuMemAlloc_vx",
					   "cuMemAlloc_",
					   "cuMemAlloc2"};

	EXPECT_EQ(role_of("cuMemAlloc", "memory"), NVS_CALL_ROLE_ALLOC_DEVICE);
	EXPECT_EQ(role_of("cuMemAlloc_v2", "memory"), NVS_CALL_ROLE_ALLOC_DEVICE);
	EXPECT_EQ(role_of("cuMemAlloc_v12_ptds", "memory"), NVS_CALL_ROLE_ALLOC_DEVICE);
	EXPECT_EQ(role_of("cuMemcpyDtoH_ptds", "copy"), NVS_CALL_ROLE_COPY_DTOH);
	EXPECT_EQ(role_of("cuStreamQuery_ptsz", "sync"), NVS_CALL_ROLE_QUERY);
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		EXPECT_EQ(role_of(none[i], "memory"), NVS_CALL_ROLE_NONE);
}

/* What a newer nvsnoop may tell of: a name, a group, a kind and an argument that are not known. */
static void test_newer(void)
{
	struct nvs_call_api api = {
		.name = "cuNewer",
		.nargs = 8,
		.arg = {"gridDimX", "name", "path", "delta", "odd", "hStream", "none", "dptr"},
		.kind = {"u32", "str", "str", "i32", "quark", "stream", "u64", "devptr"},
	};
	uint64_t args[] = {7, 9ull << 32 | 4, 2ull << 32 | 2, 0xfffffffe, 0x55, 0x66, 1, 0x77},
		 value;
	struct nvs_call call = {
		.api = &api, .nargs = 7, .args = args, .strings = "fourab", .absent = 1u << 6};
	struct nvs_arg arg;
	char text[64];

	nvs_call_api_resolve(&api, "newer");
	EXPECT_EQ(api.group, NVS_CALL_GROUP_OTHER);
	EXPECT_EQ(api.role, NVS_CALL_ROLE_NONE);
	EXPECT(nvs_call_value(&call, NVS_ARG_gridDimX, &value));
	EXPECT_EQ(value, 7);
	EXPECT(!nvs_call_value(&call, NVS_ARG_gridDimY, &value));
	EXPECT(nvs_call_kind(&call, NVS_KIND_STREAM, &value));
	EXPECT_EQ(value, 0x66);
	EXPECT(!nvs_call_kind(&call, NVS_KIND_DEVICE_POINTER, &value));
	EXPECT(!nvs_call_arg(&call, "dptr", &arg));
	EXPECT(nvs_call_arg(&call, "none", &arg) && arg.absent && !arg.value);
	EXPECT(nvs_call_arg(&call, "path", &arg) && arg.length == 2 && arg.value == 2);
	EXPECT(!memcmp(arg.string, "ab", 2));
	EXPECT(nvs_call_arg(&call, "name", &arg) && arg.length == 4 && arg.value == 9);
	EXPECT_STR(nvs_call_print(&call, 1, text, sizeof(text)), "\"four\"...");
	EXPECT(nvs_call_arg(&call, "delta", &arg) && (int64_t)arg.value == -2);
	EXPECT_STR(nvs_call_print(&call, 3, text, sizeof(text)), "-2");
	EXPECT(nvs_call_arg(&call, "odd", &arg) && arg.kind == NVS_KIND_OTHER);
	EXPECT_STR(nvs_call_print(&call, 4, text, sizeof(text)), "0x55");
	args[2] = UINT64_MAX;
	EXPECT(nvs_call_arg(&call, "path", &arg) && !arg.string);
	EXPECT_STR(nvs_call_print(&call, 2, text, sizeof(text)), "NULL");
}

static bool edge_told(struct nvs_handles *l, const char **text)
{
	_Alignas(8)
		uint8_t room[sizeof(struct nvs_rec_graph_edges) + sizeof(struct nvs_graph_edge)] = {
			0};
	struct nvs_rec_graph_edges *rec = (void *)room;
	unsigned from, to;
	int used;

	if (sscanf(*text, " %u>%u%n", &from, &to, &used) != 2)
		return false;
	*text += used;
	rec->rec.type = NVS_REC_GRAPH_EDGES;
	rec->rec.size = sizeof(room);
	rec->exec = 0x100;
	rec->nedges = 1;
	rec->edges[0].from = from;
	rec->edges[0].to = to;
	EXPECT_EQ(nvs_handles_record(l, &rec->rec), 0);
	return true;
}

/* Nodes as "node.parent.type.function", one record for each two; behind them edges, "from>to". */
static void graph_event(struct nvs_handles *l, uint32_t event, const char *text)
{
	_Alignas(8) uint8_t room[sizeof(struct nvs_rec_graph) + 2 * sizeof(struct nvs_graph_node)];
	struct nvs_rec_graph *rec = (void *)room;
	uint32_t told = 0;
	bool more;
	int used;

	do {
		memset(room, 0, sizeof(room));
		rec->exec = 0x100;
		rec->event = event;
		rec->first = told;
		for (; *text && rec->nnodes < 2; text += used, told++) {
			struct nvs_graph_node *n = &rec->nodes[rec->nnodes];
			unsigned node, parent, type, function;

			if (sscanf(text, " %u.%u.%u.%u%n", &node, &parent, &type, &function,
				   &used) != 4)
				break;
			*n = (struct nvs_graph_node){
				.node = node, .parent = parent, .type = type, .function = function};
			rec->nnodes++;
		}
		rec->rec.type = NVS_REC_GRAPH;
		rec->rec.flags = *text ? 0 : NVS_GRAPH_LAST;
		rec->rec.size =
			(uint32_t)(sizeof(*rec) + rec->nnodes * sizeof(struct nvs_graph_node));
		EXPECT_EQ(nvs_handles_graph(l, rec), 0);
		for (more = false; edge_told(l, &text);)
			more = true;
	} while (*text || more);
}

/* Places as "from>to", then the longest path. */
static char *edges_of(struct nvs_handles *l, char *text, size_t room)
{
	const struct nvs_exec *e = nvs_handles_get_exec(l, 0x100);
	uint32_t longest;
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < e->edges.n && n < room; i++)
		n += (size_t)snprintf(text + n, room - n, "%u>%u ", e->edges.links[i].from,
				      e->edges.links[i].to);
	EXPECT_EQ(nvs_edges_longest_path(&e->edges, e->nodes, e->nnodes, &longest), 0);
	snprintf(text + n, room - n, e->edges.known ? "%u" : "?", longest);
	return text;
}

static void test_edges(void)
{
	struct nvs_handles *l = nvs_handles_new();
	char text[512];

	/* Nothing is said of them. */
	graph_event(l, NVS_GRAPH_INSTANTIATED, "1.0.0.0 2.0.0.0");
	EXPECT_STR(edges_of(l, text, sizeof(text)), "?");
	/* 7 and 2, which holds 3 and then 4, which holds 5. */
	graph_event(l, NVS_GRAPH_INSTANTIATED,
		    "1.0.0.0 2.0.4.0 3.2.0.0 4.2.4.0 5.4.0.0 6.2.0.0 7.0.0.0 1>2 2>7 3>4");
	EXPECT_STR(edges_of(l, text, sizeof(text)), "0>1 1>6 2>3 4");
	/* As a whole: the same shape, other edges and handles. */
	graph_event(l, NVS_GRAPH_UPDATED,
		    "11.0.0.0 12.0.4.0 13.12.0.0 14.12.4.0 15.14.0.0 16.12.0.0 17.0.0.0 17>12 "
		    "16>14");
	EXPECT_STR(edges_of(l, text, sizeof(text)), "6>1 5>3 3");
	/* Inside 2 alone, by its first handle: what is behind it moves. */
	graph_event(l, NVS_GRAPH_CHILD_SET, "2.0.4.0 31.2.0.0 32.2.0.0 33.2.0.0 31>32 32>33");
	EXPECT_STR(edges_of(l, text, sizeof(text)), "5>1 2>3 3>4 4");
	graph_event(l, NVS_GRAPH_CHILD_SET, "2.0.4.0 41.2.0.0 42.2.0.0 41>42");
	EXPECT_STR(edges_of(l, text, sizeof(text)), "4>1 2>3 3");
	/* Nothing is said of what is inside; then of a node that there is not. */
	graph_event(l, NVS_GRAPH_CHILD_SET, "2.0.4.0 51.2.0.0");
	EXPECT_STR(edges_of(l, text, sizeof(text)), "3>1 ?");
	graph_event(l, NVS_GRAPH_UPDATED, "1.0.0.0 2.0.0.0 1>2 2>3");
	EXPECT_STR(edges_of(l, text, sizeof(text)), "0>1 ?");
	/* No driver makes a circle: of that there is no longest path. */
	graph_event(l, NVS_GRAPH_UPDATED, "1.0.0.0 2.0.0.0 3.0.0.0 1>2 2>1");
	EXPECT_STR(edges_of(l, text, sizeof(text)), "0>1 1>0 0");
	nvs_handles_free(l);
}

static char *nodes_of(struct nvs_handles *l, char *text, size_t room)
{
	const struct nvs_exec *e = nvs_handles_get_exec(l, 0x100);
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < e->nnodes && n < room; i++)
		n += (size_t)snprintf(text + n, room - n, "%u.%u.%u.%u ",
				      (unsigned)e->nodes[i].node, (unsigned)e->nodes[i].parent,
				      (unsigned)e->nodes[i].type, (unsigned)e->nodes[i].function);
	return text;
}

static void test_execs(void)
{
	struct nvs_handles *l = nvs_handles_new();
	char text[512];

	graph_event(l, NVS_GRAPH_INSTANTIATED,
		    "1.0.0.71 2.0.4.0 3.2.0.72 4.2.4.0 5.4.0.73 6.2.0.74 7.0.0.75");
	/* Of the same shape: the handles stay. */
	graph_event(l, NVS_GRAPH_UPDATED,
		    "11.0.0.81 12.0.4.0 13.12.0.82 14.12.4.0 15.14.0.83 16.12.0.84 17.0.0.85");
	EXPECT_STR(nodes_of(l, text, sizeof(text)),
		   "1.0.0.81 2.0.4.0 3.2.0.82 4.2.4.0 5.4.0.83 6.2.0.84 7.0.0.85 ");
	/* What is inside 4 alone, then inside 2, with another graph's handles. */
	graph_event(l, NVS_GRAPH_CHILD_SET, "4.0.4.0 25.4.0.93");
	graph_event(l, NVS_GRAPH_CHILD_SET, "2.0.4.0 33.2.0.92 34.2.4.0 35.34.0.94 36.2.0.95");
	EXPECT_STR(nodes_of(l, text, sizeof(text)),
		   "1.0.0.81 2.0.4.0 3.2.0.92 4.2.4.0 5.4.0.94 6.2.0.95 7.0.0.85 ");
	/* Of another shape, as many and more: what is new takes its place. */
	graph_event(l, NVS_GRAPH_CHILD_SET, "2.0.4.0 43.2.0.1 44.2.4.0 45.44.0.2 46.44.0.3");
	EXPECT_STR(nodes_of(l, text, sizeof(text)),
		   "1.0.0.81 2.0.4.0 43.2.0.1 44.2.4.0 45.44.0.2 46.44.0.3 7.0.0.85 ");
	graph_event(l, NVS_GRAPH_CHILD_SET, "44.0.4.0 51.44.0.4 52.44.0.5 53.44.0.6");
	EXPECT_STR(nodes_of(l, text, sizeof(text)),
		   "1.0.0.81 2.0.4.0 43.2.0.1 44.2.4.0 51.44.0.4 52.44.0.5 53.44.0.6 7.0.0.85 ");
	graph_event(l, NVS_GRAPH_CHILD_SET, "2.0.4.0");
	EXPECT_STR(nodes_of(l, text, sizeof(text)), "1.0.0.81 2.0.4.0 7.0.0.85 ");
	EXPECT(!nvs_handles_get_exec(l, 0x100)->partial);
	/* Of a node that there is not: nothing changes, and that is known. */
	graph_event(l, NVS_GRAPH_CHILD_SET, "99.0.4.0 98.99.0.1");
	EXPECT_STR(nodes_of(l, text, sizeof(text)), "1.0.0.81 2.0.4.0 7.0.0.85 ");
	EXPECT(nvs_handles_get_exec(l, 0x100)->partial);
	graph_event(l, NVS_GRAPH_UPDATED, "61.0.0.7");
	EXPECT_STR(nodes_of(l, text, sizeof(text)), "61.0.0.7 ");
	graph_event(l, NVS_GRAPH_NODE_SET, "61.0.0.8");
	EXPECT_STR(nodes_of(l, text, sizeof(text)), "61.0.0.8 ");
	nvs_handles_free(l);
}

static uint64_t random_state = 12345;

static uint32_t dice(uint32_t n)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % n;
}

static int drop_kernel(void *arg, const struct nvs_rec_kernel *rec)
{
	return nvs_handles_kernel(arg, rec);
}

static int drop_graph(void *arg, const struct nvs_rec_graph *rec)
{
	return nvs_handles_graph(arg, rec);
}

static int drop_call(void *arg, const struct nvs_call *c)
{
	char text[64];

	for (uint32_t i = 0; i < c->nargs; i++)
		nvs_call_print(c, i, text, sizeof(text));
	return nvs_handles_call(arg, c);
}

/* Records with any bytes in them, as far as the first check lets them through. */
static void test_rubbish(void)
{
	static _Alignas(8) uint8_t room[4096];
	struct nvs_handles *l = nvs_handles_new();
	struct nvs_calls_sink sink = {
		.call = drop_call, .kernel = drop_kernel, .graph = drop_graph, .arg = l};
	struct nvs_error err = {""};
	struct nvs_calls *calls;
	struct nvs_trace *t;
	uint32_t let_through = 0;
	struct mk m;

	printf("seed %llu\n", (unsigned long long)random_state);
	start(&m);
	finish(&m);
	if (nvs_trace_open(&t, path, NULL, &err)) {
		printf("%s\n", err.text);
		exit(1);
	}
	calls = nvs_calls_new(t, &sink);
	for (int i = 0; i < 200000; i++) {
		struct nvs_rec *rec = (void *)room;

		memset(room, 0, sizeof(room));
		rec->size = 8 * (2 + dice(60));
		for (uint32_t k = dice(40); k; k--)
			room[16 + dice(rec->size - 16 + 1)] = (uint8_t)dice(dice(4) ? 4 : 256);
		rec->type = (uint16_t)(NVS_REC_API + dice(5));
		rec->flags = (uint16_t)dice(16);
		if (nvs_record_check(rec, rec->size))
			continue;
		let_through++;
		nvs_calls_record(calls, rec);
	}
	EXPECT(let_through > 10000);
	nvs_calls_finish(calls);
	nvs_calls_free(calls);
	nvs_handles_free(l);
	nvs_trace_close(t);
}

static int enough(void *arg, const struct nvs_rec *rec)
{
	return rec->type == NVS_REC_CHANNEL;
}

/* Is copy, and is launch, among the groups of which a call may have been made? */
static void expect_called(const struct nvs_pass_reader *reader, bool copy, bool launch)
{
	struct nvs_error err = {""};
	struct nvs_pass *r;
	struct nvs_trace *t;

	EXPECT_EQ(nvs_trace_open(&t, path, NULL, &err), 0);
	r = nvs_pass_new(t);
	EXPECT_EQ(nvs_pass_add(r, reader), 0);
	EXPECT_EQ(nvs_pass_run(r, &err), 0);
	EXPECT_EQ(nvs_pass_has_call(r, NVS_CALL_GROUP_COPY), copy);
	EXPECT_EQ(nvs_pass_has_call(r, NVS_CALL_GROUP_LAUNCH), launch);
	nvs_pass_free(r);
	nvs_trace_close(t);
}

static void test_groups(void)
{
	const struct nvs_pass_reader all = {NULL}, few = {.record = enough};
	struct mk m;

	start(&m);
	api(&m, 4, "starts\0launch\0n:u32", 20, 1);
	api(&m, 5, "moves\0copy", 10, 0); /* with no end of its own */
	call(&m, 0, 4, 0, 1, 0, 0);
	finish(&m);
	expect_called(&all, false, true);
	expect_called(&few, true, true); /* it was not read to the end */

	start(&m);
	api(&m, 5, "moves\0copy", 10, 0);
	api(&m, 5, "moves\0launch", 12, 0); /* told again: the first stands */
	begin(&m, 0, 5, 0, 1); /* and never returns */
	finish(&m);
	expect_called(&all, true, false);

	start(&m);
	call(&m, 0, 5, 0, 1, 0, 0); /* before it is told what it is */
	api(&m, 5, "moves\0copy", 10, 0);
	finish(&m);
	expect_called(&all, true, true);
}

int main(void)
{
	close(mkstemp(path));
	test_nesting();
	test_lost_end();
	test_in_flight();
	test_arguments();
	test_operands();
	test_roles();
	test_newer();
	test_execs();
	test_edges();
	test_rubbish();
	test_groups();
	unlink(path);
	return expect_done();
}
