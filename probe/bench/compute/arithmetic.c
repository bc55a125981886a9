/* SPDX-License-Identifier: MIT */
/*
 * M25a: arithmetic throughput of an SM per clock, by instruction: FFMA and similar, mma.sync, and
 * Hopper's wgmma by shape, type and location of its first matrix. One block per SM, all warps run
 * the same loop of independent instructions; the time is from the block's first clock to its last.
 * For mma and wgmma also the latency: one warp (group), each instruction depending on the previous
 * one. About 150 kernels of 1 ms, 12 times: 5 s, and as much again for the assembler.
 *
 * Elements are random and between 1 and 2, because zeros take less power and run at higher clocks.
 * Theoretical values are from NVIDIA's architecture white papers, in operations per clock and SM.
 */
#include <math.h>
#include <string.h>
#include "probe/bench/frame/bench.h"

enum { ROUNDS = 256, UNROLL = 8, WARPS = 16, BIG = 32, OP_HFMA2 = 0x031 };
enum { PLAIN = 256 }; /* in a shorter loop, a tenth would be loop overhead */

/* Registers of a matrix fragment: 'r' .b32, 'f' .f32, 'd' .f64. */
struct insn {
	const char *name, *ptx;
	unsigned arch, last; /* first and last architecture; 0: any */
	double ops; /* operations per warp; for wgmma per column */
	uint8_t a, b, d; /* registers per fragment; a is 0 without matrices: then operands have D's
			    kind */
	char in, out;
	uint16_t sass; /* opcode */
	uint32_t base, mask; /* random elements: base | (bits & mask) */
	uint16_t theory[4]; /* sm_75, 80, 89, 90: operations per clock and SM; 0 if unknown */
};

#define F16 0x3c003c00, 0x83ff83ff
#define BF16 0x3f803f80, 0x807f807f
#define F32 0x3f800000, 0x807fffff
#define F64 0x3ff00000, 0x800fffff
#define E4M3 0x38383838, 0x87878787
#define INT 0, 0xffffffff

/* clang-format off */
static const struct insn insn[] = {
#define MMA(m, n, k, name, types, arch, last, a, d, out, sass, base, ...) \
	{"mma m" #m "n" #n "k" #k " " name, "m" #m "n" #n "k" #k ".row.col." types, arch, last, \
	 2 * m * n * k, a, a * n / m, d, out == 'd' ? 'd' : 'r', out, sass, base, {__VA_ARGS__}},
	{"FFMA", "fma.rn.f32", 0, 0, 64, 0, 0, 1, 0, 'f', 0x023, F32, {128, 128, 256, 256}},
	{"FADD", "add.rn.f32", 0, 0, 32, 0, 0, 1, 0, 'f', 0x021, F32, {64, 64, 128, 128}},
	{"HFMA2", "fma.rn.f16x2", 0, 0, 128, 0, 0, 1, 0, 'r', 0x031, F16, {256, 512, 256, 512}},
	{"HFMA2.BF16", "fma.rn.bf16x2", 80, 0, 128, 0, 0, 1, 0, 'r', 0x031, BF16,
	 {0, 256, 256, 512}},
	{"DFMA", "fma.rn.f64", 0, 0, 64, 0, 0, 1, 0, 'd', 0x02b, F64, {4, 64, 4, 128}},
	{"IMAD", "mad.lo.u32", 0, 0, 64, 0, 0, 1, 0, 'r', 0x024, INT, {128, 128, 128, 128}},
	MMA(16, 8, 8, "f16", "f32.f16.f16.f32", 75, 0, 2, 4, 'f',
	    0x03c, F16, 1024, 2048, 1024, 4096)
	MMA(16, 8, 16, "f16", "f32.f16.f16.f32", 80, 0, 4, 4, 'f', 0x03c, F16, 0, 2048, 1024, 4096)
	MMA(16, 8, 16, "f16, sum f16", "f16.f16.f16.f16", 80, 0, 4, 2, 'r',
	    0x03c, F16, 0, 2048, 1024, 4096)
	MMA(16, 8, 16, "bf16", "f32.bf16.bf16.f32", 80, 0, 4, 4, 'f',
	    0x03c, BF16, 0, 2048, 1024, 4096)
	MMA(16, 8, 8, "tf32", "f32.tf32.tf32.f32", 80, 0, 4, 4, 'f', 0x03c, F32, 0, 1024, 512, 2048)
	/* Later architectures convert to f16 first, and the assembler moves that and the products
	 * out of the loop. */
	MMA(16, 8, 32, "e4m3", "f32.e4m3.e4m3.f32", 89, 89, 4, 4, 'f', 0x07a, E4M3, 0, 0, 2048, 0)
	MMA(8, 8, 16, "s8", "s32.s8.s8.s32", 75, 90, 1, 2, 'r', 0x037, INT, 2048, 0, 0, 0)
	MMA(16, 8, 32, "s8", "s32.s8.s8.s32", 80, 0, 4, 4, 'r', 0x037, INT, 0, 4096, 2048, 8192)
	MMA(8, 8, 32, "s4", "s32.s4.s4.s32", 75, 89, 1, 2, 'r', 0x037, INT, 4096, 0, 0, 0)
	MMA(16, 8, 64, "s4", "s32.s4.s4.s32", 80, 89, 4, 4, 'r', 0x037, INT, 0, 8192, 4096, 0)
	MMA(16, 8, 256, "b1", "s32.b1.b1.s32.and.popc", 80, 90, 4, 4, 'r',
	    0x03d, INT, 0, 32768, 16384, 0)
	MMA(8, 8, 4, "f64", "f64.f64.f64.f64", 80, 0, 1, 2, 'd', 0x03f, F64, 0, 128, 0, 256)
	MMA(16, 8, 16, "f64", "f64.f64.f64.f64", 90, 0, 8, 4, 'd', 0x03f, F64, 0, 0, 0, 256)
#undef MMA
};

/* wgmma: K is always 32 bytes; ops are per column of N. */
static const struct insn group[] = {
#define WGMMA(name, types, ops, out, sass, base, theory) \
	{name, types, 90, 90, ops, 4, 0, 0, 'r', out, sass, base, {0, 0, 0, theory}},
	WGMMA("f16", "k16.f32.f16.f16", 2048, 'f', 0x1f0, F16, 4096)
	WGMMA("f16, sum f16", "k16.f16.f16.f16", 2048, 'r', 0x1f0, F16, 4096)
	WGMMA("bf16", "k16.f32.bf16.bf16", 2048, 'f', 0x1f0, BF16, 4096)
	WGMMA("tf32", "k8.f32.tf32.tf32", 1024, 'f', 0x1f0, F32, 2048)
	WGMMA("e4m3", "k32.f32.e4m3.e4m3", 4096, 'f', 0x1f3, E4M3, 8192)
	WGMMA("s8", "k32.s32.s8.s8", 4096, 'r', 0x1f1, INT, 8192)
#undef WGMMA
};
/* clang-format on */
static const unsigned width[] = {8, 16, 32, 64, 128, 256};

/* After LAST the assembler emits other instructions, or calls a function (ptxas 13.0). */
enum {
	INSNS = sizeof insn / sizeof *insn,
	GROUPS = sizeof group / sizeof *group,
	WIDTHS = sizeof width / sizeof *width
};

/* Writes a list such as "{%a0, %a1}": N registers from FROM on. */
static void write_list(struct bench_text *text, const char *name, unsigned from, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		bench_emit(text, "%s%%%s%u", i ? ", " : "{", name, from + i);
	bench_emit(text, "}");
}

static const char *type_of(char kind)
{
	return kind == 'd' ? "f64" : kind == 'f' ? "f32" : "b32";
}

/* Generates a random element of the instruction's kind in NAME, and advances %h. */
static void write_random(struct bench_text *text, const struct insn *in, char kind,
			 const char *name, unsigned i)
{
	bench_emit(text,
		   "mad.lo.u32 %%h, %%h, 1664525, 1013904223; shr.u32 %%x, %%h, 3;\n"
		   "xor.b32 %%x, %%x, %%h; and.b32 %%x, %%x, 0x%x; or.b32 %%x, %%x, 0x%x;\n",
		   in->mask, in->base);
	if (kind == 'd')
		bench_emit(text, "mov.b64 %%%s%u, {%%h, %%x};\n", name, i);
	else
		bench_emit(text, "mov.b32 %%%s%u, %%x;\n", name, i);
}

static void write_head(struct bench_text *text, const struct insn *in, unsigned na, unsigned nb,
		       unsigned nd)
{
	char kind = in->a ? in->in : in->out;

	bench_emit(text,
		   ".reg .u32 %%h, %%x, %%i, %%n; .reg .u64 %%t0, %%t1, %%w; .reg .pred %%p;\n"
		   ".reg .%s %%a<%u>, %%b<%u>; .reg .%s %%d<%u>;\n"
		   "mad.lo.u32 %%h, %%b_ctaid, 1024, %%b_tid; cvt.u32.u64 %%n, %%b_arg0;\n"
		   "mov.u64 %%t1, 0;\n",
		   type_of(kind), na + 1, nb + 1, type_of(in->out), nd);
	for (unsigned i = 0; i < na; i++)
		write_random(text, in, kind, "a", i);
	for (unsigned i = 0; i < nb; i++)
		write_random(text, in, kind, "b", i);
	for (unsigned i = 0; i < nd; i++)
		bench_emit(text, "mov.%s %%d%u, %s;\n", type_of(in->out), i,
			   in->out == 'd'   ? "0d3ff0000000000000"
			   : in->out == 'f' ? "0f3f800000"
					    : "1");
}

/* Generates the end: uses the sums under a condition that is never true, and stores first clock,
 * last clock and SM of each warp, 24 bytes per warp. */
static void write_tail(struct bench_text *text, const struct insn *in, unsigned nd)
{
	bench_emit(text, "setp.ne.u32 %%p, %%i, 0xffffffff;\n@%%p mov.u64 %%t1, %%clock64;\n"
			 ".reg .u64 %%s;\nmov.u64 %%s, 0;\n");
	for (unsigned i = 0; i < nd; i++) {
		if (in->out == 'd')
			bench_emit(text, "mov.b64 %%w, %%d%u;\n", i);
		else
			bench_emit(text, "mov.b32 %%x, %%d%u; cvt.u64.u32 %%w, %%x;\n", i);
		bench_emit(text, "xor.b64 %%s, %%s, %%w;\n");
	}
	bench_emit(text,
		   "setp.eq.u64 %%p, %%b_arg1, 77;\n@%%p st.global.u64 [%%b_data], %%s;\n"
		   "setp.ne.u32 %%p, %%b_lane, 0;\n@%%p bra DONE;\n"
		   "mad.wide.u32 %%w, %%b_ctaid, %u, %%b_data;\n"
		   "mad.wide.u32 %%w, %%b_warp, 24, %%w;\n"
		   "st.global.u64 [%%w], %%t0; st.global.u64 [%%w+8], %%t1;\n"
		   "cvt.u64.u32 %%s, %%b_smid; st.global.u64 [%%w+16], %%s;\nDONE:\n",
		   24 * BIG);
}

static void write_insn(struct bench_text *text, const struct insn *in, unsigned sum)
{
	if (!in->a) {
		bench_emit(text, "%s %%d%u, %%d%u, %%a0%s;\n", in->ptx, sum, sum,
			   strncmp(in->ptx, "add", 3) ? ", %b0" : "");
		return;
	}
	bench_emit(text, "mma.sync.aligned.%s ", in->ptx);
	write_list(text, "d", sum * in->d, in->d);
	bench_emit(text, ", ");
	write_list(text, "a", 0, in->a);
	bench_emit(text, ", ");
	write_list(text, "b", 0, in->b);
	bench_emit(text, ", ");
	write_list(text, "d", sum * in->d, in->d);
	bench_emit(text, ";\n");
}

/* Generates a loop of MANY instructions; SUMS of them are independent. */
static void write_loop(struct bench_text *text, const struct insn *in, unsigned sums, unsigned many)
{
	write_head(text, in, in->a ? in->a : 1, in->a ? in->b : 1, sums * in->d);
	bench_emit(text, "mov.u32 %%i, 0;\nbar.sync 0;\nmov.u64 %%t0, %%clock64;\nROUND:\n"
			 ".pragma \"nounroll\";\n");
	for (unsigned i = 0; i < many; i++)
		write_insn(text, in, i % sums);
	bench_emit(text, "add.u32 %%i, %%i, 1; setp.lt.u32 %%p, %%i, %%n;\n@%%p bra ROUND;\n");
	/* Wait for the last result of each sum. */
	for (unsigned i = 0; i < sums; i++) {
		if (in->out == 'd')
			bench_emit(text, "mov.b64 {%%x, %%h}, %%d%u;\n", i * in->d);
		else
			bench_emit(text, "mov.b32 %%x, %%d%u;\n", i * in->d);
		bench_emit(text,
			   "setp.eq.u32 %%p, %%x, 0x7fedcba9;\n@%%p add.u32 %%i, %%i, %%x;\n");
	}
	write_tail(text, in, sums * in->d);
}

/*
 * Generates a loop of wgmma. A and B are in shared memory without swizzling: 8 rows of 16 bytes
 * form a core matrix of 128 bytes; the next one along K is 128 bytes further (the leading offset),
 * along M and N 256 (the stride offset). K of one wgmma is 32 bytes, two core matrices. The
 * descriptor holds units of 16 bytes: the address in bits 0 to 13, the leading offset from bit 16,
 * the stride offset from bit 32 (PTX ISA, wgmma).
 */
static void write_wgmma_loop(struct bench_text *text, const struct insn *in, unsigned n,
			     bool shared, unsigned chain)
{
	unsigned words = in->out == 'f' || strstr(in->ptx, "s32") ? n / 2 : n / 4;

	write_head(text, in, in->a, 0, words);
	bench_emit(text, ".reg .u64 %%da, %%db; .reg .u32 %%at, %%k, %%m;\n"
			 "mov.u32 %%m, tiles; mov.u32 %%k, %%b_tid;\n"
			 "FILL:\nshl.b32 %%at, %%k, 2; add.u32 %%at, %%at, %%m;\n");
	write_random(text, in, 'r', "a", 0);
	bench_emit(text,
		   "st.shared.b32 [%%at], %%a0; add.u32 %%k, %%k, %%b_ntid;\n"
		   "setp.lt.u32 %%p, %%k, 3072;\n@%%p bra FILL;\n"
		   "fence.proxy.async;\nbar.sync 0;\n"
		   "shr.u32 %%k, %%m, 4; and.b32 %%k, %%k, 0x3fff; cvt.u64.u32 %%da, %%k;\n"
		   "or.b64 %%da, %%da, 0x0000001000080000; add.u64 %%db, %%da, 128;\n"
		   "mov.u32 %%i, 0;\nmov.u64 %%t0, %%clock64;\nwgmma.fence.sync.aligned;\nROUND:\n"
		   ".pragma \"nounroll\";\n");
	for (unsigned i = 0; i < UNROLL; i++) {
		bench_emit(text, "wgmma.mma_async.sync.aligned.m64n%u%s ", n, in->ptx);
		write_list(text, "d", 0, words);
		bench_emit(text, ", ");
		if (shared)
			bench_emit(text, "%%da");
		else
			write_list(text, "a", 0, in->a);
		bench_emit(text, ", %%db, 1%s;\n",
			   in->base == 0					? ""
			   : !strstr(in->ptx, "16.") || strstr(in->ptx, "tf32") ? ", 1, 1"
			   : shared						? ", 1, 1, 0, 0"
										: ", 1, 1, 0");
		if (chain || i == UNROLL - 1)
			bench_emit(text,
				   "wgmma.commit_group.sync.aligned;\n"
				   "wgmma.wait_group.sync.aligned %u;\n",
				   chain ? 0 : 1);
	}
	bench_emit(text, "add.u32 %%i, %%i, 1; setp.lt.u32 %%p, %%i, %%n;\n@%%p bra ROUND;\n"
			 "wgmma.wait_group.sync.aligned 0;\n");
	write_tail(text, in, words);
}

static unsigned theory_of(const struct insn *in, unsigned arch)
{
	return arch == 75   ? in->theory[0]
	       : arch == 80 ? in->theory[1]
	       : arch == 89 ? in->theory[2]
	       : arch == 90 ? in->theory[3]
			    : 0;
}

/* Returns the median of the blocks' cycles, from first clock to last; NAN if two blocks shared an
 * SM. */
static double cycles_of(const uint64_t (*t)[3], uint32_t blocks, uint32_t warps)
{
	struct bench_point all = {0};
	bool seen[1024] = {false};

	for (uint32_t b = 0; b < blocks; b++) {
		const uint64_t(*w)[3] = t + (size_t)b * BIG;
		uint64_t first = UINT64_MAX, last = 0;

		if (w[0][2] >= 1024 || seen[w[0][2]])
			return NAN;
		seen[w[0][2]] = true;
		for (uint32_t i = 0; i < warps; i++) {
			first = w[i][0] < first ? w[i][0] : first;
			last = w[i][1] > last ? w[i][1] : last;
		}
		if (b % (blocks / BENCH_REPEATS + 1) == 0 && all.n < BENCH_REPEATS)
			all.value[all.n++] = (double)(last - first);
	}
	return bench_median(&all);
}

struct trial {
	const char *name; /* name of the series */
	double x; /* N of wgmma, or number of warps */
	double ops; /* operations of all warps per round */
	uint32_t blocks, warps;
	uint64_t rounds;
	double steps; /* dependent instructions per round; 0: measure a rate */
};

static double compute_trial(const struct bench_run *run, const void *results, void *arg)
{
	const struct trial *t = arg;
	double cycles = cycles_of(results, t->blocks, t->warps), rounds = (double)t->rounds;

	if (!(cycles > 0))
		return NAN;
	return t->steps > 0 ? cycles / (t->steps * rounds) : t->ops * rounds / cycles;
}

static void measure_trial(struct bench_run *run, struct bench_kernel *kernel, struct trial *t)
{
	struct bench_point *point = bench_add_point(run, t->name,
						    strstr(t->name, "wgmma") ? "N" : "warps",
						    t->steps > 0 ? "cycles" : "op/cycle/SM", t->x);
	struct bench_launch l = {.grid = t->blocks, .block = t->warps * 32, .arg = {t->rounds}};

	if (bench_repeat(run, kernel, &l, (size_t)t->blocks * BIG * 24, compute_trial, t, point) &&
	    !point->n && !bench_is_dry(run))
		bench_add_missing(bench_samples(run), "%s: blocks did not run one per SM", t->name);
}

static void measure_one(struct bench_run *run, const struct insn *in)
{
	uint32_t sms = (uint32_t)bench_gpu(run)->sms;
	/* Fragments of 64 bits need more registers. */
	unsigned sums[] = {in->out == 'd' && in->d > 2 ? 4 : 8, 1}, many = in->a ? BIG : PLAIN;
	unsigned arch = bench_arch(bench_gpu(run));

	/* On Ampere and Ada the assembler calls a function in a loop of 256, but not in one of 192.
	 *  */
	if (!in->a && arch >= 80 && arch < 90)
		many = PLAIN / 2;
	for (unsigned k = 0; k < (in->a ? 2 : 1); k++) {
		const char *name = bench_format("%s%s", in->name, k ? " latency" : "");
		struct bench_text text = {0};
		struct bench_kernel *kernel;

		write_loop(&text, in, sums[k], many);
		/* On some GPUs half of HFMA2 become HFMA2.MMA; one mma may become several
		 * instructions. */
		kernel = BENCH_KERNEL(
			run, &text, .name = name, .threads = WARPS * 32,
			.expect = {{in->sass, in->sass == OP_HFMA2 ? many / 2 : many, 8 * many}});
		if (kernel && k)
			measure_trial(run, kernel, &(struct trial){name, 1, 0, 1, 1, ROUNDS, BIG});
		else if (kernel)
			measure_trial(run, kernel,
				      &(struct trial){name, WARPS, in->ops * many * WARPS, sms,
						      WARPS, ROUNDS * BIG / many, 0});
	}
}

/* The rate needs two warp groups per SM: one alone cannot hide the start of a wgmma. */
static void measure_group(struct bench_run *run, const struct insn *in, unsigned n, bool shared)
{
	uint32_t sms = (uint32_t)bench_gpu(run)->sms;

	/* Three widths are enough for latency, which is linear. */
	for (unsigned chain = 0; chain < (n == 8 || n == 64 || n == 256 ? 2 : 1); chain++) {
		const char *name = bench_format("wgmma %s, A in %s%s", in->name,
						shared ? "shared memory" : "registers",
						chain ? ", latency" : "");
		struct bench_text text = {0};
		struct bench_kernel *kernel;

		write_wgmma_loop(&text, in, n, shared, chain);
		kernel = BENCH_KERNEL(run, &text, .name = bench_format("%s, N %u", name, n),
				      .threads = 256,
				      .declared = ".shared .align 1024 .b8 tiles[12288];\n",
				      .expect = {{in->sass, UNROLL, UNROLL}});
		if (kernel && chain)
			measure_trial(run, kernel,
				      &(struct trial){name, n, 0, 1, 4, ROUNDS, UNROLL});
		else if (kernel)
			measure_trial(run, kernel,
				      &(struct trial){name, n, in->ops * n * UNROLL * 2, sms, 8,
						      ROUNDS * 4, 0});
	}
}

static void measure_samples(struct bench_run *run)
{
	unsigned arch = bench_arch(bench_gpu(run));

	for (unsigned i = 0; i < INSNS; i++) {
		if (insn[i].last && arch > insn[i].last)
			bench_add_missing(
				bench_samples(run),
				"%s: the assembler emits no tensor instruction for it here",
				insn[i].name);
		else if (arch >= insn[i].arch)
			measure_one(run, &insn[i]);
	}
	if (arch != 90) /* only Hopper has wgmma */
		return;
	for (unsigned i = 0; i < GROUPS; i++)
		for (unsigned w = 0; w < WIDTHS; w++)
			for (unsigned shared = 0; shared < 2; shared++)
				measure_group(run, &group[i], width[w], shared);
}

/* Derives the rate per SM and clock and the theoretical one; for the best also the rate of all SMs
 * at that kernel's clock, which depends on power. */
static void derive_rate(const char *name, const struct bench_series *series, const struct insn *in,
			const struct bench_gpu *gpu, struct bench_figures *figures)
{
	unsigned theory = theory_of(in, bench_arch(gpu));
	const struct bench_point *best = bench_find_best(series);

	BENCH_EACH(p, series) {
		const char *parameter = strcmp(series->x, "N")
						? bench_format("%g %s", p->x, series->x)
						: bench_format("N %g", p->x);
		double to = p->sm_mhz * 1e6 * (double)gpu->sms / 1e12;

		bench_add_point_figure(figures, name, parameter, series, p);
		bench_mark_detail(figures, p != best);
		if (theory)
			bench_add_published(figures, name, parameter, "theory", theory);
		if (p != best || !(to > 0))
			continue;
		bench_figure(figures, name, "all SMs", "Top/s", bench_median(p) * to,
			     bench_min(p) * to, bench_max(p) * to, p->sm_mhz);
		bench_mark_detail(figures, true);
	}
}

static void derive_latency(const char *name, const struct bench_series *series,
			   struct bench_figures *figures)
{
	BENCH_EACH(p, series) {
		bench_add_point_figure(figures, name,
				       strcmp(series->x, "N") ? "latency"
							      : bench_format("latency N %g", p->x),
				       series, p);
		bench_mark_detail(figures, p > series->point);
	}
}

/* OF is the name of the series, NAME that of the figures. */
static void derive_series(const struct bench_samples *samples, const char *of, const char *name,
			  bool latency, const struct insn *in, const struct bench_gpu *gpu,
			  struct bench_figures *figures)
{
	const struct bench_series *series = bench_find_series(samples, of);

	if (!series)
		return;
	if (latency)
		derive_latency(name, series, figures);
	else
		derive_rate(name, series, in, gpu, figures);
	if (!strcmp(series->x, "N"))
		bench_add_plot(figures, latency ? "wgmma-latency" : "wgmma",
			       latency ? "wgmma: from issue to the sum"
				       : "wgmma: operations a clock and SM",
			       series, true, false);
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	for (unsigned i = 0; i < INSNS; i++) {
		derive_series(samples, insn[i].name, insn[i].name, false, &insn[i], gpu, figures);
		derive_series(samples, bench_format("%s latency", insn[i].name), insn[i].name, true,
			      &insn[i], gpu, figures);
	}
	for (unsigned i = 0; i < GROUPS * 4; i++) {
		const struct insn *in = &group[i / 4];
		bool latency = i & 1;

		derive_series(samples,
			      bench_format("wgmma %s, A in %s%s", in->name,
					   i & 2 ? "shared memory" : "registers",
					   latency ? ", latency" : ""),
			      bench_format("wgmma %s, A %s", in->name, i & 2 ? "shared" : "regs"),
			      latency, in, gpu, figures);
	}
	if (samples->n)
		bench_add_note(figures, "Theory: NVIDIA's white papers, dense matrices.");
}

BENCH(bench_arithmetic, "arithmetic", "M25",
      "rates of FFMA and its kin, mma and wgmma; their latencies", measure_samples, derive_figures);
