/* SPDX-License-Identifier: MIT */
/* --dump: each submission with its entries, and the methods of their segments. */
#include <errno.h>
#include <string.h>
#include "decode/gpu/class.h"
#include "decode/gpu/pb.h"
#include "decode/report/dump/methods.h"
#include "decode/report/core/report.h"
#include "decode/analysis/address_kind.h"

struct dump {
	struct nvs_dumper dumper;
	struct nvs_source *source;
	struct nvs_dump_origin origin;
	struct nvs_address_space place;
	uint8_t pushbuffer; /* kinds of memory of the segments so far */
	bool show;
	uint64_t printed;
};

/* Submissions that are not shown are decoded, too: classes, method state and split headers
 * continue. */
static int on_entry(void *arg, const struct nvs_submission *s, const struct nvs_segment *seg,
		    const struct nvs_gp *gp)
{
	struct dump *d = arg;
	uint8_t in;

	if (!d->show)
		return 0;
	in = gp->dwords ? nvs_address_memory(&d->place, gp->address) : 0;
	d->pushbuffer |= in;
	if (d->dumper.json)
		nvs_dump_json_entry(d->dumper.out, s, seg, gp, nvs_memory_bits_name(in));
	else
		nvs_dump_text_entry(&d->dumper.line, seg, gp,
				    nvs_dump_entry_address(s, seg->index));
	return 0;
}

static int on_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		  const struct nvs_class *cls)
{
	struct dump *d = arg;

	if (d->show)
		nvs_dump_run(&d->dumper, c, run, cls);
	return 0;
}

static int on_fault(void *arg, const struct nvs_pb_fault *fault)
{
	struct dump *d = arg;

	if (d->show)
		nvs_dump_fault(&d->dumper, fault);
	return 0;
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct dump *d = arg;

	d->pushbuffer = 0;
	d->show = nvs_filter_selects(d->source, s, call);
	d->dumper.submission = s->number;
	d->place = (struct nvs_address_space){d->source->trace, s->channel->rec.vaspace};
	if (d->show && d->dumper.json)
		nvs_dump_json_submission(d->dumper.out, d->source, s, call);
	else if (d->show)
		nvs_dump_text_submission(&d->dumper.line, &d->origin, d->dumper.out, d->source, s,
					 call, true);
	return 0;
}

static int on_submitted(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct dump *d = arg;

	nvs_dump_flush(&d->dumper);
	if (d->show && d->dumper.full && !d->dumper.json)
		nvs_dump_text_writes(d->dumper.out, d->source, s, d->pushbuffer);
	d->printed += d->show;
	d->dumper.out->told += d->show;
	return ferror(d->dumper.out->file) || nvs_filter_is_past_end(d->source, s, d->printed);
}

static int dump_trace(struct nvs_run *run, struct nvs_source *s)
{
	struct dump d = {.dumper = {.out = run->out,
				    .json = run->options->print.format == NVS_FORMAT_JSON,
				    .full = run->options->verbose},
			 .source = s};
	struct nvs_pass_reader reader = {.submission = on_submission,
					 .entry = on_entry,
					 .run = on_run,
					 .fault = on_fault,
					 .submitted = on_submitted,
					 .calls = true,
					 .past_commands = &run->out->brief,
					 .arg = &d};
	int r;

	nvs_dump_trace_name(run, s);
	d.dumper.where = (struct nvs_address_formatter){nvs_address_kind_append, &d.place};
	r = nvs_source_read(s, &reader);
	if (!r)
		r = nvs_dump_end(&d.dumper);
	nvs_dump_free(&d.dumper);
	nvs_line_free(&d.origin.text);
	return r;
}

static int print_dump(struct nvs_run *run)
{
	return nvs_run_each(run, dump_trace);
}

NVS_REPORT(dump, .name = "dump", .group = NVS_GPU_WORK, .place = 120,
	   .help = "every submission with its entries and decoded methods",
	   .man = "Every submission with its entries, and the methods of their segments "
		  "decoded: names, fields, values.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_NAMES,
	   .prints = NVS_PRINTS_TEXT | NVS_PRINTS_JSON | NVS_PRINTS_LINES, .print = print_dump);
