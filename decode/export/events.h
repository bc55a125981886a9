/* SPDX-License-Identifier: MIT */
/* The event stream behind all exports: one pass over each trace that calls the export's callbacks
 * for selected events. Names and clocks are known. Times are ns since the begin of the earliest
 * trace, converted by each trace's clock. Callbacks may be NULL; they return 0, -errno, or > 0 to
 * stop. GPU work of timing=work comes last, since its clock and its waits are known at the end
 * only. */
#ifndef NVSNOOP_DECODE_EXPORT_EVENTS_H
#define NVSNOOP_DECODE_EXPORT_EVENTS_H

#include "decode/calls/handles.h"
#include "decode/analysis/clock_alignment.h"
#include "decode/analysis/copy_operands.h"
#include "decode/analysis/gpu_work.h"
#include "decode/analysis/launch_arguments.h"
#include "decode/query/nvtx_ranges.h"
#include "decode/report/core/report.h"

struct nvs_event_stream {
	struct nvs_run *run;
	struct nvs_source *source;
	void *to; /* state of the export */
	struct nvs_handles *handles;
	uint64_t base; /* ns since 1970 at time 0; 0: unknown */
	const struct nvs_trace_clock *clock;
	uint32_t process; /* number of the trace, from 1 */
	bool timed; /* times are valid */
	/* Its pid; a substitute if unknown, or if another trace has the same. */
	uint32_t pid;
	char name[256]; /* "python 4711, rank 3 on host": escaped */
	const struct nvs_event_sink *walker;
	struct nvs_event_stream_state *own;
};

struct nvs_event_call {
	const struct nvs_call *call;
	const char *name;
	const struct nvs_kernel *launched; /* NULL: not a launch */
	const char *kernel; /* demangled name of a launched kernel; "" if unknown */
	uint64_t flow; /* unique number that connects events of this call; never 0 */
	int64_t begin, end;
	bool ended; /* END is valid */
	const struct nvs_event_copy
		*copy; /* if the sink asks for copies, and it copies; else NULL */
	const struct nvs_launch_arguments
		*arguments; /* if the sink asks for parameters, and they are known; else NULL */
};

struct nvs_event_copy {
	struct nvs_copy_endpoints ends;
	struct nvs_copy_kind kind;
};

struct nvs_event_submission {
	const struct nvs_submission *s;
	const struct nvs_call *call; /* NULL: unknown */
	const char *api, *site;
	uint64_t flow; /* of its call; 0: none */
	int64_t at;
	const struct nvs_tally *tally; /* its operations */
	/* GPFIFO entries not seen done yet, including its own; valid if COUNTED. */
	bool counted;
	uint64_t pending;
};

/* A submission was seen done: by the progress slot at the channel's next doorbell, hence at that
 * time or before. */
struct nvs_event_release {
	const struct nvs_trace_channel *channel;
	uint64_t submission, flow;
	uint32_t payload;
	int64_t at;
	uint64_t gpu; /* GPU time of its release, ns; 0: only that of a later one is known */
};

/* GPU work of a submission with a time. */
struct nvs_event_gpu_work {
	const struct nvs_work *work;
	const struct nvs_work_stream *stream; /* NULL: unknown */
	const char *name; /* kernel, kind of copy, or API; "": unknown */
	uint64_t flow; /* of its call; 0: none */
	/* Work of a channel does not overlap. */
	int64_t begin, end;
	uint64_t error_ns; /* error of BEGIN and END, ns */
	bool too_short; /* shorter than can be measured: END is BEGIN */
};

struct nvs_event_range {
	const struct nvs_nvtx_event *event;
	const struct nvs_rec_nvtx *rec; /* at the begin, and of a mark; else NULL */
	const char *name;
	int64_t begin, end; /* END: only at the end */
};

struct nvs_event_sink {
	bool times; /* fails for a trace without a clock */
	bool copies; /* sets nvs_event_call.copy */
	bool parameters; /* sets nvs_event_call.arguments */
	int (*begin)(
		struct nvs_event_stream *w); /* of a trace: threads, channels and names are known */
	int (*call)(struct nvs_event_stream *w, const struct nvs_event_call *c);
	int (*submission)(struct nvs_event_stream *w, const struct nvs_event_submission *s);
	/* A copy in an earlier submission, op->code.tag, turns out to be code. */
	int (*code)(struct nvs_event_stream *w, const struct nvs_op *op);
	int (*release)(struct nvs_event_stream *w, const struct nvs_event_release *r);
	int (*range)(struct nvs_event_stream *w, const struct nvs_event_range *r);
	int (*gpu)(struct nvs_event_stream *w, const struct nvs_event_gpu_work *g);
	/* Device memory allocated and not freed, ignoring filters. */
	int (*memory)(struct nvs_event_stream *w, int64_t at, uint64_t bytes);
	/* All events but GPU work were delivered. */
	int (*read)(struct nvs_event_stream *w);
	/* End of a trace; WHOLE: it was read completely. */
	int (*end)(struct nvs_event_stream *w, bool whole);
};

/* Walks all traces of RUN, one after the other. */
int nvs_events_deliver(struct nvs_run *run, const struct nvs_event_sink *walker, void *to);

/* Error of a call, for example "CUDA_ERROR_OUT_OF_MEMORY", or how it was left; NULL if it
 * succeeded. */
const char *nvs_event_call_error(const struct nvs_call *call, char *room, size_t size);
/* Caveat on the times of G; "" if there is none. */
const char *nvs_event_gpu_note(const struct nvs_event_gpu_work *g);
/* Further attributes of a range or a mark that begins; "" for none. */
const char *nvs_walk_range_detail(const struct nvs_event_stream *w,
				  const struct nvs_event_range *range, char *room, size_t size);
/* tid of a thread; a substitute above all real ones if unknown. */
uint32_t nvs_event_tid(const struct nvs_event_stream *w, uint32_t thread);
/* Name of a thread: "worker", "thread 7" or "calls before the trace". Not escaped. */
const char *nvs_event_thread_name(const struct nvs_event_stream *w, uint32_t thread, char *room,
				  size_t size);
/* "copy 1, channel 3, GPU 0, class c86f", without unknown parts. */
const char *nvs_event_channel_name(const struct nvs_event_stream *w, uint32_t channel, char *room,
				   size_t size);

#endif
