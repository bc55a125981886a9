/* SPDX-License-Identifier: MIT */
/*
 * M25b: products of square matrices with cuBLAS and cublasLt. The libraries are loaded at run time,
 * and recorded as missing if not installed. Matrices are random, because products of zeros take
 * less power and run at higher clocks. A sample is as many consecutive products as take 2 ms; sizes
 * whose product takes more than 0.5 s are left out. Takes about 12 s. The SM clock of a row is that
 * of our own kernel right after it, because cuBLAS' kernels do not report theirs.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "probe/bench/frame/internal.h"
#include "probe/bench/compute/products.h"

/* Values of cublas_api.h and library_types.h of CUDA 11 to 13. */
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14, R_8F_E4M3 = 28 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72, COMPUTE_TF32 = 77 };
enum { OP_N = 0, OP_T = 1, GEMM_DEFAULT = -1 };
/* Values of cublasLt.h. */
enum { DESC_TRANSA = 3, PREFERENCE_MAX_WORKSPACE = 1, WORKSPACE = 32 << 20 };
/* cublasLtMatmulHeuristicResult_t. */
struct lt_found {
	uint64_t algorithm[8];
	size_t workspace;
	int status;
	float waves;
	int reserved[4];
};

typedef int create_call(void **handle);
typedef int destroy_call(void *handle);
typedef int gemm_call(void *handle, int transa, int transb, int m, int n, int k, const void *alpha,
		      const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
		      const void *beta, void *c, int c_type, int ldc, int compute, int algorithm);
typedef int lt_desc_call(void **desc, int compute, int scale);
typedef int lt_set_call(void *desc, int attribute, const void *value, size_t size);
typedef int lt_layout_call(void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld);
typedef int lt_preference_call(void **preference);
typedef int lt_find_call(void *handle, void *desc, void *a_as, void *b_as, void *c_as, void *d_as,
			 void *preference, int wanted, struct lt_found *found, int *n);
typedef int lt_product_call(void *handle, void *desc, const void *alpha, const void *a, void *a_as,
			    const void *b, void *b_as, const void *beta, const void *c, void *c_as,
			    void *d, void *d_as, const void *algorithm, void *workspace,
			    size_t workspace_size, void *stream);
struct lt {
	create_call *create;
	destroy_call *destroy, *desc_destroy, *layout_destroy, *preference_destroy;
	lt_desc_call *desc;
	lt_set_call *set, *prefer;
	lt_preference_call *preference;
	lt_find_call *find;
	lt_layout_call *layout;
	lt_product_call *product;
	void *handle, *workspace;
};

struct cublaslt_calls {
	struct lt lt;
	create_call *create;
	destroy_call *destroy;
	gemm_call *gemm;
	void *handle, *begin, *end;
};

static const struct matmul_type {
	const char *name;
	int in, out, compute;
	unsigned bytes, out_bytes, arch;
	uint32_t base, mask; /* random elements: base | (bits & mask) */
	bool lt; /* with cublasLt */
} type[] = {
	{"FP64", R_64F, R_64F, COMPUTE_64F, 8, 8, 0, 0x3ff00000, 0x800fffff, false},
	{"FP32", R_32F, R_32F, COMPUTE_32F, 4, 4, 0, 0x3f800000, 0x807fffff, false},
	{"TF32", R_32F, R_32F, COMPUTE_TF32, 4, 4, 80, 0x3f800000, 0x807fffff, false},
	{"FP16", R_16F, R_16F, COMPUTE_32F, 2, 2, 0, 0x3c003c00, 0x83ff83ff, false},
	{"BF16", R_16BF, R_16BF, COMPUTE_32F, 2, 2, 80, 0x3f803f80, 0x807f807f, false},
	{"int8", R_8I, R_32I, COMPUTE_32I, 1, 4, 0, 0, 0xffffffff, false},
	{"int8, cublasLt", R_8I, R_32I, COMPUTE_32I, 1, 4, 0, 0, 0xffffffff, true},
	{"FP16, cublasLt", R_16F, R_16F, COMPUTE_32F, 2, 2, 0, 0x3c003c00, 0x83ff83ff, true},
	{"FP8, cublasLt", R_8F_E4M3, R_16BF, COMPUTE_32F, 1, 2, 89, 0x38383838, 0x87878787, true},
};
enum { TYPES = sizeof type / sizeof *type, MIN_SIZE = 1024, MAX_SIZE = 16384 };
#define AWAITED 2e-3 /* duration of a sample in seconds */
#define TOO_LONG 0.5
#define REST_NS 1000000000ull

static void *open_library(const char *stem)
{
	static const char *const version[] = {".13", ".12", ".11", ""};
	void *found = NULL;

	for (unsigned i = 0; i < sizeof version / sizeof *version && !found; i++)
		found = dlopen(bench_format("%s.so%s", stem, version[i]), RTLD_NOW | RTLD_LOCAL);
	return found;
}

static bool set_function(void *call, void *found)
{
	memcpy(call, &found, sizeof found);
	return found;
}

/* Loads cuBLAS and the driver's events; records what is missing. */
static bool open_calls(struct bench_run *run, struct cublaslt_calls *c)
{
	void *lib = open_library("libcublas");

	if (!lib) {
		bench_add_missing(bench_samples(run), "cuBLAS is not installed, or was not found");
		return false;
	}
	if (!set_function(&c->create, dlsym(lib, "cublasCreate_v2")) ||
	    !set_function(&c->destroy, dlsym(lib, "cublasDestroy_v2")) ||
	    !set_function(&c->gemm, dlsym(lib, "cublasGemmEx")) || !cu.cuEventCreate ||
	    !cu.cuEventRecord || !cu.cuEventSynchronize || !cu.cuEventDestroy_v2 ||
	    !cu.cuEventElapsedTime || cu.cuEventCreate(&c->begin, 0) ||
	    cu.cuEventCreate(&c->end, 0) || c->create(&c->handle)) {
		bench_add_missing(bench_samples(run), "cuBLAS does not work here");
		return false;
	}
	return true;
}

/* Loads cublasLt; without it its types are left out. */
static void open_lt(struct bench_run *run, struct lt *lt)
{
	void *lib = open_library("libcublasLt");
	uint64_t room = lib ? bench_memory_alloc(run, WORKSPACE) : 0;

	memcpy(&lt->workspace, &room, sizeof room);
	if (!lib || !room || !set_function(&lt->create, dlsym(lib, "cublasLtCreate")) ||
	    !set_function(&lt->destroy, dlsym(lib, "cublasLtDestroy")) ||
	    !set_function(&lt->desc, dlsym(lib, "cublasLtMatmulDescCreate")) ||
	    !set_function(&lt->desc_destroy, dlsym(lib, "cublasLtMatmulDescDestroy")) ||
	    !set_function(&lt->set, dlsym(lib, "cublasLtMatmulDescSetAttribute")) ||
	    !set_function(&lt->layout, dlsym(lib, "cublasLtMatrixLayoutCreate")) ||
	    !set_function(&lt->layout_destroy, dlsym(lib, "cublasLtMatrixLayoutDestroy")) ||
	    !set_function(&lt->preference, dlsym(lib, "cublasLtMatmulPreferenceCreate")) ||
	    !set_function(&lt->prefer, dlsym(lib, "cublasLtMatmulPreferenceSetAttribute")) ||
	    !set_function(&lt->preference_destroy, dlsym(lib, "cublasLtMatmulPreferenceDestroy")) ||
	    !set_function(&lt->find, dlsym(lib, "cublasLtMatmulAlgoGetHeuristic")) ||
	    !set_function(&lt->product, dlsym(lib, "cublasLtMatmul")) || lt->create(&lt->handle)) {
		lt->handle = NULL;
		bench_add_missing(bench_samples(run),
				  "cublasLt is not installed, or does not work");
	}
}

static void close_calls(const struct cublaslt_calls *c)
{
	if (c->lt.handle)
		c->lt.destroy(c->lt.handle);
	c->destroy(c->handle);
	cu.cuEventDestroy_v2(c->begin);
	cu.cuEventDestroy_v2(c->end);
}

/* arg0: number of words at arg1, arg2 and arg3: base and mask. A 64-bit element has them in both
 * words. */
static struct bench_kernel *build_fill(struct bench_run *run)
{
	struct bench_code code = {
		.name = "fill",
		.body = ".reg .u64 %i, %step, %to; .reg .u32 %h, %x, %base, %mask; .reg .pred %p;\n"
			"cvt.u32.u64 %base, %b_arg2; cvt.u32.u64 %mask, %b_arg3;\n"
			"mul.wide.u32 %i, %b_ctaid, %b_ntid; cvt.u64.u32 %to, %b_tid;\n"
			"add.u64 %i, %i, %to; mul.wide.u32 %step, %b_nctaid, %b_ntid;\n"
			"NEXT:\nsetp.ge.u64 %p, %i, %b_arg0;\n@%p bra DONE;\n"
			"cvt.u32.u64 %h, %i; mad.lo.u32 %h, %h, 0x9e3779b1, 0x85ebca6b;\n"
			"shr.u32 %x, %h, 15; xor.b32 %h, %h, %x; mul.lo.u32 %h, %h, 0x2c1b3c6d;\n"
			"shr.u32 %x, %h, 12; xor.b32 %h, %h, %x;\n"
			"and.b32 %h, %h, %mask; or.b32 %h, %h, %base;\n"
			"shl.b64 %to, %i, 2; add.u64 %to, %to, %b_arg1; st.global.u32 [%to], %h;\n"
			"add.u64 %i, %i, %step;\nbra NEXT;\nDONE:\n",
		.threads = 256,
	};

	return bench_kernel(run, &code);
}

static const void *fill_matrices(struct bench_run *run, struct bench_kernel *kernel, uint64_t to,
				 size_t bytes, const struct matmul_type *t)
{
	uint32_t blocks = bytes ? (uint32_t)bench_gpu(run)->sms * 8 : 1;
	struct bench_launch l = {
		.grid = blocks, .block = 256, .arg = {bytes / 4, to, t->base, t->mask}};

	return bench_launch(run, kernel, &l, 8);
}

/* One product of A, transposed, with B into OUT; the library chooses the algorithm. */
struct product {
	const struct matmul_type *type;
	int size;
	const void *alpha, *beta;
	void *a, *b, *out;
};

static bool run_cublas(const struct cublaslt_calls *c, const struct product *p, uint32_t n)
{
	const struct matmul_type *t = p->type;
	int s = p->size;

	for (uint32_t i = 0; i < n; i++)
		if (c->gemm(c->handle, OP_T, OP_N, s, s, s, p->alpha, p->a, t->in, s, p->b, t->in,
			    s, p->beta, p->out, t->out, s, t->compute, GEMM_DEFAULT))
			return false;
	return true;
}

/* What cublasLt needs to prepare before a product. */
struct matmul_plan {
	void *desc, *in, *out;
	struct lt_found found;
};

static bool make_plan(const struct lt *lt, const struct product *p, struct matmul_plan *plan)
{
	const struct matmul_type *t = p->type;
	int transposed = OP_T, scale = t->compute == COMPUTE_32I ? R_32I : R_32F, n = 0;
	uint64_t rows = (uint64_t)p->size;
	size_t room = WORKSPACE;
	void *preference = NULL;
	bool fine = lt->handle && !lt->preference(&preference) &&
		    !lt->prefer(preference, PREFERENCE_MAX_WORKSPACE, &room, sizeof room) &&
		    !lt->desc(&plan->desc, t->compute, scale) &&
		    !lt->set(plan->desc, DESC_TRANSA, &transposed, sizeof transposed) &&
		    !lt->layout(&plan->in, t->in, rows, rows, p->size) &&
		    !lt->layout(&plan->out, t->out, rows, rows, p->size) &&
		    !lt->find(lt->handle, plan->desc, plan->in, plan->in, plan->out, plan->out,
			      preference, 1, &plan->found, &n) &&
		    n == 1 && !plan->found.status;

	if (preference)
		lt->preference_destroy(preference);
	return fine;
}

static void free_plan(const struct lt *lt, const struct matmul_plan *plan)
{
	if (plan->out)
		lt->layout_destroy(plan->out);
	if (plan->in)
		lt->layout_destroy(plan->in);
	if (plan->desc)
		lt->desc_destroy(plan->desc);
}

static bool run_lt(const struct lt *lt, const struct product *p, const struct matmul_plan *plan,
		   uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (lt->product(lt->handle, plan->desc, p->alpha, p->a, plan->in, p->b, plan->in,
				p->beta, p->out, plan->out, p->out, plan->out,
				plan->found.algorithm, lt->workspace, WORKSPACE, NULL))
			return false;
	return true;
}

/* Starts N products with events around them. */
static bool begin_products(const struct cublaslt_calls *c, const struct matmul_type *t,
			   uint64_t memory, uint32_t size, uint32_t n)
{
	static const double one64 = 1, zero64;
	static const float one32 = 1, zero32;
	static const int32_t one_int = 1, zero_int;
	const void *alpha = t->compute == COMPUTE_64F	? (const void *)&one64
			    : t->compute == COMPUTE_32I ? (const void *)&one_int
							: (const void *)&one32;
	const void *beta = t->compute == COMPUTE_64F   ? (const void *)&zero64
			   : t->compute == COMPUTE_32I ? (const void *)&zero_int
						       : (const void *)&zero32;
	uint64_t bytes = (uint64_t)size * size * t->bytes, b_at = memory + bytes,
		 c_at = b_at + bytes;
	struct product p = {.type = t, .size = (int)size, .alpha = alpha, .beta = beta};
	struct matmul_plan plan = {.desc = NULL};
	bool fine;

	memcpy(&p.a, &memory, sizeof p.a);
	memcpy(&p.b, &b_at, sizeof p.b);
	memcpy(&p.out, &c_at, sizeof p.out);
	fine = (!t->lt || make_plan(&c->lt, &p, &plan)) && !cu.cuEventRecord(c->begin, NULL) &&
	       (t->lt ? run_lt(&c->lt, &p, &plan, n) : run_cublas(c, &p, n)) &&
	       !cu.cuEventRecord(c->end, NULL);
	free_plan(&c->lt, &plan);
	return fine;
}

static double end_products(const struct cublaslt_calls *c)
{
	float ms = 0;

	return cu.cuEventSynchronize(c->end) || cu.cuEventElapsedTime(&ms, c->begin, c->end)
		       ? NAN
		       : ms / 1e3;
}

/* Returns the seconds of N products; NAN on failure. */
static double seconds_of(const struct cublaslt_calls *c, const struct matmul_type *t,
			 uint64_t memory, uint32_t size, uint32_t n)
{
	return begin_products(c, t, memory, size, n) ? end_products(c) : NAN;
}

struct bench_products {
	struct cublaslt_calls calls;
	const struct matmul_type *type;
	uint64_t memory;
};

struct bench_products *bench_products(struct bench_run *run, const char *name, uint32_t max_size)
{
	struct bench_products *p = probe_allocate(1, sizeof *p);
	struct bench_kernel *kernel = build_fill(run);
	size_t in;

	if (!kernel || bench_is_dry(run) || !open_calls(run, &p->calls)) {
		free(p);
		return NULL;
	}
	for (unsigned i = 0; i < TYPES; i++)
		if (!strcmp(type[i].name, name))
			p->type = &type[i];
	if (p->type->lt)
		open_lt(run, &p->calls.lt);
	if (bench_arch(bench_gpu(run)) < p->type->arch || (p->type->lt && !p->calls.lt.handle)) {
		close_calls(&p->calls);
		free(p);
		return NULL;
	}
	in = (size_t)max_size * max_size * p->type->bytes;
	p->memory = bench_memory_alloc(run,
				       2 * in + (size_t)max_size * max_size * p->type->out_bytes);
	if (!p->memory || !fill_matrices(run, kernel, p->memory, 2 * in, p->type)) {
		bench_add_missing(bench_samples(run), "%s, %u rows: not enough memory", name,
				  max_size);
		close_calls(&p->calls);
		free(p);
		p = NULL;
	}
	return p;
}

bool bench_products_begin(struct bench_products *p, uint32_t size, uint32_t n)
{
	return begin_products(&p->calls, p->type, p->memory, size, n);
}

double bench_products_end(struct bench_products *p)
{
	return end_products(&p->calls);
}

void bench_products_free(struct bench_run *run, struct bench_products *p)
{
	bench_memory_free(run, p->memory);
	close_calls(&p->calls);
	free(p);
}

/*
 * Waits up to a second until the SM clock is that of a lightly loaded GPU. Returns false if it
 * stays lower. Products reach the power limit within some ms, and the reduced clock lasts for a
 * while: otherwise a sample would depend on what ran before it.
 */
static bool wait_for_boost(struct bench_run *run, struct bench_kernel *kernel,
			   const struct matmul_type *t)
{
	uint64_t begin = probe_now();

	while (probe_now() - begin < REST_NS && fill_matrices(run, kernel, 0, 0, t))
		if (!bench_below_boost(bench_gpu(run), bench_launch_mhz(run)))
			return true;
	return false;
}

/* Measures one size. Returns false if larger ones would take too long, or fail too. */
static bool measure_size(struct bench_run *run, const struct cublaslt_calls *c,
			 struct bench_kernel *kernel, const struct matmul_type *t, uint32_t size)
{
	size_t in = (size_t)size * size * t->bytes, out = (size_t)size * size * t->out_bytes;
	uint64_t memory = bench_memory_alloc(run, 2 * in + out);
	struct bench_point *point;
	double seconds = NAN;
	bool rested = true;
	uint32_t n;

	if (!memory)
		return false;
	/* The first product includes the library's initialization. */
	if (fill_matrices(run, kernel, memory, 2 * in, t) && seconds_of(c, t, memory, size, 1) >= 0)
		seconds = seconds_of(c, t, memory, size, 1);
	if (!(seconds < TOO_LONG)) {
		bench_add_missing(bench_samples(run), "%s from %u on: %s", t->name, size,
				  isnan(seconds) ? "rejected" : "takes too long");
		bench_memory_free(run, memory);
		return false;
	}
	n = (uint32_t)fmin(fmax(ceil(AWAITED / fmax(seconds, 1e-6)), 1), 1000);
	point = bench_add_point(run, t->name, "size", "Top/s", size);
	for (int i = 0; i < BENCH_REPEATS; i++) {
		rested = rested && wait_for_boost(run, kernel, t);
		seconds = seconds_of(c, t, memory, size, n);
		if (!(seconds > 0) || !fill_matrices(run, kernel, memory, 0, t))
			break;
		bench_add_sample(run, point, 2.0 * size * size * size * n / seconds / 1e12);
	}
	bench_memory_free(run, memory);
	return point->n == BENCH_REPEATS;
}

static void measure_samples(struct bench_run *run)
{
	struct bench_kernel *kernel = build_fill(run);
	struct cublaslt_calls calls = {0};

	if (!kernel || bench_is_dry(run) || !open_calls(run, &calls))
		return;
	open_lt(run, &calls.lt);
	for (unsigned i = 0; i < TYPES; i++) {
		if (bench_arch(bench_gpu(run)) < type[i].arch || (type[i].lt && !calls.lt.handle))
			continue;
		for (uint32_t size = MIN_SIZE; size <= MAX_SIZE; size *= 2)
			if (!measure_size(run, &calls, kernel, &type[i], size))
				break;
	}
	close_calls(&calls);
}

/* Table 8 of the study, where it is in GFLOPS and GOPS. */
static void add_published(struct bench_figures *figures)
{
	static const struct {
		const char *name;
		double t4, p4;
	} figure[] = {{"FP64", 0.253, 0.231},
		      {"FP32", 7.174, 6.944},
		      {"FP16", 41.616, 6.571},
		      {"int8", 74.934, 24.172}};

	for (unsigned i = 0; i < sizeof figure / sizeof *figure; i++) {
		bench_add_published(figures, figure[i].name, "best", "T4", figure[i].t4);
		bench_add_published(figures, figure[i].name, "best", "P4", figure[i].p4);
	}
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	bool any = false;

	for (uint32_t i = 0; i < samples->n; i++) {
		const struct bench_series *series = &samples->series[i];
		const struct bench_point *best = bench_find_best(series);

		BENCH_EACH(p, series) {
			bench_add_point_figure(figures, series->name, bench_format("size %g", p->x),
					       series, p);
			bench_mark_detail(figures, true);
		}
		if (!best)
			continue;
		any = true;
		bench_add_point_figure(figures, series->name, "best", series, best);
		bench_add_plot(figures, "products", "Matrix products by size", series, true, true);
	}
	if (any)
		add_published(figures);
}

BENCH(bench_matmul, "matmul", "M25",
      "matrix products by cuBLAS and cublasLt, where they are installed", measure_samples,
      derive_figures);
