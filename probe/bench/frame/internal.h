/* SPDX-License-Identifier: MIT */
/* What the parts of `nvsnoop-probe bench` show each other, and its tests; benchmarks need bench.h.
 */
#ifndef NVSNOOP_PROBE_BENCH_FRAME_INTERNAL_H
#define NVSNOOP_PROBE_BENCH_FRAME_INTERNAL_H

#include <stdio.h>
#include "probe/bench/frame/bench.h"
#include "probe/probe.h"
#include "probe/lib/table.h"

/* ---- registry.c ---- */

extern const struct bench *const bench_list[]; /* ends with NULL */
const struct bench *bench_named(const char *name); /* or NULL */

/* ---- samples.c, save.c ---- */

/* Its sm_mhz of its mhz. */
void bench_point_clock(struct bench_point *point);
void bench_samples_free(struct bench_samples *samples);
/* The medians of the points of process number I become samples of INTO's, or part of their means,
 * and what is missing there is missing. */
void bench_samples_merge(struct bench_samples *into, const struct bench_samples *from, unsigned i);

struct bench_saved { /* of one GPU */
	struct bench_gpu gpu;
	struct bench_samples *of; /* in the order of the file */
	uint32_t n, room;
};
struct bench_samples *bench_saved_add(struct bench_saved *saved, const struct bench *bench);
void bench_saved_free(struct bench_saved *saved);
/* The next line of what ends at END, to be freed; *WRONG, where it has no end or holds a zero. */
char *bench_next_line(const char **text, const char *end, const char **wrong);
void bench_save(FILE *f, const struct bench_saved *saved);
/* SIZE bytes at TEXT, which may be anything. False: what is wrong stands in WHY, with the line. */
bool bench_load(struct bench_saved *saved, const char *text, size_t size, char why[160]);

/* ---- figures.c ---- */

struct bench_figure {
	const char *bench; /* bench.name */
	char *name, *parameter, *unit;
	double value, least, most, sm_mhz;
	bool detail;
};
struct bench_published_figure {
	const char *bench;
	char *name, *parameter, *gpu;
	double value;
};
struct bench_said {
	const char *bench;
	char *text;
};
struct bench_drawn {
	const char *bench;
	char *picture, *title;
	const struct bench_series *series;
	bool log_x, log_y;
};
struct bench_figures {
	struct bench_gpu gpu;
	const struct bench *bench; /* whose derive() runs */
	struct bench_figure *figure;
	struct bench_published_figure *published;
	struct bench_said *note, *missing;
	struct bench_drawn *drawn;
	uint32_t nfigure, npublished, nnote, nmissing, ndrawn;
};
/* Asks derive(); SAMPLES must outlive the figures, as pictures point into them. */
void bench_derive(struct bench_figures *figures, const struct bench *bench,
		  const struct bench_samples *samples);
void bench_figures_free(struct bench_figures *figures);
/* By name, and by parameter where it is not NULL; or NULL. */
const struct bench_figure *bench_figure_find(const struct bench_figures *figures, const char *name,
					     const char *parameter);

/* ---- print.c, picture.c ---- */

/* Which benchmarks there are figures of stands in SAVED. Text is without details unless DETAILS. */
void bench_print(const struct bench_figures *figures, const struct bench_saved *saved,
		 enum probe_format format, bool details);
void bench_pictures(const struct bench_figures *figures, const char *folder);
/* A kernel is below boost from this share of it on down. */
#define BENCH_BELOW_BOOST 0.98
static inline bool bench_below_boost(const struct bench_gpu *gpu, double mhz)
{
	return gpu->boost_khz && mhz < (double)gpu->boost_khz / 1000 * BENCH_BELOW_BOOST;
}

/* ---- card.c ---- */

void bench_card(FILE *f, const struct bench_figures *figures, const struct bench_saved *saved);
/* Holds figures against the card of SIZE bytes at TEXT, and says to OUT what left its interval. 0:
 * nothing did, 1, or 2: it is no card, with the reason in WHY. */
int bench_check(FILE *out, const struct bench_figures *figures, const struct bench_saved *saved,
		const char *text, size_t size, char why[160]);

/* ---- code.c: PTX to a cubin that was read back ---- */

/* PTX of the whole module, with the frame around the body. */
void bench_ptx(struct bench_text *text, const struct bench_code *code, const struct bench_gpu *gpu);

struct bench_cubin {
	uint8_t *data; /* patched */
	size_t size;
	uint64_t (*word)[2]; /* unpatched */
	uint32_t nwords;
};
/* Takes CUBIN, SIZE bytes, apart. False: it is not as awaited: WHY has the reason. */
bool bench_read_back(struct bench_cubin *cubin, const struct bench_code *code, const void *data,
		     size_t size, char why[200]);
void bench_cubin_free(struct bench_cubin *cubin);

/* ---- run.c, launch.c ---- */

#define BENCH_CONTROL 64 /* bytes of the frame's stamps */
struct bench_run {
	struct probe_session session;
	struct bench_gpu gpu;
	struct bench_samples *samples;
	bool dry;
	/* 0, and a cubin by malloc(); else LOG says what is wrong. The driver's, or a test's. */
	int (*assemble)(struct bench_run *run, const char *ptx, void **cubin, size_t *size,
			char log[1024]);
	uint32_t kernels, failures; /* assembled and as awaited; refused, or failed when run */
	bool broken; /* the context: until the benchmark ends */
	bool stuck; /* a kernel does not end: nothing more can be done */
	uint64_t random;
	probe_address control, data; /* device: the frame's stamps, the results area */
	uint8_t *results; /* host, BENCH_DATA */
	probe_address *memory; /* to be given back */
	uint32_t nmemory;
	struct bench_kernel *spin;
	uint64_t last; /* probe_now() behind the last launch */
	double mhz, seconds;
};

/* Makes and runs the spin kernel; ends the program where there is no assembler. A dry run has its
 * GPU's facts and how to assemble set, and begins here. */
void bench_begin(struct bench_run *run);
/* One benchmark: its samples into SAMPLES, whatever happens. */
void bench_measure(struct bench_run *run, const struct bench *bench, struct bench_samples *samples);
void bench_close(struct bench_run *run);
void bench_spin(struct bench_run *run);

/* ---- gpu.c ---- */

/* Opens the GPU and begins; ends the program where there is none. */
void bench_open(struct bench_run *run, int device);
void bench_gpu_read(struct bench_gpu *gpu, const struct probe_session *session);

#endif
