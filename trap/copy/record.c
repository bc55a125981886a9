/* SPDX-License-Identifier: MIT */
/* Writes a batch of entries as records to the thread buffer: whole, in pieces, or as a later GAP.
 *  */
#include "trap/copy/batch.h"
#include "trap/low/guard.h"
#include "trap/low/point.h"
#include "trap/low/poison.h"

#define MAX_GAPS 16u /* GAP records of one submission; further gaps are only counted */

static uint32_t align_to_8(uint32_t bytes)
{
	return (bytes + 7) & ~7u;
}

static void record_gap(struct nvs_buffer *buffer, const struct nvs_rec_gap *gap, bool wait)
{
	struct nvs_rec_gap *room = nvs_buffer_reserve(buffer, sizeof(*room), wait);

	nvs_count(buffer, NVS_COUNT_GAPS, 1);
	if (!room)
		return;
	*room = *gap;
	room->rec =
		(struct nvs_rec){.type = NVS_REC_GAP, .size = sizeof(*room), .time = gap->rec.time};
	nvs_buffer_commit(buffer, sizeof(*room));
}

#define MAX_SPINS (1u << 26) /* about a second */

/*
 * Locks a channel's run of submissions without a record, so that one thread changes it at a time.
 * That takes a moment, so other threads spin; a thread that jumped out while it held the lock does
 * not block them forever. Returns the length of the run.
 */
static uint64_t lock_run(struct nvs_spool_channel *state)
{
	uint64_t lost = __atomic_load_n(&state->lost, __ATOMIC_RELAXED) & ~NVS_LOST_CHANGING;

	for (uint32_t i = 0; i < MAX_SPINS; i++) {
		if (__atomic_compare_exchange_n(&state->lost, &lost, lost | NVS_LOST_CHANGING,
						false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return lost;
		lost &= ~NVS_LOST_CHANGING;
		__builtin_ia32_pause();
	}
	return lost;
}

static void unlock_run(struct nvs_spool_channel *state, uint64_t lost)
{
	__atomic_store_n(&state->lost, lost, __ATOMIC_RELEASE);
}

static bool continues_run(const struct nvs_spool_channel *state, uint64_t lost,
			  const struct nvs_batch *b, enum nvs_gap_reason reason)
{
	return state->lost_from + lost == b->sequence && state->lost_reason == reason;
}

/* Adds a submission without a record to the run, which is recorded later as one gap. */
static NVS_RARE void add_to_run(struct nvs_batch *b, enum nvs_gap_reason reason)
{
	struct nvs_spool_channel *state = b->reader.channel->state;
	uint64_t lost = lock_run(state);

	/* A run of another kind is recorded first. If that fails, the two are counted as one. */
	while (lost && b->buffer && !continues_run(state, lost, b, reason)) {
		bool told;

		unlock_run(state, lost);
		told = nvs_record_gap(b->buffer, state, b->event->time);
		lost = lock_run(state);
		if (!told)
			break;
	}
	if (!lost) {
		state->lost_from = b->sequence;
		state->lost_put = b->old_put;
		state->lost_reason = reason;
	} else if (state->lost_reason == NVS_GAP_CHOICE) {
		state->lost_reason = reason; /* a loss among skipped submissions is still a loss */
	}
	state->lost_end = b->new_put;
	state->lost_bytes += b->bytes;
	unlock_run(state, lost + 1);
}

static void count_gap(struct nvs_buffer *buffer, uint32_t reason)
{
	if (buffer->live && reason < NVS_LIVE_GAPS)
		nvs_live_add(&buffer->live->gaps[reason], 1);
}

NVS_RARE void nvs_batch_drop(struct nvs_batch *b, enum nvs_gap_reason reason)
{
	add_to_run(b, reason);
	if (!b->buffer) {
		atomic_fetch_add(&nvs_process->lost_submissions, 1);
		atomic_fetch_add(&nvs_process->lost_bytes, b->bytes);
		return;
	}
	nvs_count(b->buffer, NVS_COUNT_LOST_SUBMISSIONS, 1);
	nvs_count(b->buffer, NVS_COUNT_LOST_BYTES, b->bytes);
	nvs_count(b->buffer, NVS_COUNT_LOST_ENTRIES, b->count);
	count_gap(b->buffer, reason);
}

NVS_RARE void nvs_batch_skip(struct nvs_batch *b, uint16_t flags)
{
	/* Without a trace no gap is recorded. */
	if (nvs_level() != NVS_LEVEL_NONE)
		add_to_run(b, NVS_GAP_CHOICE);
	nvs_count(b->buffer, NVS_COUNT_SKIPPED, !(flags & NVS_SUB_CONTINUED));
	nvs_count(b->buffer, NVS_COUNT_SKIPPED_BYTES, b->bytes);
	nvs_count(b->buffer, NVS_COUNT_SKIPPED_ENTRIES, b->count);
}

NVS_RARE bool nvs_record_gap(struct nvs_buffer *buffer, struct nvs_spool_channel *state,
			     uint64_t time)
{
	struct nvs_rec_gap *room;
	uint64_t lost;

	if (!__atomic_load_n(&state->lost, __ATOMIC_ACQUIRE))
		return true;
	room = nvs_buffer_reserve(buffer, sizeof(*room), true);
	if (!room)
		return false;
	lost = lock_run(state);
	if (!lost) {
		unlock_run(state, 0);
		buffer->busy = 0;
		return true;
	}
	*room = (struct nvs_rec_gap){
		.rec = {.type = NVS_REC_GAP, .size = sizeof(*room), .time = time},
		.thread = nvs_tls.thread - 1,
		.channel = state->channel,
		.sequence = state->lost_from,
		.reason = state->lost_reason,
		.entry = NVS_NONE,
		.submissions = lost,
		.bytes = state->lost_bytes,
		.old_put = state->lost_put,
		.new_put = state->lost_end,
	};
	nvs_count(buffer, NVS_COUNT_GAPS, room->reason != NVS_GAP_CHOICE);
	nvs_buffer_commit(buffer, sizeof(*room));
	state->lost_bytes = 0;
	unlock_run(state, 0);
	return true;
}

void nvs_channel_record_lost(struct nvs_spool_channel *state)
{
	struct nvs_buffer *buffer = nvs_buffer_enter();

	if (!buffer)
		return;
	nvs_record_gap(buffer, state, nvs_clock_now());
	nvs_buffer_leave(buffer);
}

static void fill_head(struct nvs_batch *b, struct nvs_rec_submission *sub, uint16_t flags)
{
	sub->rec = (struct nvs_rec){
		.type = NVS_REC_SUBMISSION, .flags = flags, .time = b->event->time};
	sub->thread = b->thread;
	sub->channel = b->reader.channel->number;
	sub->sequence = b->sequence;
	sub->doorbell = b->event->doorbell->map;
	sub->token = b->event->token;
	sub->old_put = b->old_put;
	sub->new_put = b->new_put;
	sub->stack = b->event->stack;
	sub->nentries = b->count;
	nvs_progress_read(b, sub);
}

/* Writes GAP records for the segments marked as gaps, after their submission. */
static NVS_RARE void record_gaps(struct nvs_batch *b)
{
	uint32_t told = 0;
	struct nvs_rec_gap gap = {
		.rec.time = b->event->time,
		.thread = b->thread,
		.channel = b->reader.channel->number,
		.sequence = b->sequence,
		.old_put = b->old_put,
		.new_put = b->new_put,
	};

	for (uint32_t i = 0; i < b->count; i++) {
		const struct nvs_batch_entry *e = &b->entries[i];

		if (e->gp.state != NVS_SEG_GAP)
			continue;
		gap.reason = b->reasons[i] ? b->reasons[i] : NVS_GAP_FAULT;
		gap.entry = i;
		gap.address = e->address;
		gap.bytes = nvs_entry_dwords(e->gp.entry) * 4;
		nvs_count(b->buffer, NVS_COUNT_LOST_BYTES, gap.bytes);
		count_gap(b->buffer, gap.reason);
		if (told++ < MAX_GAPS)
			record_gap(b->buffer, &gap, true);
	}
}

/* Counts the batch. Returns true if one of its segments is missing. */
static bool count_batch(struct nvs_batch *b, uint16_t flags)
{
	uint64_t segments = 0, bytes = 0;
	bool gaps = false;

	for (uint32_t i = 0; i < b->count; i++) {
		uint32_t st = b->entries[i].gp.state;

		gaps |= st == NVS_SEG_GAP;
		if (st != NVS_SEG_HERE && st != NVS_SEG_FOLLOWS && st != NVS_SEG_SKIPPED)
			continue;
		segments++;
		bytes += b->entries[i].gp.bytes;
	}
	nvs_count(b->buffer, NVS_COUNT_SUBMISSIONS, !(flags & NVS_SUB_CONTINUED));
	nvs_count(b->buffer, NVS_COUNT_ENTRIES, b->count);
	nvs_count(b->buffer, NVS_COUNT_SEGMENTS, segments);
	nvs_count(b->buffer, NVS_COUNT_BYTES, bytes);
	return gaps;
}

#define TAIL 8u /* bytes that NVS_SUB_GET adds */

/*
 * Appends GP_GET as the program sees it, from a shadow, which is ordinary memory that another
 * thread refreshes. Reading it from USERD would take as long as a doorbell. Returns the bytes
 * appended.
 */
static uint32_t put_get(const struct nvs_batch *b, struct nvs_rec_submission *sub, uint32_t at)
{
	const struct nvs_channel *ch = b->reader.channel;
	uint32_t *to = (uint32_t *)((uint8_t *)sub + at), get;

	if (!ch->shadow || ch->flags & NVS_CHAN_NO_GET || !nvs_load32_guarded(ch->put - 1, &get) ||
	    get >= ch->entries)
		return 0;
	sub->rec.flags |= NVS_SUB_GET;
	to[0] = get;
	to[1] = 0;
	return TAIL;
}

static uint32_t head_bytes(const struct nvs_batch *b)
{
	return (uint32_t)(sizeof(struct nvs_rec_submission) +
			  b->count * sizeof(struct nvs_gp_entry));
}

/* Space for the segments after the head, if they fit in one record, and for the tail. */
static uint32_t data_bytes(const struct nvs_batch *b)
{
	return TAIL + (nvs_level() == NVS_LEVEL_FULL ? align_to_8((uint32_t)b->bytes) : 0);
}

static bool record_whole(struct nvs_batch *b, uint16_t flags)
{
	uint32_t head = head_bytes(b), used = 0, last = 0, last_bytes = 0;
	struct nvs_rec_submission *sub = nvs_buffer_reserve(b->buffer, head + data_bytes(b), true);
	uint8_t *data = (uint8_t *)sub + head;

	if (!sub)
		return false;
	fill_head(b, sub, flags);
	for (uint32_t i = 0; i < b->count; i++) {
		struct nvs_gp_entry *e = &b->entries[i].gp;
		uint32_t reason = 0;

		if (e->state == NVS_SEG_HERE) {
			reason = nvs_segment_copy(b, data + used, b->entries[i].address, e->bytes);
			if (reason) {
				e->state = NVS_SEG_GAP;
			} else {
				last = used;
				last_bytes = e->bytes;
				used += e->bytes;
			}
		}
		if (e->state == NVS_SEG_GAP)
			b->reasons[i] = reason;
		sub->entries[i] = *e;
	}
	if (used & 4)
		*(uint32_t *)(data + used) = 0;
	if (last_bytes)
		nvs_progress_find_slot(b, data + last, last_bytes);
	sub->rec.size = head + align_to_8(used);
	sub->rec.size += put_get(b, sub, sub->rec.size);
	NVS_POINT(COMMIT);
	nvs_buffer_commit(b->buffer, sub->rec.size);
	b->copy = data;
	return true;
}

/* If there is no space for the last piece, an empty one still ends the submission. */
static NVS_RARE void record_last_piece(struct nvs_batch *b, uint32_t entry)
{
	struct nvs_rec_data *rec = nvs_buffer_reserve(b->buffer, sizeof(*rec), true);

	if (!rec)
		return;
	*rec = (struct nvs_rec_data){
		.rec = {.type = NVS_REC_DATA,
			.flags = NVS_DATA_LAST,
			.size = sizeof(*rec),
			.time = b->event->time},
		.thread = b->thread,
		.channel = b->reader.channel->number,
		.sequence = b->sequence,
		.entry = entry,
	};
	nvs_buffer_commit(b->buffer, sizeof(*rec));
}

/* Records a submission that is too large for one record: its head, then its segments in pieces as
 * the writer frees space. */
static NVS_RARE bool record_pieces(struct nvs_batch *b, uint16_t flags)
{
	uint32_t head = head_bytes(b), last = NVS_NONE, *reasons = b->reasons;
	uint32_t piece =
		(nvs_buffer_max_record(b->buffer) - (uint32_t)sizeof(struct nvs_rec_data)) & ~7u;
	struct nvs_rec_submission *sub = nvs_buffer_reserve(b->buffer, head + TAIL, true);

	if (!sub)
		return false;
	fill_head(b, sub, flags | NVS_SUB_MORE);
	for (uint32_t i = 0; i < b->count; i++) {
		reasons[i] = 0;
		if (b->entries[i].gp.state == NVS_SEG_HERE) {
			b->entries[i].gp.state = NVS_SEG_FOLLOWS;
			last = i;
		}
		sub->entries[i] = b->entries[i].gp;
	}
	sub->rec.size = head + put_get(b, sub, head);
	nvs_buffer_commit(b->buffer, sub->rec.size);
	for (uint32_t i = 0; i < b->count; i++) {
		uint32_t bytes = b->entries[i].gp.bytes;

		if (b->entries[i].gp.state != NVS_SEG_FOLLOWS)
			continue;
		for (uint32_t at = 0; at < bytes && !reasons[i];) {
			uint32_t part = piece < bytes - at ? piece : bytes - at;
			uint32_t size = (uint32_t)sizeof(struct nvs_rec_data) + align_to_8(part);
			struct nvs_rec_data *rec = nvs_buffer_reserve(b->buffer, size, true);

			if (!rec) {
				reasons[i] = NVS_GAP_STALLED;
				break;
			}
			*rec = (struct nvs_rec_data){
				.rec = {.type = NVS_REC_DATA, .size = size, .time = b->event->time},
				.thread = b->thread,
				.channel = b->reader.channel->number,
				.sequence = b->sequence,
				.entry = i,
				.bytes = part,
				.offset = at,
			};
			reasons[i] = nvs_segment_copy(b, rec->data, b->entries[i].address + at,
						      part);
			if (reasons[i]) {
				b->buffer->busy = 0;
				break;
			}
			if (i == last && at + part == bytes) {
				rec->rec.flags = NVS_DATA_LAST;
				nvs_progress_find_slot(b, rec->data, part);
			}
			NVS_POINT(COMMIT);
			nvs_buffer_commit(b->buffer, size);
			at += part;
		}
		if (reasons[i])
			b->entries[i].gp.state = NVS_SEG_GAP;
	}
	if (last != NVS_NONE && reasons[last])
		record_last_piece(b, last);
	return true;
}

static enum nvs_gap_reason full_reason(void)
{
	return nvs_process->options.drop ? NVS_GAP_DROPPED : NVS_GAP_STALLED;
}

/* Only if the submission fits after the GAP record: otherwise, a run of losses would fill the
 * buffer with gaps of one submission each. */
static NVS_RARE bool record_lost_first(struct nvs_batch *b, bool whole)
{
	uint32_t size = head_bytes(b) + (whole ? data_bytes(b) : TAIL);

	if (!nvs_buffer_reserve(b->buffer, size + (uint32_t)sizeof(struct nvs_rec_gap), true)) {
		nvs_batch_drop(b, full_reason());
		return false;
	}
	b->buffer->busy = 0;
	nvs_record_gap(b->buffer, b->reader.channel->state, b->event->time);
	return true;
}

void nvs_batch_record(struct nvs_batch *b, uint16_t flags)
{
	struct nvs_spool_channel *state = b->reader.channel->state;
	bool headers = nvs_level() == NVS_LEVEL_HEADERS;
	bool whole = headers ||
		     head_bytes(b) + b->bytes + TAIL + 8 <= nvs_buffer_max_record(b->buffer);

	if (__atomic_load_n(&state->lost, __ATOMIC_ACQUIRE) && !record_lost_first(b, whole))
		return;
	if (!(whole ? record_whole(b, flags) : record_pieces(b, flags))) {
		nvs_batch_drop(b, full_reason());
		return;
	}
	if (count_batch(b, flags))
		record_gaps(b);
}
