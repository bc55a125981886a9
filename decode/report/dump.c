/* SPDX-License-Identifier: MIT */
/* --dump: every submission with its entries, and their segments method by method, in words. */
#include <errno.h>
#include <string.h>
#include "decode/calls/calls.h"
#include "decode/report/dump_methods.h"
#include "decode/calls/attach.h"
#include "decode/report/report.h"
#include "decode/report/where.h"
#include "decode/trace/stream.h"

struct dump {
	struct nvs_dumper dumper;
	struct nvs_source *source;
	struct nvs_attach *follow;
	struct nvs_place place;
	bool show;
	uint64_t printed, rows;
};

/*
 * What is not shown is followed all the same: classes, methods and split headers go on from there.
 */
static void on_entry(void *arg, const struct nvs_submission *s, const struct nvs_segment *seg,
		     const struct nvs_gp *gp)
{
	struct dump *d = arg;

	if (!d->show)
		return;
	nvs_dump_flush(&d->dumper);
	if (d->dumper.json)
		nvs_dump_json_entry(d->dumper.out, s, seg, gp);
	else
		nvs_dump_text_entry(d->dumper.out, seg, gp);
}

static void on_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		   const struct nvs_class *cls)
{
	struct dump *d = arg;

	if (d->show)
		nvs_dump_run(&d->dumper, c, run, cls);
}

static void on_fault(void *arg, const struct nvs_pb_fault *fault)
{
	struct dump *d = arg;

	if (d->show)
		nvs_dump_fault(&d->dumper, fault);
}

static int on_submission(void *arg, struct nvs_trace *trace, const struct nvs_submission *s)
{
	struct dump *d = arg;
	const struct nvs_options_report *o = d->source->options;
	int r;

	r = nvs_calls_submission(d->source->calls, s);
	if (r)
		return r;
	d->show = nvs_filter(d->source, s);
	d->dumper.submission = s->number;
	d->place = (struct nvs_place){trace, s->channel->rec.vaspace};
	if (d->show && d->dumper.json)
		nvs_dump_json_submission(d->dumper.out, d->source, s);
	else if (d->show)
		nvs_dump_text_submission(d->dumper.out, d->source, s);
	r = nvs_attach_submission(d->follow, s, s->number);
	nvs_dump_flush(&d->dumper);
	if (r || ferror(d->dumper.out->file))
		return r ? r : 1;
	d->printed += d->show;
	return (o->rows && d->printed >= o->rows) || (o->has_range && s->number >= o->last);
}

static int on_record(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec)
{
	struct dump *d = arg;
	int r = nvs_calls_record(d->source->calls, rec);

	return r ? r : nvs_attach_record(d->follow, rec);
}

static int one_trace(struct nvs_out *out, struct nvs_source *s, bool json)
{
	static const struct nvs_stream_consumer consumer = {
		.flags = NVS_READ_WHOLE, .submission = on_submission, .record = on_record};
	struct dump d = {.dumper = {.out = out, .json = json, .full = s->options->verbose},
			 .source = s};
	struct nvs_attach_sink sink = {
		.entry = on_entry, .run = on_run, .fault = on_fault, .arg = &d};
	struct nvs_error err = {""};
	int r;

	d.dumper.where = (struct nvs_where){nvs_where_put, &d.place};
	d.follow = nvs_attach_new(s->trace, &sink);
	if (!d.follow)
		return -ENOMEM;
	r = nvs_stream_read(s->trace, &consumer, &d, &err);
	nvs_progress_clear();
	if (r < 0)
		fprintf(stderr, "nvsnoop-report: %s\n", *err.text ? err.text : strerror(-r));
	else
		r = nvs_dump_end(&d.dumper);
	nvs_attach_free(d.follow);
	nvs_dump_free(&d.dumper);
	return r < 0 ? r : 0;
}

int nvs_report_dump(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		    const struct nvs_options_report *o)
{
	int r = 0;

	if (o->format == NVS_FORMAT_CSV) {
		fputs("nvsnoop-report: --dump is text or json\n", stderr);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < n && !r; i++) {
		nvs_dump_trace_name(out, s + i, n);
		r = one_trace(out, s + i, o->format == NVS_FORMAT_JSON);
	}
	return r;
}
