/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/*
 * Acquires and the releases that they wait for; and the second check of completeness: a skipped
 * payload of a channel's progress slot is a problem if the chain of PUTs also has a hole, and a
 * remark if not.
 */
#include "decode/calls/decode_submission.h"
#include "decode/calls/progress_check.h"
#include "decode/calls/semaphore_pairs.h"
#include "decode/trace/stream.h"
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

static void release(struct nvs_semaphore_pairs *s, uint64_t submission, uint32_t channel,
		    uint64_t address, uint64_t value)
{
	struct nvs_sync_side who = {submission, channel, .api = ""};
	struct nvs_op op = {.kind = NVS_OP_RELEASE, .flags = NVS_OP_VALUE};

	op.sem.op = NVS_SEM_SET;
	op.sem.address = address;
	op.sem.payload = op.sem.value = value;
	if (nvs_semaphore_pairs_op(s, &who, &op))
		EXPECT(!"taken in");
}

static void acquire(struct nvs_semaphore_pairs *s, uint64_t submission, uint32_t channel,
		    uint64_t address, uint64_t payload, enum nvs_semaphore_op condition)
{
	struct nvs_sync_side who = {submission, channel, .api = ""};
	struct nvs_op op = {.kind = NVS_OP_ACQUIRE};

	op.sem.op = (uint8_t)condition;
	op.sem.address = address;
	op.sem.payload = payload;
	if (nvs_semaphore_pairs_op(s, &who, &op))
		EXPECT(!"taken in");
}

static void conditions(void)
{
	EXPECT(nvs_semaphore_satisfied(NVS_SEM_EQ, 5, 5, false));
	EXPECT(!nvs_semaphore_satisfied(NVS_SEM_EQ, 6, 5, false));
	EXPECT(nvs_semaphore_satisfied(NVS_SEM_EQ, 0x100000005, 5, false));
	EXPECT(!nvs_semaphore_satisfied(NVS_SEM_EQ, 0x100000005, 5, true));
	EXPECT(nvs_semaphore_satisfied(NVS_SEM_GE, 0xffffffff, 5, false));
	EXPECT(nvs_semaphore_satisfied(NVS_SEM_CIRC_GE, 2, 0xfffffffe, false));
	EXPECT(!nvs_semaphore_satisfied(NVS_SEM_CIRC_GE, 0xfffffffe, 2, false));
	EXPECT(nvs_semaphore_satisfied(NVS_SEM_AND, 6, 2, false));
	EXPECT(!nvs_semaphore_satisfied(NVS_SEM_AND, 4, 2, false));
	EXPECT(!nvs_semaphore_satisfied(NVS_SEM_NOR, 0xffffffff, 0, false));
	EXPECT(nvs_semaphore_satisfied(NVS_SEM_NOR, 1, 2, false));
}

static void pairing(void)
{
	struct nvs_semaphore_pairs *s = nvs_semaphore_pairs_new(on_pair, NULL);

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
	nvs_semaphore_pairs_end(s);
	EXPECT_EQ(npairs, 4);
	EXPECT(!pairs[3].found);
	EXPECT_EQ(pairs[3].acquire.submission, 14);
	nvs_semaphore_pairs_free(s);
}

static void transfer(struct nvs_semaphore_pairs *s, uint64_t submission, const struct nvs_op *op)
{
	struct nvs_sync_side who = {submission, 3, .api = ""};

	if (nvs_semaphore_pairs_op(s, &who, op))
		EXPECT(!"taken in");
}

static void write_word(struct nvs_semaphore_pairs *s, uint64_t submission, uint64_t address,
		       uint32_t value)
{
	struct nvs_op op = {.kind = NVS_OP_UPLOAD};

	op.copy.mode = NVS_COPY_INLINE;
	op.copy.use = NVS_USE_SEMAPHORE;
	op.copy.lines = 1;
	op.copy.dst = address;
	op.copy.width = op.copy.bytes = op.copy.element = 4;
	memcpy(op.copy.value, &value, 4);
	transfer(s, submission, &op);
}

/* A semaphore that is set anew: what was released before is gone. */
static void written(void)
{
	struct nvs_semaphore_pairs *s = nvs_semaphore_pairs_new(on_pair, NULL);
	struct nvs_op set = {.kind = NVS_OP_MEMSET}, copy = {.kind = NVS_OP_COPY};

	npairs = 0;
	release(s, 1, 8, 0x1000, 6);
	write_word(s, 2, 0x1000, 5);
	release(s, 3, 8, 0x1000, 6);
	acquire(s, 4, 0, 0x1000, 6, NVS_SEM_CIRC_GE);
	EXPECT_EQ(npairs, 1);
	EXPECT_EQ(pairs[0].release.submission, 3);
	/* It releases, too, one that nobody has released before. */
	write_word(s, 5, 0x2000, 7);
	acquire(s, 6, 0, 0x2000, 7, NVS_SEM_EQ);
	EXPECT_EQ(npairs, 2);
	EXPECT_EQ(pairs[1].release.submission, 5);
	EXPECT_EQ(pairs[1].release.channel, 3);
	acquire(s, 7, 0, 0x1000, 2, NVS_SEM_EQ);
	write_word(s, 8, 0x1000, 2);
	EXPECT_EQ(npairs, 3);
	EXPECT(pairs[2].later);
	EXPECT_EQ(pairs[2].release.submission, 8);
	/* A memset of all of them, whose pattern is known. */
	set.copy.lines = 1;
	set.copy.dst = 0x0ffc;
	set.copy.width = set.copy.bytes = 0x2000;
	set.copy.element = 4;
	set.copy.value[1] = 1;
	transfer(s, 9, &set);
	acquire(s, 10, 0, 0x2000, 0x100, NVS_SEM_EQ);
	EXPECT_EQ(npairs, 4);
	EXPECT_EQ(pairs[3].release.submission, 9);
	/* A copy of what is not known: nothing from before holds. */
	release(s, 11, 8, 0x1000, 6);
	copy.copy.lines = 1;
	copy.copy.dst = 0x0800;
	copy.copy.width = copy.copy.bytes = 0x1000;
	transfer(s, 12, &copy);
	acquire(s, 13, 0, 0x1000, 6, NVS_SEM_CIRC_GE);
	acquire(s, 14, 0, 0x2000, 0x100, NVS_SEM_EQ);
	EXPECT_EQ(npairs, 5); /* the second is out of its reach */
	EXPECT_EQ(pairs[4].acquire.submission, 14);
	EXPECT_EQ(pairs[4].release.submission, 9);
	nvs_semaphore_pairs_end(s);
	EXPECT_EQ(npairs, 6);
	EXPECT(!pairs[5].found);
	nvs_semaphore_pairs_free(s);
}

/* Far more addresses than are remembered. */
static void bounded(void)
{
	struct nvs_semaphore_pairs *s = nvs_semaphore_pairs_new(on_pair, NULL);

	npairs = 0;
	for (uint64_t i = 0; i < 300000; i++)
		release(s, i, 0, 0x10000 + i * 16, 1);
	acquire(s, 300000, 1, 0x10000 + 299999ull * 16, 1, NVS_SEM_EQ);
	EXPECT_EQ(npairs, 1);
	EXPECT(pairs[0].found);
	for (uint64_t i = 0; i < 10000; i++)
		acquire(s, i, 1, 0x90000000 + i * 16, 1, NVS_SEM_EQ);
	nvs_semaphore_pairs_end(s);
	EXPECT_EQ(npairs, 10001);
	nvs_semaphore_pairs_free(s);
}

/* ---- progress ---- */

struct reading {
	struct nvs_trace *trace;
	struct nvs_submission_decoder *follow;
	struct nvs_progress_check *progress;
};

static void on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct reading *r = arg;

	if (nvs_progress_check_op(r->progress, s, op))
		EXPECT(!"taken in");
}

static int on_submission(void *arg, struct nvs_trace *trace, const struct nvs_submission *s)
{
	return nvs_decode_submission(((struct reading *)arg)->follow, s, s->number);
}

static int on_record(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec)
{
	nvs_progress_check_record(((struct reading *)arg)->progress, rec);
	return nvs_decode_record(((struct reading *)arg)->follow, rec);
}

#define SLOT 0x20460ff30ull
#define EVENT 0x20480ff70ull

/* In place of a payload. */
#define NONE 0u /* nothing is released */
#define HOLE 0xfff0u /* a submission that is not in the trace */
#define CHOICE 0xfff1u /* one that was left out by choice, as the trace says */

/* A submission that the trace does not hold. */
static void leave_out(struct mk *m, bool choice)
{
	struct nvs_rec_gap *gap;

	if (choice) {
		gap = mk_rec(m, NVS_REC_GAP, sizeof(*gap));
		gap->reason = NVS_GAP_CHOICE;
		gap->entry = NVS_NONE;
		gap->sequence = m->channel[0].sequence;
		gap->submissions = 1;
		gap->old_put = m->channel[0].put;
		gap->new_put = m->channel[0].put + 1;
	} else {
		m->totals.submissions++;
	}
	m->channel[0].sequence++;
	m->channel[0].put++;
}

/* One channel, whose submissions release PAYLOADS to its slot. EVENTS: some release 0 to another
 * behind it, and the trace takes that for the channel's own, as the library does. */
static void make(const char *path, const uint32_t *payloads, uint32_t n, bool events)
{
	uint64_t told = 0;
	struct mk m;

	mk_open(&m, path);
	mk_thread(&m, 0, 100, "app");
	mk_channel(&m, 0);
	for (uint32_t i = 0; i < n; i++) {
		static struct pb pb;
		struct nvs_rec_submission *s;
		bool event = events && i % 8 > 3;

		if (payloads[i] == HOLE || payloads[i] == CHOICE) {
			leave_out(&m, payloads[i] == CHOICE);
			continue;
		}
		pb.n = 0;
		pb_inc(&pb, 1, 0, 1, 0xcbc0u);
		if (i % 3 == 1) /* events of the program, with payloads of their own */
			pb_report(&pb, 0x20480ff60, 5 + 7 * i, 4);
		if (payloads[i])
			pb_report(&pb, SLOT, payloads[i], 4);
		if (event)
			pb_report(&pb, EVENT, 0, 4);
		s = mk_submission(&m, 0, 0, NVS_NONE, 1, &pb.n, 0);
		s->progress_address = told;
		told = event ? EVENT : SLOT;
		memcpy(s->entries + 1, pb.words, pb.n * 4);
	}
	mk_channel_gone(&m, 0);
	mk_end(&m);
	mk_frame_end(&m);
	mk_close(&m);
}

/* What of that is said about the channel's payloads: "" nothing, "r" a remark, "p" a problem; and
 * of the rest. */
static const char *said(const uint32_t *payloads, uint32_t n, bool events, uint64_t *others)
{
	struct nvs_stream_consumer consumer = {NVS_READ_WHOLE, on_submission, on_record};
	struct reading r = {0};
	struct nvs_submission_sink sink = {.op = on_op, .arg = &r};
	char path[] = "/tmp/nvsnoop-sync-XXXXXX";
	const struct nvs_finding *f;
	static char text[64];
	struct nvs_error err;
	size_t length = 0;

	close(mkstemp(path));
	make(path, payloads, n, events);
	EXPECT_EQ(nvs_trace_open(&r.trace, path, NULL, &err), 0);
	r.follow = nvs_submission_decoder_new(r.trace, &sink);
	r.progress = nvs_progress_check_new(r.trace);
	EXPECT_EQ(nvs_stream_read(r.trace, &consumer, &r, &err), 0);
	*others = nvs_trace_problems(r.trace);
	for (uint32_t i = 0; (f = nvs_trace_finding(r.trace, i)) && length < sizeof(text) - 1;
	     i++) {
		bool problem = f->kind == NVS_FINDING_PROBLEM;

		if (!strstr(f->text, "payload"))
			continue;
		text[length++] = problem ? 'p' : 'r';
		*others -= problem ? f->count : 0;
	}
	text[length] = 0;
	nvs_submission_decoder_free(r.follow);
	nvs_progress_check_free(r.progress);
	nvs_trace_close(r.trace);
	unlink(path);
	return text;
}

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static void progress(void)
{
	static const uint32_t whole[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
			      without[] = {1, 2, 3, NONE, 4, 5, NONE, 6, 7, 8, 9, NONE, 10},
			      wraps[] = {0xfffffff8, 0xfffffff9, 0xfffffffa, 0xfffffffb, 0xfffffffc,
					 0xfffffffd, 0xfffffffe, 0xffffffff, NONE,	 1},
			      few[] = {1, 2, 3, 4, 6, 7, 8},
			      constant[] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7},
			      /* The chain says that none is missing: it is the proof. */
		skipped[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13},
			      back[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4},
			      twice[] = {1,  2,	 3,  4,	 5,  6,	 7,  8,	 9,  11, 12,
					 13, 14, 15, 16, 17, 18, 19, 20, 22, 23},
			      choice[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, CHOICE, 11, 12, 13},
			      /* The payloads say the same as the chain; and where they say less. */
		hole[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, HOLE, 11, 12, 13},
			      empty_hole[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, HOLE, 10, 11, 12},
			      early_hole[] = {1, 2, HOLE, 4, 5},
			      later[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, HOLE, NONE, 11, 12};
	uint64_t others;

#define EXPECT_SAID(a, want, n)                                       \
	for (int events = 0; events < 2; events++) {                  \
		EXPECT_STR(said(a, COUNT(a), events, &others), want); \
		EXPECT_EQ(others, n);                                 \
	}
	EXPECT_SAID(whole, "", 0);
	EXPECT_SAID(without, "", 0);
	EXPECT_SAID(wraps, "r", 0); /* 0 is left out, and was not missing */
	EXPECT_SAID(few, "", 0); /* has not earned it */
	EXPECT_SAID(constant, "", 0);
	EXPECT_SAID(skipped, "r", 0);
	EXPECT_SAID(back, "r", 0);
	EXPECT_SAID(twice, "r", 0); /* once is enough */
	EXPECT_SAID(choice, "", 0);
	/* The chain, and the totals: another submission was counted than is here. */
	EXPECT_SAID(hole, "p", 2);
	EXPECT_SAID(empty_hole, "", 2);
	EXPECT_SAID(early_hole, "", 2);
	EXPECT_SAID(later, "p", 2);
}

int main(void)
{
	conditions();
	pairing();
	written();
	bounded();
	progress();
	return expect_done();
}
