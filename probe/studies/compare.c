/* SPDX-License-Identifier: MIT */
/*
 * `nvsnoop-probe dma --compare`: times that profilers report for a copy, next to its real time.
 * Runs nvsnoop-probe again to make the driver's copies, once timed and once recorded. The trace
 * shows how each copy was made; a size is compared only if ours was made the same way.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "probe/studies/copies.h"
#include "probe/studies/dma.h"
#include "probe/lib/self_recording.h"
#include "probe/studies.h"
#include "probe/lib/svg.h"

enum { BYTES, MODE, CUPTI, EVENTS, HOST, RAW, SHARES, COLUMNS = SHARES + 6 };

static const struct nvs_column columns[] = {
	{"bytes", "bytes"},
	{"mode", "mode", .flags = NVS_COLUMN_LEFT},
	{"cupti_ns", "CUPTI\nns", .decimals = 2},
	{"events_ns", "events\nns", .decimals = 2},
	{"host_ns", "host\nns", .decimals = 2},
	{"raw_ns", "raw\nns", .decimals = 2},
	{"cupti_percent", "CUPTI\n%", .decimals = 2},
	{"events_percent", "events\n%", .rank = 2, .decimals = 2},
	{"host_percent", "host\n%", .rank = 1, .decimals = 2},
	{"published_a40_profiler_ns", "", .flags = NVS_COLUMN_DETAIL, .decimals = 2},
	{"published_a40_raw_ns", "A40\nraw ns", .decimals = 2},
	{"published_a40_percent", "A40\n%", .decimals = 2},
};
_Static_assert(sizeof(columns) / sizeof(columns[0]) == COLUMNS, "one for each cell");

static const uint32_t all_sizes[] = {8,	    32,	    128,    512,     2048,    8192,
				     32768, 131072, 524288, 2097152, 8388608, 33554432};

/* ---- how the driver made its copies ---- */

enum { NO_MODE, BY_INLINE, BY_ENGINE, BY_OTHER, MIXED };

struct size {
	uint32_t bytes, seen; /* copies so far, over all timing methods */
	uint8_t mode[PROBE_COPY_WAYS];
	double ns[PROBE_COPY_WAYS];
};

struct compare {
	struct size sizes[PROBE_SIZES_MAX];
	uint32_t n;
};

static uint8_t mode_of(const struct nvs_tally *t)
{
	uint64_t engine = t->copies[NVS_COPY_ENGINE], in = t->copies[NVS_COPY_INLINE],
		 macro = t->copies[NVS_COPY_MACRO];

	if (t->unseen || engine + in + macro == 0)
		return BY_OTHER;
	return !engine && !macro ? BY_INLINE : !in && !macro ? BY_ENGINE : BY_OTHER;
}

static int on_call(void *arg, struct nvs_trace *trace, const struct nvs_call *call)
{
	struct compare *c = arg;
	struct nvs_arg bytes;

	if (strcmp(nvs_call_api_name(call), "cuMemcpyHtoDAsync_v2") ||
	    !nvs_call_arg(call, "ByteCount", &bytes))
		return 0;
	for (uint32_t i = 0; i < c->n; i++) {
		struct size *s = &c->sizes[i];
		uint32_t way = s->seen / (PROBE_COPIES_WARM + PROBE_COPIES_TIMED);
		bool warm = s->seen % (PROBE_COPIES_WARM + PROBE_COPIES_TIMED) < PROBE_COPIES_WARM;
		uint8_t mode = mode_of(&call->tally);

		if (s->bytes != bytes.value || way >= PROBE_COPY_WAYS)
			continue;
		s->seen++;
		if (!warm)
			s->mode[way] = s->mode[way] && s->mode[way] != mode ? MIXED : mode;
	}
	return 0;
}

/* ---- the runs ---- */

static void read_line(struct compare *c, const char *line)
{
	char words[PROBE_COPY_WAYS][32];
	unsigned bytes;

	if (sscanf(line, "%u %31s %31s %31s", &bytes, words[0], words[1], words[2]) != 4)
		return;
	for (uint32_t i = 0; i < c->n; i++)
		for (uint32_t k = 0; c->sizes[i].bytes == bytes && k < PROBE_COPY_WAYS; k++)
			c->sizes[i].ns[k] = strcmp(words[k], "-") ? strtod(words[k], NULL) : NAN;
}

static void run_children(struct compare *c, const struct probe_options *o)
{
	static char sizes[PROBE_SIZES_MAX * 12] = "--sizes=";
	struct nvs_consumer consumer = {
		.size = sizeof(consumer), .flags = NVS_READ_TALLIES, .call = on_call};
	struct probe_child_run r;
	char gpu[32];
	const char *arguments[] = {"copies", gpu, sizes, NULL};

	snprintf(gpu, sizeof(gpu), "--gpu=%d", o->gpu);
	for (uint32_t i = 0; i < c->n; i++)
		sprintf(sizes + strlen(sizes), "%s%u", i ? "," : "", c->sizes[i].bytes);
	probe_run_child(&r, arguments, false);
	for (char *line = strtok(r.text, "\n"); line; line = strtok(NULL, "\n"))
		read_line(c, line);
	probe_child_free(&r);
	probe_run_child(&r, arguments, true);
	probe_child_read_trace(&r, &consumer, c);
	probe_child_free(&r);
}

/* ---- the rows ---- */

static double error_percent(double profiler, double raw)
{
	return (profiler - raw) / profiler * 100;
}

/* Returns NAN if the copies of this timing method were made in another mode than the row's. */
static double time_in_mode(const struct size *s, uint32_t way, uint8_t mode)
{
	return s->mode[way] == mode ? s->ns[way] : NAN;
}

static void add_row(struct probe_table *t, const struct size *s, uint8_t mode, double raw)
{
	double cupti = time_in_mode(s, PROBE_BY_CUPTI, mode),
	       events = time_in_mode(s, PROBE_BY_EVENTS, mode),
	       host = time_in_mode(s, PROBE_BY_HOST, mode);
	const struct dma_way way = {.copy = mode == BY_ENGINE, .commands = PROBE_HOST};
	const struct dma_published *a40 = dma_published(&way, s->bytes);

	probe_table_add_row(
		t, (struct nvs_value[COLUMNS]){
			   PROBE_NUMBER(s->bytes),
			   PROBE_WORDS(mode == BY_ENGINE ? "engine" : "inline"),
			   PROBE_NUMBER(cupti), PROBE_NUMBER(events), PROBE_NUMBER(host),
			   PROBE_NUMBER(raw), PROBE_NUMBER(error_percent(cupti, raw)),
			   PROBE_NUMBER(error_percent(events, raw)),
			   PROBE_NUMBER(error_percent(host, raw)), PROBE_NUMBER(a40->profiler),
			   PROBE_NUMBER(a40->ns), PROBE_NUMBER(a40->percent)});
}

/* Notes the sizes for which events have no comparable time. */
static void note_events(struct probe_table *t, const struct compare *c)
{
	char text[PROBE_SIZES_MAX * 12 + 1] = "";
	size_t at = 0;

	for (size_t row = 0; row < t->of.nrows; row++)
		for (uint32_t i = 0; i < c->n; i++)
			if (c->sizes[i].bytes == probe_table_cells(t, row)->real &&
			    !isnan(c->sizes[i].ns[PROBE_BY_EVENTS]) &&
			    isnan(probe_table_cells(t, row)[EVENTS].real))
				at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u",
						       at ? ", " : "", c->sizes[i].bytes);
	if (at)
		probe_table_add_note(t,
				     "%s bytes: with events around it the driver copies in another "
				     "mode, which is "
				     "not compared",
				     text);
}

static void add_rows(struct probe_table *t, const struct compare *c, const double *by_inline,
		     const double *by_engine)
{
	bool cupti = false;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct size *s = &c->sizes[i];
		uint8_t mode = s->mode[PROBE_BY_HOST];
		double raw = mode == BY_INLINE	 ? by_inline[i]
			     : mode == BY_ENGINE ? by_engine[i]
						 : NAN;

		if (isnan(raw)) {
			probe_table_add_note(
				t, "%u bytes: no row, because the driver's copies %s", s->bytes,
				mode == MIXED ? "were not all made in one mode"
				: mode == BY_INLINE || mode == BY_ENGINE
					? "used a mode that was not measured"
					: "were neither purely inline nor purely by copy engine");
			continue;
		}
		add_row(t, s, mode, raw);
		cupti |= !isnan(s->ns[PROBE_BY_CUPTI]);
	}
	note_events(t, c);
	if (!cupti)
		probe_table_add_note(
			t, "CUPTI was not found or records no copies here: no CUPTI times");
	probe_table_add_note(
		t, "medians of %d copies, each waited for; raw: the interval of our own copies",
		PROBE_COPIES_TIMED);
}

static void draw_plot(const struct probe_table *t, const struct probe_session *session,
		      const char *folder)
{
	static const char *const names[] = {"CUPTI",
					    "events",
					    "host, with the wait",
					    "raw",
					    "A40, profiler, published",
					    "A40, raw, published"};
	static const uint8_t from[] = {CUPTI, EVENTS, HOST, RAW, SHARES + 3, SHARES + 4};
	static double x[6][PROBE_SIZES_MAX], y[6][PROBE_SIZES_MAX];
	struct probe_series series[6];
	char path[4200];

	for (uint32_t i = 0; i < 6; i++) {
		series[i] = (struct probe_series){names[i], x[i], y[i], 0, i >= 4};
		for (size_t row = 0; row < t->of.nrows; row++) {
			const struct nvs_value *cells = probe_table_cells(t, row);

			if (isnan(cells[from[i]].real))
				continue;
			x[i][series[i].n] = cells[BYTES].real;
			y[i][series[i].n++] = cells[from[i]].real;
		}
	}
	snprintf(path, sizeof(path), "%s/dma-compare.svg", folder);
	probe_svg_write(path,
			&(struct probe_plot){.title = "One copy from pinned memory, as profilers "
						      "see it",
					     .subtitle = probe_describe_machine(session),
					     .x = "bytes a copy",
					     .y = "ns a copy",
					     .log_x = true,
					     .log_y = true,
					     .binary_x = true,
					     .series = series,
					     .n = 6});
}

int dma_run_compare(const struct probe_options *o)
{
	static struct compare c;
	static double by_inline[PROBE_SIZES_MAX], by_engine[PROBE_SIZES_MAX];
	static uint32_t sizes[PROBE_SIZES_MAX];
	struct probe_table table = PROBE_TABLE("dma-compare", columns);
	struct probe_session session;
	uint32_t n;

	n = o->nsizes ? o->nsizes : sizeof(all_sizes) / sizeof(all_sizes[0]);
	for (uint32_t i = 0, k; i < n; i++) {
		uint32_t bytes = o->nsizes ? o->sizes[i] : all_sizes[i];

		for (k = 0; k < c.n && sizes[k] != bytes; k++)
			;
		if (k < c.n)
			continue;
		sizes[k] = bytes;
		c.sizes[c.n++] = (struct size){.bytes = bytes, .ns = {NAN, NAN, NAN}};
	}
	/* Run the children before this process initializes CUDA: a forked child must not inherit
	 * it. */
	run_children(&c, o);
	dma_measure_raw(o, &session, sizes, c.n, by_inline, by_engine);
	add_rows(&table, &c, by_inline, by_engine);
	probe_table_print(&table, &session, o->format);
	if (o->svg)
		draw_plot(&table, &session, o->svg);
	probe_table_free(&table);
	return 0;
}
