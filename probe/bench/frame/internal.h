/* SPDX-License-Identifier: MIT */
/* Internal interface between the parts of `nvsnoop-probe bench` and its tests. Benchmarks only need
 * bench.h. */
#ifndef NVSNOOP_PROBE_BENCH_FRAME_INTERNAL_H
#define NVSNOOP_PROBE_BENCH_FRAME_INTERNAL_H

#include <stdio.h>
#include "probe/bench/frame/bench.h"
#include "probe/lib/nvml.h"
#include "probe/probe.h"
#include "probe/lib/table.h"

/* ---- registry.c ---- */

extern const struct bench *const bench_list[]; /* terminated by NULL */
const struct bench *bench_find_benchmark(const char *name); /* or NULL */

/* ---- samples.c, save.c ---- */

/* Sets sm_mhz to the median of mhz. */
void bench_point_clock(struct bench_point *point);
void bench_samples_free(struct bench_samples *samples);
/* Adds process number I's samples: the median of each point becomes a sample in INTO, or part of
 * the mean of one. Adds its missing sentences too. */
void bench_samples_merge(struct bench_samples *into, const struct bench_samples *from, unsigned i);

struct bench_sample_set { /* samples of one GPU */
	struct bench_gpu gpu;
	struct bench_samples *of; /* in file order */
	uint32_t n;
};
struct bench_samples *bench_sample_set_add(struct bench_sample_set *saved,
					   const struct bench *bench);
void bench_sample_set_free(struct bench_sample_set *saved);
/* Returns the next line before END; the caller frees it. Sets *WRONG if the line is not terminated
 * or contains a 0 byte. */
char *bench_next_line(const char **text, const char *end, const char **wrong);
void bench_save_samples(FILE *f, const struct bench_sample_set *saved);
/* Parses SIZE untrusted bytes at TEXT. Returns false with the reason and line number in WHY. */
bool bench_load_samples(struct bench_sample_set *saved, const char *text, size_t size,
			char why[160]);

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
struct bench_sentence {
	const char *bench;
	char *text;
};
struct bench_plot {
	const char *bench;
	char *picture, *title;
	const struct bench_series *series;
	bool log_x, log_y;
};
struct bench_figures {
	struct bench_gpu gpu;
	const struct bench *bench; /* the benchmark whose derive() runs */
	struct bench_figure *figure;
	struct bench_published_figure *published;
	struct bench_sentence *note, *missing;
	struct bench_plot *drawn;
	uint32_t nfigure, npublished, nnote, nmissing, ndrawn;
};
/* Calls derive(). SAMPLES must outlive the figures, because plots point to them. */
void bench_derive_figures(struct bench_figures *figures, const struct bench *bench,
			  const struct bench_samples *samples);
void bench_figures_free(struct bench_figures *figures);
/* Finds a figure by name, and by parameter if that is not NULL. Returns NULL if there is none. */
const struct bench_figure *bench_figure_find(const struct bench_figures *figures, const char *name,
					     const char *parameter);
/* The same of one benchmark. */
const struct bench_figure *bench_find_figure(const struct bench_figures *figures, const char *bench,
					     const char *name, const char *parameter);

/* ---- print.c, picture.c ---- */

/* Prints the figures of the benchmarks in SAVED. Text omits details unless DETAILS. */
void bench_print_figures(const struct bench_figures *figures, const struct bench_sample_set *saved,
			 enum probe_format format, bool details);
struct nvs_json;
/* Writes members that describe the GPU, the host and the versions. */
void bench_json_machine(struct nvs_json *json, const struct bench_gpu *gpu);
void bench_draw_plots(const struct bench_figures *figures, const char *folder);
/* A clock below this share of the boost clock counts as below boost. */
#define BENCH_BELOW_BOOST 0.98
static inline bool bench_below_boost(const struct bench_gpu *gpu, double mhz)
{
	return gpu->boost_khz && mhz < (double)gpu->boost_khz / 1000 * BENCH_BELOW_BOOST;
}

/* A clock above this share of it is marked: half of a step of Hopper's clock, 15 MHz, and more than
 * the resolution of a reading, 0.1 %. */
#define BENCH_ABOVE_BOOST 1.004
static inline bool bench_above_boost(const struct bench_gpu *gpu, double mhz)
{
	return gpu->boost_khz && mhz > (double)gpu->boost_khz / 1000 * BENCH_ABOVE_BOOST;
}
/* What limited the clock after any benchmark: "power; temperature", "none", or "" if unknown. */
const char *bench_clock_limits(const struct bench_gpu *gpu);

/* ---- ratio.c, accel_sim.c ---- */

/* Prints the figures that both have, with B / A. Exits if there is none. */
void bench_print_ratios(const struct bench_figures *a, const struct bench_figures *b,
			enum probe_format format, bool details);
/* Writes figures as parameters of the simulator Accel-Sim to FILE, at PATH, and closes it. */
void bench_write_accel_sim(const char *path, FILE *file, const struct bench_figures *figures);

/* ---- card.c ---- */

void bench_print_card(FILE *f, const struct bench_figures *figures,
		      const struct bench_sample_set *saved);
/* A row of earlier cards of one product: its interval is that of all of them. */
struct bench_card_row {
	char *bench, *name, *parameter, *unit;
	double low, high, mhz;
};
struct bench_cards {
	struct bench_card_row *row;
	uint32_t n;
	uint32_t same; /* number of cards of the product */
	uint32_t figures; /* in all cards */
	char other[96]; /* another product of which there is a card */
};
/* Adds the card of SIZE bytes at TEXT; of one of another product than PRODUCT only the name is
 * kept. Returns false with the reason in WHY if TEXT is not a card. */
bool bench_cards_add(struct bench_cards *cards, const char *product, const char *text, size_t size,
		     char why[160]);
void bench_cards_free(struct bench_cards *cards);
/* Compares figures with the cards, and reports to OUT those outside their interval. Returns 0 if
 * there are none, 1 if there are, and 2 if the cards have none of the figures. */
int bench_check_cards(FILE *out, const struct bench_figures *figures,
		      const struct bench_sample_set *saved, const struct bench_cards *cards);

/* ---- code.c: generating PTX, and checking the cubin ---- */

/* Generates the PTX of the module, with the frame around the body. */
void bench_write_ptx(struct bench_text *text, const struct bench_code *code,
		     const struct bench_gpu *gpu);

struct bench_cubin {
	uint8_t *data; /* patched */
	size_t size;
	uint64_t (*word)[2]; /* unpatched */
	uint32_t nwords;
};
/* Decodes and checks the cubin of SIZE bytes at DATA. Returns false with the reason in WHY if it is
 * not as expected. */
bool bench_check_cubin(struct bench_cubin *cubin, const struct bench_code *code, const void *data,
		       size_t size, char why[200]);
void bench_cubin_free(struct bench_cubin *cubin);

/* ---- run.c, launch.c ---- */

#define BENCH_CONTROL 64 /* size of the frame's time stamps */
struct bench_run {
	struct probe_session session;
	struct bench_gpu gpu;
	struct bench_samples *samples;
	bool dry;
	/* Assembles PTX. Returns 0 and a cubin from malloc(), or an error with LOG set. Uses the
	 * driver, or a test's stub. */
	int (*assemble)(struct bench_run *run, const char *ptx, void **cubin, size_t *size,
			char log[1024]);
	uint32_t kernels, failures; /* kernels accepted; kernels rejected, or failed at run time */
	bool broken; /* the context is unusable until the benchmark ends */
	bool stuck; /* a kernel does not terminate: the process cannot continue */
	probe_address control, data; /* device memory: the frame's time stamps, the results area */
	uint8_t *results; /* host copy, BENCH_DATA bytes */
	probe_address *memory; /* to be freed */
	uint32_t nmemory;
	struct bench_kernel *spin, *made; /* made: of this benchmark */
	uint64_t last; /* probe_now() after the last launch */
	double mhz, seconds;
};

/* Prepares a run with its gpu and assemble set: builds and runs the spin kernel. Exits if kernels
 * cannot be assembled. A dry run and tests begin here. */
void bench_run_begin(struct bench_run *run);
/* Runs one benchmark. SAMPLES gets its samples, or what is missing. */
void bench_run_measure(struct bench_run *run, const struct bench *bench,
		       struct bench_samples *samples);
void bench_run_close(struct bench_run *run);
void bench_run_spin(struct bench_run *run);

/* ---- gpu.c ---- */

/* Opens the GPU and calls bench_run_begin(). Exits if there is none. */
void bench_run_open(struct bench_run *run, int device);
void bench_gpu_read(struct bench_gpu *gpu, const struct probe_session *session);

/* ---- state.c ---- */

/* Reads power limit, ECC, and what limits the clock now, which is added to earlier readings. */
void bench_gpu_take_state(struct bench_gpu *gpu, const struct probe_nvml *nvml);

#endif
