/* SPDX-License-Identifier: MIT */
/*
 * How large a trace becomes: it stops at its size, or its last part is kept.
 */
#include "preload/writer/keep_last_state.h"
#include "preload/writer/writer.h"

/* ---- --max-size ---- */

/* Bytes of records that the rings hold. */
static uint64_t in_rings(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < nvs_buffer_count(); i++) {
		const struct nvs_spool_ring *ring = nvs_buffer_at(i)->shared;

		sum += __atomic_load_n(&ring->head, __ATOMIC_RELAXED) -
		       __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
	}
	return sum;
}

#define PACKS_TO 8 /* bytes of records that take one in the file, at worst, but for the first */
#define MAX_RESERVE (128u << 10) /* for what comes last: names, stacks, totals, the seek table */

/*
 * Once the trace, with what is still to come of the rings, has its size, no more is recorded. What
 * the rings hold is reckoned to pack as what is in the file did. The first frames hold names and
 * maps and pack worst: below half of the size they are no measure, and PACKS_TO is.
 */
void nvs_limit_size(struct nvs_writer *w)
{
	uint64_t most = nvs_options()->values.max_size;
	uint64_t file = __atomic_load_n(&w->sink.file_bytes, __ATOMIC_RELAXED);
	uint64_t raw = __atomic_load_n(&w->sink.raw_bytes, __ATOMIC_RELAXED);
	uint64_t reserve = most / 8 < MAX_RESERVE ? most / 8 : MAX_RESERVE;
	double ratio = (double)file / (double)(raw + 1);

	if (file < most / 2 && ratio > 1.0 / PACKS_TO)
		ratio = 1.0 / PACKS_TO;
	if (!most || nvs_switch_is_full() ||
	    (double)(file + reserve) + (double)in_rings() * ratio < (double)most)
		return;
	nvs_switch_full();
	w->merge->full = nvs_now();
	w->tell_full = true;
}

void nvs_limit_tell(struct nvs_writer *w)
{
	struct nvs_rec_window window = {
		.rec = {.type = NVS_REC_WINDOW, .size = sizeof(window), .time = w->merge->full},
		.cause = NVS_WINDOW_SIZE,
	};

	if (!w->tell_full)
		return;
	w->tell_full = false;
	nvs_writer_put(w, &window.rec);
}

/* ---- --keep-last ---- */

static void put_again(void *arg, const struct nvs_rec *rec)
{
	nvs_writer_put(arg, rec);
}

/* What a reader needs who has not seen what came before. 0 or -errno. */
static int tell_again(struct nvs_writer *w)
{
	struct nvs_rec_part part = {
		.rec = {.type = NVS_REC_PART, .size = sizeof(part)},
		.number = w->keep.number + 1,
		.before = w->keep.name,
		.limit = w->keep.limit,
	};

	nvs_merge_again(w->merge, true);
	nvs_ledger_tell(w->merge->ledger, &part, put_again, w);
	nvs_writer_flush(w);
	nvs_merge_again(w->merge, false);
	return w->sink.error;
}

/* A part of BYTES ends here, and the next begins. 0 or -errno: it goes on. */
static int next_part(struct nvs_writer *w, uint64_t bytes)
{
	int err = nvs_keep_begin(&w->keep), first_error = w->first_error;

	if (err)
		return err;
	w->sink.file_bytes = 0;
	err = tell_again(w);
	if (!err)
		err = nvs_keep_commit(&w->keep, bytes, w->sink.file_bytes);
	if (!err)
		return 0;
	nvs_keep_cancel(&w->keep);
	w->sink.file_bytes = bytes;
	w->sink.error = 0;
	/* What could not be told again stands in the parts before. */
	w->first_error = first_error;
	return err;
}

/* Between two frames. Without a place to begin, or where none can be made, a part grows. */
void nvs_limit_parts(struct nvs_writer *w)
{
	struct nvs_keep *keep = &w->keep;
	uint64_t bytes = __atomic_load_n(&w->sink.file_bytes, __ATOMIC_RELAXED);

	if (!keep->limit)
		return;
	nvs_watch_sandbox(w->session);
	nvs_keep_trim(keep, bytes);
	if (!nvs_keep_due(keep, bytes))
		return;
	nvs_packers_wait(&w->packers);
	nvs_keep_mine(keep);
	bytes = w->sink.file_bytes;
	if (!w->sink.error && bytes >= w->retry_at &&
	    (nvs_ledger_settled(w->merge->ledger) || bytes >= 2 * (keep->limit / 8 + keep->head))) {
		w->part_error = next_part(w, bytes);
		w->retry_at = w->part_error ? bytes + keep->limit / 8 : 0;
	}
	/* No more parts can be made: as much as was to be kept is all there will be. */
	if (w->retry_at && bytes > keep->limit && !nvs_switch_is_full()) {
		nvs_switch_full();
		w->merge->full = nvs_now();
		w->tell_full = true;
	}
}
