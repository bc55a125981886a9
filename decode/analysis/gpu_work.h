/* SPDX-License-Identifier: MIT */
/* The work of each submission, with its stream and call, and its GPU times if recorded with
 * timing=. The list is complete at the end of the trace. */
#ifndef NVSNOOP_DECODE_ANALYSIS_GPU_WORK_H
#define NVSNOOP_DECODE_ANALYSIS_GPU_WORK_H

#include "decode/calls/bracket_times.h"
#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

enum nvs_work_kind {
	NVS_WORK_OTHER, /* releases, acquires, the driver's own uploads */
	NVS_WORK_COMPUTE, /* launches, and possibly more */
	NVS_WORK_COPY, /* copies or sets memory, on any engine */
};

/* The kind of name of a work. */
enum nvs_work_what {
	NVS_WORK_OF_CALL, /* name: the entry point; NVS_NONE without a call */
	NVS_WORK_OF_KERNEL, /* index in nvs_handles */
	NVS_WORK_OF_GRAPH, /* index in nvs_handles */
	NVS_WORK_OF_COPY, /* direction */
	NVS_WORK_OF_MEMSET,
};

#define NVS_WORK_TIMED (1u << 0) /* begin and end are known */
#define NVS_WORK_SELECTED (1u << 1) /* by the command line */
/* BEGIN may be too early: it waited for work whose end is unknown */
#define NVS_WORK_WAITED (1u << 2)
#define NVS_WORK_SHARED (1u << 3) /* its time may include work of another channel of the engine */
#define NVS_WORK_TOO_SHORT (1u << 4) /* too short to measure */
#define NVS_WORK_SUBTRACTED (1u << 5) /* an empty bracket is subtracted from NS */
#define NVS_WORK_SINGLE_COPY (1u << 6) /* a single copy and no other work */

/* A submission. The list is sorted by number. */
struct nvs_work {
	uint64_t number, sequence; /* of the submission */
	int64_t rung; /* host ns since the session's start */
	/* GPU clock, ns, as in nvs_submission_time */
	uint64_t begin, end, ns;
	uint64_t bytes; /* if ALONE */
	const struct nvs_call_api *api; /* NULL: no call known */
	uint32_t channel, gpu;
	uint32_t stream; /* index for nvs_work_list_stream(); NVS_NONE: unknown */
	uint32_t name; /* meaning depends on WHAT */
	uint32_t tag; /* set by the report; 0: none */
	uint8_t kind, what, flags;
};

struct nvs_work_stream {
	struct {
		uint64_t stream, context; /* 1, 2: default streams; context 0: unknown */
	} key;
	uint32_t index;
};

struct nvs_work_list;
/* HANDLES is nvs_pass_reader.handles of the reader that calls it. Returns NULL if out of memory. */
struct nvs_work_list *nvs_work_list_new(struct nvs_source *s, struct nvs_handles **handles);
void nvs_work_list_free(struct nvs_work_list *w);
/* Adds a reader that collects the work: see nvs_source_add_reader(). Returns 0 or -ENOMEM. */
int nvs_work_list_read(struct nvs_work_list *w);
/* With nvs_work_list_read(): stream of the call delivered last, or NVS_NONE, and its context. */
uint32_t nvs_work_list_call_stream(const struct nvs_work_list *w, uint64_t *context);
/* Without it: callbacks of a reader with calls and tallies. WORKS is the list. */
int nvs_work_list_op(void *works, const struct nvs_submission *s, const struct nvs_op *op);
int nvs_work_list_submitted(void *works, const struct nvs_submission *s,
			    const struct nvs_call *call);
int nvs_work_list_record(void *works, const struct nvs_rec *rec);
/* Sets *STREAM to the call's stream, or NVS_NONE, and *CONTEXT to its context. */
int nvs_work_list_call(struct nvs_work_list *w, const struct nvs_call *call, uint32_t *stream,
		       uint64_t *context);
/* Call at the end of the trace: sets the times. */
int nvs_work_list_finish(struct nvs_work_list *w);

const struct nvs_work *nvs_work_list_items(const struct nvs_work_list *w, size_t *n);
uint64_t nvs_work_list_dropped(const struct nvs_work_list *w); /* for lack of memory */
/* Valid after nvs_work_list_finish(). */
const struct nvs_bracket_times *nvs_work_list_timing(const struct nvs_work_list *w);
/* Return true if the options recorded in the trace include timing=sample; also work; also dispatch.
 * Valid as soon as the trace is open. */
bool nvs_trace_is_sampled(const struct nvs_source *s);
bool nvs_trace_has_timing_work(const struct nvs_source *s);
bool nvs_trace_is_timed(const struct nvs_source *s);
/* Returns the latest submission made by the call delivered last, or NULL. Its times are ticks
 * until nvs_work_list_finish(). */
const struct nvs_work *nvs_work_list_last_of_call(const struct nvs_work_list *w);
/* Tags all submissions made by the call delivered last. */
void nvs_work_list_tag_call(struct nvs_work_list *w, uint32_t tag);
/* Returns true if CUDA specifies that the call returns when its copy is done: it takes no
 * stream, or copies to pageable memory. *TO_HOST: a copy to the host, for which that always holds.
 */
bool nvs_work_list_copy_blocks(const struct nvs_work_list *w, const struct nvs_call *call,
			       bool *to_host);
const struct nvs_work_stream *nvs_work_list_stream(const struct nvs_work_list *w, uint32_t index);
/* Returns "step(float*)", "graph 3", "copy HtoD", or the entry point; "" if unknown. Valid until
 * the next call. */
const char *nvs_work_list_name(const struct nvs_work_list *w, const struct nvs_work *work);

#endif
