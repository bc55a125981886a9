/* SPDX-License-Identifier: MIT */
/* Merges the thread buffers into frames. The program can overwrite the buffers: sizes are checked
 * before they are used. */
#include <string.h>
#include "preload/base/preload.h"
#include "preload/writer/keep_last_state.h"
#include "preload/writer/merge.h"

#define FRAME_ROOM \
	(sizeof(struct nvs_rec_frame) + NVS_MAX_BUFFERS * sizeof(struct nvs_buffer_range))

struct nvs_merge *nvs_merge_new(uint64_t buffer_bytes, uint64_t number)
{
	struct nvs_merge *m = nvs_alloc(sizeof(*m));

	if (!m)
		return NULL;
	m->number = number;
	m->full = UINT64_MAX;
	/* A record has up to a quarter of a thread buffer. */
	m->capacity = buffer_bytes / 4 > NVS_FRAME_BYTES ? buffer_bytes / 4 : NVS_FRAME_BYTES;
	if (m->capacity > NVS_LARGEST_RECORD)
		m->capacity = NVS_LARGEST_RECORD;
	m->frame_bytes = FRAME_ROOM + m->capacity;
	for (; m->nframes < NVS_MERGE_FRAMES; m->nframes++)
		if (!(m->frames[m->nframes].memory = nvs_alloc(m->frame_bytes)))
			break;
	if (m->nframes)
		return m;
	nvs_free(m, sizeof(*m));
	return NULL;
}

void nvs_merge_free(struct nvs_merge *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->nframes; i++)
		nvs_free(m->frames[i].memory, m->frame_bytes);
	nvs_keep_state_free(m->ledger);
	nvs_free(m, sizeof(*m));
}

static const struct nvs_rec *record_at(uint32_t buffer, uint64_t pos)
{
	const struct nvs_buffer *r = nvs_buffer_at(buffer);

	return (const void *)(r->data + (pos & (r->bytes - 1)));
}

static void touch_buffer(struct nvs_merge *m, uint32_t buffer)
{
	struct nvs_merge_buffer *r = &m->buffers[buffer];

	if (r->in_frame)
		return;
	r->in_frame = true;
	r->from = r->pos;
	m->touched[m->ntouched++] = buffer;
}

static void raise_count(uint32_t *number, uint32_t seen)
{
	if (seen != NVS_NONE && seen >= *number)
		*number = seen + 1;
}

static void count_record(struct nvs_merge_counts *c, const struct nvs_rec *rec)
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
		raise_count(&c->threads, ((const struct nvs_rec_thread *)rec)->thread);
		break;
	case NVS_REC_CHANNEL:
		raise_count(&c->channels, ((const struct nvs_rec_channel *)rec)->channel);
		break;
	default:
		break;
	}
}

/* The bytes of code images and of snapshots are in separate frames; records without bytes, of a
 * repeated load, are not. */
static bool is_code(const struct nvs_rec *rec, uint32_t size)
{
	return (rec->type == NVS_REC_IMAGE && size > sizeof(struct nvs_rec_image)) ||
	       (rec->type == NVS_REC_SNAPSHOT && size > sizeof(struct nvs_rec_snapshot));
}

static bool fits_frame(const struct nvs_merge *m, const struct nvs_rec *rec, uint32_t size)
{
	return m->used + size <= m->capacity && (!m->used || m->code == is_code(rec, size));
}

/* SIZE was checked; the record itself may change concurrently. */
static void copy_record(struct nvs_merge *m, const struct nvs_rec *rec, uint32_t size)
{
	struct nvs_zframe *frame = &m->frames[m->filling];
	struct nvs_rec *to = (void *)(frame->memory + FRAME_ROOM + m->used);

	memcpy(to, rec, size);
	to->size = size;
	if (!m->used) {
		m->first_time = to->time;
		m->code = is_code(to, size);
		frame->counts = (struct nvs_merge_counts){0};
	}
	m->used += size;
	count_record(&frame->counts, to);
	if (m->again)
		return;
	if (m->see && to->type >= NVS_REC_MODULE && to->type <= NVS_REC_STACK)
		m->see(m->arg, to);
	if (m->ledger)
		nvs_keep_state_add(m->ledger, to);
}

bool nvs_merge_add(struct nvs_merge *m, const struct nvs_rec *rec)
{
	if (!fits_frame(m, rec, rec->size))
		return false;
	copy_record(m, rec, rec->size);
	return true;
}

/* Fills the FRAME record. Nothing from the thread buffers is in the next frame after this. */
static void fill_head(struct nvs_merge *m, struct nvs_rec_frame *head, uint32_t size)
{
	head->rec = (struct nvs_rec){.type = NVS_REC_FRAME,
				     .flags = m->again ? NVS_FRAME_AGAIN : 0,
				     .size = size,
				     .time = m->first_time};
	head->number = m->number;
	head->nranges = m->ntouched;
	head->reserved = 0;
	for (uint32_t i = 0; i < m->ntouched; i++) {
		struct nvs_merge_buffer *r = &m->buffers[m->touched[i]];

		head->ranges[i] = (struct nvs_buffer_range){m->touched[i], 0, r->from, r->pos};
		r->in_frame = false;
	}
	m->ntouched = 0;
}

static void add_counts(struct nvs_merge_counts *all, const struct nvs_merge_counts *more)
{
	all->records += more->records;
	all->submissions += more->submissions;
	all->submission_bytes += more->submission_bytes;
	all->stacks += more->stacks;
	all->threads = more->threads > all->threads ? more->threads : all->threads;
	all->channels = more->channels > all->channels ? more->channels : all->channels;
}

const struct nvs_zframe *nvs_merge_take_rest(struct nvs_merge *m)
{
	struct nvs_zframe *frame = &m->frames[m->filling];
	uint32_t head = (uint32_t)(sizeof(struct nvs_rec_frame) +
				   m->ntouched * sizeof(struct nvs_buffer_range));

	if (!m->used && !m->ntouched)
		return NULL;
	if (!m->used)
		frame->counts = (struct nvs_merge_counts){0};
	frame->data = frame->memory + FRAME_ROOM - head;
	frame->size = head + m->used;
	fill_head(m, (void *)(frame->memory + FRAME_ROOM - head), head);
	if (!m->again) {
		add_counts(&m->all, &frame->counts);
		m->number += m->used != 0;
	}
	m->used = 0;
	m->filling = (m->filling + 1) % m->nframes;
	return frame;
}

void nvs_merge_set_again(struct nvs_merge *m, bool again)
{
	m->again = again;
	for (uint32_t i = 0; i < NVS_MAX_BUFFERS && again; i++) {
		if (!m->buffers[i].known || !m->buffers[i].pos)
			continue;
		touch_buffer(m, i);
		m->buffers[i].from = 0;
	}
}

void nvs_merge_commit(const struct nvs_zframe *frame)
{
	const struct nvs_rec_frame *head = frame->data;

	for (uint32_t i = 0; i < head->nranges; i++)
		__atomic_store_n(&nvs_buffer_at(head->ranges[i].buffer)->shared->tail,
				 head->ranges[i].to, __ATOMIC_RELEASE);
}

/* Returns the size of the record at the buffer's position, 0 if it is invalid. */
static uint32_t checked_size(const struct nvs_merge *m, uint32_t buffer)
{
	const struct nvs_merge_buffer *r = &m->buffers[buffer];
	uint32_t size = __atomic_load_n(&record_at(buffer, r->pos)->size, __ATOMIC_RELAXED);

	if (size < sizeof(struct nvs_rec) || size % 8 || size > r->head - r->pos ||
	    size > m->capacity)
		return 0;
	return size;
}

/* Moves to the buffer's next real record. Returns false if there is none older than the limit. */
static bool peek_record(struct nvs_merge *m, uint32_t buffer, uint64_t *time)
{
	struct nvs_merge_buffer *r = &m->buffers[buffer];

	while (r->pos != r->head) {
		const struct nvs_rec *rec = record_at(buffer, r->pos);
		uint32_t size = checked_size(m, buffer);

		*time = rec->time;
		if (size && rec->type != NVS_REC_PAD)
			return *time < m->limit;
		touch_buffer(m, buffer);
		if (!size) {
			m->damaged_bytes += r->head - r->pos;
			r->pos = r->head;
		} else {
			r->pos += size;
		}
	}
	return false;
}

/* Returns true for records that only describe submissions and calls, once recording stopped. */
static bool is_idle(const struct nvs_merge *m, const struct nvs_rec *rec)
{
	switch (rec->type) {
	case NVS_REC_THREAD:
	case NVS_REC_MODULE:
	case NVS_REC_MODULE_GONE:
	case NVS_REC_OBJECT:
	case NVS_REC_OBJECT_GONE:
	case NVS_REC_CPU_MAP:
	case NVS_REC_CPU_MAP_GONE:
	case NVS_REC_GPU_MAP:
	case NVS_REC_GPU_MAP_GONE:
	case NVS_REC_API:
	case NVS_REC_KERNEL:
	case NVS_REC_GRAPH:
	case NVS_REC_IMAGE:
	case NVS_REC_COUNTER:
		return rec->time > m->full;
	default:
		return false;
	}
}

/* Returns false if the record does not fit in this frame. */
static bool take_record(struct nvs_merge *m, uint32_t buffer)
{
	struct nvs_merge_buffer *r = &m->buffers[buffer];
	uint32_t size = checked_size(m, buffer);

	if (!fits_frame(m, record_at(buffer, r->pos), size))
		return false;
	touch_buffer(m, buffer);
	/* 0: overwritten since it was checked; peek_record() handles it. */
	if (size && !is_idle(m, record_at(buffer, r->pos)))
		copy_record(m, record_at(buffer, r->pos), size);
	r->pos += size;
	return true;
}

static void sift_down(struct nvs_merge *m, uint32_t i)
{
	for (;;) {
		uint32_t smallest = i, child = 2 * i + 1;
		struct nvs_merge_head swap;

		for (uint32_t c = child; c < m->nheap && c < child + 2; c++)
			if (m->heap[c].time < m->heap[smallest].time)
				smallest = c;
		if (smallest == i)
			return;
		swap = m->heap[i];
		m->heap[i] = m->heap[smallest];
		m->heap[smallest] = swap;
		i = smallest;
	}
}

void nvs_merge_collect(struct nvs_merge *m, uint64_t limit)
{
	uint32_t n = nvs_buffer_count();

	m->limit = limit;
	m->nheap = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct nvs_merge_buffer *r = &m->buffers[i];
		const struct nvs_spool_buffer *shared = nvs_buffer_at(i)->shared;
		uint64_t time;

		if (!r->known) {
			r->pos = shared->tail;
			r->known = true;
		}
		r->head = __atomic_load_n(&shared->head, __ATOMIC_ACQUIRE);
		if (r->head - r->pos > nvs_buffer_at(i)->bytes)
			r->head = r->pos; /* overwritten: not a valid head */
		if (peek_record(m, i, &time))
			m->heap[m->nheap++] = (struct nvs_merge_head){time, i};
	}
	for (uint32_t i = m->nheap / 2; i-- > 0;)
		sift_down(m, i);
}

const struct nvs_zframe *nvs_merge_next(struct nvs_merge *m)
{
	while (m->nheap) {
		struct nvs_merge_head *first = &m->heap[0];

		if (!take_record(m, first->buffer))
			return nvs_merge_take_rest(m);
		if (!peek_record(m, first->buffer, &first->time))
			*first = m->heap[--m->nheap];
		sift_down(m, 0);
	}
	return NULL;
}
