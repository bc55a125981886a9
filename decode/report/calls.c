/* SPDX-License-Identifier: MIT */
/* What the reports on API calls share: the reading, filters, times and names. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report/calls.h"

static bool selects(const void *source, const struct nvs_submission *s)
{
	return nvs_filter_submission(source, s);
}

int nvs_report_read_calls(struct nvs_source *s, const struct nvs_reader *reader)
{
	struct nvs_reading *reading = nvs_reading_new(s->trace);
	struct nvs_error err = {""};
	int r = reading ? nvs_reading_add(reading, reader) : -ENOMEM;

	if (!r) {
		nvs_reading_select(reading, selects, s);
		r = nvs_reading_run(reading, &err);
	}
	nvs_progress_clear();
	if (r && err.text[0])
		fprintf(stderr, "nvsnoop-report: %s\n", err.text);
	if (!r && !nvs_reading_saw(reading, NVS_REC_API))
		fprintf(stderr,
			"nvsnoop-report: %s: holds no API calls (recorded with api=off, or by an "
			"older nvsnoop)\n",
			s->path);
	nvs_reading_free(reading);
	return r;
}

bool nvs_filter_call(const struct nvs_source *s, const struct nvs_call *call)
{
	const struct nvs_options_report *o = s->options;

	/* Where submissions are selected, so are the calls they happened in. */
	return ((!o->has_range && !o->nchannel) || call->selected) && nvs_filter_call_name(s, call);
}

bool nvs_filter_call_name(const struct nvs_source *s, const struct nvs_call *call)
{
	return nvs_filter_api(s, call->api->name, call->stack) &&
	       nvs_filter_thread(s, call->thread);
}

const char *nvs_call_name(const struct nvs_call *call)
{
	return *call->api->name ? call->api->name : "[unknown]";
}

/* ---- times ---- */

/* 16 buckets to each doubling. */
static uint32_t bucket_of(uint64_t ns)
{
	uint32_t log;

	if (ns < 16)
		return (uint32_t)ns;
	log = 63 - (uint32_t)__builtin_clzll(ns);
	return (log - 3) * 16 + ((uint32_t)(ns >> (log - 4)) & 15);
}

static uint64_t middle_of(uint32_t bucket)
{
	uint32_t log = bucket / 16 + 3;
	uint64_t low;

	if (bucket < 16)
		return bucket;
	low = (16ull + (bucket & 15)) << (log - 4);
	return low + ((1ull << (log - 4)) >> 1);
}

/* Makes room for bucket B: times of one kind lie close together, so only as many as lie between
 * them. */
static int reach(struct nvs_times *t, uint32_t b)
{
	uint32_t first = b & ~15u, end = first + 16;
	uint32_t *more;

	if (t->n && t->first < first)
		first = t->first;
	if (t->n && t->first + t->n > end)
		end = t->first + t->n;
	more = calloc(end - first, sizeof(*more));
	if (!more)
		return -ENOMEM;
	if (t->n)
		memcpy(more + (t->first - first), t->bucket, t->n * sizeof(*more));
	free(t->bucket);
	t->bucket = more;
	t->first = (uint16_t)first;
	t->n = (uint16_t)(end - first);
	return 0;
}

static int count_in(struct nvs_times *t, uint32_t b, uint32_t n)
{
	if (b < t->first || b >= (uint32_t)t->first + t->n)
		if (reach(t, b))
			return -ENOMEM;
	t->bucket[b - t->first] += n;
	return 0;
}

int nvs_times_add(struct nvs_times *t, uint64_t ns)
{
	t->count++;
	t->sum += ns;
	if (ns > t->max)
		t->max = ns;
	return count_in(t, bucket_of(ns), 1);
}

int nvs_times_merge(struct nvs_times *into, const struct nvs_times *from)
{
	int r = 0;

	into->count += from->count;
	into->sum += from->sum;
	if (from->max > into->max)
		into->max = from->max;
	for (uint32_t i = 0; i < from->n && !r; i++)
		if (from->bucket[i])
			r = count_in(into, from->first + i, from->bucket[i]);
	return r;
}

void nvs_times_free(struct nvs_times *t)
{
	free(t->bucket);
	memset(t, 0, sizeof(*t));
}

uint64_t nvs_times_quantile(const struct nvs_times *t, double q)
{
	uint64_t want = (uint64_t)(q * (double)t->count), seen = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		seen += t->bucket[i];
		if (seen > want)
			return middle_of(t->first + i) < t->max ? middle_of(t->first + i) : t->max;
	}
	return t->max;
}

/* ---- names ---- */

typedef char *(*demangle_fn)(const char *, char *, size_t *, int *);

/* The C++ library knows how; where it is not there, names stay as they are. */
static demangle_fn find_demangle(void)
{
	static bool looked;
	static demangle_fn fn;
	void *library, *symbol;

	if (looked)
		return fn;
	looked = true;
	library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	symbol = library ? dlsym(library, "__cxa_demangle") : NULL;
	if (symbol)
		memcpy(&fn, &symbol, sizeof(fn));
	return fn;
}

char *nvs_demangle(const char *name)
{
	demangle_fn fn = !strncmp(name, "_Z", 2) ? find_demangle() : NULL;
	int status = 0;
	char *text = fn ? fn(name, NULL, NULL, &status) : NULL;

	return text ? text : strdup(name);
}

/* ---- tables ---- */

int nvs_report_rows(struct nvs_out *out, struct nvs_table *table, const void *rows, size_t n,
		    size_t size, const struct nvs_options_report *o)
{
	int r;

	table->nrows = n;
	table->rows = calloc(n + 1, sizeof(*table->rows));
	if (!table->rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		table->rows[i] = (const char *)rows + i * size;
	r = nvs_table_print(out, table, o);
	free(table->rows);
	return r;
}
