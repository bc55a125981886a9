/* SPDX-License-Identifier: MIT */
/* Shared by the fuzz targets. Each target is one file with LLVMFuzzerTestOneInput(). Linked with
 * libFuzzer it searches (`make fuzz`); linked with replay.c it runs the corpus (`make check`). */
#ifndef NVSNOOP_TESTS_FUZZ_H
#define NVSNOOP_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the run as a sanitizer would, where COND does not hold. */
#define FUZZ_HOLDS(cond)                                                                    \
	do {                                                                                \
		if (!(cond)) {                                                              \
			dprintf(2, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond); \
			abort();                                                            \
		}                                                                           \
	} while (0)

/* A file of its own with these bytes, and its name; emptied by the next call for the same SLOT. */
enum fuzz_slot { FUZZ_TRACE, FUZZ_SPOOL, FUZZ_SLOTS };
const char *fuzz_file(enum fuzz_slot slot, const void *data, size_t size);
/* The same for a trace: DATA is either a file as it stands (it begins with a zstd frame) or the
 * plain stream, which is packed here, a frame from each NVS_REC_FRAME to the next. */
const char *fuzz_trace_file(const uint8_t *data, size_t size);

#endif
