/* SPDX-License-Identifier: MIT */
/* Reads a trace with every function of the library, and reads all results. */
#ifndef NVSNOOP_TESTS_FUZZ_READING_H
#define NVSNOOP_TESTS_FUZZ_READING_H

#include <stddef.h>
#include "nvsnoop/decode.h"

void fuzz_read(const char *trace, const char *spool);

/* consumer.c: once, by the public decoder alone, which is all that it needs. */
int fuzz_consume(struct nvs_trace *trace, struct nvs_error *err);
void fuzz_touch(const void *data, size_t size);

#endif
