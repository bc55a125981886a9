/* SPDX-License-Identifier: MIT */
/* The findings of --verify: a bounded list; repetitions are only counted. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "decode/trace/internal.h"

#define MAX_FINDINGS 1000

#define RAW 600 /* bytes of a text before its control characters are escaped */

void nvs_trace_add_finding(struct nvs_trace *t, enum nvs_finding_kind kind, const char *format, ...)
{
	struct nvs_finding_list *list = &t->findings;
	char raw[RAW], text[3 * RAW];
	va_list args;

	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	nvs_escape(text, sizeof(text), raw, strlen(raw));
	list->problems += kind == NVS_FINDING_PROBLEM;
	/* Repetitions usually follow at once. */
	for (uint32_t i = list->count; i && i + 8 > list->count; i--) {
		struct nvs_finding *f = &list->items[i - 1];

		if (f->kind == kind && !strcmp(f->text, text)) {
			f->count++;
			return;
		}
	}
	if (list->count >= MAX_FINDINGS)
		return;
	if (!list->items)
		list->items = calloc(MAX_FINDINGS, sizeof(*list->items));
	if (!list->items)
		return;
	list->items[list->count].text = strdup(text);
	if (!list->items[list->count].text)
		return;
	list->items[list->count].kind = kind;
	list->items[list->count++].count = 1;
}

void nvs_trace_change_finding(struct nvs_trace *t, uint32_t index, const char *format, ...)
{
	char raw[RAW], *text;
	va_list args;

	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	text = strdup(raw);
	if (!text)
		return;
	free((void *)t->findings.items[index].text);
	t->findings.items[index].text = text;
}

const struct nvs_finding *nvs_trace_finding(const struct nvs_trace *t, uint32_t index)
{
	return index < t->findings.count ? &t->findings.items[index] : NULL;
}

uint64_t nvs_trace_problems(const struct nvs_trace *t)
{
	return t->findings.problems;
}

void nvs_findings_free(struct nvs_trace *t)
{
	for (uint32_t i = 0; i < t->findings.count; i++)
		free((void *)t->findings.items[i].text);
	free(t->findings.items);
	memset(&t->findings, 0, sizeof(t->findings));
}
