/* SPDX-License-Identifier: MIT */
/* Writes samples as text. Values are integers, or seconds with nine decimals: only the bounds of
 * buckets pass through floating point. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "nvsnoop/decode.h"
#include "live/exporter/exposition.h"

enum { NVS_LABEL_MAX = 1024 };

static void append_bytes(struct nvs_exposition *e, const char *text, size_t n)
{
	if (n > e->room - e->size) {
		size_t room = (e->room ? e->room : 1 << 14) * 2;
		char *more;

		while (room - e->size < n)
			room *= 2;
		more = e->failed ? NULL : realloc(e->text, room);
		if (!more) {
			e->failed = true;
			return;
		}
		e->text = more;
		e->room = room;
	}
	memcpy(e->text + e->size, text, n);
	e->size += n;
}

static void append_text(struct nvs_exposition *e, const char *text)
{
	append_bytes(e, text, strlen(text));
}

static const char *counter_suffix(const struct nvs_exposition *e)
{
	return e->family->type == NVS_COUNTER ? "_total" : "";
}

static void append_header(struct nvs_exposition *e, const char *word, const char *text)
{
	append_text(e, "# ");
	append_text(e, word);
	append_text(e, " ");
	append_text(e, e->family->name);
	append_text(e, e->openmetrics ? "" : counter_suffix(e));
	append_text(e, " ");
	append_text(e, text);
	append_text(e, "\n");
}

void nvs_exposition_begin_family(struct nvs_exposition *e, const struct nvs_family *family)
{
	static const char *const types[] = {"counter", "gauge", "histogram"};

	e->family = family;
	append_header(e, "HELP", family->help);
	append_header(e, "TYPE", types[family->type]);
	if (e->openmetrics && family->unit)
		append_header(e, "UNIT", family->unit);
}

size_t nvs_escape_label(char *dst, size_t room, const char *value)
{
	char safe[NVS_LABEL_MAX];
	size_t out = 0;

	nvs_escape(safe, sizeof(safe), value, strlen(value));
	for (const char *p = safe; *p && out + 3 < room; p++) {
		if (*p == '\\' || *p == '"')
			dst[out++] = '\\';
		dst[out++] = *p;
	}
	dst[out] = 0;
	return out;
}

/* Appends the labels in braces, or nothing if there are none. */
static void append_labels(struct nvs_exposition *e, const char *common, va_list list)
{
	const char *sign = "{", *name;

	if (*common) {
		append_text(e, sign);
		append_text(e, common);
		sign = ",";
	}
	while ((name = va_arg(list, const char *))) {
		const char *value = va_arg(list, const char *);
		char safe[2 * NVS_LABEL_MAX];
		size_t n;

		if (!value)
			continue;
		n = nvs_escape_label(safe, sizeof(safe), value);
		append_text(e, sign);
		append_text(e, name);
		append_text(e, "=\"");
		append_bytes(e, safe, n);
		append_text(e, "\"");
		sign = ",";
	}
	if (*sign == ',')
		append_text(e, "}");
}

static void append_sample(struct nvs_exposition *e, const char *end, const char *common,
			  const char *value, va_list list)
{
	append_text(e, e->family->name);
	append_text(e, end);
	append_labels(e, common, list);
	append_text(e, " ");
	append_text(e, value);
	append_text(e, "\n");
}

static bool is_time(const struct nvs_exposition *e)
{
	return e->family->unit && !strcmp(e->family->unit, "seconds");
}

static void format_value(const struct nvs_exposition *e, char text[40], uint64_t value)
{
	if (is_time(e))
		snprintf(text, 40, "%" PRIu64 ".%09" PRIu64, value / 1000000000,
			 value % 1000000000);
	else
		snprintf(text, 40, "%" PRIu64, value);
}

/* Formats a bound as OpenMetrics requires: 1.024e-06, 0.0001, 1.0. */
static void format_bound(char *text, size_t room, double bound)
{
	snprintf(text, room - 2, "%.12g", bound);
	if (!strpbrk(text, ".e"))
		strcat(text, ".0");
}

void nvs_exposition_add(struct nvs_exposition *e, const char *common, uint64_t value, ...)
{
	char text[40];
	va_list list;

	format_value(e, text, value);
	va_start(list, value);
	append_sample(e, counter_suffix(e), common, text, list);
	va_end(list);
}

static void append_part(struct nvs_exposition *e, const char *end, const char *common,
			const char *value, ...)
{
	va_list list;

	va_start(list, value);
	append_sample(e, end, common, value, list);
	va_end(list);
}

void nvs_exposition_add_histogram(struct nvs_exposition *e, const char *common,
				  const uint64_t *bounds, const uint64_t *counts, size_t nbounds,
				  uint64_t sum)
{
	char number[32], bound[40];
	uint64_t so_far = 0;

	for (size_t i = 0; i <= nbounds; i++) {
		so_far += counts[i];
		snprintf(number, sizeof(number), "%" PRIu64, so_far);
		if (i < nbounds)
			format_bound(bound, sizeof(bound),
				     is_time(e) ? (double)bounds[i] / 1e9 : (double)bounds[i]);
		append_part(e, "_bucket", common, number, "le", i < nbounds ? bound : "+Inf", NULL);
	}
	append_part(e, "_count", common, number, NULL);
	format_value(e, bound, sum);
	append_part(e, "_sum", common, bound, NULL);
}

void nvs_exposition_end(struct nvs_exposition *e)
{
	if (e->openmetrics)
		append_text(e, "# EOF\n");
}
