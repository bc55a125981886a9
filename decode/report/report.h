/* SPDX-License-Identifier: MIT */
/* Internal API of nvsnoop-report. A report is one file that registers itself with NVS_REPORT(): its
 * option, help, needs and callbacks. Options, --help, man page, completion and the tests over all
 * reports are derived from the registry. */
#ifndef NVSNOOP_DECODE_REPORT_REPORT_H
#define NVSNOOP_DECODE_REPORT_REPORT_H

#include <string.h>
#include "decode/calls/args.h"
#include "decode/calls/reading.h"
#include "decode/report/pattern.h"
#include "decode/report/table.h"
#include "nvsnoop/decode.h"

/* ---- options.c ---- */

enum nvs_format { NVS_FORMAT_TEXT, NVS_FORMAT_JSON, NVS_FORMAT_CSV };

#define NVS_MAX_REPORTS 64

struct nvs_report;

enum nvs_range_by { NVS_RANGE_ALL, NVS_RANGE_NUMBERS, NVS_RANGE_TIME, NVS_RANGE_PERCENT };

/* Numbers of submissions, inclusive; or ns since the start of the session, or 10^-9 percent of it,
 * TO exclusive. UINT64_MAX: to the end. */
struct nvs_range {
	enum nvs_range_by by, to_by; /* may differ: time and percent */
	uint64_t from, to;
	const char *text; /* as given */
};

struct nvs_options_report {
	const struct nvs_report *reports[NVS_MAX_REPORTS]; /* in the order of the command line */
	uint32_t nreports; /* at least 1 */
	const char *argument; /* argument of the one report that takes one */
	const char *more[NVS_MAX_PATTERNS]; /* values of a report's second option */
	uint32_t nmore;
	const struct nvs_report *more_of; /* the report of that option */
	enum nvs_format format;
	const char *output; /* -o; NULL: stdout */
	bool overwrite; /* replace an existing file */
	const char *sort; /* column; "-name": ascending; NULL: the report's own order */
	uint64_t rows; /* 0: all */
	bool has_rows;
	struct nvs_range range;
	struct nvs_patterns thread, channel, api, nvtx;
	int color; /* -1: never, 0: auto, 1: always */
	bool pager;
	bool verbose; /* -v: list each file that could not be read */
	bool wide; /* all columns at any terminal width */
	bool per_trace; /* rows of several traces are not added up */
	bool progress;
	bool embed; /* no report: store names in the traces */
	bool page; /* --html: the summary has its sentences only, and the page itself says what is
		      missing */
	bool help, version;
	const char *called; /* argv[0], for printed commands */
	const char *stand_in; /* printed in commands instead of the trace, which will be deleted */
	const char *list; /* print the registry for scripts: "reports", "columns" or "man" */
	struct nvs_read_options read;
	char **files;
	int nfiles;
	uint64_t number[2]; /* of NVS_NEED_PAIR, if NUMBERED: as given in FILE:NUMBER */
	bool numbered;
};

/* Returns 0, or -EINVAL after a message on stderr: exit 2. Free O in either case. */
int nvs_options_parse(struct nvs_options_report *o, int argc, char **argv);
void nvs_options_free(struct nvs_options_report *o);
void nvs_options_help(FILE *out);

/* ---- the registry ---- */

/* What a report needs, in addition to its reader's callbacks. */
#define NVS_NEED_TRACE (1u << 0)
#define NVS_NEED_FILES (1u << 7) /* files that are not traces */
#define NVS_NEED_CALLS (1u << 1) /* a message is printed for traces without calls */
#define NVS_NEED_CELLS (1u << 2) /* nvs_source.cells */
/* Names, clock and filters by name while it reads: requires a second pass. */
#define NVS_NEED_NAMES (1u << 3)
#define NVS_NEED_FILTERS \
	(1u << 4) /* filters while it reads: a second pass if there are filters by name */
#define NVS_NEED_WHOLE (1u << 5) /* counts and findings of a whole pass when it prints */
#define NVS_NEED_CONTINUITY (1u << 6) /* also those of decode/calls/continuity.h */
#define NVS_NEED_NVTX (1u << 8) /* nvs_source.nvtx */
/* Two traces, FILE or FILE:NUMBER. Cannot be combined with other reports, and exits 2 on failure.
 */
#define NVS_NEED_PAIR (1u << 9)
/* Reading a trace touches only its EACH: traces are read in parallel on all cores. */
#define NVS_NEED_APART (1u << 10)
#define NVS_NEED_TIMING (1u << 11) /* nvs_source.timing: requires a second pass */

/* Output formats of a report. */
#define NVS_PRINTS_TEXT (1u << NVS_FORMAT_TEXT)
#define NVS_PRINTS_JSON (1u << NVS_FORMAT_JSON)
#define NVS_PRINTS_CSV (1u << NVS_FORMAT_CSV)
#define NVS_PRINTS_TABLE (NVS_PRINTS_TEXT | NVS_PRINTS_JSON | NVS_PRINTS_CSV)
#define NVS_PRINTS_LINES (1u << 3) /* its JSON has one object per line */
/* Binary output, not for a terminal; a file, or a directory, which -o has to name. */
#define NVS_PRINTS_BINARY (1u << 4)
#define NVS_PRINTS_FILE (1u << 5)
#define NVS_PRINTS_FOLDER (1u << 6)

/* A second option of a report, which may be given several times: nvs_options_report.more. */
struct nvs_report_option {
	const char *name, *argument, *help, *man;
	bool timed; /* its value is a moment: needs clock and length, hence a second pass */
};

struct nvs_source;

/* A report of the command line, and its state. */
struct nvs_run {
	const struct nvs_report *report;
	const struct nvs_options_report *options;
	struct nvs_source *sources; /* the traces */
	uint32_t n;
	struct nvs_out *out;
	void *state; /* nvs_report.state bytes for the report, zeroed */
	void *each; /* nvs_report.each bytes per trace, zeroed */
	bool nothing; /* the report is empty */
	bool said; /* a message about that was printed already */
	int verdict; /* exit status the report asks for */
	bool second; /* reads in the second pass */
};

struct nvs_report {
	/* Name of the option without "--", also in JSON. An export is named "export=WORD" and
	 * cannot be combined. */
	const char *name;
	bool standard; /* printed if no report is given */
	const char *argument; /* of the option: --name=ARGUMENT */
	const char *help; /* in --help; "\n" between lines */
	const char *man; /* in the man page, in its markup */
	const struct nvs_report_option *option; /* NULL: none */
	/* Names of the reports it consists of, then NULL: they follow it in the array of runs and
	 * read, and it prints them. It cannot be combined with others. */
	const char *const *parts;
	uint32_t place; /* order in --help and man page, lowest first */
	uint32_t needs; /* NVS_NEED_* */
	uint32_t prints; /* NVS_PRINTS_* */
	const struct nvs_column *columns; /* of its table: NVS_REPORT_COLUMNS(); NULL: none */
	uint32_t ncolumns;
	bool verdict; /* its answer is the exit status: no pager, no notes on stderr */
	size_t state, each;
	/* All but print may be NULL. They return 0, or -errno after a message on stderr if one is
	 * needed; -EINVAL: wrong usage. EACH is that of S. */
	/* Before S is read: fills in READER, whose arg is set to EACH. */
	int (*begin)(struct nvs_run *run, struct nvs_source *s, void *each,
		     struct nvs_reader *reader);
	int (*end)(struct nvs_run *run, struct nvs_source *s, void *each); /* after S was read */
	int (*print)(struct nvs_run *run);
	void (*free)(struct nvs_run *run);
};

/* For use inside NVS_REPORT(). */
#define NVS_REPORT_COLUMNS(of) .columns = (of), .ncolumns = sizeof(of) / sizeof(*(of))

/* Puts a pointer to the report into a section that the linker gathers from all files. */
#define NVS_REPORT(id, ...)                                         \
	static const struct nvs_report id##_report = {__VA_ARGS__}; \
	static const struct nvs_report *const id##_listed           \
		__attribute__((used, section("nvs_reports"))) = &id##_report

/* Returns true if all reports given have .verdict. */
bool nvs_verdict_alone(const struct nvs_options_report *o);

/* WORD of --export=WORD; returns NULL if R is not an export. */
static inline const char *nvs_report_export(const struct nvs_report *r)
{
	return strncmp(r->name, "export=", 7) ? NULL : r->name + 7;
}

/* registry.c: in order of .place; returns NULL after the last. */
const struct nvs_report *nvs_report_at(uint32_t index);
void nvs_report_help(FILE *out);
/* For scripts, by HOW: one line per report with option, argument, formats and needs; the columns;
 * or the part of the man page. */
void nvs_report_list(FILE *out, const char *how);

/* ---- embed.c ---- */
/* Stores names in each trace; returns the exit status. */
int nvs_embed_all(const struct nvs_options_report *o);

/* ---- run.c ---- */

struct nvs_cells;
struct nvs_nvtx;
struct nvs_timing;
struct nvs_waiting;

/* A trace of the command line. */
struct nvs_source {
	struct nvs_trace *trace;
	const char *path;
	uint32_t index;
	const struct nvs_options_report *options;
	int64_t from, to; /* range of time: ns since the start, TO exclusive */
	/* The passes for all reports; SECOND is NULL if no report needs it. Cells and rows point to
	 * their calls. */
	struct nvs_reading *first, *second;
	struct nvs_cells *cells; /* for NVS_NEED_CELLS */
	struct nvs_waiting *waiting; /* durations pending a clock point, while it is read */
	struct nvs_nvtx *nvtx; /* for NVS_NEED_NVTX and --nvtx: of the latest pass */
	struct nvs_nvtx *counted; /* of the pass for all reports; a report may read once more */
	struct nvs_timing *timing; /* for NVS_NEED_TIMING: complete before the second pass */
	uint32_t later; /* needs of the reports not printed yet */
	bool no_calls; /* the message about missing calls was printed */
};

/* Opens the traces of O and reads them once, or twice if a report needs it. Returns 0, or -errno
 * after a message on stderr. */
int nvs_runs_open(struct nvs_run *runs, struct nvs_source *sources,
		  const struct nvs_options_report *o);
/* *VERDICT: the exit status a report asks for; else unchanged. */
int nvs_runs_print(struct nvs_run *runs, struct nvs_out *out, const struct nvs_options_report *o,
		   int *verdict);
/* Prints one report, with the ranges of the pass for all reports. */
int nvs_run_print(struct nvs_run *run);
void nvs_runs_free(struct nvs_run *runs, struct nvs_source *sources,
		   const struct nvs_options_report *o);
/* Calls ONE for each trace until one fails; for reports that print while they read. */
int nvs_run_each(struct nvs_run *run, int (*one)(struct nvs_run *run, struct nvs_source *s));
/* A separate pass, for a report that prints while it reads. Clears the progress line. *READING is
 * valid during the pass. Returns 0, or -errno after a message on stderr. */
int nvs_source_read(struct nvs_source *s, const struct nvs_reader *reader,
		    struct nvs_reading **reading);

/* A table of COLUMNS for RUN; SORT as in nvs_table. */
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

/* Parses "A", "A-B", "A-" or "-B": submissions, or time or percent with a unit. Returns false if
 * malformed. */
bool nvs_range_parse(struct nvs_range *range, const char *text);
/* A single moment; converted to ns since the start, after the trace was read once. */
bool nvs_moment_parse(struct nvs_range *moment, const char *text);
int64_t nvs_moment_at(const struct nvs_source *s, const struct nvs_range *moment);
/* Returns true if --range is a range of time. */
bool nvs_range_timed(const struct nvs_options_report *o);
/* A range of time needs a pass of its own for clock and length. Returns 0, or -EINVAL after a
 * message on stderr if S cannot be read twice. */
int nvs_range_check(const struct nvs_source *s);
/* Computes the bounds, after that pass. */
void nvs_range_resolve(struct nvs_source *s);
/* Return true if SUB, or TICKS, is in the range; always for a range of the other kind. */
bool nvs_range_has(const struct nvs_source *s, const struct nvs_submission *sub);
bool nvs_range_at(const struct nvs_source *s, uint64_t ticks);
/* Prints on stderr why the range selects nothing. */
void nvs_range_explain(const struct nvs_source *sources, uint32_t n);

/* ---- filter.c: filters of the command line; return true if selected ---- */

bool nvs_filter_thread(const struct nvs_source *s, uint32_t thread);
bool nvs_filter_channel(const struct nvs_source *s, uint32_t channel);
bool nvs_filter_range(const struct nvs_source *s, const struct nvs_submission *sub);
/* By API: its name, or a name on the stack. */
bool nvs_filter_api(const struct nvs_source *s, const char *api, uint32_t stack);
/* By range, thread and channel only. */
bool nvs_filter_submission(const struct nvs_source *s, const struct nvs_submission *sub);
/* By number and channel only: what the enclosing call cannot be filtered by. */
bool nvs_filter_around(const struct nvs_source *s, const struct nvs_submission *sub);
/* Returns true if filters select submissions, so that calls are selected by theirs. */
bool nvs_filter_by_submissions(const struct nvs_options_report *o);
/* Returns true if there are filters by name: names are known after the first pass only. */
bool nvs_filter_by_name(const struct nvs_options_report *o);
/* By the NVTX ranges open on THREAD at TIME, while the trace is read. */
bool nvs_filter_nvtx(const struct nvs_source *s, uint32_t thread, uint64_t time);
/* A range or a mark itself; the same answer at its begin and end. */
struct nvs_nvtx_event;
bool nvs_filter_range_of(const struct nvs_source *s, const struct nvs_nvtx_event *e);
/* By all filters. */
bool nvs_filter(const struct nvs_source *s, const struct nvs_submission *sub,
		const struct nvs_call *call);
/* Returns true if nothing after SUB, which was printed as number PRINTED, is selected. */
bool nvs_filter_past(const struct nvs_source *s, const struct nvs_submission *sub,
		     uint64_t printed);
/* For readers that need all calls to follow handles: true if CALL is selected. */
bool nvs_filter_call(const struct nvs_source *s, const struct nvs_call *call);
/* Returns true if there is any filter. */
bool nvs_filter_asked(const struct nvs_options_report *o);
/* Prints on stderr which filters match nothing in the N traces, and near names. */
void nvs_filter_explain(const struct nvs_source *sources, uint32_t n);
/* By API and thread only. */
bool nvs_filter_call_name(const struct nvs_source *s, const struct nvs_call *call);

/* ---- names.c ---- */

/* API of a submission: from its stack, else the call it happened in (NULL: unknown). */
const char *nvs_api_name(const struct nvs_callsite *site, const struct nvs_call_api *api);
const char *nvs_source_api(const struct nvs_source *s, const struct nvs_submission *sub,
			   const struct nvs_call *call);
/* Returns "[unknown]" if the trace has no name. */
const char *nvs_call_name(const struct nvs_call_api *api);
/* Returns the demangled name, or a copy of NAME if it cannot be demangled; the caller frees it.
 * NULL if memory is short. */
char *nvs_demangle(const char *name);

#endif
