/* SPDX-License-Identifier: MIT */
/* Reads the text line by line: finds each line's kind, and handles repetitions, headers and data
 * words. */
#include "decode/assemble/assemble.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/assemble/text.h"

/* ---- what --dump prints around the commands ---- */

static bool starts_with(const char *p, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - p) >= n && !memcmp(p, word, n);
}

static bool has_word(const char *p, const char *end, const char *word)
{
	return memmem(p, (size_t)(end - p), word, strlen(word)) != NULL;
}

/* "#12 0.000001330 s thread 627 ... token 0xa sequence 0 put 0->1": only one submission is
 * accepted. */
static void read_heading(struct nvs_asm *s, const char *p, const char *end)
{
	if (end - p < 2 || p[1] < '0' || p[1] > '9' || !has_word(p, end, " token 0x"))
		return;
	if (s->headed)
		nvs_asm_error(s, s->at.column,
			      "another submission begins here; print only one with --dump -n 1 or "
			      "--range=NUMBER");
	s->headed = true;
}

/* "!short-data at 202a00008: header 20030090, wants 3 dwords, has 1" */
static void read_fault(struct nvs_asm *s, const char *p, const char *end)
{
	const char *at = memmem(p, (size_t)(end - p), ": header ", 9);
	struct nvs_token word = {at ? at + 9 : p, 8, 1};
	bool lacks = starts_with(p, end, "!short-data") || starts_with(p, end, "!nested-segment");
	const char *where = memmem(p, (size_t)(end - p), " at ", 4);
	uint64_t header, address;

	if (!lacks && !starts_with(p, end, "!reserved-header"))
		return;
	if (!at || end - word.p < 8 || !nvs_token_hex(&word, 8, &header)) {
		nvs_asm_error(s, 0, "not a line of --dump; comments begin with #");
		return;
	}
	nvs_asm_close_data(s);
	if (s->header.open && s->header.counted && lacks)
		s->header.open = false; /* its data is not in the trace */
	else
		nvs_asm_add_word(s, (uint32_t)header, 0);
	address = where && where < at ? strtoull(where + 4, NULL, 16) : 0;
	if (!s->over)
		nvs_asm_move_header(s, address);
}

/* Handles a line that --dump prints around the commands. Returns false if the line is none of
 * these. */
static bool read_dump_line(struct nvs_asm *s, const char *p, const char *end)
{
	if (*p == '#')
		read_heading(s, p, end);
	else if (*p == '!')
		read_fault(s, p, end);
	else
		return starts_with(p, end, "== ") || starts_with(p, end, "unknown: ") ||
		       (*p >= '0' && *p <= '9' && has_word(p, end, " method words, "));
	return true;
}

/* ---- headers ---- */

static bool find_form(const struct nvs_token *t, uint8_t *form)
{
	for (*form = 0; *form <= NVS_PB_NOP; ++*form)
		if (nvs_token_is(t, nvs_pb_form_name(*form)))
			return true;
	return false;
}

/* "202a00008:" or "202a00008..."; the latter sets *MORE: data continues there. */
static bool read_address(const struct nvs_token *t, uint64_t *address, bool *more)
{
	struct nvs_token digits = *t;

	*more = t->n > 3 && !memcmp(t->p + t->n - 3, "...", 3);
	digits.n -= *more ? 3 : 1;
	return t->n > 1 && (*more || t->p[t->n - 1] == ':') && digits.n <= 16 &&
	       nvs_token_hex(&digits, digits.n, address);
}

static void skip_continuation(struct nvs_asm *s)
{
	if (!s->header.open)
		nvs_asm_error(s, 0, "no open header needs data");
	s->next = memchr(s->next, '\n', (size_t)(s->end - s->next));
	s->next = s->next ? s->next : s->end;
}

static void read_mask_header(struct nvs_asm *s, uint8_t form)
{
	struct nvs_token t = nvs_asm_next_token(s);
	uint32_t mask = 0;

	if (form == NVS_PB_SET_MASK || form == NVS_PB_STORE_MASK) {
		if (!nvs_asm_read_number(s, &t, 0xfff, &mask))
			return;
		t = nvs_asm_next_token(s);
	}
	if (t.n && *t.p == '+') {
		struct nvs_token number = {t.p + 1, t.n - 1, t.column + 1};
		uint32_t extra;

		if (nvs_asm_read_number(s, &number, UINT32_MAX, &extra))
			nvs_asm_header(s, form, 0, 0, mask, extra);
	} else if (!t.n) {
		nvs_asm_header(s, form, 0, 0, mask, 0);
	} else {
		nvs_asm_error(s, t.column, "nothing more was expected");
	}
}

static void read_nops(struct nvs_asm *s)
{
	struct nvs_token t = nvs_asm_next_token(s);
	uint32_t count = 1;

	if (t.n && nvs_asm_read_count(s, &t, &count) && count == UINT32_MAX)
		nvs_asm_error(s, t.column, "NOP needs a number of words");
	nvs_asm_close_header(s);
	while (count-- && !s->bad && !s->over)
		nvs_asm_add_word(s, 0, 0);
}

/* The rest of a line after "INC": "s4 0240 [3]" */
static void read_method_header(struct nvs_asm *s, uint8_t form)
{
	struct nvs_token t = nvs_asm_next_token(s), extra_at;
	uint32_t method, total = UINT32_MAX, extra = 0;

	if (nvs_asm_read_subchannel(s, &t))
		t = nvs_asm_next_token(s);
	if (!t.n)
		nvs_asm_error(s, t.column, "the method is missing");
	method = s->bad ? UINT32_MAX : nvs_asm_read_offset(s, &t);
	if (method == UINT32_MAX)
		return;
	t = nvs_asm_next_token(s);
	if (t.n && *t.p == '[') {
		if (!nvs_asm_read_count(s, &t, &total))
			return;
		t = nvs_asm_next_token(s);
	}
	if (t.n && *t.p == '+') {
		extra_at = (struct nvs_token){t.p + 1, t.n - 1, t.column + 1};
		if (!nvs_asm_read_number(s, &extra_at, UINT32_MAX, &extra))
			return;
		t = nvs_asm_next_token(s);
	}
	if (t.n)
		nvs_asm_error(s, t.column,
			      "unexpected text after the header; its data goes on separate lines");
	else
		nvs_asm_header(s, form, s->subch, method, form == NVS_PB_IMMD ? 1 : total, extra);
}

/* "202a00008: INC s4 0240 [3]"; the address is optional. */
static void read_header(struct nvs_asm *s, uint8_t form, uint64_t address, bool has_address)
{
	if (form == NVS_PB_NOP)
		read_nops(s);
	else if (form > NVS_PB_OLD_NON_INC)
		read_mask_header(s, form);
	else
		read_method_header(s, form);
	if (has_address && !s->bad && s->out->nentries)
		nvs_asm_move_header(s, address);
}

/* ---- words of data, and raw ones ---- */

/* Adds a word to the announced data or to the open header. Returns false after reporting an
 * error. */
static bool add_data_word(struct nvs_asm *s, uint32_t value, uint32_t column)
{
	if (!s->data.open && s->header.open) {
		nvs_asm_add_raw(s, value, column);
		return true;
	}
	if (!s->data.open || (s->data.counted && !s->data.left)) {
		nvs_asm_error(s, column,
			      "unexpected data; write NAME [] before it, or begin the line with "
			      "'words' for raw words");
		return false;
	}
	s->data.left -= s->data.counted;
	nvs_asm_data(s, s->data.subch, s->data.method, value, NVS_PB_NON_INC, column);
	return true;
}

static void read_words(struct nvs_asm *s, bool as_they_stand)
{
	s->eight = NVS_ASM_EIGHT_HEX;
	for (struct nvs_token t = nvs_asm_next_token(s); t.n && !s->bad;
	     t = nvs_asm_next_token(s)) {
		uint32_t value;

		if (!nvs_asm_read_number(s, &t, UINT32_MAX, &value))
			return;
		if (as_they_stand)
			nvs_asm_add_raw(s, value, t.column);
		else if (!add_data_word(s, value, t.column))
			return;
	}
}

/* ---- repetitions ---- */

static void begin_repeat(struct nvs_asm *s)
{
	struct nvs_token t = nvs_asm_next_token(s), brace = nvs_asm_next_token(s);
	struct nvs_token more = brace.n ? nvs_asm_next_token(s) : brace;
	uint32_t n;

	if (s->skipping) {
		s->skipping++;
		return;
	}
	if (!t.n || !nvs_asm_read_decimal(s, &t, &n)) {
		nvs_asm_error(s, t.column, "a repetition needs a count, for example: repeat 10 {");
		n = 1;
	}
	if (!nvs_token_is(&brace, "{") || more.n)
		nvs_asm_error(s, brace.column, "write a repetition as: repeat N {, lines, }");
	if (s->deep == NVS_ASM_MAX_DEPTH) {
		nvs_asm_error(s, 0, "repetitions are nested more than %d deep", NVS_ASM_MAX_DEPTH);
		s->over = true;
		return;
	}
	if (!n) {
		s->skipping = 1;
		return;
	}
	s->next = memchr(s->next, '\n', (size_t)(s->end - s->next));
	s->next = s->next ? s->next : s->end;
	s->repeat[s->deep++] = (struct nvs_asm_repeat){
		.body = s->next, .line = s->at.line, .left = n - 1, .at = s->at};
}

static void end_repeat(struct nvs_asm *s)
{
	struct nvs_asm_repeat *r = s->deep ? &s->repeat[s->deep - 1] : NULL;

	if (s->skipping) {
		s->skipping--;
		return;
	}
	if (!r) {
		nvs_asm_error(s, 0, "no repetition is open");
		return;
	}
	if (!r->left) {
		s->deep--;
		return;
	}
	r->left--;
	r->pass++;
	s->next = r->body;
	s->at.line = r->line;
}

/* ---- lines ---- */

static void read_by_first_token(struct nvs_asm *s, struct nvs_token *t)
{
	uint64_t address = 0;
	bool more = false, has_address = read_address(t, &address, &more);
	uint8_t form;

	if (has_address && more) {
		nvs_asm_close_data(s);
		skip_continuation(s);
		return;
	}
	if (has_address)
		*t = nvs_asm_next_token(s);
	if (find_form(t, &form)) {
		nvs_asm_close_data(s);
		read_header(s, form, address, has_address);
		return;
	}
	if (has_address) {
		nvs_asm_error(s, t->column,
			      "a header is expected after an address: INC, NON_INC, "
			      "INC_ONCE, IMMD, ...");
		return;
	}
	if (nvs_token_is(t, "words")) {
		nvs_asm_close_data(s);
		read_words(s, true);
		return;
	}
	nvs_asm_put_back(s, t);
	if (*t->p == '$' || *t->p == '-' || (*t->p >= '0' && *t->p <= '9') ||
	    nvs_token_hex(t, 8, &address)) {
		read_words(s, false);
	} else {
		nvs_asm_close_data(s);
		nvs_asm_read_method(s);
	}
}

static void read_line(struct nvs_asm *s)
{
	const char *end = memchr(s->next, '\n', (size_t)(s->end - s->next));
	struct nvs_token t;

	end = end ? end : s->end;
	s->line_start = s->next;
	s->at.line++;
	s->bad = false;
	s->eight = NVS_ASM_EIGHT_REFUSED;
	t = nvs_asm_next_token(s);
	s->at.column = t.column;
	if (t.p == end)
		return;
	if (nvs_token_is(&t, "}")) {
		nvs_asm_close_data(s);
		end_repeat(s);
		return;
	}
	if (nvs_token_is(&t, "repeat"))
		begin_repeat(s);
	else if (s->skipping || read_dump_line(s, t.p, end))
		s->next = end;
	else if (!t.n)
		return;
	else if (nvs_token_is(&t, "entry"))
		nvs_asm_read_entry(s);
	else
		read_by_first_token(s, &t);
}

static void read_lines(struct nvs_asm *s)
{
	while (s->next < s->end && !s->over) {
		const char *next;

		if (++s->lines > NVS_ASM_MAX_WORDS) {
			nvs_asm_error(s, 1, "more than %u lines, repetitions included",
				      NVS_ASM_MAX_WORDS);
			return;
		}
		read_line(s);
		next = memchr(s->next, '\n', (size_t)(s->end - s->next));
		s->next = next ? next + 1 : s->end;
	}
}

static void set_defaults(struct nvs_asm *s)
{
	s->out->host = nvs_default_classes[NVS_KIND_HOST];
	s->host = nvs_class_find(s->out->host);
	for (uint32_t i = 0; i < 8; i++) {
		s->out->classes[i] = s->in->classes[i];
		s->classes[i] = nvs_class_find(s->in->classes[i]);
	}
}

int nvs_assemble(struct nvs_assembly *a, const struct nvs_asm_input *in)
{
	struct nvs_asm s = {.in = in, .out = a, .next = in->text, .end = in->text + in->length};

	*a = (struct nvs_assembly){0};
	set_defaults(&s);
	read_lines(&s);
	s.bad = false;
	if (!s.over && s.deep)
		nvs_asm_error_at(&s, &s.repeat[s.deep - 1].at, "this repetition has no }");
	if (!s.over && !s.no_memory) {
		nvs_asm_close_header(&s);
		if (!s.errors)
			nvs_asm_finish_entries(&s);
	}
	free(s.stated);
	return s.no_memory ? -ENOMEM : s.errors ? -EINVAL : 0;
}

void nvs_assembly_free(struct nvs_assembly *a)
{
	free(a->words);
	free(a->places);
	free(a->entries);
	*a = (struct nvs_assembly){0};
}
