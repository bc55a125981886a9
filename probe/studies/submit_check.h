/* SPDX-License-Identifier: MIT */
/* What a text of commands would do: whether that is allowed, and what it releases. */
#ifndef NVSNOOP_PROBE_STUDIES_SUBMIT_CHECK_H
#define NVSNOOP_PROBE_STUDIES_SUBMIT_CHECK_H

#include "decode/assemble/assemble.h"
#include "probe/probe.h"

struct probe_buffer {
	const char *name; /* "src" */
	uint64_t address, size;
};

struct probe_release {
	uint64_t address, payload, value; /* value: what stands there then */
	bool known; /* value is */
	bool wide, timestamp;
	uint8_t by; /* enum nvs_semaphore_by */
	struct nvs_asm_place at;
};

struct probe_effects {
	const char *file; /* for what is said */
	const struct probe_buffer *buffers;
	uint32_t nbuffers;
	bool unsafe; /* nothing is refused */
	/* Filled: */
	uint32_t refused;
	bool only_copies; /* nothing but the copy engine and the host has anything to do */
	struct probe_release *releases;
	uint32_t nreleases;
};

/*
 * Reads the words as the GPU would. Complains on stderr of what is refused: addresses outside of
 * BUFFERS, methods and classes without a table, grids, and words that are no commands.
 */
void probe_effects(struct probe_effects *e, const struct nvs_assembly *a);

#endif
