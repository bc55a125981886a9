/* SPDX-License-Identifier: MIT */
/* The detail view of one process: its identity, and a table for each section. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "decode/base/compare.h"
#include "decode/calls/args.h"
#include "decode/cli/fault_names.h"
#include "live/top/top.h"
#include "nvsnoop/decode.h"

static const char *const parts[NVS_TOP_PARTS] = {"All",	   "Kernels", "APIs",	  "Copies",
						 "Memory", "Errors",  "Channels", "Threads"};

const char *nvs_top_part_name(enum nvs_top_part part)
{
	return parts[part];
}

/* ---- tables ---- */

struct field {
	const char *title;
	int width; /* negative: left-aligned text; the last column takes the remaining width */
};

static void begin_table(struct nvs_text_page *s, const char *name, const struct field *fields,
			uint32_t n)
{
	nvs_text_page_end_line(s);
	nvs_text_page_printf(s, NVS_TOP_NAME, "%s", name);
	nvs_text_page_end_line(s);
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			nvs_text_page_pad(s, NVS_TOP_HEAD, s->at + 1);
		nvs_text_page_add_escaped(s, NVS_TOP_HEAD, fields[i].title, UINT32_MAX,
					  i + 1 < n || fields[i].width > 0 ? -fields[i].width : 0);
	}
	nvs_text_page_end_line(s);
}

#define BEGIN(s, part, fields) \
	begin_table(s, parts[part], fields, sizeof(fields) / sizeof(*(fields)))

static void put_cell(struct nvs_text_page *s, const struct field *f, enum nvs_top_style style,
		     const char *text)
{
	if (s->at)
		nvs_text_page_pad(s, NVS_TOP_PLAIN, s->at + 1);
	nvs_text_page_add_escaped(s, text ? style : NVS_TOP_DIM, text ? text : "-", UINT32_MAX,
				  -f->width);
}

static void put_count(struct nvs_text_page *s, const struct field *f, double n)
{
	char to[NVS_FIGURE];

	put_cell(s, f, NVS_TOP_PLAIN, nvs_figure_count(to, n));
}

static void put_rate(struct nvs_text_page *s, const struct field *f, const struct nvs_page *page,
		     const struct nvs_page_counter *sum)
{
	char to[NVS_FIGURE];
	double n;

	put_cell(s, f, sum->more ? NVS_TOP_GOOD : NVS_TOP_PLAIN,
		 nvs_top_get_rate(page, sum, &n) ? nvs_figure_count(to, n) : NULL);
}

static void put_bad_count(struct nvs_text_page *s, const struct field *f, uint64_t n)
{
	char to[NVS_FIGURE];

	put_cell(s, f, n ? NVS_TOP_BAD : NVS_TOP_PLAIN, nvs_figure_count(to, (double)n));
}

static void put_last(struct nvs_text_page *s, const char *text)
{
	nvs_text_page_pad(s, NVS_TOP_PLAIN, s->at + 1);
	nvs_text_page_add_escaped(s, NVS_TOP_PLAIN, text, UINT32_MAX, 0);
	nvs_text_page_end_line(s);
}

/* ---- order of rows ---- */

struct row_total {
	uint64_t more, total;
	uint32_t row;
};

/* Current activity first, then totals. */
static int compare_by_work(const void *a, const void *b)
{
	const struct row_total *one = a, *two = b;

	return NVS_CMP(two->more, one->more) ?: NVS_CMP(two->total, one->total) ?: NVS_CMP(two->row, one->row);
}

/* ---- identity ---- */

static void put_label(struct nvs_text_page *s, const char *name, const char *value)
{
	if (!*value)
		return;
	nvs_text_page_printf(s, NVS_TOP_DIM, "%s%s ", s->at ? "  " : "", name);
	nvs_text_page_add_escaped(s, NVS_TOP_PLAIN, value, UINT32_MAX, 0);
}

static void put_gpus(struct nvs_text_page *s, const struct nvs_page *page)
{
	char uuid[48];

	for (uint32_t i = 0; i < page->ngpus; i++) {
		const struct nvs_page_gpu *gpu = page->gpus + i;

		nvs_format_uuid(uuid, gpu->uuid);
		if (gpu->ordinal == NVS_NONE)
			nvs_text_page_printf(s, NVS_TOP_DIM, "GPU - ");
		else
			nvs_text_page_printf(s, NVS_TOP_DIM, "GPU %u ", gpu->ordinal);
		nvs_text_page_add_escaped(s, NVS_TOP_PLAIN, gpu->name, UINT32_MAX, 0);
		nvs_text_page_printf(s, NVS_TOP_DIM, "  %s", uuid);
		for (int e = 0; e < NVS_LIVE_ENGINES && page->flags & NVS_LIVE_TIMED; e++) {
			double share = page->span_ns ? 100.0 * (double)gpu->busy_ns[e].more /
							       (double)page->span_ns
						     : 0;

			nvs_text_page_printf(s, NVS_TOP_DIM, "  %s ",
					     nvs_live_engine_name((enum nvs_live_engine)e));
			if (page->span_ns)
				nvs_text_page_printf(s, NVS_TOP_PLAIN, "%.1f %%", share);
			else
				nvs_text_page_printf(s, NVS_TOP_DIM, "-");
		}
		nvs_text_page_end_line(s);
	}
}

/* "name 12.3k/s (4.56M)". */
static void put_sum(struct nvs_text_page *s, const struct nvs_page *page, const char *name,
		    const struct nvs_page_counter *sum, const char *unit)
{
	char to[NVS_FIGURE];
	double n;

	nvs_text_page_printf(s, NVS_TOP_DIM, "%s%s ", s->at ? "  " : "", name);
	if (nvs_top_get_rate(page, sum, &n))
		nvs_text_page_printf(s, NVS_TOP_STRONG, "%s%s/s ", nvs_figure_count(to, n), unit);
	nvs_text_page_printf(s, NVS_TOP_PLAIN, "(%s%s)", nvs_figure_count(to, (double)sum->total),
			     unit);
}

static void put_latest_fault(struct nvs_text_page *s, const struct nvs_page *page)
{
	const struct nvs_page_fault *latest = page->faults;
	const struct nvs_fault_name *name;

	for (uint32_t i = 1; i < page->nfaults; i++)
		if (page->faults[i].mono_ns > latest->mono_ns)
			latest = page->faults + i;
	if (!page->nfaults)
		return;
	name = nvs_fault_name(latest->number);
	nvs_text_page_printf(s, NVS_TOP_BAD, "  faulted: %s (Xid %u)",
			     name ? name->name : "unknown error", latest->number);
}

static void put_identity(struct nvs_text_page *s, const struct nvs_top_row *row)
{
	const struct nvs_page *page = row->page;
	char number[16], to[NVS_FIGURE];
	struct timespec now;
	uint64_t real;

	clock_gettime(CLOCK_REALTIME, &now);
	real = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	nvs_text_page_add_escaped(s, NVS_TOP_STRONG, row->command, UINT32_MAX, 0);
	if (page->gone)
		nvs_text_page_printf(s, NVS_TOP_BAD, "  has ended");
	put_latest_fault(s, page);
	nvs_text_page_end_line(s);
	snprintf(number, sizeof(number), "%u", page->pid);
	put_label(s, "process", number);
	put_label(s, "user", row->user);
	put_label(s, "rank", page->rank);
	put_label(s, "of", *page->rank ? page->size : "");
	put_label(s, "host", page->host);
	put_label(s, "driver", page->driver);
	put_label(s, "recorded for",
		  nvs_figure_time(to, real > page->begun_ns ? real - page->begun_ns : 0));
	nvs_text_page_end_line(s);
	for (int i = 0; i < NVS_LIVE_WORKLOADS; i++)
		if (i != NVS_LIVE_POD_UID && i != NVS_LIVE_CONTAINER_ID && *page->workload[i])
			put_label(s, nvs_live_workload_name((enum nvs_live_workload)i),
				  page->workload[i]);
	if (s->at)
		nvs_text_page_end_line(s);
	put_gpus(s, page);
	put_label(s, "trace", page->trace);
	if (s->at)
		nvs_text_page_end_line(s);
	put_sum(s, page, "launches", &page->launches, "");
	put_sum(s, page, "calls", &page->calls, "");
	put_sum(s, page, "submissions", &page->submissions, "");
	nvs_text_page_end_line(s);
	put_sum(s, page, "doorbells", &page->doorbells, "");
	put_sum(s, page, "commands", &page->bytes, "B");
	put_sum(s, page, "copies", &page->copied, "B");
	nvs_text_page_end_line(s);
	if (row->call) {
		put_label(s, "in", row->call);
		put_label(s, "for", nvs_figure_time(to, row->call_ns));
		if (row->hang_ns)
			nvs_text_page_printf(s, NVS_TOP_BAD,
					     "  It hangs: no channel has advanced for %s.",
					     nvs_figure_time(to, row->hang_ns));
		nvs_text_page_end_line(s);
	}
	if (!(page->flags & NVS_LIVE_API)) {
		nvs_text_page_printf(s, NVS_TOP_WARN,
				     "Calls are not observed (api=off): only activity "
				     "seen at doorbells is counted.");
		nvs_text_page_end_line(s);
	}
}

/* ---- sections ---- */

/* Time per interval, in percent of the interval. */
static void put_share(struct nvs_text_page *s, const struct field *f, const struct nvs_page *page,
		      uint64_t ns)
{
	char text[16] = "";

	if (page->span_ns)
		snprintf(text, sizeof(text), "%.1f", 100.0 * (double)ns / (double)page->span_ns);
	put_cell(s, f, NVS_TOP_PLAIN, *text ? text : NULL);
}

static void put_gpu_time(struct nvs_text_page *s, const struct field *f,
			 const struct nvs_page *page, const struct nvs_page_kernel *k)
{
	char to[NVS_FIGURE];
	double mean, half;
	bool known = nvs_top_gpu_mean(k, &mean, &half);

	put_share(s, f, page, k->gpu_ns.more);
	put_cell(s, f + 1, NVS_TOP_PLAIN, known ? nvs_figure_plain(to, mean / 1000) : NULL);
	put_cell(s, f + 2, NVS_TOP_PLAIN,
		 known && isfinite(half) ? nvs_figure_plain(to, half / 1000) : NULL);
}

static void put_kernels(struct nvs_text_page *s, const struct nvs_page *page)
{
	static const struct field timed[] = {{"GPU%", 5},   {"GPU us", 6},   {"+-", 5},
					     {"LNCH/s", 7}, {"LAUNCHES", 9}, {"BY GRAPH", 9},
					     {"REG", 4},    {"KERNEL", -1}};
	bool has_times = page->flags & NVS_LIVE_TIMED;
	const struct field *f = timed + 3;
	struct row_total *order = calloc(page->nkernels + 1, sizeof(*order));
	uint32_t n = 0;

	for (uint32_t i = 0; order && i < page->nkernels; i++) {
		const struct nvs_page_kernel *k = page->kernels + i;
		struct row_total place = {k->direct.more + k->graph.more,
					  k->direct.total + k->graph.total, i};

		if (place.total)
			order[n++] = place;
	}
	if (n) {
		qsort(order, n, sizeof(*order), compare_by_work);
		begin_table(s, parts[NVS_TOP_KERNELS], has_times ? timed : f, has_times ? 8 : 5);
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct nvs_page_kernel *k = page->kernels + order[i].row;
		struct nvs_page_counter all = {order[i].total, order[i].more};
		char number[16];

		if (has_times)
			put_gpu_time(s, timed, page, k);
		put_rate(s, f, page, &all);
		put_count(s, f + 1, (double)all.total);
		put_count(s, f + 2, (double)k->graph.total);
		snprintf(number, sizeof(number), "%u", k->registers);
		put_cell(s, f + 3, NVS_TOP_PLAIN, k->max_threads ? number : NULL);
		put_last(s, nvs_top_kernel_name(page, order[i].row));
	}
	free(order);
}

/* Upper bound of the bucket that holds this percentile of the call times; NULL if there were no
 * calls. */
static const char *format_percentile(char to[NVS_FIGURE], const struct nvs_page_api *api,
				     unsigned percent)
{
	uint64_t wanted = api->calls.total / 100 * percent + api->calls.total % 100 * percent / 100,
		 n = 0;

	for (int i = 0; i < NVS_LIVE_BUCKETS; i++) {
		n += api->buckets[i];
		if (n > wanted || (n && n == api->calls.total))
			return i == NVS_LIVE_BUCKETS - 1
				       ? ">68s"
				       : nvs_figure_time(to, 1ull << (i + NVS_LIVE_BUCKET_SHIFT));
	}
	return NULL;
}

static void put_api(struct nvs_text_page *s, const struct field *f, const struct nvs_page *page,
		    uint32_t i)
{
	const struct nvs_page_api *api = page->apis + i;
	char to[NVS_FIGURE];

	put_rate(s, f, page, &api->calls);
	put_count(s, f + 1, (double)api->calls.total);
	put_bad_count(s, f + 2, api->failed.total);
	snprintf(to, sizeof(to), "%.1f",
		 100.0 * (double)api->ns.more / (double)(page->span_ns | 1));
	put_cell(s, f + 3, NVS_TOP_PLAIN, page->span_ns ? to : NULL);
	put_cell(s, f + 4, NVS_TOP_PLAIN,
		 api->calls.total ? nvs_figure_time(to, api->ns.total / api->calls.total) : NULL);
	put_cell(s, f + 5, NVS_TOP_PLAIN, format_percentile(to, api, 50));
	put_cell(s, f + 6, NVS_TOP_PLAIN, format_percentile(to, api, 99));
	put_last(s, nvs_top_api_name(page, i));
}

/* Slow calls by cause, largest total time first. */
static void put_stalls(struct nvs_text_page *s, const struct nvs_page *page)
{
	static const struct field f[] = {
		{"NOW/s", 7}, {"CALLS", 7}, {"HOST", 6}, {"MEAN", 6}, {"CAUSE", -1}};
	struct row_total order[NVS_LIVE_STALLS];
	uint32_t n = 0;
	char to[NVS_FIGURE];

	for (uint32_t i = 0; i < NVS_LIVE_STALLS; i++)
		if (page->stalls[i].calls.total && nvs_live_stall_name((enum nvs_live_stall)i))
			order[n++] = (struct row_total){0, page->stalls[i].ns.total, i};
	if (n) {
		qsort(order, n, sizeof(*order), compare_by_work);
		begin_table(s, "Launches and copies that waited", f, sizeof(f) / sizeof(*f));
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct nvs_page_stall *stall = page->stalls + order[i].row;

		put_rate(s, f, page, &stall->calls);
		put_count(s, f + 1, (double)stall->calls.total);
		put_cell(s, f + 2, NVS_TOP_PLAIN, nvs_figure_time(to, stall->ns.total));
		put_cell(s, f + 3, NVS_TOP_PLAIN,
			 nvs_figure_time(to, stall->ns.total / stall->calls.total));
		put_last(s, nvs_live_stall_name((enum nvs_live_stall)order[i].row));
	}
}

static void put_apis(struct nvs_text_page *s, const struct nvs_page *page)
{
	static const struct field f[] = {{"CALL/s", 7}, {"CALLS", 7}, {"FAILED", 6}, {"HOST%", 6},
					 {"MEAN", 6},	{"50%<", 6},  {"99%<", 6},   {"API", -1}};
	struct row_total *order = calloc(page->napis + 1, sizeof(*order));
	uint32_t n = 0;

	for (uint32_t i = 0; order && i < page->napis; i++)
		if (page->apis[i].calls.total || page->apis[i].failed.total)
			order[n++] = (struct row_total){page->apis[i].ns.more,
							page->apis[i].ns.total, i};
	if (n) {
		qsort(order, n, sizeof(*order), compare_by_work);
		BEGIN(s, NVS_TOP_APIS, f);
	}
	for (uint32_t i = 0; i < n; i++)
		put_api(s, f, page, order[i].row);
	free(order);
	put_stalls(s, page);
}

static void put_copies(struct nvs_text_page *s, const struct nvs_page *page)
{
	static const struct field f[] = {{"COPY/s", 7}, {"COPIES", 7}, {"GB/s", 7},
					 {"BYTES", 7},	{"MEAN", 6},   {"DIRECTION", -1}};
	bool begun = false;
	char to[NVS_FIGURE], words[32];
	double n;

	for (int i = 0; i < NVS_LIVE_DIRECTIONS; i++)
		for (int k = 0; k < NVS_LIVE_MODES; k++) {
			const struct nvs_page_copy *copy = &page->copy[i][k];

			if (!copy->calls.total)
				continue;
			if (!begun)
				BEGIN(s, NVS_TOP_COPIES, f);
			begun = true;
			put_rate(s, f, page, &copy->calls);
			put_count(s, f + 1, (double)copy->calls.total);
			put_cell(s, f + 2, NVS_TOP_PLAIN,
				 nvs_top_get_rate(page, &copy->bytes, &n)
					 ? nvs_figure_plain(to, n / 1e9)
					 : NULL);
			put_count(s, f + 3, (double)copy->bytes.total);
			put_cell(s, f + 4, NVS_TOP_PLAIN,
				 nvs_figure_time(to, copy->ns.total / copy->calls.total));
			snprintf(words, sizeof(words), "%s %s",
				 nvs_live_direction_name((enum nvs_live_direction)i),
				 nvs_live_mode_name((enum nvs_live_mode)k));
			put_last(s, words);
		}
}

static void put_sites(struct nvs_text_page *s, const struct nvs_page *page)
{
	static const struct field f[] = {
		{"LIVE", 7}, {"COUNT", 7}, {"PEAK", 7}, {"ALLOCS", 7}, {"CALL SITE", -1}};
	struct row_total *order = calloc(page->nsites + 1, sizeof(*order));
	uint32_t n = 0;

	for (uint32_t i = 0; order && i < page->nsites; i++)
		if (page->sites[i].live || page->sites[i].allocs.total)
			order[n++] = (struct row_total){page->sites[i].live, page->sites[i].peak,
							i};
	if (n)
		qsort(order, n, sizeof(*order), compare_by_work);
	for (uint32_t i = 0; i < n; i++) {
		const struct nvs_page_site *site = page->sites + order[i].row;
		char words[256];

		if (!i)
			begin_table(s, "Memory by call site", f, sizeof(f) / sizeof(*f));
		put_count(s, f, (double)site->live);
		put_count(s, f + 1, (double)site->live_count);
		put_count(s, f + 2, (double)site->peak);
		put_count(s, f + 3, (double)site->allocs.total);
		snprintf(words, sizeof(words), "%s%s%s",
			 *site->name	? site->name
			 : order[i].row ? "(no name yet)"
					: "(other)",
			 site->api ? " by " : "",
			 site->api ? nvs_top_api_name(page, site->api) : "");
		put_last(s, words);
	}
	free(order);
}

static void put_memory(struct nvs_text_page *s, const struct nvs_page *page)
{
	static const struct field f[] = {{"LIVE", 7},  {"COUNT", 7},  {"PEAK", 7}, {"ALLOCS", 7},
					 {"FREES", 7}, {"FAILED", 6}, {"GPU", 3},  {"KIND", -1}};
	char number[16];

	for (uint32_t i = 0; i < page->nmemory; i++) {
		const struct nvs_page_memory *m = page->memory + i;
		bool has_gpu = m->gpu && m->gpu <= page->ngpus &&
			       page->gpus[m->gpu - 1].ordinal != NVS_NONE;

		if (!i)
			BEGIN(s, NVS_TOP_MEMORY, f);
		put_count(s, f, (double)m->live);
		put_count(s, f + 1, (double)m->live_count);
		put_count(s, f + 2, (double)m->peak);
		put_count(s, f + 3, (double)m->allocs.total);
		put_count(s, f + 4, (double)(m->frees.total + m->ended.total));
		put_bad_count(s, f + 5, m->failed_allocs.total + m->failed_frees.total);
		if (has_gpu)
			snprintf(number, sizeof(number), "%u", page->gpus[m->gpu - 1].ordinal);
		put_cell(s, f + 6, NVS_TOP_PLAIN, has_gpu ? number : NULL);
		put_last(s, nvs_live_kind_name(m->kind));
	}
	put_sites(s, page);
}

static const struct field error_fields[] = {{"NOW/s", 7}, {"COUNT", 7}, {"ERROR", -1}};

static void put_error(struct nvs_text_page *s, const struct nvs_page *page,
		      const struct nvs_page_counter *sum, bool *begun, const char *words)
{
	if (!sum->total)
		return;
	if (!*begun)
		BEGIN(s, NVS_TOP_ERRORS, error_fields);
	*begun = true;
	put_rate(s, error_fields, page, sum);
	put_bad_count(s, error_fields + 1, sum->total);
	put_last(s, words);
}

static void put_errors(struct nvs_text_page *s, const struct nvs_page *page)
{
	bool begun = false;
	char words[512];

	for (uint32_t i = 0; i < page->nresults; i++) {
		const struct nvs_page_result *result = page->results + i;
		const char *name = nvs_call_error(result->result);

		if (i)
			snprintf(words, sizeof(words), "%s: %s (%u)",
				 nvs_top_api_name(page, result->api), name ? name : "CUresult",
				 result->result);
		put_error(s, page, &result->count, &begun, i ? words : "(other)");
	}
	for (uint32_t i = 0; i < NVS_LIVE_GAPS; i++) {
		snprintf(words, sizeof(words), "submissions not recorded: %s",
			 nvs_gap_reason_name(i));
		put_error(s, page, page->gaps + i, &begun, words);
	}
	put_error(s, page, page->counts + NVS_LIVE_ORPHANS, &begun,
		  "doorbells of unknown channels");
	put_error(s, page, &page->left, &begun, "calls that ended without a result");
	put_error(s, page, &(struct nvs_page_counter){page->failed_rows, 0}, &begun,
		  "items counted as (other): the page is full");
}

/* How full the GPFIFO ring is: "[||||      ]". */
static void put_ring(struct nvs_text_page *s, const struct nvs_page_channel *c)
{
	char bar[13] = "[          ]";
	bool known = c->used != NVS_NONE && c->entries && c->used <= c->entries;
	uint32_t full = known ? (uint32_t)((10ull * c->used + c->entries - 1) / c->entries) : 0;

	for (uint32_t i = 0; i < full; i++)
		bar[1 + i] = '|';
	nvs_text_page_pad(s, NVS_TOP_PLAIN, s->at + 1);
	nvs_text_page_add_escaped(s,
				  full > 8   ? NVS_TOP_BAD
				  : full > 5 ? NVS_TOP_WARN
				  : known    ? NVS_TOP_GOOD
					     : NVS_TOP_DIM,
				  known ? bar : "-", UINT32_MAX, 12);
}

static void put_channel(struct nvs_text_page *s, const struct field *f, const struct nvs_page *page,
			const struct nvs_page_channel *c)
{
	bool has_gpu = c->gpu && page->gpus[c->gpu - 1].ordinal != NVS_NONE;
	char number[32], to[NVS_FIGURE];

	snprintf(number, sizeof(number), "%u", c->channel);
	put_cell(s, f, NVS_TOP_PLAIN, number);
	if (has_gpu)
		snprintf(number, sizeof(number), "%u", page->gpus[c->gpu - 1].ordinal);
	put_cell(s, f + 1, NVS_TOP_PLAIN, has_gpu ? number : NULL);
	put_rate(s, f + 2, page, &c->submitted);
	put_count(s, f + 3, (double)c->submitted.total);
	put_cell(s, f + 4, c->pending ? NVS_TOP_WARN : NVS_TOP_PLAIN,
		 c->pending == NVS_LIVE_UNKNOWN ? NULL : nvs_figure_count(to, (double)c->pending));
	put_cell(s, f + 5, NVS_TOP_PLAIN,
		 c->submitted_ns ? nvs_figure_time(to, page->mono_ns - c->submitted_ns) : NULL);
	put_cell(s, f + 6, NVS_TOP_PLAIN,
		 c->completed_ns ? nvs_figure_time(to, page->mono_ns - c->completed_ns) : NULL);
	put_ring(s, c);
	snprintf(number, sizeof(number), "%u of %u", c->used, c->entries);
	put_last(s, c->used == NVS_NONE || !c->entries ? "-" : number);
}

static void put_channels(struct nvs_text_page *s, const struct nvs_page *page)
{
	static const struct field f[] = {{"CHANNEL", 7}, {"GPU", 3},	{"SUBM/s", 7},
					 {"SUBM", 7},	 {"PEND", 6},	{"LAST", 6},
					 {"DONE", 6},	 {"RING", -12}, {"ENTRIES", -1}};

	for (uint32_t i = 0; i < page->nchannels; i++) {
		if (!i)
			BEGIN(s, NVS_TOP_CHANNELS, f);
		put_channel(s, f, page, page->channels + i);
	}
}

static void put_thread(struct nvs_text_page *s, const struct field *f, const struct nvs_page *page,
		       const struct nvs_page_thread *t)
{
	char number[16], to[NVS_FIGURE], calls[256] = "", ranges[512] = "";
	size_t at = 0;

	for (uint32_t i = 0; i < t->ncalls && at < sizeof(calls); i++)
		at += (size_t)snprintf(calls + at, sizeof(calls) - at, "%s%s", at ? " > " : "",
				       nvs_top_api_name(page, t->calls[i].api));
	at = 0;
	for (uint32_t i = 0; i < t->nranges && at < sizeof(ranges); i++)
		at += (size_t)snprintf(ranges + at, sizeof(ranges) - at, "%s%s", at ? " > " : "",
				       t->ranges[i].name);
	snprintf(number, sizeof(number), "%u", t->tid);
	put_cell(s, f, NVS_TOP_PLAIN, number);
	put_cell(s, f + 1, NVS_TOP_PLAIN, *t->name ? t->name : NULL);
	put_cell(s, f + 2, NVS_TOP_PLAIN,
		 t->ncalls && t->calls[0].begin_ns
			 ? nvs_figure_time(to, page->mono_ns - t->calls[0].begin_ns)
			 : NULL);
	put_cell(s, f + 3, NVS_TOP_PLAIN, *calls ? calls : NULL);
	put_last(s, *ranges ? ranges : "-");
}

static void put_threads(struct nvs_text_page *s, const struct nvs_page *page)
{
	static const struct field f[] = {
		{"TID", 7}, {"NAME", -15}, {"FOR", 6}, {"IN CALL", -28}, {"NVTX RANGE", -1}};

	for (uint32_t i = 0; i < page->nthreads; i++) {
		if (!i)
			BEGIN(s, NVS_TOP_THREADS, f);
		put_thread(s, f, page, page->threads + i);
	}
}

void nvs_top_add_detail(struct nvs_text_page *s, const struct nvs_top_row *row,
			enum nvs_top_part part)
{
	static void (*const put[])(struct nvs_text_page * s, const struct nvs_page *page) = {
		NULL,	    put_kernels, put_apis,     put_copies,
		put_memory, put_errors,	 put_channels, put_threads};

	put_identity(s, row);
	for (int i = 1; i < NVS_TOP_PARTS; i++) {
		uint32_t before = s->nlines;

		if (part != NVS_TOP_ALL && part != (enum nvs_top_part)i)
			continue;
		put[i](s, row->page);
		if (part != NVS_TOP_ALL && s->nlines == before) {
			nvs_text_page_end_line(s);
			nvs_text_page_printf(s, NVS_TOP_DIM, "%s: none", parts[i]);
			nvs_text_page_end_line(s);
		}
	}
}
