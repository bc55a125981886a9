/* SPDX-License-Identifier: MIT */
/*
 * The merge of thread buffers into frames: nothing lost, nothing twice, in order of time, no
 * record across frames; and a program that overwrites a buffer loses only that buffer. Both with
 * frames written at once, and with each written while the next ones fill.
 */
/* LINK: preload */
#include <pthread.h>
#include "preload/writer/merge.h"
#include "tests/unit/fakering.h"

#define RINGS 5
#define RING_BYTES (64u << 10)

static struct {
	uint64_t frames, records, last_time, next_value;
	uint64_t ends[RINGS]; /* of the ranges so far */
	bool sorted, chained, sized;
	uint64_t checksum;
} seen;

/* A record that carries a number: the address of a GAP is free for it. */
struct numbered {
	struct nvs_rec rec;
	uint64_t value;
	uint64_t fill[500];
};

static void take_record(const struct nvs_rec *rec)
{
	const struct numbered *n = (const void *)rec;

	seen.records++;
	seen.sorted &= rec->time >= seen.last_time;
	seen.last_time = rec->time;
	seen.checksum += n->value * rec->size;
	for (size_t i = 24; i < rec->size; i += 8)
		seen.sized &= n->fill[i / 8 - 3] == n->value + i;
}

static void take_frame(const void *data, size_t size, const struct nvs_merge_counts *counts)
{
	const struct nvs_rec_frame *frame = data;
	uint64_t records = seen.records;

	CHECK(frame->rec.type == NVS_REC_FRAME && frame->number == seen.frames);
	CHECK(size <= frame->rec.size + NVS_FRAME_BYTES);
	seen.frames++;
	for (uint32_t i = 0; i < frame->nranges; i++) {
		const struct nvs_ring_range *r = &frame->ranges[i];

		seen.chained &= r->ring < RINGS && r->from == seen.ends[r->ring] && r->to > r->from;
		seen.ends[r->ring] = r->to;
		/* What is being written is not given away yet. */
		seen.chained &= nvs_buffer_at(r->ring)->shared->tail <= r->from;
	}
	for (size_t at = frame->rec.size; at < size;) {
		const struct nvs_rec *rec = (const void *)((const char *)data + at);

		seen.sized &= rec->size >= 16 && rec->size <= size - at;
		if (!seen.sized)
			return;
		take_record(rec);
		at += rec->size;
	}
	CHECK(counts->records == seen.records - records);
}

/* Frames that are written as late as may be: after as many more as may be held, or when asked for.
 */
static struct {
	uint32_t late, n;
	const struct nvs_frame *each[NVS_MERGE_FRAMES];
} held;

static void write_oldest(void)
{
	const struct nvs_frame *frame = held.each[0];

	if (frame->counts.records)
		take_frame(frame->data, frame->size, &frame->counts);
	nvs_merge_commit(frame);
	held.n--;
	memmove(held.each, held.each + 1, held.n * sizeof(held.each[0]));
}

static void hold_frame(const struct nvs_frame *frame)
{
	held.each[held.n++] = frame;
	if (held.n > held.late)
		write_oldest();
}

static void drain(struct nvs_merge *m, uint64_t limit)
{
	const struct nvs_frame *frame;

	nvs_merge_collect(m, limit);
	while ((frame = nvs_merge_next(m)))
		hold_frame(frame);
}

static void flush(struct nvs_merge *m)
{
	const struct nvs_frame *frame = nvs_merge_rest(m);

	if (frame)
		hold_frame(frame);
}

/* Flushes, and sees the frame written. */
static void finish(struct nvs_merge *m)
{
	flush(m);
	while (held.n)
		write_oldest();
}

static void reset(void)
{
	memset(&seen, 0, sizeof(seen));
	seen.sorted = seen.chained = seen.sized = true;
	for (uint32_t i = 0; i < RINGS; i++)
		seen.ends[i] = nvs_buffer_at(i)->shared->tail;
}

/* Straight into RING, with a time of the test's own. False: no room. */
static bool put(uint32_t ring, uint16_t type, uint32_t size, uint64_t time, uint64_t value)
{
	struct nvs_buffer *r = nvs_buffer_at(ring);
	uint64_t head = r->shared->head;
	struct numbered *n = (void *)(r->data + (head & (r->bytes - 1)));

	if (head + size - r->shared->tail > r->bytes)
		return false;
	n->rec = (struct nvs_rec){.type = type, .size = size, .time = time};
	n->value = value;
	for (size_t i = 24; i < size; i += 8)
		n->fill[i / 8 - 3] = value + i;
	__atomic_store_n(&r->shared->head, head + size, __ATOMIC_RELEASE);
	return true;
}

static uint32_t random_of(uint32_t n)
{
	static uint32_t x = 12345;

	x = x * 1664525u + 1013904223u;
	return (x >> 8) % n;
}

static struct nvs_merge *new_merge(void)
{
	struct nvs_merge *m = nvs_merge_new(RING_BYTES, 0);

	if (!m || m->nframes != NVS_MERGE_FRAMES)
		abort();
	reset();
	return m;
}

static void test_order(void)
{
	struct nvs_merge *m = new_merge();
	uint64_t time = 1000, sum = 0, n = 0;

	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 300; i++) {
			uint32_t size = 24 + random_of(200) * 8;

			time += random_of(3);
			if (!put(random_of(RINGS), NVS_REC_GAP, size, time, n))
				continue;
			sum += n * size;
			n++;
		}
		/* A record of the very limit stays: another ring may still get an older one. */
		drain(m, time - random_of(50));
		if (random_of(3) == 0)
			flush(m);
	}
	drain(m, UINT64_MAX);
	finish(m);
	CHECK(seen.sorted && seen.chained && seen.sized);
	CHECK(seen.records == n && seen.checksum == sum && n > 10000);
	CHECK(m->damaged_bytes == 0 && m->all.records == n);
	for (uint32_t i = 0; i < RINGS; i++)
		CHECK(nvs_buffer_at(i)->shared->tail == nvs_buffer_at(i)->shared->head);
	nvs_merge_free(m);
}

static void test_limit(void)
{
	struct nvs_merge *m = new_merge();

	put(0, NVS_REC_GAP, 24, 10, 1);
	put(0, NVS_REC_GAP, 24, 20, 2);
	put(1, NVS_REC_GAP, 24, 15, 3);
	drain(m, 15);
	CHECK(m->used == 24);
	/* Not written yet: the ring keeps it. */
	CHECK(nvs_buffer_at(0)->shared->tail + 48 == nvs_buffer_at(0)->shared->head);
	finish(m);
	CHECK(seen.records == 1 &&
	      nvs_buffer_at(0)->shared->tail + 24 == nvs_buffer_at(0)->shared->head);
	drain(m, 21);
	finish(m);
	CHECK(seen.records == 3 && seen.sorted && seen.chained);
	finish(m);
	CHECK(seen.frames == 2);
	nvs_merge_free(m);
}

static void test_padding(void)
{
	struct nvs_merge *m = new_merge();

	put(2, NVS_REC_PAD, 4000, 5, 0);
	drain(m, UINT64_MAX);
	finish(m);
	CHECK(seen.frames == 0 && nvs_buffer_at(2)->shared->tail == nvs_buffer_at(2)->shared->head);
	reset();
	put(2, NVS_REC_PAD, 64, 5, 0);
	put(2, NVS_REC_GAP, 32, 6, 7);
	drain(m, UINT64_MAX);
	finish(m);
	CHECK(seen.records == 1 && seen.chained && seen.sized);
	nvs_merge_free(m);
}

/* What a reader refuses of a small file begins at 12 MiB, however large the buffers are. */
static void test_large(void)
{
	static uint64_t big = 64 << 20, records, most;
	static struct nvs_buffer *r;
	const struct nvs_frame *frame;
	struct nvs_merge *m = nvs_merge_new(big, 0);

	fake_rings(1, big);
	r = nvs_buffer_at(RINGS);
	for (int i = 0; i < 48; i++) {
		struct nvs_rec *rec = (void *)(r->data + r->shared->head);

		*rec = (struct nvs_rec){.type = NVS_REC_DATA, .size = 1 << 20, .time = 1};
		r->shared->head += rec->size;
	}
	nvs_merge_collect(m, UINT64_MAX);
	while ((frame = nvs_merge_next(m)) || (frame = nvs_merge_rest(m))) {
		records += frame->counts.records;
		most = frame->size > most ? frame->size : most;
		nvs_merge_commit(frame);
	}
	CHECK(records == 48 && most < 12 << 20);
	nvs_merge_free(m);
}

static void damage(uint32_t size)
{
	struct nvs_merge *m = new_merge();
	struct nvs_buffer *r = nvs_buffer_at(3);
	uint64_t damaged = r->shared->head + 24;

	put(3, NVS_REC_GAP, 24, 5, 1);
	put(3, NVS_REC_GAP, 40, 6, 2);
	put(3, NVS_REC_GAP, 40, 7, 3);
	put(4, NVS_REC_GAP, 24, 8, 4);
	((struct nvs_rec *)(void *)(r->data + (damaged & (r->bytes - 1))))->size = size;
	drain(m, UINT64_MAX);
	finish(m);
	CHECK(seen.records == 2 && m->damaged_bytes == 80);
	CHECK(r->shared->tail == r->shared->head);
	put(3, NVS_REC_GAP, 24, 9, 5);
	drain(m, UINT64_MAX);
	finish(m);
	CHECK(seen.records == 3);
	nvs_merge_free(m);
}

static void test_damage(void)
{
	static const uint32_t sizes[] = {0, 8, 20, 88, 0xfffffff8};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		damage(sizes[i]);
}

/* ---- threads that pass a token: each record happens after the one before it ---- */

static _Atomic uint64_t token;
#define PASSES 4000u

static void *pass_token(void *arg)
{
	uint64_t me = (uint64_t)(uintptr_t)arg;

	for (;;) {
		uint64_t now = atomic_load(&token);
		struct numbered n = {.rec = {.type = NVS_REC_GAP, .size = 24}, .value = now};

		if (now >= PASSES)
			return NULL;
		if (now % 3 != me) {
			sched_yield();
			continue;
		}
		nvs_record(&n.rec);
		atomic_store(&token, now + 1);
	}
}

static void check_token(const struct nvs_frame *frame)
{
	const struct nvs_rec_frame *head = frame->data;

	for (size_t at = head->rec.size; at < frame->size;) {
		const struct numbered *n = (const void *)((const char *)frame->data + at);

		if (n->rec.type == NVS_REC_GAP) {
			seen.sorted &= n->value == seen.next_value;
			seen.next_value = n->value + 1;
		}
		at += n->rec.size;
	}
	nvs_merge_commit(frame);
}

static void check_until(struct nvs_merge *m, uint64_t limit)
{
	const struct nvs_frame *frame;

	nvs_merge_collect(m, limit);
	while ((frame = nvs_merge_next(m)))
		check_token(frame);
	if ((frame = nvs_merge_rest(m)))
		check_token(frame);
}

static void test_causality(void)
{
	struct nvs_merge *m = new_merge();
	pthread_t threads[3];

	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, pass_token, (void *)i);
	while (atomic_load(&token) < PASSES) {
		fake_heartbeat++;
		check_until(m, nvs_now());
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	check_until(m, UINT64_MAX);
	CHECK(seen.sorted);
	CHECK(seen.next_value == PASSES);
	CHECK(m->all.threads == 3);
	nvs_merge_free(m);
}

int main(void)
{
	struct nvs_trap_options options = {0};

	if (nvs_trap_init(&options))
		abort();
	fake_rings(RINGS, RING_BYTES);
	for (held.late = 0; held.late < NVS_MERGE_FRAMES; held.late++) {
		test_order();
		test_limit();
		test_padding();
		test_damage();
	}
	test_causality();
	test_large();
	return test_result();
}
