/* SPDX-License-Identifier: MIT */
/* Submissions and calls by whole stack: a tree of frames with the outermost at the root; the
 * innermost are the runtime API and the driver API. Counts are added at the API. */
#ifndef NVSNOOP_DECODE_ANALYSIS_STACK_TREE_H
#define NVSNOOP_DECODE_ANALYSIS_STACK_TREE_H

#include "decode/analysis/api_stats.h"
#include "decode/base/numbers.h"

struct nvs_weight {
	uint64_t submissions, bytes, calls;
	uint64_t ns; /* host time of calls, excluding nested calls */
	uint64_t gpu_ns; /* GPU time of submissions, by timing=work */
	bool uncounted; /* level=counts: submissions are unknown */
	bool timed; /* NS is valid: some calls have a time */
	bool gpu_timed; /* GPU_NS is valid: some submissions have a time */
};

#define NVS_FRAME 0u
#define NVS_FRAME_API 1u
#define NVS_FRAME_PROCESS 2u /* + number of its trace */

#define NVS_UNKNOWN_FRAME "[unknown]" /* name of the frame above calls without a stack */

struct nvs_stack_frame {
	struct {
		uint64_t name; /* hash */
		uint32_t parent, kind; /* number; NVS_FRAME, NVS_FRAME_API, or a process */
	} key;
	const char *name;
	uint32_t number; /* from 1, higher than its parent's; 0: none */
	uint32_t child, next; /* first child; next sibling */
	uint32_t trace, stack; /* an example: trace and stack with this frame */
	bool own; /* the name is freed with the frame */
	struct nvs_weight weight;
};

#define NVS_STACKS_DEPTH 4104 /* maximum depth: frames, process, thread and APIs */

/* nvs_stacks.how */
/* Frames by call site, with offset and file, not by function */
#define NVS_STACKS_PLACES (1u << 0)
#define NVS_STACKS_PROCESS (1u << 1) /* processes are the roots */
#define NVS_STACKS_THREAD (1u << 2) /* threads are the roots; set before reading */
/* GPU time is that of kernels, which are frames below the API, also estimated from a sample; set
 * before reading */
#define NVS_STACKS_KERNELS (1u << 3)

struct nvs_stacks {
	unsigned how;
	struct nvs_api_calls_list calls;
	struct nvs_rows gpu; /* GPU time by stack, while traces are read */
	struct nvs_numbers waiting; /* of calls that have not returned, by thread */
	struct nvs_rows frames; /* struct nvs_stack_frame */
	uint32_t top; /* first root */
};

/* While a trace is read. */
struct nvs_stacks_each {
	struct nvs_api_calls_reader calls; /* first: its callback has it as ARG */
	struct nvs_stacks *stacks;
	struct nvs_handles *handles; /* of the pass */
};
void nvs_stacks_begin(struct nvs_stacks *t, struct nvs_source *s, struct nvs_stacks_each *each,
		      struct nvs_pass_reader *reader);
/* After it: also sums up the GPU time of the source, whose timing is known. */
void nvs_stacks_begin_timed(struct nvs_stacks_each *each, struct nvs_pass_reader *reader);
void nvs_stacks_free(struct nvs_stacks *t);

/* After reading: builds the tree. If memory is short, stacks lose inner frames. Returns 0 or
 * -ENOMEM. */
int nvs_stacks_build(struct nvs_stacks *t, struct nvs_source *sources, uint32_t n);
/* Adds to each frame the weight of its descendants; returns the sum of all. */
struct nvs_weight nvs_stacks_sum(struct nvs_stacks *t);

static inline struct nvs_stack_frame *nvs_stack_frame_at(const struct nvs_stacks *t,
							 uint32_t number)
{
	return number ? t->frames.row[number - 1] : NULL;
}

/* For reports that attach their own data to stacks: nvs_stacks_init() makes an empty tree;
 * nvs_stacks_add() returns the number of the frame for STACK and API, added if missing;
 * nvs_stacks_print() prints a frame and its callers, one per line. */
int nvs_stacks_init(struct nvs_stacks *t);
void nvs_stacks_drop(struct nvs_stacks *t);
uint32_t nvs_stacks_add(struct nvs_stacks *t, struct nvs_source *s, uint32_t stack,
			const struct nvs_call_api *api);

/* Depth-first iteration: the frame after F (NULL: the first); returns NULL after the last. *DEPTH
 * is its depth. */
struct nvs_stack_frame *nvs_stack_frame_next(const struct nvs_stacks *t,
					     const struct nvs_stack_frame *f, uint32_t *depth);

/* ---- weights and order by -s ---- */

enum nvs_measure {
	NVS_BY_SUBMISSIONS,
	NVS_BY_BYTES,
	NVS_BY_CALLS,
	NVS_BY_TIME,
	NVS_BY_GPU_TIME,
	NVS_MEASURES,
};

uint64_t nvs_weight_measure(const struct nvs_weight *w, enum nvs_measure by);
/* Sorts siblings by weight, largest first unless -s is reversed, then by name. */
int nvs_stacks_sort(struct nvs_stacks *t, enum nvs_measure by, bool smallest);
/* Lists the stacks of the tree in that order. FRAME is to be freed, SHOWN is the caller's. */
struct nvs_stacks_list {
	struct nvs_stack_frame **frame;
	size_t n, shown;
};
int nvs_stacks_list(struct nvs_stacks *t, enum nvs_measure by, bool smallest,
		    struct nvs_stacks_list *list);
void nvs_weight_add(struct nvs_weight *to, const struct nvs_weight *w);

#endif
