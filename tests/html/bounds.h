/* SPDX-License-Identifier: MIT */
/* Limits of a page for the test: so low that a small trace exceeds them. */
#ifndef NVSNOOP_TESTS_HTML_BOUNDS_H
#define NVSNOOP_TESTS_HTML_BOUNDS_H

#include <stdint.h>
#include <stdlib.h>

/* Without the variable the bound is far away. */
static inline uint64_t bound(const char *variable)
{
	const char *value = getenv(variable);

	return value ? strtoull(value, NULL, 10) : 1u << 30;
}

#define NVS_HTML_ROWS bound("NVS_HTML_ROWS")
#define NVS_HTML_EVENTS bound("NVS_HTML_EVENTS")
#define NVS_HTML_NODES bound("NVS_HTML_NODES")
#define NVS_HTML_TIMES bound("NVS_HTML_TIMES")
#define NVS_HTML_EACH bound("NVS_HTML_EACH")
#define NVS_HTML_WORDS bound("NVS_HTML_WORDS")
#define NVS_HTML_HEADS bound("NVS_HTML_HEADS")
#define NVS_PACK_BYTES 1024u

#endif
