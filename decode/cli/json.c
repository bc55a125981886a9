/* SPDX-License-Identifier: MIT */
/* Writes JSON. */
#include <math.h>
#include <string.h>
#include "decode/cli/json.h"
#include "nvsnoop/decode.h"

void nvs_json_string(FILE *file, const char *text, size_t length)
{
	fputc('"', file);
	for (size_t i = 0, n; i < length; i += n ? n : 1) {
		uint32_t c = (unsigned char)text[i];

		n = nvs_utf8(text + i, length - i, &c);
		if (c == '"' || c == '\\')
			fprintf(file, "\\%c", (int)c);
		else if (n && nvs_printable(c))
			fwrite(text + i, 1, n, file);
		else
			fprintf(file, "\\u%04x", c);
	}
	fputc('"', file);
}

void nvs_json_break(struct nvs_json *j)
{
	j->line = !j->flat;
}

void nvs_json_key(struct nvs_json *j, const char *name)
{
	if (j->more)
		fputc(',', j->file);
	if (j->line)
		fputc('\n', j->file);
	if (name)
		fprintf(j->file, "\"%s\":", name);
	j->more = true;
	j->line = false;
}

void nvs_json_open(struct nvs_json *j, const char *name, char bracket)
{
	nvs_json_key(j, name);
	fputc(bracket, j->file);
	j->more = false;
}

void nvs_json_close(struct nvs_json *j, char bracket)
{
	j->more = false;
	nvs_json_key(j, NULL);
	fputc(bracket, j->file);
}

void nvs_json_text(struct nvs_json *j, const char *name, const char *text)
{
	nvs_json_key(j, name);
	if (text)
		nvs_json_string(j->file, text, strlen(text));
	else
		fputs("null", j->file);
}

void nvs_json_name(struct nvs_json *j, const char *name, const char *text)
{
	nvs_json_text(j, name, text && *text ? text : NULL);
}

void nvs_json_bool(struct nvs_json *j, const char *name, bool value)
{
	nvs_json_key(j, name);
	fputs(value ? "true" : "false", j->file);
}

void nvs_json_known(struct nvs_json *j, const char *name, bool known, uint64_t value)
{
	nvs_json_key(j, name);
	if (known)
		fprintf(j->file, "%llu", (unsigned long long)value);
	else
		fputs("null", j->file);
}

void nvs_json_number(struct nvs_json *j, const char *name, uint64_t value)
{
	nvs_json_known(j, name, true, value);
}

void nvs_json_real(struct nvs_json *j, const char *name, const char *format, double value)
{
	nvs_json_key(j, name);
	if (isfinite(value))
		fprintf(j->file, format, value);
	else
		fputs("null", j->file);
}
