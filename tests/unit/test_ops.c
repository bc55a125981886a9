/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/* From methods to operations: copies, memsets, uploads and their purpose, launches and their
 * chains, semaphores, code, and unchanged classes and methods. */
#include <stdlib.h>
#include "decode/base/budget.h"
#include "decode/gpu/ops.h"
#include "tests/unit/expect.h"
#include "tests/unit/pbmake.h"

#define MAX_SEEN 40000

static struct nvs_op seen[MAX_SEEN];
static struct nvs_qmd qmds[MAX_SEEN];
static uint32_t nseen, nfaults;
static enum nvs_pb_fault_kind last_fault;
static struct nvs_ops *ops;
static struct nvs_ops_channel *compute, *copier;
static struct pb pb;

static void on_op(void *arg, struct nvs_ops_channel *c, const struct nvs_op *op)
{
	const struct nvs_qmd *q = nvs_ops_qmd(ops, op);

	if (nseen >= MAX_SEEN)
		return;
	if (q)
		qmds[nseen] = *q;
	seen[nseen++] = *op;
}

static void on_fault(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_fault *fault)
{
	nfaults++;
	last_fault = fault->kind;
}

static void setup(void)
{
	static const struct nvs_ops_sink sink = {NULL, on_fault, on_op, NULL};
	struct nvs_ops_channel_info info = {.number = 1, .host_class = 0xc86f};

	nvs_ops_free(ops);
	ops = nvs_ops_new(&sink);
	compute = nvs_ops_channel_new(ops, &info);
	nvs_ops_channel_object(compute, 0xcbc0);
	nvs_ops_channel_object(compute, 0xc8b5);
	info.number = 2;
	copier = nvs_ops_channel_new(ops, &info);
	nvs_ops_channel_object(copier, 0xc8b5);
	memset(&pb, 0, sizeof(pb));
}

static uint64_t origin; /* of the next submissions */

/* Hands the words in pb to C as one submission. */
static void submit(struct nvs_ops_channel *c, uint64_t tag)
{
	struct nvs_gp gp;

	nseen = nfaults = 0;
	nvs_ops_begin(c, tag, origin);
	nvs_ops_entry(c, 0x200000000ull | (uint64_t)pb.n << 42, &gp);
	nvs_ops_feed(c, pb.words, pb.n);
	nvs_ops_end(c);
	pb.n = 0;
}

static uint32_t count(enum nvs_op_kind kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nseen; i++)
		n += seen[i].kind == kind;
	return n;
}

static const struct nvs_op *nth(enum nvs_op_kind kind, uint32_t n)
{
	static const struct nvs_op none;

	for (uint32_t i = 0; i < nseen; i++) {
		if (seen[i].kind == kind && !n--)
			return &seen[i];
	}
	EXPECT(!"as many operations of this kind");
	return &none;
}

static const struct nvs_qmd *qmd_of(const struct nvs_op *op)
{
	return &qmds[op - seen];
}

static void engine_copies(void)
{
	const struct nvs_op *op;

	setup();
	pb_copy(&pb, 0x7f0000001000, 0x7e0000002000, 24575, 0x182);
	pb_copy_release(&pb, 0x20460ff70, 0x52);
	submit(copier, 0);
	EXPECT_EQ(nseen, 2);
	op = nth(NVS_OP_COPY, 0);
	EXPECT_EQ(op->copy.mode, NVS_COPY_ENGINE);
	EXPECT_EQ(op->copy.src, 0x7f0000001000);
	EXPECT_EQ(op->copy.dst, 0x7e0000002000);
	EXPECT_EQ(op->copy.bytes, 24575);
	EXPECT_EQ(op->flags, 0);
	EXPECT_EQ(op->cls, 0xc8b5);
	op = nth(NVS_OP_RELEASE, 0);
	EXPECT_EQ(op->sem.address, 0x20460ff70);
	EXPECT_EQ(op->sem.payload, 0x52);
	EXPECT_EQ(op->flags, NVS_OP_TIMESTAMP | NVS_OP_VALUE);
	/* Two-dimensional, with a one-word release in the same method. */
	pb_inc(&pb, 4, 0x410, 2, 2048u, 1024u);
	pb_inc(&pb, 4, 0x41c, 1, 16u);
	pb_copy(&pb, 0x7f0000001000, 0x7e0000002000, 512, 0x182 | 1 << 9 | 1 << 3);
	submit(copier, 0);
	EXPECT_EQ(nseen, 2);
	op = nth(NVS_OP_COPY, 0);
	EXPECT_EQ(op->flags, NVS_OP_TWO_D);
	EXPECT_EQ(op->copy.bytes, 512 * 16);
	EXPECT_EQ(op->copy.width, 512);
	EXPECT_EQ(op->copy.lines, 16);
	EXPECT_EQ(op->copy.src_pitch, 2048);
	EXPECT_EQ(op->copy.dst_pitch, 1024);
	EXPECT_EQ(nth(NVS_OP_RELEASE, 0)->flags, NVS_OP_VALUE);
	/* Blocklinear source, physical destination. */
	pb_copy(&pb, 1, 2, 3, 0x102 | 1 << 13);
	submit(copier, 0);
	EXPECT_EQ(nth(NVS_OP_COPY, 0)->flags, NVS_OP_BLOCKLINEAR_SRC | NVS_OP_PHYSICAL_DST);
	EXPECT_EQ(nth(NVS_OP_COPY, 0)->copy.bytes, 3);
}

static void fills(void)
{
	const struct nvs_op *op;

	setup();
	pb_inc(&pb, 4, 0x700, 1, 0xdeadbeefu);
	pb_inc(&pb, 4, 0x708, 1, 0x30004u); /* X = CONST_A, four bytes, one component */
	pb_inc(&pb, 4, 0x41c, 1, 1u);
	pb_inc(&pb, 4, 0x408, 2, 2u, 0x5200000u);
	pb_inc(&pb, 4, 0x418, 1, 0x17a904u);
	pb_inc(&pb, 4, 0x300, 1, 0x586u);
	submit(copier, 0);
	EXPECT_EQ(nseen, 1);
	op = nth(NVS_OP_MEMSET, 0);
	EXPECT_EQ(op->copy.mode, NVS_COPY_ENGINE);
	EXPECT_EQ(op->copy.dst, 0x205200000);
	EXPECT_EQ(op->copy.src, 0);
	EXPECT_EQ(op->copy.bytes, 0x17a904ull * 4);
	EXPECT_EQ(op->copy.element, 4);
	EXPECT(!memcmp(op->copy.value, "\xef\xbe\xad\xde", 4));
	/* Remapped, but from the source: no fill. */
	pb_inc(&pb, 4, 0x708, 1, 0x30000u);
	pb_copy(&pb, 0x1000, 0x2000, 10, 0x586);
	submit(copier, 0);
	EXPECT_EQ(count(NVS_OP_MEMSET), 0);
	EXPECT_EQ(nth(NVS_OP_COPY, 0)->copy.bytes, 40);
	/* Two bytes of A and B each. */
	pb_inc(&pb, 4, 0x700, 2, 0x1111u, 0x2222u);
	pb_inc(&pb, 4, 0x708, 1, 1u << 24 | 1 << 16 | 5 << 4 | 4);
	pb_copy(&pb, 0x1000, 0x2000, 10, 0x586);
	submit(copier, 0);
	op = nth(NVS_OP_MEMSET, 0);
	EXPECT_EQ(op->copy.element, 4);
	EXPECT_EQ(op->copy.bytes, 40);
	EXPECT(!memcmp(op->copy.value, "\x11\x11\x22\x22", 4));
}

/* What a host's reduction reads at ADDRESS; -1: it is not known. */
static int64_t peek(uint64_t address)
{
	const struct nvs_op *op;

	pb_host_sem(&pb, address, 0, 6 | 5u << 27);
	submit(compute, 0);
	op = nth(NVS_OP_RELEASE, 0);
	return op->flags & NVS_OP_VALUE ? (int64_t)op->sem.value : -1;
}

static void fill_lines(uint32_t components, uint64_t dst, uint32_t width, uint32_t lines)
{
	pb_inc(&pb, 4, 0x700, 2, 0x11111111u, 0x22222222u);
	pb_inc(&pb, 4, 0x708, 1, components);
	pb_inc(&pb, 4, 0x410, 2, 0xffffffffu, 0xffffffffu); /* pitches */
	pb_inc(&pb, 4, 0x41c, 1, lines);
	pb_copy(&pb, 0, dst, width, 0x586 | (lines > 1 ? 1 << 9 : 0));
	submit(copier, 0);
}

/* Fills as wide and as many as the methods can say. */
static void wide_fills(void)
{
	const uint64_t far = 0x300000000;
	uint32_t five = 5;

	setup();
	pb_upload(&pb, far, &five, 4);
	submit(compute, 0);
	EXPECT_EQ(peek(far), 5);
	fill_lines(0x30004, 0x200000000, 0x40000001, 1);
	EXPECT_EQ(nth(NVS_OP_MEMSET, 0)->copy.bytes, 0x100000004);
	EXPECT_EQ(nth(NVS_OP_MEMSET, 0)->copy.width, 0x100000004);
	EXPECT_EQ(peek(far), -1);
	pb_upload(&pb, far, &five, 4);
	submit(compute, 0);
	/* Four components of four bytes: more bytes than 64 bits can say. */
	fill_lines(3u << 24 | 3 << 16 | 0x4444, 0x200000000, 0xffffffff, 0xffffffff);
	EXPECT_EQ(nth(NVS_OP_MEMSET, 0)->copy.bytes, UINT64_MAX);
	EXPECT_EQ(nth(NVS_OP_MEMSET, 0)->copy.width, 0xffffffff0);
	EXPECT_EQ(nth(NVS_OP_MEMSET, 0)->copy.lines, 0xffffffff);
	EXPECT_EQ(peek(far), -1);
}

/* Components that are left as they were. */
static void gaps(void)
{
	const struct nvs_op *op;
	uint32_t five = 5;

	setup();
	pb_upload(&pb, 0x2000, &five, 4);
	submit(compute, 0);
	/* Two bytes of A, and two left: what stands there then is not known, but it is no zeros. */
	fill_lines(1u << 24 | 1 << 16 | 6 << 4 | 4, 0x2000, 10, 1);
	op = nth(NVS_OP_MEMSET, 0);
	EXPECT_EQ(op->copy.element, 4);
	EXPECT_EQ(op->copy.left, 0xc);
	EXPECT_EQ(op->copy.width, 40);
	EXPECT_EQ(op->copy.bytes, 20);
	EXPECT_EQ(peek(0x2000), -1);
	/* All of them left: nothing is written. */
	pb_upload(&pb, 0x2000, &five, 4);
	submit(compute, 0);
	fill_lines(3 << 16 | 6, 0x2000, 10, 1);
	EXPECT_EQ(nth(NVS_OP_MEMSET, 0)->copy.bytes, 0);
	EXPECT_EQ(peek(0x2000), 5);
	/* A copy that leaves some. */
	fill_lines(2u << 24 | 6 << 4, 0x2000, 10, 1);
	EXPECT_EQ(nth(NVS_OP_COPY, 0)->copy.bytes, 20);
	EXPECT_EQ(peek(0x2000), -1);
}

/* A launch as libcuda does it: constants, descriptor, semaphore value, trigger. */
static void put_launch(uint64_t at, const struct qmd_spec *spec)
{
	static const uint32_t constants[132] = {256, 1, 1};
	uint32_t q[96], five = 5;

	qmd_make(q, spec);
	pb_upload(&pb, spec->bank, constants, 0x210);
	pb_upload(&pb, spec->bank + 0x210, constants, 0x18);
	pb_upload(&pb, at, q, 384);
	pb_upload(&pb, spec->release, &five, 4);
	pb_trigger(&pb, at, 10);
}

static void launches(void)
{
	struct qmd_spec spec = {.type = 2,
				.grid = {256, 3, 2},
				.block = {32, 32, 1},
				.program = 0x7f18837a0b00,
				.release = 0x2046379fc,
				.payload = 6,
				.bank = 0x7f1880a00000,
				.bank_bytes = 0x300,
				.shared = 5120};
	uint32_t q[96], data[4] = {1, 2, 3, 4};
	const struct nvs_op *op;

	setup();
	put_launch(0x204e60000, &spec);
	pb_upload(&pb, 0x7e0000000000, data, 13); /* the program's own */
	pb_report(&pb, 0x20460ffe0, 11, 4);
	submit(compute, 0);
	EXPECT_EQ(count(NVS_OP_LAUNCH), 1);
	EXPECT_EQ(count(NVS_OP_TRIGGER), 1);
	EXPECT_EQ(count(NVS_OP_UPLOAD), 4);
	EXPECT_EQ(count(NVS_OP_COPY), 1);
	EXPECT_EQ(count(NVS_OP_RELEASE), 2);
	EXPECT_EQ(nth(NVS_OP_UPLOAD, 0)->copy.use, NVS_USE_CONSTANTS);
	EXPECT_EQ(nth(NVS_OP_UPLOAD, 1)->copy.use, NVS_USE_CONSTANTS);
	EXPECT_EQ(nth(NVS_OP_UPLOAD, 2)->copy.use, NVS_USE_DESCRIPTOR);
	EXPECT_EQ(nth(NVS_OP_UPLOAD, 3)->copy.use, NVS_USE_SEMAPHORE);
	op = nth(NVS_OP_COPY, 0);
	EXPECT_EQ(op->copy.mode, NVS_COPY_INLINE);
	EXPECT_EQ(op->copy.bytes, 13);
	EXPECT_EQ(op->copy.dst, 0x7e0000000000);
	EXPECT_EQ(nth(NVS_OP_TRIGGER, 0)->launch.launches, 1);
	op = nth(NVS_OP_LAUNCH, 0);
	EXPECT_EQ(op->launch.descriptor, 0x204e60000);
	EXPECT_EQ(op->flags, 0);
	EXPECT_EQ(qmd_of(op)->grid[0], 256);
	EXPECT_EQ(qmd_of(op)->grid[2], 2);
	EXPECT_EQ(qmd_of(op)->block[1], 32);
	EXPECT_EQ(qmd_of(op)->program, 0x7f18837a0b00);
	EXPECT_EQ(qmd_of(op)->shared_bytes, 5120);
	EXPECT_EQ(nth(NVS_OP_RELEASE, 0)->sem.by, NVS_BY_GRID);
	EXPECT_EQ(nth(NVS_OP_RELEASE, 0)->sem.value, 6);
	/* Again, from what memory holds by now. */
	pb_trigger(&pb, 0x204e60000, 3);
	submit(compute, 0);
	EXPECT_EQ(count(NVS_OP_LAUNCH), 1);
	EXPECT_EQ(qmd_of(nth(NVS_OP_LAUNCH, 0))->grid[1], 3);
	/* Nobody has seen this one. */
	pb_trigger(&pb, 0x999900, 3);
	submit(compute, 0);
	EXPECT_EQ(nth(NVS_OP_LAUNCH, 0)->flags, NVS_OP_UNKNOWN);
	/* One that a copy engine has put there out of memory that was written inline. */
	spec.grid[0] = 77;
	qmd_make(q, &spec);
	pb_upload(&pb, 0x7f0000000000, q, 384);
	submit(compute, 0);
	EXPECT_EQ(nth(NVS_OP_UPLOAD, 0)->copy.use, NVS_USE_DESCRIPTOR);
	pb_copy(&pb, 0x7f0000000000, 0x999900, 384, 0x182);
	submit(copier, 0);
	pb_trigger(&pb, 0x999900, 3);
	submit(compute, 0);
	EXPECT_EQ(qmd_of(nth(NVS_OP_LAUNCH, 0))->grid[0], 77);
	/* Overwritten from where nothing is known. */
	pb_copy(&pb, 0x123456000, 0x999900, 64, 0x182);
	submit(copier, 0);
	pb_trigger(&pb, 0x999900, 3);
	submit(compute, 0);
	EXPECT_EQ(nth(NVS_OP_LAUNCH, 0)->flags, NVS_OP_UNKNOWN);
	/* The way of driver 525: an inline descriptor, which its last word schedules. */
	pb_inc(&pb, 1, 0x318, 2, 2u | 1u << 30, 0x04e700u);
	pb_word(&pb, 1u << 29 | 95 << 16 | 1 << 13 | 0x320 >> 2);
	for (int i = 0; i < 95; i++)
		pb_word(&pb, q[i]);
	submit(compute, 0);
	EXPECT_EQ(count(NVS_OP_LAUNCH), 0);
	pb_inc(&pb, 1, 0x320 + 4 * 95, 1, q[95]);
	submit(compute, 0);
	EXPECT_EQ(count(NVS_OP_LAUNCH), 1);
	EXPECT_EQ(qmd_of(nth(NVS_OP_LAUNCH, 0))->grid[0], 77);
	EXPECT_EQ(nth(NVS_OP_TRIGGER, 0)->launch.descriptor, 0x2ull << 40 | 0x04e700ull << 8);
	pb_inc(&pb, 1, 0x318, 2, 2u | 1u << 30, 0x04e700u);
	pb_word(&pb, 1u << 29 | 96 << 16 | 1 << 13 | 0x320 >> 2);
	for (int i = 0; i < 96; i++)
		pb_word(&pb, q[i]);
	submit(compute, 0);
	EXPECT_EQ(nth(NVS_OP_UPLOAD, 0)->copy.bytes, 384);
	EXPECT_EQ(nth(NVS_OP_UPLOAD, 0)->copy.dst, 0x2ull << 40 | 0x04e700ull << 8);
}

/* Grids that run nothing are no launches, and triggers that only arm run nothing. */
static void auxiliaries(void)
{
	struct qmd_spec aux = {
		.type = 1, .dependence = 2, .self_copy = 1, .dependent = 0x204e60800, .action = 1};
	struct qmd_spec empty = {.type = 2, .program = 0};
	uint32_t q[96];

	setup();
	qmd_make(q, &aux);
	pb_upload(&pb, 0x204e64000, q, 384);
	pb_trigger(&pb, 0x204e64000, 10);
	submit(compute, 0);
	EXPECT_EQ(count(NVS_OP_LAUNCH), 0);
	EXPECT_EQ(nth(NVS_OP_TRIGGER, 0)->launch.launches, 0);
	qmd_make(q, &empty);
	pb_upload(&pb, 0x204e65000, q, 384);
	pb_trigger(&pb, 0x204e65000, 10);
	submit(compute, 0);
	EXPECT_EQ(count(NVS_OP_LAUNCH), 0);
}

#define NODES 40
#define NODE(i) (0x204c00000ull + (i)*0x200ull)

/* A graph as libcuda lays it out: a chain of nodes, each scheduled by the one before; every tenth
 * counts two decrements, one of them the host's at the launch. */
static void put_graph(void)
{
	for (uint32_t i = 0; i < NODES; i++) {
		bool gate = i && i % 10 == 0, next_gate = (i + 1) % 10 == 0;
		struct qmd_spec s = {.type = 2,
				     .grid = {i + 1, 1, 1},
				     .block = {32, 1, 1},
				     .program = 0x1000,
				     .require = i > 0,
				     .self_copy = i > 0,
				     .dependence = gate ? 2 : 0};
		uint32_t q[96];

		if (i + 1 < NODES) {
			s.dependent = NODE(i + 1);
			s.action = next_gate ? 4 : 1;
		} else {
			s.release = 0x204627bec;
			s.payload = 1;
			s.add = 1;
		}
		qmd_make(q, &s);
		pb_upload(&pb, NODE(i), q, 384);
		if (i)
			pb_trigger(&pb, NODE(i), 10);
	}
}

static void graphs(void)
{
	uint32_t value = 5;

	setup();
	put_graph();
	submit(compute, 0);
	EXPECT_EQ(count(NVS_OP_UPLOAD), NODES);
	EXPECT_EQ(count(NVS_OP_TRIGGER), NODES - 1);
	EXPECT_EQ(count(NVS_OP_LAUNCH), 0);
	for (int round = 0; round < 3; round++) {
		uint32_t chained = 0;

		pb_upload(&pb, 0x204627bec, &value, 4);
		pb_trigger(&pb, NODE(0), 10);
		for (uint32_t i = 10; i < NODES; i += 10)
			pb_trigger(&pb, NODE(i), 7);
		submit(compute, 0);
		EXPECT_EQ(count(NVS_OP_TRIGGER), 4);
		EXPECT_EQ(count(NVS_OP_LAUNCH), NODES);
		for (uint32_t i = 0; i < NODES; i++) {
			const struct nvs_op *op = nth(NVS_OP_LAUNCH, i);

			EXPECT_EQ(qmd_of(op)->grid[0], i + 1);
			chained += !!(op->flags & NVS_OP_CHAINED);
		}
		EXPECT_EQ(chained, NODES - 1 - 3);
		EXPECT_EQ(nth(NVS_OP_TRIGGER, 0)->launch.launches, 10);
		EXPECT_EQ(nth(NVS_OP_RELEASE, 0)->sem.op, NVS_SEM_REDUCE);
		EXPECT_EQ(nth(NVS_OP_RELEASE, 0)->sem.value, value + 1);
		EXPECT_EQ(nth(NVS_OP_UPLOAD, 0)->copy.use, NVS_USE_SEMAPHORE);
		value += 4;
	}
	/* Without the host's decrements it stands still before the first gate. */
	pb_trigger(&pb, NODE(0), 10);
	submit(compute, 0);
	EXPECT_EQ(count(NVS_OP_LAUNCH), 10);
}

static void circles(void)
{
	uint32_t q[96];

	setup();
	for (uint32_t i = 0; i < 3; i++) {
		struct qmd_spec s = {.type = 2,
				     .grid = {1, 1, 1},
				     .program = 0x1000,
				     .self_copy = 1,
				     .dependent = NODE((i + 1) % 3),
				     .action = 1};

		qmd_make(q, &s);
		pb_upload(&pb, NODE(i), q, 384);
	}
	pb_trigger(&pb, NODE(0), 2);
	submit(compute, 0);
	EXPECT_EQ(count(NVS_OP_LAUNCH), 3);
	EXPECT_EQ(nfaults, 1);
	EXPECT_EQ(last_fault, NVS_PB_LOOP);
}

#define LARGE 26000

/* A chain of N descriptors, in memory as libcuda uploads them. */
static void put_chain(uint32_t n)
{
	uint32_t q[96];

	for (uint32_t i = 0; i < n; i++) {
		struct qmd_spec s = {.type = 2,
				     .grid = {1, 1, 1},
				     .program = 0x1000,
				     .dependent = i + 1 < n ? NODE(i + 1) : 0,
				     .action = 1};

		qmd_make(q, &s);
		pb_upload(&pb, NODE(i), q, 384);
		submit(compute, 0);
	}
}

/* Descriptors of a large graph are all known when it is launched, also where they are more than
 * what is set aside for them; without memory for that, those that are not are unknown. */
static void large_graphs(void)
{
	void *taken;

	setup();
	put_chain(LARGE);
	for (int round = 0; round < 3; round++) {
		pb_trigger(&pb, NODE(0), 2);
		submit(compute, 0);
		EXPECT_EQ(count(NVS_OP_LAUNCH), LARGE);
		EXPECT(!(nth(NVS_OP_LAUNCH, 0)->flags & NVS_OP_UNKNOWN));
	}
	setup();
	taken = malloc(nvs_budget_left() - (24u << 20));
	put_chain(LARGE);
	pb_trigger(&pb, NODE(0), 2);
	submit(compute, 0);
	EXPECT_EQ(count(NVS_OP_LAUNCH), 1);
	EXPECT(nth(NVS_OP_LAUNCH, 0)->flags & NVS_OP_UNKNOWN);
	EXPECT(taken && !nvs_budget_exceeded());
	free(taken);
}

/* One trigger may set many going, but not all triggers together without end. */
static void long_chains(void)
{
	uint64_t launches = 0;

	setup();
	put_chain(500);
	for (int round = 0; round < 5000; round++) {
		pb_trigger(&pb, NODE(0), 2);
		submit(compute, 0);
		launches += count(NVS_OP_LAUNCH);
		EXPECT(round > 400 || count(NVS_OP_LAUNCH) == 500);
	}
	EXPECT(launches < 2000000);
	EXPECT(nvs_budget_exceeded());
}

static void macros(void)
{
	const struct nvs_op *op;

	setup();
	pb_inc(&pb, 1, 0x180, 4, 0x1000u, 1u, 0x7f18u, 0x7be00000u);
	pb_inc(&pb, 1, 0x1b0, 1, 0x41u);
	pb_inc(&pb, 1, 0x3800, 2, 0x400u, 0x5a5a5a5au);
	pb_inc(&pb, 1, 0x180, 4, 0x40u, 1u, 0x7f18u, 0x7be00000u);
	pb_inc(&pb, 1, 0x1b0, 1, 0x41u);
	pb_inc(&pb, 1, 0x3808, 2, 0x7f18u, 0x80800000u);
	pb_inc(&pb, 1, 0x380c, 1, 0x10u);
	pb_inc(&pb, 1, 0x180, 4, 0x40u, 1u, 0x7f18u, 0x7be00000u);
	pb_inc(&pb, 1, 0x1b0, 1, 0x41u);
	pb_inc(&pb, 1, 0x3810, 2, 1u, 2u); /* nothing that is known */
	submit(compute, 0);
	EXPECT_EQ(nseen, 3);
	op = nth(NVS_OP_MEMSET, 0);
	EXPECT_EQ(op->copy.mode, NVS_COPY_MACRO);
	EXPECT_EQ(op->copy.bytes, 0x1000);
	EXPECT_EQ(op->copy.dst, 0x7f187be00000);
	EXPECT(!memcmp(op->copy.value, "ZZZZ", 4));
	op = nth(NVS_OP_COPY, 0);
	EXPECT_EQ(op->copy.mode, NVS_COPY_MACRO);
	EXPECT_EQ(op->copy.macro, 1);
	EXPECT_EQ(op->copy.src, 0x7f1880800000);
	EXPECT_EQ(op->copy.bytes, 64);
	op = nth(NVS_OP_COPY, 1);
	EXPECT_EQ(op->flags, NVS_OP_INCOMPLETE);
	EXPECT_EQ(op->copy.src, 0);
}

static void semaphores(void)
{
	const struct nvs_op *op;

	setup();
	pb_host_sem(&pb, 0x204637ab4, 6, 3 | 1 << 12);
	pb_host_sem(&pb, 0x204637ab4, 0x100000002ull, 0 | 1 << 24);
	pb_host_sem(&pb, 0x204637ab0, 9, 1 | 1 << 20 | 1 << 25);
	pb_host_sem(&pb, 0x204637ab0, 3, 6 | 5u << 27); /* IADD */
	pb_host_sem(&pb, 0x204637ac0, 3, 6 | 5u << 27); /* of an unknown value */
	pb_inc(&pb, 0, 0x10, 4, 2u, 0x4637ad0u, 5u, 2u | 1 << 20 | 1 << 24); /* SEMAPHOREA..D */
	pb_inc(&pb, 1, 0x110, 1, 0u);
	pb_inc(&pb, 0, 0x78, 1, 0u);
	pb_inc(&pb, 1, 0x1698, 1, 0x1000u);
	pb_inc(&pb, 0, 0x34, 1, 5u << 27);
	submit(compute, 0);
	EXPECT_EQ(count(NVS_OP_ACQUIRE), 2);
	EXPECT_EQ(count(NVS_OP_RELEASE), 4);
	EXPECT_EQ(count(NVS_OP_WAIT_IDLE), 2);
	EXPECT_EQ(count(NVS_OP_CACHE), 2);
	op = nth(NVS_OP_ACQUIRE, 0);
	EXPECT_EQ(op->sem.op, NVS_SEM_CIRC_GE);
	EXPECT_EQ(op->sem.address, 0x204637ab4);
	EXPECT_EQ(op->sem.by, NVS_BY_HOST);
	op = nth(NVS_OP_ACQUIRE, 1);
	EXPECT_EQ(op->sem.op, NVS_SEM_EQ);
	EXPECT_EQ(op->sem.payload, 0x100000002ull);
	EXPECT_EQ(op->flags, NVS_OP_WIDE);
	op = nth(NVS_OP_RELEASE, 0);
	EXPECT_EQ(op->flags, NVS_OP_WFI | NVS_OP_TIMESTAMP | NVS_OP_VALUE);
	op = nth(NVS_OP_RELEASE, 1);
	EXPECT_EQ(op->sem.reduction, NVS_RED_ADD);
	EXPECT_EQ(op->sem.value, 12);
	EXPECT(!(nth(NVS_OP_RELEASE, 2)->flags & NVS_OP_VALUE));
	op = nth(NVS_OP_RELEASE, 3);
	EXPECT_EQ(op->sem.address, 0x204637ad0);
	EXPECT_EQ(op->flags, NVS_OP_VALUE);
}

/* Caches, copy by another channel, acquire, instruction caches: that copy was code. */
static void code(void)
{
	uint32_t words[160] = {7};
	const struct nvs_op *op;

	setup();
	pb_copy(&pb, 0x1000, 0x2000, 99, 0x182); /* before, and so no code */
	submit(copier, 1);
	pb_inc(&pb, 1, 0x1698, 1, 0x1000u);
	submit(compute, 2);
	pb_copy(&pb, 0x7f1882700000, 0x7f1883003b00, 0xbc700, 0x182);
	pb_copy_release(&pb, 0x20460ff70, 0x52);
	submit(copier, 3);
	pb_host_sem(&pb, 0x20460ff70, 0x52, 3);
	pb_inc(&pb, 1, 0x1698, 1, 1u);
	submit(compute, 4);
	EXPECT_EQ(count(NVS_OP_CODE), 1);
	op = nth(NVS_OP_CODE, 0);
	EXPECT_EQ(op->code.dst, 0x7f1883003b00);
	EXPECT_EQ(op->code.bytes, 0xbc700);
	EXPECT_EQ(op->code.mode, NVS_COPY_ENGINE);
	EXPECT_EQ(op->code.tag, 3);
	pb_copy(&pb, 0x5000, 0x6000, 77, 0x182); /* nobody waits for it */
	submit(copier, 5);
	pb_upload(&pb, 0x7f18837a0000, words, 640);
	submit(compute, 6);
	EXPECT_EQ(count(NVS_OP_COPY), 1);
	pb_inc(&pb, 1, 0x1698, 1, 1u);
	submit(compute, 7);
	EXPECT_EQ(count(NVS_OP_CODE), 1);
	EXPECT_EQ(nth(NVS_OP_CODE, 0)->code.tag, 6);
	EXPECT_EQ(nth(NVS_OP_CODE, 0)->code.mode, NVS_COPY_INLINE);
	pb_inc(&pb, 1, 0x1698, 1, 1u);
	submit(compute, 8);
	EXPECT_EQ(count(NVS_OP_CODE), 0);
}

/* What other calls copied is no code, nor is what a descriptor is, or speaks of. */
static void code_of_a_call(void)
{
	uint32_t words[160] = {7};

	setup();
	origin = 1; /* a copy of the program's own */
	pb_upload(&pb, 0x7f1880000000, words, 640);
	submit(compute, 1);
	EXPECT_EQ(count(NVS_OP_COPY), 1);
	origin = 2; /* a launch, that loads its code first */
	pb_upload(&pb, 0x204000000, words, 256);
	pb_trigger(&pb, 0x204000000, 10);
	submit(compute, 2);
	EXPECT_EQ(count(NVS_OP_UPLOAD), 1);
	pb_upload(&pb, 0x7f18837a0000, words, 640);
	submit(compute, 3);
	pb_inc(&pb, 1, 0x1698, 1, 1u);
	submit(compute, 4);
	EXPECT_EQ(count(NVS_OP_CODE), 1);
	EXPECT_EQ(nth(NVS_OP_CODE, 0)->code.tag, 3);
	EXPECT_EQ(nth(NVS_OP_CODE, 0)->code.dst, 0x7f18837a0000);
	EXPECT(nth(NVS_OP_CACHE, 0)->flags & NVS_OP_INSTRUCTIONS);
	/* All in one submission, and the trigger comes last. */
	pb_upload(&pb, 0x204000000, words, 256);
	pb_upload(&pb, 0x7f18837b0000, words, 640);
	pb_inc(&pb, 1, 0x1698, 1, 1u);
	pb_trigger(&pb, 0x204000000, 10);
	submit(compute, 5);
	EXPECT_EQ(count(NVS_OP_UPLOAD), 1);
	EXPECT_EQ(count(NVS_OP_CODE), 1);
	EXPECT_EQ(nth(NVS_OP_CODE, 0)->code.dst, 0x7f18837b0000);
	origin = 3;
	pb_inc(&pb, 1, 0x1698, 1, 1u);
	submit(compute, 6);
	EXPECT_EQ(count(NVS_OP_CODE), 0);
	origin = 0;
}

/* A few bytes that are written are told. */
static void written_values(void)
{
	uint32_t words[4] = {0x11223344, 2, 3, 4};

	setup();
	pb_upload(&pb, 0x7f1880000000, words, 4);
	pb_upload(&pb, 0x7f1880000010, words, 16);
	pb_upload(&pb, 0x7f1880000020, words, 12);
	submit(compute, 1);
	EXPECT_EQ(nth(NVS_OP_COPY, 0)->copy.element, 4);
	EXPECT(!memcmp(nth(NVS_OP_COPY, 0)->copy.value, words, 4));
	EXPECT_EQ(nth(NVS_OP_COPY, 1)->copy.element, 16);
	EXPECT(!memcmp(nth(NVS_OP_COPY, 1)->copy.value, words, 16));
	EXPECT_EQ(nth(NVS_OP_COPY, 2)->copy.element, 12);
	/* By an engine, where what it copies is known. */
	pb_copy(&pb, 0x7f1880000010, 0x7f1890000000, 8, 0x182);
	pb_copy(&pb, 0x7f18a0000010, 0x7f1890000000, 8, 0x182);
	submit(copier, 2);
	EXPECT_EQ(nth(NVS_OP_COPY, 0)->copy.element, 8);
	EXPECT(!memcmp(nth(NVS_OP_COPY, 0)->copy.value, words, 8));
	EXPECT_EQ(nth(NVS_OP_COPY, 1)->copy.element, 0);
}

static void bindings(void)
{
	struct nvs_ops_channel_info info = {
		.number = 9, .host_class = 0xca6f, .defaults = {0, 0xcec0, 0, 0, 0xcab5}};
	enum nvs_class_source source;
	struct nvs_ops_channel *c;
	uint32_t value;

	setup();
	c = nvs_ops_channel_new(ops, &info);
	EXPECT_EQ(nvs_ops_class(c, 1, &source)->id, 0xcec0);
	EXPECT_EQ(source, NVS_CLASS_CHIP);
	EXPECT(!nvs_ops_class(c, 0, &source));
	EXPECT_EQ(source, NVS_CLASS_NONE);
	nvs_ops_channel_object(c, 0xcdc0);
	EXPECT_EQ(nvs_ops_class(c, 1, &source)->id, 0xcdc0);
	EXPECT_EQ(source, NVS_CLASS_OBJECT);
	pb_inc(&pb, 1, 0, 1, 0xcbc0u);
	pb_inc(&pb, 1, 0x180, 2, 16u, 1u);
	pb_inc(&pb, 7, 0x500, 1, 123u); /* of a class that nobody knows */
	submit(c, 0);
	EXPECT_EQ(nvs_ops_class(c, 1, &source)->id, 0xcbc0);
	EXPECT_EQ(source, NVS_CLASS_METHOD);
	nvs_ops_channel_object(c, 0xcdc0); /* what the stream said stands */
	EXPECT_EQ(nvs_ops_class(c, 1, NULL)->id, 0xcbc0);
	EXPECT(nvs_ops_method(c, 1, 0x180, &value) && value == 16);
	EXPECT(nvs_ops_method(c, 1, 0x184, &value) && value == 1);
	EXPECT(!nvs_ops_method(c, 1, 0x188, &value));
	EXPECT(nvs_ops_method(c, 7, 0x500, &value) && value == 123);
	EXPECT(nvs_ops_method(c, 0, 0, &value) && value == 0xcbc0);
	EXPECT(!nvs_ops_method(c, 0, 4, &value));
	/* A copy channel has one engine, whatever the subchannel. */
	EXPECT_EQ(nvs_ops_class(copier, 0, NULL)->id, 0xc8b5);
	pb_inc(&pb, 0, 0x400, 4, 0u, 0x1000u, 0u, 0x2000u);
	pb_inc(&pb, 0, 0x418, 1, 5u);
	pb_inc(&pb, 0, 0x300, 1, 0x182u);
	submit(copier, 0);
	EXPECT_EQ(count(NVS_OP_COPY), 1);
	nvs_ops_channel_free(c);
}

/* Far more operations than are held at once, and descriptors everywhere. */
static void many(void)
{
	struct qmd_spec s = {.type = 2, .grid = {1, 1, 1}, .program = 0x1000};
	uint32_t q[96], launches = 0;

	setup();
	qmd_make(q, &s);
	pb_upload(&pb, 0x10000, q, 384);
	submit(compute, 0);
	for (int i = 0; i < 4000; i++)
		pb_trigger(&pb, 0x10000, 10);
	submit(compute, 0);
	EXPECT_EQ(count(NVS_OP_LAUNCH), 4000);
	for (uint32_t i = 0; i < nseen; i++)
		launches += seen[i].kind == NVS_OP_LAUNCH && qmds[i].grid[0] == 1;
	EXPECT_EQ(launches, 4000);
	/* One kept descriptor survives a flood of data. */
	for (uint32_t i = 0; i < 6000; i++) {
		pb_upload(&pb, 0x100000000ull + i * 4096ull, q, 64);
		submit(compute, 0);
	}
	pb_trigger(&pb, 0x10000, 10);
	submit(compute, 0);
	EXPECT_EQ(nth(NVS_OP_LAUNCH, 0)->flags, 0);
}

int main(void)
{
	engine_copies();
	fills();
	wide_fills();
	gaps();
	launches();
	auxiliaries();
	graphs();
	circles();
	large_graphs();
	long_chains();
	macros();
	semaphores();
	code();
	code_of_a_call();
	written_values();
	bindings();
	many();
	nvs_ops_free(ops);
	return expect_done();
}
