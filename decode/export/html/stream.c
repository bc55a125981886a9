/* SPDX-License-Identifier: MIT */
/* The stream of --html: the lines of --dump, a few hundred submissions per pack. Methods that occur
 * are collected, and described from the class tables at the end. */
#include <errno.h>
#include <inttypes.h>
#include "decode/export/html/pack.h"
#include "decode/gpu/class.h"
#include "decode/cli/output.h"
#include "decode/report/core/report.h"

#define METHODS 0x4000u /* size of a class's method space, bytes */
#define NOTED 1024u

struct page_stream {
	struct nvs_html_pack pack;
	struct nvs_html_left_out *left;
	struct nvs_out *dump; /* writes into the stream */
	char *part; /* an incomplete line */
	size_t n, room;
	uint32_t process;
	uint64_t number; /* of the current submission */
	size_t bytes; /* of its text so far */
	uint64_t cut; /* lines of it that were left out */
	bool dropped; /* it was left out */
	const char *from; /* lines of the text at hand that are not in the pack yet; NULL: none */
	uint64_t noted[NOTED]; /* class and method of lines, by hash: see note_method() */
	uint8_t *seen; /* bitmap: each method of each class that occurred */
};

static uint32_t parse_hex4(const char *s)
{
	uint32_t value = 0;

	for (int i = 0; i < 4; i++) {
		char c = s[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			return UINT32_MAX;
		value = value << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return value;
}

/* Takes the lines up to END into the pack. */
static void take_lines(struct page_stream *s, const char *end)
{
	if (s->from)
		nvs_html_pack_put(&s->pack, s->from, (size_t)(end - s->from));
	s->from = NULL;
}

/* Notes class and method of a line "      s4 c8b5 0700 NAME". */
static void note_method(struct page_stream *s, const char *line, size_t n)
{
	const struct nvs_class *cls;
	uint32_t method, bit;
	uint64_t key, *noted;
	char text[sizeof(key)];

	if (n < 19 || memcmp(line, "      s", 7) || line[8] != ' ' || line[13] != ' ')
		return;
	/* Both words without the space between them. */
	memcpy(text, line + 9, 4);
	memcpy(text + 4, line + 14, 4);
	memcpy(&key, text, sizeof(key));
	noted = s->noted + (key * 0x9e3779b97f4a7c15ull >> 54) % NOTED;
	if (*noted == key)
		return;
	*noted = key;
	cls = nvs_class_find(parse_hex4(line + 9));
	method = parse_hex4(line + 14);
	if (!cls || method >= METHODS)
		return;
	bit = (uint32_t)(cls - nvs_classes) * METHODS / 4 + method / 4;
	s->seen[bit / 8] |= (uint8_t)(1u << bit % 8);
}

static void end_submission(struct page_stream *s)
{
	if (s->cut && !s->pack.heads && !s->dropped) {
		nvs_html_pack_print(
			&s->pack, "    ... %" PRIu64 " more lines are not on this page\n", s->cut);
		s->left->lines += s->cut;
	}
	s->cut = 0;
	s->bytes = 0;
}

static void begin_submission(struct page_stream *s, const char *line, size_t n)
{
	take_lines(s, line);
	end_submission(s);
	s->number = strtoull(line + 1, NULL, 10);
	if (s->pack.n > NVS_PACK_BYTES)
		nvs_html_pack_flush(&s->pack);
	if (!s->pack.n) {
		s->pack.at = s->number;
		s->pack.items = 0;
		s->pack.process = s->process;
		s->pack.heads = nvs_html_press_exceeds(s->pack.press, NVS_HTML_WORDS);
		s->dump->brief = s->pack.heads;
	}
	s->dropped = nvs_html_press_exceeds(s->pack.press, NVS_HTML_HEADS);
	s->left->submissions += s->dropped;
	s->left->words += s->pack.heads && !s->dropped;
	if (s->dropped)
		return;
	s->pack.items++;
	s->from = line;
}

/* "== path ==" before each of several traces, or "123 method words ..." at the end. */
static void other_line(struct page_stream *s, const char *line, size_t n)
{
	take_lines(s, line);
	end_submission(s);
	nvs_html_pack_flush(&s->pack);
	s->dropped = true;
	s->process += n > 1 && line[0] == '=';
}

static void add_line(struct page_stream *s, const char *line, size_t n)
{
	if (line[0] == '#') {
		begin_submission(s, line, n);
	} else if (line[0] != ' ') {
		other_line(s, line, n);
	} else if (s->dropped) {
		return;
	} else if (s->pack.heads || s->bytes > NVS_HTML_EACH) {
		take_lines(s, line);
		s->cut++;
	} else {
		note_method(s, line, n);
		s->from = s->from ? s->from : line;
		s->bytes += n;
	}
}

static int hold_part(struct page_stream *s, const char *text, size_t n)
{
	char *grown = s->room - s->n < n ? realloc(s->part, 2 * (s->n + n)) : s->part;

	if (!grown)
		return -ENOMEM;
	if (s->room - s->n < n)
		s->room = 2 * (s->n + n);
	s->part = grown;
	memcpy(s->part + s->n, text, n);
	s->n += n;
	return 0;
}

static ssize_t on_text(void *arg, const char *text, size_t size)
{
	struct page_stream *s = arg;
	const char *end;

	for (size_t left = size; left; left -= (size_t)(end - text), text = end) {
		end = memchr(text, '\n', left);
		end = end ? end + 1 : text + left;
		if (!s->n && end[-1] == '\n') {
			add_line(s, text, (size_t)(end - text));
			continue;
		}
		take_lines(s, text);
		if (hold_part(s, text, (size_t)(end - text))) {
			s->pack.status = -ENOMEM;
		} else if (end[-1] == '\n') {
			add_line(s, s->part, s->n);
			take_lines(s, s->part + s->n);
		}
		s->n = end[-1] == '\n' ? 0 : s->n;
	}
	take_lines(s, text);
	return s->pack.status ? 0 : (ssize_t)size;
}

/* ---- description of methods, from the class tables ---- */

static void explain_field(struct nvs_html_pack *p, const struct nvs_field *f)
{
	const struct nvs_enum *v = nvs_values + f->values;

	nvs_html_pack_print(p, "\t%s %u:%u", nvs_class_string(f->name), f->hi, f->lo);
	for (uint32_t i = 0; f->hi != 255 && i < f->nvalues; i++)
		nvs_html_pack_print(p, " %s=%u", nvs_class_string(v[i].name), v[i].value);
}

static void explain_method(struct nvs_html_pack *p, const struct nvs_class *cls, uint32_t offset)
{
	struct nvs_method_at at;

	if (!nvs_method_find(cls, offset, &at))
		return;
	nvs_html_pack_print(p, "%04x %04x %s", cls->id, offset, nvs_class_string(at.method->name));
	if (at.method->count > 1)
		nvs_html_pack_print(p, "[%u]", at.index);
	nvs_html_pack_print(p, " %04x%s", at.cls->id, at.assumed ? " ~" : "");
	for (uint32_t i = 0; i < at.method->nfields; i++)
		explain_field(p, nvs_fields + at.method->fields + i);
	nvs_html_pack_put(p, "\n", 1);
}

static int explain_methods(const struct page_stream *s)
{
	struct nvs_html_pack p = {.out = s->pack.out, .kind = "words"};

	for (uint32_t i = 0; i < nvs_nclasses; i++) {
		const struct nvs_class *cls = nvs_classes + i;
		bool any = false;

		for (uint32_t m = 0; m < METHODS / 4; m++) {
			uint32_t bit = i * METHODS / 4 + m;

			if (!(s->seen[bit / 8] >> bit % 8 & 1))
				continue;
			if (!any)
				nvs_html_pack_print(&p, "class %04x %s\t%s\n", cls->id,
						    nvs_class_string(cls->name),
						    nvs_class_kind_name(cls->kind));
			any = true;
			explain_method(&p, cls, 4 * m);
		}
	}
	return nvs_html_pack_end(&p);
}

int nvs_html_print_stream(struct nvs_run *dump, struct nvs_html_left_out *left)
{
	struct nvs_out out = {.file = NULL};
	struct page_stream s = {.pack = {.out = dump->out->file,
					 .press = nvs_html_press_new(dump->out->file),
					 .kind = "stream",
					 .folds = true},
				.left = left,
				.dump = &out,
				.process = dump->n == 1,
				.dropped = true,
				.seen = calloc(nvs_nclasses + 1ul, METHODS / 32)};
	int r = -ENOMEM, end;

	if (s.seen && s.pack.press)
		out.file = nvs_html_pack_open(&s, on_text);
	if (out.file) {
		struct nvs_out *page = dump->out;

		dump->out = &out;
		r = dump->report->print(dump);
		if (fclose(out.file) && !r)
			r = s.pack.status ? s.pack.status : -EIO;
		dump->out = page;
		page->told += out.told;
	}
	end_submission(&s);
	end = nvs_html_pack_end(&s.pack);
	nvs_html_press_free(s.pack.press);
	r = r < 0 ? r : end;
	if (!r)
		r = explain_methods(&s);
	free(s.part);
	free(s.seen);
	return r;
}
