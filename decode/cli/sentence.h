/* SPDX-License-Identifier: MIT */
/* Text for people: grouped digits, SI units, lines wrapped to the terminal, shell-quoted commands.
 * Output for programs goes through tables. */
#ifndef NVSNOOP_DECODE_CLI_SENTENCE_H
#define NVSNOOP_DECODE_CLI_SENTENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "decode/cli/output.h"

/* nvs_locale_sign() returns UTF8 or ASCII, as nvs_use_utf8_signs() has set; UTF-8 by default. The
 * options set it. */
void nvs_use_utf8_signs(bool utf8);
const char *nvs_locale_sign(const char *utf8, const char *ascii);
#define NVS_ARROW nvs_locale_sign(" \u2192 ", " -> ")

/* Formats 1234567 as "1,234,567"; returns TEXT. */
char *nvs_format_grouped(char text[32], uint64_t n);

/* Parts of a sentence, to print with %s; valid to the end of the block that has the call. */
#define NVS_PART_BYTES 96
#define NVS_COUNT(n, one, many) nvs_format_count((char[NVS_PART_BYTES]){""}, n, one, many)
#define NVS_BYTES(bytes) nvs_format_bytes((char[NVS_PART_BYTES]){""}, bytes)
#define NVS_DURATION(ns) nvs_format_duration((char[NVS_PART_BYTES]){""}, (double)(ns), 3)
#define NVS_ROUGHLY(ns) nvs_format_duration((char[NVS_PART_BYTES]){""}, (double)(ns), 2)
#define NVS_PERCENT(part, whole) \
	nvs_format_percent((char[NVS_PART_BYTES]){""}, (double)(part), (double)(whole))
#define NVS_TEXT_BYTES 4096
#define NVS_TEXT(text, width) nvs_format_text((char[NVS_TEXT_BYTES]){""}, text, width)

/* "1 gap", "1,234 gaps" */
const char *nvs_format_count(char *part, uint64_t n, const char *one, const char *many);
/* "64 bytes", "4.99 MB": three significant digits. */
const char *nvs_format_bytes(char *part, uint64_t bytes);
/* "6.42 µs", "318 ms"; DIGITS significant digits, 2 or 3. */
const char *nvs_format_duration(char *part, double ns, int digits);
/* "12 %", "0.3 %" */
const char *nvs_format_percent(char *part, double part_of, double whole);
/* Untrusted text: control characters escaped, cut to about WIDTH characters. */
const char *nvs_format_text(char *dst, const char *text, size_t width);
/* TEXT quoted as one word for a shell: nvs_print_shell_word() for a file name, which must not look
 * like an option, nvs_print_option_value() for text after the = of an option. */
void nvs_print_shell_word(FILE *f, const char *text);
void nvs_print_option_value(FILE *f, const char *text);
#define NVS_TIED "\u00a0" /* a blank at which lines are not broken; printed as a blank */
/* Prints TEXT, which must be escaped already, broken at blanks but not between a number and its
 * unit; lines after the first are indented by INDENT. */
void nvs_print_wrapped(struct nvs_out *out, const char *text, int indent);
/* The same, for lines of ROOM columns. */
void nvs_wrap_text(FILE *f, const char *text, int room, int indent);

#endif
