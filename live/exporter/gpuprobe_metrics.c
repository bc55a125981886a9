/* SPDX-License-Identifier: MIT */
/* Samples under the metric names of other exporters, for existing dashboards. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "live/exporter/metrics.h"

/* Returns true if NAME is OF with suffixes: cuStreamCreate_v2_ptsz is a form of cuStreamCreate. */
static bool is_form(const char *name, const char *of)
{
	size_t n = strlen(of);

	if (strncmp(name, of, n))
		return false;
	name += n;
	if (!strncmp(name, "_v", 2))
		name += 2 + strspn(name + 2, "0123456789");
	return !*name || !strcmp(name, "_ptsz") || !strcmp(name, "_ptds");
}

/* Completed calls of the entry points NAMES. */
static uint64_t sum_calls(const struct nvs_page *page, const char *const *names)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < page->napis; i++)
		for (int k = 0; names[k]; k++)
			if (is_form(page->apis[i].name, names[k]))
				sum += page->apis[i].calls.total;
	return sum;
}

/* Bounds from 4 bytes to 16 GiB, in steps of 16. */
enum { SIZE_BOUNDS = 9 };

static void report_copies(struct nvs_exposition *e, const struct nvs_exported_process *p)
{
	static const char *const kinds[] = {
		[NVS_LIVE_H2D] = "MemcpyHostToDevice",
		[NVS_LIVE_D2H] = "MemcpyDeviceToHost",
		[NVS_LIVE_D2D] = "MemcpyDeviceToDevice",
		[NVS_LIVE_H2H] = "MemcpyHostToHost",
	};

	for (size_t d = 0; d < sizeof(kinds) / sizeof(*kinds); d++) {
		const struct nvs_page_copy *copy = p->page->copy[d];
		uint64_t bounds[SIZE_BOUNDS], counts[SIZE_BOUNDS + 1] = {0}, sum = 0;
		char text[64];

		for (int i = 0; i < SIZE_BOUNDS; i++)
			bounds[i] = 1ull << (2 + 4 * i);
		for (int i = 0; i < NVS_LIVE_SIZES; i++) {
			int at = i ? i / 2 : 0;

			counts[at < SIZE_BOUNDS ? at : SIZE_BOUNDS] +=
				p->page->copy_sizes[d][i].total;
			sum += p->page->copy_sizes[d][i].total;
		}
		if (!sum)
			continue;
		snprintf(text, sizeof(text), "cuda_memcpy_kind=\"%s\"", kinds[d]);
		nvs_exposition_add_histogram(
			e, nvs_sample_labels(p, NULL, text), bounds, counts, SIZE_BOUNDS,
			copy[NVS_LIVE_SYNC].bytes.total + copy[NVS_LIVE_ASYNC].bytes.total);
	}
}

static uint64_t sum_memory(const struct nvs_page *page, enum nvs_family_number family)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < page->nmemory; i++) {
		const struct nvs_page_memory *m = &page->memory[i];

		if (family == NVS_F_OBI_HOST_REGISTER ? m->kind == NVS_LIVE_REGISTERED
						      : nvs_live_kind_on_gpu(m->kind))
			sum += family == NVS_F_OBI_FREED ? m->freed.total : m->bytes.total;
	}
	return sum;
}

/* The two counters may be from slightly different moments. */
static uint64_t count_succeeded(const struct nvs_page_api *a)
{
	return a->calls.total > a->failed.total ? a->calls.total - a->failed.total : 0;
}

void nvs_process_update_gpuprobe(struct nvs_exported_process *p, const struct nvs_page *page,
				 uint32_t top)
{
	static const struct {
		const char *type, *of;
	} calls_of[] = {{"cudaMalloc", "cuMemAlloc"}, {"cudaFree", "cuMemFree"}};
	char text[2300];

	nvs_series_free(&p->probe_leaks);
	nvs_series_begin(&p->probe_leaks, 1);
	for (uint32_t i = 0; i < page->nallocs; i++) {
		snprintf(text, sizeof(text), "offset=\"%" PRIu64 "\"", page->allocs[i].address);
		if (page->allocs[i].kind == NVS_LIVE_DEVICE)
			nvs_series_add(&p->probe_leaks, text, &page->allocs[i].bytes);
	}
	nvs_series_choose_top(&p->probe_leaks, top, 0);

	nvs_series_begin(&p->probe_launches, 1);
	for (uint32_t i = 0; i < page->nkernels; i++) {
		const struct nvs_page_kernel *k = &page->kernels[i];
		uint64_t launches = k->direct.total + k->graph.total;
		int n = snprintf(text, sizeof(text),
				 "kernel_offset=\"%" PRIu64 "\",kernel_symbol=\"", k->function);

		n += (int)nvs_escape_label(text + n, 2100, *k->name ? k->name : "unknown kernel");
		memcpy(text + n, "\"", 2);
		nvs_series_add(&p->probe_launches, i ? text : NULL, &launches);
	}
	nvs_series_choose_top(&p->probe_launches, top, 0);

	nvs_series_free(&p->probe_results);
	nvs_series_begin(&p->probe_results, 1);
	for (int c = 0; c < 2; c++) {
		uint64_t good = 0;

		for (uint32_t i = 0; i < page->napis; i++)
			if (is_form(page->apis[i].name, calls_of[c].of))
				good += count_succeeded(&page->apis[i]);
		snprintf(text, sizeof(text), "call_type=\"%s\",return_code=\"0\"",
			 calls_of[c].type);
		nvs_series_add(&p->probe_results, text, &good);
		for (uint32_t i = 1; i < page->nresults; i++) {
			const struct nvs_page_result *r = &page->results[i];

			if (r->api >= page->napis ||
			    !is_form(page->apis[r->api].name, calls_of[c].of))
				continue;
			snprintf(text, sizeof(text), "call_type=\"%s\",return_code=\"%" PRIu32 "\"",
				 calls_of[c].type, r->result);
			nvs_series_add(&p->probe_results, text, &r->count.total);
		}
	}
	nvs_series_choose_top(&p->probe_results, top, 0);
}

void nvs_report_foreign_family(struct nvs_exposition *e, enum nvs_family_number family,
			       const struct nvs_exported_process *p)
{
	static const char *const launch[] = {"cuLaunchKernel",
					     "cuLaunchKernelEx",
					     "cuLaunchCooperativeKernel",
					     "cuLaunch",
					     "cuLaunchGrid",
					     "cuLaunchGridAsync",
					     NULL};
	static const char *const graph[] = {"cuGraphLaunch", NULL};
	static const char *const stream[] = {"cuStreamSynchronize", NULL};
	static const char *const device[] = {"cuCtxSynchronize", NULL};
	static const char *const event[] = {"cuEventRecord", "cuEventRecordWithFlags", NULL};
	static const char *const make[] = {"cuStreamCreate", "cuStreamCreateWithPriority", NULL};
	static const char *const destroy[] = {"cuStreamDestroy", NULL};
	static const char *const wait[] = {"cuEventSynchronize", NULL};
	static const struct {
		enum nvs_family_number family;
		const char *const *names;
	} counted[] = {
		{NVS_F_OBI_LAUNCH, launch},
		{NVS_F_OBI_GRAPH_LAUNCH, graph},
		{NVS_F_OBI_STREAM_SYNCHRONIZE, stream},
		{NVS_F_OBI_DEVICE_SYNCHRONIZE, device},
		{NVS_F_OBI_EVENT_RECORD, event},
		{NVS_F_OBI_STREAM_CREATE, make},
		{NVS_F_OBI_STREAM_DESTROY, destroy},
		{NVS_F_OBI_EVENT_SYNCHRONIZE, wait},
	};

	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++)
		if (counted[i].family == family)
			nvs_exposition_add(e, p->common, sum_calls(p->page, counted[i].names),
					   NULL);
	if (family == NVS_F_OBI_ALLOCATIONS || family == NVS_F_OBI_HOST_REGISTER ||
	    family == NVS_F_OBI_FREED)
		nvs_exposition_add(e, p->common, sum_memory(p->page, family), NULL);
	if (family == NVS_F_OBI_COPIES)
		report_copies(e, p);
}
