/* SPDX-License-Identifier: MIT */
/* Internal API of nvsnoop-report. A report is one file that registers itself with NVS_REPORT(): its
 * option, help, needs and callbacks. Options, --help, man page, completion and the tests over all
 * reports are derived from the registry. */
#ifndef NVSNOOP_DECODE_REPORT_CORE_REPORT_H
#define NVSNOOP_DECODE_REPORT_CORE_REPORT_H

#include <string.h>
#include "decode/base/keyed_rows.h"
#include "decode/calls/args.h"
#include "decode/calls/calls.h"
#include "decode/calls/pass.h"
#include "decode/cli/output.h"
#include "decode/cli/pattern.h"
#include "decode/cli/table.h"
#include "decode/query/api_names.h"
#include "decode/query/selection.h"
#include "decode/query/source.h"
#include "decode/query/time_range.h"
#include "decode/report/core/options.h"
#include "nvsnoop/decode.h"

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
#define NVS_NEED_CONTINUITY (1u << 6) /* and among them those of decode/calls/progress_check.h */
#define NVS_NEED_NVTX (1u << 8) /* nvs_source.nvtx */
/* Two traces, FILE or FILE:NUMBER. Cannot be combined with other reports, and exits 2 on failure.
 */
#define NVS_NEED_PAIR (1u << 9)
/* Reading a trace touches only its EACH: traces are read in parallel on all cores. */
#define NVS_NEED_APART (1u << 10)
#define NVS_NEED_TIMING (1u << 11) /* nvs_source.timing: requires a second pass */
#define NVS_NEED_TIMED (1u << 12) /* the same if some trace was recorded with timing= */
#define NVS_NEED_ALL_TIMES (1u << 13) /* wrong with the times of a sample: it is refused */
#define NVS_NEED_ALONE (1u << 14) /* cannot be combined with other reports */

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

/* The question that a report answers: it groups them in --help and the man page, in this order. */
enum nvs_report_question {
	NVS_WHAT_HAPPENED,
	NVS_HOST_TIME,
	NVS_GPU_WORK,
	NVS_STUCK,
	NVS_MEMORY,
	NVS_CHANGES,
	NVS_RANKS,
	NVS_EXPORTS,
	NVS_WITHOUT_TRACE,
	NVS_QUESTIONS
};

struct nvs_report_group {
	const char *question;
	const char *example; /* a command */
	const char *man; /* in the man page, before its reports; NULL: nothing */
};
extern const struct nvs_report_group nvs_report_groups[NVS_QUESTIONS];

/* A second option of a report, which may be given several times: nvs_options_report.more. */
struct nvs_report_option {
	const char *name, *argument, *help, *man; /* ARGUMENT NULL: it takes none */
	const char *rule; /* what a value must be, if ARGUMENT does not say it; else NULL */
	bool timed; /* its value is a moment: needs clock and length, hence a second pass */
};

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
	bool optional; /* the argument, a single word, may be left out: --name[=WORD] */
	const char *help; /* in --help */
	const char *man; /* in the man page, in its markup */
	const struct nvs_report_option *option; /* NULL: none */
	/* Names of the reports it consists of, then NULL: they follow it in the array of runs and
	 * read, and it prints them. It cannot be combined with others. */
	const char *const *parts;
	enum nvs_report_question group;
	uint32_t place; /* order in the group, lowest first */
	uint32_t needs; /* NVS_NEED_* */
	uint32_t prints; /* NVS_PRINTS_* */
	const struct nvs_column *columns; /* of its table: NVS_REPORT_COLUMNS(); NULL: none */
	uint32_t ncolumns;
	/* Of another of its text tables, to which -s applies too; NULL: none. */
	const struct nvs_column *sort_columns;
	uint32_t nsort_columns;
	bool verdict; /* its answer is the exit status: no pager, no notes on stderr */
	size_t state, each;
	/* All but print may be NULL. They return 0, or -errno after a message on stderr if one is
	 * needed; -EINVAL: wrong usage. EACH is that of S. */
	/* Before S is read: fills in READER, whose arg is set to EACH. */
	int (*begin)(struct nvs_run *run, struct nvs_source *s, void *each,
		     struct nvs_pass_reader *reader);
	int (*end)(struct nvs_run *run, struct nvs_source *s, void *each); /* after S was read */
	int (*print)(struct nvs_run *run);
	void (*free)(struct nvs_run *run);
};

/* For use inside NVS_REPORT(). */
#define NVS_REPORT_COLUMNS(of) .columns = (of), .ncolumns = sizeof(of) / sizeof(*(of))

#define NVS_REPORT_SORT_COLUMNS(of) \
	.sort_columns = (of), .nsort_columns = sizeof(of) / sizeof(*(of))

/* Puts a pointer to the report into a section that the linker gathers from all files. */
#define NVS_REPORT(id, ...)                                         \
	static const struct nvs_report id##_report = {__VA_ARGS__}; \
	static const struct nvs_report *const id##_listed           \
		__attribute__((used, section("nvs_reports"))) = &id##_report

/* Returns true if all reports given have .verdict. */
bool nvs_only_verdicts(const struct nvs_options_report *o);

/* WORD of --export=WORD; returns NULL if R is not an export. */
static inline const char *nvs_report_export_name(const struct nvs_report *r)
{
	return strncmp(r->name, "export=", 7) ? NULL : r->name + 7;
}

/* The last value of the report's second option; NULL: not given. */
static inline const char *nvs_run_value(const struct nvs_run *run)
{
	const struct nvs_options_report *o = run->options;

	return o->more_of == run->report ? o->more[o->nmore - 1] : NULL;
}

/* registry.c: in order of .group and .place; returns NULL after the last. */
const struct nvs_report *nvs_report_by_index(uint32_t index);
/* For scripts, by HOW: one line per report with option, argument, formats and needs; the columns;
 * or the part of the man page. */
void nvs_report_list(FILE *out, const char *how);

/* ---- embed.c ---- */
/* Stores names in each trace; returns the exit status. */
int nvs_embed_all(const struct nvs_options_report *o);

/* ---- passes.c ---- */

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
/* A table of COLUMNS for RUN; SORT as in nvs_table. */
#define NVS_RUN_TABLE(run, of, by)                                               \
	{                                                                        \
		.report = (run)->report->name, .columns = (of), .sort = (by),    \
		.ncolumns = sizeof(of) / sizeof(*(of)), .several = (run)->n > 1, \
	}

/* The same of rows that sum up traces. */
#define NVS_RUN_SUMS(run, of, by)                                             \
	{                                                                     \
		.report = (run)->report->name, .columns = (of), .sort = (by), \
		.ncolumns = sizeof(of) / sizeof(*(of)),                       \
		.several = (run)->options->query.per_trace,                   \
	}

#endif
