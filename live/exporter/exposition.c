/* SPDX-License-Identifier: MIT */
/* Text of samples. Numbers are whole or have nine decimals: but a bucket's bound, none passes
 * through a float. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "nvsnoop/decode.h"
#include "live/exporter/exposition.h"

enum { NVS_LABEL_MAX = 1024 };

static void put(struct nvs_expose *e, const char *text, size_t n)
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

static void puts_to(struct nvs_expose *e, const char *text)
{
	put(e, text, strlen(text));
}

static const char *total(const struct nvs_expose *e)
{
	return e->family->type == NVS_COUNTER ? "_total" : "";
}

static void head(struct nvs_expose *e, const char *word, const char *text)
{
	puts_to(e, "# ");
	puts_to(e, word);
	puts_to(e, " ");
	puts_to(e, e->family->name);
	puts_to(e, e->openmetrics ? "" : total(e));
	puts_to(e, " ");
	puts_to(e, text);
	puts_to(e, "\n");
}

void nvs_expose_family(struct nvs_expose *e, const struct nvs_family *family)
{
	static const char *const types[] = {"counter", "gauge", "histogram"};

	e->family = family;
	head(e, "HELP", family->help);
	head(e, "TYPE", types[family->type]);
	if (e->openmetrics && family->unit)
		head(e, "UNIT", family->unit);
}

size_t nvs_expose_escape(char *dst, size_t room, const char *value)
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

/* Between braces; without any, none. */
static void labels(struct nvs_expose *e, const char *common, va_list list)
{
	const char *sign = "{", *name;

	if (*common) {
		puts_to(e, sign);
		puts_to(e, common);
		sign = ",";
	}
	while ((name = va_arg(list, const char *))) {
		const char *value = va_arg(list, const char *);
		char safe[2 * NVS_LABEL_MAX];
		size_t n;

		if (!value)
			continue;
		n = nvs_expose_escape(safe, sizeof(safe), value);
		puts_to(e, sign);
		puts_to(e, name);
		puts_to(e, "=\"");
		put(e, safe, n);
		puts_to(e, "\"");
		sign = ",";
	}
	if (*sign == ',')
		puts_to(e, "}");
}

static void sample(struct nvs_expose *e, const char *end, const char *common, const char *value,
		   va_list list)
{
	puts_to(e, e->family->name);
	puts_to(e, end);
	labels(e, common, list);
	puts_to(e, " ");
	puts_to(e, value);
	puts_to(e, "\n");
}

static void in_seconds(char *text, size_t room, uint64_t ns)
{
	snprintf(text, room, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

static bool is_time(const struct nvs_expose *e)
{
	return e->family->unit && !strcmp(e->family->unit, "seconds");
}

/* As OpenMetrics wants it: 1.024e-06, 0.0001, 1.0. */
static void as_bound(char *text, size_t room, double bound)
{
	snprintf(text, room - 2, "%.12g", bound);
	if (!strpbrk(text, ".e"))
		strcat(text, ".0");
}

void nvs_expose_count(struct nvs_expose *e, const char *common, uint64_t value, ...)
{
	char text[32];
	va_list list;

	snprintf(text, sizeof(text), "%" PRIu64, value);
	va_start(list, value);
	sample(e, total(e), common, text, list);
	va_end(list);
}

void nvs_expose_seconds(struct nvs_expose *e, const char *common, uint64_t ns, ...)
{
	char text[40];
	va_list list;

	in_seconds(text, sizeof(text), ns);
	va_start(list, ns);
	sample(e, total(e), common, text, list);
	va_end(list);
}

static void part(struct nvs_expose *e, const char *end, const char *common, const char *value, ...)
{
	va_list list;

	va_start(list, value);
	sample(e, end, common, value, list);
	va_end(list);
}

void nvs_expose_histogram(struct nvs_expose *e, const char *common, const uint64_t *bounds,
			  const uint64_t *counts, size_t nbounds, uint64_t sum)
{
	char number[32], bound[40];
	uint64_t so_far = 0;

	for (size_t i = 0; i <= nbounds; i++) {
		so_far += counts[i];
		snprintf(number, sizeof(number), "%" PRIu64, so_far);
		if (i < nbounds)
			as_bound(bound, sizeof(bound),
				 is_time(e) ? (double)bounds[i] / 1e9 : (double)bounds[i]);
		part(e, "_bucket", common, number, "le", i < nbounds ? bound : "+Inf", NULL);
	}
	part(e, "_count", common, number, NULL);
	if (is_time(e))
		in_seconds(bound, sizeof(bound), sum);
	else
		snprintf(bound, sizeof(bound), "%" PRIu64, sum);
	part(e, "_sum", common, bound, NULL);
}

void nvs_expose_end(struct nvs_expose *e)
{
	if (e->openmetrics)
		puts_to(e, "# EOF\n");
}
