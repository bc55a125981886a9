/* SPDX-License-Identifier: MIT */
/* Splits a line into tokens, and reports errors. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "decode/assemble/text.h"
#include "nvsnoop/decode.h"

#define ERRORS_MAX 20

static void report_error(struct nvs_asm *s, const struct nvs_asm_place *at, const char *message)
{
	if (++s->errors > ERRORS_MAX)
		return;
	s->in->complain(s->in->arg, at, message);
	if (s->errors == ERRORS_MAX) {
		s->in->complain(s->in->arg, at, "too many errors; the rest is not checked");
		s->over = true;
	}
}

void nvs_asm_error_at(struct nvs_asm *s, const struct nvs_asm_place *at, const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	report_error(s, at, text);
	/* An error in a repetition would repeat in each pass, so leave all repetitions. */
	for (uint32_t i = 0; i < s->deep; i++)
		s->repeat[i].left = 0;
	s->bad = true;
}

void nvs_asm_error(struct nvs_asm *s, uint32_t column, const char *format, ...)
{
	struct nvs_asm_place at = {s->at.line, column ? column : s->at.column};
	char text[512];
	va_list ap;

	if (s->bad)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	nvs_asm_error_at(s, &at, "%s", text);
}

void nvs_asm_unknown_name(struct nvs_asm *s, const struct nvs_token *t,
			  const struct nvs_nearest *near, const char *format, ...)
{
	char text[160], meant[256], name[128];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	nvs_escape(name, sizeof(name), t->p, t->n);
	nvs_asm_error(s, t->column, "%s '%s'%s", text, name,
		      nvs_nearest_text(near, meant, sizeof(meant)));
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

struct nvs_token nvs_asm_next_token(struct nvs_asm *s)
{
	struct nvs_token t = {0};

	while (s->next < s->end && is_blank(*s->next))
		s->next++;
	t.p = s->next;
	t.column = (uint32_t)(t.p - s->line_start) + 1;
	if (s->next == s->end || *s->next == '\n' || *s->next == '#' || *s->next == ';')
		return t;
	while (s->next < s->end && !is_blank(*s->next) && *s->next != '\n')
		s->next++;
	t.n = (size_t)(s->next - t.p);
	return t;
}

void nvs_asm_put_back(struct nvs_asm *s, const struct nvs_token *t)
{
	s->next = t->p;
}

bool nvs_token_is(const struct nvs_token *t, const char *word)
{
	return strlen(word) == t->n && !memcmp(t->p, word, t->n);
}

const char *nvs_token_name(const struct nvs_token *t, char name[NVS_ASM_NAME])
{
	if (t->n >= NVS_ASM_NAME || memchr(t->p, 0, t->n))
		return NULL;
	memcpy(name, t->p, t->n);
	name[t->n] = 0;
	return name;
}
