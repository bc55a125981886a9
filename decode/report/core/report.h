/* SPDX-License-Identifier: MIT */
/*
 * nvsnoop-report's inside. A report is one file that registers itself with NVS_REPORT(): its
 * option, what is said of it, what it needs of a trace, and what it does. Options, --help, man
 * page, completion and the tests that go through all reports know it from there.
 */
#ifndef NVSNOOP_DECODE_REPORT_CORE_REPORT_H
#define NVSNOOP_DECODE_REPORT_CORE_REPORT_H

#include <string.h>
#include "decode/calls/args.h"
#include "decode/calls/pass.h"
#include "decode/cli/pattern.h"
#include "decode/cli/table.h"
#include "nvsnoop/decode.h"

/* ---- options.c ---- */

enum nvs_format { NVS_FORMAT_TEXT, NVS_FORMAT_JSON, NVS_FORMAT_CSV };

#define NVS_MAX_REPORTS 64

struct nvs_report;

enum nvs_range_by { NVS_RANGE_ALL, NVS_RANGE_NUMBERS, NVS_RANGE_TIME, NVS_RANGE_PERCENT };

/* Numbers of submissions, both included; or ns since the session's start, or 10^-9 of a percent of
 * it, TO excluded. UINT64_MAX: to the end. */
struct nvs_range {
	enum nvs_range_by by, to_by; /* unlike each other: time and percent */
	uint64_t from, to;
	const char *text; /* as given */
};

struct nvs_options_report {
	const struct nvs_report *reports[NVS_MAX_REPORTS]; /* in the order asked for */
	uint32_t nreports; /* 1 at least */
	const char *argument; /* of the one report that takes one */
	const char *more[NVS_MAX_PATTERNS]; /* values of a report's further option */
	uint32_t nmore;
	const struct nvs_report *more_of; /* whose option that is */
	enum nvs_format format;
	const char *output; /* -o; NULL: stdout */
	bool overwrite; /* a file of that name */
	const char *sort; /* column, NULL: the report's own order; "-name" ascending */
	uint64_t rows; /* 0: all */
	bool has_rows;
	struct nvs_range range;
	struct nvs_patterns thread, channel, api, nvtx;
	int color; /* -1: never, 0: auto, 1: always */
	bool pager;
	bool verbose; /* each file that could not be read */
	bool wide; /* all columns, whatever the terminal's width */
	bool per_trace; /* rows sum up nothing of several traces */
	bool progress;
	bool embed; /* no report: names go into the traces */
	bool page; /* --html: of the summary its sentences alone; what there is none of it says */
	bool help, version;
	const char *called; /* as we were called: for commands that are shown */
	const char *stand_in; /* in these for the trace, which will not be kept */
	const char *list; /* the registry for scripts: "reports", "columns" or "man" */
	struct nvs_read_options read;
	char **files;
	int nfiles;
	uint64_t number[2]; /* of NVS_NEED_PAIR, where NUMBERED: FILE:NUMBER was given */
	bool numbered;
};

/* 0, or -EINVAL with a message on stderr: exit 2. To be freed either way. */
int nvs_options_parse(struct nvs_options_report *o, int argc, char **argv);
void nvs_options_free(struct nvs_options_report *o);
void nvs_options_help(FILE *out);

/* ---- the registry ---- */

/* What a report needs, beside what its readers say by their callbacks. */
#define NVS_NEED_TRACE (1u << 0)
#define NVS_NEED_FILES (1u << 7) /* of another kind */
#define NVS_NEED_CALLS (1u << 1) /* it is said of a trace when it has none */
#define NVS_NEED_CELLS (1u << 2) /* nvs_source.cells */
/* Names, the clock and the filters by name while it reads: a second reading. */
#define NVS_NEED_NAMES (1u << 3)
#define NVS_NEED_FILTERS (1u << 4) /* the filters while it reads: likewise, where there are any */
#define NVS_NEED_WHOLE (1u << 5) /* counts and findings of a whole reading when it prints */
#define NVS_NEED_CONTINUITY (1u << 6) /* and among them those of decode/calls/progress_check.h */
#define NVS_NEED_NVTX (1u << 8) /* nvs_source.nvtx */
/* Two traces, FILE or FILE:NUMBER. Such a one stands alone, and exits with 2 where it fails. */
#define NVS_NEED_PAIR (1u << 9)
/* Reading a trace touches nothing but its EACH: several are read at once, on all cores. */
#define NVS_NEED_APART (1u << 10)
#define NVS_NEED_TIMING (1u << 11) /* nvs_source.timing: a second reading */

/* How it can be printed. */
#define NVS_PRINTS_TEXT (1u << NVS_FORMAT_TEXT)
#define NVS_PRINTS_JSON (1u << NVS_FORMAT_JSON)
#define NVS_PRINTS_CSV (1u << NVS_FORMAT_CSV)
#define NVS_PRINTS_TABLE (NVS_PRINTS_TEXT | NVS_PRINTS_JSON | NVS_PRINTS_CSV)
#define NVS_PRINTS_LINES (1u << 3) /* its JSON is an object a line */
/* What it prints is nothing for a terminal; or a file, or a folder, which -o has to name. */
#define NVS_PRINTS_BINARY (1u << 4)
#define NVS_PRINTS_FILE (1u << 5)
#define NVS_PRINTS_FOLDER (1u << 6)

/* An option that goes with one report and may be given several times: nvs_options_report.more. */
struct nvs_report_option {
	const char *name, *argument, *help, *man;
	bool timed; /* its value is a moment: clock and length are known when it reads */
};

struct nvs_source;

/* A report that was asked for. */
struct nvs_run {
	const struct nvs_report *report;
	const struct nvs_options_report *options;
	struct nvs_source *sources; /* the traces */
	uint32_t n;
	struct nvs_out *out;
	void *state; /* nvs_report.state bytes of the report's own, zero at the beginning */
	void *each; /* and nvs_report.each for every trace */
	bool nothing; /* there is nothing in this report */
	bool said; /* and that the trace holds none of it is said already */
	int verdict; /* exit status that the report answers with */
	bool second; /* reads the traces after they have been read once */
};

struct nvs_report {
	/* Of the option, without "--", and in JSON; of an export "export=WORD": it stands alone. */
	const char *name;
	bool standard; /* printed where none is given */
	const char *argument; /* of the option: --name=ARGUMENT */
	const char *help; /* in --help; lines end in "\n" but for the last */
	const char *man; /* in the man page, in its markup */
	const struct nvs_report_option *option; /* NULL: none */
	/* Names of the reports that it is made of, then NULL: they read, and it prints them, which
	 * stand behind it in the array of runs. Such a one stands alone. */
	const char *const *parts;
	uint32_t place; /* in --help and man page, from the lowest on */
	uint32_t needs; /* NVS_NEED_* */
	uint32_t prints; /* NVS_PRINTS_* */
	const struct nvs_column *columns; /* of its table: NVS_REPORT_COLUMNS(); NULL: none */
	uint32_t ncolumns;
	bool verdict; /* answers by exit status: without a pager, and nothing is said beside it */
	size_t state, each;
	/* Each may be NULL but for print, and returns 0 or -errno, where need be said on stderr;
	 * -EINVAL: wrong usage. EACH is that of S. */
	/* S is going to be read; READER is to be filled in. Its arg is EACH. */
	int (*begin)(struct nvs_run *run, struct nvs_source *s, void *each,
		     struct nvs_reader *reader);
	int (*end)(struct nvs_run *run, struct nvs_source *s, void *each); /* S has been read */
	int (*print)(struct nvs_run *run);
	void (*free)(struct nvs_run *run);
};

/* Within NVS_REPORT(). */
#define NVS_REPORT_COLUMNS(of) .columns = (of), .ncolumns = sizeof(of) / sizeof(*(of))

/* A pointer to each stands in a section of its own, which the linker gathers. */
#define NVS_REPORT(id, ...)                                         \
	static const struct nvs_report id##_report = {__VA_ARGS__}; \
	static const struct nvs_report *const id##_listed           \
		__attribute__((used, section("nvs_reports"))) = &id##_report

/* Those asked for do nothing but answer by exit status. */
bool nvs_verdict_alone(const struct nvs_options_report *o);

/* The word that an export is asked for by; NULL: it is none. */
static inline const char *nvs_report_export(const struct nvs_report *r)
{
	return strncmp(r->name, "export=", 7) ? NULL : r->name + 7;
}

/* registry.c: by place; NULL behind the last. */
const struct nvs_report *nvs_report_at(uint32_t index);
void nvs_report_help(FILE *out);
/* For scripts: a line each with option, argument, formats and needs; with the columns to sort by;
 * or the man page's part. */
void nvs_report_list(FILE *out, const char *how);

/* ---- embed.c ---- */
/* Puts names into each trace; the exit status. */
int nvs_embed_all(const struct nvs_options_report *o);

/* ---- run.c ---- */

struct nvs_cells;
struct nvs_nvtx;
struct nvs_timing;
struct nvs_waiting;

/* A trace that is reported. */
struct nvs_source {
	struct nvs_trace *trace;
	const char *path;
	uint32_t index;
	const struct nvs_options_report *options;
	int64_t from, to; /* of a range of time: ns since the start, TO excluded */
	/* The readings for all reports, the second NULL unless one needs it: cells and rows point
	 * to their calls. */
	struct nvs_reading *first, *second;
	struct nvs_cells *cells; /* for NVS_NEED_CELLS */
	struct nvs_waiting *waiting; /* durations, while it is read */
	struct nvs_nvtx *nvtx; /* for NVS_NEED_NVTX and --nvtx: of the latest reading */
	struct nvs_nvtx *counted; /* of the reading for all reports: a report may read once more */
	struct nvs_timing *timing; /* for NVS_NEED_TIMING: settled before the second reading */
	uint32_t later; /* what reports that are still to be printed need */
	bool no_calls; /* and that has been said */
};

/* Opens the traces that O names and reads them as often as its reports need it, once or twice. 0 or
 * -errno, said on stderr. */
int nvs_runs_open(struct nvs_run *runs, struct nvs_source *sources,
		  const struct nvs_options_report *o);
/* *VERDICT: the exit status that a report asks for. */
int nvs_runs_print(struct nvs_run *runs, struct nvs_out *out, const struct nvs_options_report *o,
		   int *verdict);
/* One of them, with the ranges as the reading for all reports left them. */
int nvs_run_print(struct nvs_run *run);
void nvs_runs_free(struct nvs_run *runs, struct nvs_source *sources,
		   const struct nvs_options_report *o);
/* What a report that prints while it reads does with each trace, until one fails. */
int nvs_run_each(struct nvs_run *run, int (*one)(struct nvs_run *run, struct nvs_source *s));
/* A reading of its own, for a report that prints while it reads. Progress is cleared. 0 or -errno,
 * said on stderr. *READING lives while it goes on. */
int nvs_source_read(struct nvs_source *s, const struct nvs_reader *reader,
		    struct nvs_reading **reading);

/* Of COLUMNS, as RUN prints it; SORT as nvs_table has it. */
#define NVS_RUN_TABLE(run, of, by)                                               \
	{                                                                        \
		.report = (run)->report->name, .columns = (of), .sort = (by),    \
		.ncolumns = sizeof(of) / sizeof(*(of)), .several = (run)->n > 1, \
	}

/* The same of rows that sum up traces. */
#define NVS_RUN_SUMS(run, of, by)                                                             \
	{                                                                                     \
		.report = (run)->report->name, .columns = (of), .sort = (by),                 \
		.ncolumns = sizeof(of) / sizeof(*(of)), .several = (run)->options->per_trace, \
	}

/* ---- range.c ---- */

/* "A", "A-B", "A-", "-B", in submissions or with units of time or percent; false: it is none. */
bool nvs_range_parse(struct nvs_range *range, const char *text);
/* The same of one moment, and in ns since the start, for which the trace has been read once. */
bool nvs_moment_parse(struct nvs_range *moment, const char *text);
int64_t nvs_moment_at(const struct nvs_source *s, const struct nvs_range *moment);
/* Is it one of time? */
bool nvs_range_timed(const struct nvs_options_report *o);
/* Then each trace is read once for its clock and length, and can be: 0, or -EINVAL, said on stderr.
 */
int nvs_range_check(const struct nvs_source *s);
/* It has been. */
void nvs_range_resolve(struct nvs_source *s);
/* Lies it within the range, where that is one of numbers? Where it is one of time? */
bool nvs_range_has(const struct nvs_source *s, const struct nvs_submission *sub);
bool nvs_range_at(const struct nvs_source *s, uint64_t ticks);
/* On stderr, as nvs_filter_explain(). */
void nvs_range_explain(const struct nvs_source *sources, uint32_t n);

/* ---- filter.c: the command line's, once the trace has been read; true: it passes ---- */

bool nvs_filter_thread(const struct nvs_source *s, uint32_t thread);
bool nvs_filter_channel(const struct nvs_source *s, uint32_t channel);
bool nvs_filter_range(const struct nvs_source *s, const struct nvs_submission *sub);
/* By what is called: the name, or one of those that the stack tells. */
bool nvs_filter_api(const struct nvs_source *s, const char *api, uint32_t stack);
/* By range, thread and channel alone. */
bool nvs_filter_submission(const struct nvs_source *s, const struct nvs_submission *sub);
/* By what a call tells nothing of, for the one around it: number and channel. */
bool nvs_filter_around(const struct nvs_source *s, const struct nvs_submission *sub);
/* Does the command line speak of submissions, so that calls are taken by theirs? */
bool nvs_filter_by_submissions(const struct nvs_options_report *o);
/* Does it have filters by names, which are known when all has been read once? */
bool nvs_filter_by_name(const struct nvs_options_report *o);
/* By the ranges of NVTX that THREAD had pushed at TIME, while the trace is read. */
bool nvs_filter_nvtx(const struct nvs_source *s, uint32_t thread, uint64_t time);
/* A range or a mark itself, at its beginning and at its end alike. */
struct nvs_nvtx_event;
bool nvs_filter_range_of(const struct nvs_source *s, const struct nvs_nvtx_event *e);
/* By all of them. */
bool nvs_filter(const struct nvs_source *s, const struct nvs_submission *sub,
		const struct nvs_call *call);
/* With SUB, the PRINTED-th one, all that was asked for has been printed. */
bool nvs_filter_past(const struct nvs_source *s, const struct nvs_submission *sub,
		     uint64_t printed);
/* Does the command line select this call? Readers that follow handles are handed all of them. */
bool nvs_filter_call(const struct nvs_source *s, const struct nvs_call *call);
/* Has the command line a filter at all? */
bool nvs_filter_asked(const struct nvs_options_report *o);
/* On stderr: what there is none of in the N traces, and what was meant perhaps. */
void nvs_filter_explain(const struct nvs_source *sources, uint32_t n);
/* By API and thread alone. */
bool nvs_filter_call_name(const struct nvs_source *s, const struct nvs_call *call);

/* ---- names.c ---- */

/* The API that submissions came from: what their stack says, else the call (NULL: not known) they
 * happened in. */
const char *nvs_api_name(const struct nvs_callsite *site, const struct nvs_call_api *api);
const char *nvs_source_api(const struct nvs_source *s, const struct nvs_submission *sub,
			   const struct nvs_call *call);
/* "[unknown]" for one that the trace does not name. */
const char *nvs_call_name(const struct nvs_call_api *api);
/* A mangled name as its source writes it where that can be told, else NAME itself; to be freed.
 * NULL: no memory. */
char *nvs_demangle(const char *name);

#endif
