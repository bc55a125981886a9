/* SPDX-License-Identifier: MIT */
/* --ops: the operations of every submission, one per line, as text or JSON lines. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/tally.h"
#include "decode/gpu/class.h"
#include "decode/gpu/pb.h"
#include "decode/gpu/qmd.h"
#include "decode/report/dump/methods.h"
#include "decode/report/core/report.h"
#include "decode/analysis/address_kind.h"
#include "decode/analysis/launch_arguments.h"

#define MAX_TEXT 65536 /* bytes of one submission that are kept */

struct ops {
	struct nvs_out *out;
	struct nvs_source *source;
	struct nvs_line_buffer text; /* of the submission, not written yet */
	struct nvs_dump_origin origin;
	struct nvs_address_space place;
	struct nvs_tally tally;
	struct nvs_arguments *arguments;
	bool json, show, past; /* PAST: no further submission is shown */
	uint64_t printed; /* submissions */
	/* Ring of the latest submissions with counted copies, each number + 1. A copy that later
	 * turns out to be code is subtracted only if it is in this ring. */
	uint64_t copied[64], ncopied;
};

/* ---- JSON ---- */

static void print_triple_json(FILE *f, const char *name, const uint32_t *v)
{
	fprintf(f, ",\"%s\":[%u,%u,%u]", name, v[0], v[1], v[2]);
}

static void print_kind_json(const struct ops *o, const char *name, uint64_t address)
{
	const char *kind = nvs_address_kind(&o->place, address);

	if (kind)
		fprintf(o->out->file, ",\"%s\":\"%s\"", name, kind);
}

static void print_copy_json(const struct ops *o, const struct nvs_op *op)
{
	static const char *const uses[] = {"descriptor", "constants", "semaphore"};
	FILE *f = o->out->file;

	fprintf(f, ",\"mode\":\"%s\"", nvs_copy_mode_name(op->copy.mode));
	if (op->copy.src) {
		fprintf(f, ",\"src\":%" PRIu64, op->copy.src);
		print_kind_json(o, "src_kind", op->copy.src);
	}
	fprintf(f, ",\"dst\":%" PRIu64, op->copy.dst);
	print_kind_json(o, "dst_kind", op->copy.dst);
	fprintf(f, ",\"written_bytes\":%" PRIu64, op->copy.bytes);
	if (op->flags & NVS_OP_TWO_D)
		fprintf(f, ",\"width\":%" PRIu64 ",\"lines\":%u,\"src_pitch\":%u,\"dst_pitch\":%u",
			op->copy.width, op->copy.lines, op->copy.src_pitch, op->copy.dst_pitch);
	if (op->kind == NVS_OP_UPLOAD)
		fprintf(f, ",\"use\":\"%s\",\"auxiliary\":%s", uses[op->copy.use % 3],
			op->flags & NVS_OP_AUXILIARY ? "true" : "false");
	if (op->flags & NVS_OP_INCOMPLETE)
		fputs(",\"incomplete\":true", f);
	if (op->kind == NVS_OP_MEMSET) {
		fputs(",\"pattern\":\"", f);
		for (int i = 0; i < op->copy.element; i++) {
			if (op->copy.left >> i & 1)
				fputs("--", f);
			else
				fprintf(f, "%02x", op->copy.value[i]);
		}
		fputc('"', f);
	}
}

static void print_parameters_json(const struct ops *o, const struct nvs_op *op)
{
	struct nvs_launch_arguments of;
	struct nvs_launch_argument one;
	FILE *f = o->out->file;
	uint32_t n = 0;

	if (!nvs_arguments_of_op(o->arguments, op, &of)) {
		fputs(",\"parameter_bytes\":null,\"parameter_words\":null", f);
		return;
	}
	fprintf(f, ",\"parameter_bytes\":%u,\"parameter_words\":[", of.of.size);
	while (nvs_arguments_next(&of, &one)) {
		fputs(n++ ? ",{" : "{", f);
		if (one.number != NVS_NONE)
			fprintf(f, "\"parameter_number\":%u,", one.number);
		fprintf(f, "\"parameter_offset\":%u,\"word_bytes\":%u,\"word\":%" PRIu64, one.at,
			one.bytes, one.value);
		if (one.range)
			fprintf(f,
				",\"allocation\":%" PRIu64 ",\"allocation_bytes\":%" PRIu64
				",\"allocation_offset\":%" PRIu64,
				one.range->address, one.range->bytes,
				one.value - one.range->address);
		else if (one.nowhere)
			fputs(",\"allocation\":null", f);
		fputc('}', f);
	}
	fputc(']', f);
}

static void print_launch_json(const struct ops *o, const struct nvs_op *op)
{
	const struct nvs_qmd *q = nvs_pass_qmd(o->source->separate, op);
	FILE *f = o->out->file;

	fprintf(f, ",\"descriptor\":%" PRIu64 ",\"known\":%s", op->launch.descriptor,
		q ? "true" : "false");
	if (op->flags & NVS_OP_CHAINED)
		fprintf(f, ",\"parent\":%" PRIu64, op->launch.parent);
	if (!q)
		return;
	fprintf(f, ",\"qmd\":\"%02u_%02u\",\"program_address\":%" PRIu64, q->major, q->minor,
		q->program);
	print_triple_json(f, "grid", q->grid);
	print_triple_json(f, "block", q->block);
	if (q->cluster[0])
		print_triple_json(f, "cluster", q->cluster);
	fprintf(f, ",\"registers\":%u,\"shared_bytes\":%u,\"local_bytes\":%u,\"banks\":[",
		q->registers, q->shared_bytes, q->local_bytes);
	for (uint32_t i = 0, n = 0; i < q->nbanks; i++) {
		if (q->banks[i].bytes)
			fprintf(f, "%s{\"bank\":%u,\"address\":%" PRIu64 ",\"bank_bytes\":%u}",
				n++ ? "," : "", i, q->banks[i].address, q->banks[i].bytes);
	}
	fputc(']', f);
	print_parameters_json(o, op);
}

static void print_semaphore_json(const struct ops *o, const struct nvs_op *op)
{
	static const char *const ops[] = {"eq", "ge", "circular_ge", "and", "nor", "set", "reduce"};
	static const char *const by[] = {"host", "engine", "grid"};
	FILE *f = o->out->file;

	fprintf(f,
		",\"by\":\"%s\",\"address\":%" PRIu64 ",\"operation\":\"%s\",\"payload\":%" PRIu64
		",\"timestamp\":%s,\"payload_bits\":%d",
		by[op->sem.by % 3], op->sem.address,
		op->sem.op == NVS_SEM_REDUCE ? nvs_reduction_name(op->sem.reduction)
					     : ops[op->sem.op % 7],
		op->sem.payload, op->flags & NVS_OP_TIMESTAMP ? "true" : "false",
		op->flags & NVS_OP_WIDE ? 64 : 32);
	if (op->kind == NVS_OP_RELEASE && op->flags & NVS_OP_VALUE)
		fprintf(f, ",\"value\":%" PRIu64, op->sem.value);
}

static void print_method_json(const struct ops *o, const struct nvs_op *op)
{
	const struct nvs_class *cls = nvs_class_find(op->cls);
	struct nvs_method_at at;

	if (nvs_method_find(cls, op->method.method, &at))
		fprintf(o->out->file, ",\"method_name\":\"%s\"", nvs_class_string(at.method->name));
	fprintf(o->out->file, ",\"method\":%u,\"value\":%u", op->method.method, op->method.value);
}

static void print_op_json(const struct ops *o, const struct nvs_submission *s,
			  const struct nvs_op *op)
{
	FILE *f = o->out->file;

	fprintf(f, "{\"schema\":%d,\"kind\":\"op\",\"submission\":%" PRIu64 ",\"channel\":%u",
		NVS_SCHEMA, s->number, s->channel->channel);
	nvs_dump_json_thread(f, s->thread);
	fprintf(f, ",\"op\":\"%s\",\"class\":\"%04x\",\"at\":%" PRIu64, nvs_op_kind_name(op->kind),
		op->cls, op->at);
	switch (op->kind) {
	case NVS_OP_COPY:
	case NVS_OP_MEMSET:
	case NVS_OP_UPLOAD:
		print_copy_json(o, op);
		break;
	case NVS_OP_CODE:
		fprintf(f,
			",\"mode\":\"%s\",\"dst\":%" PRIu64 ",\"written_bytes\":%" PRIu64
			",\"copied_by\":%" PRIu64,
			nvs_copy_mode_name(op->code.mode), op->code.dst, op->code.bytes,
			op->code.tag);
		break;
	case NVS_OP_LAUNCH:
		print_launch_json(o, op);
		break;
	case NVS_OP_TRIGGER:
		fprintf(f, ",\"descriptor\":%" PRIu64 ",\"action\":%u,\"launches\":%u",
			op->launch.descriptor, op->launch.action, op->launch.launches);
		break;
	case NVS_OP_RELEASE:
	case NVS_OP_ACQUIRE:
		print_semaphore_json(o, op);
		break;
	default:
		print_method_json(o, op);
	}
	fputs("}\n", f);
}

/* ---- text ---- */

static void write_text(struct ops *o)
{
	if (o->text.length)
		fwrite(o->text.text, 1, o->text.length, o->out->file);
	o->text.length = 0;
}

static void put_parameters(struct ops *o, const struct nvs_op *op)
{
	char text[NVS_ARGUMENTS_TEXT];
	struct nvs_launch_arguments of;
	bool known = nvs_arguments_of_op(o->arguments, op, &of);

	nvs_arguments_text(known ? &of : NULL, text, sizeof(text));
	nvs_line_text(&o->text, "    parameters: ");
	nvs_line_text(&o->text, known && of.of.size ? text : known ? "none" : "-");
	nvs_line_text(&o->text, "\n");
}

static void put_op(struct ops *o, const struct nvs_op *op)
{
	struct nvs_address_formatter where = {nvs_address_kind_append, &o->place};

	nvs_line_text(&o->text, "  ");
	nvs_format_op(&o->text, op, nvs_pass_qmd(o->source->separate, op), &where);
	nvs_line_text(&o->text, "\n");
	if (op->kind == NVS_OP_LAUNCH)
		put_parameters(o, op);
	if (o->text.length > MAX_TEXT)
		write_text(o);
}

/* ---- counts ---- */

static void note_copies(struct ops *o, const struct nvs_submission *s)
{
	size_t room = sizeof(o->copied) / sizeof(*o->copied);

	if (!o->ncopied || o->copied[(o->ncopied - 1) % room] != s->number + 1)
		o->copied[o->ncopied++ % room] = s->number + 1;
}

/* Returns true if a submission soon after may show that a counted copy was code. */
static bool may_be_code(const struct ops *o, const struct nvs_submission *s)
{
	size_t room = sizeof(o->copied) / sizeof(*o->copied);

	return o->ncopied && s->number - (o->copied[(o->ncopied - 1) % room] - 1) < room;
}

static bool was_counted(const struct ops *o, uint64_t number)
{
	for (size_t i = 0; i < sizeof(o->copied) / sizeof(*o->copied); i++)
		if (o->copied[i] == number + 1)
			return true;
	return false;
}

static void count_op(struct ops *o, const struct nvs_submission *s, const struct nvs_op *op)
{
	if (op->kind == NVS_OP_CODE) {
		if (was_counted(o, op->code.tag))
			nvs_tally_add_code(&o->tally, op);
		return;
	}
	if (!o->show)
		return;
	if (op->kind == NVS_OP_COPY)
		note_copies(o, s);
	nvs_tally_add(&o->tally, op);
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct ops *o = arg;
	int r = nvs_arguments_op(o->arguments, s, op);

	count_op(o, s, op);
	if (r || !o->show)
		return r;
	if (o->json)
		print_op_json(o, s, op);
	else
		put_op(o, op);
	return 0;
}

static int on_fault(void *arg, const struct nvs_pb_fault *fault)
{
	struct ops *o = arg;

	if (o->show && !o->json)
		nvs_line_put(&o->text, "  %s!%s at %lx%s\n", nvs_out_style(o->out, NVS_STYLE_BAD),
			     nvs_pb_fault_name(fault->kind), fault->address,
			     nvs_out_style(o->out, NVS_STYLE_PLAIN));
	return 0;
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct ops *o = arg;

	nvs_arguments_submission(o->arguments, s, call);
	o->show = !o->past && nvs_filter_selects(o->source, s, call);
	o->place = (struct nvs_address_space){o->source->trace, s->channel->rec.vaspace};
	if (!o->show)
		return 0;
	o->tally.unseen += nvs_submission_skipped(s);
	if (o->json) {
		nvs_dump_json_submission(o->out, o->source, s, call);
		return 0;
	}
	nvs_dump_text_submission(&o->text, &o->origin, o->out, o->source, s, call, false);
	return 0;
}

static int on_submitted(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct ops *o = arg;

	write_text(o);
	o->printed += o->show;
	o->out->told += o->show;
	o->past |= nvs_filter_is_past_end(o->source, s, o->printed);
	return ferror(o->out->file) || (o->past && !may_be_code(o, s));
}

static int on_call(void *arg, const struct nvs_call *call)
{
	return nvs_arguments_call(((struct ops *)arg)->arguments, call);
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	return nvs_arguments_record(((struct ops *)arg)->arguments, rec);
}

/* The keys are those of the tables' columns. */
static void print_totals_json(FILE *f, const struct nvs_tally *t, bool known)
{
	const struct {
		const char *key;
		uint64_t n;
	} totals[] = {
		{"launches", t->launches},
		{"triggers", t->triggers},
		{"engine_copies", t->copies[NVS_COPY_ENGINE]},
		{"engine_copy_bytes", t->copied[NVS_COPY_ENGINE]},
		{"inline_copies", t->copies[NVS_COPY_INLINE]},
		{"inline_copy_bytes", t->copied[NVS_COPY_INLINE]},
		{"macro_copies", t->copies[NVS_COPY_MACRO]},
		{"macro_copy_bytes", t->copied[NVS_COPY_MACRO]},
		{"memsets", t->memsets},
		{"memset_bytes", t->memset_bytes},
		{"uploads", t->uploads},
		{"upload_bytes", t->upload_bytes},
		{"code_uploads", t->codes},
		{"code_upload_bytes", t->code_bytes},
		{"releases", t->releases},
		{"acquires", t->acquires},
	};

	fprintf(f, "{\"schema\":%d,\"kind\":\"end\"", NVS_SCHEMA);
	for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++)
		if (known)
			fprintf(f, ",\"%s\":%" PRIu64, totals[i].key, totals[i].n);
		else
			fprintf(f, ",\"%s\":null", totals[i].key);
	fputs("}\n", f);
}

static void print_totals_text(FILE *f, const struct nvs_tally *t)
{
	fprintf(f,
		"%" PRIu64 " launches by %" PRIu64 " triggers, copies: %" PRIu64
		" by engine (%" PRIu64 " bytes), %" PRIu64 " inline (%" PRIu64 "), %" PRIu64
		" by macro (%" PRIu64 "), %" PRIu64 " memsets, %" PRIu64 " uploads, %" PRIu64
		" of code, %" PRIu64 " releases, %" PRIu64 " acquires\n",
		t->launches, t->triggers, t->copies[0], t->copied[0], t->copies[1], t->copied[1],
		t->copies[2], t->copied[2], t->memsets, t->uploads, t->codes, t->releases,
		t->acquires);
}

static void print_totals(struct ops *o)
{
	uint32_t flags = nvs_trace_session(o->source->trace)->header.flags;
	bool known = !o->tally.unseen && !(flags & NVS_HDR_COUNTS);
	FILE *f = o->out->file;

	if (o->json)
		print_totals_json(f, &o->tally, known);
	else if (known)
		print_totals_text(f, &o->tally);
	else
		fputs("commands were not recorded (level), so operations are unknown\n", f);
}

static int print_trace(struct nvs_run *run, struct nvs_source *s)
{
	struct ops o = {.out = run->out,
			.source = s,
			.json = run->options->print.format == NVS_FORMAT_JSON};
	struct nvs_pass_reader reader = {.submission = on_submission,
					 .fault = on_fault,
					 .op = on_op,
					 .submitted = on_submitted,
					 .call = on_call,
					 .record = on_record,
					 .calls = true,
					 .arg = &o};
	int r;

	o.arguments = nvs_arguments_new(s);
	if (!o.arguments)
		return -ENOMEM;
	nvs_dump_trace_name(run, s);
	r = nvs_arguments_learn(o.arguments, s);
	if (!r)
		r = nvs_source_read(s, &reader);
	write_text(&o); /* what was read of a submission before a failure */
	if (!r)
		print_totals(&o);
	nvs_arguments_free(o.arguments);
	nvs_line_free(&o.text);
	nvs_line_free(&o.origin.text);
	return r;
}

static int print(struct nvs_run *run)
{
	return nvs_run_each(run, print_trace);
}

NVS_REPORT(ops, .name = "ops", .group = NVS_GPU_WORK, .place = 110,
	   .help = "operations per submission: copies, launches, semaphores",
	   .man = "Operations of each submission, one per line: copies, memsets, launches, "
		  "semaphores, cache operations.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_NAMES,
	   .prints = NVS_PRINTS_TEXT | NVS_PRINTS_JSON | NVS_PRINTS_LINES, .print = print);
