/* SPDX-License-Identifier: MIT */
/*
 * M16: register limits. Assembles kernels that keep more and more words live, and compares the
 * registers that their code uses (R and UR, up to the highest) with the count in their header. Then
 * changes that count and launches the kernel, from few registers to more than allowed. Takes about
 * 0.3 s.
 */
#include "probe/bench/frame/timed_code.h"
#include "probe/probe.h"
#include "sass/sass.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_LIVE = 16, MAX_LIVE = 224, STEP = 16 };
static const uint32_t counts[] = {40, 64, 128, 254, 255, 256, 257, 320};
enum { COUNTS = sizeof(counts) / sizeof(*counts) };

/* Generates code that keeps N words live. The arguments are uniform for the warp, so uniform
 * registers hold them. */
static void write_body(struct bench_text *t, unsigned n)
{
	bench_emit(t, ".reg .b32 r<%u>; .reg .u64 s;\n", n);
	code_write_loads(t, "r", n, 0);
	bench_emit(t, "mov.u64 s, %%b_arg0;\n");
	for (unsigned k = 1; k < 8; k++)
		bench_emit(t, "xor.b64 s, s, %%b_arg%u; add.u64 s, s, %%b_arg%u;\n", k, k - 1);
	code_write_stores(t, "r", n, 4 * MAX_LIVE);
	bench_emit(t, "st.volatile.global.u64 [%%b_data+%d], s;\n", 8 * MAX_LIVE);
}

static bool function_of(const struct nvs_cubin *cubin, struct nvs_cubin_functions *functions,
			struct nvs_cubin_function *f)
{
	bool found = false;

	if (nvs_cubin_functions(cubin, &nvs_sass_heap, functions))
		return false;
	for (uint32_t i = 0; i < functions->n && !found; i++) {
		*f = functions->function[i];
		found = f->kernel && f->code;
	}
	if (!found)
		nvs_cubin_functions_free(functions, &nvs_sass_heap);
	return found;
}

static unsigned count_vector_registers(const struct nvs_cubin_function *f, enum nvs_sass_form form)
{
	struct nvs_sass_insn_use use;
	struct nvs_sass_insn insn;
	uint64_t used[4] = {0};

	for (size_t i = 0; nvs_sass_insn(form, f->code, f->size, i, &insn); i++) {
		nvs_sass_insn_use(&insn, form, &use);
		for (unsigned k = 0; use.known && k < 4; k++)
			used[k] |= use.read.vector[k] | use.written.vector[k];
	}
	for (unsigned k = 4; k-- > 0;)
		if (used[k])
			return 64 * k + 64 - (unsigned)__builtin_clzll(used[k]);
	return 0;
}

static void add_value(struct bench_run *run, const char *series, double x, double value)
{
	bench_add_value(bench_add_point(run, series, "words alive", "registers", x), value);
}

static void read_counts(struct bench_run *run, const void *data, size_t size, unsigned n)
{
	struct nvs_cubin_functions functions;
	struct nvs_cubin_function f;
	struct nvs_sass_tally tally;
	enum nvs_sass_form form;
	struct nvs_cubin cubin;

	if (nvs_cubin_open(&cubin, data, size) || !function_of(&cubin, &functions, &f))
		return;
	form = nvs_sass_form(cubin.arch);
	nvs_sass_tally(f.code, f.size, form, &tally);
	add_value(run, "R named", n, count_vector_registers(&f, form));
	add_value(run, "UR named", n, tally.uniform_registers);
	if (f.registers != UINT32_MAX)
		add_value(run, "counted", n, f.registers);
	nvs_cubin_functions_free(&functions, &nvs_sass_heap);
}

/* Sets the count in .nv.info, and the byte in the section's header if it is there. */
static bool set_count(uint8_t *data, size_t size, uint32_t count)
{
	struct nvs_cubin_section info, text;
	struct nvs_cubin_functions functions;
	struct nvs_cubin_function f;
	struct nvs_cubin cubin;
	uint32_t word;
	bool can;

	if (nvs_cubin_open(&cubin, data, size) || !function_of(&cubin, &functions, &f))
		return false;
	can = nvs_cubin_section_named(&cubin, ".nv.info", &info) && info.data && info.size >= 8 &&
	      f.registers_at <= info.size - 8 && nvs_cubin_section(&cubin, f.section, &text);
	if (can) {
		memcpy(data + (info.data - data) + f.registers_at + 4, &count, 4);
		word = (text.info & 0xffffff) | count << 24;
		if (text.info >> 24)
			memcpy(data + cubin.section_headers + (size_t)text.index * 64 + 0x2c, &word,
			       4);
	}
	nvs_cubin_functions_free(&functions, &nvs_sass_heap);
	return can;
}

/* Launches one warp. Returns 1 if it ran, 0 if it was not loaded or launched, -1 if it failed and
 * CUDA with it, NAN in a dry run. */
static double try_launch(struct bench_run *run, const void *data)
{
	uint64_t argument[9] = {bench_results_address(run)};
	void *module, *function, *parameter[9];
	double value = 0;

	if (bench_is_dry(run) || !cu.cuCtxSynchronize)
		return NAN;
	for (int i = 0; i < 9; i++)
		parameter[i] = argument + i;
	if (cu.cuModuleLoadData(&module, data))
		return 0;
	if (!cu.cuModuleGetFunction(&function, module, "bench") &&
	    !cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, parameter, NULL))
		value = cu.cuCtxSynchronize() ? -1 : 1;
	if (value >= 0)
		cu.cuModuleUnload(module);
	return value;
}

/* Runs last: after a failure the process cannot continue. */
static void measure_counts(struct bench_run *run)
{
	struct bench_text text = {0};
	struct bench_kernel *kernel;
	const void *data;
	uint8_t *copy;
	size_t size;

	write_body(&text, MIN_LIVE);
	kernel = BENCH_KERNEL(run, &text, .name = "counts", .threads = 32, .bare = true);
	if (!kernel)
		return;
	data = bench_kernel_cubin(kernel, &size);
	copy = probe_allocate(1, size);
	for (unsigned i = 0; i < COUNTS; i++) {
		double value;

		memcpy(copy, data, size);
		if (!set_count(copy, size, counts[i])) {
			bench_add_missing(bench_samples(run), "the count in a cubin was not found");
			break;
		}
		value = try_launch(run, copy);
		if (!isnan(value))
			bench_add_value(
				bench_add_point(run, "ran", "counted", "launches", counts[i]),
				value);
		if (value < 0)
			break;
	}
	free(copy);
}

static void measure_samples(struct bench_run *run)
{
	for (unsigned n = MIN_LIVE; n <= MAX_LIVE; n += STEP) {
		struct bench_text text = {0};
		struct bench_kernel *kernel;
		const void *data;
		size_t size;

		write_body(&text, n);
		kernel = BENCH_KERNEL(run, &text, .name = bench_format("%u words", n),
				      .threads = 32);
		if (!kernel)
			continue;
		data = bench_kernel_cubin(kernel, &size);
		read_counts(run, data, size, n);
	}
	measure_counts(run);
}

/* Derives the highest count with which a kernel ran, and how the next one failed. */
static void derive_limits(const struct bench_samples *samples, struct bench_figures *figures)
{
	const struct bench_series *all = bench_find_series(samples, "ran");
	double max = NAN, next = NAN;
	bool failed = false;

	BENCH_EACH(p, all) {
		if (bench_median(p) > 0)
			max = fmax(max, p->x);
		else if (isnan(next)) {
			next = p->x;
			failed = bench_median(p) < 0;
		}
	}
	if (isnan(max)) /* none ran: the count is not the reason */
		return;
	bench_figure(figures, "count with which a kernel runs", "most", "registers", max, max, max,
		     NAN);
	if (!isnan(next))
		bench_add_note(figures, "With a count of %.0f a kernel %s.", next,
			       failed ? "fails" : "is rejected");
	else
		bench_add_note(figures, "Neither the driver nor the GPU rejects a count of %.0f.",
			       max);
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	static const char *const name[] = {"counted", "R named", "UR named"};
	const struct bench_series *counted = bench_find_series(samples, "counted");
	double above_min = INFINITY, above_max = -INFINITY;
	const struct bench_point *p[3] = {NULL};

	for (uint32_t i = 0; counted && i < counted->n; i++) {
		double x = counted->point[i].x, above;

		for (unsigned k = 0; k < 3; k++)
			p[k] = code_find_point(bench_find_series(samples, name[k]), x, NAN);
		if (!p[0] || !p[1])
			continue;
		/* The others are equivalent. */
		for (unsigned k = 0; k < 3 && x == MAX_LIVE; k++)
			if (p[k])
				bench_add_point_figure(figures, name[k],
						       bench_format("%.0f words alive", x),
						       bench_find_series(samples, name[k]), p[k]);
		above = bench_median(p[0]) - bench_median(p[1]);
		above_min = fmin(above_min, above);
		above_max = fmax(above_max, above);
	}
	if (isfinite(above_min)) {
		bench_figure(figures, "counted above those named", "", "registers", above_min,
			     above_min, above_max, NAN);
		bench_add_note(figures,
			       above_min == above_max && p[2]
				       ? "The count includes only R, with %.0f that no thread "
					 "may use; UR are not included."
				       : "The count is at least %.0f above the R that are used.",
			       above_min);
	}
	derive_limits(samples, figures);
}

BENCH(bench_registers, "registers", "M16",
      "registers that code names, that its header counts, and that run", measure_samples,
      derive_figures);
