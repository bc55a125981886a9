/* SPDX-License-Identifier: MIT */
/*
 * Builds and chases chains of addresses. Random ones follow i -> (a i + c) mod n, which visits each
 * element once if a - 1 is a multiple of n's prime factors, and of 4 if n is, and c is coprime to n
 * (Hull and Dobell). So the GPU can build a chain of 64 GiB without a list from the host. The
 * modulus is computed in 32 bits, after removing n's power of two: in 64 bits it would need a
 * function call.
 */
#include "probe/bench/frame/pointer_chase.h"

#include <math.h>

static const char lay_body[] = "{\n"
			       ".reg .u64 i, n, step, at, to, by;\n"
			       ".reg .u32 a, b, odd;\n"
			       ".reg .pred p;\n"
			       "mad.lo.u32 a, %b_ctaid, %b_ntid, %b_tid;\n"
			       "mul.lo.u32 b, %b_nctaid, %b_ntid;\n"
			       "cvt.u64.u32 i, a;\n"
			       "cvt.u64.u32 step, b;\n"
			       "lay:\n"
			       "setp.ge.u64 p, i, %b_arg1;\n"
			       "@p bra laid;\n"
			       "mad.lo.u64 n, i, %b_arg3, %b_arg4;\n"
			       "cvt.u32.u64 a, %b_arg6;\n"
			       "shr.u64 to, n, a;\n" /* fits 32 bits: elements squared / 2^arg6 */
			       "shl.b64 by, to, a;\n"
			       "sub.u64 n, n, by;\n"
			       "cvt.u32.u64 b, to;\n"
			       "cvt.u32.u64 odd, %b_arg7;\n"
			       "rem.u32 b, b, odd;\n"
			       "cvt.u64.u32 to, b;\n"
			       "shl.b64 to, to, a;\n"
			       "add.u64 n, n, to;\n"
			       "mul.lo.u64 by, i, %b_arg5;\n"
			       "and.b64 by, by, 1048575;\n"
			       "mad.lo.u64 at, i, %b_arg2, %b_arg0;\n"
			       "add.u64 at, at, by;\n"
			       "mul.lo.u64 by, n, %b_arg5;\n"
			       "and.b64 by, by, 1048575;\n"
			       "mad.lo.u64 to, n, %b_arg2, %b_arg0;\n"
			       "add.u64 to, to, by;\n"
			       "st.global.u64 [at], to;\n"
			       "add.u64 i, i, step;\n"
			       "bra lay;\n"
			       "laid:\n"
			       "mov.u64 i, 0;\n"
			       "}\n";

struct bench_kernel *chase_build_builder(struct bench_run *run)
{
	return bench_kernel(
		run, &(struct bench_code){.name = "lay-chain", .body = lay_body, .threads = 256});
}

/* Factors of a random chain, near the golden ratio, so that successive elements are far apart. */
static void choose_factors(uint64_t n, uint64_t *a, uint64_t *c)
{
	uint64_t unit = (n % 3 ? 1 : 3) * (n % 4 ? 2 : 4), m;

	m = (uint64_t)(0.618 * (double)n) / unit | 1;
	*a = unit * m + 1;
	*c = (uint64_t)(0.37 * (double)n) / 6 * 6 + 1;
}

bool chase_write_chain(struct bench_run *run, struct bench_kernel *builder,
		       const struct chase_chain *chain)
{
	struct bench_launch launch = {
		.grid = (uint32_t)bench_gpu(run)->sms * 8,
		.block = 256,
		.arg = {chain->base, chain->elements, chain->stride, 1, 1, chain->skew}};
	unsigned twos = (unsigned)__builtin_ctzll(chain->elements);

	launch.arg[6] = twos;
	launch.arg[7] = chain->elements >> twos;
	if (chain->self)
		launch.arg[4] = 0;
	else if (chain->random)
		choose_factors(chain->elements, &launch.arg[3], &launch.arg[4]);
	return builder && bench_launch(run, builder, &launch, 8);
}

static void write_loads(struct bench_text *text, const char *cache, const char *label,
			const char *count)
{
	bench_emit(text, "%s:\n.pragma \"nounroll\";\n", label);
	for (unsigned k = 0; k < CHASE_UNROLL; k++)
		bench_emit(text, "ld.global.%s.u64 at, [at];\n", cache);
	/* The branch after the loop waits for the last load, so the clock is read after it has
	 * completed. */
	bench_emit(text,
		   "sub.u32 %s, %s, %u;\n"
		   "setp.gt.s32 p, %s, 0;\n"
		   "@p bra %s;\n"
		   "setp.eq.u64 p, at, 0;\n"
		   "@p bra lost;\n",
		   count, count, (unsigned)CHASE_UNROLL, count, label);
}

struct bench_kernel *chase_build_kernel(struct bench_run *run, const char *cache)
{
	struct bench_text body = {0};

	bench_emit(&body, "{\n"
			  ".reg .u64 at, from, to;\n"
			  ".reg .u32 untimed, timed;\n"
			  ".reg .pred p;\n"
			  "mov.u64 at, %%b_arg0;\n"
			  "cvt.u32.u64 untimed, %%b_arg1;\n"
			  "cvt.u32.u64 timed, %%b_arg2;\n");
	write_loads(&body, cache, "warm", "untimed");
	bench_emit(&body, "mov.u64 from, %%clock64;\n");
	write_loads(&body, cache, "chase", "timed");
	bench_emit(&body, "mov.u64 to, %%clock64;\n"
			  "sub.u64 to, to, from;\n"
			  "st.global.u64 [%%b_data], to;\n"
			  "st.global.u64 [%%b_data+8], at;\n"
			  "lost:\n"
			  "mov.u64 at, 0;\n"
			  "}\n");
	return BENCH_KERNEL(run, &body, .name = bench_format("chase-%s", cache), .threads = 1,
			    .expect = {{OP_LDG, CHASE_UNROLL, CHASE_UNROLL}});
}

double chase_compute_cycles(const struct bench_run *run, const void *results, void *steps)
{
	uint64_t cycles = *(const uint64_t *)results;

	return cycles ? (double)cycles / *(double *)steps : NAN;
}

double chase_compute_rate(const struct bench_run *run, const void *results, void *bytes)
{
	double seconds = bench_launch_seconds(run);

	return seconds > 0 ? *(double *)bytes / seconds / 1e9 : NAN;
}

struct bench_point *chase_find_point(struct bench_series *series, double x, double y)
{
	/* Usually it is among the last ones. */
	for (uint32_t k = series->n; k-- > 0;)
		if (series->point[k].x == x && series->point[k].y == y)
			return &series->point[k];
	return bench_point(series, x, y);
}

uint64_t chase_next_size(uint64_t n)
{
	return n & (n - 1) ? n / 3 * 4 : n / 2 * 3;
}

uint64_t chase_round_steps(uint64_t least)
{
	return (least + CHASE_UNROLL - 1) / CHASE_UNROLL * CHASE_UNROLL;
}
