/* SPDX-License-Identifier: MIT */
/* The environment variable SOFTGPU: words separated by commas, some with a value. Linked into both
 * the software GPU and the stand-in driver. */
#ifndef SOFTGPU_OPTIONS_H
#define SOFTGPU_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* True if NAME is one of the words. */
bool sg_option(const char *name);
/* What follows NAME= in its word, up to a comma or the end. Returns NULL if there is none. */
const char *sg_option_value(const char *name);
/* Checks all words. Returns 0, or the length of a sentence in TEXT about the first one that is
 * wrong. */
uint32_t sg_options_check(char *text, uint32_t size);
/* Class of doorbell pages, c661 if not told. */
uint32_t sg_usermode(void);

#endif
