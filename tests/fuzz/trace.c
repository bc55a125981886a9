/* SPDX-License-Identifier: MIT */
/* FUZZ: decode */
/* The reader's library over traces of strangers. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_read(fuzz_trace_file(data, size), NULL);
	return 0;
}
