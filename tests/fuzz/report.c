/* SPDX-License-Identifier: MIT */
/* FUZZ: decode report */
/*
 * Every report over traces of strangers; the last byte of the input chooses which. What is printed holds no control
 * character but the ends of lines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report.h"
#include "tests/fuzz/fuzz.h"

#define KINDS (NVS_REPORT_TIMELINE + 1)

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

static void report(const char *path, unsigned choice)
{
	struct nvs_options_report o = { .kind = choice % KINDS, .format = choice / KINDS % 3, .pager = false, .color = -1 };
	struct nvs_source s = { .path = path, .options = &o };
	struct nvs_error err;
	struct nvs_out out = { 0 };
	char *text = NULL;
	size_t size = 0;

	o.read = (struct nvs_read_options){ .partial = choice & 0x80, .no_spool = true };
	o.rows = choice / KINDS / 3 & 1 ? 3 : 0;
	if (nvs_trace_open(&s.trace, path, &o.read, &err)) {
		nvs_trace_close(s.trace);
		return;
	}
	out.file = open_memstream(&text, &size);
	if (!out.file)
		abort();
	if (!nvs_source_read(&s))
		print(&out, &s, &o);
	fclose(out.file);
	check_text(text, size, o.format == NVS_FORMAT_CSV);
	free(text);
	nvs_source_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	/* What is said of a wrong trace; sanitizers write to the descriptor itself. */
	if (stderr != null)
		stderr = null = fopen("/dev/null", "w");
	report(fuzz_trace_file(data, size - 1), data[size - 1]);
	return 0;
}
