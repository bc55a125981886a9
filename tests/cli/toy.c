/* SPDX-License-Identifier: MIT */
/* nvsnoop-report --toy: how many calls of the driver API each trace has. The example of
 * CONTRIBUTING.md, "Example: add a report".
 */
#include "decode/report/core/trace_columns.h"

struct row {
	const struct nvs_source *source;
	uint64_t calls;
};

static int count_call(void *arg, const struct nvs_call *call)
{
	struct row *row = arg;

	if (nvs_filter_call(row->source, call))
		row->calls++;
	return 0;
}

static int begin(struct nvs_run *run, struct nvs_source *s, void *each,
		 struct nvs_pass_reader *reader)
{
	struct row *row = each;

	row->source = s;
	reader->call = count_call;
	return 0;
}

#define COLUMNS(COL)                               \
	COL(count, calls, "calls", 0, 0, r->calls) \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(columns, struct row, COLUMNS)

static int print(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);

	return nvs_table_print_array(run->out, &table, run->each, run->n, sizeof(struct row),
				     &run->options->print);
}

NVS_REPORT(toy, .name = "toy", .group = NVS_HOST_TIME, .place = 15,
	   .help = "number of driver API calls per trace",
	   .man = "Number of calls of the driver API in each trace.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_FILTERS, .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(columns), .each = sizeof(struct row), .begin = begin, .print = print);
