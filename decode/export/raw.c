/* SPDX-License-Identifier: MIT */
/* --export=raw: segments of submissions unchanged, one file of dwords each, for nv_push_dump and
 * nvsnoop-report --raw; index.csv lists them. */
#include <errno.h>
#include <inttypes.h>
#include "decode/export/output_dir.h"
#include "decode/export/events.h"
#include "decode/report/core/report.h"
#include "decode/query/selection.h"

struct raw_state {
	FILE *index;
	uint64_t told; /* submissions of the current trace so far */
};

/* One directory per thousand submissions, lest one has a million files. */
static int write_segment(struct nvs_event_stream *w, const struct nvs_event_submission *one,
			 const struct nvs_segment *seg)
{
	const struct nvs_submission *s = one->s;
	struct raw_state *st = w->to;
	char name[96];
	FILE *file;

	snprintf(name, sizeof(name), "%u/%03" PRIu64 "/%" PRIu64 "-%u.bin", w->process,
		 s->number / 1000, s->number, seg->index);
	file = nvs_output_dir_file(w->run, name);
	if (!file)
		return -EIO;
	fwrite(seg->data, 1, seg->bytes, file);
	fprintf(st->index, "%s,%u,%" PRIu64 ",%u,%u,", name, w->process, s->number, seg->index,
		s->channel->channel);
	if (s->channel->known)
		fprintf(st->index, "%04x", s->channel->rec.object_class);
	fprintf(st->index, ",%" PRIu64 ",%u\r\n", seg->address, seg->dwords);
	return nvs_output_dir_close(w->run, file);
}

static int on_begin(struct nvs_event_stream *w)
{
	((struct raw_state *)w->to)->told = 0;
	return 0;
}

static int on_submission(struct nvs_event_stream *w, const struct nvs_event_submission *one)
{
	struct nvs_segment_iter it = nvs_segments(one->s);
	struct raw_state *st = w->to;
	struct nvs_segment seg;
	int r = 0;

	while (!r && nvs_segment_next(&it, &seg))
		if (seg.bytes)
			r = write_segment(w, one, &seg);
	return r ? r : nvs_filter_is_past_end(w->source, one->s, ++st->told);
}

static int write_all(struct nvs_run *run)
{
	static const struct nvs_event_sink walker = {.begin = on_begin,
						     .submission = on_submission};
	struct raw_state st = {nvs_output_dir_file(run, "index.csv")};
	int r, closed;

	if (!st.index)
		return -EIO;
	fputs("file,process,submission,entry,channel,channel_class,gpu_address,dwords\r\n",
	      st.index);
	r = nvs_events_deliver(run, &walker, &st);
	closed = nvs_output_dir_close(run, st.index);
	return r < 0 ? r : closed;
}

static int print(struct nvs_run *run)
{
	return nvs_output_dir_run(run, write_all);
}

NVS_REPORT(export_raw, .name = "export=raw", .group = NVS_EXPORTS, .place = 360,
	   .help = "segments as bare dwords, one file each, for nv_push_dump and --raw; -o DIR",
	   .man = "The segments of submissions as bare dwords, one file each, in the directory "
		  "of\n.BR \\-o ,\nfor Mesa's nv_push_dump and\n.BR \\-\\-raw .\nIts index.csv "
		  "lists them.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_NAMES, .prints = NVS_PRINTS_TEXT | NVS_PRINTS_FOLDER,
	   .print = print);
