/* SPDX-License-Identifier: MIT */
/*
 * What a doorbell commits: the new GPFIFO entries and the segments they name, copied into the ring buffer
 * before the store is performed. Layout of entries: facts of the host classes 906f to ca6f.
 */
#include "trap/root.h"
#include "trap/poison.h"

#define PUT_MASK ((1ull << NVS_PUT_BITS) - 1)
#define MAX_ENTRIES 512u /* of one record; more become further records of the same doorbell */
#define MAX_GAPS 16u /* told one by one; the rest of a submission in one record */

#define OPCODE_EXTENDED_BASE 4u /* SET_PB_SEGMENT_EXTENDED_BASE, c86f and later */

static uint32_t entry_dwords(uint64_t entry)
{
	return (uint32_t)(entry >> 42) & 0x1fffff;
}

static uint64_t entry_address(uint64_t entry)
{
	return entry & 0xfffffffffcull;
}

static uint32_t pad8(uint32_t bytes)
{
	return (bytes + 7) & ~7u;
}

static uint32_t min32(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

/* The map that holds VA in the channel's address space, or in the process-wide one. */
static const struct nvs_segment_map *find_map(const struct nvs_view *view, uint32_t vaspace, uint64_t va)
{
	uint32_t lo = 0, hi = view->nmaps;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (view->maps[mid].gpu_va <= va)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Several address spaces may have the same address: look back over those that start before it. */
	for (uint32_t back = 0; lo > 0 && back < 64; back++) {
		const struct nvs_segment_map *map = &view->maps[--lo];

		if (va - map->gpu_va < map->size && (!map->vaspace || map->vaspace == vaspace))
			return map;
	}
	return NULL;
}

struct reader {
	const struct nvs_view *view;
	const struct nvs_channel *channel;
	const struct nvs_segment_map *last; /* consecutive segments lie in one mapping */
};

/* Copies BYTES from GPU address VA. 0, or the reason of a gap. */
static uint32_t copy_segment(struct reader *r, uint8_t *to, uint64_t va, uint32_t bytes)
{
	while (bytes) {
		const struct nvs_segment_map *map = r->last;
		uint32_t part;

		if (!map || va - map->gpu_va >= map->size)
			map = find_map(r->view, r->channel->vaspace, va);
		if (!map)
			return NVS_GAP_UNMAPPED;
		r->last = map;
		part = min32(bytes, map->size - (va - map->gpu_va));
		if (nvs_copy_guarded(to, (const void *)(map->cpu + (va - map->gpu_va)), part))
			return NVS_GAP_FAULT;
		to += part;
		va += part;
		bytes -= part;
	}
	return 0;
}

/* One batch of entries of a submission, while it is recorded. */
struct batch {
	struct nvs_ring *ring;
	const struct nvs_ring_event *event;
	struct reader reader;
	uint64_t sequence;
	uint32_t old_put, new_put, count;
	uint64_t bytes; /* of all segments */
	uint64_t address[MAX_ENTRIES];
	struct nvs_gp_entry entries[MAX_ENTRIES];
	uint32_t last_words[8]; /* end of the last segment */
	uint32_t nlast;
};

static void gap_record(struct nvs_ring *ring, const struct nvs_rec_gap *gap, bool wait)
{
	struct nvs_rec_gap *room = nvs_ring_reserve(ring, sizeof(*room), wait);

	nvs_count(ring, NVS_COUNT_GAPS, 1);
	if (!room)
		return;
	*room = *gap;
	room->rec = (struct nvs_rec){ .type = NVS_REC_GAP, .size = sizeof(*room), .time = gap->rec.time };
	nvs_ring_commit(ring, sizeof(*room));
}

static void lose(struct batch *b, struct nvs_spool_channel *state, enum nvs_gap_reason reason)
{
	if (!__atomic_fetch_add(&state->lost, 1, __ATOMIC_ACQ_REL)) {
		state->lost_from = b->sequence;
		state->lost_put = b->old_put;
		state->lost_reason = reason;
	}
	__atomic_fetch_add(&state->lost_bytes, b->bytes, __ATOMIC_RELAXED);
	if (!b->ring)
		return;
	nvs_count(b->ring, NVS_COUNT_LOST_SUBMISSIONS, 1);
	nvs_count(b->ring, NVS_COUNT_LOST_BYTES, b->bytes);
}

static void tell_lost(struct nvs_ring *ring, struct nvs_spool_channel *state, uint64_t time, bool wait)
{
	struct nvs_rec_gap *room;
	uint64_t lost;

	if (!__atomic_load_n(&state->lost, __ATOMIC_ACQUIRE))
		return;
	room = nvs_ring_reserve(ring, sizeof(*room), wait);
	if (!room)
		return;
	lost = __atomic_load_n(&state->lost, __ATOMIC_ACQUIRE);
	*room = (struct nvs_rec_gap){
		.rec = { .type = NVS_REC_GAP, .size = sizeof(*room), .time = time },
		.thread = nvs_tls.thread - 1,
		.channel = state->channel,
		.sequence = state->lost_from,
		.reason = state->lost_reason,
		.entry = NVS_NONE,
		.submissions = lost,
		.bytes = __atomic_exchange_n(&state->lost_bytes, 0, __ATOMIC_RELAXED),
		.old_put = state->lost_put,
		.new_put = (uint32_t)(state->claim & PUT_MASK),
	};
	nvs_ring_commit(ring, sizeof(*room));
	nvs_count(ring, NVS_COUNT_GAPS, 1);
	__atomic_fetch_sub(&state->lost, lost, __ATOMIC_ACQ_REL);
}

void nvs_channel_flush(struct nvs_spool_channel *state)
{
	struct nvs_ring *ring = nvs_ring_enter();

	if (!ring)
		return;
	tell_lost(ring, state, nvs_now(), true);
	nvs_ring_leave(ring);
}

/* Reads the batch's entries from the GPFIFO: each uncached read costs a PCIe round trip, so once. */
static void read_entries(struct batch *b)
{
	const struct nvs_channel *ch = b->reader.channel;
	struct nvs_spool_channel *state = ch->state;

	for (uint32_t i = 0; i < b->count; i++) {
		struct nvs_gp_entry *e = &b->entries[i];
		uint32_t at = (b->old_put + i) % ch->entries;

		*e = (struct nvs_gp_entry){ .state = NVS_SEG_GAP };
		b->address[i] = 0;
		if (!nvs_load64_guarded(&ch->ring[at], &e->entry))
			continue;
		e->bytes = entry_dwords(e->entry) * 4;
		if (!e->bytes) {
			e->state = NVS_SEG_NONE;
			if ((e->entry >> 32 & 0xff) == OPCODE_EXTENDED_BASE)
				state->extended_base = (e->entry >> 8 & 0x1ffff) << 40;
			continue;
		}
		e->state = NVS_SEG_HERE;
		b->address[i] = state->extended_base | entry_address(e->entry);
		b->bytes += e->bytes;
	}
}

static void remember_tail(struct batch *b, const uint8_t *segment, uint32_t bytes)
{
	b->nlast = bytes / 4 < 8 ? bytes / 4 : 8;
	__builtin_memcpy(b->last_words, segment + bytes - b->nlast * 4, b->nlast * 4);
}

/*
 * Where the channel's own progress release writes: the last methods of a submission are
 * SET_REPORT_SEMAPHORE_A..D (compute, 3D) or SET_SEMAPHORE_A, _B, _PAYLOAD and LAUNCH_DMA (copy).
 */
static void learn_progress(const struct batch *b, struct nvs_spool_channel *state)
{
	const uint32_t *w = b->last_words + b->nlast;

	if (b->nlast >= 5 && (w[-5] & 0xffff1fff) == 0x200406c0)
		state->progress_address = (uint64_t)(w[-4] & 0x1ffff) << 32 | w[-3];
	else if (b->nlast >= 6 && (w[-6] & 0xffff1fff) == 0x20030090 && (w[-2] & 0xffff1fff) == 0x200100c0)
		state->progress_address = (uint64_t)(w[-5] & 0x1ffff) << 32 | w[-4];
}

static void read_progress(struct batch *b, struct nvs_rec_submission *sub)
{
	uint64_t va = b->reader.channel->state->progress_address;
	const struct nvs_segment_map *map;

	sub->progress_address = va;
	sub->progress[0] = sub->progress[1] = 0;
	if (!va)
		return;
	map = find_map(b->reader.view, b->reader.channel->vaspace, va);
	if (!map || va - map->gpu_va + 16 > map->size)
		return;
	va = map->cpu + (va - map->gpu_va);
	nvs_load64_guarded((const uint64_t *)va, &sub->progress[0]);
	nvs_load64_guarded((const uint64_t *)(va + 8), &sub->progress[1]);
}

static void fill_head(struct batch *b, struct nvs_rec_submission *sub, uint16_t flags)
{
	sub->rec = (struct nvs_rec){ .type = NVS_REC_SUBMISSION, .flags = flags, .time = b->event->time };
	sub->thread = nvs_tls.thread - 1;
	sub->channel = b->reader.channel->number;
	sub->sequence = b->sequence;
	sub->doorbell = b->event->doorbell->map;
	sub->token = b->event->token;
	sub->old_put = b->old_put;
	sub->new_put = b->new_put;
	sub->stack = b->event->stack;
	sub->nentries = b->count;
	read_progress(b, sub);
}

/* GAP records for the segments marked so, after their submission. */
static void tell_gaps(struct batch *b, const uint32_t *reasons)
{
	uint32_t told = 0;
	struct nvs_rec_gap gap = {
		.rec.time = b->event->time,
		.thread = nvs_tls.thread - 1,
		.channel = b->reader.channel->number,
		.sequence = b->sequence,
		.old_put = b->old_put,
		.new_put = b->new_put,
	};

	for (uint32_t i = 0; i < b->count; i++) {
		if (b->entries[i].state != NVS_SEG_GAP)
			continue;
		gap.reason = reasons[i] ? reasons[i] : NVS_GAP_FAULT;
		gap.entry = i;
		gap.address = b->address[i];
		gap.bytes = entry_dwords(b->entries[i].entry) * 4;
		nvs_count(b->ring, NVS_COUNT_LOST_BYTES, gap.bytes);
		if (told++ < MAX_GAPS)
			gap_record(b->ring, &gap, true);
	}
}

static void count_batch(struct batch *b, uint16_t flags)
{
	uint64_t segments = 0, bytes = 0;

	for (uint32_t i = 0; i < b->count; i++) {
		if (b->entries[i].state != NVS_SEG_HERE && b->entries[i].state != NVS_SEG_FOLLOWS)
			continue;
		segments++;
		bytes += b->entries[i].bytes;
	}
	nvs_count(b->ring, NVS_COUNT_SUBMISSIONS, !(flags & NVS_SUB_CONTINUED));
	nvs_count(b->ring, NVS_COUNT_ENTRIES, b->count);
	nvs_count(b->ring, NVS_COUNT_SEGMENTS, segments);
	nvs_count(b->ring, NVS_COUNT_BYTES, bytes);
}

static uint32_t head_bytes(const struct batch *b)
{
	return (uint32_t)(sizeof(struct nvs_rec_submission) + b->count * sizeof(struct nvs_gp_entry));
}

static bool record_whole(struct batch *b, uint16_t flags, uint32_t *reasons)
{
	uint32_t head = head_bytes(b), used = 0, last = 0, last_bytes = 0;
	struct nvs_rec_submission *sub = nvs_ring_reserve(b->ring, head + pad8((uint32_t)b->bytes), true);
	uint8_t *data = (uint8_t *)sub + head;

	if (!sub)
		return false;
	fill_head(b, sub, flags);
	for (uint32_t i = 0; i < b->count; i++) {
		struct nvs_gp_entry *e = &b->entries[i];

		if (e->state == NVS_SEG_HERE) {
			reasons[i] = copy_segment(&b->reader, data + used, b->address[i], e->bytes);
			if (reasons[i]) {
				e->state = NVS_SEG_GAP;
			} else {
				last = used;
				last_bytes = e->bytes;
				used += e->bytes;
			}
		}
		sub->entries[i] = *e;
	}
	if (used & 4)
		*(uint32_t *)(data + used) = 0;
	if (last_bytes)
		remember_tail(b, data + last, last_bytes);
	sub->rec.size = head + pad8(used);
	nvs_ring_commit(b->ring, sub->rec.size);
	return true;
}

/* Where the last piece could not be had, an empty one still ends the submission. */
static void end_pieces(struct batch *b, uint32_t entry)
{
	struct nvs_rec_data *rec = nvs_ring_reserve(b->ring, sizeof(*rec), true);

	if (!rec)
		return;
	*rec = (struct nvs_rec_data){
		.rec = { .type = NVS_REC_DATA, .flags = NVS_DATA_LAST, .size = sizeof(*rec), .time = b->event->time },
		.thread = nvs_tls.thread - 1,
		.channel = b->reader.channel->number,
		.sequence = b->sequence,
		.entry = entry,
	};
	nvs_ring_commit(b->ring, sizeof(*rec));
}

/* A submission larger than fits: its head, then its segments in pieces as the writer makes room. */
static bool record_pieces(struct batch *b, uint16_t flags, uint32_t *reasons)
{
	uint32_t head = head_bytes(b), last = NVS_NONE;
	uint32_t piece = (uint32_t)(b->ring->bytes / 4 - sizeof(struct nvs_rec_data)) & ~7u;
	struct nvs_rec_submission *sub = nvs_ring_reserve(b->ring, head, true);

	if (!sub)
		return false;
	fill_head(b, sub, flags | NVS_SUB_MORE);
	for (uint32_t i = 0; i < b->count; i++) {
		if (b->entries[i].state == NVS_SEG_HERE) {
			b->entries[i].state = NVS_SEG_FOLLOWS;
			last = i;
		}
		sub->entries[i] = b->entries[i];
	}
	sub->rec.size = head;
	nvs_ring_commit(b->ring, head);
	for (uint32_t i = 0; i < b->count; i++) {
		uint32_t bytes = b->entries[i].bytes;

		if (b->entries[i].state != NVS_SEG_FOLLOWS)
			continue;
		for (uint32_t at = 0; at < bytes && !reasons[i];) {
			uint32_t part = min32(piece, bytes - at);
			uint32_t size = (uint32_t)sizeof(struct nvs_rec_data) + pad8(part);
			struct nvs_rec_data *rec = nvs_ring_reserve(b->ring, size, true);

			if (!rec) {
				reasons[i] = NVS_GAP_STALLED;
				break;
			}
			*rec = (struct nvs_rec_data){
				.rec = { .type = NVS_REC_DATA, .size = size, .time = b->event->time },
				.thread = nvs_tls.thread - 1,
				.channel = b->reader.channel->number,
				.sequence = b->sequence,
				.entry = i,
				.bytes = part,
				.offset = at,
			};
			reasons[i] = copy_segment(&b->reader, rec->data, b->address[i] + at, part);
			if (reasons[i]) {
				b->ring->busy = 0;
				break;
			}
			if (i == last && at + part == bytes) {
				rec->rec.flags = NVS_DATA_LAST;
				remember_tail(b, rec->data, part);
			}
			nvs_ring_commit(b->ring, size);
			at += part;
		}
		if (reasons[i])
			b->entries[i].state = NVS_SEG_GAP;
	}
	if (last != NVS_NONE && reasons[last])
		end_pieces(b, last);
	return true;
}

static enum nvs_gap_reason full_reason(void)
{
	return nvs_root->options.drop ? NVS_GAP_DROPPED : NVS_GAP_STALLED;
}

/* Only where the submission fits behind it: else a run of losses would fill the ring with gaps of one. */
static bool tell_lost_before(struct batch *b, bool whole)
{
	uint32_t size = head_bytes(b) + (whole ? pad8((uint32_t)b->bytes) : 0);

	if (!nvs_ring_reserve(b->ring, size + (uint32_t)sizeof(struct nvs_rec_gap), true)) {
		lose(b, b->reader.channel->state, full_reason());
		return false;
	}
	b->ring->busy = 0;
	tell_lost(b->ring, b->reader.channel->state, b->event->time, true);
	return true;
}

static void record_batch(struct batch *b, uint16_t flags)
{
	struct nvs_spool_channel *state = b->reader.channel->state;
	uint32_t reasons[MAX_ENTRIES];
	bool whole = head_bytes(b) + b->bytes <= b->ring->bytes / 4;

	for (uint32_t i = 0; i < b->count; i++)
		reasons[i] = 0;
	if (__atomic_load_n(&state->lost, __ATOMIC_ACQUIRE) && !tell_lost_before(b, whole))
		return;
	if (!(whole ? record_whole(b, flags, reasons) : record_pieces(b, flags, reasons))) {
		lose(b, state, full_reason());
		return;
	}
	tell_gaps(b, reasons);
	count_batch(b, flags);
	learn_progress(b, state);
}

/*
 * Takes over the entries between the channel's last PUT and the one that stands in USERD. The claim is read
 * before PUT, so that PUT can only be ahead of it; if another thread has claimed meanwhile, PUT is read
 * anew.
 */
static bool claim_entries(const struct nvs_channel *ch, struct batch *b, uint32_t *put)
{
	uint64_t claim = __atomic_load_n(&ch->state->claim, __ATOMIC_ACQUIRE), next;

	do {
		uint32_t count;

		if (!nvs_load32_guarded(ch->put, put) || *put >= ch->entries)
			return false;
		b->old_put = (uint32_t)(claim & PUT_MASK);
		b->sequence = claim >> NVS_PUT_BITS;
		count = (*put + ch->entries - b->old_put) % ch->entries;
		b->count = count < MAX_ENTRIES ? count : MAX_ENTRIES;
		b->new_put = (b->old_put + b->count) % ch->entries;
		next = (b->sequence + 1) << NVS_PUT_BITS | b->new_put;
	} while (!__atomic_compare_exchange_n(&ch->state->claim, &claim, next, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return true;
}

static const struct nvs_channel *find_channel(const struct nvs_view *view, uint32_t gpu, uint32_t token)
{
	uint32_t slot = nvs_channel_hash(gpu, token);

	if (!view->nchannels)
		return NULL;
	for (uint32_t n = 0; n <= view->channel_mask; n++, slot++) {
		uint32_t index = view->channel_hash[slot & view->channel_mask];
		const struct nvs_channel *ch;

		if (!index)
			return NULL;
		ch = &view->channels[index - 1];
		if (ch->gpu == gpu && ch->token == token)
			return ch;
	}
	return NULL;
}

static void orphan(struct nvs_ring *ring, const struct nvs_ring_event *event)
{
	struct nvs_rec_orphan *rec = nvs_ring_reserve(ring, sizeof(*rec), true);

	nvs_count(ring, NVS_COUNT_ORPHANS, 1);
	if (!rec)
		return;
	*rec = (struct nvs_rec_orphan){
		.rec = { .type = NVS_REC_ORPHAN, .size = sizeof(*rec), .time = event->time },
		.thread = nvs_tls.thread - 1,
		.doorbell = event->doorbell->map,
		.token = event->token,
		.stack = event->stack,
	};
	nvs_ring_commit(ring, sizeof(*rec));
}

static void unbound(struct batch *b, const struct nvs_channel *ch)
{
	uint64_t claim = __atomic_fetch_add(&ch->state->claim, 1ull << NVS_PUT_BITS, __ATOMIC_ACQ_REL);

	b->sequence = claim >> NVS_PUT_BITS;
	b->old_put = b->new_put = (uint32_t)(claim & PUT_MASK);
	lose(b, ch->state, NVS_GAP_UNBOUND);
	tell_lost(b->ring, ch->state, b->event->time, true);
}

void nvs_capture(struct nvs_ring *ring, const struct nvs_view *view, const struct nvs_ring_event *event)
{
	const struct nvs_channel *ch = find_channel(view, event->doorbell->gpu, event->token);
	struct batch b;
	uint32_t put = 0;
	uint16_t flags = 0;

	if (!ch) {
		orphan(ring, event);
		return;
	}
	b.ring = ring;
	b.event = event;
	b.reader = (struct reader){ .view = view, .channel = ch };
	do {
		b.bytes = 0;
		b.nlast = 0;
		if (!ch->entries || !claim_entries(ch, &b, &put)) {
			unbound(&b, ch);
			return;
		}
		read_entries(&b);
		record_batch(&b, flags);
		flags = NVS_SUB_CONTINUED;
	} while (b.new_put != put);
}

void nvs_capture_lost(const struct nvs_view *view, const struct nvs_ring_event *event)
{
	const struct nvs_channel *ch = find_channel(view, event->doorbell->gpu, event->token);
	struct batch b = { .event = event, .reader = { .view = view, .channel = ch } };
	uint32_t put = 0;

	if (!ch || !ch->entries)
		return;
	do {
		b.bytes = 0;
		if (!claim_entries(ch, &b, &put))
			return;
		read_entries(&b);
		lose(&b, ch->state, NVS_GAP_NO_RING);
	} while (b.new_put != put);
}
