/* SPDX-License-Identifier: MIT */
/* Prints a line per method: subchannel, class, offset, name, value and decoded fields. Data words
 * that go to one method are grouped, eight per line. The start of a method's line is cached. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/digits.h"
#include "decode/gpu/class.h"
#include "decode/gpu/pb.h"
#include "decode/report/dump/methods.h"

#define VALUE_COLUMN 53
#define FLUSH_BYTES (32u << 10)
#define MAX_LINE 128 /* maximum bytes of a line without its head and fields */
#define KEPT_LINE 256 /* maximum bytes of a line that is kept */

/* Makes "      s0 cbc0 01b4 LOAD_INLINE_DATA", padded to the value's column. */
static void make_head(struct nvs_known_method *k, struct nvs_line_buffer *l,
		      const struct nvs_dumper *d, uint32_t method)
{
	nvs_line_start(l);
	nvs_line_put(l, "%ss0 %04x", d->each ? "" : "      ", k->cls ? k->cls->id : 0);
	if (d->full && k->at.method)
		nvs_line_put(l, ":%04x", k->at.method->cls);
	nvs_line_put(l, " %04x ", method);
	nvs_format_method(l, &k->at, method);
	k->name_end = (uint16_t)l->length;
	nvs_line_put(l, "%*s", l->length < VALUE_COLUMN ? (int)(VALUE_COLUMN - l->length) : 1, "");
	k->head = (uint16_t)l->length;
}

static struct nvs_known_method *make_known(struct nvs_dumper *d, const struct nvs_class *cls,
					   uint32_t method)
{
	struct nvs_line_buffer l = {0};
	struct nvs_known_method made = {.cls = cls}, *k;
	const struct nvs_method *m;

	nvs_method_find(cls, method, &made.at);
	m = made.at.method;
	if (m) {
		const struct nvs_field *f = nvs_fields + m->fields;

		made.address = (uint8_t)nvs_words_address(cls, &made.at, method);
		made.data = m->nfields == 1 && f->hi == 31 && !f->lo;
		made.most = (uint32_t)nvs_words_max_bytes(m);
	}
	make_head(&made, &l, d, method);
	made.most += made.head + MAX_LINE;
	k = l.text ? malloc(sizeof(*k) + made.head) : NULL;
	if (k) {
		*k = made;
		memcpy(k->text, l.text, made.head);
	}
	nvs_line_free(&l);
	return k;
}

struct nvs_known_method *nvs_dump_known(struct nvs_dumper *d, const struct nvs_class *cls,
					uint32_t method)
{
	size_t number = cls ? (size_t)(cls - nvs_classes) : nvs_nclasses;
	struct nvs_known_method ***table, **k;

	if (!d->known)
		d->known = calloc(nvs_nclasses + 1, sizeof(*d->known));
	table = d->known ? d->known + number : NULL;
	if (table && !*table)
		*table = calloc(NVS_DUMP_METHODS, sizeof(**table));
	k = table && *table ? *table + method / 4 % NVS_DUMP_METHODS : NULL;
	if (k && !*k)
		*k = make_known(d, cls, method);
	if (!k || !*k)
		d->status = -ENOMEM;
	return k ? *k : NULL;
}

void nvs_dump_free(struct nvs_dumper *d)
{
	for (uint32_t i = 0; d->known && i <= nvs_nclasses; i++) {
		for (uint32_t m = 0; d->known[i] && m < NVS_DUMP_METHODS; m++) {
			if (d->known[i][m])
				free(d->known[i][m]->line);
			free(d->known[i][m]);
		}
		free(d->known[i]);
	}
	free(d->known);
	nvs_line_free(&d->line);
}

/* ---- output buffer ---- */

void nvs_dump_flush(struct nvs_dumper *d)
{
	if (d->line.length)
		fwrite(d->line.text, 1, d->line.length, d->out->file);
	d->line.length = 0;
}

/* Returns space for N bytes. Returns NULL and sets status if out of memory. */
static inline char *reserve_text(struct nvs_dumper *d, size_t n)
{
	struct nvs_line_buffer *l = &d->line;
	char *p;

	if (__builtin_expect(l->room - l->length >= n && l->length < FLUSH_BYTES, 1))
		return l->text + l->length;
	nvs_dump_flush(d);
	p = nvs_line_reserve(l, n > FLUSH_BYTES ? n : 2 * FLUSH_BYTES);
	if (!p)
		d->status = -ENOMEM;
	return p;
}

static inline void commit_text(struct nvs_dumper *d, char *end)
{
	d->line.length = (size_t)(end - d->line.text);
}

/* ---- lines ---- */

static char *put_address(struct nvs_dumper *d, char *p, uint64_t address)
{
	p = nvs_put_text(p, "  ; 0x", 6);
	p = nvs_put_hex(p, address);
	if (!d->where.put)
		return p;
	commit_text(d, p);
	d->where.put(d->where.arg, &d->line, address);
	return nvs_line_reserve(&d->line, MAX_LINE);
}

static char *put_class(char *p, uint32_t id)
{
	const struct nvs_class *cls = nvs_class_find(id);

	return cls ? stpcpy(stpcpy(p, "  ; "), nvs_class_string(cls->name)) : p;
}

static char *put_head(const struct nvs_dumper *d, char *p, const char *head, size_t n,
		      uint32_t subch)
{
	memcpy(p, head, n);
	p[d->each ? 1 : 7] = (char)('0' + subch);
	return p + n;
}

/* Most methods are set to the same value again and again. */
static void keep_line(struct nvs_known_method *k, const char *line, size_t n, uint32_t value)
{
	if (n > KEPT_LINE || !k->at.method || k->address)
		return;
	if (!k->line)
		k->line = nvs_budget_allows(KEPT_LINE) ? malloc(KEPT_LINE) : NULL;
	if (!k->line)
		return;
	memcpy(k->line, line, n);
	k->length = (uint32_t)n;
	k->value = value;
}

void nvs_dump_text_method(struct nvs_dumper *d, struct nvs_known_method *k,
			  const struct nvs_pb_run *run, uint32_t method, uint32_t value,
			  uint32_t before)
{
	char *p = reserve_text(d, k->most), *line = p;

	if (!p)
		return;
	if (k->line && k->value == value) {
		commit_text(d, put_head(d, p, k->line, k->length, run->subch));
		return;
	}
	if (!k->at.method)
		p = stpcpy(p, nvs_out_style(d->out, NVS_STYLE_BAD));
	p = put_head(d, p, k->text, k->head, run->subch);
	p = nvs_put_hex8(p, value);
	if (k->at.method) {
		*p++ = ' ';
		p = nvs_put_fields(p, k->at.method, value, d->full);
		if (k->address)
			p = put_address(d, p, nvs_words_address_of(k->address, value, before));
		if (p && !method)
			p = put_class(p, value & 0xffff);
	} else {
		p = stpcpy(p, nvs_out_style(d->out, NVS_STYLE_PLAIN));
	}
	if (!p)
		return;
	*p++ = '\n';
	keep_line(k, line, (size_t)(p - line), value);
	commit_text(d, p);
}

void nvs_dump_text_data(struct nvs_dumper *d, const struct nvs_pb_run *run, uint32_t from,
			const struct nvs_known_method *k)
{
	char *p = reserve_text(d, k->most);

	if (!p)
		return;
	p = put_head(d, p, k->text, k->name_end, run->subch);
	p = nvs_put_text(p, " [", 2);
	p = nvs_put_dec(p, run->count - from);
	p = nvs_put_text(p, "]\n", 2);
	commit_text(d, p);
	for (uint32_t i = from; i < run->count; i += 8) {
		p = reserve_text(d, MAX_LINE);
		if (!p)
			return;
		p = nvs_put_text(p, "       ", 7);
		for (uint32_t n = i; n < i + 8 && n < run->count; n++) {
			*p++ = ' ';
			p = nvs_put_hex8(p, run->data[n]);
		}
		*p++ = '\n';
		commit_text(d, p);
	}
}

/* Returns the header bits that belong to no field. */
static uint32_t header_extra(const struct nvs_pb_run *run)
{
	bool inside = run->form == NVS_PB_IMMD || run->form == NVS_PB_SET_MASK ||
		      run->form == NVS_PB_STORE_MASK;

	return run->header ^ nvs_pb_header(run->form, run->subch, run->method,
					   inside ? run->data[0] : run->total);
}

void nvs_dump_text_header(struct nvs_dumper *d, const struct nvs_pb_run *run)
{
	char *p = reserve_text(d, MAX_LINE);
	uint32_t extra;

	if (!p)
		return;
	p = nvs_put_hex(nvs_put_text(p, "    ", 4), run->address);
	p = stpcpy(stpcpy(p, run->index ? "... " : ": "), nvs_pb_form_name(run->form));
	switch (run->form) {
	case NVS_PB_USE_MASK:
	case NVS_PB_END_SEGMENT:
		break;
	case NVS_PB_SET_MASK:
	case NVS_PB_STORE_MASK:
		p = nvs_put_hex(nvs_put_text(p, " 0x", 3), run->data[0]);
		break;
	default:
		if (run->form != NVS_PB_NOP) {
			p = nvs_put_dec(nvs_put_text(p, " s", 2), run->subch);
			*p++ = ' ';
			/* The upper four of eight digits. */
			nvs_put_hex8(p, (uint32_t)run->method << 16);
			p += 4;
		}
		p = nvs_put_text(nvs_put_dec(nvs_put_text(p, " [", 2), run->total), "]", 1);
	}
	extra = run->index ? 0 : header_extra(run);
	if (extra)
		p = nvs_put_hex(nvs_put_text(p, " +0x", 4), extra);
	*p++ = '\n';
	commit_text(d, p);
}

void nvs_dump_text_fault(struct nvs_dumper *d, const struct nvs_pb_fault *fault)
{
	struct nvs_line_buffer *l = &d->line;

	if (reserve_text(d, 2 * MAX_LINE))
		nvs_line_put(l, "    %s!%s at %llx: header %08x, wants %u dwords, has %u%s\n",
			     nvs_out_style(d->out, NVS_STYLE_BAD), nvs_pb_fault_name(fault->kind),
			     (unsigned long long)fault->address, fault->header, fault->wanted,
			     fault->had, nvs_out_style(d->out, NVS_STYLE_PLAIN));
}
