/* SPDX-License-Identifier: MIT */
/*
 * Merges the rings into frames. The records lie in memory that the program could write over: sizes
 * are checked before they are believed.
 */
#include <errno.h>
#include <string.h>
#include "preload/trace/merge.h"
#include "preload/base/preload.h"
#include "preload/trace/sink.h"

#define FRAME_ROOM (sizeof(struct nvs_rec_frame) + NVS_MAX_BUFFERS * sizeof(struct nvs_ring_range))

struct nvs_merge *nvs_merge_new(uint64_t ring_bytes, uint64_t frame, nvs_merge_write write,
				void *arg)
{
	struct nvs_merge *m = nvs_alloc(sizeof(*m));

	if (!m)
		return NULL;
	m->write = write;
	m->arg = arg;
	m->frames = frame;
	/* A record takes up to a quarter of a ring. */
	m->capacity = ring_bytes / 4 > NVS_FRAME_BYTES ? ring_bytes / 4 : NVS_FRAME_BYTES;
	m->buffer_size = FRAME_ROOM + m->capacity;
	m->buffer = nvs_alloc(m->buffer_size);
	if (m->buffer)
		return m;
	nvs_free(m, sizeof(*m));
	return NULL;
}

void nvs_merge_free(struct nvs_merge *m)
{
	if (!m)
		return;
	nvs_free(m->buffer, m->buffer_size);
	for (uint32_t i = 0; i < m->nspares; i++)
		nvs_free(m->spares[i], m->buffer_size);
	nvs_free(m, sizeof(*m));
}

int nvs_merge_overlap(struct nvs_merge *m, uint32_t n, void (*settle)(void *arg))
{
	for (; m->nspares < n; m->nspares++) {
		m->spares[m->nspares] = nvs_alloc(m->buffer_size);
		if (!m->spares[m->nspares])
			break;
	}
	if (m->nspares == n) {
		m->settle = settle;
		return 0;
	}
	while (m->nspares)
		nvs_free(m->spares[--m->nspares], m->buffer_size);
	return -ENOMEM;
}

static const struct nvs_rec *record_at(uint32_t ring, uint64_t pos)
{
	const struct nvs_buffer *r = nvs_buffer_at(ring);

	return (const void *)(r->data + (pos & (r->bytes - 1)));
}

static void touch(struct nvs_merge *m, uint32_t ring)
{
	struct nvs_merge_ring *r = &m->rings[ring];

	if (r->in_frame)
		return;
	r->in_frame = true;
	r->from = r->pos;
	m->touched[m->ntouched++] = ring;
}

static void at_least(uint32_t *number, uint32_t seen)
{
	if (seen != NVS_NONE && seen >= *number)
		*number = seen + 1;
}

static void count(struct nvs_merge_counts *c, const struct nvs_rec *rec)
{
	c->records++;
	switch (rec->type) {
	case NVS_REC_SUBMISSION:
		c->submissions += !(rec->flags & NVS_SUB_CONTINUED);
		c->submission_bytes += rec->size;
		break;
	case NVS_REC_DATA:
		c->submission_bytes += rec->size;
		break;
	case NVS_REC_STACK:
		c->stacks++;
		break;
	case NVS_REC_THREAD:
		at_least(&c->threads, ((const struct nvs_rec_thread *)rec)->thread);
		break;
	case NVS_REC_CHANNEL:
		at_least(&c->channels, ((const struct nvs_rec_channel *)rec)->channel);
		break;
	default:
		break;
	}
}

/* SIZE as checked: the record itself may change under us. */
static void copy(struct nvs_merge *m, const struct nvs_rec *rec, uint32_t size)
{
	struct nvs_rec *to = (void *)(m->buffer + FRAME_ROOM + m->used);

	memcpy(to, rec, size);
	to->size = size;
	if (!m->used)
		m->first_time = to->time;
	m->used += size;
	count(&m->in_frame, to);
	count(&m->all, to);
}

void nvs_merge_put(struct nvs_merge *m, const struct nvs_rec *rec)
{
	if (m->used + rec->size > m->capacity)
		nvs_merge_flush(m);
	copy(m, rec, rec->size);
}

static void fill_frame(struct nvs_merge *m, struct nvs_rec_frame *frame, uint32_t size)
{
	frame->rec = (struct nvs_rec){.type = NVS_REC_FRAME, .size = size, .time = m->first_time};
	frame->number = m->frames++;
	frame->nranges = m->ntouched;
	frame->reserved = 0;
	for (uint32_t i = 0; i < m->ntouched; i++) {
		const struct nvs_merge_ring *r = &m->rings[m->touched[i]];

		frame->ranges[i] = (struct nvs_ring_range){m->touched[i], 0, r->from, r->pos};
	}
}

void nvs_merge_written(const void *data)
{
	const struct nvs_rec_frame *frame = data;

	for (uint32_t i = 0; i < frame->nranges; i++)
		__atomic_store_n(&nvs_buffer_at(frame->ranges[i].ring)->shared->tail,
				 frame->ranges[i].to, __ATOMIC_RELEASE);
}

/* Nothing of the rings is in the frame any more. GIVE: their room is free as well. */
static void leave_rings(struct nvs_merge *m, bool give)
{
	for (uint32_t i = 0; i < m->ntouched; i++) {
		struct nvs_merge_ring *r = &m->rings[m->touched[i]];

		r->in_frame = false;
		if (give)
			__atomic_store_n(&nvs_buffer_at(m->touched[i])->shared->tail, r->pos,
					 __ATOMIC_RELEASE);
	}
	m->ntouched = 0;
}

/* The oldest frame's memory is free again: the next one is filled there. */
static void next_buffer(struct nvs_merge *m)
{
	uint8_t *oldest = m->spares[0];

	for (uint32_t i = 1; i < m->nspares; i++)
		m->spares[i - 1] = m->spares[i];
	m->spares[m->nspares - 1] = m->buffer;
	m->buffer = oldest;
}

void nvs_merge_flush(struct nvs_merge *m)
{
	uint32_t size = (uint32_t)(sizeof(struct nvs_rec_frame) +
				   m->ntouched * sizeof(struct nvs_ring_range));
	uint8_t *start = m->buffer + FRAME_ROOM - size;
	bool later = m->used && m->nspares;

	if (m->used) {
		fill_frame(m, (void *)start, size);
		m->write(m->arg, start, size + m->used, &m->in_frame);
	} else if (m->ntouched && m->nspares) {
		m->settle(m->arg); /* a tail only moves on */
	}
	leave_rings(m, !later);
	if (later)
		next_buffer(m);
	m->used = 0;
	memset(&m->in_frame, 0, sizeof(m->in_frame));
}

/* The size of the record at RING's position, 0: it cannot be one. */
static uint32_t checked_size(const struct nvs_merge *m, uint32_t ring)
{
	const struct nvs_merge_ring *r = &m->rings[ring];
	uint32_t size = __atomic_load_n(&record_at(ring, r->pos)->size, __ATOMIC_RELAXED);

	if (size < sizeof(struct nvs_rec) || size % 8 || size > r->head - r->pos ||
	    size > m->capacity)
		return 0;
	return size;
}

/* The ring's next record that counts; false: none that is older than LIMIT. */
static bool look(struct nvs_merge *m, uint32_t ring, uint64_t limit, uint64_t *time)
{
	struct nvs_merge_ring *r = &m->rings[ring];

	while (r->pos != r->head) {
		const struct nvs_rec *rec = record_at(ring, r->pos);
		uint32_t size = checked_size(m, ring);

		*time = rec->time;
		if (size && rec->type != NVS_REC_PAD)
			return *time < limit;
		touch(m, ring);
		if (!size) {
			m->damaged_bytes += r->head - r->pos;
			r->pos = r->head;
		} else {
			r->pos += size;
		}
	}
	return false;
}

static void take(struct nvs_merge *m, uint32_t ring)
{
	struct nvs_merge_ring *r = &m->rings[ring];
	uint32_t size = checked_size(m, ring);

	if (m->used + size > m->capacity)
		nvs_merge_flush(m);
	touch(m, ring);
	/* 0: written over since it was looked at; look() deals with it. */
	if (size)
		copy(m, record_at(ring, r->pos), size);
	r->pos += size;
}

static void sift_down(struct nvs_merge *m, uint32_t i)
{
	for (;;) {
		uint32_t least = i, child = 2 * i + 1;
		struct nvs_merge_next swap;

		for (uint32_t c = child; c < m->nheap && c < child + 2; c++)
			if (m->heap[c].time < m->heap[least].time)
				least = c;
		if (least == i)
			return;
		swap = m->heap[i];
		m->heap[i] = m->heap[least];
		m->heap[least] = swap;
		i = least;
	}
}

static void collect(struct nvs_merge *m, uint64_t limit)
{
	uint32_t n = nvs_buffer_count();

	m->nheap = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct nvs_merge_ring *r = &m->rings[i];
		const struct nvs_spool_ring *shared = nvs_buffer_at(i)->shared;
		uint64_t time;

		if (!r->known) {
			r->pos = shared->tail;
			r->known = true;
		}
		r->head = __atomic_load_n(&shared->head, __ATOMIC_ACQUIRE);
		if (r->head - r->pos > nvs_buffer_at(i)->bytes)
			r->head = r->pos; /* not a head: written over */
		if (look(m, i, limit, &time))
			m->heap[m->nheap++] = (struct nvs_merge_next){time, i};
	}
	for (uint32_t i = m->nheap / 2; i-- > 0;)
		sift_down(m, i);
}

void nvs_merge_drain(struct nvs_merge *m, uint64_t limit)
{
	collect(m, limit);
	while (m->nheap) {
		uint32_t ring = m->heap[0].ring;

		take(m, ring);
		if (!look(m, ring, limit, &m->heap[0].time))
			m->heap[0] = m->heap[--m->nheap];
		sift_down(m, 0);
	}
}
