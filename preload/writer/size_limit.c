/* SPDX-License-Identifier: MIT */
/* Limits the size of a trace: recording stops at --max-size, or --keep-last starts a new part. */
#include "preload/writer/keep_last_state.h"
#include "preload/writer/writer.h"

static void stop_recording(struct nvs_writer *w)
{
	nvs_switch_set_full();
	w->full_at = nvs_clock_now();
	/* Later windows need all records of the program's state. */
	if (!nvs_options()->untraced)
		w->merge->full = w->full_at;
	w->full_pending = true;
}

/* ---- --max-size ---- */

/* Returns the bytes of records in the thread buffers. */
static uint64_t buffered_bytes(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < nvs_buffer_count(); i++) {
		const struct nvs_spool_buffer *buffer = nvs_buffer_at(i)->shared;

		sum += __atomic_load_n(&buffer->head, __ATOMIC_RELAXED) -
		       __atomic_load_n(&buffer->tail, __ATOMIC_RELAXED);
	}
	return sum;
}

#define PACKS_TO 8 /* assumed compression ratio at worst, apart from the first frames */
#define MAX_RESERVE (128u << 10) /* for what is written last: names, stacks, totals, seek table */

/*
 * Stops recording when the trace, with the records still in the thread buffers, reaches its size.
 * The buffers are assumed to compress like the file so far. The first frames have names and maps
 * and compress worst: below half of the size PACKS_TO is used instead.
 */
void nvs_limit_check_size(struct nvs_writer *w)
{
	uint64_t max_bytes = nvs_options()->values.max_size;
	uint64_t file = __atomic_load_n(&w->sink.file_bytes, __ATOMIC_RELAXED);
	uint64_t raw = __atomic_load_n(&w->sink.raw_bytes, __ATOMIC_RELAXED);
	uint64_t reserve = max_bytes / 8 < MAX_RESERVE ? max_bytes / 8 : MAX_RESERVE;
	double ratio = (double)file / (double)(raw + 1);

	if (file < max_bytes / 2 && ratio > 1.0 / PACKS_TO)
		ratio = 1.0 / PACKS_TO;
	if (!max_bytes || nvs_switch_is_full() ||
	    (double)(file + reserve) + (double)buffered_bytes() * ratio < (double)max_bytes)
		return;
	stop_recording(w);
}

void nvs_limit_record(struct nvs_writer *w)
{
	struct nvs_rec_window window = {
		.rec = {.type = NVS_REC_WINDOW, .size = sizeof(window), .time = w->full_at},
		.cause = NVS_WINDOW_SIZE,
	};

	if (!w->full_pending)
		return;
	w->full_pending = false;
	nvs_writer_add(w, &window.rec);
}

/* ---- --keep-last ---- */

static void repeat_record(void *arg, const struct nvs_rec *rec)
{
	nvs_writer_add(arg, rec);
}

/* Writes the state that a reader of this part needs. Returns 0 or -errno. */
static int repeat_state(struct nvs_writer *w)
{
	struct nvs_rec_part part = {
		.rec = {.type = NVS_REC_PART, .size = sizeof(part)},
		.number = w->keep.number + 1,
		.before = w->keep.name,
		.limit = w->keep.limit,
	};

	nvs_merge_set_again(w->merge, true);
	nvs_keep_state_write(w->merge->ledger, &part, repeat_record, w);
	nvs_writer_flush(w);
	nvs_merge_set_again(w->merge, false);
	return w->sink.error;
}

/* Ends a part at BYTES and starts the next. Returns 0, or -errno: the part continues. */
static int next_part(struct nvs_writer *w, uint64_t bytes)
{
	int err = nvs_keep_begin(&w->keep), first_error = w->first_error;

	if (err)
		return err;
	w->sink.file_bytes = 0;
	err = repeat_state(w);
	if (!err)
		err = nvs_keep_commit(&w->keep, bytes, w->sink.file_bytes);
	if (!err)
		return 0;
	nvs_keep_cancel(&w->keep);
	w->sink.file_bytes = bytes;
	w->sink.error = 0;
	/* The state that could not be repeated is in the parts before. */
	w->first_error = first_error;
	return err;
}

/* Called between two frames. A part grows while there is no place to split, or no new file. */
void nvs_limit_rotate_parts(struct nvs_writer *w)
{
	struct nvs_keep *keep = &w->keep;
	uint64_t bytes = __atomic_load_n(&w->sink.file_bytes, __ATOMIC_RELAXED);

	if (!keep->limit)
		return;
	nvs_watch_check_sandbox(w->session);
	nvs_keep_trim(keep, bytes);
	if (!nvs_keep_is_due(keep, bytes))
		return;
	nvs_packers_wait(&w->packers);
	nvs_keep_use_own_fd(keep);
	bytes = w->sink.file_bytes;
	if (!w->sink.error && bytes >= w->retry_at &&
	    (nvs_keep_state_is_complete(w->merge->ledger) ||
	     bytes >= 2 * (keep->limit / 8 + keep->head))) {
		w->part_error = next_part(w, bytes);
		w->retry_at = w->part_error ? bytes + keep->limit / 8 : 0;
	}
	/* No further part can be created: stop once the size to keep is reached. */
	if (w->retry_at && bytes > keep->limit && !nvs_switch_is_full())
		stop_recording(w);
}
