/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/*
 * Fast paths give the same results: operations, faults and method states of synthetic command
 * streams are the same whether headers are decoded in one go (where uploads have their own path),
 * one by one, or in pieces; and a trace reads the same whether a thread decompresses ahead or not.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#include "decode/gpu/ops.h"
#include "decode/trace/stream.h"
#include "nvsnoop/decode.h"
#include "tests/unit/expect.h"
#include "tests/unit/mktrace.h"
#include "tests/unit/pbmake.h"

#define MAX_OPS 4096u
#define ROUNDS 400

static uint64_t seed = 0x5eed0001;

static uint32_t any(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

/* ---- command streams ---- */

enum way { GO, ONE_BY_ONE, PIECES, WAYS };

static struct taken {
	struct nvs_op ops[MAX_OPS];
	struct nvs_qmd qmds[MAX_OPS];
	struct nvs_pb_fault faults[MAX_OPS];
	uint32_t nops, nfaults;
	struct nvs_ops *all;
	struct nvs_ops_channel *channel;
} taken[WAYS];

static uint64_t uploads, launches;

static void on_op(void *arg, struct nvs_ops_channel *c, const struct nvs_op *op)
{
	struct taken *t = arg;
	const struct nvs_qmd *q = nvs_ops_qmd(t->all, op);

	uploads += op->kind == NVS_OP_UPLOAD;
	launches += op->kind == NVS_OP_LAUNCH;
	if (t->nops == MAX_OPS)
		return;
	t->ops[t->nops] = *op;
	/* Where descriptors are kept is no matter. */
	if (op->kind == NVS_OP_LAUNCH)
		t->ops[t->nops].launch.qmd = 0;
	if (q)
		t->qmds[t->nops] = *q;
	t->nops++;
}

static void on_fault(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_fault *fault)
{
	struct taken *t = arg;

	struct nvs_pb_fault *f = &t->faults[t->nfaults];

	if (t->nfaults == MAX_OPS)
		return;
	t->nfaults++;
	memset(f, 0, sizeof(*f)); /* what lies between its members */
	f->kind = fault->kind;
	f->address = fault->address;
	f->header = fault->header;
	f->wanted = fault->wanted;
	f->had = fault->had;
}

static void on_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		   const struct nvs_class *cls)
{
}

static void open_ways(uint32_t compute)
{
	for (int i = 0; i < WAYS; i++) {
		struct nvs_ops_sink sink = {i == ONE_BY_ONE ? on_run : NULL, on_fault, on_op,
					    &taken[i]};
		struct nvs_ops_channel_info info = {.number = 1, .host_class = 0xc86f};

		taken[i].all = nvs_ops_new(&sink);
		taken[i].channel = nvs_ops_channel_new(taken[i].all, &info);
		nvs_ops_channel_object(taken[i].channel, compute);
		nvs_ops_channel_object(taken[i].channel, 0xc8b5);
	}
}

static void close_ways(void)
{
	for (int i = 0; i < WAYS; i++)
		nvs_ops_free(taken[i].all);
}

static uint64_t any_address(void)
{
	return 0x204e00000ull + any(64) * 256 + (any(4) ? 0 : any(64) * 4);
}

static void add_upload(struct pb *pb, uint64_t to, const void *data, uint32_t bytes)
{
	uint32_t from = pb->n;

	pb_upload(pb, to, data, bytes);
	/* Now and then one that is not as usual: lines, layout, completion, count, subchannel. */
	switch (any(12)) {
	case 0:
		pb->words[from + 5] = any(3);
		break;
	case 1:
		pb->words[from + 7] = any(128);
		break;
	case 2:
		pb->words[from + 4] = any(bytes * 2 + 2);
		break;
	case 3:
		pb->words[from + 6] ^= 1u << 13;
		break;
	case 4:
		pb->n = from + any(pb->n - from);
		break;
	}
}

static void add_descriptor(struct pb *pb)
{
	uint64_t slot = 0x204e00000ull + any(16) * 0x400;
	struct qmd_spec grid = {.type = any(5) ? 2 : 1,
				.grid = {any(100), 1, 1},
				.block = {any(64), 2, 1},
				.program = any(4) ? 0x7f1883783200 : 0,
				.dependence = any(3) ? 0 : 1,
				.dependent = any(2) ? 0x204e00000ull + any(16) * 0x400 : 0,
				.action = any(5),
				.release = any(2) ? any_address() : 0,
				.payload = any(100),
				.bank = any_address(),
				.bank_bytes = any(2) * 0x100};
	uint32_t q[96];

	qmd_make(q, &grid);
	add_upload(pb, slot, q, 384);
	if (any(3))
		pb_trigger(pb, slot, any(13));
}

static void add_something(struct pb *pb)
{
	static uint32_t data[200];

	for (uint32_t i = 0; i < 200; i++)
		data[i] = any(1000);
	switch (any(9)) {
	case 0:
	case 1:
		add_upload(pb, any_address(), data, any(700) + 1);
		break;
	case 2:
	case 3:
		add_descriptor(pb);
		break;
	case 4:
		pb_report(pb, any_address(), any(100), any(64));
		break;
	case 5:
		pb_copy(pb, any_address(), any_address(), any(600), 0x182);
		break;
	case 6:
		pb_host_sem(pb, any_address(), any(100), any(8));
		break;
	case 7: /* any header, with what data there is */
		pb_word(pb, any(8) << 29 | any(40) << 16 | any(8) << 13 | any(0x1000));
		break;
	case 8: /* rows over many methods, and the old and the immediate forms */
		pb_word(pb, (1 + 2 * any(3)) << 29 | 50u << 16 | 1u << 13 | (0x40 + any(0x60)));
		for (int i = 0; i < 50; i++)
			pb_word(pb, any(300));
		pb_word(pb, 4u << 29 | any(0x2000) << 16 | 1u << 13 | (0x40 + any(0x6c0)));
		break;
	}
}

static void submit(struct taken *t, enum way way, const struct pb *pb)
{
	struct nvs_gp gp;

	t->nops = t->nfaults = 0;
	memset(t->qmds, 0, sizeof(t->qmds));
	nvs_ops_begin(t->channel, 7, 0);
	nvs_ops_entry(t->channel, 0x200000000ull | (uint64_t)pb->n << 42, &gp);
	for (uint32_t at = 0, n; at < pb->n; at += n) {
		n = way == PIECES ? 1 + any(40) : pb->n;
		if (n > pb->n - at)
			n = pb->n - at;
		nvs_ops_feed(t->channel, pb->words + at, n);
	}
	nvs_ops_end(t->channel);
}

static bool same_state(void)
{
	for (uint32_t i = 0; i < 8 * 4096; i++) {
		uint32_t a, b, c;
		bool x = nvs_ops_method(taken[0].channel, i / 4096, i % 4096 * 4, &a);
		bool y = nvs_ops_method(taken[1].channel, i / 4096, i % 4096 * 4, &b);
		bool z = nvs_ops_method(taken[2].channel, i / 4096, i % 4096 * 4, &c);

		if (x != y || x != z || a != b || a != c)
			return false;
	}
	return true;
}

static void test_ways(uint32_t compute)
{
	static struct pb pb;
	uint64_t begun = seed, different = 0;

	open_ways(compute);
	uploads = launches = 0;
	for (int round = 0; round < ROUNDS; round++) {
		pb.n = 0;
		for (uint32_t i = 1 + any(20); i; i--)
			add_something(&pb);
		for (int i = 0; i < WAYS; i++)
			submit(&taken[i], i, &pb);
		for (int i = 1; i < WAYS; i++)
			different += taken[0].nops != taken[i].nops ||
				     taken[0].nfaults != taken[i].nfaults ||
				     memcmp(taken[0].ops, taken[i].ops,
					    taken[0].nops * sizeof(*taken[0].ops)) ||
				     memcmp(taken[0].qmds, taken[i].qmds, sizeof(taken[0].qmds)) ||
				     memcmp(taken[0].faults, taken[i].faults,
					    taken[0].nfaults * sizeof(*taken[0].faults));
		different += !same_state();
	}
	if (different)
		printf("class %x, seed 0x%llx: %llu differ\n", compute, (unsigned long long)begun,
		       (unsigned long long)different);
	EXPECT(!different);
	EXPECT(compute != 0xcbc0 || (uploads > ROUNDS && launches > ROUNDS / 4));
	close_ways();
}

/* ---- unpacking ahead ---- */

struct reading {
	uint64_t submissions, bytes, sum, stop_at;
	int result;
	struct nvs_error err;
};

static int on_submission(void *arg, struct nvs_trace *t, const struct nvs_submission *s)
{
	struct reading *r = arg;

	for (size_t i = 0; i < s->ndata; i++)
		r->sum = r->sum * 31 + s->data[i];
	r->bytes += s->ndata;
	return ++r->submissions == r->stop_at;
}

static const struct nvs_stream_consumer consumer = {NVS_READ_WHOLE, on_submission, NULL};

/* Twice: to STOP_AT (0: to the end), then from the beginning to the end. */
static struct reading read_twice(const char *path, uint64_t stop_at)
{
	struct reading first = {.stop_at = stop_at}, second = {0};
	struct nvs_trace *t = NULL;

	first.result = nvs_trace_open(&t, path, NULL, &first.err);
	if (!first.result)
		first.result = nvs_stream_read(t, &consumer, &first, &first.err);
	if (!first.result || first.result == 1)
		second.result = nvs_stream_read(t, &consumer, &second, &second.err);
	nvs_trace_close(t);
	second.sum = second.sum * 31 + first.sum;
	second.submissions += first.submissions << 32;
	if (first.result < 0) {
		second.result = first.result;
		second.err = first.err;
	}
	return second;
}

static bool same(const struct reading *a, const struct reading *b)
{
	return a->submissions == b->submissions && a->sum == b->sum && a->bytes == b->bytes &&
	       a->result == b->result && !strcmp(a->err.text, b->err.text);
}

/* Compares with the reading on one processor, where there is no thread. */
static void both(const char *path, uint64_t stop_at, int result, uint64_t submissions)
{
	struct reading ahead = read_twice(path, stop_at), alone;
	cpu_set_t all, one;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	for (int i = 0; !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	sched_setaffinity(0, sizeof(one), &one);
	alone = read_twice(path, stop_at);
	sched_setaffinity(0, sizeof(all), &all);
	EXPECT(same(&ahead, &alone));
	EXPECT(alone.result == result);
	EXPECT(alone.submissions == submissions);
}

static void make_trace(struct mk *m, const char *path)
{
	mk_open(m, path);
	mk_channel(m, 0);
	for (int i = 0; i < 40; i++) {
		mk_next_frame(m);
		for (uint32_t k = 0; k < 10; k++)
			mk_simple(m, 0, 0, 30 + any(500));
	}
	mk_channel_gone(m, 0);
	mk_end(m);
	mk_frame_end(m);
	mk_close(m);
}

static void test_ahead(void)
{
	static struct mk m;
	char path[] = "/tmp/nvsnoop-ways-XXXXXX";
	int fd = mkstemp(path);
	FILE *f;

	close(fd);
	make_trace(&m, path);
	both(path, 0, 0, 400ull << 32 | 400);
	both(path, 5, 0, 5ull << 32 | 400);
	both(path, 255, 0, 255ull << 32 | 400);
	both(path, 400, 0, 400ull << 32 | 400);
	/* Frames end at ends[]; damage in the 30th. */
	f = fopen(path, "r+b");
	fseek(f, (long)m.ends[29] - 3, SEEK_SET);
	fputc(0x55, f);
	fclose(f);
	both(path, 0, -EBADMSG, 280ull << 32);
	EXPECT(!truncate(path, (off_t)m.ends[20] + 9));
	both(path, 0, -ENODATA, 200ull << 32);
	unlink(path);
}

int main(void)
{
	printf("seed 0x%llx\n", (unsigned long long)seed);
	test_ways(0xcbc0);
	test_ways(0xc7c0);
	test_ways(0xa0c0);
	test_ahead();
	return expect_done();
}
