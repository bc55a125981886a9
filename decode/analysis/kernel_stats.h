/* SPDX-License-Identifier: MIT */
/* Rows of --by-kernel, and what is counted into them from calls and from nodes of graphs. */
#ifndef NVSNOOP_DECODE_ANALYSIS_KERNEL_STATS_H
#define NVSNOOP_DECODE_ANALYSIS_KERNEL_STATS_H

#include "decode/base/distinct.h"
#include "decode/calls/handles.h"
#include "decode/analysis/instruction_counts.h"
#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"
#include "decode/query/durations.h"

#define NVS_SHAPES 4 /* of grid and block that are told; more are counted */

struct nvs_shape {
	uint32_t grid[3], block[3];
};

struct nvs_kernel_row {
	char *name;
	const struct nvs_kernel *kernel;
	struct nvs_kernel by_gpu; /* in KERNEL's place, of one that only other kernels launch */
	const struct nvs_source *source;
	bool several; /* traces */
	uint64_t id; /* the same in all traces that are summed up */
	uint64_t direct, failed, recorded, by_capture, by_nodes, by_unknown, conditional;
	uint64_t submissions, entries, bytes;
	bool uncounted; /* these are not known */
	bool unsited; /* nor where it was launched from */
	/* Shapes and sites that no row of this name had before */
	uint64_t nshapes, nsites, dynamic;
	bool many; /* more shapes and sites than can be told apart */
	struct nvs_shape shape[NVS_SHAPES];
	uint32_t told; /* of shape */
	uint32_t *stacks; /* that it was launched from */
	uint32_t nstacks, stacks_room;
	struct nvs_times times;
	/* Instructions that it has counted itself, where FLAGS (NVS_COUNT_*) say so; of which parts
	 * are missing */
	uint32_t count_flags, count_missing;
	uint64_t warp, thread;
	uint32_t instructions; /* of its code; NVS_NONE: not known */
	char *reason; /* why it does not count; NULL: it does, or nobody has asked */
	char shapes[320];
	double warp_share; /* of all instructions; below 0: not known */
	double share, most; /* of all launches, and of those of the kernel launched most */
};

/* What is read of one trace. */
struct nvs_kernels {
	struct nvs_source *source;
	struct nvs_handles *handles;
	struct nvs_counted_kernels counts;
	struct nvs_distinct *seen; /* shapes and call sites of each kernel, over all traces */
	struct nvs_rows unseen; /* stacks of submissions that no call was seen for */
	int status; /* -errno */
};

/* NULL: no memory, or no KERNEL. */
struct nvs_kernel_row *nvs_kernel_row(struct nvs_kernels *k, struct nvs_kernel *kernel);
void nvs_kernel_row_free(struct nvs_kernel_row *row);
void nvs_kernel_see_shape(struct nvs_kernels *k, struct nvs_kernel_row *row,
			  const struct nvs_shape *shape);
/* 0 or -ENOMEM. */
int nvs_kernel_see_stack(struct nvs_kernels *k, struct nvs_kernel_row *row, uint32_t stack);
/* All has been read: how many call sites these stacks lead through. */
void nvs_kernel_count_sites(struct nvs_kernels *k, struct nvs_kernel_row *row);

/*
 * kernel_graphs.c: launches of graphs are counted a graph, and told to its nodes when they change.
 */
void nvs_kernels_watch(struct nvs_kernels *k);
int nvs_kernels_graph_launch(struct nvs_kernels *k, const struct nvs_call *call);
void nvs_kernels_settle(struct nvs_kernels *k); /* all has been read */

/*
 * unseen_launches.c: launches whose calls were not seen, as far as it is known which kernel lies at
 * the address that they run.
 */
int nvs_kernels_submission(struct nvs_kernels *k, const struct nvs_submission *s,
			   const struct nvs_call *call);
int nvs_kernels_unseen(struct nvs_kernels *k); /* all has been read; reads it again if need be */

#endif
