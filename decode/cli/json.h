/* SPDX-License-Identifier: MIT */
/* Writes JSON member by member, with commas where they belong. */
#ifndef NVSNOOP_DECODE_CLI_JSON_H
#define NVSNOOP_DECODE_CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct nvs_json {
	FILE *file;
	bool flat; /* all on one line */
	bool more; /* the next member or item needs a comma before it */
	bool line; /* it begins on a new line */
};

#define NVS_JSON_BYTES 6 /* of a byte of text, at most */

/* Writes the inside of nvs_json_string() at TO, without a NUL; returns its end. */
char *nvs_json_escape(char *to, const char *text, size_t length);
/* Untrusted text in quotes. A byte outside of valid UTF-8 becomes U+00xx. */
void nvs_json_string(FILE *file, const char *text, size_t length);

/* The members of an object. In a list, NAME is NULL. BRACKET is one of {}[]. */
void nvs_json_open(struct nvs_json *j, const char *name, char bracket);
void nvs_json_close(struct nvs_json *j, char bracket);
/* What comes next begins on a new line, unless all is on one. */
void nvs_json_break(struct nvs_json *j);
/* The caller writes the value itself. */
void nvs_json_key(struct nvs_json *j, const char *name);
void nvs_json_text(struct nvs_json *j, const char *name, const char *text); /* NULL: null */
/* null if TEXT is empty, too. */
void nvs_json_name(struct nvs_json *j, const char *name, const char *text);
void nvs_json_bool(struct nvs_json *j, const char *name, bool value);
void nvs_json_number(struct nvs_json *j, const char *name, uint64_t value);
/* null if not KNOWN. */
void nvs_json_known(struct nvs_json *j, const char *name, bool known, uint64_t value);
/* null if VALUE is not finite. FORMAT is for one double. */
void nvs_json_real(struct nvs_json *j, const char *name, const char *format, double value)
	__attribute__((format(printf, 3, 0)));

#endif
