/* SPDX-License-Identifier: MIT */
/*
 * Captures what a doorbell commits: the new GPFIFO entries and the segments they name are copied
 * into the thread buffer before the store is performed. Format of entries: facts of the host
 * classes 906f to ca6f.
 */
#include "trap/buffer/calls.h"
#include "trap/copy/batch.h"
#include "trap/low/guard.h"
#include "trap/low/point.h"
#include "trap/copy/shadow.h"
#include "trap/low/poison.h"

#define OPCODE_EXTENDED_BASE 4u /* SET_PB_SEGMENT_EXTENDED_BASE, c86f and later */

static uint64_t entry_address(uint64_t entry)
{
	return entry & 0xfffffffffcull;
}

/* True if this submission is to be recorded; decrements the trigger's count. */
static bool count_down(void)
{
	int64_t left = atomic_load_explicit(&nvs_process->record_left, memory_order_relaxed);

	if (nvs_level() == NVS_LEVEL_NONE)
		return false;
	while (left != NVS_RECORD_ALL && left > 0)
		if (atomic_compare_exchange_weak(&nvs_process->record_left, &left, left - 1))
			return true;
	return left == NVS_RECORD_ALL;
}

/* Reads one entry of the GPFIFO. Returns the address of its segment, 0: there is none. */
static uint64_t read_entry(const struct nvs_channel *ch, uint32_t at, struct nvs_gp_entry *e)
{
	struct nvs_spool_channel *state = ch->state;

	*e = (struct nvs_gp_entry){.state = NVS_SEG_GAP};
	if (!nvs_load64_guarded(&ch->gpfifo[at], &e->entry))
		return 0;
	e->bytes = nvs_entry_dwords(e->entry) * 4;
	if (!e->bytes) {
		e->state = NVS_SEG_NONE;
		if ((e->entry >> 32 & 0xff) == OPCODE_EXTENDED_BASE)
			state->extended_base = (e->entry >> 8 & 0x1ffff) << 40;
		return 0;
	}
	e->state = nvs_level() == NVS_LEVEL_FULL ? NVS_SEG_HERE : NVS_SEG_SKIPPED;
	return state->extended_base | entry_address(e->entry);
}

/* AT modulo ENTRIES; AT is nearly always smaller, and a division would be the most expensive step.
 *  */
static uint32_t wrap_index(uint32_t at, uint32_t entries)
{
	return at < entries ? at : at % entries;
}

/* Reads the batch's entries from the GPFIFO, only once: each uncached read costs a PCIe round trip.
 *  */
static void read_entries(struct nvs_batch *b)
{
	const struct nvs_channel *ch = b->reader.channel;
	uint32_t at = wrap_index(b->old_put, ch->entries);

	for (uint32_t i = 0; i < b->count; i++) {
		struct nvs_batch_entry counted, *e = b->entries ? &b->entries[i] : &counted;

		e->address = read_entry(ch, at, &e->gp);
		b->bytes += e->gp.bytes;
		at = wrap_index(at + 1, ch->entries);
	}
}

/* Claims the entries between the channel's last PUT and the one in USERD. The claim is read before
 * PUT, so PUT cannot be older; if another thread has claimed meanwhile, PUT is read again. */
static bool claim_entries(const struct nvs_channel *ch, struct nvs_batch *b, uint32_t *put)
{
	uint64_t claim = __atomic_load_n(&ch->state->claim, __ATOMIC_ACQUIRE), next;

	do {
		uint32_t count;

		if (!nvs_load32_guarded(ch->put, put) || *put >= ch->entries)
			return false;
		b->old_put = (uint32_t)(claim & NVS_PUT_MASK);
		b->sequence = claim >> NVS_PUT_BITS;
		count = *put - b->old_put + (*put < b->old_put ? ch->entries : 0);
		count = wrap_index(count, ch->entries);
		b->count = count < NVS_MAX_ENTRIES ? count : NVS_MAX_ENTRIES;
		b->new_put = wrap_index(b->old_put + b->count, ch->entries);
		next = (b->sequence + 1) << NVS_PUT_BITS | b->new_put;
	} while (!__atomic_compare_exchange_n(&ch->state->claim, &claim, next, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return true;
}

static const struct nvs_channel *find_channel(const struct nvs_view *view, uint32_t gpu,
					      uint32_t token)
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

static NVS_RARE void record_orphan(struct nvs_buffer *buffer,
				   const struct nvs_doorbell_event *event)
{
	struct nvs_rec_orphan *rec = nvs_buffer_reserve(buffer, sizeof(*rec), true);

	nvs_count(buffer, NVS_COUNT_ORPHANS, 1);
	if (!rec)
		return;
	*rec = (struct nvs_rec_orphan){
		.rec = {.type = NVS_REC_ORPHAN, .size = sizeof(*rec), .time = event->time},
		.thread = nvs_tls.thread - 1,
		.doorbell = event->doorbell->map,
		.token = event->token,
		.stack = event->stack,
	};
	nvs_buffer_commit(buffer, sizeof(*rec));
}

static NVS_RARE void record_unbound(struct nvs_batch *b, const struct nvs_channel *ch)
{
	uint64_t claim = __atomic_fetch_add(&ch->state->claim, 1ull << NVS_PUT_BITS,
					    __ATOMIC_ACQ_REL);

	b->sequence = claim >> NVS_PUT_BITS;
	b->old_put = b->new_put = (uint32_t)(claim & NVS_PUT_MASK);
	nvs_batch_drop(b, NVS_GAP_UNBOUND);
	nvs_record_gap(b->buffer, ch->state, b->event->time);
}

/* Too large for the stack of the interrupted thread: it is at the lower end of the trap's own
 * stack, which calls never reach. */
struct room {
	struct nvs_batch batch;
	struct nvs_batch_entry entries[NVS_MAX_ENTRIES];
	uint32_t reasons[NVS_MAX_ENTRIES];
};

_Static_assert(sizeof(struct room) < NVS_TRAP_STACK / 4, "the trap's own stack stays large enough");

static struct nvs_batch *batch_of(struct nvs_buffer *buffer)
{
	struct room *room = (void *)(buffer->stack_top - NVS_TRAP_STACK);

	room->batch.entries = room->entries;
	room->batch.reasons = room->reasons;
	return &room->batch;
}

/* The only effect of a batch when there is no trace. */
static void count_batch(const struct nvs_batch *b, uint16_t flags)
{
	nvs_count(b->buffer, NVS_COUNT_SKIPPED, !(flags & NVS_SUB_CONTINUED));
	nvs_count(b->buffer, NVS_COUNT_SKIPPED_BYTES, b->bytes);
	nvs_count(b->buffer, NVS_COUNT_SKIPPED_ENTRIES, b->count);
}

void nvs_capture_doorbell(struct nvs_buffer *buffer, const struct nvs_view *view,
			  const struct nvs_doorbell_event *event)
{
	const struct nvs_channel *ch = find_channel(view, event->doorbell->gpu, event->token);
	struct nvs_batch *b = batch_of(buffer);
	uint32_t put = 0;
	uint16_t flags = 0;
	bool want;

	nvs_count(buffer, NVS_COUNT_DOORBELLS, 1);
	if (!ch) {
		record_orphan(buffer, event);
		return;
	}
	b->buffer = buffer;
	b->event = event;
	b->thread = nvs_tls.thread - 1;
	b->reader = (struct nvs_channel_view){.view = view, .channel = ch};
	nvs_tls.rung = ch->number + 1;
	nvs_shadow_enter(ch);
	want = count_down();
	b->skipped = !want;
	if (want && nvs_records_calls())
		flags = (uint16_t)(nvs_open_calls_record(buffer, event->time)
				   << NVS_SUB_CALL_SHIFT);
	do {
		b->bytes = 0;
		b->copy = NULL;
		if (!ch->entries || !claim_entries(ch, b, &put)) {
			record_unbound(b, ch);
			break;
		}
		NVS_POINT(COPY);
		read_entries(b);
		if (want)
			nvs_batch_record(b, flags);
		else if (nvs_level() == NVS_LEVEL_NONE)
			count_batch(b, flags);
		else
			nvs_batch_skip(b, flags);
		NVS_POINT(STORE);
		if (ch->shadow && b->count)
			nvs_shadow_forward(b);
		flags |= NVS_SUB_CONTINUED;
	} while (b->new_put != put);
	nvs_shadow_leave();
}

/* True if the program has added entries that no doorbell has claimed. */
static bool has_rest(const struct nvs_channel *ch)
{
	uint64_t claim = __atomic_load_n(&ch->state->claim, __ATOMIC_ACQUIRE);
	uint32_t put;

	return ch->entries && !ch->shadow && nvs_load32_guarded(ch->put, &put) &&
	       put < ch->entries && put != (claim & NVS_PUT_MASK);
}

static void capture_rest(struct nvs_buffer *buffer, const struct nvs_view *view,
			 const struct nvs_channel *ch)
{
	const struct nvs_doorbell none = {.map = NVS_NONE, .gpu = ch->gpu};
	const struct nvs_doorbell_event event = {
		.doorbell = &none, .token = ch->token, .stack = NVS_NONE, .time = nvs_clock_now()};
	struct nvs_batch *b = batch_of(buffer);
	uint16_t flags = NVS_SUB_UNCERTAIN;
	bool want = count_down();
	uint32_t put = 0;

	b->buffer = buffer;
	b->event = &event;
	b->thread = NVS_NONE;
	b->reader = (struct nvs_channel_view){.view = view, .channel = ch};
	while (has_rest(ch) && claim_entries(ch, b, &put)) {
		b->bytes = 0;
		read_entries(b);
		if (want)
			nvs_batch_record(b, flags);
		else
			nvs_batch_skip(b, flags);
		if (b->new_put == put)
			break;
		flags |= NVS_SUB_CONTINUED;
	}
}

void nvs_capture_unrung(uint32_t number)
{
	struct nvs_buffer *buffer = nvs_buffer_enter();
	const struct nvs_view *view = atomic_load(&nvs_process->view);

	if (!buffer)
		return;
	for (uint32_t i = 0; view && i < view->nchannels; i++)
		if (view->channels[i].number == number)
			capture_rest(buffer, view, &view->channels[i]);
	nvs_buffer_leave(buffer);
}

void nvs_capture_lost(const struct nvs_view *view, const struct nvs_doorbell_event *event)
{
	const struct nvs_channel *ch = find_channel(view, event->doorbell->gpu, event->token);
	struct nvs_batch b = {.event = event, .reader = {.view = view, .channel = ch}};
	uint32_t put = 0;

	if (!ch || !ch->entries)
		return;
	nvs_shadow_enter(ch);
	do {
		b.bytes = 0;
		if (!claim_entries(ch, &b, &put))
			break;
		read_entries(&b);
		nvs_batch_drop(&b, NVS_GAP_NO_BUFFER);
		if (ch->shadow && b.count)
			nvs_shadow_forward(&b);
	} while (b.new_put != put);
	nvs_shadow_leave();
}
