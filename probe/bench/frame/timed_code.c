/* SPDX-License-Identifier: MIT */
/* Shared by the instruction benchmarks: finding timed code, patching its instructions, storing
 * values. */
#include "probe/bench/frame/timed_code.h"
#include "probe/lib/table.h"
#include "sass/sass.h"
#include <math.h>
#include <string.h>

void code_decode_insn(const uint64_t word[2], struct nvs_sass_insn *insn)
{
	nvs_sass_insn(NVS_SASS_HOPPER, (const uint8_t *)word, 16, 0, insn);
}

/* A CS2R or S2R of SR_CLOCKLO. */
bool code_is_clock(const struct nvs_sass_insn *insn)
{
	uint16_t op = nvs_sass_insn_op(insn);

	return (op == 0x005 || op == 0x119) && nvs_sass_insn_bits(insn, 72, 8) == 0x50;
}

bool code_find_bracket(const uint64_t (*word)[2], uint32_t n, uint16_t op, uint16_t also,
		       uint32_t count, uint32_t *first, uint32_t *last)
{
	uint32_t begin = UINT32_MAX, seen = 0;
	struct nvs_sass_insn insn;

	for (uint32_t i = *first; i < n; i++) {
		code_decode_insn(word[i], &insn);
		if (code_is_clock(&insn)) {
			if (begin != UINT32_MAX && seen == count) {
				*first = begin;
				*last = i;
				return true;
			}
			begin = i;
			seen = 0;
		}
		seen += nvs_sass_insn_op(&insn) == op || nvs_sass_insn_op(&insn) == also;
	}
	return false;
}

void code_set_stall(uint64_t word[2], unsigned stall, bool yield)
{
	word[1] &= ~(0x1full << 41);
	word[1] |= (uint64_t)(stall & 15) << 41 | (uint64_t)yield << 45;
}

void code_set_reuse(uint64_t word[2], unsigned mask)
{
	word[1] &= ~(0xfull << 58);
	word[1] |= (uint64_t)(mask & 15) << 58;
}

void code_set_barriers(uint64_t word[2], unsigned write, unsigned read, unsigned wait)
{
	word[1] &= ~(0xfffull << 46);
	word[1] |= (uint64_t)(write & 7) << 46 | (uint64_t)(read & 7) << 49 |
		   (uint64_t)(wait & 0x3f) << 52;
}

const uint64_t *code_find_branch(const uint64_t (*word)[2], uint32_t n)
{
	struct nvs_sass_insn insn;

	for (uint32_t i = n; i-- > 0;) {
		code_decode_insn(word[i], &insn);
		if (nvs_sass_insn_op(&insn) == 0x147 && insn.predicate == 7 && !insn.negated)
			return word[i];
	}
	return NULL;
}

/* Sets N bits from AT on; AT + N <= 128. */
static void set_bits(uint64_t word[2], unsigned at, unsigned n, uint64_t value)
{
	for (unsigned k = 0; k < n; k++, at++) {
		word[at / 64] &= ~(1ull << at % 64);
		word[at / 64] |= (value >> k & 1) << at % 64;
	}
}

/* The field counts words of 4 bytes from the next instruction on; since Hopper its low 8 bits are
 * stored separately. */
void code_write_branch(uint64_t (*word)[2], const uint64_t branch[2], uint32_t from, uint32_t to,
		       bool hopper)
{
	uint64_t distance = (uint64_t)((int64_t)to - from - 1) * 4;
	uint64_t *at = word[from];

	memcpy(at, branch, sizeof(word[0]));
	if (hopper) {
		set_bits(at, 16, 8, distance);
		set_bits(at, 34, 48, distance >> 8);
	} else {
		set_bits(at, 34, 48, distance);
	}
	code_set_stall(at, 5, true);
	code_set_barriers(at, 7, 7, 0x3f);
}

double code_median(double *value, uint32_t n)
{
	return probe_median(value, n);
}

void code_write_loads(struct bench_text *text, const char *name, unsigned n, unsigned at)
{
	for (unsigned k = 0; k < n; k++)
		bench_emit(text, "ld.volatile.global.b32 %s%u, [%%b_data+%u];\n", name, k,
			   at + 4 * k);
}

void code_write_stores(struct bench_text *text, const char *name, unsigned n, unsigned at)
{
	for (unsigned k = 0; k < n; k++)
		bench_emit(text, "st.volatile.global.b32 [%%b_data+%u], %s%u;\n", at + 4 * k, name,
			   k);
}

const struct bench_point *code_find_point(const struct bench_series *series, double x, double y)
{
	for (uint32_t i = 0; series && i < series->n; i++) {
		const struct bench_point *point = series->point + i;

		if (point->x == x && (isnan(y) || point->y == y))
			return point->n && bench_median(point) > 0 ? point : NULL;
	}
	return NULL;
}

void code_write_segments(struct bench_text *text, uint32_t n, uint32_t count, unsigned at)
{
	bench_emit(text, ".reg .f32 f<10>; .reg .u64 c<3>; .reg .u32 i; .reg .pred p;\n");
	code_write_loads(text, "f", 10, 0);
	for (uint32_t k = 0; k <= n; k++) {
		/* If unrolled, the timed iteration would be code that has not run before. */
		bench_emit(text,
			   "mov.u32 i, 0;\nS%u:\n.pragma \"nounroll\";\nmov.u64 c0, %%clock64;\n",
			   k);
		for (uint32_t j = 0; k && j < count; j++)
			bench_emit(text, "fma.rn.f32 f%u, f%u, f8, f9;\n", j % 8, j % 8);
		bench_emit(text,
			   "mov.u64 c1, %%clock64; sub.u64 c2, c1, c0;\n"
			   "add.u32 i, i, 1; setp.lt.u32 p, i, 3;\n@p bra S%u;\n"
			   "st.volatile.global.u64 [%%b_data+%u], c2;\n",
			   k, at + 8 * k);
	}
	code_write_stores(text, "f", 8, 0);
}

struct segments {
	struct bench_point *point;
	uint32_t n, count;
	unsigned at;
};

/* Stores the cycles of an instruction of each segment. */
static double store_segments(const struct bench_run *run, const void *results, void *arg)
{
	const struct segments *s = arg;
	const uint64_t *clock = (const uint64_t *)((const char *)results + s->at);

	for (uint32_t k = 0; k < s->n; k++)
		bench_add_sample(run, s->point + k,
				 ((double)clock[k + 1] - (double)clock[0]) / s->count);
	return NAN;
}

void code_measure_segments(struct bench_run *run, struct bench_kernel *kernel, uint32_t all,
			   uint32_t count, unsigned at, struct bench_series *series, uint32_t n)
{
	struct segments s = {.n = n, .count = count, .at = at};

	for (uint32_t k = 0; k < n; k++)
		bench_point(series, k, NAN);
	s.point = series->point;
	bench_repeat(run, kernel, &(struct bench_launch){.block = 32}, at + 8 * (all + 1),
		     store_segments, &s, NULL);
}

void code_write_straight(struct bench_text *text, const char *name, const char *label,
			 const char *entry, uint32_t count, uint32_t step)
{
	bench_emit(text, "%s_to: .branchtargets ", label);
	for (uint32_t k = 0; k < count / step; k++)
		bench_emit(text, "%s_%u, ", label, k);
	bench_emit(text, "%s_%u;\nbrx.idx %s, %s_to;\n", label, count / step, entry, label);
	for (uint32_t i = 0; i < count; i++) {
		if (i % step == 0)
			bench_emit(text, "%s_%u:\n", label, i / step);
		bench_emit(text, "fma.rn.f32 %s%u, %s%u, %s8, %s9;\n", name, i % 8, name, i % 8,
			   name, name);
	}
	bench_emit(text, "%s_%u:\n", label, count / step);
}
