/* SPDX-License-Identifier: MIT */
/* Counts made by the library: for the end of the trace and for the closing line. */
#include "preload/writer/writer.h"
#include "trap/buffer/process.h"
#include "trap/low/sys.h"

uint64_t nvs_totals_sum(enum nvs_counter which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < nvs_buffer_count(); i++)
		sum += nvs_count_of(nvs_buffer_at(i), which);
	/* Threads without a buffer have lost all their submissions. */
	if (which == NVS_COUNT_LOST_SUBMISSIONS)
		sum += atomic_load(&nvs_process->lost_submissions);
	else if (which == NVS_COUNT_LOST_BYTES)
		sum += atomic_load(&nvs_process->lost_bytes);
	return sum;
}

void nvs_totals_write_gap(struct nvs_writer *w, uint32_t reason, uint64_t submissions,
			  uint64_t bytes)
{
	struct nvs_rec_gap gap = {
		.rec = {.type = NVS_REC_GAP, .size = sizeof(gap), .time = nvs_clock_now()},
		.thread = NVS_NONE,
		.channel = NVS_NONE,
		.reason = reason,
		.entry = NVS_NONE,
		.submissions = submissions,
		.bytes = bytes,
	};

	if (!submissions && !bytes)
		return;
	nvs_writer_add(w, &gap.rec);
	w->gaps++;
}

void nvs_totals_write_open_calls(struct nvs_writer *w)
{
	struct nvs_open_call_cursor at = {0};
	struct nvs_open_call_record rec;

	nvs_buffer_sweep();
	while (nvs_open_call_next(&at, &rec))
		nvs_writer_add(w, &rec.rec.rec);
}

static uint64_t count_here(const struct nvs_writer *w, enum nvs_counter which)
{
	return nvs_totals_sum(which) - w->base[which];
}

void nvs_totals_write(struct nvs_writer *w)
{
	const struct nvs_merge_counts *seen = &w->merge->all;
	struct nvs_rec_totals t = {
		.rec = {.type = NVS_REC_TOTALS, .size = sizeof(t), .time = nvs_clock_now()},
		.submissions = count_here(w, NVS_COUNT_SUBMISSIONS),
		.entries = count_here(w, NVS_COUNT_ENTRIES),
		.segments = count_here(w, NVS_COUNT_SEGMENTS),
		.bytes = count_here(w, NVS_COUNT_BYTES),
		.gaps = count_here(w, NVS_COUNT_GAPS) + w->gaps,
		.lost_submissions = count_here(w, NVS_COUNT_LOST_SUBMISSIONS) + w->lost_submissions,
		.lost_bytes = count_here(w, NVS_COUNT_LOST_BYTES) + w->lost_bytes,
		.orphans = count_here(w, NVS_COUNT_ORPHANS),
		.channels = seen->channels,
		.threads = seen->threads,
		.stacks = seen->stacks,
		.unknown_ioctls = w->session->unknown_calls,
		.waits = count_here(w, NVS_COUNT_WAITS),
		.wait_ns = count_here(w, NVS_COUNT_WAIT_NS),
		.stepped = count_here(w, NVS_COUNT_STEPPED),
		.foreign_faults = count_here(w, NVS_COUNT_FOREIGN),
		.fast = count_here(w, NVS_COUNT_FAST),
		.skipped = count_here(w, NVS_COUNT_SKIPPED),
		.skipped_bytes = count_here(w, NVS_COUNT_SKIPPED_BYTES),
		.writer_cpu_ns = nvs_read_clock(CLOCK_THREAD_CPUTIME_ID) +
				 nvs_packers_cpu_ns(&w->packers),
		.raw_bytes = w->sink.raw_bytes + w->merge->used,
	};

	nvs_writer_add(w, &t.rec);
}

void nvs_writer_outcome(struct nvs_recorder *session, struct nvs_outcome *outcome)
{
	const struct nvs_writer *w = session->writer;

	outcome->submissions = nvs_totals_sum(NVS_COUNT_SUBMISSIONS);
	outcome->skipped = nvs_totals_sum(NVS_COUNT_SKIPPED);
	outcome->gaps = nvs_totals_sum(NVS_COUNT_GAPS) + w->gaps;
	outcome->lost_submissions = w->lost_submissions;
	outcome->lost_bytes = w->lost_bytes;
	outcome->bytes = w->sink.file_bytes;
	outcome->error = w->first_error;
	outcome->cut = w->keep.cut;
	outcome->full = nvs_switch_is_full();
	outcome->stuck = outcome->full ? w->part_error : 0;
	outcome->hangs = !atomic_load(&w->done);
	if (outcome->hangs)
		outcome->lost_submissions += nvs_totals_sum(NVS_COUNT_LOST_SUBMISSIONS);
}
