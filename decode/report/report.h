/* SPDX-License-Identifier: MIT */
/* nvsnoop-report's inside: options, output, tables, and which file makes which report. */
#ifndef NVSNOOP_DECODE_REPORT_REPORT_H
#define NVSNOOP_DECODE_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "nvsnoop/decode.h"
#include "decode/report/tally_columns.h"

/* ---- options.c ---- */

enum nvs_report_kind {
	NVS_REPORT_SUMMARY,
	NVS_REPORT_BY_API,
	NVS_REPORT_BY_CALLSITE,
	NVS_REPORT_CHANNELS,
	NVS_REPORT_VERIFY,
	NVS_REPORT_DUMP,
	NVS_REPORT_OPS,
	NVS_REPORT_SYNC,
	NVS_REPORT_BY_KERNEL, /* these read the calls in a pass of their own */
	NVS_REPORT_GRAPHS,
	NVS_REPORT_MEMCPY,
	NVS_REPORT_BY_STREAM,
	NVS_REPORT_BY_THREAD,
	NVS_REPORT_BY_CONTEXT,
	NVS_REPORT_TIMELINE,
	NVS_REPORT_CLASSES, /* from here on without a trace */
	NVS_REPORT_CLASS,
	NVS_REPORT_RAW,
};

enum nvs_format { NVS_FORMAT_TEXT, NVS_FORMAT_JSON, NVS_FORMAT_CSV };

#define NVS_MAX_FILTERS 64

struct nvs_options_report {
	enum nvs_report_kind kind;
	enum nvs_format format;
	const char *sort; /* column, NULL: the report's own order; "-name" ascending */
	uint64_t rows; /* 0: all */
	bool has_range;
	uint64_t first, last; /* submissions, both included */
	const char *thread[NVS_MAX_FILTERS], *channel[NVS_MAX_FILTERS], *api[NVS_MAX_FILTERS];
	uint32_t nthread, nchannel, napi;
	const char *cls; /* --class */
	const char *subch[NVS_MAX_FILTERS]; /* --subch, as given */
	uint32_t nsubch;
	int color; /* -1: never, 0: auto, 1: always */
	bool pager;
	bool verbose; /* each file that could not be read */
	bool wide; /* all columns, whatever the terminal's width */
	bool progress;
	bool help, version;
	struct nvs_read_options read;
	char **files;
	int nfiles;
};

/* 0, or -EINVAL with a message on stderr: exit 2. */
int nvs_options_parse(struct nvs_options_report *o, int argc, char **argv);
void nvs_options_help(FILE *out);

/* ---- out.c: where it goes ---- */

struct nvs_out {
	FILE *file;
	bool terminal;
	bool fit; /* a person reads it: tables are made to fit the width */
	bool color;
	int width;
	int pager; /* process, 0: none */
	int status; /* -errno of the first failure */
};

int nvs_out_open(struct nvs_out *out, const struct nvs_options_report *o);
/* 0, or -errno of what went wrong; EPIPE is among it. */
int nvs_out_close(struct nvs_out *out);
/* Untrusted text, escaped. */
void nvs_out_text(struct nvs_out *out, const char *text);
void nvs_out_json(struct nvs_out *out, const char *text, size_t length);
void nvs_out_csv(struct nvs_out *out, const char *text);
enum nvs_style { NVS_STYLE_PLAIN, NVS_STYLE_HEAD, NVS_STYLE_GOOD, NVS_STYLE_BAD, NVS_STYLE_DIM };
const char *nvs_out_style(const struct nvs_out *out, enum nvs_style style);
/* The progress line; nothing where stderr is no terminal. */
void nvs_progress(void *arg, uint64_t done, uint64_t total);
void nvs_progress_clear(void);

/* ---- table.c: one table, three formats ---- */

enum nvs_value_kind {
	NVS_VALUE_NONE, /* not known: "-", null, empty */
	NVS_VALUE_TEXT,
	NVS_VALUE_COUNT,
	NVS_VALUE_HEX,
	NVS_VALUE_REAL, /* two decimals */
	NVS_VALUE_SECONDS, /* nine decimals */
	NVS_VALUE_BAR, /* real: of 1, as a bar */
};

struct nvs_value {
	enum nvs_value_kind kind;
	const char *text;
	uint64_t count;
	double real;
	int64_t ns;
};

/* Text: stands behind the numbers, and gives way when space is short */
#define NVS_COLUMN_NAME (1u << 0)
#define NVS_COLUMN_SEVERAL (1u << 1) /* text: only when several traces are reported */
#define NVS_COLUMN_DETAIL (1u << 2) /* not in text */
#define NVS_COLUMN_IF_ANY (1u << 3) /* in text only when a row has something else than 0 */

#define NVS_COLUMN_TEXT (1u << 4) /* in text only: what it says stands in others */
#define NVS_COLUMN_BAR (1u << 5) /* NVS_VALUE_BAR, on a terminal only */
/* Text: next to the column before it, whatever its own rank */
#define NVS_COLUMN_BESIDE (1u << 6)

/* The registry: one line serves text, JSON, CSV and -s. */
struct nvs_column {
	const char *name; /* key in JSON and CSV, and for -s */
	const char *title; /* in text */
	void (*get)(const void *row, struct nvs_value *value);
	uint32_t flags;
	uint8_t rank; /* 0: most important. In text a lower one stands before a higher one, and a
			 terminal too narrow for all goes without the highest */
};

struct nvs_table {
	const char *report;
	const struct nvs_column *columns;
	uint32_t ncolumns;
	const char *sort; /* by default: column, "-" before it: ascending; NULL: as they come */
	const void **rows;
	size_t nrows;
	bool several;
};

const struct nvs_column *nvs_table_column(const struct nvs_table *table, const char *name);
/* -EINVAL: no such column, said on stderr. */
int nvs_table_print(struct nvs_out *out, struct nvs_table *table,
		    const struct nvs_options_report *o);

/* ---- cells.c: what all tables are summed up from ---- */

/* One stack of one thread on one channel of one trace, in calls of one API. */
struct nvs_cell {
	uint64_t tag; /* a hash of these */
	uint32_t stack, thread, channel, trace;
	bool used;
	uint64_t submissions, entries, bytes;
	struct nvs_tally tally;
	const struct nvs_call_api *api; /* NULL: not told */
};

struct nvs_calls;
struct nvs_call_api;
struct nvs_attach;
struct nvs_continuity;

/* A trace that is reported. */
struct nvs_source {
	struct nvs_trace *trace;
	const char *path;
	uint32_t index;
	struct nvs_cell *cells; /* open addressing */
	uint32_t ncells, mask;
	struct nvs_cell *last; /* the one counted into last */
	const struct nvs_options_report *options;
	bool has_calls; /* of the API */
	struct nvs_calls *calls; /* which submission is whose */
	const struct nvs_call_api *now_api; /* while it is read */
	/* While it is read. */
	struct nvs_attach *follow;
	struct nvs_continuity *progress;
	struct nvs_cell *now; /* of the submission in progress, NULL: not counted */
	int status; /* -errno of what a callback could not do */
};

/* Reads it through once; cells, model, findings are complete then. 0 or -errno, said on stderr. */
int nvs_source_read(struct nvs_source *s);
void nvs_source_free(struct nvs_source *s);
/* Who reads it once more hands S->calls each submission and record first: now_api is right then. */
const char *nvs_source_api(const struct nvs_source *s, const struct nvs_submission *sub);
/* The API that submissions came from: what their stack says, else the call (NULL: not known) they
 * happened in. */
const char *nvs_api_name(const struct nvs_callsite *site, const struct nvs_call_api *api);

/* The filters of the command line, once the trace has been read; true: it passes. */
bool nvs_filter_thread(const struct nvs_source *s, uint32_t thread);
bool nvs_filter_channel(const struct nvs_source *s, uint32_t channel);
/* By what is called: the name, or one of those that the stack tells. */
bool nvs_filter_api(const struct nvs_source *s, const char *api, uint32_t stack);
/* By range, thread and channel alone. */
bool nvs_filter_submission(const struct nvs_source *s, const struct nvs_submission *sub);
/* By all of them; S->now_api is that of SUB. */
bool nvs_filter(const struct nvs_source *s, const struct nvs_submission *sub);
bool nvs_filter_cell(const struct nvs_source *s, const struct nvs_cell *cell);

/*
 * ---- by_kernel.c, graphs.c, memcpy.c, by_stream.c, timeline.c ----
 */
int nvs_report_by_kernel(struct nvs_out *out, struct nvs_source *s, uint32_t n,
			 const struct nvs_options_report *o);
int nvs_report_graphs(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		      const struct nvs_options_report *o);
int nvs_report_memcpy(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		      const struct nvs_options_report *o);
int nvs_report_by_stream(struct nvs_out *out, struct nvs_source *s, uint32_t n,
			 const struct nvs_options_report *o);
int nvs_report_by_thread(struct nvs_out *out, struct nvs_source *s, uint32_t n,
			 const struct nvs_options_report *o);
int nvs_report_by_context(struct nvs_out *out, struct nvs_source *s, uint32_t n,
			  const struct nvs_options_report *o);
int nvs_report_timeline(struct nvs_out *out, struct nvs_source *s, uint32_t n,
			const struct nvs_options_report *o);

/* ---- ops.c, sync.c, classes.c, raw.c ---- */
int nvs_report_ops(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		   const struct nvs_options_report *o);
int nvs_report_sync(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		    const struct nvs_options_report *o);
int nvs_report_classes(struct nvs_out *out, const struct nvs_options_report *o);
int nvs_report_class(struct nvs_out *out, const struct nvs_options_report *o);
int nvs_report_raw(struct nvs_out *out, const struct nvs_options_report *o);

/* ---- by_api.c, channels.c, summary.c, verify.c, dump.c ---- */
int nvs_report_by_api(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		      const struct nvs_options_report *o);
int nvs_report_by_callsite(struct nvs_out *out, struct nvs_source *s, uint32_t n,
			   const struct nvs_options_report *o);
/* The first ROWS lines of by-api below a heading, for the summary. */
int nvs_report_top_apis(struct nvs_out *out, struct nvs_source *s, uint32_t n,
			const struct nvs_options_report *o, uint32_t rows);
int nvs_report_channels(struct nvs_out *out, struct nvs_source *s, uint32_t n,
			const struct nvs_options_report *o);
int nvs_report_summary(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		       const struct nvs_options_report *o);
/* *EXIT: 0 all whole, 1 something is missing, 3 whole up to a crash. */
int nvs_report_verify(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		      const struct nvs_options_report *o, int *status);
int nvs_report_dump(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		    const struct nvs_options_report *o);

#endif
