/* SPDX-License-Identifier: MIT */
/* FUZZ: decode report */
/*
 * Every report over traces of strangers, and bare dwords; the last byte of the input chooses which.
 * What is printed is UTF-8 without control characters but the ends of lines, and JSON and CSV to
 * the letter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report/report.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/strict.h"

#define KINDS (NVS_REPORT_TIMELINE + 1)
#define RAW 0x7e /* this choice and the next, as text and as JSON */

static FILE *null;

static int print(struct nvs_out *out, struct nvs_source *s, const struct nvs_options_report *o)
{
	int status;

	switch (o->kind) {
	case NVS_REPORT_BY_API:
		return nvs_report_by_api(out, s, 1, o);
	case NVS_REPORT_BY_CALLSITE:
		return nvs_report_by_callsite(out, s, 1, o);
	case NVS_REPORT_CHANNELS:
		return nvs_report_channels(out, s, 1, o);
	case NVS_REPORT_VERIFY:
		return nvs_report_verify(out, s, 1, o, &status);
	case NVS_REPORT_DUMP:
		return nvs_report_dump(out, s, 1, o);
	case NVS_REPORT_OPS:
		return nvs_report_ops(out, s, 1, o);
	case NVS_REPORT_SYNC:
		return nvs_report_sync(out, s, 1, o);
	case NVS_REPORT_BY_KERNEL:
		return nvs_report_by_kernel(out, s, 1, o);
	case NVS_REPORT_GRAPHS:
		return nvs_report_graphs(out, s, 1, o);
	case NVS_REPORT_MEMCPY:
		return nvs_report_memcpy(out, s, 1, o);
	case NVS_REPORT_BY_STREAM:
		return nvs_report_by_stream(out, s, 1, o);
	case NVS_REPORT_BY_THREAD:
		return nvs_report_by_thread(out, s, 1, o);
	case NVS_REPORT_BY_CONTEXT:
		return nvs_report_by_context(out, s, 1, o);
	case NVS_REPORT_TIMELINE:
		return nvs_report_timeline(out, s, 1, o);
	case NVS_REPORT_RAW:
		return nvs_report_raw(out, o);
	default:
		return nvs_report_summary(out, s, 1, o);
	}
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
	bool lines = o->kind == NVS_REPORT_DUMP || o->kind == NVS_REPORT_OPS ||
		     o->kind == NVS_REPORT_RAW;
	const char *wrong = NULL;
	size_t at = 0;

	if (o->format == NVS_FORMAT_CSV)
		wrong = strict_csv(text, size, &at);
	else if (o->format == NVS_FORMAT_TEXT)
		wrong = strict_utf8(text, size, &at);
	else if (lines)
		wrong = strict_json_lines(text, size, &at);
	else if (size) /* nothing where the trace could not be read */
		wrong = strict_json(text, size, &at);
	if (wrong)
		dprintf(2, "report %d, format %d, offset %zu: %s:\n%.*s\n", o->kind, o->format, at,
			wrong, (int)size, text);
	FUZZ_HOLDS(!wrong);
}

/* What the options ask for is printed as it has to be. */
static void try(struct nvs_source *s, const struct nvs_options_report *o)
{
	struct nvs_out out = {0};
	char *text = NULL;
	size_t size = 0;

	out.file = open_memstream(&text, &size);
	if (!out.file)
		abort();
	if (o->kind == NVS_REPORT_RAW || !nvs_source_read(s))
		print(&out, s, o);
	fclose(out.file);
	check_text(text, size, o->format == NVS_FORMAT_CSV);
	check_form(text, size, o);
	free(text);
}

static void raw(const char *path, bool json)
{
	const char *subch[] = {"1=cbc0", "4=c8b5"};
	struct nvs_options_report o = {
		.kind = NVS_REPORT_RAW, .format = json, .files = (char **)&path, .nfiles = 1};

	memcpy(o.subch, subch, sizeof(subch));
	o.nsubch = 2;
	try(NULL, &o);
}

static void report(const char *path, unsigned choice)
{
	struct nvs_options_report o = {
		.kind = choice % KINDS, .format = choice / KINDS % 3, .pager = false, .color = -1};
	struct nvs_source s = {.path = path, .options = &o};
	struct nvs_error err;

	o.read = (struct nvs_read_options){
		.size = sizeof(o.read), .partial = choice & 0x80, .no_spool = true};
	o.rows = choice / KINDS / 3 & 1 ? 3 : 0;
	if (nvs_trace_open(&s.trace, path, &o.read, &err)) {
		nvs_trace_close(s.trace);
		return;
	}
	try(&s, &o);
	nvs_source_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	/* What is said of a wrong trace; sanitizers write to the descriptor itself. */
	if (stderr != null)
		stderr = null = fopen("/dev/null", "w");
	if ((data[size - 1] & ~1) == RAW)
		raw(fuzz_file(FUZZ_TRACE, data, size - 1), data[size - 1] & 1);
	else
		report(fuzz_trace_file(data, size - 1), data[size - 1]);
	return 0;
}
