/* SPDX-License-Identifier: MIT */
/* Prints one JSON object for each update. Unknown values are null. */
#include <string.h>
#include <time.h>
#include "decode/calls/args.h"
#include "live/top/top.h"
#include "nvsnoop/decode.h"

#define SCHEMA 1 /* docs/live.md */

/* Writer state: MORE if the next member needs a comma. */
struct json {
	FILE *file;
	bool more;
};

static void put_text(struct json *j, const char *text)
{
	fputc('"', j->file);
	for (size_t left = strlen(text), n; left; text += n, left -= n) {
		uint32_t code;

		n = nvs_utf8(text, left, &code);
		if (!n) {
			/*
			 * Not UTF-8: write the byte as a code point, as the other JSON writers here
			 * do.
			 */
			n = 1;
			fprintf(j->file, "\\u%04x", (unsigned char)*text);
		} else if (code == '"' || code == '\\') {
			fprintf(j->file, "\\%c", (int)code);
		} else if (!nvs_printable(code)) {
			fprintf(j->file, "\\u%04x", code);
		} else {
			fwrite(text, 1, n, j->file);
		}
	}
	fputc('"', j->file);
}

static void put_key(struct json *j, const char *name)
{
	fprintf(j->file, "%s\"%s\":", j->more ? "," : "", name);
	j->more = true;
}

static void open_list(struct json *j, const char *name, char bracket)
{
	if (name)
		put_key(j, name);
	else if (j->more)
		fputc(',', j->file);
	fputc(bracket, j->file);
	j->more = false;
}

static void close_list(struct json *j, char bracket)
{
	fputc(bracket, j->file);
	j->more = true;
}

static void put_text_member(struct json *j, const char *name, const char *value)
{
	put_key(j, name);
	if (value && *value)
		put_text(j, value);
	else
		fputs("null", j->file);
}

static void put_number(struct json *j, const char *name, uint64_t value)
{
	put_key(j, name);
	fprintf(j->file, "%llu", (unsigned long long)value);
}

static void put_number_or_null(struct json *j, const char *name, bool known, uint64_t value)
{
	if (known) {
		put_number(j, name, value);
		return;
	}
	put_key(j, name);
	fputs("null", j->file);
}

static void put_bool(struct json *j, const char *name, bool value)
{
	put_key(j, name);
	fputs(value ? "true" : "false", j->file);
}

/* A counter and its rate per second. */
static void put_sum(struct json *j, const char *name, const struct nvs_page *page,
		    const struct nvs_page_counter *value)
{
	char per_second[64];
	double rate;

	put_number(j, name, value->total);
	snprintf(per_second, sizeof(per_second), "%s_per_s", name);
	put_key(j, per_second);
	if (nvs_top_get_rate(page, value, &rate))
		fprintf(j->file, "%.3f", rate);
	else
		fputs("null", j->file);
}

static void put_gpu(struct json *j, const struct nvs_page *page, uint32_t row)
{
	bool known = row && row <= page->ngpus && page->gpus[row - 1].ordinal != NVS_NONE;

	put_number_or_null(j, "gpu", known, known ? page->gpus[row - 1].ordinal : 0);
}

/* ---- one process in detail ---- */

static void put_kernels(struct json *j, const struct nvs_page *page)
{
	open_list(j, "kernels", '[');
	for (uint32_t i = 0; i < page->nkernels; i++) {
		const struct nvs_page_kernel *k = page->kernels + i;

		if (!(k->direct.total + k->graph.total))
			continue;
		open_list(j, NULL, '{');
		put_text_member(j, "kernel", nvs_top_kernel_name(page, i));
		put_text_member(j, "symbol", k->name);
		put_sum(j, "direct_launches", page, &k->direct);
		put_sum(j, "graph_launches", page, &k->graph);
		put_number_or_null(j, "registers", k->max_threads, k->registers);
		close_list(j, '}');
	}
	close_list(j, ']');
}

static void put_apis(struct json *j, const struct nvs_page *page)
{
	open_list(j, "apis", '[');
	for (uint32_t i = 0; i < page->napis; i++) {
		const struct nvs_page_api *api = page->apis + i;

		if (!api->calls.total && !api->failed.total)
			continue;
		open_list(j, NULL, '{');
		put_text_member(j, "api", api->name);
		put_sum(j, "calls", page, &api->calls);
		put_number(j, "failed", api->failed.total);
		put_sum(j, "host_ns", page, &api->ns);
		open_list(j, "below_ns", '{');
		for (int k = 0; k < NVS_LIVE_BUCKETS; k++) {
			char below[24] = "more";

			if (k < NVS_LIVE_BUCKETS - 1)
				snprintf(below, sizeof(below), "%llu",
					 1ull << (k + NVS_LIVE_BUCKET_SHIFT));
			if (api->buckets[k])
				put_number(j, below, api->buckets[k]);
		}
		close_list(j, '}');
		close_list(j, '}');
	}
	close_list(j, ']');
}

static void put_copies(struct json *j, const struct nvs_page *page)
{
	open_list(j, "copies_by_direction", '[');
	for (int i = 0; i < NVS_LIVE_DIRECTIONS; i++)
		for (int k = 0; k < NVS_LIVE_MODES; k++) {
			const struct nvs_page_copy *copy = &page->copy[i][k];

			if (!copy->calls.total)
				continue;
			open_list(j, NULL, '{');
			put_text_member(j, "direction",
					i == NVS_LIVE_ANY ? NULL
							  : nvs_live_direction_name(
								    (enum nvs_live_direction)i));
			put_text_member(j, "mode", nvs_live_mode_name((enum nvs_live_mode)k));
			put_sum(j, "copies", page, &copy->calls);
			put_sum(j, "copied_bytes", page, &copy->bytes);
			put_number(j, "host_ns", copy->ns.total);
			close_list(j, '}');
		}
	close_list(j, ']');
}

static void put_memory(struct json *j, const struct nvs_page *page)
{
	open_list(j, "memory", '[');
	for (uint32_t i = 0; i < page->nmemory; i++) {
		const struct nvs_page_memory *m = page->memory + i;

		open_list(j, NULL, '{');
		put_gpu(j, page, m->gpu);
		put_text_member(j, "kind", nvs_live_kind_name(m->kind));
		put_number(j, "live_bytes", m->live);
		put_number(j, "live", m->live_count);
		put_number(j, "peak_bytes", m->peak);
		put_sum(j, "allocs", page, &m->allocs);
		put_number(j, "allocated_bytes", m->bytes.total);
		put_sum(j, "frees", page, &m->frees);
		put_number(j, "failed_allocs", m->failed_allocs.total);
		put_number(j, "failed_frees", m->failed_frees.total);
		put_number(j, "freed_with_context", m->ended.total);
		close_list(j, '}');
	}
	close_list(j, ']');
	open_list(j, "sites", '[');
	for (uint32_t i = 0; i < page->nsites; i++) {
		const struct nvs_page_site *site = page->sites + i;

		if (!site->allocs.total)
			continue;
		open_list(j, NULL, '{');
		put_text_member(j, "site", site->name);
		put_text_member(j, "api", site->api ? nvs_top_api_name(page, site->api) : NULL);
		put_number(j, "live_bytes", site->live);
		put_number(j, "live", site->live_count);
		put_number(j, "peak_bytes", site->peak);
		put_number(j, "allocs", site->allocs.total);
		close_list(j, '}');
	}
	close_list(j, ']');
}

static void put_errors(struct json *j, const struct nvs_page *page)
{
	open_list(j, "errors", '[');
	for (uint32_t i = 0; i < page->nresults; i++) {
		const struct nvs_page_result *result = page->results + i;

		if (!result->count.total)
			continue;
		open_list(j, NULL, '{');
		put_text_member(j, "api", i ? nvs_top_api_name(page, result->api) : NULL);
		put_number_or_null(j, "result", i, result->result);
		put_text_member(j, "result_name", i ? nvs_call_error(result->result) : NULL);
		put_sum(j, "count", page, &result->count);
		close_list(j, '}');
	}
	close_list(j, ']');
	open_list(j, "stalls", '[');
	for (uint32_t i = 0; i < NVS_LIVE_STALLS; i++) {
		const char *cause = nvs_live_stall_name((enum nvs_live_stall)i);

		if (!cause || !page->stalls[i].calls.total)
			continue;
		open_list(j, NULL, '{');
		put_text_member(j, "cause", i == NVS_LIVE_STALL_UNKNOWN ? NULL : cause);
		put_sum(j, "calls", page, &page->stalls[i].calls);
		put_number(j, "host_ns", page->stalls[i].ns.total);
		close_list(j, '}');
	}
	close_list(j, ']');
	open_list(j, "gaps", '[');
	for (uint32_t i = 0; i < NVS_LIVE_GAPS; i++) {
		if (!page->gaps[i].total)
			continue;
		open_list(j, NULL, '{');
		put_text_member(j, "reason", nvs_gap_reason_name(i));
		put_sum(j, "submissions", page, page->gaps + i);
		close_list(j, '}');
	}
	close_list(j, ']');
}

static void put_channels(struct json *j, const struct nvs_page *page)
{
	open_list(j, "channels", '[');
	for (uint32_t i = 0; i < page->nchannels; i++) {
		const struct nvs_page_channel *c = page->channels + i;

		open_list(j, NULL, '{');
		put_number(j, "channel", c->channel);
		put_gpu(j, page, c->gpu);
		put_sum(j, "submissions", page, &c->submitted);
		put_number_or_null(j, "completed", c->completed != NVS_LIVE_UNKNOWN, c->completed);
		put_number_or_null(j, "pending", c->pending != NVS_LIVE_UNKNOWN, c->pending);
		put_number_or_null(j, "ring_entries", c->entries, c->entries);
		put_number_or_null(j, "ring_used", c->used != NVS_NONE, c->used);
		put_number_or_null(j, "submitted_ago_ns", c->submitted_ns,
				   page->mono_ns - c->submitted_ns);
		put_number_or_null(j, "completed_ago_ns", c->completed_ns,
				   page->mono_ns - c->completed_ns);
		close_list(j, '}');
	}
	close_list(j, ']');
}

static void put_threads(struct json *j, const struct nvs_page *page)
{
	open_list(j, "threads", '[');
	for (uint32_t i = 0; i < page->nthreads; i++) {
		const struct nvs_page_thread *t = page->threads + i;

		open_list(j, NULL, '{');
		put_number(j, "tid", t->tid);
		put_text_member(j, "thread_name", t->name);
		open_list(j, "calls", '[');
		for (uint32_t k = 0; k < t->ncalls; k++) {
			open_list(j, NULL, '{');
			put_text_member(j, "api", nvs_top_api_name(page, t->calls[k].api));
			put_number_or_null(j, "for_ns", t->calls[k].begin_ns,
					   page->mono_ns - t->calls[k].begin_ns);
			close_list(j, '}');
		}
		close_list(j, ']');
		open_list(j, "ranges", '[');
		for (uint32_t k = 0; k < t->nranges; k++) {
			if (k)
				fputc(',', j->file);
			put_text(j, t->ranges[k].name);
		}
		close_list(j, ']');
		close_list(j, '}');
	}
	close_list(j, ']');
}

/* ---- all processes ---- */

static void put_gpus(struct json *j, const struct nvs_page *page)
{
	char uuid[48];

	open_list(j, "gpus", '[');
	for (uint32_t i = 0; i < page->ngpus; i++) {
		open_list(j, NULL, '{');
		put_gpu(j, page, i + 1);
		nvs_format_uuid(uuid, page->gpus[i].uuid);
		put_text_member(j, "gpu_uuid", uuid);
		put_text_member(j, "gpu_name", page->gpus[i].name);
		close_list(j, '}');
	}
	close_list(j, ']');
}

static void put_process(struct json *j, const struct nvs_top_row *row, bool whole)
{
	const struct nvs_page *page = row->page;

	open_list(j, NULL, '{');
	put_number(j, "pid", page->pid);
	put_number(j, "uid", page->uid);
	put_text_member(j, "user", row->user);
	put_text_member(j, "command", row->command);
	put_text_member(j, "program", page->program);
	put_text_member(j, "host", page->host);
	put_text_member(j, "rank", page->rank);
	put_text_member(j, "trace", page->trace);
	put_bool(j, "ended", page->gone);
	put_number(j, "begun_ns", page->begun_ns);
	put_number_or_null(j, "span_ns", page->span_ns, page->span_ns);
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
	put_number_or_null(j, "pending", page->pending != NVS_LIVE_UNKNOWN, page->pending);
	put_number(j, "memory_bytes", page->device_live);
	put_number(j, "memory_peak_bytes", page->device_peak);
	put_number(j, "pinned_bytes", page->host_live);
	put_text_member(j, "call", row->call);
	put_number_or_null(j, "call_for_ns", row->call, row->call_ns);
	if (whole) {
		put_kernels(j, page);
		put_apis(j, page);
		put_copies(j, page);
		put_memory(j, page);
		put_errors(j, page);
		put_channels(j, page);
		put_threads(j, page);
	}
	close_list(j, '}');
}

void nvs_top_print_json(const struct nvs_top *top, FILE *file)
{
	struct json j = {.file = file};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	open_list(&j, NULL, '{');
	put_number(&j, "schema", SCHEMA);
	put_number(&j, "time_ns", (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
	open_list(&j, "processes", '[');
	for (uint32_t i = 0; i < top->nrows; i++)
		put_process(&j, top->rows + i, top->options->npids);
	close_list(&j, ']');
	close_list(&j, '}');
	fputc('\n', file);
}
