/* SPDX-License-Identifier: MIT */
/*
 * Numbers, sizes, times and words, as options have them, for all programs and for NVSNOOP_OPTIONS.
 * Needs the C library alone, and neither allocates nor depends on the locale: the library parses
 * its options inside other programs.
 */
#ifndef NVSNOOP_DECODE_CLI_UNITS_H
#define NVSNOOP_DECODE_CLI_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "decode/cli/options.h"

#define NVS_NS 1000000000ull /* ns in a second */

/* These read a value at *TEXT and move *TEXT to what follows it. They return false if no digit is
 * there or the value is above MAX. */
/* Decimal, or hexadecimal after 0x. */
bool nvs_read_number(const char **text, uint64_t max, uint64_t *value);
/* Digits in units of UNIT, with a fraction if UNIT has smaller parts; rounds down. */
bool nvs_read_decimal(const char **text, uint64_t unit, uint64_t max, uint64_t *value);
/* A number, in bytes or in K, M, G or T of 1024. */
bool nvs_read_size(const char **text, uint64_t max, uint64_t *bytes);

/* Returns the index of TEXT among WORDS ("text|json|csv"), or -1. */
int nvs_word_index(const char *words, const char *text);

/* Returns the name of the option that WORD (of LENGTH bytes) is probably meant to be, or NULL. */
const char *nvs_option_nearest(const struct nvs_option *options, const char *word, size_t length);
/* Finds the word among WORDS that TEXT is probably meant to be. Returns its length, or 0. */
size_t nvs_word_nearest(const char *words, const char *text, const char **word);

/* Stores TEXT, which is NULL for an option without a value, in TARGET. Returns 0, NVS_OPTION_WRONG,
 * or what the option's own setter returned. */
int nvs_option_store(const struct nvs_option *option, void *target, const char *text);
/* Writes what a value of OPTION has to be, for "NAME must be RULE, not 'TEXT'". */
void nvs_option_rule(const struct nvs_option *option, char *rule, size_t size);

#endif
