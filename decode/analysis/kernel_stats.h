/* SPDX-License-Identifier: MIT */
/* Rows of --by-kernel, and the counters that calls and graph nodes add to them. */
#ifndef NVSNOOP_DECODE_ANALYSIS_KERNEL_STATS_H
#define NVSNOOP_DECODE_ANALYSIS_KERNEL_STATS_H

#include "decode/base/distinct.h"
#include "decode/calls/handles.h"
#include "decode/analysis/instruction_counts.h"
#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"
#include "decode/query/durations.h"

#define NVS_SHAPES \
	4 /* combinations of grid and block that are printed; further ones are only counted */

struct nvs_shape {
	uint32_t grid[3], block[3];
};

struct nvs_kernel_row {
	const struct nvs_kernel *kernel; /* its key */
	char *name;
	struct nvs_kernel
		by_gpu; /* KERNEL points here for a kernel that only other kernels launch */
	const struct nvs_source *source;
	bool several; /* the kernel is in more than one trace */
	uint64_t id; /* equal in all traces that are added up */
	uint64_t direct, failed, recorded, by_capture, by_nodes, by_unknown, conditional;
	uint64_t submissions, entries, bytes;
	bool uncounted; /* the trace does not have these three */
	bool unsited; /* it is unknown where the kernel was launched from */
	/* Only those that no earlier row of this name has had */
	uint64_t nshapes, nsites, dynamic;
	bool many; /* more shapes and sites than the set holds */
	struct nvs_shape shape[NVS_SHAPES];
	uint32_t told; /* entries of SHAPE in use */
	uint32_t *stacks; /* stacks that launched it */
	uint32_t nstacks, stacks_room;
	struct nvs_durations times;
	/* Instructions counted by instrumented code: FLAGS (NVS_COUNT_*) say which of WARP and
	 * THREAD are valid, MISSING which are incomplete */
	uint32_t count_flags, count_missing;
	uint64_t warp, thread;
	uint32_t instructions; /* in its code; NVS_NONE: unknown */
	char *reason; /* why the kernel was not instrumented; NULL: it was, or counting was off */
	char shapes[320];
	char *parameters; /* of the latest direct launch; NULL: unknown */
	uint64_t parameter_bytes;
	double warp_share; /* of all instructions; negative: unknown */
	double share, most; /* of all launches, and of the launches of the kernel with the most */
	struct nvs_gpu_row *gpu; /* for the report: its GPU times; NULL: none */
	double gpu_share; /* of all GPU time; negative: unknown */
};

/* State of one trace while it is read. */
struct nvs_arguments;
struct nvs_kernels {
	struct nvs_source *source;
	struct nvs_handles *handles;
	struct nvs_kernel_counts counts;
	struct nvs_distinct *seen; /* shapes and call sites of each kernel, in all traces */
	struct nvs_rows rows; /* struct nvs_kernel_row */
	struct nvs_kernel_row *last; /* the row that was used last */
	struct nvs_rows graphs; /* of kernel_graph_launches.c */
	struct nvs_rows unseen; /* stacks of submissions without a recorded call */
	struct nvs_arguments *arguments; /* for the report; NULL: not wanted */
};

/* Returns NULL if KERNEL is NULL or memory is short. */
struct nvs_kernel_row *nvs_kernel_row(struct nvs_kernels *k, struct nvs_kernel *kernel);
void nvs_kernel_row_free(struct nvs_kernel_row *row);
void nvs_kernels_free(struct nvs_kernels *k); /* the rows, and all that is below */
void nvs_kernel_add_shape(struct nvs_kernels *k, struct nvs_kernel_row *row,
			  const struct nvs_shape *shape);
/* 0 or -ENOMEM. */
int nvs_kernel_add_stack(struct nvs_kernels *k, struct nvs_kernel_row *row, uint32_t stack);
/* After the trace has been read: counts the call sites of the row's stacks. */
void nvs_kernel_count_sites(struct nvs_kernels *k, struct nvs_kernel_row *row);

/* kernel_graph_launches.c: launches of graphs, added to the kernels of their nodes when a node
 * changes and at the end. */
void nvs_kernels_begin(struct nvs_kernels *k, struct nvs_pass_reader *reader);
int nvs_kernels_graph_launch(struct nvs_kernels *k, const struct nvs_call *call);
void nvs_kernels_finish(struct nvs_kernels *k); /* after the trace has been read */

/* unobserved_launches.c: launches without a recorded call, attributed by the kernel that is known
 * to be at the program address they run. */
int nvs_kernels_note_submission(void *kernels, const struct nvs_submission *s,
				const struct nvs_call *call);
int nvs_kernels_add_unseen(
	struct nvs_kernels *k); /* after the trace has been read; may read it a second time */

#endif
