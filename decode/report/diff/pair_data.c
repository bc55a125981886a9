/* SPDX-License-Identifier: MIT */
/*
 * --diff A:N B:M: decodes inline data of the pushbuffer into lines that can be compared: launch
 * descriptors by field, launch constants by offset (the driver's separate from the kernel's
 * parameters), and bytes of copies. Addresses are compared by the memory they are in. Payloads
 * count up and are not compared.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/grow.h"
#include "decode/base/hash.h"
#include "decode/gpu/class.h"
#include "decode/gpu/method_format.h"
#include "decode/gpu/pb.h"
#include "decode/gpu/qmd.h"
#include "decode/report/diff/diff.h"
#include "decode/analysis/address_kind.h"

#define LINE 16u /* bytes of a copy per line */
#define HALVES 16u /* maximum dwords between the halves of an address */
#define BEHIND 16u /* maximum items between an item and its operation */
#define MIN_ADDRESS 0x10000u /* minimum for an address */
/* Addresses below are only the driver's own, which are aligned. Two small numbers look like one. */
#define HIGH_ADDRESS (1ull << 40)

enum data_kind { COPY, DESCRIPTOR, CONSTANTS, SEMAPHORE };

/* The data of one header. */
struct item {
	uint32_t word; /* index of its DATA word */
	uint64_t at, before; /* address of this header and of the one before it */
	uint32_t first, n; /* dwords */
	uint16_t cls;
	uint8_t what;
	uint64_t dst;
};

struct bank {
	uint64_t address, end;
	uint32_t number;
};

struct nvs_diff_data {
	struct item *items;
	uint32_t nitems, items_room, next; /* next: first candidate for the next operation */
	uint32_t *words;
	uint32_t nwords, words_room;
	struct bank *banks;
	uint32_t nbanks, banks_room;
	uint64_t before;
	bool open; /* the last item may continue */
	/* used while lines are made */
	struct nvs_address_space place;
	struct nvs_line_buffer text, judged;
	struct nvs_diff_word *list;
	uint32_t n, room;
	char **texts;
	uint32_t ntexts, texts_room;
};

struct nvs_diff_data *nvs_diff_data_new(void)
{
	return calloc(1, sizeof(struct nvs_diff_data));
}

void nvs_diff_data_free(struct nvs_diff_data *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->ntexts; i++)
		free(d->texts[i]);
	free(d->texts);
	free(d->items);
	free(d->words);
	free(d->banks);
	free(d->list);
	nvs_line_free(&d->text);
	nvs_line_free(&d->judged);
	free(d);
}

/* ---- reading ---- */

static bool is_inline(const struct nvs_class *cls, uint32_t method)
{
	struct nvs_method_at at;

	return cls && nvs_method_find(cls, method, &at) &&
	       !strncmp(nvs_class_string(at.method->name), "LOAD_INLINE_", 12);
}

static int add_words(struct nvs_diff_data *d, const uint32_t *data, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *word = NVS_APPEND(d->words, d->nwords, d->words_room, 256,
					    UINT32_MAX / 2);

		if (!word)
			return -ENOMEM;
		*word = data[i];
	}
	d->items[d->nitems - 1].n += n;
	return 0;
}

int nvs_diff_data_run(struct nvs_diff_data *d, const struct nvs_pb_run *run,
		      const struct nvs_class *cls, uint32_t word)
{
	struct item *item;

	if (run->index)
		return d->open ? add_words(d, run->data, run->count) : 0;
	d->open = is_inline(cls, run->method);
	if (!d->open) {
		d->before = run->address;
		return 0;
	}
	item = NVS_APPEND(d->items, d->nitems, d->items_room, 16, UINT32_MAX / 2);
	if (!item)
		return -ENOMEM;
	*item = (struct item){.word = word,
			      .at = run->address,
			      .before = d->before,
			      .first = d->nwords,
			      .cls = cls->id};
	return add_words(d, run->data, run->count);
}

static int add_banks(struct nvs_diff_data *d, const struct nvs_qmd *qmd)
{
	for (uint32_t i = 0; i < qmd->nbanks; i++) {
		const struct nvs_qmd_bank *b = qmd->banks + i;
		struct bank *bank;

		if (!b->bytes)
			continue;
		bank = NVS_APPEND(d->banks, d->nbanks, d->banks_room, 16, UINT32_MAX / 2);
		if (!bank)
			return -ENOMEM;
		*bank = (struct bank){b->address, b->address + b->bytes, i};
	}
	return 0;
}

/* Data that exceed one header continue in the next. */
static void assign_items(struct nvs_diff_data *d, uint64_t dst, uint8_t what)
{
	uint64_t before = d->items[d->next].before;

	for (; d->next < d->nitems && d->items[d->next].before == before; d->next++) {
		d->items[d->next].dst = dst;
		d->items[d->next].what = what;
		dst += 4ul * d->items[d->next].n;
	}
}

int nvs_diff_data_op(struct nvs_diff_data *d, const struct nvs_op *op, const struct nvs_qmd *qmd)
{
	static const uint8_t what[] = {[NVS_USE_DESCRIPTOR] = DESCRIPTOR,
				       [NVS_USE_CONSTANTS] = CONSTANTS,
				       [NVS_USE_SEMAPHORE] = SEMAPHORE};

	if (op->kind == NVS_OP_LAUNCH)
		return qmd ? add_banks(d, qmd) : 0;
	if ((op->kind != NVS_OP_COPY && op->kind != NVS_OP_UPLOAD) ||
	    op->copy.mode != NVS_COPY_INLINE)
		return 0;
	for (uint32_t i = d->next; i < d->nitems && i < d->next + BEHIND; i++) {
		if (d->items[i].before != op->at && d->items[i].at != op->at)
			continue;
		d->next = i;
		assign_items(d, op->copy.dst,
			     op->kind == NVS_OP_COPY || op->copy.use > NVS_USE_SEMAPHORE
				     ? COPY
				     : what[op->copy.use]);
		break;
	}
	return 0;
}

/* ---- lines ---- */

static int append_word(struct nvs_diff_data *d, const struct nvs_diff_word *word)
{
	struct nvs_diff_word *own = NVS_APPEND(d->list, d->n, d->room, 1024, UINT32_MAX / 2);

	if (!own)
		return -ENOMEM;
	*own = *word;
	return 0;
}

static int add_line(struct nvs_diff_data *d, struct nvs_diff_word *word)
{
	char **text = NVS_APPEND(d->texts, d->ntexts, d->texts_room, 256, UINT32_MAX / 2);

	if (!text)
		return -ENOMEM;
	word->text = *text = d->text.text && d->judged.text ? strdup(d->text.text) : NULL;
	if (!word->text)
		return -ENOMEM;
	word->kind = NVS_DIFF_FIELD;
	word->id = nvs_hash64(d->judged.text, d->judged.length);
	return append_word(d, word);
}

static void start_line(struct nvs_diff_data *d)
{
	nvs_line_start(&d->text);
	nvs_line_start(&d->judged);
}

/* Compares VALUE by its memory if it is an address. SHOWN: also append that to the text. Returns
 * false if it is not an address. */
static bool compare_address(struct nvs_diff_data *d, uint64_t value, bool shown)
{
	size_t before = d->judged.length;

	if (value < MIN_ADDRESS || (value < HIGH_ADDRESS && value % 4))
		return false;
	nvs_address_kind_append(&d->place, &d->judged, value);
	if (d->judged.length == before)
		return false;
	if (shown)
		nvs_address_kind_append(&d->place, &d->text, value);
	nvs_line_put(&d->text, "%s", "");
	nvs_line_put(&d->judged, "%s", "");
	return true;
}

static void compare_value(struct nvs_diff_data *d, uint64_t value)
{
	if (!compare_address(d, value, true))
		nvs_line_put(&d->judged, " %" PRIx64, value);
}

/* Reads the number at dword *I, 8 bytes if aligned in memory, and advances *I. */
static uint64_t read_number(const struct nvs_diff_data *d, const struct item *t, uint32_t n,
			    uint32_t *i)
{
	const uint32_t *words = d->words + t->first + *i;
	bool wide = (t->dst + 4ul * *i) % 8 == 0 && *i + 1 < n;

	*i += wide ? 2 : 1;
	return wide ? words[0] | (uint64_t)words[1] << 32 : words[0];
}

/* Instructions contain addresses near their own in halves. The upper half is a few instructions
 * after the lower one. */
static void compare_half(struct nvs_diff_data *d, const struct item *t, uint32_t i)
{
	const uint32_t *words = d->words + t->first;
	uint64_t high = t->dst >> 32;
	bool near = high >= HIGH_ADDRESS >> 32;

	if (near && words[i] + 1ull >= high && words[i] <= high + 1) {
		nvs_line_put(&d->judged, " high");
		return;
	}
	for (uint32_t k = i + 4; near && k < t->n && k <= i + HALVES; k += 4) {
		if (words[k] + 1ull < high || words[k] > high + 1)
			continue;
		if (!compare_address(d, (uint64_t)words[k] << 32 | words[i], false))
			nvs_line_put(&d->judged, " low");
		return;
	}
	nvs_line_put(&d->judged, " %x", words[i]);
}

/* Compares calls and jumps of sm_70 and later, whose target is split into three fields. */
static bool compare_jump(struct nvs_diff_data *d, const uint32_t *w)
{
	uint32_t opcode = w[0] & 0xfff;
	uint64_t target = (w[0] >> 16 & 0xff) | (uint64_t)w[1] << 8 | (uint64_t)(w[2] & 0xff) << 40;

	if ((opcode != 0x943 && opcode != 0x94a) || !compare_address(d, target, false))
		return false;
	nvs_line_put(&d->judged, " %x %x %x", w[0] & ~0xff0000u, w[2] & ~0xffu, w[3]);
	return true;
}

static void compare_bytes(struct nvs_diff_data *d, const struct item *t, uint32_t from, uint32_t to)
{
	const uint32_t *words = d->words + t->first;

	if (to - from == 4 && t->dst % 16 == 0 && compare_jump(d, words + from))
		return;
	while (from < to) {
		uint32_t i = from;
		uint64_t value = read_number(d, t, to, &from);

		if (from - i == 2 && compare_address(d, value, true))
			continue;
		for (; i < from; i++)
			compare_half(d, t, i);
	}
}

static int put_bytes(struct nvs_diff_data *d, const struct item *t)
{
	const uint32_t *words = d->words + t->first;
	int r = 0;

	for (uint32_t i = 0, end; i < t->n && !r; i = end) {
		struct nvs_diff_word word = {0};

		end = i + LINE / 4 < t->n ? i + LINE / 4 : t->n;
		start_line(d);
		nvs_line_put(&d->text, "+0x%x ", 4 * i);
		for (uint32_t k = i; k < end; k++)
			nvs_line_put(&d->text, " %08x", words[k]);
		compare_bytes(d, t, i, end);
		r = add_line(d, &word);
	}
	return r;
}

/* Returns the offset of a kernel's parameters in bank 0; the driver's constants come before it.
 * 0: unknown. */
static uint32_t parameters_at(uint16_t cls)
{
	const struct nvs_field *f = nvs_format_by_name(nvs_class_find(cls), "PARAMETERS_OFFSET");

	return f ? f->values : 0;
}

static const struct bank *bank_of(const struct nvs_diff_data *d, uint64_t address)
{
	for (uint32_t i = 0; i < d->nbanks; i++)
		if (address >= d->banks[i].address && address < d->banks[i].end)
			return d->banks + i;
	return NULL;
}

static int put_constants(struct nvs_diff_data *d, const struct item *t)
{
	const struct bank *b = bank_of(d, t->dst);
	uint64_t base = b ? b->address : t->dst;
	uint32_t parameters = b && b->number ? 0 : parameters_at(t->cls);
	int r = 0;

	/* Constants uploaded for a graph, which is launched later, are all of bank 0 from its
	 * start. */
	if (!b && (4ul * t->n < parameters || t->dst % 64))
		parameters = 0;
	for (uint32_t i = 0; i < t->n && !r;) {
		uint64_t at = t->dst - base + 4ul * i, value = read_number(d, t, t->n, &i);
		struct nvs_diff_word word = {.driver = at < parameters};

		start_line(d);
		if (parameters && at >= parameters)
			nvs_line_put(&d->text, "parameter +0x%" PRIx64, at - parameters);
		else
			nvs_line_put(&d->text, "constant c%u+0x%" PRIx64, b ? b->number : 0, at);
		nvs_line_put(&d->judged, "%s", d->text.text ? d->text.text : "");
		nvs_line_put(&d->text, "  %016" PRIx64, value);
		compare_value(d, value);
		r = add_line(d, &word);
	}
	return r;
}

/* Returns true for addresses, handles and counters, whose value is not compared. */
static bool is_apart(const char *name)
{
	return strstr(name, "ADDR") || strstr(name, "POINTER") || strstr(name, "PAYLOAD") ||
	       strstr(name, "REFERENCE_COUNT_ID") || strstr(name, "LATCH_ID") ||
	       strstr(name, "CORRELATION_ID") || strstr(name, "HW_ONLY") ||
	       strstr(name, "DEBUG_ID");
}

static int put_field(struct nvs_diff_data *d, const struct item *t, const struct nvs_qmd_field *f,
		     uint32_t index)
{
	uint32_t lo = f->lo + index * f->stride, hi = f->hi + index * f->stride;
	uint64_t value = nvs_qmd_bits(d->words + t->first, t->n, hi, lo);
	struct nvs_diff_word word = {
		.cls = t->cls, .value = (uint32_t)value, .name = nvs_class_string(f->name)};

	if (!value)
		return 0;
	start_line(d);
	nvs_line_put(&d->text, "%s", word.name);
	if (f->count > 1)
		nvs_line_put(&d->text, "(%u)", index);
	nvs_line_put(&d->judged, "%s", d->text.text ? d->text.text : "");
	nvs_line_put(&d->text, "=0x%" PRIx64, value);
	if (!is_apart(word.name))
		nvs_line_put(&d->judged, "=%" PRIx64, value);
	for (uint32_t i = 0; i < f->nvalues; i++)
		if (nvs_values[f->values + i].value == value) {
			nvs_line_put(&d->text, " %s",
				     nvs_class_string(nvs_values[f->values + i].name));
			break;
		}
	return add_line(d, &word);
}

static int put_descriptor(struct nvs_diff_data *d, const struct item *t)
{
	const struct nvs_qmd_version *v = nvs_qmd_version_of(d->words + t->first, t->n, t->cls);
	uint32_t of = v ? nvs_qmd_class_bit(v, t->cls) : 0;
	int r = 0;

	if (!v)
		return put_bytes(d, t);
	for (uint32_t i = 0; i < v->nfields; i++) {
		const struct nvs_qmd_field *f = nvs_qmd_fields + v->fields + i;

		if (f->classes && !(f->classes & of))
			continue;
		for (uint32_t k = 0; k < (f->count ? f->count : 1u) && !r; k++)
			r = put_field(d, t, f, k);
	}
	return r;
}

static int put_item(struct nvs_diff_data *d, const struct item *t)
{
	switch (t->what) {
	case DESCRIPTOR:
		return put_descriptor(d, t);
	case CONSTANTS:
		return put_constants(d, t);
	case SEMAPHORE: /* a payload */
		return 0;
	default:
		return put_bytes(d, t);
	}
}

int nvs_diff_data_lines(struct nvs_diff_data *d, const struct nvs_source *s, uint32_t vaspace,
			struct nvs_diff_word **list, uint32_t *n)
{
	struct nvs_diff_word *old = *list;
	uint32_t at = 0;
	int r = 0;

	d->place = (struct nvs_address_space){s->trace, vaspace};
	for (uint32_t i = 0; i < *n && !r; i++) {
		r = append_word(d, old + i);
		for (; at < d->nitems && d->items[at].word == i && !r; at++)
			r = put_item(d, d->items + at);
	}
	if (r)
		return r;
	free(old);
	*list = d->list;
	*n = d->n;
	d->list = NULL;
	d->n = d->room = 0;
	return 0;
}
