/* SPDX-License-Identifier: MIT */
/* Emits words, the headers whose data they are, and the entries that contain them. A header without
 * a count gets it when it is closed. */
#include <string.h>
#include "decode/assemble/text.h"
#include "decode/base/grow.h"

#define COUNT_MAX 8191u /* maximum data words of one header */
#define OLD_COUNT_MAX 2047u
#define MOST_ENTRIES (1u << 20)
#define ENTRY_DWORDS_MAX ((1u << 21) - 1)

static uint32_t max_count(uint8_t form)
{
	return form == NVS_PB_IMMD				      ? 1
	       : form == NVS_PB_OLD_INC || form == NVS_PB_OLD_NON_INC ? OLD_COUNT_MAX
								      : COUNT_MAX;
}

/* ---- entries ---- */

void nvs_asm_entry(struct nvs_asm *s, const struct nvs_asm_entry *entry,
		   const struct nvs_asm_stated *stated)
{
	struct nvs_assembly *out = s->out;
	uint32_t n = out->nentries;
	struct nvs_asm_stated *own = NVS_APPEND(s->stated, n, s->stated_room, 16, MOST_ENTRIES);
	struct nvs_asm_entry *last = own ? NVS_APPEND(out->entries, out->nentries, out->entry_room,
						      16, MOST_ENTRIES)
					 : NULL;

	if (!last) {
		s->no_memory = s->over = true;
		return;
	}
	*last = *entry;
	last->first = out->nwords;
	last->at = s->at;
	*own = *stated;
}

/* Opens the entry that the next words go to. */
static void begin_entry(struct nvs_asm *s)
{
	uint32_t n = s->out->nentries;
	const struct nvs_asm_entry *last = n ? &s->out->entries[n - 1] : NULL;

	if (!last || last->control || last->dwords == ENTRY_DWORDS_MAX)
		nvs_asm_entry(s, &(struct nvs_asm_entry){0}, &(struct nvs_asm_stated){0});
}

static void finish_entry(struct nvs_asm *s, struct nvs_asm_entry *e,
			 const struct nvs_asm_stated *stated)
{
	uint64_t length = (uint64_t)e->dwords << 42;

	if (stated->dwords_given && stated->dwords != e->dwords)
		nvs_asm_error_at(s, &e->at,
				 "the entry says %u dwords, but %u follow; leave out the number to "
				 "have them counted",
				 stated->dwords, e->dwords);
	e->entry = (e->entry & ~(0x1fffffull << 42)) | length;
}

void nvs_asm_finish_entries(struct nvs_asm *s)
{
	struct nvs_assembly *out = s->out;
	uint32_t n = 0;

	for (uint32_t i = 0; i < out->nentries; i++) {
		struct nvs_asm_entry *e = &out->entries[i];

		if (!e->control)
			finish_entry(s, e, &s->stated[i]);
		/* Drop an entry without words: it would be a control entry. */
		if (e->control || e->dwords)
			out->entries[n++] = *e;
	}
	out->nentries = n;
}

/* ---- words ---- */

void nvs_asm_add_word(struct nvs_asm *s, uint32_t word, uint32_t column)
{
	struct nvs_assembly *out = s->out;
	uint32_t room = out->word_room, n, *own;
	struct nvs_asm_place *place;

	if (out->nwords == NVS_ASM_MAX_WORDS) {
		if (!s->over)
			nvs_asm_error(s, column, "more than %u words", NVS_ASM_MAX_WORDS);
		s->over = true;
		return;
	}
	begin_entry(s);
	if (s->over)
		return;
	n = out->nwords;
	place = NVS_APPEND(out->places, n, room, 1024, NVS_ASM_MAX_WORDS);
	own = place ? NVS_APPEND(out->words, out->nwords, out->word_room, 1024, NVS_ASM_MAX_WORDS)
		    : NULL;
	s->no_memory = s->over = !own;
	if (!own)
		return;
	*own = word;
	*place = (struct nvs_asm_place){s->at.line, column ? column : s->at.column};
	out->entries[out->nentries - 1].dwords++;
}

/* ---- headers ---- */

static const char *form_name(const struct nvs_asm_header *h)
{
	return nvs_pb_form_name(h->form);
}

/* Returns the method that the header's next data word goes to. */
static uint32_t next_method(const struct nvs_asm_header *h)
{
	struct nvs_pb_run run = {.form = h->form, .method = h->method, .index = h->done};

	return nvs_pb_method(&run, 0);
}

void nvs_asm_close_data(struct nvs_asm *s)
{
	const struct nvs_asm_data *d = &s->data;

	if (d->open && d->counted && d->left)
		nvs_asm_error_at(s, &d->at, "%u more word%s expected", d->left,
				 d->left == 1 ? " is" : "s are");
	s->data.open = false;
}

static void close_header(struct nvs_asm *s)
{
	struct nvs_asm_header *h = &s->header;

	if (!h->open)
		return;
	if (h->counted && h->done < h->total)
		nvs_asm_error_at(
			s, &h->at, "%s says [%u], but %u word%s; use [] to have them counted",
			form_name(h), h->total, h->done, h->done == 1 ? " follows" : "s follow");
	if (!h->counted && h->form != NVS_PB_IMMD)
		s->out->words[h->word] |= nvs_pb_header(h->form, 0, 0, h->done) &
					  ~nvs_pb_header(h->form, 0, 0, 0);
	h->open = false;
}

void nvs_asm_close_header(struct nvs_asm *s)
{
	nvs_asm_close_data(s);
	close_header(s);
}

void nvs_asm_header(struct nvs_asm *s, uint8_t form, uint8_t subch, uint32_t method, uint32_t total,
		    uint32_t extra)
{
	bool counted = total != UINT32_MAX;
	uint32_t word;

	close_header(s);
	if (counted && form <= NVS_PB_OLD_NON_INC && total > max_count(form)) {
		nvs_asm_error(s, 0, "%s holds at most %u words", nvs_pb_form_name(form),
			      max_count(form));
		return;
	}
	/* IMMD has its data in place of the count. */
	word = nvs_pb_header(form, subch, method, counted && form != NVS_PB_IMMD ? total : 0) |
	       extra;
	nvs_asm_add_word(s, word, 0);
	if (s->over || form > NVS_PB_OLD_NON_INC)
		return;
	s->header = (struct nvs_asm_header){
		.open = !counted || total,
		.counted = counted,
		.form = form,
		.subch = subch,
		.method = (uint16_t)method,
		.total = counted ? total : max_count(form),
		.word = s->out->nwords - 1,
		.at = s->at,
	};
}

/* Adds the header's next data word. */
static void add_header_data(struct nvs_asm *s, uint32_t value, uint32_t column)
{
	struct nvs_asm_header *h = &s->header;

	if (h->form == NVS_PB_IMMD) {
		if (value > COUNT_MAX)
			nvs_asm_error(s, column, "0x%x does not fit the 13 bits of IMMD", value);
		s->out->words[h->word] |= (value & COUNT_MAX) << 16;
	} else {
		nvs_asm_add_word(s, value, column);
	}
	if (++h->done == h->total)
		close_header(s);
}

void nvs_asm_add_raw(struct nvs_asm *s, uint32_t value, uint32_t column)
{
	if (s->header.open)
		add_header_data(s, value, column);
	else
		nvs_asm_add_word(s, value, column);
}

void nvs_asm_data(struct nvs_asm *s, uint8_t subch, uint32_t method, uint32_t value, uint8_t form,
		  uint32_t column)
{
	struct nvs_asm_header *h = &s->header;
	bool fits = h->open && h->subch == subch && next_method(h) == method;

	/* A header made for one form takes no data of another. */
	if (fits && h->made && h->form != form)
		fits = false;
	if (h->open && h->counted && !fits) {
		nvs_asm_error(s, column, "%s of line %u expects s%u %04x next, not s%u %04x",
			      form_name(h), h->at.line, h->subch, next_method(h), subch, method);
		h->open = false;
		return;
	}
	if (!fits) {
		nvs_asm_header(s, form, subch, method, UINT32_MAX, 0);
		s->header.made = true;
	}
	if (!s->over)
		add_header_data(s, value, column);
}
