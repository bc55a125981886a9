/* SPDX-License-Identifier: MIT */
/*
 * One line a method: subchannel, class, offset, name, value, and its fields in words. Words of data
 * that go to one method stand together, eight a line.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "decode/dump_methods.h"

#define HOST_END 0x100u

/* Which class a method belongs to, and what it is. */
struct found {
	const struct nvs_class *cls;
	struct nvs_method_at at;
};

static void count_unknown(struct nvs_dumper *d, uint32_t cls, uint32_t method)
{
	d->unknown_words++;
	for (uint32_t i = 0; i < d->nunknown; i++) {
		if (d->unknown[i].cls == cls && d->unknown[i].method == method) {
			d->unknown[i].count++;
			return;
		}
	}
	if (d->nunknown < sizeof(d->unknown) / sizeof(d->unknown[0]))
		d->unknown[d->nunknown++] =
			(struct nvs_unknown){(uint16_t)cls, (uint16_t)method, 1};
	else
		d->unknown_others++;
}

static struct found find(struct nvs_dumper *d, const struct nvs_ops_channel *c,
			 const struct nvs_pb_run *run, const struct nvs_class *cls, uint32_t method)
{
	struct found f;

	/* A run that begins below 0x100 may rise above it. */
	if (method >= HOST_END && run->method < HOST_END)
		cls = c ? nvs_ops_class(c, run->subch, NULL) : NULL;
	f.cls = cls;
	if (nvs_method_find(cls, method, &f.at))
		d->assumed_words += f.at.assumed;
	else
		count_unknown(d, cls ? cls->id : 0, method);
	return f;
}

/* Value of the method before METHOD: out of the run itself, else as it was set last. */
static uint32_t value_before(const struct nvs_ops_channel *c, const struct nvs_pb_run *run,
			     uint32_t i, uint32_t method)
{
	uint32_t value = 0;

	if (i && nvs_pb_method(run, i - 1) == method - 4)
		return run->data[i - 1];
	if (c)
		nvs_ops_method(c, run->subch, method - 4, &value);
	return value;
}

static bool is_data(const struct nvs_pb_run *run, const struct nvs_method_at *at)
{
	return run->total > 1 && at->method && at->method->nfields == 1 &&
	       nvs_fields[at->method->fields].hi == 31 && !nvs_fields[at->method->fields].lo;
}

/* ---- text ---- */

static void text_method(struct nvs_dumper *d, const struct nvs_ops_channel *c,
			const struct nvs_pb_run *run, uint32_t i, const struct found *f)
{
	uint32_t method = nvs_pb_method(run, i), value = run->data[i];
	struct nvs_line *l = &d->line;
	uint64_t address;

	nvs_line_start(l);
	nvs_line_put(l, "%ss%u %04x %04x ", d->each ? "" : "      ", run->subch,
		     f->cls ? f->cls->id : 0, method);
	nvs_words_method(l, &f->at, method);
	nvs_line_put(l, "%*s%08x", l->length < 52 ? (int)(53 - l->length) : 1, "", value);
	if (f->at.method) {
		nvs_line_put(l, " ");
		nvs_words_fields(l, f->at.method, value);
		if (nvs_words_address(f->cls, &f->at, method, value,
				      value_before(c, run, i, method), &address)) {
			nvs_line_put(l, "  ; 0x%" PRIx64, address);
			if (d->where.put)
				d->where.put(d->where.arg, l, address);
		}
		if (!method && nvs_class_find(value & 0xffff))
			nvs_line_put(l, "  ; %s", nvs_str(nvs_class_find(value & 0xffff)->name));
	}
	fprintf(d->out->file, "%s%s%s\n", f->at.method ? "" : nvs_out_style(d->out, NVS_STYLE_BAD),
		l->text, f->at.method ? "" : nvs_out_style(d->out, NVS_STYLE_PLAIN));
}

static void text_data(struct nvs_dumper *d, const struct nvs_pb_run *run, uint32_t from,
		      const struct found *f)
{
	struct nvs_line *l = &d->line;
	uint32_t method = nvs_pb_method(run, from);

	nvs_line_start(l);
	nvs_line_put(l, "      s%u %04x %04x ", run->subch, f->cls ? f->cls->id : 0, method);
	nvs_words_method(l, &f->at, method);
	fprintf(d->out->file, "%s [%u]\n", l->text, run->count - from);
	for (uint32_t i = from; i < run->count; i += 8) {
		fputs("       ", d->out->file);
		for (uint32_t k = i; k < i + 8 && k < run->count; k++)
			fprintf(d->out->file, " %08x", run->data[k]);
		fputc('\n', d->out->file);
	}
}

static void text_header(struct nvs_dumper *d, const struct nvs_pb_run *run)
{
	FILE *f = d->out->file;

	fprintf(f, "    %" PRIx64 "%s ", run->address, run->index ? "..." : ":");
	switch (run->form) {
	case NVS_PB_NOP:
		fprintf(f, "NOP [%u]\n", run->total);
		break;
	case NVS_PB_USE_MASK:
	case NVS_PB_END_SEGMENT:
		fprintf(f, "%s\n", nvs_pb_form_name(run->form));
		break;
	case NVS_PB_SET_MASK:
	case NVS_PB_STORE_MASK:
		fprintf(f, "%s 0x%x\n", nvs_pb_form_name(run->form), run->data[0]);
		break;
	default:
		fprintf(f, "%s s%u %04x [%u]\n", nvs_pb_form_name(run->form), run->subch,
			run->method, run->total);
	}
}

/* ---- JSON lines ---- */

static void json_fields(FILE *out, const struct nvs_method *m, uint32_t value)
{
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct nvs_field *f = &nvs_fields[m->fields + i];
		const char *name = nvs_value_name(f, nvs_field_get(f, value));

		fprintf(out, "%s\"%s\":", i ? "," : "", nvs_str(f->name));
		if (name)
			fprintf(out, "\"%s\"", name);
		else
			fprintf(out, "%u", nvs_field_get(f, value));
	}
}

static void json_head(struct nvs_dumper *d, const struct nvs_pb_run *run, uint32_t i,
		      const struct found *f, const char *kind)
{
	FILE *out = d->out->file;

	fprintf(out,
		"{\"schema\":%d,\"kind\":\"%s\",\"submission\":%" PRIu64
		",\"form\":\"%s\",\"subchannel\":%u,\"class\":",
		NVS_DUMP_SCHEMA, kind, d->submission, nvs_pb_form_name(run->form), run->subch);
	if (f->cls)
		fprintf(out, "\"%04x\"", f->cls->id);
	else
		fputs("null", out);
	fprintf(out, ",\"method\":%u,\"name\":", nvs_pb_method(run, i));
	if (f->at.method)
		fprintf(out, "\"%s\",\"index\":%u,\"assumed\":%s", nvs_str(f->at.method->name),
			f->at.index, f->at.assumed ? "true" : "false");
	else
		fputs("null", out);
}

static void json_method(struct nvs_dumper *d, const struct nvs_ops_channel *c,
			const struct nvs_pb_run *run, uint32_t i, const struct found *f)
{
	uint32_t method = nvs_pb_method(run, i), value = run->data[i];
	FILE *out = d->out->file;
	uint64_t address;

	json_head(d, run, i, f, "method");
	fprintf(out, ",\"value\":%u,\"fields\":{", value);
	if (f->at.method)
		json_fields(out, f->at.method, value);
	fputc('}', out);
	if (f->at.method && nvs_words_address(f->cls, &f->at, method, value,
					      value_before(c, run, i, method), &address))
		fprintf(out, ",\"address\":%" PRIu64, address);
	fputs("}\n", out);
}

static void json_data(struct nvs_dumper *d, const struct nvs_pb_run *run, uint32_t from,
		      const struct found *f)
{
	FILE *out = d->out->file;

	json_head(d, run, from, f, "data");
	fputs(",\"words\":[", out);
	for (uint32_t i = from; i < run->count; i++)
		fprintf(out, "%s%u", i > from ? "," : "", run->data[i]);
	fputs("]}\n", out);
}

static void json_header(struct nvs_dumper *d, const struct nvs_pb_run *run)
{
	if (run->index)
		return;
	fprintf(d->out->file,
		"{\"schema\":%d,\"kind\":\"header\",\"submission\":%" PRIu64 ",\"address\":%" PRIu64
		",\"form\":\"%s\",\"subchannel\":%u,\"method\":%u,\"count\":%u}\n",
		NVS_DUMP_SCHEMA, d->submission, run->address, nvs_pb_form_name(run->form),
		run->subch, run->method, run->total);
}

/* ---- both ---- */

/* Words from FROM on that all go to one method, as data. */
static bool take_data(struct nvs_dumper *d, const struct nvs_pb_run *run, uint32_t from,
		      const struct found *f)
{
	bool still = run->form == NVS_PB_NON_INC || run->form == NVS_PB_OLD_NON_INC ||
		     (run->form == NVS_PB_INC_ONCE && run->index + from > 0);

	if (!still || d->each || !is_data(run, &f->at))
		return false;
	d->words += run->count - from - 1;
	d->assumed_words += f->at.assumed ? run->count - from - 1 : 0;
	if (d->json)
		json_data(d, run, from, f);
	else
		text_data(d, run, from, f);
	return true;
}

void nvs_dump_run(struct nvs_dumper *d, const struct nvs_ops_channel *c,
		  const struct nvs_pb_run *run, const struct nvs_class *cls)
{
	if (d->json)
		json_header(d, run);
	else if (!d->each || run->form > NVS_PB_OLD_NON_INC)
		text_header(d, run);
	if (run->form > NVS_PB_OLD_NON_INC)
		return;
	for (uint32_t i = 0; i < run->count; i++) {
		struct found f = find(d, c, run, cls, nvs_pb_method(run, i));

		d->words++;
		if (take_data(d, run, i, &f))
			return;
		if (d->json)
			json_method(d, c, run, i, &f);
		else
			text_method(d, c, run, i, &f);
	}
}

void nvs_dump_fault(struct nvs_dumper *d, const struct nvs_pb_fault *fault)
{
	FILE *out = d->out->file;

	d->faults++;
	if (d->json)
		fprintf(out,
			"{\"schema\":%d,\"kind\":\"fault\",\"submission\":%" PRIu64
			",\"fault\":\"%s\",\"address\":%" PRIu64
			",\"header\":%u,\"wanted\":%u,\"had\":%u}\n",
			NVS_DUMP_SCHEMA, d->submission, nvs_pb_fault_name(fault->kind),
			fault->address, fault->header, fault->wanted, fault->had);
	else
		fprintf(out, "    %s!%s at %" PRIx64 ": header %08x, wants %u dwords, has %u%s\n",
			nvs_out_style(d->out, NVS_STYLE_BAD), nvs_pb_fault_name(fault->kind),
			fault->address, fault->header, fault->wanted, fault->had,
			nvs_out_style(d->out, NVS_STYLE_PLAIN));
}

static void json_end(struct nvs_dumper *d)
{
	FILE *out = d->out->file;

	fprintf(out,
		"{\"schema\":%d,\"kind\":\"end\",\"words\":%" PRIu64 ",\"faults\":%" PRIu64
		",\"unknown_words\":%" PRIu64 ",\"assumed_words\":%" PRIu64 ",\"unknown\":[",
		NVS_DUMP_SCHEMA, d->words, d->faults, d->unknown_words, d->assumed_words);
	for (uint32_t i = 0; i < d->nunknown; i++)
		fprintf(out, "%s{\"class\":\"%04x\",\"method\":%u,\"count\":%" PRIu64 "}",
			i ? "," : "", d->unknown[i].cls, d->unknown[i].method, d->unknown[i].count);
	fprintf(out, "],\"unknown_others\":%" PRIu64 "}\n", d->unknown_others);
}

void nvs_dump_end(struct nvs_dumper *d)
{
	FILE *out = d->out->file;

	if (d->json) {
		json_end(d);
		return;
	}
	fprintf(out, "%" PRIu64 " method words, %" PRIu64 " of unknown methods", d->words,
		d->unknown_words);
	if (d->assumed_words)
		fprintf(out, ", %" PRIu64 " named by a related class (~)", d->assumed_words);
	if (d->faults)
		fprintf(out, ", %" PRIu64 " faults", d->faults);
	fputc('\n', out);
	for (uint32_t i = 0; i < d->nunknown; i++)
		fprintf(out, "  unknown: class %04x method %04x, %" PRIu64 " times\n",
			d->unknown[i].cls, d->unknown[i].method, d->unknown[i].count);
	if (d->unknown_others)
		fprintf(out, "  unknown: others, %" PRIu64 " times\n", d->unknown_others);
}

void nvs_dump_free(struct nvs_dumper *d)
{
	nvs_line_free(&d->line);
}
