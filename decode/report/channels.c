/* SPDX-License-Identifier: MIT */
/* --channels: properties of each channel, and what was submitted to it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/submission_stats.h"
#include "decode/analysis/address_kind.h"
#include "decode/analysis/channel_memory.h"
#include "decode/report/core/trace_columns.h"
#include "decode/report/core/operation_columns.h"
#include "decode/report/core/report.h"

struct channel_row {
	const struct nvs_source *source;
	const struct nvs_trace_channel *channel;
	uint64_t submissions, entries, bytes; /* those that pass the filters */
	bool uncounted; /* level=counts: only totals are known */
	bool filtered; /* a filter on submissions makes the totals unknown too */
	char class[16], flags[64];
	struct nvs_tally tally;
	struct nvs_channel_memory lies;
};

#define COLUMNS(COL)                                                                             \
	COL(count, channel, "chan", 0, 0, r->channel->channel)                                   \
	COL(known, gpu, "gpu", 0, 1, r->channel->known && r->channel->rec.gpu != NVS_NONE,       \
	    r->channel->rec.gpu)                                                                 \
	COL(text, class, "class", 0, 1, r->class)                                                \
	COL(known, engine, "eng", 0, 6, r->channel->known, r->channel->rec.engine)               \
	COL(hex, token, "token", 0, 3, r->channel->rec.token != NVS_NONE, r->channel->rec.token) \
	COL(known, gpfifo_entries, "ring", 0, 7, r->channel->known, r->channel->rec.entries)     \
	COL(known, submissions, "submissions", 0, 0, !r->filtered, r->submissions)               \
	COL(known, entries, "entries", 0, 6, !r->uncounted, r->entries)                          \
	COL(known, command_bytes, "cmd bytes", 0, 1, !r->filtered, r->bytes)                     \
	COL(count, gaps, "gaps", 0, 0, r->channel->counts.gaps)                                  \
	NVS_TALLY_COLUMNS(COL)                                                                   \
	COL(text, ring_in, "ring in", NAME_IF_KNOWN, 5,                                          \
	    nvs_memory_bits_name(r->lies.in[NVS_RING]))                                          \
	COL(text, userd_in, "userd in", NAME_IF_KNOWN, 5,                                        \
	    nvs_memory_bits_name(r->lies.in[NVS_USERD]))                                         \
	COL(text, pushbuffer_in, "pushbuffer in", NAME_IF_KNOWN, 5,                              \
	    nvs_memory_bits_name(r->lies.in[NVS_PUSHBUFFER]))                                    \
	COL(text, semaphores_in, "semaphores in", NAME_IF_KNOWN, 5,                              \
	    nvs_memory_bits_name(r->lies.in[NVS_SEMAPHORES]))                                    \
	COL(known, addresses, "addresses", DETAIL, 0, !r->tally.unseen, r->lies.addresses)       \
	COL(known, addresses_same, "same", DETAIL, 0, !r->tally.unseen, r->lies.same)            \
	COL(by, allocated_ns, "allocated", DETAIL, 0, nvs_source_time, r->source,                \
	    r->channel->known, r->channel->alloc_time)                                           \
	COL(by, freed_ns, "freed", DETAIL, 0, nvs_source_time, r->source, r->channel->free_time, \
	    r->channel->free_time)                                                               \
	COL(hex, gpfifo_address, "gpfifo", DETAIL, 0, r->channel->known, r->channel->rec.gpfifo) \
	COL(text, channel_flags, "flags", NAME, 4, r->flags)                                     \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(columns, struct channel_row, COLUMNS)

static void set_flags(struct channel_row *r)
{
	const struct nvs_trace_channel *c = r->channel;
	struct {
		const char *name;
		bool set;
	} flags[] = {
		{"unknown", !c->known},
		{"unbound", c->known && !(c->rec.flags & NVS_CHAN_BOUND)},
		{"shadow", c->rec.flags & NVS_CHAN_SHADOW},
		{"no-doorbell", c->rec.flags & NVS_CHAN_NO_DOORBELL},
		{"freed", c->free_time != 0},
	};
	char *p = r->flags;

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (flags[i].set)
			p += snprintf(p, (size_t)(r->flags + sizeof(r->flags) - p), "%s%s",
				      p > r->flags ? " " : "", flags[i].name);
}

/* Adds the rows of one trace. Channels without submissions are omitted if the filters select
 * submissions. */
static size_t add_rows(const struct nvs_source *s, struct nvs_channel_memory_tracker *places,
		       struct channel_row *rows)
{
	const struct nvs_query *q = s->query;
	uint32_t n = nvs_trace_channel_count(s->trace);
	struct channel_row **of = calloc((size_t)n + 1, sizeof(*of));
	bool uncounted = nvs_trace_session(s->trace)->header.flags & NVS_HDR_COUNTS;
	bool strict = q->thread.n || q->api.n || q->nvtx.n || q->range.by;
	size_t count = 0, kept = 0;
	const struct nvs_channel_memory *lies;
	const struct nvs_submission_group *c;
	uint32_t at = 0;

	for (uint32_t i = 0; of && i < n; i++) {
		const struct nvs_trace_channel *channel = nvs_trace_channel_at(s->trace, i);

		if (!channel || !nvs_filter_channel(s, i))
			continue;
		of[i] = rows + count++;
		of[i]->source = s;
		of[i]->channel = channel;
		of[i]->uncounted = uncounted;
		of[i]->filtered = uncounted && strict;
		of[i]->tally.unseen = uncounted;
		of[i]->submissions = uncounted ? channel->counts.skipped_submissions : 0;
		of[i]->bytes = uncounted ? channel->counts.skipped_bytes : 0;
		lies = nvs_rows_find(&places->channels, &i);
		if (lies)
			of[i]->lies = *lies;
		set_flags(of[i]);
		if (channel->known)
			snprintf(of[i]->class, sizeof(of[i]->class), "%04x",
				 channel->rec.object_class);
	}
	while (of && (c = nvs_submission_groups_next(s, &at))) {
		if (!of[c->channel])
			continue;
		of[c->channel]->submissions += c->submissions;
		of[c->channel]->entries += c->entries;
		of[c->channel]->bytes += c->bytes;
		nvs_tally_sum(&of[c->channel]->tally, &c->tally);
	}
	for (size_t i = 0; i < count; i++)
		if (!strict || rows[i].submissions)
			rows[kept++] = rows[i];
	free(of);
	return kept;
}

static int begin_trace(struct nvs_run *run, struct nvs_source *s, void *each,
		       struct nvs_pass_reader *reader)
{
	nvs_channel_memory_begin(each, s, reader);
	return 0;
}

static void free_places(struct nvs_run *run)
{
	struct nvs_channel_memory_tracker *places = run->each;

	for (uint32_t k = 0; k < run->n; k++)
		nvs_rows_free(&places[k].channels, NULL);
}

/* Prints a summary of the memory that the channels use, including rows that -n omits. The
 * columns do not fit on every terminal. */
static void print_memory(struct nvs_out *out, const struct channel_row *rows, size_t n)
{
	static const char *const names[] = {"ring", "USERD", "pushbuffer", "semaphores"};
	uint64_t all = 0, same = 0;
	uint8_t in[NVS_PLACES] = {0};

	for (size_t i = 0; i < n; i++) {
		all += rows[i].lies.addresses;
		same += rows[i].lies.same;
		for (uint32_t k = 0; k < NVS_PLACES; k++)
			in[k] |= rows[i].lies.in[k];
	}
	if (!(in[NVS_RING] | in[NVS_USERD] | in[NVS_PUSHBUFFER] | in[NVS_SEMAPHORES]))
		return;
	fputs("memory:", out->file);
	for (uint32_t k = 0; k < NVS_PLACES; k++)
		fprintf(out->file, "%s %s %s", k ? "," : "", names[k],
			in[k] ? nvs_memory_bits_name(in[k]) : "-");
	fputc('\n', out->file);
	if (all)
		fprintf(out->file,
			"addresses in commands: %" PRIu64
			", %.2f %% of them equal to the CPU's for the same "
			"memory\n",
			all, 100.0 * (double)same / (double)all);
}

static int print_channels(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	struct nvs_channel_memory_tracker *places = run->each;
	size_t total = 1, n = 0;
	struct channel_row *rows;
	int r;

	for (uint32_t k = 0; k < run->n; k++)
		total += nvs_trace_channel_count(run->sources[k].trace);
	rows = calloc(total, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (uint32_t k = 0; k < run->n; k++)
		n += add_rows(run->sources + k, places + k, rows + n);
	r = nvs_table_print_array(run->out, &table, rows, n, sizeof(*rows), &run->options->print);
	if (!r && run->options->print.format == NVS_FORMAT_TEXT)
		print_memory(run->out, rows, n);
	free(rows);
	return r;
}

NVS_REPORT(channels, .name = "channels", .group = NVS_GPU_WORK, .place = 100,
	   .help = "per channel, and the memory of its ring and commands",
	   .man = "One row per channel, with the kind of memory of its GPFIFO, USERD, "
		  "commands and semaphores. Below: the number of addresses in commands (of "
		  "copies, memsets, uploads, triggers and semaphores), and how many of "
		  "them are also the process's own addresses of the same memory.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CELLS | NVS_NEED_WHOLE | NVS_NEED_FILTERS,
	   .prints = NVS_PRINTS_TABLE, NVS_REPORT_COLUMNS(columns),
	   .each = sizeof(struct nvs_channel_memory_tracker), .begin = begin_trace,
	   .print = print_channels, .free = free_places);
