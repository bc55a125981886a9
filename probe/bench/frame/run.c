/* SPDX-License-Identifier: MIT */
/* The context that a benchmark runs in: kernels, launches, memory. A failure is recorded as missing
 * and ends the benchmark. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "probe/bench/frame/internal.h"
#include "probe/lib/driver.h"

enum {
	NOT_READY = 600, /* CUDA_ERROR_NOT_READY */
	OUT_OF_MEMORY = 2,
	SECONDS_MAX = 60, /* timeout of a kernel */
	IDLE_NS = 500000000, /* after this idle time the clock may have dropped */
	ATTRIBUTE_MAX_DYNAMIC_SHARED = 8, /* CU_FUNC_ATTRIBUTE_* */
	ATTRIBUTE_CARVEOUT = 9,
	ATTRIBUTE_NON_PORTABLE_CLUSTER = 14,
	JIT_ERROR_LOG = 5, /* CU_JIT_* */
	JIT_ERROR_LOG_BYTES = 6,
	JIT_INPUT_PTX = 1,
};
#define DRY_ADDRESS 0x100000000000ull

struct bench_kernel {
	struct bench_kernel *next; /* made before it */
	char *name;
	struct bench_cubin cubin;
	void *module, *function;
};

const struct bench_gpu *bench_gpu(const struct bench_run *run)
{
	return &run->gpu;
}

struct bench_samples *bench_samples(struct bench_run *run)
{
	return run->samples;
}

bool bench_is_dry(const struct bench_run *run)
{
	return run->dry;
}

double bench_launch_mhz(const struct bench_run *run)
{
	return run->mhz;
}

double bench_launch_seconds(const struct bench_run *run)
{
	return run->seconds;
}

static void add_failure(struct bench_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void add_failure(struct bench_run *run, const char *format, ...)
{
	va_list ap;
	char text[1400];

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	run->failures++;
	bench_add_missing(run->samples, "%s", text);
}

/* Checks the result of a driver call. On an error records it, and whether the context is still
 * usable. */
static bool check_call(struct bench_run *run, const char *what, const char *of, int error)
{
	int after;

	if (!error)
		return true;
	after = run->stuck ? error : cu.cuStreamSynchronize(run->session.work);
	add_failure(run, "%s: %s: %s", of, what, probe_error_name(error));
	run->broken |= after != 0;
	return false;
}

/* ---- the driver's assembler ---- */

static int assemble_ptx(struct bench_run *run, const char *ptx, void **cubin, size_t *size,
			char log[1024])
{
	int option[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES}, error;
	void *value[] = {log, (void *)1023}, *state = NULL, *made = NULL;

	memset(log, 0, 1024);
	*size = 0;
	if (!cu.cuLinkCreate_v2 || !cu.cuLinkAddData_v2 || !cu.cuLinkComplete ||
	    !cu.cuLinkDestroy) {
		snprintf(log, 1024, "the driver has no cuLink functions");
		return -1;
	}
	error = cu.cuLinkCreate_v2(2, option, value, &state);
	if (!error)
		error = cu.cuLinkAddData_v2(state, JIT_INPUT_PTX, (void *)ptx, strlen(ptx) + 1,
					    "bench", 0, NULL, NULL);
	if (!error)
		error = cu.cuLinkComplete(state, &made, size);
	if (!error && (!made || !*size))
		error = -1;
	if (!error) {
		*cubin = probe_allocate(1, *size);
		memcpy(*cubin, made, *size);
	}
	if (error && !*log)
		snprintf(log, 1024, "%s",
			 error < 0 ? "no code was produced" : probe_error_name(error));
	if (state)
		cu.cuLinkDestroy(state);
	return error;
}

/* ---- kernels ---- */

static void free_kernel(struct bench_run *run, struct bench_kernel *k)
{
	if (k->module && !run->broken && !run->stuck)
		cu.cuModuleUnload(k->module);
	bench_cubin_free(&k->cubin);
	free(k->name);
	free(k);
}

struct bench_kernel *bench_kernel(struct bench_run *run, const struct bench_code *code)
{
	struct bench_text ptx = {NULL, 0, 0};
	struct bench_kernel *k;
	char log[1024], why[200];
	void *cubin = NULL;
	size_t size;
	int error;

	if (run->broken || run->stuck)
		return NULL;
	k = probe_allocate(1, sizeof(*k));
	k->name = probe_copy(code->name, SIZE_MAX);
	bench_write_ptx(&ptx, code, &run->gpu);
	error = run->assemble(run, ptx.data, &cubin, &size, log);
	bench_text_free(&ptx);
	if (error)
		add_failure(run, "%s: not assembled: %s", code->name, log);
	else if (!bench_check_cubin(&k->cubin, code, cubin, size, why))
		add_failure(run, "%s: rejected: %s", code->name, why);
	else if (run->dry ||
		 (check_call(run, "not loaded", code->name,
			     cu.cuModuleLoadData(&k->module, k->cubin.data)) &&
		  check_call(run, "kernel not found", code->name,
			     cu.cuModuleGetFunction(&k->function, k->module, "bench")))) {
		run->kernels++;
		free(cubin);
		k->next = run->made;
		return run->made = k;
	}
	free(cubin);
	free_kernel(run, k);
	return NULL;
}

struct bench_kernel *bench_build_kernel(struct bench_run *run, struct bench_text *text,
					const struct bench_code *code)
{
	struct bench_code whole = *code;
	struct bench_kernel *kernel;

	whole.body = text->data;
	kernel = bench_kernel(run, &whole);
	bench_text_free(text);
	return kernel;
}

const uint64_t (*bench_kernel_words(const struct bench_kernel *kernel, uint32_t *n))[2]
{
	*n = kernel->cubin.nwords;
	return (const uint64_t(*)[2])kernel->cubin.word;
}

const void *bench_kernel_cubin(const struct bench_kernel *kernel, size_t *size)
{
	*size = kernel->cubin.size;
	return kernel->cubin.data;
}

void *bench_kernel_function(const struct bench_kernel *kernel)
{
	return kernel->function;
}

uint64_t bench_results_address(const struct bench_run *run)
{
	return run->dry ? DRY_ADDRESS : run->data;
}

/* ---- launches ---- */

static int set_attribute(struct bench_kernel *k, int which, int value)
{
	return cu.cuFuncSetAttribute ? cu.cuFuncSetAttribute(k->function, which, value) : 0;
}

/* Launches once; arguments are copied at launch. LATER: as a programmatic dependent of the previous
 * launch. */
static int launch_one(struct bench_run *run, struct bench_kernel *k, const struct bench_launch *l,
		      uint64_t *argument, bool later)
{
	unsigned grid = l->grid ? l->grid : 1, block = l->block ? l->block : 1;
	struct probe_launch_attribute attribute[2] = {{0, {0}}};
	struct probe_launch_config c = {{grid, 1, 1},	   {block, 1, 1}, l->shared,
					run->session.work, attribute,	  0};
	void *parameter[10];

	for (int i = 0; i < 10; i++)
		parameter[i] = &argument[i];
	/* The value begins at byte 8. */
	if (l->cluster)
		attribute[c.attributes++] = (struct probe_launch_attribute){PROBE_LAUNCH_CLUSTER,
									    {0, l->cluster, 1, 1}};
	if (later)
		attribute[c.attributes++] =
			(struct probe_launch_attribute){PROBE_LAUNCH_PROGRAMMATIC, {0, 1}};
	if (!c.attributes)
		return cu.cuLaunchKernel(k->function, grid, 1, 1, block, 1, 1, l->shared,
					 run->session.work, parameter, NULL);
	return cu.cuLaunchKernelEx ? cu.cuLaunchKernelEx(&c, k->function, parameter, NULL) : -1;
}

/* Waits for the kernel. Gives up on a kernel that does not terminate. */
static int wait_for_kernel(struct bench_run *run, const char *name)
{
	uint64_t begin = probe_now();
	int error;

	while ((error = cu.cuStreamQuery(run->session.work)) == NOT_READY)
		if (probe_now() - begin > SECONDS_MAX * 1000000000ull) {
			add_failure(run,
				    "%s: did not terminate within %d s; no other kernel can run",
				    name, SECONDS_MAX);
			run->stuck = true;
			return 0;
		}
	return error;
}

static void compute_times(struct bench_run *run, const uint64_t s[8])
{
	double clocks = (double)(s[2] - s[0]), ns = (double)(s[3] - s[1]);

	run->mhz = s[2] > s[0] && s[3] > s[1] ? clocks * 1000 / ns : NAN;
	run->seconds = s[5] > s[4] ? (double)(s[5] - s[4]) / 1e9 : NAN;
}

static const void *launch_kernel(struct bench_run *run, struct bench_kernel *k,
				 const struct bench_launch *l, size_t size)
{
	static const uint64_t fresh[BENCH_CONTROL / 8] = {[4] = UINT64_MAX};
	uint64_t argument[10] = {run->control, run->data}, second[10], s[BENCH_CONTROL / 8];
	void *stream = run->session.work;
	int error = 0;

	memcpy(argument + 2, l->arg, sizeof(l->arg));
	if (l->overlap)
		argument[9] = 0;
	memcpy(second, argument, sizeof(second));
	second[9] = 1;
	if (l->shared)
		error = set_attribute(k, ATTRIBUTE_MAX_DYNAMIC_SHARED, (int)l->shared);
	if (!error && l->cluster > 8)
		error = set_attribute(k, ATTRIBUTE_NON_PORTABLE_CLUSTER, 1);
	if (!error)
		error = set_attribute(k, ATTRIBUTE_CARVEOUT,
				      l->no_shared	? 0
				      : l->carveout > 0 ? l->carveout
							: -1);
	if (!error)
		error = cu.cuMemcpyHtoDAsync_v2(run->control, fresh, sizeof(fresh), stream);
	if (!error && !l->keep && size)
		error = cu.cuMemsetD8Async(run->data, 0, size, stream);
	if (!error)
		error = launch_one(run, k, l, argument, false);
	if (!error && l->overlap)
		error = launch_one(run, k, l, second, true);
	if (!check_call(run, "not launched", k->name, error) ||
	    !check_call(run, "failed", k->name, wait_for_kernel(run, k->name)) || run->stuck)
		return NULL;
	error = cu.cuMemcpyDtoHAsync_v2(s, run->control, sizeof(s), stream);
	if (!error && size)
		error = cu.cuMemcpyDtoHAsync_v2(run->results, run->data, size, stream);
	if (!error)
		error = cu.cuStreamSynchronize(stream);
	if (!check_call(run, "its results", k->name, error))
		return NULL;
	run->last = probe_now();
	compute_times(run, s);
	return run->results;
}

void bench_run_spin(struct bench_run *run)
{
	struct bench_launch l = {.grid = (uint32_t)run->gpu.sms, .block = 128};

	l.arg[0] = 200000000; /* ns */
	if (run->spin && !run->dry && !run->broken && !run->stuck)
		launch_kernel(run, run->spin, &l, 0);
}

const void *bench_launch(struct bench_run *run, struct bench_kernel *kernel,
			 const struct bench_launch *launch, size_t size)
{
	run->mhz = run->seconds = NAN;
	if (size > BENCH_DATA)
		probe_die("%s: results exceed the results area", kernel->name);
	if (run->dry) {
		memset(run->results, 0, size);
		return run->results;
	}
	if (run->broken || run->stuck)
		return NULL;
	if (probe_now() - run->last > IDLE_NS)
		bench_run_spin(run);
	if (run->broken || run->stuck)
		return NULL;
	run->mhz = run->seconds = NAN;
	return launch_kernel(run, kernel, launch, size);
}

bool bench_repeat(struct bench_run *run, struct bench_kernel *kernel,
		  const struct bench_launch *launch, size_t size, bench_compute *value, void *arg,
		  struct bench_point *point)
{
	for (unsigned k = 0; k <= BENCH_REPEATS; k++) {
		const void *results = kernel ? bench_launch(run, kernel, launch, size) : NULL;
		double v;

		if (!results)
			return false;
		v = k ? value(run, results, arg) : NAN;
		if (!isnan(v))
			bench_add_sample(run, point, v);
	}
	return true;
}

/* ---- memory ---- */

uint64_t bench_memory_alloc(struct bench_run *run, size_t size)
{
	probe_address a = DRY_ADDRESS + ((uint64_t)run->nmemory << 38);
	int error = 0;

	if (run->broken || run->stuck || !size)
		return 0;
	if (!run->dry) {
		error = cu.cuMemAlloc_v2(&a, size);
		if (error != OUT_OF_MEMORY)
			check_call(run, "not allocated", "memory", error);
		if (!error) {
			error = cu.cuMemsetD8Async(a, 0, size, run->session.work);
			check_call(run, "not cleared", "memory", error);
		}
	}
	if (error)
		return 0;
	run->memory = probe_grow(run->memory, run->nmemory, sizeof(*run->memory));
	run->memory[run->nmemory++] = a;
	return a;
}

void bench_memory_free(struct bench_run *run, uint64_t address)
{
	for (uint32_t i = 0; i < run->nmemory; i++)
		if (run->memory[i] == address) {
			run->memory[i] = 0;
			if (!run->dry && !run->broken && !run->stuck)
				cu.cuMemFree_v2(address);
		}
}

bool bench_memory_write(struct bench_run *run, uint64_t to, const void *from, size_t size)
{
	int error;

	if (run->dry || run->broken || run->stuck)
		return run->dry;
	error = cu.cuMemcpyHtoDAsync_v2(to, from, size, run->session.work);
	if (!error)
		error = cu.cuStreamSynchronize(run->session.work);
	return check_call(run, "not written", "memory", error);
}

bool bench_memory_read(struct bench_run *run, void *to, uint64_t from, size_t size)
{
	int error;

	if (run->dry) {
		memset(to, 0, size);
		return true;
	}
	if (run->broken || run->stuck)
		return false;
	error = cu.cuMemcpyDtoHAsync_v2(to, from, size, run->session.work);
	if (!error)
		error = cu.cuStreamSynchronize(run->session.work);
	return check_call(run, "not read", "memory", error);
}

/* ---- a run ---- */

static const struct bench_code spin_code = {
	.name = "spin",
	.body = ".reg .u64 %t, %end; .reg .pred %p;\n"
		"mov.u64 %end, %globaltimer;\n"
		"add.u64 %end, %end, %b_arg0;\n"
		"spin:\n"
		"mov.u64 %t, %globaltimer;\n"
		"setp.lt.u64 %p, %t, %end;\n"
		"@%p bra spin;\n",
};

/* Builds and runs the spin kernel. Exits if kernels cannot be assembled or run, since nothing could
 * be measured. */
static void start_spin(struct bench_run *run)
{
	struct bench_samples own = {.bench = "spin"};

	run->samples = &own;
	run->spin = bench_kernel(run, &spin_code);
	if (!run->spin)
		probe_die("the driver cannot assemble kernels for this GPU: %s", own.missing[0]);
	bench_run_spin(run);
	if (own.nmissing)
		probe_die("kernels cannot run on this GPU: %s", own.missing[0]);
	bench_samples_free(&own);
	run->samples = NULL;
	run->made = NULL;
}

void bench_run_begin(struct bench_run *run)
{
	if (!run->assemble)
		run->assemble = assemble_ptx;
	run->results = probe_allocate(1, BENCH_DATA);
	run->mhz = run->seconds = NAN;
	if (bench_arch(&run->gpu) < 75)
		probe_die("%s is sm_%u; benchmarks need sm_75 (Turing) or newer", run->gpu.name,
			  bench_arch(&run->gpu));
	start_spin(run);
	run->kernels = run->failures = 0;
}

void bench_run_measure(struct bench_run *run, const struct bench *bench,
		       struct bench_samples *samples)
{
	run->samples = samples;
	if (bench->arch > bench_arch(&run->gpu)) {
		bench_add_missing(samples, "needs sm_%u or newer, this is sm_%u", bench->arch,
				  bench_arch(&run->gpu));
		return;
	}
	bench->measure(run);
	for (struct bench_kernel *k; (k = run->made); free_kernel(run, k))
		run->made = k->next;
	for (uint32_t i = 0; i < run->nmemory; i++)
		if (run->memory[i])
			bench_memory_free(run, run->memory[i]);
	run->nmemory = 0;
}

void bench_run_close(struct bench_run *run)
{
	free_kernel(run, run->spin);
	free(run->results);
	free(run->memory);
}
