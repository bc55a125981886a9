/* SPDX-License-Identifier: MIT */
/*
 * What each submission had the GPU do, on which stream and for which call, and when, where timing=
 * has taken the GPU's time of it. A report hands on what it reads, and has the list when the trace
 * has been read.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_GPU_WORK_H
#define NVSNOOP_DECODE_ANALYSIS_GPU_WORK_H

#include "decode/calls/bracket_times.h"
#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

enum nvs_work_kind {
	NVS_WORK_OTHER, /* releases, acquires, the driver's own uploads */
	NVS_WORK_COMPUTE, /* it launches, whatever else it does */
	NVS_WORK_COPY, /* it copies or sets memory, on whatever engine */
};

/* What a call asked for, told by a number. */
enum nvs_work_what {
	NVS_WORK_OF_CALL, /* nothing more is known: the entry point; of no call: NVS_NONE */
	NVS_WORK_OF_KERNEL, /* as nvs_handles counts it */
	NVS_WORK_OF_GRAPH, /* likewise */
	NVS_WORK_OF_COPY, /* direction */
	NVS_WORK_OF_MEMSET,
};

#define NVS_WORK_TIMED (1u << 0) /* begin and end are known */
#define NVS_WORK_SELECTED (1u << 1) /* by the command line */
/* BEGIN may be before its own: it waited for work whose end is not known */
#define NVS_WORK_WAITED (1u << 2)
#define NVS_WORK_SHARED (1u << 3) /* its time may hold work of another channel of its engine */
#define NVS_WORK_BRIEF (1u << 4) /* it was shorter than can be told */
#define NVS_WORK_SUBTRACTED (1u << 5) /* NS is without an empty bracket */
#define NVS_WORK_ALONE (1u << 6) /* one copy, and no other work */

/* In order of their numbers. */
struct nvs_work {
	uint64_t number, sequence; /* of the submission */
	int64_t rung; /* host's ns since the session's start */
	/* ns of the GPU's clock, as nvs_timed has them */
	uint64_t begin, end, ns;
	uint64_t bytes; /* of what is ALONE */
	const struct nvs_call_api *api; /* of its call; NULL: none is known */
	uint32_t channel, gpu;
	uint32_t stream; /* index of nvs_work_stream(); NVS_NONE: not known */
	uint32_t name; /* by WHAT */
	uint32_t tag; /* of a report, 0: none */
	uint8_t kind, what, flags;
};

struct nvs_work_stream {
	struct {
		uint64_t stream, context; /* 1, 2: the default ones; context 0: not known */
	} key;
	uint32_t index;
};

struct nvs_works;
struct nvs_works *nvs_works_new(struct nvs_source *s); /* NULL: no memory */
void nvs_works_free(struct nvs_works *w);
/* What a report's callbacks hand on; 0 or -ENOMEM. */
int nvs_works_op(struct nvs_works *w, const struct nvs_submission *s, const struct nvs_op *op);
int nvs_works_submitted(struct nvs_works *w, const struct nvs_submission *s,
			const struct nvs_call *call);
/* *STREAM: the one that the call works on, if any, else NVS_NONE; *CONTEXT: its context. */
int nvs_works_call(struct nvs_works *w, const struct nvs_call *call, uint32_t *stream,
		   uint64_t *context);
int nvs_works_record(struct nvs_works *w, const struct nvs_rec *rec);
/* A reader that does no more than that. WORKS is its arg, which may be the beginning of more. */
struct nvs_reader nvs_works_reader(struct nvs_works **works);
/* The trace has been read: times and places are put in. */
int nvs_works_end(struct nvs_works *w);

struct nvs_handles *nvs_works_handles(const struct nvs_works *w);
const struct nvs_work *nvs_works_list(const struct nvs_works *w, size_t *n);
uint64_t nvs_works_dropped(const struct nvs_works *w); /* for want of memory */
/* What is known of times: settled at the end. */
const struct nvs_timing *nvs_works_timing(const struct nvs_works *w);
/* Was the trace recorded with timing=work, as its options say? */
bool nvs_works_asked(const struct nvs_source *s);
/* The latest submission that the call last told had made itself; NULL: none. Its times are ticks
 * until the end. */
const struct nvs_work *nvs_works_of_call(const struct nvs_works *w);
/* All that the call last told had made itself are to have TAG. */
void nvs_works_tag(struct nvs_works *w, uint32_t tag);
/* Is it a copy of which CUDA says that it returns when it is done: one that takes no stream, or to
 * pageable memory? */
bool nvs_works_blocks(const struct nvs_works *w, const struct nvs_call *call);
/* And one of which that is always so: to the host. */
bool nvs_works_to_host(const struct nvs_works *w, const struct nvs_call *call);
const struct nvs_work_stream *nvs_works_stream(const struct nvs_works *w, uint32_t index);
/* "step(float*)", "graph 3", "copy HtoD", else the entry point; "" not known. Good until the next
 * one. */
const char *nvs_works_name(const struct nvs_works *w, const struct nvs_work *work);

#endif
