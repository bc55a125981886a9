/* SPDX-License-Identifier: MIT */
/* The sentences of --races: the missing wait, what happened in this run, what cannot be said. */
#include <inttypes.h>
#include <stdlib.h>
#include "decode/cli/sentence.h"
#include "decode/query/api_names.h"
#include "decode/report/races/internal.h"
#include "decode/analysis/memory_accesses.h"
#include "decode/analysis/stream_order.h"
#include "decode/calls/args.h"
#include "decode/query/source.h"

const char *const nvs_race_levels[] = {"none", "possible", "likely", "certain"};
const char *const nvs_access_kinds[] = {
	[NVS_ACCESS_READS] = "reads",	      [NVS_ACCESS_WRITES] = "writes",
	[NVS_ACCESS_ALLOCATES] = "allocates", [NVS_ACCESS_FREES] = "frees",
	[NVS_ACCESS_GIVEN] = "is given",      [NVS_ACCESS_LOADS] = "loads",
	[NVS_ACCESS_STORES] = "stores",	      [NVS_ACCESS_ADDS] = "adds",
};

/* CUgraphNodeType */
static const char *node_name(uint32_t type)
{
	return type == 0 ? "kernel" : type == 1 ? "copy" : type == 2 ? "memset" : "node";
}

void nvs_race_print_work(FILE *f, const struct nvs_source *s, const struct nvs_race_site *site)
{
	char *kernel = site->key.kernel && *site->key.kernel->name
			       ? nvs_demangle(site->key.kernel->name)
			       : NULL;

	if (site->key.exec) {
		fprintf(f, "node %u (", site->key.node);
		fputs(NVS_TEXT(kernel ? kernel : node_name(site->key.type), 60), f);
		fputc(')', f);
	} else {
		fputs(NVS_TEXT(nvs_call_name(site->key.api), 64), f);
	}
	free(kernel);
}

void nvs_race_print_stream(FILE *f, const struct nvs_access_work *work)
{
	if (work->stream == NVS_STREAM_LEGACY)
		fputs("the default stream", f);
	else if (work->stream == NVS_STREAM_PER_THREAD)
		fprintf(f, "the default stream of thread %" PRIu32, work->thread);
	else
		fprintf(f, "stream %#" PRIx64, work->stream);
}

/* "record an event in stream 1 after X, and let stream 2 wait for it before Y." */
static void print_remedy(FILE *f, const struct race_row *row)
{
	const struct nvs_race *race = row->race;

	fputs("record an event in ", f);
	nvs_race_print_stream(f, &race->first.work);
	fputs(" after ", f);
	nvs_race_print_work(f, row->source, race->first.site);
	fputs(", and let ", f);
	nvs_race_print_stream(f, &race->second.work);
	fputs(" wait for it before ", f);
	nvs_race_print_work(f, row->source, race->second.site);
	fputc('.', f);
}

static void print_wait(FILE *f, const struct race_row *row, const char *middle)
{
	nvs_race_print_stream(f, &row->race->second.work);
	fputs(middle, f);
	nvs_race_print_stream(f, &row->race->first.work);
}

void nvs_race_print_edge(FILE *f, const struct race_row *row)
{
	switch (row->race->cause) {
	case NVS_RACE_NO_WAIT:
		print_wait(f, row, " does not wait for ");
		fputs(": ", f);
		break;
	case NVS_RACE_EARLIER:
		print_wait(f, row, " waits for earlier work only of ");
		fputs(": ", f);
		break;
	case NVS_RACE_DEFAULT:
		fputs("The default stream and a non-blocking stream do not wait for each other: ",
		      f);
		break;
	case NVS_RACE_UNKNOWN_WAIT:
		print_wait(f, row, " does not wait for ");
		fputs(", unless a function that a stream called, another process or another API "
		      "orders them, which the trace does not show; else ",
		      f);
		break;
	case NVS_RACE_OVERLAP:
		fputs("The second kernel may begin before the first is done (programmatic stream "
		      "serialization): let it wait with cudaGridDependencySynchronize() before it "
		      "uses the memory, if it does not.",
		      f);
		return;
	case NVS_RACE_NO_EDGE:
		fputs("No edges lead from one node to the other: add a dependency between them.",
		      f);
		return;
	case NVS_RACE_PROGRAMMATIC_EDGE:
		fputs("Only a programmatic edge leads from one node to the other, so the second "
		      "may "
		      "begin before the first is done: let it wait with "
		      "cudaGridDependencySynchronize(), if it does not.",
		      f);
		return;
	}
	print_remedy(f, row);
}

void nvs_race_print_run(FILE *f, const struct race_row *row)
{
	const struct nvs_race *race = row->race;
	uint32_t a = race->first.work.channel, b = race->second.work.channel;

	if (race->cause == NVS_RACE_NO_EDGE || race->cause == NVS_RACE_PROGRAMMATIC_EDGE)
		return;
	if (a != NVS_NONE && b != NVS_NONE) {
		if (a == b)
			fprintf(f, "In this run both were on channel %" PRIu32, a);
		else
			fprintf(f, "In this run they were on channels %" PRIu32 " and %" PRIu32, a,
				b);
		fputs(race->acquired ? ", and the commands made the second one wait"
				     : ", and no commands made the second one wait",
		      f);
	}
	if (row->timed) {
		fputs(a != NVS_NONE && b != NVS_NONE ? "; " : "In this run ", f);
		fputs("it began ", f);
		fputs(NVS_DURATION(llabs(row->gap_ns)), f);
		fputs(row->gap_ns < 0 ? " before" : " after", f);
		fputs(" the first had ended", f);
	}
	if (row->timed || (a != NVS_NONE && b != NVS_NONE))
		fputc('.', f);
}

/* ---- limits ---- */

static void print_missing_parts(FILE *f, const struct race_row *row)
{
	const struct nvs_trace *trace = row->source->trace;
	const struct nvs_session *s = nvs_trace_session(trace);
	const char *part = nvs_trace_part(trace);

	if (part)
		fputs(" Only a part of the run was recorded: races with work outside of it, or "
		      "with "
		      "memory allocated outside of it, are not found.",
		      f);
	if (s->counts.gaps) {
		fputs(" Work and waits are missing in ", f);
		fputs(NVS_COUNT(s->counts.gaps, "gap", "gaps"), f);
		fputs(": races across a gap are not found.", f);
	}
	if (row->trace->skipped || s->header.flags & NVS_HDR_COUNTS)
		fputs(" Commands were not recorded (level): what kernels, 2D copies and batches of "
		      "copies access is unknown.",
		      f);
	if (row->trace->unknown_launches) {
		fputs(" The parameters of ", f);
		fputs(NVS_COUNT(row->trace->unknown_launches, "launch", "launches"), f);
		fputs(" are unknown.", f);
	}
}

static void print_unseen_parts(FILE *f, const struct race_row *row)
{
	const struct nvs_races *t = row->trace;

	if (t->conditional)
		fputs(" What kernels in bodies of conditional nodes access is unknown.", f);
	if (t->foreign)
		fputs(" The program waits for, or shares memory with, other processes or APIs, "
		      "whose "
		      "work is not seen.",
		      f);
	if (t->graph_nodes)
		fputs(" Some graphs are too large to be checked inside.", f);
	if (t->crowded)
		fprintf(f, " More than %u streams were in use at once: later work is not checked.",
			NVS_ORDER_SLOTS);
	if (t->dropped) {
		fputc(' ', f);
		fputs(NVS_COUNT(t->dropped, "access was", "accesses were"), f);
		fputs(" not checked, to save memory.", f);
	}
	if (t->lost) {
		fputc(' ', f);
		fputs(NVS_COUNT(t->lost, "more race is", "more races are"), f);
		fputs(" not listed.", f);
	}
}

void nvs_race_print_limits(FILE *f, const struct race_row *row)
{
	if (!row->trace->called) {
		fputs("Cannot tell: the trace has no API calls (api=off), which order the work.",
		      f);
		return;
	}
	fputs("What the host itself reads and writes is not seen.", f);
	print_missing_parts(f, row);
	print_unseen_parts(f, row);
}
