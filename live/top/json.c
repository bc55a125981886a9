/* SPDX-License-Identifier: MIT */
/* Prints one JSON object for each update. Unknown values are null. */
#include <math.h>
#include <time.h>
#include "decode/calls/args.h"
#include "decode/cli/fault_names.h"
#include "decode/cli/json.h"
#include "live/top/top.h"
#include "nvsnoop/decode.h"

#define SCHEMA 1 /* docs/live.md */

/* A counter and its rate per second. */
static void put_sum(struct nvs_json *j, const char *name, const struct nvs_page *page,
		    const struct nvs_page_counter *value)
{
	char per_second[64];
	double rate;

	nvs_json_number(j, name, value->total);
	snprintf(per_second, sizeof(per_second), "%s_per_s", name);
	nvs_json_real(j, per_second, "%.3f", nvs_top_get_rate(page, value, &rate) ? rate : NAN);
}

static void put_gpu(struct nvs_json *j, const struct nvs_page *page, uint32_t row)
{
	bool known = row && row <= page->ngpus && page->gpus[row - 1].ordinal != NVS_NONE;

	nvs_json_known(j, "gpu", known, known ? page->gpus[row - 1].ordinal : 0);
}

/* ---- one process in detail ---- */

static void put_gpu_time(struct nvs_json *j, const struct nvs_page *page,
			 const struct nvs_page_kernel *k)
{
	bool timed = page->flags & NVS_LIVE_TIMED;
	double mean = NAN, half = NAN;

	if (timed && !nvs_top_gpu_mean(k, &mean, &half))
		mean = half = NAN;
	nvs_json_known(j, "gpu_timed", timed, k->gpu.timed);
	nvs_json_known(j, "gpu_ns", timed, k->gpu_ns.total);
	nvs_json_real(j, "gpu_mean_ns", "%.1f", mean);
	nvs_json_real(j, "gpu_mean_error_ns", "%.1f", half);
}

static void put_kernels(struct nvs_json *j, const struct nvs_page *page)
{
	nvs_json_open(j, "kernels", '[');
	for (uint32_t i = 0; i < page->nkernels; i++) {
		const struct nvs_page_kernel *k = page->kernels + i;

		if (!(k->direct.total + k->graph.total))
			continue;
		nvs_json_open(j, NULL, '{');
		nvs_json_name(j, "kernel", nvs_top_kernel_name(page, i));
		nvs_json_name(j, "symbol", k->name);
		put_sum(j, "direct_launches", page, &k->direct);
		put_sum(j, "graph_launches", page, &k->graph);
		nvs_json_known(j, "registers", k->max_threads, k->registers);
		put_gpu_time(j, page, k);
		nvs_json_close(j, '}');
	}
	nvs_json_close(j, ']');
}

static void put_apis(struct nvs_json *j, const struct nvs_page *page)
{
	nvs_json_open(j, "apis", '[');
	for (uint32_t i = 0; i < page->napis; i++) {
		const struct nvs_page_api *api = page->apis + i;

		if (!api->calls.total && !api->failed.total)
			continue;
		nvs_json_open(j, NULL, '{');
		nvs_json_name(j, "api", api->name);
		put_sum(j, "calls", page, &api->calls);
		nvs_json_number(j, "failed", api->failed.total);
		put_sum(j, "host_ns", page, &api->ns);
		nvs_json_open(j, "below_ns", '{');
		for (int k = 0; k < NVS_LIVE_BUCKETS; k++) {
			char below[24] = "more";

			if (k < NVS_LIVE_BUCKETS - 1)
				snprintf(below, sizeof(below), "%llu",
					 1ull << (k + NVS_LIVE_BUCKET_SHIFT));
			if (api->buckets[k])
				nvs_json_number(j, below, api->buckets[k]);
		}
		nvs_json_close(j, '}');
		nvs_json_close(j, '}');
	}
	nvs_json_close(j, ']');
}

static void put_copies(struct nvs_json *j, const struct nvs_page *page)
{
	nvs_json_open(j, "copies_by_direction", '[');
	for (int i = 0; i < NVS_LIVE_DIRECTIONS; i++)
		for (int k = 0; k < NVS_LIVE_MODES; k++) {
			const struct nvs_page_copy *copy = &page->copy[i][k];

			if (!copy->calls.total)
				continue;
			nvs_json_open(j, NULL, '{');
			nvs_json_name(j, "direction",
				      i == NVS_LIVE_ANY ? NULL
							: nvs_live_direction_name(
								  (enum nvs_live_direction)i));
			nvs_json_name(j, "mode", nvs_live_mode_name((enum nvs_live_mode)k));
			put_sum(j, "copies", page, &copy->calls);
			put_sum(j, "copied_bytes", page, &copy->bytes);
			nvs_json_number(j, "host_ns", copy->ns.total);
			nvs_json_close(j, '}');
		}
	nvs_json_close(j, ']');
}

static void put_memory(struct nvs_json *j, const struct nvs_page *page)
{
	nvs_json_open(j, "memory", '[');
	for (uint32_t i = 0; i < page->nmemory; i++) {
		const struct nvs_page_memory *m = page->memory + i;

		nvs_json_open(j, NULL, '{');
		put_gpu(j, page, m->gpu);
		nvs_json_name(j, "kind", nvs_live_kind_name(m->kind));
		nvs_json_number(j, "live_bytes", m->live);
		nvs_json_number(j, "live", m->live_count);
		nvs_json_number(j, "peak_bytes", m->peak);
		put_sum(j, "allocs", page, &m->allocs);
		nvs_json_number(j, "allocated_bytes", m->bytes.total);
		put_sum(j, "frees", page, &m->frees);
		nvs_json_number(j, "failed_allocs", m->failed_allocs.total);
		nvs_json_number(j, "failed_frees", m->failed_frees.total);
		nvs_json_number(j, "freed_with_context", m->ended.total);
		nvs_json_close(j, '}');
	}
	nvs_json_close(j, ']');
	nvs_json_open(j, "sites", '[');
	for (uint32_t i = 0; i < page->nsites; i++) {
		const struct nvs_page_site *site = page->sites + i;

		if (!site->allocs.total)
			continue;
		nvs_json_open(j, NULL, '{');
		nvs_json_name(j, "site", site->name);
		nvs_json_name(j, "api", site->api ? nvs_top_api_name(page, site->api) : NULL);
		nvs_json_number(j, "live_bytes", site->live);
		nvs_json_number(j, "live", site->live_count);
		nvs_json_number(j, "peak_bytes", site->peak);
		nvs_json_number(j, "allocs", site->allocs.total);
		nvs_json_close(j, '}');
	}
	nvs_json_close(j, ']');
}

static void put_errors(struct nvs_json *j, const struct nvs_page *page)
{
	nvs_json_open(j, "errors", '[');
	for (uint32_t i = 0; i < page->nresults; i++) {
		const struct nvs_page_result *result = page->results + i;

		if (!result->count.total)
			continue;
		nvs_json_open(j, NULL, '{');
		nvs_json_name(j, "api", i ? nvs_top_api_name(page, result->api) : NULL);
		nvs_json_known(j, "result", i, result->result);
		nvs_json_name(j, "result_name", i ? nvs_call_error(result->result) : NULL);
		put_sum(j, "count", page, &result->count);
		nvs_json_close(j, '}');
	}
	nvs_json_close(j, ']');
	nvs_json_open(j, "stalls", '[');
	for (uint32_t i = 0; i < NVS_LIVE_STALLS; i++) {
		const char *cause = nvs_live_stall_name((enum nvs_live_stall)i);

		if (!cause || !page->stalls[i].calls.total)
			continue;
		nvs_json_open(j, NULL, '{');
		nvs_json_name(j, "cause", i == NVS_LIVE_STALL_UNKNOWN ? NULL : cause);
		put_sum(j, "calls", page, &page->stalls[i].calls);
		nvs_json_number(j, "host_ns", page->stalls[i].ns.total);
		nvs_json_close(j, '}');
	}
	nvs_json_close(j, ']');
	nvs_json_open(j, "gaps", '[');
	for (uint32_t i = 0; i < NVS_LIVE_GAPS; i++) {
		if (!page->gaps[i].total)
			continue;
		nvs_json_open(j, NULL, '{');
		nvs_json_name(j, "reason", nvs_gap_reason_name(i));
		put_sum(j, "submissions", page, page->gaps + i);
		nvs_json_close(j, '}');
	}
	nvs_json_close(j, ']');
}

static void put_faults(struct nvs_json *j, const struct nvs_page *page)
{
	nvs_json_open(j, "faults", '[');
	for (uint32_t i = 0; i < page->nfaults; i++) {
		const struct nvs_page_fault *f = page->faults + i;
		const struct nvs_fault_name *name = nvs_fault_name(f->number);

		nvs_json_open(j, NULL, '{');
		nvs_json_number(j, "number", f->number);
		nvs_json_name(j, "fault", name ? name->name : NULL);
		put_sum(j, "count", page, &f->count);
		nvs_json_number(j, "channel", f->channel);
		nvs_json_known(j, "seen_ago_ns", f->mono_ns, page->mono_ns - f->mono_ns);
		nvs_json_close(j, '}');
	}
	nvs_json_close(j, ']');
}

static void put_channels(struct nvs_json *j, const struct nvs_page *page)
{
	nvs_json_open(j, "channels", '[');
	for (uint32_t i = 0; i < page->nchannels; i++) {
		const struct nvs_page_channel *c = page->channels + i;

		nvs_json_open(j, NULL, '{');
		nvs_json_number(j, "channel", c->channel);
		put_gpu(j, page, c->gpu);
		put_sum(j, "submissions", page, &c->submitted);
		nvs_json_known(j, "completed", c->completed != NVS_LIVE_UNKNOWN, c->completed);
		nvs_json_known(j, "pending", c->pending != NVS_LIVE_UNKNOWN, c->pending);
		nvs_json_known(j, "ring_entries", c->entries, c->entries);
		nvs_json_known(j, "ring_used", c->used != NVS_NONE, c->used);
		nvs_json_known(j, "submitted_ago_ns", c->submitted_ns,
			       page->mono_ns - c->submitted_ns);
		nvs_json_known(j, "completed_ago_ns", c->completed_ns,
			       page->mono_ns - c->completed_ns);
		nvs_json_close(j, '}');
	}
	nvs_json_close(j, ']');
}

static void put_threads(struct nvs_json *j, const struct nvs_page *page)
{
	nvs_json_open(j, "threads", '[');
	for (uint32_t i = 0; i < page->nthreads; i++) {
		const struct nvs_page_thread *t = page->threads + i;

		nvs_json_open(j, NULL, '{');
		nvs_json_number(j, "tid", t->tid);
		nvs_json_name(j, "thread_name", t->name);
		nvs_json_open(j, "calls", '[');
		for (uint32_t k = 0; k < t->ncalls; k++) {
			nvs_json_open(j, NULL, '{');
			nvs_json_name(j, "api", nvs_top_api_name(page, t->calls[k].api));
			nvs_json_known(j, "for_ns", t->calls[k].begin_ns,
				       page->mono_ns - t->calls[k].begin_ns);
			nvs_json_close(j, '}');
		}
		nvs_json_close(j, ']');
		nvs_json_open(j, "ranges", '[');
		for (uint32_t k = 0; k < t->nranges; k++)
			nvs_json_text(j, NULL, t->ranges[k].name);
		nvs_json_close(j, ']');
		nvs_json_close(j, '}');
	}
	nvs_json_close(j, ']');
}

/* ---- all processes ---- */

static void put_gpus(struct nvs_json *j, const struct nvs_page *page)
{
	char uuid[48];

	nvs_json_open(j, "gpus", '[');
	for (uint32_t i = 0; i < page->ngpus; i++) {
		nvs_json_open(j, NULL, '{');
		put_gpu(j, page, i + 1);
		nvs_format_uuid(uuid, page->gpus[i].uuid);
		nvs_json_name(j, "gpu_uuid", uuid);
		nvs_json_name(j, "gpu_name", page->gpus[i].name);
		nvs_json_known(j, "compute_busy_ns", page->flags & NVS_LIVE_TIMED,
			       page->gpus[i].busy_ns[NVS_LIVE_COMPUTE_ENGINE].total);
		nvs_json_known(j, "copy_busy_ns", page->flags & NVS_LIVE_TIMED,
			       page->gpus[i].busy_ns[NVS_LIVE_COPY_ENGINE].total);
		nvs_json_close(j, '}');
	}
	nvs_json_close(j, ']');
}

static void put_process(struct nvs_json *j, const struct nvs_top_row *row, bool whole)
{
	const struct nvs_page *page = row->page;

	nvs_json_open(j, NULL, '{');
	nvs_json_number(j, "pid", page->pid);
	nvs_json_number(j, "uid", page->uid);
	nvs_json_name(j, "user", row->user);
	nvs_json_name(j, "command", row->command);
	nvs_json_name(j, "program", page->program);
	nvs_json_name(j, "host", page->host);
	nvs_json_name(j, "rank", page->rank);
	nvs_json_name(j, "world_size", page->size);
	for (int i = 0; i < NVS_LIVE_WORKLOADS; i++)
		if (nvs_live_workload_name((enum nvs_live_workload)i))
			nvs_json_name(j, nvs_live_workload_name((enum nvs_live_workload)i),
				      page->workload[i]);
	nvs_json_name(j, "trace", page->trace);
	nvs_json_bool(j, "ended", page->gone);
	nvs_json_number(j, "begun_ns", page->begun_ns);
	nvs_json_known(j, "span_ns", page->span_ns, page->span_ns);
	put_gpus(j, page);
	put_sum(j, "calls", page, &page->calls);
	put_sum(j, "failed_calls", page, &page->failed);
	put_sum(j, "launches", page, &page->launches);
	put_sum(j, "graph_launches", page, &page->graph_launches);
	put_sum(j, "submissions", page, &page->submissions);
	put_sum(j, "doorbells", page, &page->doorbells);
	put_sum(j, "command_bytes", page, &page->bytes);
	put_sum(j, "copies", page, &page->copies);
	put_sum(j, "copied_bytes", page, &page->copied);
	nvs_json_known(j, "pending", page->pending != NVS_LIVE_UNKNOWN, page->pending);
	nvs_json_number(j, "memory_bytes", page->device_live);
	nvs_json_number(j, "memory_peak_bytes", page->device_peak);
	nvs_json_number(j, "pinned_bytes", page->host_live);
	nvs_json_name(j, "call", row->call);
	nvs_json_known(j, "call_for_ns", row->call, row->call_ns);
	nvs_json_known(j, "hang_ns", row->hang_ns, row->hang_ns);
	if (whole) {
		put_kernels(j, page);
		put_apis(j, page);
		put_copies(j, page);
		put_memory(j, page);
		put_errors(j, page);
		put_faults(j, page);
		put_channels(j, page);
		put_threads(j, page);
	}
	nvs_json_close(j, '}');
}

void nvs_top_print_json(const struct nvs_top *top, FILE *file)
{
	struct nvs_json j = {.file = file};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	nvs_json_open(&j, NULL, '{');
	nvs_json_number(&j, "schema", SCHEMA);
	nvs_json_number(&j, "time_ns", (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
	nvs_json_open(&j, "processes", '[');
	for (uint32_t i = 0; i < top->nrows; i++)
		put_process(&j, top->rows + i, top->options->npids);
	nvs_json_close(&j, ']');
	nvs_json_close(&j, '}');
	fputc('\n', file);
}
