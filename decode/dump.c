/* SPDX-License-Identifier: MIT */
/* --dump: every submission with its entries, and their segments header by header, in numbers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/pb.h"
#include "decode/report.h"

struct dump {
	struct nvs_out *out;
	struct nvs_source *source;
	struct nvs_pb **pb; /* by channel; a header's data may go on in the next segment */
	uint32_t npb;
	uint64_t printed, rows;
};

static void print_run(void *arg, const struct nvs_pb_run *run)
{
	struct dump *d = arg;
	FILE *f = d->out->file;

	if (run->form == NVS_PB_NOP) {
		fprintf(f, "    NOP [%u]\n", run->total);
		return;
	}
	if (run->form == NVS_PB_END_SEGMENT) {
		fputs("    END_PB_SEGMENT\n", f);
		return;
	}
	if (!run->index)
		fprintf(f, "    %s s%u %04x [%u]", nvs_pb_form_name(run->form), run->subch,
			run->method, run->total);
	else
		fprintf(f, "    ... s%u %04x", run->subch, nvs_pb_method(run, 0));
	for (uint32_t i = 0; i < run->count; i++)
		fprintf(f, "%s%x", i && i % 16 == 0 ? "\n      " : " ", run->data[i]);
	fputc('\n', f);
}

static void print_fault(void *arg, const struct nvs_pb_fault *fault)
{
	struct dump *d = arg;

	fprintf(d->out->file, "    %s!%s at %llx: header %08x, wants %u dwords, has %u%s\n",
		nvs_out_style(d->out, NVS_STYLE_BAD), nvs_pb_fault_name(fault->kind),
		(unsigned long long)fault->address, fault->header, fault->wanted, fault->had,
		nvs_out_style(d->out, NVS_STYLE_PLAIN));
}

static struct nvs_pb *pb_of(struct dump *d, uint32_t channel)
{
	if (channel >= d->npb) {
		uint32_t n = channel + 64;
		void *p = realloc(d->pb, n * sizeof(*d->pb));

		if (!p)
			return NULL;
		d->pb = p;
		memset(d->pb + d->npb, 0, (n - d->npb) * sizeof(*d->pb));
		d->npb = n;
	}
	if (!d->pb[channel])
		d->pb[channel] = calloc(1, sizeof(**d->pb));
	return d->pb[channel];
}

static void print_entry(struct dump *d, const struct nvs_segment *seg, const struct nvs_gp *gp)
{
	static const char *const states[] = {"", " (in pieces)", "", " (gap)", " (not recorded)"};
	FILE *f = d->out->file;

	if (!gp->dwords)
		fprintf(f, "  entry %016llx  control opcode %u operand %x%s\n",
			(unsigned long long)seg->entry, gp->opcode, gp->operand,
			gp->wait ? " sync" : "");
	else
		fprintf(f, "  entry %016llx  address %llx  %u dwords%s%s%s%s\n",
			(unsigned long long)seg->entry, (unsigned long long)gp->address, gp->dwords,
			gp->subroutine ? " sub" : "", gp->conditional ? " conditional" : "",
			gp->wait ? " sync" : "", seg->state < 5 ? states[seg->state] : " (?)");
}

static void print_head(struct dump *d, struct nvs_trace *trace, const struct nvs_submission *s)
{
	const struct nvs_callsite *site = nvs_trace_callsite(trace, s->rec->stack);
	struct nvs_out *out = d->out;
	int64_t ns;

	fprintf(out->file, "%s#%llu ", nvs_out_style(out, NVS_STYLE_HEAD),
		(unsigned long long)s->number);
	if (nvs_clock_since_start(trace, s->rec->rec.time, &ns))
		fprintf(out->file, "%.9f s ", (double)ns / 1e9);
	fprintf(out->file, "thread %u", s->thread->tid ? s->thread->tid : s->thread->thread);
	if (s->thread->name[0]) {
		fputs(" (", out->file);
		nvs_out_text(out, s->thread->name);
		fputc(')', out->file);
	}
	fputs(" api ", out->file);
	nvs_out_text(out, site->api);
	if (*site->runtime_api) {
		fputs(" < ", out->file);
		nvs_out_text(out, site->runtime_api);
	}
	fprintf(out->file, " channel %u token %x sequence %llu put %u->%u%s%s%s%s%s\n",
		s->channel->channel, s->rec->token, (unsigned long long)s->rec->sequence,
		s->rec->old_put, s->rec->new_put,
		s->rec->rec.flags & NVS_SUB_CONTINUED ? " continued" : "",
		s->marks & NVS_MARK_LATE ? " late" : "",
		s->marks & NVS_MARK_UNCERTAIN ? " perhaps-not-rung" : "",
		s->marks & NVS_MARK_TORN ? " torn" : "", nvs_out_style(out, NVS_STYLE_PLAIN));
}

static void pass_over(void *arg, const struct nvs_pb_run *run)
{
}

/* The walk goes on through submissions that are not shown: their data may end in one that is. */
static void walk(struct dump *d, struct nvs_pb *pb, const struct nvs_submission *s, bool show)
{
	struct nvs_segment_iter it = nvs_segments(s);
	const struct nvs_pb_sink sink = {show ? print_run : pass_over, show ? print_fault : NULL,
					 d};
	struct nvs_segment seg;

	nvs_pb_start(pb);
	while (nvs_segment_next(&it, &seg)) {
		struct nvs_gp gp;

		nvs_pb_entry(pb, seg.entry, s->channel->rec.object_class >= 0xc86f, &sink, &gp);
		if (show)
			print_entry(d, &seg, &gp);
		if (seg.data)
			nvs_pb_feed(pb, seg.data, seg.bytes / 4, &sink);
		else if (gp.dwords)
			nvs_pb_skip(pb);
	}
	nvs_pb_finish(pb, &sink);
}

static int on_submission(void *arg, struct nvs_trace *trace, const struct nvs_submission *s)
{
	struct dump *d = arg;
	const struct nvs_options_report *o = d->source->options;
	struct nvs_pb *pb = pb_of(d, s->channel->channel);
	bool show = !o->has_range || (s->number >= o->first && s->number <= o->last);

	if (!pb)
		return -ENOMEM;
	show = show && nvs_filter(d->source, s->thread->thread, s->channel->channel, s->rec->stack);
	if (show)
		print_head(d, trace, s);
	walk(d, pb, s, show);
	if (ferror(d->out->file))
		return 1;
	d->printed += show;
	return (o->rows && d->printed >= o->rows) || (o->has_range && s->number >= o->last);
}

int nvs_report_dump(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		    const struct nvs_options_report *o)
{
	static const struct nvs_consumer consumer = {.flags = NVS_READ_WHOLE,
						     .submission = on_submission};
	int r = 0;

	if (o->format != NVS_FORMAT_TEXT) {
		fputs("nvsnoop-report: --dump is text\n", stderr);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < n && r >= 0; i++) {
		struct dump d = {.out = out, .source = s + i};
		struct nvs_error err = {""};

		if (n > 1) {
			fputs("== ", out->file);
			nvs_out_text(out, s[i].path);
			fputs(" ==\n", out->file);
		}
		r = nvs_trace_read(s[i].trace, &consumer, &d, &err);
		nvs_progress_clear();
		if (r < 0)
			fprintf(stderr, "nvsnoop-report: %s\n",
				*err.text ? err.text : strerror(-r));
		for (uint32_t k = 0; k < d.npb; k++)
			free(d.pb[k]);
		free(d.pb);
	}
	return r < 0 ? r : 0;
}
