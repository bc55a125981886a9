/* SPDX-License-Identifier: MIT */
/*
 * The test kernels of tests/sass, rewritten with counting, on a real GPU: the memory that they
 * write and their counters must equal the interpreter's results for the originals. victims ROOT
 * [--long]; --long: warps that execute 2^32 instructions. Exits with 77 if no cubin is for this
 * GPU.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sass/count.h"
#include "tests/sass/victims.h"

enum { VICTIMS = 64 };

static const struct victim_set *set;
static CUdeviceptr slots, in, out;
static void *cubin;
static size_t size;
static struct nvs_count_words words;
static unsigned right, wrong;
static int cubins_of; /* architecture */
static struct {
	uint64_t memory;
	struct interp_counts counts;
} truth[VICTIMS];

static void must(CUresult r, const char *what)
{
	const char *name = "?";

	if (!r)
		return;
	cuGetErrorName(r, &name);
	printf("%s: %s\n", what, name);
	exit(1);
}

static uint64_t counters(void *arg, const char *kernel)
{
	(void)arg;
	for (unsigned i = 0; i < set->count; i++)
		if (!strcmp(set->victims[i].name, kernel))
			return slots + i * NVS_COUNT_BYTES;
	return 0;
}

/* Parts of a warp meet by their own timing there: how many times it runs is the GPU's choice. */
static bool by_timing(const char *name)
{
	return !strcmp(name, "tangled") || !strcmp(name, "recurse");
}

static void launch(CUmodule module, const struct victim *v, int k)
{
	void *args[] = {&out, &in, (void *)(uintptr_t)&v->n, &k};
	CUfunction f;

	must(cuModuleGetFunction(&f, module, v->name), v->name);
	must(cuMemsetD8(out, 0, VICTIM_WORDS * 4), "cuMemsetD8");
	must(cuLaunchKernel(f, v->grid[0], v->grid[1], 1, v->block[0], v->block[1], 1, v->shared,
			    NULL, args, NULL),
	     v->name);
	must(cuCtxSynchronize(), v->name);
}

static struct nvs_count_sums sums_of(unsigned number)
{
	static unsigned char host[NVS_COUNT_BYTES];
	struct nvs_count_sums sums = {0};

	must(cuMemcpyDtoH(host, slots + number * NVS_COUNT_BYTES, sizeof(host)), "cuMemcpyDtoH");
	nvs_count_sum(host, NVS_COUNT_SLOTS, &sums);
	return sums;
}

static void way(struct nvs_count_options o)
{
	static uint32_t memory[VICTIM_WORDS];
	struct nvs_counted counted = {0};
	CUmodule module;

	o.counters = counters;
	if (nvs_count_rewrite(cubin, size, &words, &o, &nvs_sass_heap, &counted) || !counted.cubin)
		return;
	must(cuModuleLoadData(&module, counted.cubin), "cuModuleLoadData");
	must(cuMemsetD8(slots, 0, VICTIMS * NVS_COUNT_BYTES), "cuMemsetD8");
	for (uint32_t j = 0; j < counted.n; j++)
		for (unsigned i = 0; i < set->count; i++) {
			struct nvs_count_sums sums;
			uint64_t warps, threads;

			if (strcmp(set->victims[i].name, counted.kernel[j].name) ||
			    !counted.kernel[j].counters)
				continue;
			launch(module, &set->victims[i], set->victims[i].k);
			must(cuMemcpyDtoH(memory, out, sizeof(memory)), "cuMemcpyDtoH");
			sums = sums_of(i);
			warps = o.skip_off ? truth[i].counts.warp_on : truth[i].counts.warp;
			threads = o.skip_off ? truth[i].counts.pred_on : truth[i].counts.thread;
			if (victim_hash(memory, sizeof(memory)) == truth[i].memory &&
			    sums.threads == threads &&
			    (sums.warps == warps || by_timing(set->victims[i].name)) &&
			    !sums.wrapped) {
				right++;
				continue;
			}
			wrong++;
			printf("%s, place %u, home %u%s: memory %s, warps %llu not %llu, threads "
			       "%llu not %llu%s\n",
			       set->victims[i].name, o.place, o.home, o.skip_off ? ", skip" : "",
			       victim_hash(memory, sizeof(memory)) == truth[i].memory ? "same"
										      : "other",
			       (unsigned long long)sums.warps, (unsigned long long)warps,
			       (unsigned long long)sums.threads, (unsigned long long)threads,
			       sums.wrapped ? ", wrapped" : "");
		}
	cuModuleUnload(module);
	nvs_counted_free(&counted, &nvs_sass_heap);
}

static struct interp_counts turns(unsigned number, int k)
{
	struct victim_run run = {.cubin = cubin, .size = size};
	struct interp_counts counts = {0};
	struct victim v = set->victims[number];
	char why[256];
	uint64_t memory;

	v.k = k;
	victim_run(&v, &run, &counts, &memory, why, sizeof(why));
	return counts;
}

/* As many turns of a loop as an int holds: each eight of them are as many instructions. */
static void longest(enum nvs_count_place place)
{
	struct nvs_count_options o = {.warps = true,
				      .threads = true,
				      .place = place,
				      .home = NVS_COUNT_UNIFORM,
				      .counters = counters};
	struct nvs_counted counted = {0};
	struct nvs_count_sums sums;
	struct interp_counts a, b;
	unsigned i = 0;
	uint64_t more, warps, threads;
	CUmodule module;

	while (strcmp(set->victims[i].name, "unrolled"))
		i++;
	a = turns(i, 79);
	b = turns(i, 87);
	more = (0x7fffffff - 79) / 8;
	warps = a.warp + (b.warp - a.warp) * more;
	threads = a.thread + (b.thread - a.thread) * more;
	if (nvs_count_rewrite(cubin, size, &words, &o, &nvs_sass_heap, &counted) || !counted.cubin)
		return;
	must(cuModuleLoadData(&module, counted.cubin), "cuModuleLoadData");
	must(cuMemsetD8(slots, 0, VICTIMS * NVS_COUNT_BYTES), "cuMemsetD8");
	launch(module, &set->victims[i], 0x7fffffff);
	sums = sums_of(i);
	if (sums.warps == warps && sums.threads == threads && !sums.wrapped && !sums.warps_wrapped)
		right++;
	else
		wrong++;
	printf("long, place %u: warps %llu of %llu, threads %llu of %llu%s\n", place,
	       (unsigned long long)sums.warps, (unsigned long long)warps,
	       (unsigned long long)sums.threads, (unsigned long long)threads,
	       sums.wrapped ? ", wrapped" : "");
	nvs_counted_free(&counted, &nvs_sass_heap);
}

static void open_gpu(void)
{
	static uint32_t data[VICTIM_WORDS];
	const char *missing = "";
	int major = 0, minor = 0;
	uint64_t x = 42;
	size_t bytes;
	char file[64];
	CUdevice device;
	CUcontext context;
	void *assembled;

	must(cuInit(0), "cuInit");
	must(cuDeviceGet(&device, 0), "cuDeviceGet");
	cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
	cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	if (major < 7 || major > 9 || (major == 7 && minor < 5)) {
		printf("no cubin is for sm_%d%d\n", major, minor);
		exit(77);
	}
	must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	cubins_of = major == 7 ? 75 : major * 10;
	snprintf(file, sizeof(file), "words-sm_%d.cubin", major * 10 + minor);
	assembled = victim_file(file, &bytes);
	if (nvs_count_words(assembled, bytes, &words, &missing)) {
		printf("%s: no %s\n", file, missing);
		exit(1);
	}
	must(cuMemAlloc(&slots, VICTIMS * NVS_COUNT_BYTES), "cuMemAlloc");
	must(cuMemAlloc(&in, sizeof(data)), "cuMemAlloc");
	must(cuMemAlloc(&out, sizeof(data)), "cuMemAlloc");
	for (unsigned i = 0; i < VICTIM_WORDS; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		data[i] = x >> 32;
	}
	must(cuMemcpyHtoD(in, data, sizeof(data)), "cuMemcpyHtoD");
}

static void all_ways(void)
{
	char file[64];

	snprintf(file, sizeof(file), "%s-sm_%d.cubin", set->file, cubins_of);
	cubin = victim_file(file, &size);
	for (unsigned i = 0; i < set->count; i++) {
		struct victim_run run = {.cubin = cubin, .size = size};
		char why[256] = "";

		memset(&truth[i], 0, sizeof(truth[i]));
		victim_run(&set->victims[i], &run, &truth[i].counts, &truth[i].memory, why,
			   sizeof(why));
	}
	for (unsigned i = 0; i < 24; i++)
		way((struct nvs_count_options){.warps = true,
					       .threads = true,
					       .skip_off = i & 1,
					       .place = i / 2 % 3,
					       .home = i / 6});
}

int main(int argc, char **argv)
{
	if (argc < 2 || chdir(argv[1])) {
		fprintf(stderr, "usage: victims ROOT [--long]\n");
		return 2;
	}
	open_gpu();
	/* The first of them, which --long is about, comes last. */
	for (unsigned i = victim_set_count; i-- > 0;) {
		set = &victim_sets[i];
		if (cubins_of >= (int)set->since)
			all_ways();
	}
	for (int place = NVS_COUNT_INLINE; argc > 2 && place <= NVS_COUNT_STUB; place++)
		longest(place);
	printf("%u right, %u wrong\n", right, wrong);
	return wrong || !right;
}
