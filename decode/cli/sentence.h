/* SPDX-License-Identifier: MIT */
/*
 * Sentences for a person: numbers in groups of three digits, sizes and times in SI units, lines
 * that fit a terminal, and commands that can be typed as they stand. What is meant for programs
 * goes through tables.
 */
#ifndef NVSNOOP_DECODE_CLI_SENTENCE_H
#define NVSNOOP_DECODE_CLI_SENTENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "decode/cli/output.h"

/* Which of the two where the locale has UTF-8, and where it has not: for what is printed as text.
 * UTF-8 at first; the options decide. */
void nvs_signs_use(bool utf8);
const char *nvs_sign(const char *utf8, const char *ascii);
#define NVS_ARROW nvs_sign(" \u2192 ", " -> ")

/* 1234567 as "1,234,567"; TEXT is returned. */
char *nvs_grouped(char text[32], uint64_t n);
/* "1 gap", "1,234 gaps" */
void nvs_say_count(FILE *f, uint64_t n, const char *one, const char *many);
/* "64 bytes", "4.99 MB": three digits that count. */
void nvs_say_bytes(FILE *f, uint64_t bytes);
/* "6.42 µs", "318 ms"; DIGITS count, 2 or 3. */
void nvs_say_ns(FILE *f, double ns, int digits);
/* "12 %", "0.3 %" */
void nvs_say_share(FILE *f, double part, double whole);
/* Untrusted text, its control characters escaped, and cut to some WIDTH characters. */
void nvs_say_text(FILE *f, const char *text, size_t width);
/* TEXT as one word for a shell, whatever is in it: a name of a file, which is no option then, or
 * what stands behind the = of an option. */
void nvs_say_word(FILE *f, const char *text);
void nvs_say_value(FILE *f, const char *text);
#define NVS_TIED "\u00a0" /* a blank at which no line ends; printed as any other */
/* Prints TEXT, which is safe, broken at blanks, though not between a number and its unit; INDENT
 * blanks stand before the lines that follow the first. */
void nvs_print_wrapped(struct nvs_out *out, const char *text, int indent);

#endif
