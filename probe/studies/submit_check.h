/* SPDX-License-Identifier: MIT */
/* Checks a text of commands before it is submitted: what it would access, and what it would
 * release. */
#ifndef NVSNOOP_PROBE_STUDIES_SUBMIT_CHECK_H
#define NVSNOOP_PROBE_STUDIES_SUBMIT_CHECK_H

#include "decode/assemble/assemble.h"
#include "probe/probe.h"

struct probe_buffer {
	const char *name; /* "src" */
	uint64_t address, size;
};

struct probe_release {
	uint64_t address, payload, value; /* value: the semaphore's value afterwards */
	bool known; /* VALUE is valid */
	bool wide, timestamp;
	uint8_t by; /* enum nvs_semaphore_by */
	struct nvs_asm_place at;
};

struct probe_effects {
	const char *file; /* for messages */
	const struct probe_buffer *buffers;
	uint32_t nbuffers;
	bool unsafe; /* refuse nothing */
	/* Results: */
	uint32_t refused;
	bool only_copies; /* only copy-engine and host classes are used */
	struct probe_release *releases;
	uint32_t nreleases;
};

/*
 * Decodes the words of A as the GPU would. Reports on stderr what is refused: addresses outside of
 * BUFFERS, methods and classes without a table, grids, and malformed commands. Fills in the results
 * in E.
 */
void probe_effects(struct probe_effects *e, const struct nvs_assembly *a);

#endif
