/* SPDX-License-Identifier: MIT */
/* A report that does nothing of use: what it takes to add one is this file, and cases that test it.
 */
#include "decode/report/core/trace_columns.h"

struct row {
	const struct nvs_source *source;
	uint64_t calls;
};

static int on_call(void *arg, const struct nvs_call *call)
{
	((struct row *)arg)->calls++;
	return 0;
}

static int begin(struct nvs_run *run, struct nvs_source *s, void *each, struct nvs_reader *reader)
{
	((struct row *)each)->source = s;
	reader->call = on_call;
	return 0;
}

NVS_SOURCE_GETTERS(struct row, r->source)
NVS_GET_COUNT(struct row, calls, r->calls)

static const struct nvs_column columns[] = {
	{"calls", "calls", get_calls, 0},
	NVS_SOURCE_COLUMNS,
};

static int print(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);

	return nvs_table_print_array(run->out, &table, run->each, run->n, sizeof(struct row),
				     &run->options->print);
}

NVS_REPORT(toy, .name = "toy", .group = NVS_HOST_TIME, .place = 15,
	   .help = "how many calls there are", .man = "How many calls there are.",
	   .needs = NVS_NEED_TRACE, .prints = NVS_PRINTS_TABLE, NVS_REPORT_COLUMNS(columns),
	   .each = sizeof(struct row), .begin = begin, .print = print);
