/* SPDX-License-Identifier: MIT */
/* Shared by the dma study (dma.c), its plan, its evaluation and --compare. */
#ifndef NVSNOOP_PROBE_STUDIES_DMA_H
#define NVSNOOP_PROBE_STUDIES_DMA_H

#include "probe/studies.h"

/* A peer is another GPU whose memory this one can access. */
enum dma_direction { TO_DEVICE, TO_HOST, WITHIN_DEVICE, TO_PEER, FROM_PEER, DIRECTIONS };
static const char *const direction_name[] = {"HtoD", "DtoH", "DtoD", "DtoP", "PtoD"};

struct dma_way {
	bool copy; /* by copy engine; otherwise inline */
	const char *mode; /* column */
	uint32_t launch; /* LAUNCH_DMA */
	enum probe_channel_kind lane;
	enum dma_direction direction;
	bool to_host; /* inline: to pinned host memory */
	enum probe_place commands;
	bool single; /* one transfer per submission */
};

/* Columns of the table. */
enum { COL_BYTES = 7, COL_NS = 9, COL_GIB = 12, NCOLUMNS = 14 };

/* Ways measured at every size: inline to device and to host, copies in each direction, and to and
 * from a peer. */
#define DMA_MAIN 7

enum { DMA_VARIANTS = 17, DMA_VARIANT_SIZES = 8 };
extern const struct dma_way dma_main_ways[DMA_MAIN], dma_variants[DMA_VARIANTS];
extern const uint32_t dma_variant_sizes[DMA_VARIANT_SIZES];
/*
 * Writes the sizes to SIZES, ascending: those on the command line, or powers of two from 4 bytes
 * on, which include those of the published table, and for inline also 1 KiB to 31 KiB in steps of 1
 * KiB. SIZES has room for PROBE_SIZES_MAX. Returns their number.
 */
uint32_t dma_plan_sizes(const struct probe_options *options, bool copy, uint32_t *sizes);

/* Published times of an A40 in ns, and the profiler's error in percent; NAN if none. */
struct dma_published {
	uint32_t bytes;
	double ns, profiler, percent;
};
const struct dma_published *dma_published(const struct dma_way *way, uint32_t bytes);
/* Adds notes to the table. ENDS[I] is the row after the last one of main way I. */
void dma_add_notes(struct probe_table *table, const struct dma_way *ways, const uint32_t *ends);
/* Writes two plots to FOLDER. */
void dma_draw_plots(const struct probe_table *table, const struct probe_session *session,
		    const uint32_t *ends, const char *folder);

/*
 * Measures the interval in ns of back-to-back transfers from host to device of N sizes, inline and
 * by copy engine; NAN if not available. Opens and closes SESSION, which still describes the machine
 * afterwards.
 */
void dma_measure_raw(const struct probe_options *options, struct probe_session *session,
		     const uint32_t *sizes, uint32_t n, double *by_inline, double *by_engine);
/* compare.c: runs --compare. Returns the exit status. */
int dma_run_compare(const struct probe_options *options);

#endif
