/* SPDX-License-Identifier: MIT */
/*
 * What was submitted and called, by whole stacks: a tree of frames, the outermost on top, below
 * them the runtime API and the driver API. Each stack's counts stand at its API.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_STACK_TREE_H
#define NVSNOOP_DECODE_ANALYSIS_STACK_TREE_H

#include "decode/analysis/api_stats.h"

struct nvs_weight {
	uint64_t submissions, bytes, calls;
	uint64_t ns; /* host time of calls, without that of calls inside them */
	bool uncounted; /* level=counts: what they submitted is not known */
	bool timed; /* the time of some is known */
};

#define NVS_FRAME 0u
#define NVS_FRAME_API 1u
#define NVS_FRAME_PROCESS 2u /* + number of its trace */

struct nvs_frame {
	struct {
		uint64_t name; /* hash */
		uint32_t parent, kind; /* number; NVS_FRAME, NVS_FRAME_API, or a process */
	} key;
	const char *name;
	uint32_t number; /* 1, 2, ...: behind that of its parent; 0: none */
	uint32_t child, next; /* first one inside; next one beside it */
	uint32_t trace, stack; /* one that has it */
	bool own; /* the name is ours */
	struct nvs_weight weight;
};

#define NVS_STACKS_DEPTH 4104 /* frames of a stack, what called them and what they call */

/* nvs_stacks.how */
#define NVS_STACKS_PLACES                                                       \
	(1u << 0) /* frames with offset and file: the call sites, not functions \
		   */
#define NVS_STACKS_PROCESS (1u << 1) /* below their process */
#define NVS_STACKS_THREAD (1u << 2) /* below their thread, set before reading begins */

struct nvs_stacks {
	unsigned how;
	struct nvs_api_calls_list calls;
	struct nvs_rows frames; /* struct nvs_frame */
	uint32_t top; /* first of the outermost */
};

/* While a trace is read. */
struct nvs_stacks_each {
	struct nvs_source *source;
	struct nvs_stacks *stacks;
};
void nvs_stacks_begin(struct nvs_stacks *t, struct nvs_source *s, struct nvs_stacks_each *each,
		      struct nvs_reader *reader);
void nvs_stacks_free(struct nvs_stacks *t);

/* All has been read: makes the tree. Where memory is short, stacks end further out. 0 or -ENOMEM.
 */
int nvs_stacks_build(struct nvs_stacks *t, struct nvs_source *sources, uint32_t n);
/* Adds what is inside to each frame; returns the sum of all. */
struct nvs_weight nvs_stacks_sum(struct nvs_stacks *t);

static inline struct nvs_frame *nvs_frame_at(const struct nvs_stacks *t, uint32_t number)
{
	return number ? t->frames.row[number - 1] : NULL;
}

/* For reports with other things by stack: an empty tree; the number of the frame at which STACK and
 * what it called end, made where it is missing; and its frames from inside out, a line each. */
int nvs_stacks_empty(struct nvs_stacks *t);
void nvs_stacks_drop(struct nvs_stacks *t);
uint32_t nvs_stacks_place(struct nvs_stacks *t, struct nvs_source *s, uint32_t stack,
			  const struct nvs_call_api *api);

/* The next one of all, from the outermost inwards; NULL behind the last. *DEPTH: below how many. */
struct nvs_frame *nvs_frame_next(const struct nvs_stacks *t, const struct nvs_frame *f,
				 uint32_t *depth);

/* ---- what they are measured by: -s ---- */

enum nvs_measure {
	NVS_BY_SUBMISSIONS,
	NVS_BY_BYTES,
	NVS_BY_CALLS,
	NVS_BY_TIME,
	NVS_MEASURES,
};

uint64_t nvs_measure_of(const struct nvs_weight *w, enum nvs_measure by);
/* Orders what is beside each other by it, largest or SMALLEST first, and by name. */
int nvs_stacks_sort(struct nvs_stacks *t, enum nvs_measure by, bool smallest);
/* Lists the stacks of the tree in that order. FRAME is to be freed, SHOWN is the caller's. */
struct nvs_stacks_list {
	struct nvs_frame **frame;
	size_t n, shown;
};
int nvs_stacks_list(struct nvs_stacks *t, enum nvs_measure by, bool smallest,
		    struct nvs_stacks_list *list);
void nvs_weight_add(struct nvs_weight *to, const struct nvs_weight *w);

#endif
