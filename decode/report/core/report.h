/* SPDX-License-Identifier: MIT */
/*
 * nvsnoop-report's inside. A report is one file that registers itself with NVS_REPORT(): its
 * option, what is said of it, what it needs of a trace, and what it does. Options, --help, man
 * page, completion and the tests that go through all reports know it from there.
 */
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
/* Of COLUMNS, as RUN prints it; SORT as nvs_table has it. */
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
