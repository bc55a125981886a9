/* SPDX-License-Identifier: MIT */
/* Reads a trace in every way the library offers, and touches all that it hands out. */
#ifndef NVSNOOP_TESTS_FUZZ_READING_H
#define NVSNOOP_TESTS_FUZZ_READING_H

#include "nvsnoop/decode.h"

void fuzz_read(const char *trace, const char *spool);

#endif
