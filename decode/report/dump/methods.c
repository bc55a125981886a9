/* SPDX-License-Identifier: MIT */
/* Decodes runs of method words, counts them, and prints them as JSON lines. Text is in
 * method_text.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report/dump/methods.h"
#include "decode/gpu/class.h"
#include "decode/gpu/pb.h"

#define HOST_END 0x100u

static void count_unknown(struct nvs_dumper *d, struct nvs_known_method *k, uint32_t method)
{
	d->unknown_words++;
	if (!k->unknown && d->nunknown < sizeof(d->unknown) / sizeof(d->unknown[0])) {
		d->unknown[d->nunknown++] = (struct nvs_unknown_method){
			.cls = k->cls ? k->cls->id : 0, .method = (uint16_t)method};
		k->unknown = (uint16_t)d->nunknown;
	}
	if (k->unknown)
		d->unknown[k->unknown - 1].count++;
	else
		d->unknown_others++;
}

static inline struct nvs_known_method *find_known(struct nvs_dumper *d,
						  const struct nvs_ops_channel *c,
						  const struct nvs_pb_run *run,
						  const struct nvs_class *cls, uint32_t method)
{
	/* A run may start below HOST_END and continue above it. */
	if (method >= HOST_END && run->method < HOST_END)
		cls = c ? nvs_ops_class(c, run->subch, NULL) : NULL;
	return nvs_dump_known(d, cls, method);
}

static void count_word(struct nvs_dumper *d, struct nvs_known_method *k, uint32_t method)
{
	d->words++;
	if (k->at.method)
		d->assumed_words += k->at.assumed;
	else
		count_unknown(d, k, method);
}

/* Returns the value of the method before METHOD, from the run or as last set. */
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

/* ---- JSON lines ---- */

static void json_fields(FILE *out, const struct nvs_method *m, uint32_t value)
{
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct nvs_field *f = &nvs_fields[m->fields + i];
		const char *name = nvs_value_name(f, nvs_field_get(f, value));

		fprintf(out, "%s\"%s\":", i ? "," : "", nvs_class_string(f->name));
		if (name)
			fprintf(out, "\"%s\"", name);
		else
			fprintf(out, "%u", nvs_field_get(f, value));
	}
}

static void json_head(struct nvs_dumper *d, const struct nvs_pb_run *run, uint32_t i,
		      const struct nvs_known_method *k, const char *kind)
{
	FILE *out = d->out->file;

	fprintf(out,
		"{\"schema\":%d,\"kind\":\"%s\",\"submission\":%" PRIu64
		",\"form\":\"%s\",\"subchannel\":%u,\"class\":",
		NVS_SCHEMA, kind, d->submission, nvs_pb_form_name(run->form), run->subch);
	if (k->cls)
		fprintf(out, "\"%04x\"", k->cls->id);
	else
		fputs("null", out);
	fprintf(out, ",\"method\":%u,\"method_name\":", nvs_pb_method(run, i));
	if (k->at.method)
		fprintf(out, "\"%s\",\"method_index\":%u,\"assumed\":%s",
			nvs_class_string(k->at.method->name), k->at.index,
			k->at.assumed ? "true" : "false");
	else
		fputs("null", out);
}

static void json_method(struct nvs_dumper *d, const struct nvs_ops_channel *c,
			const struct nvs_pb_run *run, uint32_t i, const struct nvs_known_method *k)
{
	uint32_t method = nvs_pb_method(run, i), value = run->data[i];
	FILE *out = d->out->file;

	json_head(d, run, i, k, "method");
	fprintf(out, ",\"value\":%u,\"fields\":{", value);
	if (k->at.method)
		json_fields(out, k->at.method, value);
	fputc('}', out);
	if (k->address)
		fprintf(out, ",\"address\":%" PRIu64,
			nvs_words_address_of(k->address, value, value_before(c, run, i, method)));
	fputs("}\n", out);
}

static void json_data(struct nvs_dumper *d, const struct nvs_pb_run *run, uint32_t from,
		      const struct nvs_known_method *k)
{
	FILE *out = d->out->file;

	json_head(d, run, from, k, "data");
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
		",\"form\":\"%s\",\"subchannel\":%u,\"method\":%u,\"dwords\":%u}\n",
		NVS_SCHEMA, d->submission, run->address, nvs_pb_form_name(run->form), run->subch,
		run->method, run->total);
}

/* ---- text and JSON ---- */

/* Prints the words from FROM on, which all go to one method, as data. Returns false if they are
 * not data. */
static bool print_data(struct nvs_dumper *d, const struct nvs_pb_run *run, uint32_t from,
		       const struct nvs_known_method *k)
{
	bool still = run->form == NVS_PB_NON_INC || run->form == NVS_PB_OLD_NON_INC ||
		     (run->form == NVS_PB_INC_ONCE && run->index + from > 0);

	if (!still || d->each || !k->data || run->total < 2)
		return false;
	d->words += run->count - from - 1;
	d->assumed_words += k->at.assumed ? run->count - from - 1 : 0;
	if (d->json)
		json_data(d, run, from, k);
	else
		nvs_dump_text_data(d, run, from, k);
	return true;
}

void nvs_dump_run(struct nvs_dumper *d, const struct nvs_ops_channel *c,
		  const struct nvs_pb_run *run, const struct nvs_class *cls)
{
	struct nvs_known_method *k = NULL;

	if (d->json)
		json_header(d, run);
	else if (!d->each || run->form > NVS_PB_OLD_NON_INC)
		nvs_dump_text_header(d, run);
	if (run->form > NVS_PB_OLD_NON_INC)
		return;
	for (uint32_t i = 0, last = 0; i < run->count; i++) {
		uint32_t method = nvs_pb_method(run, i);

		if (!k || method != last)
			k = find_known(d, c, run, cls, method);
		if (!k)
			return;
		last = method;
		count_word(d, k, method);
		if (print_data(d, run, i, k))
			return;
		if (d->json)
			json_method(d, c, run, i, k);
		else
			nvs_dump_text_method(d, k, run, method, run->data[i],
					     k->address ? value_before(c, run, i, method) : 0);
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
			",\"header\":%u,\"wanted_dwords\":%u,\"had_dwords\":%u}\n",
			NVS_SCHEMA, d->submission, nvs_pb_fault_name(fault->kind), fault->address,
			fault->header, fault->wanted, fault->had);
	else
		nvs_dump_text_fault(d, fault);
}

void nvs_dump_report_skipped(struct nvs_dumper *d, uint64_t address, uint64_t dwords)
{
	FILE *out = d->out->file;

	d->passed += dwords;
	if (!dwords)
		return;
	nvs_dump_flush(d);
	if (d->json)
		fprintf(out,
			"{\"schema\":%d,\"kind\":\"passed_over\",\"address\":%" PRIu64
			",\"dwords\":%" PRIu64 "}\n",
			NVS_SCHEMA, address, dwords);
	else
		fprintf(out, "    %s!skipped %" PRIu64 " dword%s from %" PRIx64 " on%s\n",
			nvs_out_style(d->out, NVS_STYLE_BAD), dwords, dwords == 1 ? "" : "s",
			address, nvs_out_style(d->out, NVS_STYLE_PLAIN));
}

static void json_end(struct nvs_dumper *d)
{
	FILE *out = d->out->file;

	fprintf(out,
		"{\"schema\":%d,\"kind\":\"end\",\"method_words\":%" PRIu64 ",\"faults\":%" PRIu64
		",\"unknown_words\":%" PRIu64 ",\"assumed_words\":%" PRIu64
		",\"passed_over_dwords\":%" PRIu64 ",\"unknown\":[",
		NVS_SCHEMA, d->words, d->faults, d->unknown_words, d->assumed_words, d->passed);
	for (uint32_t i = 0; i < d->nunknown; i++)
		fprintf(out, "%s{\"class\":\"%04x\",\"method\":%u,\"count\":%" PRIu64 "}",
			i ? "," : "", d->unknown[i].cls, d->unknown[i].method, d->unknown[i].count);
	fprintf(out, "],\"unknown_others\":%" PRIu64 "}\n", d->unknown_others);
}

int nvs_dump_end(struct nvs_dumper *d)
{
	FILE *out = d->out->file;

	if (d->json) {
		json_end(d);
		return d->status;
	}
	nvs_dump_flush(d);
	fprintf(out, "%" PRIu64 " method words, %" PRIu64 " of unknown methods", d->words,
		d->unknown_words);
	if (d->assumed_words)
		fprintf(out, ", %" PRIu64 " named by a related class (~)", d->assumed_words);
	if (d->faults)
		fprintf(out, ", %" PRIu64 " fault%s", d->faults, d->faults == 1 ? "" : "s");
	if (d->passed)
		fprintf(out, ", %" PRIu64 " dword%s skipped", d->passed, d->passed == 1 ? "" : "s");
	fputc('\n', out);
	for (uint32_t i = 0; i < d->nunknown; i++)
		fprintf(out, "  unknown: class %04x method %04x, %" PRIu64 " time%s\n",
			d->unknown[i].cls, d->unknown[i].method, d->unknown[i].count,
			d->unknown[i].count == 1 ? "" : "s");
	if (d->unknown_others)
		fprintf(out, "  unknown: others, %" PRIu64 " time%s\n", d->unknown_others,
			d->unknown_others == 1 ? "" : "s");
	return d->status;
}
