/* SPDX-License-Identifier: MIT */
/* The ledger: what is repeated at the start of a part, and what no longer is. */
/* LINK: preload */
#include <stdio.h>
#include <string.h>
#include "preload/writer/keep_last_state.h"
#include "trap/trap.h"
#include "tests/unit/expect.h"

static struct nvs_keep_state *ledger;
static char told[4096]; /* what it tells, as words */
static struct nvs_rec_part part;

static void put(void *arg, const struct nvs_rec *rec)
{
	const struct nvs_rec_gap *gap = (const void *)rec;
	const struct nvs_rec_graph *graph = (const void *)rec;
	size_t n = strlen(told);

	if (rec->type == NVS_REC_GAP)
		snprintf(told + n, sizeof(told) - n, "chain %u %llu %u; ", gap->channel,
			 (unsigned long long)gap->submissions, gap->new_put);
	else if (rec->type == NVS_REC_GRAPH_EDGES)
		snprintf(told + n, sizeof(told) - n, "edges %u; ",
			 (unsigned)((const struct nvs_rec_graph_edges *)(const void *)rec)
				 ->edges[0]
				 .from);
	else if (rec->type == NVS_REC_GRAPH)
		snprintf(told + n, sizeof(told) - n, "graph %u %u; ", graph->event,
			 (unsigned)graph->nodes[0].node);
	else
		snprintf(told + n, sizeof(told) - n, "%u %llu; ", rec->type,
			 (unsigned long long)rec->time);
}

static const char *tell(void)
{
	told[0] = '\0';
	part = (struct nvs_rec_part){.rec = {NVS_REC_PART, 0, sizeof(part), 0}};
	nvs_keep_state_write(ledger, &part, put, NULL);
	return told;
}

static void anew(void)
{
	nvs_keep_state_free(ledger);
	ledger = nvs_keep_state_new();
}

/* A record of TYPE whose first words behind the head are A and B, at TIME. */
static void take(uint16_t type, uint64_t time, uint32_t a, uint32_t b)
{
	uint64_t room[40] = {0};
	uint32_t words[2] = {a, b};

	*(struct nvs_rec *)(void *)room = (struct nvs_rec){type, 0, sizeof(room), time};
	memcpy(room + 2, words, sizeof(words));
	nvs_keep_state_add(ledger, (const void *)room);
}

static void submit(uint32_t channel, uint64_t sequence, uint16_t flags)
{
	struct {
		struct nvs_rec_submission s;
		struct nvs_gp_entry e[2];
	} rec = {
		.s = {.rec = {NVS_REC_SUBMISSION, flags, sizeof(rec), 1000 + sequence},
		      .thread = 7,
		      .channel = channel,
		      .sequence = sequence,
		      .old_put = (uint32_t)sequence * 2,
		      .new_put = (uint32_t)sequence * 2 + 2,
		      .nentries = 2},
		.e = {{0, NVS_SEG_HERE, 12}, {(uint64_t)16 << 42, NVS_SEG_FOLLOWS, 64}},
	};

	nvs_keep_state_add(ledger, &rec.s.rec);
}

static void piece(uint64_t sequence, uint64_t offset, uint32_t bytes, bool last)
{
	struct nvs_rec_data rec = {
		.rec = {NVS_REC_DATA, last ? NVS_DATA_LAST : 0, sizeof(rec), 5000},
		.thread = 7,
		.channel = 3,
		.sequence = sequence,
		.entry = 1,
		.bytes = bytes,
		.offset = offset,
	};

	nvs_keep_state_add(ledger, &rec.rec);
}

static void gap(uint64_t sequence, uint64_t submissions, uint32_t reason)
{
	struct nvs_rec_gap rec = {
		.rec = {NVS_REC_GAP, 0, sizeof(rec), 6000},
		.channel = 3,
		.sequence = sequence,
		.reason = reason,
		.submissions = submissions,
		.bytes = 10 * submissions,
		.new_put = (uint32_t)(sequence + submissions) * 2,
	};

	nvs_keep_state_add(ledger, &rec.rec);
}

static void test_what_is_alive(void)
{
	anew();
	take(NVS_REC_HEADER, 1, 0, 0);
	take(NVS_REC_ATTR, 2, NVS_ATTR_DRIVER, 0);
	take(NVS_REC_MODULE, 3, 5, 0);
	take(NVS_REC_OBJECT, 4, 1, 9);
	take(NVS_REC_OBJECT, 5, 2, 9);
	take(NVS_REC_GPU_MAP, 6, 5, 0);
	take(NVS_REC_CHECK, 7, 0, 0);
	EXPECT_STR(tell(), "2 1; 45 7; 3 2; 6 3; 10 4; 10 5; 14 6; ");
	/* Told anew it keeps its place; what is gone is not told. */
	take(NVS_REC_ATTR, 8, NVS_ATTR_DRIVER, 0);
	take(NVS_REC_OBJECT_GONE, 9, 1, 9);
	take(NVS_REC_GPU_MAP_GONE, 10, 5, 0);
	take(NVS_REC_CPU_MAP_GONE, 11, 5, 0);
	EXPECT_STR(tell(), "2 1; 45 11; 3 8; 6 3; 10 5; ");
	take(NVS_REC_CLOCK, 20, 0, 0);
	take(NVS_REC_CLOCK, 21, 0, 0);
	take(NVS_REC_CLOCK, 22, 0, 0);
	EXPECT_STR(tell(), "2 1; 45 22; 3 8; 6 3; 10 5; 4 20; 4 22; ");
}

/* A name goes with its module; threads without a buffer, and their calls, are over. */
static void test_what_is_over(void)
{
	struct nvs_rec_name name = {.rec = {NVS_REC_NAME, 0, sizeof(name), 2}, .address = 16};

	anew();
	take(NVS_REC_MODULE, 1, 5, 0);
	name.module = 5;
	nvs_keep_state_add(ledger, &name.rec);
	name.module = NVS_NONE;
	name.rec.time = 3;
	nvs_keep_state_add(ledger, &name.rec);
	take(NVS_REC_THREAD, 4, 1, 0);
	take(NVS_REC_CALL_BEGIN, 5, 1, 0);
	EXPECT_STR(tell(), "6 1; 37 2; 37 3; ");
	take(NVS_REC_MODULE_GONE, 6, 5, 0);
	EXPECT_STR(tell(), "37 3; ");
}

static void test_chains(void)
{
	anew();
	submit(3, 0, 0);
	submit(3, 1, 0);
	submit(4, 0, 0);
	EXPECT_STR(tell(), "chain 3 2 4; chain 4 1 2; ");
	EXPECT(nvs_keep_state_is_complete(ledger));
	EXPECT_EQ(part.submissions, 3);
	EXPECT_EQ(part.entries, 6);
	EXPECT_EQ(part.segments, 3);
	EXPECT_EQ(part.bytes, 36);
	/* Two that came in the wrong order, and a gap between. */
	submit(3, 5, 0);
	EXPECT(!nvs_keep_state_is_complete(ledger));
	gap(3, 2, NVS_GAP_DROPPED);
	EXPECT(!nvs_keep_state_is_complete(ledger));
	submit(3, 2, NVS_SUB_CONTINUED);
	EXPECT(nvs_keep_state_is_complete(ledger));
	EXPECT_STR(tell(), "chain 3 6 12; chain 4 1 2; ");
	EXPECT_EQ(part.submissions, 4);
	EXPECT_EQ(part.gaps, 1);
	EXPECT_EQ(part.lost_submissions, 2);
	EXPECT_EQ(part.lost_bytes, 20);
	gap(6, 10, NVS_GAP_CHOICE);
	EXPECT_STR(tell(), "chain 3 16 32; chain 4 1 2; ");
	EXPECT_EQ(part.gaps, 1);
	/* Where it is told all the same, the chain has come as far as what was seen. */
	submit(3, 20, 0);
	EXPECT_STR(tell(), "chain 3 21 42; chain 4 1 2; ");
	EXPECT(nvs_keep_state_is_complete(ledger));
	take(NVS_REC_CHANNEL_GONE, 9000, 3, 0);
	EXPECT_STR(tell(), "chain 4 1 2; ");
}

/* What the end of the process tells of a channel is told again with it: the end is compared with
 * that. */
static void test_told_at_exit(void)
{
	struct nvs_rec_channel_gone gone = {
		.rec = {NVS_REC_CHANNEL_GONE, NVS_CHAN_GONE_AT_EXIT, sizeof(gone), 5},
		.channel = 3,
	};

	anew();
	take(NVS_REC_CHANNEL, 1, 3, 0);
	submit(3, 0, 0);
	nvs_keep_state_add(ledger, &gone.rec);
	submit(3, 1, 0);
	EXPECT_STR(tell(), "16 1; chain 3 2 4; 17 5; ");
	take(NVS_REC_CHANNEL_GONE, 6, 3, 0);
	EXPECT_STR(tell(), "");
}

static void test_pieces(void)
{
	anew();
	submit(3, 0, NVS_SUB_MORE);
	EXPECT(!nvs_keep_state_is_complete(ledger));
	piece(0, 0, 32, false);
	EXPECT(!nvs_keep_state_is_complete(ledger));
	piece(0, 32, 32, true);
	EXPECT(nvs_keep_state_is_complete(ledger));
	EXPECT_STR(tell(), "chain 3 1 2; ");
	EXPECT_EQ(part.segments, 2);
	EXPECT_EQ(part.bytes, 12 + 64);
	/* Its end never came: the thread's next submission ends it. */
	submit(3, 1, NVS_SUB_MORE);
	submit(3, 2, 0);
	EXPECT(nvs_keep_state_is_complete(ledger));
}

static void graph_of(uint64_t exec, uint32_t event, uint32_t first, uint64_t node)
{
	struct {
		struct nvs_rec_graph g;
		struct nvs_graph_node node;
	} rec = {
		.g = {.rec = {NVS_REC_GRAPH, 0, sizeof(rec), 1},
		      .exec = exec,
		      .event = event,
		      .first = first,
		      .nnodes = 1},
		.node = {.node = node},
	};

	nvs_keep_state_add(ledger, &rec.g.rec);
}

static void graph(uint32_t event, uint32_t first, uint64_t node)
{
	graph_of(77, event, first, node);
}

static void edges(uint64_t exec, uint64_t from)
{
	struct {
		struct nvs_rec_graph_edges g;
		struct nvs_graph_edge edge;
	} rec = {
		.g = {.rec = {NVS_REC_GRAPH_EDGES, 0, sizeof(rec), 1}, .exec = exec, .nedges = 1},
		.edge = {.from = from},
	};

	nvs_keep_state_add(ledger, &rec.g.rec);
}

/* They go with the nodes that they were told with, also where other graphs come between. */
static void test_edges(void)
{
	anew();
	edges(77, 9); /* of no graph */
	graph(NVS_GRAPH_INSTANTIATED, 0, 1);
	edges(77, 1);
	graph_of(78, NVS_GRAPH_INSTANTIATED, 0, 5);
	edges(77, 2);
	graph(NVS_GRAPH_INSTANTIATED, 1, 2);
	EXPECT_STR(tell(), "graph 1 1; edges 1; graph 1 5; edges 2; graph 1 2; ");
	graph(NVS_GRAPH_NODE_SET, 0, 3);
	graph(NVS_GRAPH_UPDATED, 0, 6);
	edges(77, 6);
	graph(NVS_GRAPH_UPDATED, 0, 7);
	edges(77, 7);
	EXPECT_STR(tell(),
		   "graph 1 1; edges 1; graph 1 5; edges 2; graph 1 2; graph 2 7; edges 7; ");
	graph(NVS_GRAPH_INSTANTIATED, 0, 8);
	EXPECT_STR(tell(), "graph 1 5; graph 1 8; ");
}

/* As many updates as there may be: what is told stays as large as the graph. */
static void test_graphs(void)
{
	anew();
	graph(NVS_GRAPH_INSTANTIATED, 0, 1);
	graph(NVS_GRAPH_INSTANTIATED, 1, 2);
	for (int i = 0; i < 100; i++) {
		graph(NVS_GRAPH_NODE_SET, 0, 1);
		graph(NVS_GRAPH_NODE_SET, 0, 2);
		graph(NVS_GRAPH_CHILD_SET, 0, 9);
		graph(NVS_GRAPH_CHILD_SET, 1, 10);
	}
	EXPECT_STR(tell(), "graph 1 1; graph 1 2; graph 3 1; graph 3 2; graph 4 9; graph 4 10; ");
	graph(NVS_GRAPH_UPDATED, 0, 1);
	graph(NVS_GRAPH_UPDATED, 1, 2);
	EXPECT_STR(tell(), "graph 1 1; graph 1 2; graph 2 1; graph 2 2; ");
	graph(NVS_GRAPH_INSTANTIATED, 0, 5);
	EXPECT_STR(tell(), "graph 1 5; ");
}

static void range(uint16_t type, uint16_t flags, uint64_t id, uint64_t time)
{
	union {
		struct nvs_rec_nvtx begin;
		struct nvs_rec_nvtx_end end;
	} rec = {.begin = {.rec = {type, flags, sizeof(rec.begin), time}, .domain = 2, .id = id}};

	nvs_keep_state_add(ledger, &rec.begin.rec);
}

static void test_ranges(void)
{
	anew();
	range(NVS_REC_NVTX_BEGIN, NVS_NVTX_PUSHED | NVS_NVTX_DEPTH, 0, 1);
	range(NVS_REC_NVTX_BEGIN, NVS_NVTX_PUSHED | NVS_NVTX_DEPTH, 1, 2);
	range(NVS_REC_NVTX_BEGIN, 0, 1, 3);
	range(NVS_REC_NVTX_MARK, 0, 0, 4);
	range(NVS_REC_NVTX_END, NVS_NVTX_PUSHED | NVS_NVTX_DEPTH, 1, 5);
	EXPECT_STR(tell(), "41 1; 41 3; ");
	range(NVS_REC_NVTX_END, 0, 1, 6);
	range(NVS_REC_NVTX_END, NVS_NVTX_PUSHED | NVS_NVTX_DEPTH, 0, 7);
	EXPECT_STR(tell(), "");
}

/* Twice as many names of one module take about twice as many steps, not four times. */
static uint64_t steps_of_names(uint32_t n)
{
	struct nvs_rec_name name = {.rec = {NVS_REC_NAME, 0, sizeof(name), 2}, .module = 5};

	anew();
	take(NVS_REC_MODULE, 1, 5, 0);
	for (int again = 0; again < 2; again++)
		for (name.address = 0; name.address < n * 16; name.address += 16)
			nvs_keep_state_add(ledger, &name.rec);
	take(NVS_REC_MODULE_GONE, 3, 5, 0);
	EXPECT_STR(tell(), "");
	return nvs_keep_state_steps(ledger);
}

static void test_many_names(void)
{
	uint64_t few = steps_of_names(10000), twice = steps_of_names(20000);

	if (!expect_(few < 10000 * 20 && twice < few * 3, __FILE__, __LINE__))
		printf("%llu steps for 10000 names, %llu for 20000\n", (unsigned long long)few,
		       (unsigned long long)twice);
}

/* What the program has written over a ring costs what stood there, and nothing else. */
static void test_scribbled(void)
{
	uint64_t room[8];

	anew();
	for (uint32_t type = 0; type < 50; type++)
		for (uint32_t size = 16; size <= sizeof(room); size += 8) {
			memset(room, 0xff, sizeof(room));
			*(struct nvs_rec *)(void *)room = (struct nvs_rec){(uint16_t)type, 0xffff,
									   size, 1};
			nvs_keep_state_add(ledger, (const void *)room);
		}
	tell();
	EXPECT_EQ(part.submissions, 0);
}

static uint32_t told_ranges;

static void count_range(void *arg, const struct nvs_rec *rec)
{
	told_ranges += rec->type == NVS_REC_NVTX_BEGIN;
}

/* A program that does not end its ranges may run for weeks: those that it began last are kept out,
 * so that what is kept stays small. */
static void test_unended_ranges(void)
{
	enum { MANY = 200000, MOST = 65536 };

	anew();
	for (uint64_t i = 1; i <= MANY; i++)
		range(NVS_REC_NVTX_BEGIN, 0, i, i);
	for (int i = 0; i < 2; i++) {
		told_ranges = 0;
		nvs_keep_state_write(ledger, &part, count_range, NULL);
		EXPECT_EQ(told_ranges, MOST);
		/* One that ends makes room for another. */
		range(NVS_REC_NVTX_END, 0, 1, MANY + 1);
		range(NVS_REC_NVTX_END, 0, 1, MANY + 1);
		range(NVS_REC_NVTX_BEGIN, 0, MANY + 1, MANY + 1);
		range(NVS_REC_NVTX_BEGIN, 0, MANY + 2, MANY + 2);
	}
}

int main(void)
{
	test_scribbled();
	test_what_is_alive();
	test_what_is_over();
	test_chains();
	test_told_at_exit();
	test_pieces();
	test_graphs();
	test_edges();
	test_ranges();
	test_unended_ranges();
	test_many_names();
	nvs_keep_state_free(ledger);
	return expect_done();
}
