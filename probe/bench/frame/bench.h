/* SPDX-License-Identifier: MIT */
/*
 * Microbenchmarks of the GPU at hand: kernels of our own, written as PTX, assembled by the driver,
 * read back by our decoder before they run, and what their samples tell.
 *
 * A benchmark is one file that registers itself by BENCH(). It has two halves. measure() runs
 * kernels and keeps raw samples in points; derive() makes figures, sentences and pictures of points
 * and of nothing else, so that it can be asked again of samples that were saved (--load), without a
 * GPU, and tested on samples with known answers.
 *
 * measure() is also run where there is no GPU, to see all kernels assembled (bench_run.dry): then
 * nothing is launched and all that is read back is zero. It must end then too.
 */
#ifndef NVSNOOP_PROBE_BENCH_FRAME_BENCH_H
#define NVSNOOP_PROBE_BENCH_FRAME_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_REPEATS = 11 }; /* samples of a point, behind one launch that is not kept */

/* ---- gpu.c: the GPU that samples are of ---- */

/* Saved with the samples by these names; 0: not known. */
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
	F(driver_version) /* cuDriverGetVersion: 13000 */
struct bench_gpu {
	char name[96], uuid[48], driver[64];
	char date[16]; /* of the measurement: "2026-11-23" */
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
	double x, y; /* the parameters; y NAN where there is one alone */
	double value[BENCH_REPEATS];
	double mhz[BENCH_REPEATS]; /* SM clock at each, by bench_sample() */
	uint32_t n; /* of value */
	double sm_mhz; /* of that kernel, median; NAN not known */
};
struct bench_series {
	char *name; /* "random", "near", "FFMA": what tells it from the benchmark's others */
	char *x, *y, *unit; /* what the parameters and the values are: "bytes", "cycles", "GB/s" */
	struct bench_point *point;
	uint32_t n, room;
};
struct bench_samples { /* of one benchmark */
	const char *bench;
	struct bench_series *series;
	uint32_t n, room;
	char **missing; /* what was not measured, and why: a sentence each */
	uint32_t nmissing;
};

/* Found by its name, or made. Pointers to series and points hold until the next one is made. */
struct bench_series *bench_series(struct bench_samples *samples, const char *name, const char *x,
				  const char *y, const char *unit);
const struct bench_series *bench_find(const struct bench_samples *samples,
				      const char *name); /* or NULL */
struct bench_point *bench_point(struct bench_series *series, double x, double y);
void bench_value(struct bench_point *point, double value); /* the twelfth is a bug of ours */
/* The same, with the SM clock of the last launch. */
struct bench_run;
void bench_sample(const struct bench_run *run, struct bench_point *point, double value);
void bench_missing(struct bench_samples *samples, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
double bench_median(const struct bench_point *point); /* NAN of none */
double bench_least(const struct bench_point *point);
double bench_most(const struct bench_point *point);
/* The SM clock of a figure that several points make: the median of theirs. NAN: of none. */
double bench_clock(const struct bench_series *series);

/* ---- run.c: kernels ---- */

struct bench_run; /* a context, its buffers; what measure() is given */

/* What is asked of the code between the first and the last read of a clock, of the form of Volta
 * and newer. Opcodes have 9 bits, as nvs_sass_insn_op() gives them. */
struct bench_expect {
	uint16_t op; /* the instruction under test */
	uint32_t least, most; /* how often it stands there */
};

struct bench_code {
	const char *name; /* of files and messages: "ffma-chain-256" */
	const char *declared; /* PTX at module scope: .const, .shared, functions; NULL: none */
	/*
	 * The body. The frame around it has declared and set: %tid %ntid %ctaid %nctaid %lane %warp
	 * %smid (.u32, %r-like registers with these names have a leading "%b_": %b_tid, %b_lane
	 * ...), %b_data (.u64: bench_data()), %b_arg0 to %b_arg7 (.u64: bench_launch.arg). The body
	 * stands in braces: it declares its other registers, and falls out at its end, where all
	 * threads meet: "ret" would leave the clock unknown. Behind it the first thread of the
	 * first block waits until 100 us have passed since its begin, so that the kernel's own SM
	 * clock can be told. The frame reads
	 * %clock64 first and last; where the body reads no clock itself, what is expected of it
	 * is counted from its begin to that barrier.
	 */
	const char *body;
	uint32_t threads; /* a block, .maxntid; 0: 1,024 */
	uint32_t minregs; /* registers a thread has at the least, for a patch that names more */
	struct bench_expect expect[4]; /* op 0: no more */
	bool local; /* local memory is meant; else a spill refuses the kernel */
	/* No frame but %b_data and %b_arg0 to %b_arg7: the body may be empty, and bench_mhz() and
	 * bench_seconds() know nothing of it. For bench_function(). */
	bool bare;
	/* Changes the code before it is loaded; words of 16 bytes, N of them, control bits as
	 * sass/sass.h has them. 0, or -1: it is not as awaited, and the kernel is refused. */
	int (*patch)(uint64_t (*word)[2], uint32_t n, void *arg);
	void *arg;
};

/* Assembled, read back and loaded; NULL: could not be, or is not as awaited: the reason is in
 * samples->missing, with the code's name, and the benchmark goes on without. */
struct bench_kernel;
struct bench_kernel *bench_kernel(struct bench_run *run, const struct bench_code *code);
/* Its code as the driver's assembler made it, unpatched: N words. */
const uint64_t (*bench_kernel_words(const struct bench_kernel *kernel, uint32_t *n))[2];
/* What was loaded: SIZE bytes, patched. */
const void *bench_kernel_cubin(const struct bench_kernel *kernel, size_t *size);
void bench_kernel_free(struct bench_run *run, struct bench_kernel *kernel);
/* For launches that bench_launch() cannot do, as many behind each other: the CUfunction, whose
 * parameters are bench_data() and arg[0] to arg[7], nine of 64 bits; NULL in a dry run. */
void *bench_function(const struct bench_kernel *kernel);
uint64_t bench_data(const struct bench_run *run);

struct bench_launch {
	uint32_t grid, block; /* blocks, threads; 0: 1 */
	uint32_t cluster; /* blocks; 0: none */
	uint32_t shared; /* dynamic, bytes */
	int carveout; /* percent for shared memory,
			 CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT; -1 or 0: the driver's
			 choice, 1 to 100 */
	bool no_shared; /* carve-out 0 */
	/* Launched twice at once, the second by programmatic dependent launch; arg[7] is 0 in the
	 * first and 1 in the second. Its clock and its seconds are of both together. */
	bool overlap;
	bool keep; /* the results area is not cleared before */
	uint64_t arg[8];
};

/* Launches, waits, brings the first SIZE bytes of the results area (bench_data) to the host: they
 * are there until the next launch. NULL: it failed (told in missing); a dry run gives zeros. */
const void *bench_launch(struct bench_run *run, struct bench_kernel *kernel,
			 const struct bench_launch *launch, size_t size);
#define BENCH_DATA (32u << 20) /* bytes of the results area */
double
bench_mhz(const struct bench_run *run); /* of the last launch: its clocks over its time; NAN */
double bench_seconds(const struct bench_run *run); /* of the last launch's grid, by %globaltimer,
						      less the frame's wait; NAN */

/* Device memory, zeroed; 0: there is not so much. Given back when the benchmark ends. */
uint64_t bench_memory(struct bench_run *run, size_t size);
void bench_memory_free(struct bench_run *run, uint64_t address);
bool bench_write(struct bench_run *run, uint64_t to, const void *from, size_t size);
bool bench_read(struct bench_run *run, void *to, uint64_t from, size_t size);
const struct bench_gpu *bench_gpu(const struct bench_run *run);
struct bench_samples *bench_samples(struct bench_run *run);
bool bench_dry(const struct bench_run *run);
/* Random numbers that are the same in each run: xorshift, seeded by the benchmark's name. */
uint64_t bench_random(struct bench_run *run);
/* The driver API itself for what is not here, by name; NULL: not there, or a dry run. */
void *bench_driver(struct bench_run *run, const char *name);

/* Text that grows: PTX is written with it. Ends the program where there is no memory. */
struct bench_text {
	char *data; /* ends with 0 */
	size_t size, room;
};
void bench_say(struct bench_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void bench_text_free(struct bench_text *text);

/* ---- figures.c: what a benchmark found ---- */

struct bench_figures; /* of all benchmarks that ran */
/* A figure under its name ("L1 hit", "FFMA"): from a point, in the series' unit; kept for the
 * table, CSV, JSON, the card and --check. PARAMETER: "32 threads", "" none. */
void bench_figure_point(struct bench_figures *figures, const char *name, const char *parameter,
			const struct bench_series *series, const struct bench_point *point);
/* IS: the last figure told is for who asks for its benchmark by name, and for CSV and JSON; a table
 * of all benchmarks and a card are without it. */
void bench_detail(struct bench_figures *figures, bool is);
/* One that was computed of several: value, least and most that it may be; NAN not known. */
void bench_figure(struct bench_figures *figures, const char *name, const char *parameter,
		  const char *unit, double value, double least, double most, double sm_mhz);
void bench_note(struct bench_figures *figures, const char *format, ...)
	__attribute__((format(printf, 2, 3))); /* a sentence below the table */
/* A curve of SERIES for --svg, median by x; series with one NAME of picture share it. */
void bench_picture(struct bench_figures *figures, const char *picture, const char *title,
		   const struct bench_series *series, bool log_x, bool log_y);
/* A published figure of the study of 2019, shown beside, never mixed: GPU "T4", "V100", "P100",
 * "P4", "M60", "K80"; or of another source, whose name stands in GPU: "H100, arXiv 2402.13499". */
void bench_published(struct bench_figures *figures, const char *name, const char *parameter,
		     const char *gpu, double value);

/* ---- knees.c: plateaus of a curve, all by medians ---- */

struct bench_plateau {
	double from, to; /* x of its first and last point */
	double value; /* median */
	uint32_t first, last; /* points */
};
/* Splits a curve into at most MOST plateaus whose values differ by more than SHARE (0.15) of the
 * lower one and that have at least LEAST points; points between, which climb, are in none. How
 * many. */
uint32_t bench_plateaus(const struct bench_series *series, double share, uint32_t least,
			struct bench_plateau *plateau, uint32_t most);
/* Slope and intercept of the medians by x, by least squares; NAN of fewer than two. */
void bench_line(const struct bench_series *series, double *slope, double *intercept);
/* Two heaps in N values, as near and far are: the border, or NAN where there is one heap alone. */
double bench_two_heaps(const double *value, uint32_t n, double *low, double *high);

/* ---- registry ---- */

struct bench {
	const char *name; /* "l1-latency" */
	const char *number; /* of the study's experiments: "M5", "" none */
	const char *what; /* one line of the help */
	unsigned arch; /* the least: 90; 0 any from 75 on */
	bool slow; /* not among those that run when none is named: M26 to M28 */
	/* What stays within a process and differs from one to the next is measured in so many: a
	 * sample is the median of one of them, or the mean of several's where there are more than
	 * BENCH_REPEATS. 0: in one, as it is. */
	unsigned processes;
	void (*measure)(struct bench_run *run);
	void (*derive)(const struct bench_samples *samples, const struct bench_gpu *gpu,
		       struct bench_figures *figures);
};
#define BENCH(variable) const struct bench variable
/* Told in this order; probe/bench/frame/registry.c lists them. */

#endif
