/* SPDX-License-Identifier: MIT */
/* Writes the samples of nvsnoop's own metric families for one process. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "nvsnoop/decode.h"
#include "live/exporter/metrics.h"

enum { GPUS = 64 };

const char *nvs_sample_labels(const struct nvs_exported_process *p,
			      const struct nvs_series_name *one, const char *text)
{
	static char all[5000];
	const char *own = one ? one->labels : text;

	snprintf(all, sizeof(all), "%s%s%s", p->common, *own ? "," : "", own);
	return all;
}

/* Returns true if an earlier row has the same UUID: a duplicate sample is an error. */
static bool is_duplicate(const struct nvs_page *page, uint32_t gpu)
{
	for (uint32_t i = 0; i < gpu; i++)
		if (!memcmp(page->gpus[i].uuid, page->gpus[gpu].uuid, sizeof(page->gpus[i].uuid)))
			return true;
	return false;
}

/* Returns NULL, which omits the label, for an unknown value. */
static const char *known(const char *text)
{
	return *text ? text : NULL;
}

static void report_info(struct nvs_exposition *e, const struct nvs_exported_process *p)
{
	const struct nvs_page *page = p->page;
	const char *const *w = page->workload;
	uint32_t i = 0;

	do {
		const struct nvs_page_gpu *g = i < page->ngpus ? &page->gpus[i] : NULL;
		char uuid[48] = "";

		if (g && is_duplicate(page, i))
			continue;
		if (g)
			nvs_format_uuid(uuid, g->uuid);
		nvs_exposition_add(
			e, p->common, 1, "program", page->program, "host", page->host, "job",
			page->job, "driver", page->driver, "UUID", g ? uuid : NULL, "gpu_name",
			g ? g->name : NULL, "launcher", known(page->launcher), "world_size",
			known(page->size), "local_rank", known(page->local_rank), "pod",
			known(w[NVS_LIVE_POD]), "namespace", known(w[NVS_LIVE_POD_NAMESPACE]),
			"pod_uid", known(w[NVS_LIVE_POD_UID]), "container",
			known(w[NVS_LIVE_CONTAINER]), "container_id",
			known(w[NVS_LIVE_CONTAINER_ID]), "node", known(w[NVS_LIVE_NODE]),
			"slurm_job_id", known(w[NVS_LIVE_SLURM_JOB]), NULL);
	} while (++i < page->ngpus && i < GPUS);
}

static void report_series(struct nvs_exposition *e, const struct nvs_exported_process *p,
			  const struct nvs_series *s, uint32_t column, const char *other)
{
	uint64_t rest[NVS_SERIES_COLUMNS];

	for (uint32_t i = 0; i < s->n; i++)
		if (s->all[i]->shown)
			nvs_exposition_add(e, nvs_sample_labels(p, s->all[i], NULL),
					   nvs_series_get_value(s, s->all[i], column), NULL);
	if (nvs_series_get_other(s, rest))
		nvs_exposition_add(e, nvs_sample_labels(p, NULL, other), rest[column], NULL);
}

static void report_busy(struct nvs_exposition *e, const struct nvs_exported_process *p)
{
	const struct nvs_page *page = p->page;

	for (uint32_t i = 0; i < page->ngpus && i < GPUS; i++)
		for (int k = 0; k < NVS_LIVE_ENGINES && !is_duplicate(page, i); k++) {
			char uuid[48];

			nvs_format_uuid(uuid, page->gpus[i].uuid);
			nvs_exposition_add(e, p->common, page->gpus[i].busy_ns[k].total, "UUID",
					   uuid, "engine",
					   nvs_live_engine_name((enum nvs_live_engine)k), NULL);
		}
}

static void report_launches(struct nvs_exposition *e, const struct nvs_exported_process *p)
{
	static const char *const origins[] = {"direct", "graph"};
	const struct nvs_series *s = &p->kernels;
	uint64_t rest[NVS_SERIES_COLUMNS];
	bool other = nvs_series_get_other(s, rest);

	for (uint32_t c = NVS_KERNEL_DIRECT; c <= NVS_KERNEL_GRAPH; c++) {
		for (uint32_t i = 0; i < s->n; i++)
			if (s->all[i]->shown)
				nvs_exposition_add(e, nvs_sample_labels(p, s->all[i], NULL),
						   nvs_series_get_value(s, s->all[i], c), "origin",
						   origins[c], NULL);
		if (other)
			nvs_exposition_add(e, nvs_sample_labels(p, NULL, "kernel=\"other\""),
					   rest[c], "origin", origins[c], NULL);
	}
}

/* Every third bound of the page's histogram: 1 us to 17 s in steps of 8. */
enum { FIRST = 4, STEP = 3, BOUNDS = 9 };

static void report_histogram(struct nvs_exposition *e, const char *labels, const uint64_t *values)
{
	uint64_t bounds[BOUNDS], counts[BOUNDS + 1] = {0};

	for (int i = 0; i < BOUNDS; i++)
		bounds[i] = 1ull << (FIRST + STEP * i + NVS_LIVE_BUCKET_SHIFT);
	for (int i = 0; i < NVS_LIVE_BUCKETS; i++) {
		int at = i <= FIRST ? 0 : (i - FIRST + STEP - 1) / STEP;

		counts[at < BOUNDS ? at : BOUNDS] += values[NVS_API_BUCKETS + i];
	}
	nvs_exposition_add_histogram(e, labels, bounds, counts, BOUNDS, values[NVS_API_NS]);
}

static void report_durations(struct nvs_exposition *e, const struct nvs_exported_process *p)
{
	uint64_t values[NVS_SERIES_COLUMNS];

	for (uint32_t i = 0; i < p->apis.n; i++) {
		if (!p->apis.all[i]->shown)
			continue;
		for (uint32_t c = 0; c < NVS_API_COLUMNS; c++)
			values[c] = nvs_series_get_value(&p->apis, p->apis.all[i], c);
		report_histogram(e, nvs_sample_labels(p, p->apis.all[i], NULL), values);
	}
	if (nvs_series_get_other(&p->apis, values))
		report_histogram(e, nvs_sample_labels(p, NULL, "api=\"other\""), values);
}

/* Counts the outermost calls of all threads, and finds the one that began first. */
static uint32_t count_in_flight(const struct nvs_page *page, const struct nvs_page_call **oldest)
{
	uint32_t n = 0;

	*oldest = NULL;
	for (uint32_t i = 0; i < page->nthreads; i++) {
		const struct nvs_page_thread *t = &page->threads[i];

		if (!t->ncalls)
			continue;
		n++;
		if (!*oldest || t->calls[0].begin_ns < (*oldest)->begin_ns)
			*oldest = &t->calls[0];
	}
	return n;
}

/* Time since NS, which may be slightly later than the page's time. */
static uint64_t age_of(const struct nvs_page *page, uint64_t ns)
{
	return page->mono_ns > ns ? page->mono_ns - ns : 0;
}

static void report_in_flight(struct nvs_exposition *e, const struct nvs_exported_process *p,
			     bool seconds)
{
	const struct nvs_page_call *call;
	uint32_t n = count_in_flight(p->page, &call);

	if (p->page->gone)
		return;
	if (!seconds)
		nvs_exposition_add(e, p->common, n, NULL);
	else if (call)
		nvs_exposition_add(
			e, p->common, age_of(p->page, call->begin_ns), "api",
			call->api < p->page->napis ? p->page->apis[call->api].name : NULL, NULL);
}

static void report_copies(struct nvs_exposition *e, const struct nvs_exported_process *p,
			  enum nvs_family_number family)
{
	for (int d = NVS_LIVE_H2D; d <= NVS_LIVE_ANY; d++)
		for (int m = 0; m < NVS_LIVE_MODES; m++) {
			const struct nvs_page_copy *c = &p->page->copy[d][m];
			const char *way = nvs_live_direction_name((enum nvs_live_direction)d);
			const char *mode = nvs_live_mode_name((enum nvs_live_mode)m);
			const struct nvs_page_counter *value = family == NVS_F_COPIES ? &c->calls
							       : family == NVS_F_COPIED_BYTES
								       ? &c->bytes
								       : &c->ns;

			if (c->calls.total)
				nvs_exposition_add(e, p->common, value->total, "direction", way,
						   "mode", mode, NULL);
		}
}

/* Values are stored plus one; 0: unknown. */
static void report_channels(struct nvs_exposition *e, const struct nvs_exported_process *p,
			    uint32_t column)
{
	const struct nvs_series *s = &p->channels;

	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t value = nvs_series_get_value(s, s->all[i], column);

		if (s->all[i]->shown && value)
			nvs_exposition_add(e, nvs_sample_labels(p, s->all[i], NULL), value - 1,
					   NULL);
	}
}

static void report_stalls(struct nvs_exposition *e, const struct nvs_exported_process *p,
			  bool seconds)
{
	for (int i = 0; i < NVS_LIVE_STALLS; i++) {
		const struct nvs_page_stall *s = &p->page->stalls[i];
		const char *cause = nvs_live_stall_name((enum nvs_live_stall)i);

		if (cause)
			nvs_exposition_add(e, p->common, seconds ? s->ns.total : s->calls.total,
					   "cause", cause, NULL);
	}
}

static void report_faults(struct nvs_exposition *e, const struct nvs_exported_process *p)
{
	char number[16];

	for (uint32_t i = 0; i < p->page->nfaults; i++) {
		snprintf(number, sizeof(number), "%u", p->page->faults[i].number);
		nvs_exposition_add(e, p->common, p->page->faults[i].count.total, "number", number,
				   NULL);
	}
}

static void report_gaps(struct nvs_exposition *e, const struct nvs_exported_process *p)
{
	for (uint32_t i = 1; i < NVS_LIVE_GAPS; i++) {
		const char *reason = nvs_gap_reason_name(i);

		if (i != NVS_GAP_CHOICE && *reason != '?')
			nvs_exposition_add(e, p->common, p->page->gaps[i].total, "reason", reason,
					   NULL);
	}
}

/* Families with one value: a counter of the page. */
#define TOTAL(member) offsetof(struct nvs_page, member)
static const size_t totals[NVS_FAMILIES] = {
	[NVS_F_START] = TOTAL(begun_ns),
	[NVS_F_UNKNOWN_GRAPHS] = TOTAL(graphs_unknown.total),
	[NVS_F_DOORBELLS] = TOTAL(doorbells.total),
	[NVS_F_SUBMISSIONS] = TOTAL(submissions.total),
	[NVS_F_ENTRIES] = TOTAL(entries.total),
	[NVS_F_COMMAND_BYTES] = TOTAL(bytes.total),
	[NVS_F_ORPHANS] = TOTAL(counts[NVS_LIVE_ORPHANS].total),
	[NVS_F_WAIT_SECONDS] = TOTAL(counts[NVS_LIVE_WAIT_NS].total),
	[NVS_F_ROWS_LEFT_OUT] = TOTAL(failed_rows),
	[NVS_F_OBI_MEMSET] = TOTAL(set_bytes.total),
};

/* Families that are a column of a series; OTHER: labels of the remainder. */
#define SERIES(member) offsetof(struct nvs_exported_process, member)
static const struct {
	size_t series;
	uint32_t column;
	const char *other;
} columns[NVS_FAMILIES] = {
	[NVS_F_CALLS] = {SERIES(apis), NVS_API_CALLS, "api=\"other\""},
	[NVS_F_ERRORS] = {SERIES(results), 0, "api=\"other\",result=\"other\""},
	[NVS_F_MEMORY] = {SERIES(memory), NVS_MEMORY_LIVE, "kind=\"other\""},
	[NVS_F_MEMORY_PEAK] = {SERIES(memory), NVS_MEMORY_PEAK, "kind=\"other\""},
	[NVS_F_MEMORY_ALLOCATIONS] = {SERIES(memory), NVS_MEMORY_COUNT, "kind=\"other\""},
	[NVS_F_ALLOCATED_BYTES] = {SERIES(memory), NVS_MEMORY_BYTES, "kind=\"other\""},
	[NVS_F_ALLOCATIONS_FAILED] = {SERIES(memory), NVS_MEMORY_FAILED, "kind=\"other\""},
	[NVS_F_UNFREED] = {SERIES(sites), 0, "site=\"other\""},
	[NVS_F_PROBE_LEAKS] = {SERIES(probe_leaks), 0, "offset=\"other\""},
	[NVS_F_PROBE_LAUNCHES] = {SERIES(probe_launches), 0,
				  "kernel_offset=\"0\",kernel_symbol=\"other\""},
	[NVS_F_PROBE_ERRORS] = {SERIES(probe_results), 0,
				"call_type=\"other\",return_code=\"other\""},
};

void nvs_report_family(struct nvs_exposition *e, enum nvs_family_number family,
		       const struct nvs_exported_process *p)
{
	const struct nvs_page *page = p->page;

	if (totals[family]) {
		nvs_exposition_add(e, p->common,
				   *(const uint64_t *)((const char *)page + totals[family]), NULL);
		return;
	}
	if (columns[family].other) {
		report_series(e, p,
			      (const struct nvs_series *)((const char *)p + columns[family].series),
			      columns[family].column, columns[family].other);
		return;
	}
	if ((family == NVS_F_GPU_BUSY || family == NVS_F_KERNEL_GPU ||
	     family == NVS_F_KERNEL_TIMED) &&
	    !(page->flags & NVS_LIVE_TIMED))
		return;
	switch (family) {
	case NVS_F_GPU_BUSY:
		return report_busy(e, p);
	case NVS_F_KERNEL_GPU:
		return report_series(e, p, &p->kernels, NVS_KERNEL_GPU_NS, "kernel=\"other\"");
	case NVS_F_KERNEL_TIMED:
		return report_series(e, p, &p->kernels, NVS_KERNEL_TIMED, "kernel=\"other\"");
	case NVS_F_PROCESS_INFO:
		return report_info(e, p);
	case NVS_F_SILENT:
		if (!page->gone)
			nvs_exposition_add(e, p->common, age_of(page, page->heard_ns), NULL);
		return;
	case NVS_F_DURATION:
		return report_durations(e, p);
	case NVS_F_IN_FLIGHT:
	case NVS_F_IN_FLIGHT_SECONDS:
		return report_in_flight(e, p, family == NVS_F_IN_FLIGHT_SECONDS);
	case NVS_F_LAUNCHES:
		return report_launches(e, p);
	case NVS_F_COPIES:
	case NVS_F_COPIED_BYTES:
	case NVS_F_COPY_SECONDS:
		return report_copies(e, p, family);
	case NVS_F_CHANNELS:
		return nvs_exposition_add(e, p->common, page->nchannels, NULL);
	case NVS_F_PENDING_ENTRIES:
		return report_channels(e, p, NVS_CHANNEL_ENTRIES);
	case NVS_F_PENDING_SUBMISSIONS:
		return report_channels(e, p, NVS_CHANNEL_PENDING);
	case NVS_F_COMPLETED:
		return report_channels(e, p, NVS_CHANNEL_COMPLETED);
	case NVS_F_STALLS:
	case NVS_F_STALL_SECONDS:
		return report_stalls(e, p, family == NVS_F_STALL_SECONDS);
	case NVS_F_FAULTS:
		return report_faults(e, p);
	case NVS_F_GAPS:
		return report_gaps(e, p);
	default:
		nvs_report_foreign_family(e, family, p);
	}
}
