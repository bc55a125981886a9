/* SPDX-License-Identifier: MIT */
/* Groups a page's rows by the labels of their samples: rows with the same name become one series.
 *  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "nvsnoop/calls.h"
#include "live/exporter/process_labels.h"

enum { MEMORY_ROWS = 200, CHANNELS = 64 };

/* A list of labels, without braces. */
struct labels {
	char text[4600];
	size_t n;
};

/* Omits the label if VALUE is NULL or "", which Prometheus treats the same. */
static void add_label(struct labels *l, const char *name, const char *value)
{
	if (!value || !*value || sizeof(l->text) - l->n < 2200)
		return;
	l->n += (size_t)snprintf(l->text + l->n, sizeof(l->text) - l->n, "%s%s=\"", l->n ? "," : "",
				 name);
	l->n += nvs_escape_label(l->text + l->n, 2100, value);
	memcpy(l->text + l->n, "\"", 2);
	l->n++;
}

/* Returns the label list for VALUE, or NULL if it counts as `other', as a name that is itself
 * "other" does. */
static const char *name_label(struct labels *l, const char *name, const char *value)
{
	l->n = 0;
	if (!*value || !strcmp(value, "other"))
		return NULL;
	add_label(l, name, value);
	return l->text;
}

struct nvs_exported_process *nvs_process_new(const struct nvs_page *page)
{
	struct nvs_exported_process *p = calloc(1, sizeof(*p));
	struct labels l = {.n = 0};
	char pid[16], number[24];

	if (!p)
		return NULL;
	p->pid = page->pid;
	p->start_time = page->start_time;
	p->pid_namespace = page->pid_namespace;
	snprintf(pid, sizeof(pid), "%" PRIu32, page->pid);
	snprintf(number, sizeof(number), "%" PRIu64, page->pid_namespace);
	add_label(&l, "pid", pid);
	add_label(&l, "rank", page->rank);
	/* Containers have PIDs of their own, which may be equal. */
	if (page->pid_namespace)
		add_label(&l, "pid_namespace", number);
	memcpy(p->common, l.text, l.n < sizeof(p->common) ? l.n : 0);
	return p;
}

static void add_apis(struct nvs_exported_process *p, const struct nvs_page *page, uint32_t top)
{
	struct labels l;

	nvs_series_begin(&p->apis, NVS_API_COLUMNS);
	for (uint32_t i = 0; i < page->napis; i++) {
		const struct nvs_page_api *a = &page->apis[i];
		uint64_t values[NVS_API_COLUMNS] = {a->calls.total, a->ns.total};

		memcpy(values + NVS_API_BUCKETS, a->buckets, sizeof(a->buckets));
		nvs_series_add(&p->apis, name_label(&l, "api", a->name), values);
	}
	nvs_series_choose_top(&p->apis, top, NVS_API_CALLS);
}

static void add_results(struct nvs_exported_process *p, const struct nvs_page *page, uint32_t top)
{
	nvs_series_begin(&p->results, 1);
	for (uint32_t i = 0; i < page->nresults; i++) {
		const struct nvs_page_result *r = &page->results[i];
		const char *name = nvs_call_error(r->result);
		struct labels l = {.n = 0};
		char number[16];

		if (!r->count.total)
			continue;
		snprintf(number, sizeof(number), "%" PRIu32, r->result);
		if (!i || r->api >= page->napis ||
		    !name_label(&l, "api", page->apis[r->api].name)) {
			nvs_series_add(&p->results, NULL, &r->count.total);
			continue;
		}
		add_label(&l, "result", name && *name ? name : number);
		nvs_series_add(&p->results, l.text, &r->count.total);
	}
	nvs_series_choose_top(&p->results, top, 0);
}

static void add_kernels(struct nvs_exported_process *p, const struct nvs_page *page, uint32_t top)
{
	struct labels l;

	nvs_series_begin(&p->kernels, NVS_KERNEL_COLUMNS);
	for (uint32_t i = 0; i < page->nkernels; i++) {
		const struct nvs_page_kernel *k = &page->kernels[i];
		uint64_t values[] = {k->direct.total, k->graph.total,
				     k->direct.total + k->graph.total, k->gpu_ns.total,
				     k->gpu.weight};

		nvs_series_add(&p->kernels, name_label(&l, "kernel", k->name), values);
	}
	nvs_series_choose_top(&p->kernels, top, NVS_KERNEL_BOTH);
}

/* GPU is a row number + 1. */
static void label_gpu(struct labels *l, const struct nvs_page *page, uint32_t gpu)
{
	char uuid[48];

	if (!gpu || gpu > page->ngpus)
		return;
	nvs_format_uuid(uuid, page->gpus[gpu - 1].uuid);
	add_label(l, "UUID", uuid);
}

static void add_memory(struct nvs_exported_process *p, const struct nvs_page *page)
{
	nvs_series_free(&p->memory);
	nvs_series_begin(&p->memory, NVS_MEMORY_COLUMNS);
	for (uint32_t i = 0; i < page->nmemory; i++) {
		const struct nvs_page_memory *m = &page->memory[i];
		uint64_t values[] = {m->live,	     m->live_count,	     m->peak,
				     m->bytes.total, m->failed_allocs.total, 1};
		struct labels l = {.n = 0};

		label_gpu(&l, page, m->gpu);
		add_label(&l, "kind", nvs_live_kind_name(m->kind));
		nvs_series_add(&p->memory, l.text, values);
	}
	nvs_series_choose_top(&p->memory, MEMORY_ROWS, NVS_MEMORY_THERE);
}

static void add_sites(struct nvs_exported_process *p, const struct nvs_page *page, uint32_t top)
{
	struct labels l;

	nvs_series_free(&p->sites);
	nvs_series_begin(&p->sites, 1);
	for (uint32_t i = 0; i < page->nsites; i++)
		nvs_series_add(&p->sites, name_label(&l, "site", page->sites[i].name),
			       &page->sites[i].live);
	nvs_series_choose_top(&p->sites, top, 0);
}

static void add_channels(struct nvs_exported_process *p, const struct nvs_page *page)
{
	nvs_series_free(&p->channels);
	nvs_series_begin(&p->channels, NVS_CHANNEL_COLUMNS);
	for (uint32_t i = 0; i < page->nchannels; i++) {
		const struct nvs_page_channel *c = &page->channels[i];
		uint64_t pending = c->pending == NVS_LIVE_UNKNOWN ? 0 : c->pending + 1;
		uint64_t values[] = {c->used == NVS_NONE ? 0 : (uint64_t)c->used + 1, pending,
				     c->completed == NVS_LIVE_UNKNOWN ? 0 : c->completed + 1,
				     pending + 1};
		struct labels l = {.n = 0};
		char number[16];

		snprintf(number, sizeof(number), "%" PRIu32, c->channel);
		label_gpu(&l, page, c->gpu);
		add_label(&l, "channel", number);
		nvs_series_add(&p->channels, l.text, values);
	}
	nvs_series_choose_top(&p->channels, CHANNELS, NVS_CHANNEL_RANK);
}

void nvs_process_update(struct nvs_exported_process *p, const struct nvs_page *page,
			const struct nvs_scrape_options *o)
{
	p->page = page;
	add_apis(p, page, o->top);
	add_results(p, page, o->top);
	add_kernels(p, page, o->top);
	add_memory(p, page);
	add_sites(p, page, o->top);
	add_channels(p, page);
	if (o->gpuprobe)
		nvs_process_update_gpuprobe(p, page, o->top);
}

void nvs_process_end_scrape(struct nvs_exported_process *p)
{
	nvs_series_end(&p->apis);
	nvs_series_end(&p->results);
	nvs_series_end(&p->kernels);
	nvs_series_end(&p->probe_launches);
	p->page = NULL;
}

void nvs_process_free(struct nvs_exported_process *p)
{
	nvs_series_free(&p->apis);
	nvs_series_free(&p->results);
	nvs_series_free(&p->kernels);
	nvs_series_free(&p->memory);
	nvs_series_free(&p->sites);
	nvs_series_free(&p->channels);
	nvs_series_free(&p->probe_leaks);
	nvs_series_free(&p->probe_launches);
	nvs_series_free(&p->probe_results);
	free(p);
}
