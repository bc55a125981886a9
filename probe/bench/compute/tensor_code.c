/* SPDX-License-Identifier: MIT */
/*
 * Counts the tensor instructions that the driver's assembler emits for one wmma, mma or wgmma of
 * PTX. Launches nothing. Only for the GPU at hand, which is the frame's target. Takes about 0.1 s.
 */
#include "probe/bench/frame/timed_code.h"
#include "sass/sass.h"
#include <math.h>
#include <string.h>

struct snippet {
	const char *name;
	unsigned arch, last; /* first and last architecture; 0: any */
	uint16_t op;
	unsigned v100, t4; /* the study's counts; 0: none */
	const char *step; /* uses A, B and C in registers a, b, c, or from %b_data */
};
/* A and B in shared memory, addressed by descriptors. */
#define WGMMA(form, types, more)                                                       \
	(".reg .b64 da, db; mov.b64 da, %b_arg0; mov.b64 db, %b_arg1;\n"               \
	 "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned." form "." types " " \
	 "{c0,c1,c2,c3,c4,c5,c6,c7}, da, db, 1" more ";\n"                             \
	 "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n")
/* A, B and C from memory. */
#define WMMA(shape, in, out, a, b, c, operation)                                                \
	"wmma.load.a.sync.aligned.row." shape ".global." in " " a ", [%b_data];\n"              \
	"wmma.load.b.sync.aligned.col." shape ".global." in " " b ", [%b_data];\n"              \
	"wmma.load.c.sync.aligned.row." shape ".global." out " " c ", [%b_data];\n"             \
	"wmma.mma" operation ".sync.aligned.row.col." shape "." out "." in "." in "." out " " c \
	", " a ", " b ", " c ";\n"
static const struct snippet snippets[] = {
	{"wmma m16n16k16 f16", 0, 0, 0x03c, 16, 4,
	 "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {a0,a1,a2,a3,a4,a5,a6,a7}, [%b_data];\n"
	 "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {b0,b1,b2,b3,b4,b5,b6,b7}, [%b_data];\n"
	 "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {c0,c1,c2,c3,c4,c5,c6,c7}, [%b_data];\n"
	 "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {c0,c1,c2,c3,c4,c5,c6,c7}, "
	 "{a0,a1,a2,a3,a4,a5,a6,a7}, {b0,b1,b2,b3,b4,b5,b6,b7}, {c0,c1,c2,c3,c4,c5,c6,c7};\n"},
	{"wmma m16n16k16 s8", 0, 0, 0x037, 0, 0,
	 WMMA("m16n16k16", "s8", "s32", "{a0,a1}", "{b0,b1}", "{c0,c1,c2,c3,c4,c5,c6,c7}", "")},
	{"wmma m16n16k16 bf16", 80, 0, 0x03c, 0, 0,
	 WMMA("m16n16k16", "bf16", "f32", "{a0,a1,a2,a3}", "{b0,b1,b2,b3}",
	      "{c0,c1,c2,c3,c4,c5,c6,c7}", "")},
	{"wmma m16n16k8 tf32", 80, 0, 0x03c, 0, 0,
	 WMMA("m16n16k8", "tf32", "f32", "{a0,a1,a2,a3}", "{b0,b1,b2,b3}",
	      "{c0,c1,c2,c3,c4,c5,c6,c7}", "")},
	{"wmma m8n8k4 f64", 80, 0, 0x03f, 0, 0,
	 ".reg .f64 x, y, z<2>;\n" WMMA("m8n8k4", "f64", "f64", "{x}", "{y}", "{z0,z1}",
					"") "mov.b64 {c0,c1}, z0; mov.b64 {c2,c3}, z1;\n"},
	{"wmma m8n8k128 b1, xor", 0, 90, 0x03d, 0, 0,
	 WMMA("m8n8k128", "b1", "s32", "{a0}", "{b0}", "{c0,c1}", ".xor.popc")},
	{"wmma m8n8k32 s4", 0, 0, 0x037, 0, 0,
	 WMMA("m8n8k32", "s4", "s32", "{a0}", "{b0}", "{c0,c1}", "")},
	{"mma m16n8k8 f16", 0, 0, 0x03c, 0, 0,
	 "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {c0,c1,c2,c3}, {a0,a1}, {b0}, "
	 "{c0,c1,c2,c3};\n"},
	{"mma m16n8k16 f16", 80, 0, 0x03c, 0, 0,
	 "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {c0,c1,c2,c3}, {a0,a1,a2,a3}, {b0,b1}, "
	 "{c0,c1,c2,c3};\n"},
	{"mma m8n8k16 s8", 0, 0, 0x037, 0, 0,
	 "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {c0,c1}, {a0}, {b0}, {c0,c1};\n"},
	{"mma m16n8k32 s8", 80, 0, 0x037, 0, 0,
	 "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {c0,c1,c2,c3}, {a0,a1,a2,a3}, {b0,b1}, "
	 "{c0,c1,c2,c3};\n"},
	{"mma m8n8k32 s4", 75, 0, 0x037, 0, 0,
	 "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {c0,c1}, {a0}, {b0}, {c0,c1};\n"},
	{"wgmma m64n16k16 f16", 90, 90, 0x1f0, 0, 0,
	 WGMMA("m64n16k16", "f32.f16.f16", ", 1, 1, 0, 0")},
	{"wgmma m64n16k32 e4m3", 90, 90, 0x1f3, 0, 0,
	 WGMMA("m64n16k32", "f32.e4m3.e4m3", ", 1, 1")},
	{"wgmma m64n16k32 s8", 90, 90, 0x1f1, 0, 0, WGMMA("m64n16k32", "s32.s8.s8", "")},
};

static const char *name_of(uint16_t op)
{
	return op == 0x037   ? "IMMA"
	       : op == 0x03d ? "BMMA"
	       : op == 0x03f ? "DMMA"
	       : op == 0x1f0 ? "HGMMA"
	       : op == 0x1f1 ? "IGMMA"
	       : op == 0x1f3 ? "QGMMA"
			     : "HMMA";
}

static void write_body(struct bench_text *t, const struct snippet *snippet)
{
	bench_emit(t, ".reg .b32 a<8>, b<8>, c<8>;\n");
	code_write_loads(t, "a", 8, 0);
	code_write_loads(t, "b", 8, 32);
	code_write_loads(t, "c", 8, 64);
	bench_emit(t, "%s", snippet->step);
	code_write_stores(t, "c", 8, 96);
}

static void measure_samples(struct bench_run *run)
{
	for (unsigned i = 0; i < sizeof(snippets) / sizeof(*snippets); i++) {
		const struct snippet *snippet = snippets + i;
		struct bench_text text = {0};
		struct bench_kernel *kernel;
		struct nvs_sass_insn insn;
		uint32_t n, count = 0;
		const uint64_t(*word)[2];

		if (snippet->arch > bench_arch(bench_gpu(run)) ||
		    (snippet->last && snippet->last < bench_arch(bench_gpu(run))))
			continue;
		/* ptxas 13.0 calls a function there, which the check rejects. */
		if ((strstr(snippet->name, "s4") || strstr(snippet->name, "xor")) &&
		    bench_arch(bench_gpu(run)) >= 90) {
			bench_add_missing(bench_samples(run),
					  "%s: from sm_90 on the assembler calls a function for it",
					  snippet->name);
			continue;
		}
		write_body(&text, snippet);
		kernel = BENCH_KERNEL(run, &text, .name = snippet->name, .threads = 128);
		if (!kernel)
			continue;
		word = bench_kernel_words(kernel, &n);
		for (uint32_t k = 0; k < n; k++) {
			code_decode_insn(word[k], &insn);
			count += nvs_sass_insn_op(&insn) == snippet->op;
		}
		bench_add_value(bench_add_point(run, snippet->name, "", "instructions", 0), count);
	}
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	for (unsigned i = 0; i < sizeof(snippets) / sizeof(*snippets); i++) {
		const struct snippet *s = snippets + i;
		const char *op = name_of(s->op);
		const struct bench_series *series = bench_find_series(samples, s->name);
		const struct bench_point *point = bench_find_first(series);

		if (!point)
			continue;
		bench_add_point_figure(figures, s->name, op, series, point);
		if (!(bench_median(point) > 0))
			bench_add_note(figures, "%s has no %s: other instructions are used.",
				       s->name, op);
		if (s->v100)
			bench_add_published(figures, s->name, op, "V100", s->v100);
		if (s->t4)
			bench_add_published(figures, s->name, op, "T4", s->t4);
	}
}

BENCH(bench_tensor_code, "tensor-code", "M24", "tensor instructions generated for wmma and mma",
      measure_samples, derive_figures);
