/* SPDX-License-Identifier: MIT */
/* What the closing lines say of faults of the GPU, and how the library sends it to the launcher. */
#ifndef NVSNOOP_PRELOAD_BASE_FAULT_TEXT_H
#define NVSNOOP_PRELOAD_BASE_FAULT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first fault of a process, as the recorder saw it; all zero: none. */
struct nvs_fault_facts {
	uint32_t groups; /* number of channel groups that an error ended */
	uint32_t number; /* of the first, as the kernel log's Xid */
	uint32_t channel, channels; /* its first channel; number of channels that it ended */
	uint32_t error; /* CUresult of the first call that failed because of an error of a kernel */
	uint64_t after_us; /* since the start of recording, when it was seen */
};

#define NVS_FAULT_FIELD 80 /* bytes that a field of the summary takes at most */
#define NVS_FAULT_TEXT 240 /* bytes of the sentence at most */

static inline bool nvs_fault_is_known(const struct nvs_fault_facts *f)
{
	return f->groups || f->error;
}
/* For the launcher: as one word, and back. A word that is none leaves *F all zero. */
void nvs_fault_format(const struct nvs_fault_facts *f, char *to, size_t room);
void nvs_fault_parse(const char *field, struct nvs_fault_facts *f);
/* A sentence without its final period. */
void nvs_fault_describe(const struct nvs_fault_facts *f, char *to, size_t room);

#endif
