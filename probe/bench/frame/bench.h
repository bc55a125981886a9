/* SPDX-License-Identifier: MIT */
/*
 * Interface of the GPU microbenchmarks. Kernels are written as PTX, assembled by the driver, and
 * decoded and checked before they run.
 *
 * A benchmark is one file that registers itself with BENCH(). measure() runs kernels and stores raw
 * samples in points. derive() computes figures, notes and plots from points only, so that it also
 * works on saved samples (--load) without a GPU, and in tests with known answers.
 *
 * measure() also runs in a dry run (bench_run.dry), to assemble all kernels: then nothing is
 * launched and every result reads as zero. It must terminate then too.
 */
#ifndef NVSNOOP_PROBE_BENCH_FRAME_BENCH_H
#define NVSNOOP_PROBE_BENCH_FRAME_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_REPEATS = 11 }; /* samples per point, after one discarded launch */

/* ---- gpu.c: the measured GPU ---- */

/* Saved with the samples under these names; 0 or "" if unknown. */
#define BENCH_GPU_FACTS(F)                                                \
	F(cc_major)                                                       \
	F(cc_minor)                                                       \
	F(sms)                                                            \
	F(boost_khz) /* SM clock, CU_DEVICE_ATTRIBUTE_CLOCK_RATE */       \
	F(memory_khz) /* CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE */         \
	F(bus_bits) /* CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH */     \
	F(l2_bytes) /* CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE */               \
	F(shared_sm_bytes) /* ..._MAX_SHARED_MEMORY_PER_MULTIPROCESSOR */ \
	F(shared_block_bytes) /* ..._MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */ \
	F(memory_bytes) /* cuDeviceTotalMem */                            \
	F(driver_version) /* cuDriverGetVersion: 13000 */                 \
	F(power_limit_mw) /* of NVML, as the following ones */            \
	F(ecc) /* 1: off, 2: on */                                        \
	F(ecc_errors) /* uncorrected, since the driver was loaded */      \
	F(limit_readings) /* one after each benchmark */                  \
	F(limits) /* of the clock: bits of probe_clock_limits, of any reading */
#define BENCH_GPU_TEXTS(F)                                    \
	F(name, 96)                                           \
	F(uuid, 48)                                           \
	F(driver, 64)                                         \
	F(date, 16) /* of the measurement: "2026-11-23" */    \
	F(nvsnoop, 16) /* version of nvsnoop that measured */ \
	F(cpu, 96) /* model of the host's processor, and its number */
struct bench_gpu {
#define BENCH_GPU_TEXT(f, size) char f[size];
	BENCH_GPU_TEXTS(BENCH_GPU_TEXT)
#undef BENCH_GPU_TEXT
#define BENCH_GPU_FIELD(f) uint64_t f;
	BENCH_GPU_FACTS(BENCH_GPU_FIELD)
#undef BENCH_GPU_FIELD
};
static inline unsigned bench_arch(const struct bench_gpu *gpu)
{
	return (unsigned)(gpu->cc_major * 10 + gpu->cc_minor); /* 90 */
}

/* ---- samples.c: points, kept and saved ---- */

struct bench_point {
	double x, y; /* parameters; y is NAN if there is only one */
	double value[BENCH_REPEATS];
	double mhz[BENCH_REPEATS]; /* SM clock at each sample, by bench_add_sample() */
	uint32_t n; /* used entries of value */
	double sm_mhz; /* median SM clock of the kernel; NAN if unknown */
};
struct bench_series {
	char *name; /* unique within the benchmark: "random", "near", "FFMA" */
	char *x, *y, *unit; /* names of the parameters and unit of the values: "bytes", "cycles",
			       "GB/s" */
	struct bench_point *point;
	uint32_t n;
};
struct bench_samples { /* the samples of one benchmark */
	const char *bench;
	struct bench_series *series;
	uint32_t n;
	char **missing; /* what was not measured and why, one sentence each */
	uint32_t nmissing;
};

/* Finds or adds a series. Pointers to series and points are valid until the next one is added. */
struct bench_series *bench_series(struct bench_samples *samples, const char *name, const char *x,
				  const char *y, const char *unit);
const struct bench_series *bench_find_series(const struct bench_samples *samples,
					     const char *name); /* or NULL */
struct bench_point *bench_point(struct bench_series *series, double x, double y);
/* Adds a point of one parameter, X = AT, to the series NAME. */
struct bench_run;
struct bench_point *bench_add_point(struct bench_run *run, const char *name, const char *x,
				    const char *unit, double at);
/* The points of a series that have values; SERIES may be NULL. */
#define BENCH_EACH(p, series)                                                 \
	for (const struct bench_point *p = (series) ? (series)->point : NULL; \
	     p && p < (series)->point + (series)->n; p++)                     \
		if (!p->n) {                                                  \
		} else
/* The first point and the one with the highest median; NULL if it has no value, or none has. */
const struct bench_point *bench_find_first(const struct bench_series *series);
const struct bench_point *bench_find_best(const struct bench_series *series);
void bench_add_value(struct bench_point *point,
		     double value); /* exits at the twelfth value of a point */
/* Adds a value together with the SM clock of the last launch. */
void bench_add_sample(const struct bench_run *run, struct bench_point *point, double value);
void bench_add_missing(struct bench_samples *samples, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
double bench_median(const struct bench_point *point); /* NAN if it has no values */
double bench_min(const struct bench_point *point);
double bench_max(const struct bench_point *point);
/* The SM clock of a figure derived from several points: the median of theirs; NAN if they have
 * none. */
double bench_series_clock(const struct bench_series *series);

/* ---- run.c: kernels ---- */

struct bench_run; /* the context and buffers passed to measure() */

/* An expectation about the code between the first and the last clock read, in the encoding of Volta
 * and newer. Opcodes have 9 bits, as nvs_sass_insn_op() returns them. */
struct bench_expect {
	uint16_t op; /* opcode of the instruction under test */
	uint32_t least, most; /* minimum and maximum number of occurrences */
};

struct bench_code {
	const char *name; /* for files and messages: "ffma-chain-256" */
	const char *declared; /* PTX at module scope: .const, .shared, functions; may be NULL */
	/*
	 * The body, without braces. The frame around it declares and sets %b_tid %b_ntid %b_ctaid
	 * %b_nctaid %b_lane %b_warp %b_smid (.u32), %b_data (.u64: bench_results_address()) and
	 * %b_arg0 to %b_arg7 (.u64: bench_launch.arg). The body declares its other registers. It
	 * must fall through at its end, where all threads meet at a barrier: after "ret" the clock
	 * would be unknown. After the barrier the first thread of the first block waits until 100
	 * us after its start, so that the kernel's SM clock can be computed. The frame reads
	 * %clock64 first and last; if the body reads no clock, EXPECT counts from its start to that
	 * barrier.
	 */
	const char *body;
	uint32_t threads; /* threads per block (.maxntid); 0: 1,024 */
	uint32_t minregs; /* minimum registers per thread, for a patch that uses more */
	struct bench_expect expect[4]; /* terminated by op 0 */
	bool local; /* local memory is intended; otherwise a spill rejects the kernel */
	/* The frame sets only %b_data and %b_arg0 to %b_arg7. The body may be empty;
	 * bench_launch_mhz() and bench_launch_seconds() return NAN. For bench_kernel_function(). */
	bool bare;
	/*
	 * Changes the code before it is loaded: N instructions of 16 bytes, with control bits as in
	 * sass/sass.h. Returns 0, or -1 if the code is not as expected; the kernel is rejected
	 * then.
	 */
	int (*patch)(uint64_t (*word)[2], uint32_t n, void *arg);
	void *arg;
};

/*
 * Assembles, checks and loads a kernel, which is unloaded when the benchmark ends. Returns NULL on
 * failure; the reason is added to samples->missing with the code's name, and the benchmark
 * continues without it.
 */
struct bench_kernel;
struct bench_kernel *bench_kernel(struct bench_run *run, const struct bench_code *code);
/* The same with TEXT as the body, which it frees, and the other initializers of struct bench_code.
 */
struct bench_text;
struct bench_kernel *bench_build_kernel(struct bench_run *run, struct bench_text *text,
					const struct bench_code *code);
#define BENCH_KERNEL(run, text, ...) \
	bench_build_kernel(run, text, &(struct bench_code){__VA_ARGS__})
/* Returns the kernel's N instructions as assembled by the driver, unpatched. */
const uint64_t (*bench_kernel_words(const struct bench_kernel *kernel, uint32_t *n))[2];
/* Returns the cubin that was loaded, SIZE bytes, patched. */
const void *bench_kernel_cubin(const struct bench_kernel *kernel, size_t *size);
/*
 * For launches that bench_launch() cannot do, such as many in a row: returns the CUfunction, or
 * NULL in a dry run. Its parameters are bench_results_address() and arg[0] to arg[7], nine 64-bit
 * values.
 */
void *bench_kernel_function(const struct bench_kernel *kernel);
uint64_t bench_results_address(const struct bench_run *run);

struct bench_launch {
	uint32_t grid, block; /* blocks per grid, threads per block; 0 means 1 */
	uint32_t cluster; /* blocks per cluster; 0: no clusters */
	uint32_t shared; /* dynamic shared memory in bytes */
	int carveout; /* percent for shared memory,
			 CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: 1 to 100; -1 or 0: the
			 driver's choice */
	bool no_shared; /* carveout of 0 */
	/* Launches twice, the second by programmatic dependent launch; arg[7] is 0 in the first and
	 * 1 in the second. Clock and seconds cover both. */
	bool overlap;
	bool keep; /* do not clear the results area */
	uint64_t arg[8];
};

/*
 * Launches, waits, and copies the first SIZE bytes of the results area (bench_results_address) to
 * the host. The result is valid until the next launch. Returns NULL on failure, which is added to
 * missing; a dry run returns zeros.
 */
const void *bench_launch(struct bench_run *run, struct bench_kernel *kernel,
			 const struct bench_launch *launch, size_t size);
#define BENCH_DATA (32u << 20) /* size of the results area */
double
bench_launch_mhz(const struct bench_run *run); /* SM clock of the last launch; NAN if unknown */
double bench_launch_seconds(
	const struct bench_run *run); /* duration of the last launch's grid by %globaltimer,
				  without the frame's wait; NAN if unknown */

/*
 * Launches once, then BENCH_REPEATS times for the values of POINT, with the SM clock of each. VALUE
 * computes a value from the first SIZE bytes of the results area and ARG, or returns NAN for none,
 * for example because it has stored those of several points itself. Returns false if KERNEL is NULL
 * or a launch failed.
 */
typedef double bench_compute(const struct bench_run *run, const void *results, void *arg);
bool bench_repeat(struct bench_run *run, struct bench_kernel *kernel,
		  const struct bench_launch *launch, size_t size, bench_compute *value, void *arg,
		  struct bench_point *point);

/* Allocates zeroed device memory, freed when the benchmark ends. Returns 0 if there is not enough.
 *  */
uint64_t bench_memory_alloc(struct bench_run *run, size_t size);
void bench_memory_free(struct bench_run *run, uint64_t address);
bool bench_memory_write(struct bench_run *run, uint64_t to, const void *from, size_t size);
bool bench_memory_read(struct bench_run *run, void *to, uint64_t from, size_t size);
const struct bench_gpu *bench_gpu(const struct bench_run *run);
struct bench_samples *bench_samples(struct bench_run *run);
bool bench_is_dry(const struct bench_run *run);

/* A growing string, used to generate PTX. Exits if there is no memory. */
struct bench_text {
	char *data; /* terminated by 0 */
	size_t size, room;
};
void bench_emit(struct bench_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void bench_text_free(struct bench_text *text);
/* Formats a text, which is kept until the process ends. */
const char *bench_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *bench_format_bytes(double bytes); /* "238 KiB" */

/* ---- figures.c: the results of a benchmark ---- */

struct bench_figures; /* of all benchmarks that ran */
/*
 * Adds a figure, named for example "L1 hit" or "FFMA", from a point, in the series' unit. It
 * appears in the table, CSV, JSON, the card and --check. PARAMETER is for example "32 threads", or
 * "".
 */
void bench_add_point_figure(struct bench_figures *figures, const char *name, const char *parameter,
			    const struct bench_series *series, const struct bench_point *point);
/* Marks the last figure as a detail: shown only if its benchmark was named, and in CSV and JSON,
 * but not in a table of all benchmarks or on a card. */
void bench_mark_detail(struct bench_figures *figures, bool is);
/* Adds a figure computed from several points: value, minimum and maximum; NAN if unknown. */
void bench_figure(struct bench_figures *figures, const char *name, const char *parameter,
		  const char *unit, double value, double least, double most, double sm_mhz);
void bench_add_note(struct bench_figures *figures, const char *format, ...)
	__attribute__((format(printf, 2, 3))); /* adds a sentence below the table */
/* Adds a curve of SERIES, medians by x, to the plot PICTURE for --svg. Series with the same PICTURE
 * share a plot. */
void bench_add_plot(struct bench_figures *figures, const char *picture, const char *title,
		    const struct bench_series *series, bool log_x, bool log_y);
/* Adds a published figure, shown in a separate column. GPU is "T4", "V100", "P100", "P4", "M60" or
 * "K80" for the study of 2019, or names another source: "H100, arXiv 2402.13499". */
void bench_add_published(struct bench_figures *figures, const char *name, const char *parameter,
			 const char *gpu, double value);

/* ---- knees.c: analysis of curves, using the medians of the points ---- */

struct bench_plateau {
	double from, to; /* x of the first and the last point */
	double value; /* median */
	uint32_t first, last; /* indices of the first and the last point */
};
/*
 * Splits a curve into at most MOST plateaus of at least LEAST points, whose values differ by more
 * than SHARE (0.15) of the lower one. Points on a slope between plateaus belong to none. Returns
 * their number.
 */
uint32_t bench_find_plateaus(const struct bench_series *series, double share, uint32_t least,
			     struct bench_plateau *plateau, uint32_t most);
/* Fits the medians by x with least squares; NAN if there are fewer than two points. */
void bench_fit_line(const struct bench_series *series, double *slope, double *intercept);
/* Splits N values into two clusters, such as near and far. Returns the border and sets LOW and HIGH
 * to the means, or returns NAN if there is only one cluster. */
double bench_split_clusters(const double *value, uint32_t n, double *low, double *high);

/* ---- registry ---- */

struct bench {
	const char *name; /* "l1-latency" */
	const char *number; /* number of the study's experiment: "M5"; may be "" */
	const char *what; /* one-line description */
	void (*measure)(struct bench_run *run);
	void (*derive)(const struct bench_samples *samples, const struct bench_gpu *gpu,
		       struct bench_figures *figures);
	unsigned arch; /* minimum architecture, such as 90; 0: any from 75 on */
	bool slow; /* runs only when named: M26 to M28 */
	/*
	 * For effects that are constant within a process but differ between processes: number of
	 * processes to measure in. A sample is the median of one process, or the mean of several if
	 * there are more than BENCH_REPEATS. 0: one process, samples as they are.
	 */
	unsigned processes;
};
/* The initializers of struct bench. registry.c lists the benchmarks in the order of the output. */
#define BENCH(variable, ...) const struct bench variable = {__VA_ARGS__}

#endif
