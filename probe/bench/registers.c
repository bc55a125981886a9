/* SPDX-License-Identifier: MIT */
/*
 * M16: limits of registers. Kernels that keep more and more words alive are assembled, and what
 * their code names (the highest R and UR) is held against the count in their header; that count is
 * changed then, and the driver asked what it makes of it: nothing is launched. About 0.2 s.
 */
#include "probe/bench/timed.h"
#include "sass/sass.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 16, MOST = 224, STEP = 16, NUM_REGS = 4 /* CU_FUNC_ATTRIBUTE_NUM_REGS */ };
static const uint32_t asked[] = {24, 40, 64, 128, 254, 255, 256, 257, 320};
enum { ASKED = sizeof(asked) / sizeof(*asked) };

/* N words are there at once; the arguments are the warp's, so uniform registers hold them. */
static void body(struct bench_text *t, unsigned n)
{
	bench_say(t, ".reg .b32 r<%u>; .reg .u64 s;\n", n);
	code_loads(t, "r", n, 0);
	bench_say(t, "mov.u64 s, %%b_arg0;\n");
	for (unsigned k = 1; k < 8; k++)
		bench_say(t, "xor.b64 s, s, %%b_arg%u; add.u64 s, s, %%b_arg%u;\n", k, k - 1);
	code_stores(t, "r", n, 4 * MOST);
	bench_say(t, "st.volatile.global.u64 [%%b_data+%d], s;\n", 8 * MOST);
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

static unsigned vectors(const struct nvs_cubin_function *f, enum nvs_sass_form form)
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

static void keep(struct bench_run *run, const char *series, double x, double value)
{
	bench_value(bench_point(bench_series(bench_samples(run), series, "words alive", NULL,
					     "registers"),
				x, NAN),
		    value);
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
	keep(run, "R named", n, vectors(&f, form));
	keep(run, "UR named", n, tally.uniform_registers);
	if (f.registers != UINT32_MAX)
		keep(run, "counted", n, f.registers);
	nvs_cubin_functions_free(&functions, &nvs_sass_heap);
}

/* In .nv.info, and the low byte in the section's header where one stands there. */
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

/* What the driver says that a function has whose count is COUNT; 0: it does not take it. */
static double told(struct bench_run *run, const void *data)
{
	int (*load)(void **, const void *) =
		(int (*)(void **, const void *))bench_driver(run, "cuModuleLoadData");
	int (*get)(void **, void *, const char *) =
		(int (*)(void **, void *, const char *))bench_driver(run, "cuModuleGetFunction");
	int (*attribute)(int *, int, void *) =
		(int (*)(int *, int, void *))bench_driver(run, "cuFuncGetAttribute");
	int (*unload)(void *) = (int (*)(void *))bench_driver(run, "cuModuleUnload");
	void *module, *function;
	int value = 0;

	if (!load || !get || !attribute || !unload)
		return NAN;
	if (load(&module, data))
		return 0;
	if (get(&function, module, "bench") || attribute(&value, NUM_REGS, function))
		value = 0;
	unload(module);
	return value;
}

static void ask(struct bench_run *run, const void *data, size_t size)
{
	uint8_t *copy = malloc(size);

	for (unsigned i = 0; copy && i < ASKED; i++) {
		double value;

		memcpy(copy, data, size);
		if (!set_count(copy, size, asked[i])) {
			bench_missing(bench_samples(run), "the count in a cubin was not found");
			break;
		}
		value = told(run, copy);
		if (!isnan(value))
			bench_value(bench_point(bench_series(bench_samples(run), "driver",
							     "counted", NULL, "registers"),
						asked[i], NAN),
				    value);
	}
	free(copy);
}

static void measure(struct bench_run *run)
{
	for (unsigned n = LEAST; n <= MOST; n += STEP) {
		struct bench_text text = {0};
		struct bench_kernel *kernel;
		const void *data;
		char name[32];
		size_t size;

		body(&text, n);
		snprintf(name, sizeof(name), "%u words", n);
		kernel = bench_kernel(
			run, &(struct bench_code){.name = name, .body = text.data, .threads = 32});
		bench_text_free(&text);
		if (!kernel)
			continue;
		data = bench_kernel_cubin(kernel, &size);
		read_counts(run, data, size, n);
		if (n == LEAST)
			ask(run, data, size);
		bench_kernel_free(run, kernel);
	}
}

/* Of the driver's answers: the highest count that it took, the lowest that it did not. */
static void limits(const struct bench_samples *samples, struct bench_figures *figures)
{
	const struct bench_series *driver = bench_find(samples, "driver");
	double most = NAN, refused = NAN;

	for (uint32_t i = 0; driver && i < driver->n; i++) {
		const struct bench_point *p = driver->point + i;

		if (p->n && bench_median(p) > 0)
			most = fmax(most, p->x);
		else if (p->n)
			refused = fmin(refused, p->x);
	}
	if (isnan(most)) /* none: then it was not the count */
		return;
	bench_figure(figures, "count that the driver takes", "highest asked", "registers", most,
		     most, most, NAN);
	if (refused > most)
		bench_note(figures, "The driver refuses a count of %.0f and more, and takes %.0f.",
			   refused, most);
	else if (isnan(refused))
		bench_note(figures, "The driver takes each count that it was asked for.");
}

static void derive(const struct bench_samples *samples, const struct bench_gpu *gpu,
		   struct bench_figures *figures)
{
	const struct bench_series *counted = bench_find(samples, "counted");
	uint32_t n = 0, with = 0, least = 0;
	double above = 0;

	(void)gpu;
	for (uint32_t i = 0; counted && i < counted->n; i++) {
		double x = counted->point[i].x;
		const struct bench_point *all = code_at(counted, x, NAN);
		const struct bench_point *r = code_at(bench_find(samples, "R named"), x, NAN);
		const struct bench_point *ur = code_at(bench_find(samples, "UR named"), x, NAN);
		char words[32];

		if (!all || !r)
			continue;
		snprintf(words, sizeof(words), "%.0f words alive", x);
		bench_figure_point(figures, "counted", words, counted, all);
		bench_detail(figures, true);
		bench_figure_point(figures, "R named", words, bench_find(samples, "R named"), r);
		bench_detail(figures, true);
		if (!ur)
			continue;
		bench_figure_point(figures, "UR named", words, bench_find(samples, "UR named"), ur);
		bench_detail(figures, true);
		n++;
		with += bench_median(all) >= bench_median(r) + bench_median(ur);
		least += bench_median(all) >= bench_median(r);
		above = fmax(above, bench_median(all) - bench_median(r));
	}
	if (n && with == n)
		bench_note(figures, "The count has room for the uniform registers too.");
	else if (n && least == n)
		bench_note(figures,
			   "The count leaves uniform registers out: it is %.0f above those of "
			   "threads at the most.",
			   above);
	limits(samples, figures);
}

BENCH(bench_registers) = {
	.name = "registers",
	.number = "M16",
	.what = "registers that code names, that its header counts, and that the driver takes",
	.measure = measure,
	.derive = derive,
};
