/* SPDX-License-Identifier: MIT */
/* Prints one value of a table, for programs or for people. */
#include <math.h>
#include <string.h>
#include "decode/base/digits.h"
#include "decode/cli/table.h"
#include "nvsnoop/decode.h"

#define BAR 10 /* characters of a full bar */
#define SMALL 0.095
#define LARGE 999.995 /* from here on without decimals */

void nvs_value_plain_format(char *dst, size_t room, const struct nvs_value *v, const char *none)
{
	switch (v->kind) {
	case NVS_VALUE_COUNT:
	case NVS_VALUE_HEX:
		snprintf(dst, room, "%llu", (unsigned long long)v->count);
		break;
	case NVS_VALUE_REAL:
		/* With two decimals, small values would print as 0.00. */
		snprintf(dst, room,
			 v->real > -SMALL && v->real < SMALL && v->real ? "%.3g" : "%.2f", v->real);
		break;
	case NVS_VALUE_DECIMAL:
		snprintf(dst, room, "%.*f", (int)v->count, v->real);
		break;
	case NVS_VALUE_FLOAT:
		snprintf(dst, room, "%.9g", v->real);
		break;
	case NVS_VALUE_DOUBLE:
		snprintf(dst, room, "%.15g", v->real);
		break;
	case NVS_VALUE_NS:
	case NVS_VALUE_INTEGER:
		snprintf(dst, room, "%lld", (long long)v->ns);
		break;
	case NVS_VALUE_TRUTH:
		snprintf(dst, room, "%s", v->count ? "true" : "false");
		break;
	default:
		snprintf(dst, room, "%s", none);
	}
}

/* 0.024, 24.55, 127.8, 2,316; fewer decimals if there are fewer. */
static void format_decimal(char *dst, size_t room, const struct nvs_value *v)
{
	double x = fabs(v->real);
	int most = x < 0.9995 ? 3 : x < 99.995 ? 2 : x < 999.95 ? 1 : 0;
	size_t sign = v->real < 0;

	snprintf(dst, room, "%.*f", v->count < (uint64_t)most ? (int)v->count : most, v->real);
	nvs_group_digits(dst + sign, room - sign);
}

/* 24.55, 127.80, 2,316 */
static void format_real(char *dst, size_t room, double x)
{
	size_t sign = x < 0;

	snprintf(dst, room, fabs(x) < LARGE ? "%.2f" : "%.0f", x);
	nvs_group_digits(dst + sign, room - sign);
}

void nvs_value_text_format(char *dst, size_t room, const struct nvs_value *v)
{
	uint64_t abs = v->ns < 0 ? -(uint64_t)v->ns : (uint64_t)v->ns;

	switch (v->kind) {
	case NVS_VALUE_HEX:
		snprintf(dst, room, "0x%llx", (unsigned long long)v->count);
		break;
	case NVS_VALUE_NS:
		snprintf(dst, room, "%s%llu.%09llu", v->ns < 0 ? "-" : "",
			 (unsigned long long)(abs / 1000000000),
			 (unsigned long long)(abs % 1000000000));
		break;
	case NVS_VALUE_REAL:
		format_real(dst, room, v->real);
		break;
	case NVS_VALUE_DECIMAL:
	case NVS_VALUE_FLOAT:
	case NVS_VALUE_DOUBLE:
		format_decimal(dst, room, v);
		break;
	case NVS_VALUE_BAR:
		snprintf(dst, room, "%.*s", (int)(v->real * BAR + 0.5), "##########");
		break;
	default:
		nvs_value_plain_format(dst, room, v, "-");
	}
	if (v->kind == NVS_VALUE_TRUTH && !v->count)
		snprintf(dst, room, "-");
	else if (v->kind != NVS_VALUE_NONE && v->text)
		nvs_escape(dst, room, v->text, strlen(v->text));
}

double nvs_value_rough_format(char *dst, size_t room, double x)
{
	double unit = x < 0.995 ? 0.01 : x < 9.95 ? 0.1 : 1;

	while (x / unit >= 99.5)
		unit *= 10;
	x = (double)(int)(x / unit + 0.5) * unit; /* of two digits */
	snprintf(dst, room, "%.*f", unit < 0.05 ? 2 : unit < 0.5 ? 1 : 0, x);
	nvs_group_digits(dst, room);
	return x;
}

void nvs_value_json(FILE *file, const struct nvs_value *v)
{
	char text[NVS_VALUE_ROOM];

	if (v->kind == NVS_VALUE_TEXT) {
		nvs_json_string(file, v->text, strlen(v->text));
		return;
	}
	nvs_value_plain_format(text, sizeof(text), v, "null");
	fputs(text, file);
}
