/* SPDX-License-Identifier: MIT */
/* LINK: trap */
/*
 * What a trigger leaves out of a channel is recorded as gaps that are contiguous with what is
 * recorded, entry for entry: in sequence, and with several threads that ring one channel while the
 * window opens and closes.
 */
#include <pthread.h>
#include "tests/unit/fakering.h"
#include "trap/buffer/process.h"

#define RING 4096u
#define TOKEN 0x10012
#define THREADS 4u
#define ROUNDS 20000u
#define ALL (THREADS * ROUNDS + 100)

static uint64_t gpfifo[RING];
static uint32_t put;
static struct nvs_spool_channel state = {.channel = 3};
static struct nvs_channel channel = {.number = 3,
				     .token = TOKEN,
				     .entries = RING,
				     .gpfifo = gpfifo,
				     .put = &put,
				     .state = &state};
static uint32_t hash[4];
static struct nvs_doorbell doorbell = {.map = 7};
static struct nvs_view view;

static void ring_doorbell(void)
{
	struct nvs_buffer *ring = nvs_buffer_enter();
	struct nvs_doorbell_event event = {
		.doorbell = &doorbell, .token = TOKEN, .stack = NVS_NONE, .time = nvs_now()};

	nvs_capture(ring, nvs_view_get(), &event);
	nvs_buffer_leave(ring);
}

/* Control entries: nothing is to be copied for them. */
static void push(uint32_t n)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	__atomic_store_n(&put, (put + n) % RING, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

/* One stretch of the chain: a submission, or the run of them that a gap tells of. */
struct stretch {
	uint64_t from, behind;
	uint32_t old_put, new_put;
	bool recorded;
};

static struct stretch chain[ALL];
static uint32_t stretches;
static uint64_t gap_bytes;

static void take(const struct nvs_rec *rec)
{
	const struct nvs_rec_submission *s = (const void *)rec;
	const struct nvs_rec_gap *g = (const void *)rec;

	if (rec->type == NVS_REC_SUBMISSION)
		chain[stretches++] = (struct stretch){s->sequence, s->sequence + 1, s->old_put,
						      s->new_put, true};
	if (rec->type != NVS_REC_GAP)
		return;
	CHECK(g->reason == NVS_GAP_CHOICE && g->channel == 3);
	chain[stretches++] = (struct stretch){g->sequence, g->sequence + g->submissions, g->old_put,
					      g->new_put, false};
	gap_bytes += g->bytes;
}

static int by_sequence(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* All that the rings hold, in the order of the channel. */
static void read_rings(void)
{
	stretches = 0;
	for (uint32_t i = 0; i < nvs_buffer_count(); i++) {
		uint32_t undrained = 0;
		struct nvs_rec *rec;

		while ((rec = fake_next(nvs_buffer_at(i), &undrained)))
			take(rec);
	}
	qsort(chain, stretches, sizeof(*chain), by_sequence);
}

/* Sequences and PUTs go on without a break from FROM at PUT to what the channel has claimed. How
 * many are recorded. */
static uint32_t check_chain(uint64_t from, uint32_t at)
{
	uint32_t recorded = 0, wrong = 0;

	for (uint32_t i = 0; i < stretches; i++) {
		wrong += chain[i].from != from || chain[i].old_put != at;
		recorded += chain[i].recorded;
		from = chain[i].behind;
		at = chain[i].new_put;
	}
	CHECK(wrong == 0);
	CHECK(from == state.claim >> NVS_PUT_BITS && at == put);
	return recorded;
}

static void test_one_after_the_other(void)
{
	uint64_t from = state.claim >> NVS_PUT_BITS;
	uint32_t at = put;

	for (uint32_t i = 0; i < 30; i++) {
		if (i == 10)
			nvs_trap_record(3);
		if (i == 20)
			nvs_trap_record(NVS_RECORD_ALL);
		if (i == 25)
			nvs_trap_record(0);
		push(1 + i % 3);
		ring_doorbell();
	}
	nvs_channel_flush(&state);
	CHECK(state.lost == 0);
	read_rings();
	CHECK(check_chain(from, at) == 8);
	CHECK(stretches == 8 + 3 && chain[0].behind - chain[0].from == 10);
}

/* A thread that was stopped for ever while it changed the run holds up nobody. */
static void test_left_behind(void)
{
	uint64_t from = state.claim >> NVS_PUT_BITS;
	uint32_t at = put;

	nvs_trap_record(0);
	push(1);
	ring_doorbell();
	state.lost |= NVS_LOST_CHANGING;
	push(1);
	ring_doorbell();
	nvs_trap_record(1);
	push(1);
	ring_doorbell();
	read_rings();
	CHECK(check_chain(from, at) == 1 && stretches == 2);
}

static void *work(void *barrier)
{
	pthread_barrier_wait(barrier);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		push(i % 3);
		ring_doorbell();
		if (i % 50 == 7)
			nvs_trap_record(i % 100 == 7 ? (int64_t)(i % 9) : NVS_RECORD_ALL);
		if (i % 50 == 30)
			nvs_trap_record(0);
	}
	return NULL;
}

/* Which thread takes what, and which of them are recorded, is chance; that nothing is missing is
 * not. */
static void test_side_by_side(void)
{
	uint64_t from = state.claim >> NVS_PUT_BITS;
	uint32_t at = put, recorded;
	pthread_barrier_t barrier;
	pthread_t thread[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, &barrier);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	nvs_channel_flush(&state);
	CHECK(state.lost == 0);
	read_rings();
	recorded = check_chain(from, at);
	CHECK(recorded && recorded < THREADS * ROUNDS);
	CHECK((state.claim >> NVS_PUT_BITS) - from == THREADS * ROUNDS);
}

int main(void)
{
	struct nvs_trap_options options = {.paused = true};

	CHECK(nvs_trap_init(&options) == 0);
	fake_rings(THREADS + 1, 32 << 20);
	hash[nvs_channel_hash(0, TOKEN) & 3] = 1;
	view = (struct nvs_view){.nchannels = 1,
				 .channels = &channel,
				 .channel_mask = 3,
				 .channel_hash = hash,
				 .ndoorbells = 1,
				 .doorbells = &doorbell};
	nvs_view_publish(&view);
	test_one_after_the_other();
	test_left_behind();
	test_side_by_side();
	return test_result();
}
