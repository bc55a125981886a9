/* SPDX-License-Identifier: MIT */
/* --html: a single page that needs no other file and no network. It embeds the output of other
 * reports, so its numbers are theirs. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "decode/export/html/pack.h"
#include "decode/cli/json.h"
#include "decode/cli/output.h"
#include "decode/cli/table.h"
#include "decode/report/core/options.h"
#include "decode/report/core/report.h"

/* decode/export/html, as it was at build time; and the hashes by which the page lets them run. */
#define FILE_OF_OURS(name, path)                                                    \
	__asm__(".pushsection .rodata\n"                                            \
		".global nvs_html_" #name "\n"                                      \
		"nvs_html_" #name ":\n.incbin \"" NVS_HTML "/" path "\"\n.byte 0\n" \
		".popsection\n");                                                   \
	extern const char nvs_html_##name[]

FILE_OF_OURS(policy, "policy");
FILE_OF_OURS(style, "page.css");
FILE_OF_OURS(body, "page.html");
FILE_OF_OURS(script, "page.js");
FILE_OF_OURS(keys, "keys");

static const char *const parts[] = {"summary",	   "fault",	"hang",	    "calltree", "by-api",
				    "by-callsite", "by-kernel", "graphs",   "memcpy",	"memory",
				    "races",	   "ring",	"by-nvtx",  "gpu-time", "by-rank",
				    "by-stream",   "by-thread", "channels", "dump",	NULL};

/* Prints report PART into P, with the page's options. */
static int print_part(struct nvs_run *part, struct nvs_html_pack *p, enum nvs_format format,
		      uint64_t *told)
{
	struct nvs_options_report o = *part->options;
	const struct nvs_options_report *before = part->options;
	struct nvs_out *page = part->out, out = {.lines = true};
	int r;

	out.file = nvs_html_pack_open(p, nvs_html_pack_write);
	if (!out.file)
		return -ENOMEM;
	o.print.format = format;
	o.print.rows = o.print.has_rows ? o.print.rows : NVS_HTML_ROWS;
	/* A reader of the page looks for time first; calls that wait submit nothing. */
	if (!o.print.sort && !strcmp(part->report->name, "by-api"))
		o.print.sort = "host_us_total";
	part->options = &o;
	part->out = &out;
	r = nvs_run_print(part);
	if (fclose(out.file) && !r)
		r = p->status ? p->status : -EIO;
	part->options = before;
	part->out = page;
	/* What hangs or faulted is printed of every trace, also if nothing is selected. */
	if (strcmp(part->report->name, "hang") && strcmp(part->report->name, "fault"))
		page->told += out.told;
	*told = out.told;
	return r;
}

/* The report's help, on one line. */
static void print_help(struct nvs_json *j, const char *help)
{
	char line[512];

	snprintf(line, sizeof(line), "%s", help);
	for (char *at = line; (at = strchr(at, '\n'));)
		*at = ' ';
	nvs_json_text(j, "help", line);
}

static void print_column(struct nvs_json *j, const struct nvs_column *c)
{
	nvs_json_open(j, NULL, '{');
	nvs_json_text(j, "key", c->name);
	nvs_json_bool(j, "detail", c->flags & NVS_COLUMN_DETAIL);
	nvs_json_bool(j, "ifany", c->flags & NVS_COLUMN_IF_ANY);
	nvs_json_bool(j, "ifknown", c->flags & NVS_COLUMN_IF_KNOWN);
	nvs_json_bool(j, "several", c->flags & NVS_COLUMN_SEVERAL);
	nvs_json_bool(j, "name", c->flags & NVS_COLUMN_NAME);
	nvs_json_number(j, "rank", c->rank);
	nvs_json_text(j, "title", c->title);
	nvs_json_close(j, '}');
}

/* Printed after the rows: their number is not known before. */
static int print_columns(struct nvs_html_pack *p, const struct nvs_run *part, uint64_t told)
{
	struct nvs_json j = {.file = nvs_html_pack_open(p, nvs_html_pack_write)};
	const struct nvs_report *report = part->report;

	if (!j.file)
		return -ENOMEM;
	nvs_json_open(&j, NULL, '{');
	nvs_json_text(&j, "report", report->name);
	nvs_json_number(&j, "told", told);
	print_help(&j, report->help);
	nvs_json_open(&j, "columns", '[');
	for (uint32_t i = 0; i < report->ncolumns; i++)
		if (!(report->columns[i].flags & (NVS_COLUMN_TEXT | NVS_COLUMN_BAR)))
			print_column(&j, report->columns + i);
	nvs_json_close(&j, ']');
	nvs_json_close(&j, '}');
	fputc('\n', j.file);
	return fclose(j.file) ? -EIO : 0;
}

/* Two lines: the rows as JSON, then name, help and columns of the report. */
static int print_table(struct nvs_run *part)
{
	struct nvs_html_pack p = {.out = part->out->file, .kind = "table", .process = 0};
	uint64_t told;
	int r = print_part(part, &p, NVS_FORMAT_JSON, &told);
	int columns = print_columns(&p, part, told), end = nvs_html_pack_end(&p);

	return r ? r : end ? end : columns;
}

static int print_sentences(struct nvs_run *summary)
{
	struct nvs_html_pack p = {.out = summary->out->file, .kind = "sentences"};
	uint64_t told;
	int r = print_part(summary, &p, NVS_FORMAT_TEXT, &told), end;

	end = nvs_html_pack_end(&p);
	return r ? r : end;
}

static void print_paths(struct nvs_html_pack *p, const struct nvs_options_report *o)
{
	char safe[4096];

	for (int i = 0; i < o->nfiles; i++) {
		nvs_escape(safe, sizeof(safe), o->files[i], strlen(o->files[i]));
		nvs_html_pack_put(p, safe, strlen(safe));
		nvs_html_pack_put(p, "\n", 1);
	}
}

static int print_pack(FILE *out, const char *kind, const char *text)
{
	struct nvs_html_pack p = {.out = out, .kind = kind};

	nvs_html_pack_put(&p, text, strlen(text));
	return nvs_html_pack_end(&p);
}

static int print_traces(struct nvs_run *run)
{
	struct nvs_html_pack p = {.out = run->out->file, .kind = "traces", .items = run->n};

	print_paths(&p, run->options);
	return nvs_html_pack_end(&p);
}

static int print_left(FILE *out, const struct nvs_html_left_out *left)
{
	struct nvs_html_pack p = {.out = out, .kind = "left"};

	nvs_html_pack_print(&p,
			    "{\"events\":%" PRIu64 ",\"from_ns\":%" PRIu64 ",\"words\":%" PRIu64
			    ",\"submissions\":%" PRIu64 ",\"lines\":%" PRIu64 "}",
			    left->events, left->from_ns, left->words, left->submissions,
			    left->lines);
	return nvs_html_pack_end(&p);
}

static int print_tables(struct nvs_run *run, uint32_t n)
{
	int r = print_traces(run);

	if (!r)
		r = print_pack(run->out->file, "keys", nvs_html_keys);
	if (!r)
		r = print_sentences(run + 1);
	for (uint32_t i = 1; i + 1 < n && !r; i++)
		r = print_table(run + i);
	return r;
}

/* Scripts and tables before the large data: the page shows them while the rest loads. */
static int print(struct nvs_run *run)
{
	FILE *out = run->out->file;
	struct nvs_html_left_out left = {0};
	uint32_t n = run->options->nreports; /* --html itself, the tables, and --dump */
	int r;

	for (uint32_t i = 1; i < n; i++)
		run[i].out = run->out;
	fprintf(out,
		"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"generator\" content=\"nvsnoop-report " NVS_VERSION "\">\n"
		"<title>nvsnoop</title>\n<style>%s</style>\n</head>\n<body>\n%s",
		nvs_html_policy, nvs_html_style, nvs_html_body);
	r = print_tables(run, n);
	fprintf(out, "<script>%s</script>\n", nvs_html_script);
	if (!r)
		r = nvs_html_print_timeline(run, &left);
	if (!r)
		r = nvs_html_print_stream(run + n - 1, &left);
	if (!r)
		r = print_left(out, &left);
	fputs("</body>\n</html>\n", out);
	/* Write errors are reported when the output is closed. */
	return r < 0 && !ferror(out) ? r : 0;
}

NVS_REPORT(
	html, .name = "html", .group = NVS_WHAT_HAPPENED, .place = 128, .parts = parts,
	.help = "the reports as one page for a browser, with a timeline, a flame graph and the "
		"stream: -o FILE",
	.man = "One page for a browser that needs no other file and no network: the summary's "
	       "sentences, what hangs, sortable tables in order of the time that they explain, "
	       "memory over time, how full rings were, a flame graph of host time and, with "
	       "timing=work, of GPU time,\na timeline from the whole run down to a single "
	       "submission, with a range of time selected in which the tables by API and by kernel "
	       "and of copies are counted again,\nand every submission with its methods, "
	       "which can be searched; hovering over a method or a field explains it.\nIts numbers "
	       "are those of the reports. It cannot be combined with other reports. It has the "
	       "first 20000 rows of each table, or as many as\n.B \\-n\nspecifies; the page says "
	       "what else was left out.",
	.needs = NVS_NEED_TRACE | NVS_NEED_NAMES, .prints = NVS_PRINTS_TEXT | NVS_PRINTS_BINARY,
	.print = print);
