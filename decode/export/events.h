/* SPDX-License-Identifier: MIT */
/*
 * What exports are made of: one reading of each trace, and what is selected of it told by and by.
 * Names and clocks are known by then. Times are ns since the earliest of all traces began, of each
 * trace by its own clock. A callback that is NULL is not asked for; what they return is 0, or
 * -errno, or > 0 for "seen enough".
 *
 * What the GPU did and when, by the records of timing=work, is told when all else has been: until
 * then neither its clock nor what waited for what is known.
 */
#ifndef NVSNOOP_DECODE_EXPORT_EVENTS_H
#define NVSNOOP_DECODE_EXPORT_EVENTS_H

#include "decode/calls/handles.h"
#include "decode/analysis/clock_alignment.h"
#include "decode/analysis/gpu_work.h"
#include "decode/query/nvtx_ranges.h"
#include "decode/report/core/report.h"

struct nvs_walk {
	struct nvs_run *run;
	struct nvs_source *source;
	void *to; /* the export's own */
	struct nvs_handles *handles;
	uint64_t base; /* ns since 1970 at time 0; 0: not known */
	const struct nvs_clock_of *clock;
	uint32_t process; /* of the traces, from 1 */
	bool timed; /* else times mean nothing */
	/* Its pid; where another trace has that as well or it is not known, a number of ours. */
	uint32_t pid;
	char name[256]; /* "python 4711, rank 3 on host": escaped */
	const struct nvs_walker *walker;
	struct nvs_walk_own *own;
};

struct nvs_walk_call {
	const struct nvs_call *call;
	const char *name;
	const struct nvs_kernel *launched; /* NULL: it launches none */
	const char *kernel; /* of a launch, as its source writes it; "" where not known */
	uint64_t flow; /* stands for it in all that follows of it; never 0 */
	int64_t begin, end;
	bool ended; /* else END is nothing */
};

struct nvs_walk_submission {
	const struct nvs_submission *s;
	const struct nvs_call *call; /* NULL: none is known */
	const char *api, *site;
	uint64_t flow; /* of its call; 0: none */
	int64_t at;
	const struct nvs_tally *tally; /* what it does */
	/* Entries of the ring that are not seen to be done, its own among them, as far as known. */
	bool counted;
	uint64_t pending;
};

/*
 * That a submission is done, as the channel's progress slot said when its next doorbell was rung:
 * at that time or before.
 */
struct nvs_walk_release {
	const struct nvs_trace_channel *channel;
	uint64_t submission, flow;
	uint32_t payload;
	int64_t at;
	uint64_t gpu; /* the GPU's time of it, ns; 0: of a later one alone is known */
};

/* What the GPU did of a submission that has a time. */
struct nvs_walk_gpu {
	const struct nvs_work *work;
	const struct nvs_work_stream *stream; /* NULL: not known */
	const char *name; /* of the kernel, the copy, else of the call; "" not known */
	uint64_t flow; /* of its call; 0: none */
	/* Of a channel one begins no sooner than the one before it has ended. */
	int64_t begin, end;
	uint64_t give; /* how far its place may be off, ns */
	bool brief; /* it was shorter than can be told: END is BEGIN */
};

struct nvs_walk_range {
	const struct nvs_nvtx_event *event;
	const struct nvs_rec_nvtx *rec; /* of one that begins, and of a mark */
	const char *name;
	int64_t begin, end; /* END: of one that has ended */
};

struct nvs_walker {
	bool times; /* a trace without a clock is no use to it */
	int (*begin)(struct nvs_walk *w); /* a trace: threads, channels and names are known */
	int (*call)(struct nvs_walk *w, const struct nvs_walk_call *c);
	int (*submission)(struct nvs_walk *w, const struct nvs_walk_submission *s);
	/* A copy of an earlier submission, op->code.tag, turns out to be code. */
	int (*code)(struct nvs_walk *w, const struct nvs_op *op);
	int (*release)(struct nvs_walk *w, const struct nvs_walk_release *r);
	int (*range)(struct nvs_walk *w, const struct nvs_walk_range *r);
	int (*gpu)(struct nvs_walk *w, const struct nvs_walk_gpu *g);
	/* Device memory that calls have allocated and not freed, whatever is selected. */
	int (*memory)(struct nvs_walk *w, int64_t at, uint64_t bytes);
	/* All but what the GPU did, and when, has been told. */
	int (*read)(struct nvs_walk *w);
	/* The last that is told of a trace; WHOLE: it has been read to its end. */
	int (*end)(struct nvs_walk *w, bool whole);
};

/* All traces of RUN, one after the other. */
int nvs_walk(struct nvs_run *run, const struct nvs_walker *walker, void *to);

/* "cuLaunchKernel: CUDA_ERROR_..": NULL where it went well or did not return. */
const char *nvs_walk_error(const struct nvs_call *call, char *room, size_t size);
/* What its times do not tell by themselves; "" nothing. */
const char *nvs_walk_note(const struct nvs_walk_gpu *g);
/* Number that thread N has for the system; where that is not known, one of ours. */
uint32_t nvs_walk_tid(const struct nvs_walk *w, uint32_t thread);
/* "worker", "thread 7"; "calls before the trace". Not escaped. */
const char *nvs_walk_thread(const struct nvs_walk *w, uint32_t thread, char *room, size_t size);
/* "copy 1, channel 3, GPU 0, class c86f"; what is not known is left out */
const char *nvs_walk_channel(const struct nvs_walk *w, uint32_t channel, char *room, size_t size);

#endif
