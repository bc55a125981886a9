/* SPDX-License-Identifier: MIT */
/* What the study of transfers and what is derived from its rows share. */
#ifndef NVSNOOP_PROBE_STUDIES_DMA_H
#define NVSNOOP_PROBE_STUDIES_DMA_H

#include "probe/studies.h"

/* A peer is another GPU, whose memory ours reaches. */
enum direction { TO_DEVICE, TO_HOST, WITHIN_DEVICE, TO_PEER, FROM_PEER, DIRECTIONS };
static const char *const direction_name[] = {"HtoD", "DtoH", "DtoD", "DtoP", "PtoD"};

struct way {
	bool copy; /* by the copy engine */
	const char *mode; /* column */
	uint32_t launch; /* LAUNCH_DMA */
	enum probe_lane_kind lane;
	enum direction direction;
	bool to_host; /* inline: into pinned memory of the host */
	enum probe_place commands;
	bool single; /* T = 1 */
};

/* Columns of the table. */
enum { COL_BYTES = 7, COL_NS = 9, COL_GIB = 12, NCOLUMNS = 14 };

/* Ways that are measured at every size: inline to device and host, copies each way, and to a peer
 * and from it. */
#define DMA_MAIN 7

enum { DMA_VARIANTS = 17, DMA_VARIANT_SIZES = 8 };
extern const struct way dma_main_ways[DMA_MAIN], dma_variants[DMA_VARIANTS];
extern const uint32_t dma_variant_sizes[DMA_VARIANT_SIZES];
/*
 * Sizes in order, as asked for, or doubling from 4 bytes, which has those of the published table,
 * and inline by 1 KiB to 31 KiB. SIZES has room for PROBE_SIZES_MAX; returns how many.
 */
uint32_t dma_plan(const struct probe_options *options, bool copy, uint32_t *sizes);

/* What was published for an A40, ns, and by how many percent the profiler's is too long; NAN:
 * nothing. */
struct dma_published {
	uint32_t bytes;
	double ns, profiler, percent;
};
const struct dma_published *dma_published(const struct way *way, uint32_t bytes);
/* Adds to the table's notes; ENDS: the row behind the last of each main way. */
void dma_derive(struct probe_table *table, const struct way *ways, const uint32_t *ends);
/* Two pictures into FOLDER. */
void dma_draw(const struct probe_table *table, const struct probe_session *session,
	      const uint32_t *ends, const char *folder);

/*
 * The interval of back-to-back transfers from host to device of N sizes, inline and by the copy
 * engine, ns; NAN: not to be had. SESSION tells of the machine afterwards, and is closed.
 */
void dma_raw(const struct probe_options *options, struct probe_session *session,
	     const uint32_t *sizes, uint32_t n, double *by_inline, double *by_engine);
/* compare.c: --compare; the exit status. */
int dma_compare(const struct probe_options *options);

#endif
