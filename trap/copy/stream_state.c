/* SPDX-License-Identifier: MIT */
/* Walks a stream of methods from header to header. Formats of headers: facts of the host classes
 * 906f to ca6f; decode/gpu decodes them completely. */
#include "trap/copy/stream_state.h"
#include "trap/copy/batch.h"
#include "trap/low/guard.h"
#include "trap/low/poison.h"

#define OPCODE_EXTENDED_BASE 4u
#define SEM_ADDR_LO 0x5cu
#define SEM_EXECUTE 0x6cu
#define SEM_HEADER 0x20000017u /* sets SEM_ADDR_LO and what follows, on subchannel 0 */
#define SEM_OPERATION 7u /* a field of SEM_EXECUTE; all but these two acquire */
#define SEM_RELEASE 1u
#define SEM_REDUCTION 6u
#define SEMAPHORE_BYTES 16u
#define QMD_RELEASE 20u /* of a descriptor: the address of its first release */
/* Headers as drivers write them, on the compute class's subchannel. */
#define OFFSET_OUT 0x20022062u
#define LINE 0x20022060u /* LINE_LENGTH_IN, LINE_COUNT */
#define INLINE_DESCRIPTOR 0x6060206du /* LOAD_INLINE_DATA [96] */
#define PCAS_A 0x200120adu
#define PCAS_SCHEDULE 0x200120b0u /* SEND_SIGNALING_PCAS2_B */
#define REPORT_SEMAPHORE 0x200426c0u /* A to D */
#define PCAS_FIRST 0x2bcu /* first and last method that trigger a descriptor */
#define PCAS_LAST 0x2c0u
#define INLINE_QMD_FIRST 0x318u /* of those that carry one, which is scheduled by its last word */
#define INLINE_QMD_LAST 0x49cu
#define QMD_BYTES 384u
#define QMD_WORDS 96u
#define GRID_NULL 1u
enum { OP_OLD_INC, OP_INC, OP_OLD_NON_INC, OP_NON_INC, OP_IMMD, OP_ONE_INC, OP_END = 7 };

/* True if a method sets only some of the registers that our own releases also set: the program must
 * set all of them each time. */
static bool is_piece(uint32_t method, uint32_t count)
{
	uint32_t last = method + 4 * (count ? count - 1 : 0);

	if (!count || method > SEM_EXECUTE || last < SEM_ADDR_LO)
		return false;
	return method > SEM_ADDR_LO || last < SEM_EXECUTE;
}

/* ---- launches ---- */

/* The N words after a header. */
struct data {
	const uint32_t *seen; /* NULL: not in one piece */
	uint32_t n;
};

static uint32_t read_word(const struct data *d, uint32_t i)
{
	uint32_t w = 0;

	if (d->seen && i < d->n)
		nvs_load32_guarded(d->seen + i, &w);
	return w;
}

static void track_upload(struct nvs_stream_launch *l, const struct data *d)
{
	if (!l->descriptor || !d->seen || d->n < QMD_WORDS)
		return;
	l->uploads[0] = l->uploads[1];
	l->uploads[1] = (struct nvs_stream_descriptor){l->to, d->seen};
	l->descriptor = false;
}

static bool is_schedule(uint32_t action)
{
	return action == 2 || action == 3 || action == 9 || action == 10;
}

/* Handles a trigger. A descriptor that launches nothing only orders others. */
static void track_trigger(struct nvs_stream_launch *l, uint32_t action)
{
	const uint32_t *w = NULL;
	struct data d = {NULL, QMD_WORDS};

	for (uint32_t i = 0; i < NVS_WALK_DESCRIPTORS; i++)
		if (l->uploads[i].words && l->uploads[i].address == l->scheduled)
			w = l->uploads[i].words;
	d.seen = w;
	if (!w || !is_schedule(action) || (read_word(&d, 18) & 0xff) != NVS_WALK_QMD_VERSION ||
	    l->grid)
		l->unknown = true;
	else if ((read_word(&d, 0) >> 23 & 7) != GRID_NULL)
		l->grid = w;
}

static bool sets_off(uint32_t header)
{
	uint32_t op = header >> 29, method = (header & 0xfff) << 2;

	return (op == OP_INC || op == OP_NON_INC || op == OP_IMMD || op == OP_ONE_INC) &&
	       ((method >= PCAS_FIRST && method <= PCAS_LAST) ||
		(method >= INLINE_QMD_FIRST && method <= INLINE_QMD_LAST));
}

/* Handles a header that may set and execute the host's semaphore. */
static void track_acquire(struct nvs_stream_launch *l, uint32_t header, const struct data *d)
{
	uint32_t at = (SEM_EXECUTE - SEM_ADDR_LO) / 4, what;

	if ((header & ~(0x1fffu << 16)) != SEM_HEADER || (header >> 16 & 0x1fff) <= at)
		return;
	what = read_word(d, at) & SEM_OPERATION;
	if (what == SEM_RELEASE || what == SEM_REDUCTION)
		return;
	if (l->nacquired < NVS_WALK_ACQUIRES)
		l->acquired[l->nacquired] = (uint64_t)read_word(d, 1) << 32 | read_word(d, 0);
	l->nacquired++;
}

bool nvs_stream_waits(const struct nvs_stream_launch *l)
{
	struct data qmd = {l->grid, QMD_WORDS};
	uint64_t own = (uint64_t)(read_word(&qmd, QMD_RELEASE + 1) & 0x1ffff) << 32 |
		       read_word(&qmd, QMD_RELEASE);

	for (uint32_t i = 0; i < l->nacquired; i++)
		if (i >= NVS_WALK_ACQUIRES || !own || l->acquired[i] - own >= SEMAPHORE_BYTES)
			return true;
	return false;
}

static void track_launch(struct nvs_stream_launch *l, uint32_t header, const struct data *d)
{
	track_acquire(l, header, d);
	switch (header) {
	case OFFSET_OUT:
		l->to = (uint64_t)read_word(d, 0) << 32 | read_word(d, 1);
		break;
	case LINE:
		l->descriptor = read_word(d, 0) == QMD_BYTES && read_word(d, 1) == 1;
		break;
	case INLINE_DESCRIPTOR:
		track_upload(l, d);
		break;
	case PCAS_A:
		l->scheduled = (uint64_t)read_word(d, 0) << 8;
		break;
	case PCAS_SCHEDULE:
		track_trigger(l, read_word(d, 0));
		break;
	case REPORT_SEMAPHORE:
		l->reports = true;
		break;
	default:
		l->unknown |= sets_off(header);
	}
}

/* ---- headers ---- */

/* Reads a header. Returns true if the rest of the segment is ignored. */
static bool read_header(struct nvs_stream_state *walk, uint32_t w)
{
	switch (w >> 29) {
	case OP_OLD_INC:
	case OP_OLD_NON_INC:
		if (w >> 16 & 3)
			return false; /* masks of subdevices */
		walk->left = w >> 18 & 0x7ff;
		walk->pieces |= is_piece(w & 0x1ffc, walk->left);
		return false;
	case OP_INC:
		walk->left = w >> 16 & 0x1fff;
		walk->pieces |= is_piece((w & 0xfff) << 2, walk->left);
		return false;
	case OP_NON_INC:
		walk->left = w >> 16 & 0x1fff;
		walk->pieces |= is_piece((w & 0xfff) << 2, walk->left ? 1 : 0);
		return false;
	case OP_ONE_INC: /* the first word to the method, all others to the next one */
		walk->left = w >> 16 & 0x1fff;
		walk->pieces |= is_piece((w & 0xfff) << 2, walk->left < 2 ? walk->left : 2);
		return false;
	case OP_IMMD:
		walk->pieces |= is_piece((w & 0xfff) << 2, 1);
		return false;
	}
	return w >> 29 == OP_END;
}

static bool has_shape(const struct nvs_stream_shape *s, const uint32_t *copy)
{
	uint32_t other = 0;

	for (uint32_t i = 0; i < s->n; i++)
		other |= copy[s->at[i]] ^ s->word[i];
	return !other;
}

void nvs_stream_advance_copy(struct nvs_stream_state *walk, struct nvs_stream_shape *shapes,
			     uint64_t entry, const uint32_t *copy)
{
	uint32_t dwords = nvs_entry_dwords(entry), at = walk->left < dwords ? walk->left : dwords;
	struct nvs_stream_shape *s = &shapes[dwords % NVS_STREAM_SHAPES];
	bool keeps = !walk->left && !walk->pieces;

	if (keeps && s->dwords == dwords && has_shape(s, copy))
		return;
	s->dwords = s->n = 0;
	walk->left -= at;
	while (at < dwords) {
		uint32_t w = copy[at], skip;

		keeps &= s->n < NVS_STREAM_HEADERS && at <= UINT16_MAX;
		if (keeps) {
			s->at[s->n] = (uint16_t)at;
			s->word[s->n++] = w;
		}
		if (read_header(walk, w))
			return;
		at++;
		skip = walk->left < dwords - at ? walk->left : dwords - at;
		walk->left -= skip;
		at += skip;
	}
	/* Only what leaves the stream as it was is a shape. */
	if (keeps && !walk->left && !walk->pieces)
		s->dwords = dwords;
}

void nvs_stream_advance(struct nvs_batch *b, struct nvs_stream_state *walk, uint64_t entry)
{
	uint32_t dwords = nvs_entry_dwords(entry), at = 0;
	uint64_t va = walk->base | (entry & 0xfffffffffcull);
	const uint32_t *seen;

	if (!dwords) {
		if ((entry >> 32 & 0xff) == OPCODE_EXTENDED_BASE)
			walk->base = (entry >> 8 & 0x1ffff) << 40;
		return;
	}
	seen = nvs_segment_whole(b, va, dwords * 4ull);
	while (at < dwords && !walk->lost) {
		uint32_t w, skip = walk->left < dwords - at ? walk->left : dwords - at;

		walk->left -= skip;
		at += skip;
		if (at == dwords)
			return;
		if (!(seen ? nvs_load32_guarded(seen + at, &w)
			   : nvs_segment_word(b, va + at * 4ull, &w)))
			walk->lost = true;
		else if (read_header(walk, w))
			return;
		at++;
		if (walk->follows_launches)
			track_launch(&walk->launch, w,
				     &(struct data){seen ? seen + at : NULL, dwords - at});
	}
}
