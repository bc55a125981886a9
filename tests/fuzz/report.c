/* SPDX-License-Identifier: MIT */
/* FUZZ: decode report */
/*
 * Every report and export over traces of strangers, and bare dwords; the last byte of the input
 * chooses which. What is printed is UTF-8 without control characters but the ends of lines, and
 * JSON and CSV to the letter.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "decode/report/core/report.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/strict.h"

#define FILED (NVS_PRINTS_BINARY | NVS_PRINTS_FILE | NVS_PRINTS_FOLDER)
#define EXPORT 0x70 /* this choice and those up to RAW: an export each */
#define RAW 0x7e /* this choice and the next, as text and as JSON */

static FILE *null;

/* Those that read traces, for people or for other tools; the WHICHth of them, in a circle. *N: how
 * many there are. */
static const struct nvs_report *report_of(unsigned which, bool exports, unsigned *n)
{
	const struct nvs_report *of_traces[NVS_MAX_REPORTS], *r;

	*n = 0;
	for (uint32_t i = 0; (r = nvs_report_by_index(i)); i++)
		if (r->needs & NVS_NEED_TRACE && exports == !!nvs_report_export_name(r))
			of_traces[(*n)++] = r;
	return of_traces[which % *n];
}

/* CSV ends its lines by CR LF. */
static void check_text(const char *text, size_t size, bool csv)
{
	for (size_t i = 0; i < size; i++)
		FUZZ_HOLDS((unsigned char)text[i] >= ' ' || text[i] == '\n' ||
			   (csv && text[i] == '\r' && i + 1 < size && text[i + 1] == '\n'));
	FUZZ_HOLDS(!memchr(text, 0x7f, size));
}

static void check_form(const char *text, size_t size, const struct nvs_options_report *o)
{
	bool lines = o->reports[0]->prints & NVS_PRINTS_LINES;
	const char *wrong = NULL;
	size_t at = 0;

	if (o->print.format == NVS_FORMAT_CSV)
		wrong = strict_csv(text, size, &at);
	else if (o->print.format == NVS_FORMAT_TEXT)
		wrong = strict_utf8(text, size, &at);
	else if (lines)
		wrong = strict_json_lines(text, size, &at);
	else if (size) /* nothing where the trace could not be read */
		wrong = strict_json(text, size, &at);
	if (wrong)
		dprintf(2, "report %s, format %d, offset %zu: %s:\n%.*s\n", o->reports[0]->name,
			o->print.format, at, wrong, (int)size, text);
	FUZZ_HOLDS(!wrong);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

/* Where what goes into a file or a folder goes: in memory. Nothing is there. */
static const char *output(void)
{
	static char path[64];

	if (!*path)
		snprintf(path, sizeof(path), "/dev/shm/nvsnoop-fuzz.%d", getpid());
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return path;
}

/* What the options ask for is printed as it has to be. */
static void try(const struct nvs_options_report *o)
{
	struct nvs_source source[2] = {{0}};
	struct nvs_run run[NVS_MAX_REPORTS] = {{0}};
	struct nvs_out out = {0};
	char *text = NULL;
	size_t size = 0;
	int verdict = 0;

	out.file = open_memstream(&text, &size);
	if (!out.file)
		abort();
	if (!nvs_runs_open(run, source, o))
		nvs_runs_print(run, &out, o, &verdict);
	nvs_runs_free(run, source, o);
	fclose(out.file);
	if (!(o->reports[0]->prints & FILED)) {
		check_text(text, size, o->print.format == NVS_FORMAT_CSV);
		check_form(text, size, o);
	}
	output();
	free(text);
}

static const struct nvs_report *report_named(const char *name)
{
	uint32_t i = 0;

	while (strcmp(nvs_report_by_index(i)->name, name))
		i++;
	return nvs_report_by_index(i);
}

static void raw(const char *path, bool json)
{
	struct nvs_options_report o = {.reports = {report_named("raw")},
				       .nreports = 1,
				       .print.format = json,
				       .more = {"1=cbc0", "4=c8b5"},
				       .nmore = 2,
				       .files = (char **)&path,
				       .nfiles = 1};

	try(&o);
}

static void report(const char *path, unsigned choice)
{
	const char *files[2] = {path, path};
	struct nvs_options_report o = {.nreports = 1,
				       .print.color = -1,
				       .called = "nvsnoop-report",
				       /* --query: columns that docs/schema.md has */
				       .argument = "SELECT api, thread, submissions, "
						   "command_bytes, detail FROM NVSNOOP_CALL",
				       .files = (char **)files};
	unsigned n;

	if (choice % 0x80 >= EXPORT) {
		o.reports[0] = report_of(choice % 0x80 - EXPORT, true, &n);
		o.print.output = o.reports[0]->prints & FILED ? output() : NULL;
	} else {
		o.reports[0] = report_of(choice, false, &n);
		o.print.format = choice / n % 3;
	}
	for (const char *const *part = o.reports[0]->parts; part && *part; part++) {
		o.page = true;
		o.reports[o.nreports++] = report_named(*part);
	}
	o.nfiles = o.reports[0]->needs & NVS_NEED_PAIR ? 2 : 1;
	/* Submissions 0 and 1 of it. */
	o.numbered = o.nfiles == 2 && choice / n & 1;
	o.number[1] = 1;
	o.read = (struct nvs_read_options){.partial = choice & 0x80, .no_spool = true};
	o.print.rows = o.query.rows = choice / n / 3 & 1 ? 3 : 0;
	if (o.reports[0]->prints >> o.print.format & 1)
		try(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	/* What is said of a wrong trace; sanitizers write to the descriptor itself. */
	if (stderr != null) {
		stderr = null = fopen("/dev/null", "w");
		FUZZ_HOLDS(!strict_keys("docs/schema.md"));
	}
	if ((data[size - 1] & ~1) == RAW)
		raw(fuzz_file(FUZZ_TRACE, data, size - 1), data[size - 1] & 1);
	else
		report(fuzz_trace_file(data, size - 1), data[size - 1]);
	return 0;
}
