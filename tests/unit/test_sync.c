/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/*
 * Acquires and the releases they wait for; and the second proof of completeness: a payload of a
 * channel's progress slot that was skipped is found, a submission without a release is not.
 */
#include "decode/follow.h"
#include "decode/progress.h"
#include "decode/sync.h"
#include "tests/unit/expect.h"
#include "tests/unit/mktrace.h"
#include "tests/unit/pbmake.h"

/* ---- pairs ---- */

static struct nvs_sync_pair pairs[64];
static uint32_t npairs;

static void on_pair(void *arg, const struct nvs_sync_pair *pair)
{
	pairs[npairs++ % 64] = *pair;
}

static void release(struct nvs_sync *s, uint64_t submission, uint32_t channel, uint64_t address,
		    uint64_t value)
{
	struct nvs_sync_side who = {submission, channel, ""};
	struct nvs_op op = {.kind = NVS_OP_RELEASE, .flags = NVS_OP_VALUE};

	op.sem.op = NVS_SEM_SET;
	op.sem.address = address;
	op.sem.payload = op.sem.value = value;
	if (nvs_sync_op(s, &who, &op))
		EXPECT(!"taken in");
}

static void acquire(struct nvs_sync *s, uint64_t submission, uint32_t channel, uint64_t address,
		    uint64_t payload, enum nvs_semaphore_op condition)
{
	struct nvs_sync_side who = {submission, channel, ""};
	struct nvs_op op = {.kind = NVS_OP_ACQUIRE};

	op.sem.op = (uint8_t)condition;
	op.sem.address = address;
	op.sem.payload = payload;
	if (nvs_sync_op(s, &who, &op))
		EXPECT(!"taken in");
}

static void conditions(void)
{
	EXPECT(nvs_sync_satisfied(NVS_SEM_EQ, 5, 5, false));
	EXPECT(!nvs_sync_satisfied(NVS_SEM_EQ, 6, 5, false));
	EXPECT(nvs_sync_satisfied(NVS_SEM_EQ, 0x100000005, 5, false));
	EXPECT(!nvs_sync_satisfied(NVS_SEM_EQ, 0x100000005, 5, true));
	EXPECT(nvs_sync_satisfied(NVS_SEM_GE, 0xffffffff, 5, false));
	EXPECT(nvs_sync_satisfied(NVS_SEM_CIRC_GE, 2, 0xfffffffe, false));
	EXPECT(!nvs_sync_satisfied(NVS_SEM_CIRC_GE, 0xfffffffe, 2, false));
	EXPECT(nvs_sync_satisfied(NVS_SEM_AND, 6, 2, false));
	EXPECT(!nvs_sync_satisfied(NVS_SEM_AND, 4, 2, false));
	EXPECT(!nvs_sync_satisfied(NVS_SEM_NOR, 0xffffffff, 0, false));
	EXPECT(nvs_sync_satisfied(NVS_SEM_NOR, 1, 2, false));
}

static void pairing(void)
{
	struct nvs_sync *s = nvs_sync_new(on_pair, NULL);

	npairs = 0;
	for (uint64_t i = 1; i <= 5; i++)
		release(s, i, 8, 0x1000, i);
	acquire(s, 10, 0, 0x1000, 3, NVS_SEM_CIRC_GE);
	EXPECT_EQ(npairs, 1);
	EXPECT(pairs[0].found && !pairs[0].later);
	EXPECT_EQ(pairs[0].release.submission, 3); /* the first that is enough */
	EXPECT_EQ(pairs[0].release.channel, 8);
	EXPECT_EQ(pairs[0].value, 3);
	EXPECT_EQ(pairs[0].depth, 1);
	/* What channel 0 releases now stands behind that wait. */
	release(s, 11, 0, 0x2000, 1);
	acquire(s, 12, 1, 0x2000, 1, NVS_SEM_CIRC_GE);
	EXPECT_EQ(pairs[1].depth, 2);
	/* Waiting for what is submitted later, and for what never is. */
	acquire(s, 13, 1, 0x3000, 7, NVS_SEM_EQ);
	acquire(s, 14, 1, 0x4000, 7, NVS_SEM_EQ);
	release(s, 15, 2, 0x3000, 6);
	EXPECT_EQ(npairs, 2);
	release(s, 16, 2, 0x3000, 7);
	EXPECT_EQ(npairs, 3);
	EXPECT(pairs[2].found && pairs[2].later);
	EXPECT_EQ(pairs[2].release.submission, 16);
	nvs_sync_end(s);
	EXPECT_EQ(npairs, 4);
	EXPECT(!pairs[3].found);
	EXPECT_EQ(pairs[3].acquire.submission, 14);
	nvs_sync_free(s);
}

/* Far more addresses than are remembered. */
static void bounded(void)
{
	struct nvs_sync *s = nvs_sync_new(on_pair, NULL);

	npairs = 0;
	for (uint64_t i = 0; i < 300000; i++)
		release(s, i, 0, 0x10000 + i * 16, 1);
	acquire(s, 300000, 1, 0x10000 + 299999ull * 16, 1, NVS_SEM_EQ);
	EXPECT_EQ(npairs, 1);
	EXPECT(pairs[0].found);
	for (uint64_t i = 0; i < 10000; i++)
		acquire(s, i, 1, 0x90000000 + i * 16, 1, NVS_SEM_EQ);
	nvs_sync_end(s);
	EXPECT_EQ(npairs, 10001);
	nvs_sync_free(s);
}

/* ---- progress ---- */

struct reading {
	struct nvs_trace *trace;
	struct nvs_follow *follow;
	struct nvs_progress *progress;
};

static void on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct reading *r = arg;

	if (op->kind == NVS_OP_RELEASE && nvs_progress_release(r->progress, r->trace, s, op))
		EXPECT(!"taken in");
}

static int on_submission(void *arg, struct nvs_trace *trace, const struct nvs_submission *s)
{
	return nvs_follow_submission(((struct reading *)arg)->follow, s, s->number);
}

static int on_record(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec)
{
	const struct nvs_rec_channel_gone *gone = (const void *)rec;

	if (rec->type == NVS_REC_CHANNEL_GONE)
		nvs_progress_gone(((struct reading *)arg)->progress, gone->channel);
	return nvs_follow_record(((struct reading *)arg)->follow, rec);
}

/* Problems in a trace of one channel whose submissions release PAYLOADS (0: none) to its slot. */
static uint64_t problems(const uint32_t *payloads, uint32_t n, uint64_t told)
{
	struct nvs_consumer consumer = {NVS_READ_WHOLE, on_submission, on_record};
	struct reading r = {0};
	struct nvs_follow_sink sink = {.op = on_op, .arg = &r};
	char path[] = "/tmp/nvsnoop-sync-XXXXXX";
	struct nvs_error err;
	uint64_t found;
	struct mk m;

	close(mkstemp(path));
	mk_open(&m, path);
	mk_thread(&m, 0, 100, "app");
	mk_channel(&m, 0);
	for (uint32_t i = 0; i < n; i++) {
		static struct pb pb;
		struct nvs_rec_submission *s;

		pb.n = 0;
		pb_inc(&pb, 1, 0, 1, 0xcbc0u);
		if (i % 3 == 1) /* events of the program, with payloads of their own */
			pb_report(&pb, 0x20480ff60, 5 + 7 * i, 4);
		if (payloads[i])
			pb_report(&pb, 0x20460ffe0, payloads[i], 4);
		s = mk_submission(&m, 0, 0, NVS_NONE, 1, &pb.n, 0);
		s->progress_address = i ? told : 0;
		memcpy(s->entries + 1, pb.words, pb.n * 4);
	}
	mk_channel_gone(&m, 0);
	mk_end(&m);
	mk_frame_end(&m);
	mk_close(&m);
	EXPECT_EQ(nvs_trace_open(&r.trace, path, NULL, &err), 0);
	r.follow = nvs_follow_new(r.trace, &sink);
	r.progress = nvs_progress_new();
	EXPECT_EQ(nvs_trace_read(r.trace, &consumer, &r, &err), 0);
	found = nvs_trace_problems(r.trace);
	nvs_follow_free(r.follow);
	nvs_progress_free(r.progress);
	nvs_trace_close(r.trace);
	unlink(path);
	return found;
}

static void progress(void)
{
	static const uint32_t whole[] = {1, 2, 3, 4, 5, 6, 7, 8},
			      without[] = {1, 2, 3, 0, 4, 5, 0, 6},
			      skipped[] = {1, 2, 3, 4, 6, 7, 8, 9},
			      back[] = {1, 2, 3, 4, 5, 2, 3, 4},
			      twice[] = {1, 2, 3, 5, 6, 7, 9, 10},
			      wraps[] = {0xfffffffd, 0xfffffffe, 0xffffffff, 0, 1, 2};
	static const uint64_t slots[] = {0x20460ffe0, 0};

	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(problems(whole, 8, slots[i]), 0);
		EXPECT_EQ(problems(without, 8, slots[i]), 0);
		EXPECT_EQ(problems(skipped, 8, slots[i]), 1);
		EXPECT_EQ(problems(back, 8, slots[i]), 1);
	}
	EXPECT_EQ(problems(twice, 8, slots[0]), 2);
	EXPECT_EQ(problems(wraps, 3, slots[0]), 0);
}

int main(void)
{
	conditions();
	pairing();
	bounded();
	progress();
	return expect_done();
}
