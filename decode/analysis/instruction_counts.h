/* SPDX-License-Identifier: MIT */
/* Instructions counted by kernels, by kernel name, for one trace. */
#ifndef NVSNOOP_DECODE_ANALYSIS_INSTRUCTION_COUNTS_H
#define NVSNOOP_DECODE_ANALYSIS_INSTRUCTION_COUNTS_H

#include "decode/base/numbers.h"
#include "decode/base/keyed_rows.h"

/* A kernel, merged over all images that have one of this name. */
struct nvs_kernel_count {
	uint64_t hash; /* of the name: the key */
	char *name; /* mangled */
	uint32_t flags; /* NVS_COUNT_*, of the images that count */
	char *reason; /* why some image does not count; or NULL */
	uint32_t instructions, registers[2]; /* of the latest image; NVS_NONE: unknown */
	uint64_t warp, thread;
	uint32_t wrapped; /* NVS_COUNT_* whose sum is too small */
	bool launched; /* has a row of --by-kernel */
	void *user;
};

/* Images without any counted kernel, by reason. */
struct nvs_image_reason_count {
	uint64_t hash;
	char *reason;
	uint64_t images;
};

struct nvs_kernel_counts {
	struct nvs_numbers counters; /* kernel of each counter */
	struct nvs_rows rows; /* struct nvs_kernel_count */
	struct nvs_rows images; /* struct nvs_image_reason_count */
	uint64_t unread; /* failed readings */
	bool last_unread;
	uint32_t first, end; /* range of counted instructions; END 0: all */
};

/* Adds a record. C starts zeroed. Returns 0 or -ENOMEM. */
int nvs_kernel_counts_record(struct nvs_kernel_counts *c, const struct nvs_rec *rec);
void nvs_kernel_counts_free(struct nvs_kernel_counts *c);
/* Returns NULL if the name is unknown. */
struct nvs_kernel_count *nvs_kernel_counts_find(const struct nvs_kernel_counts *c,
						const char *name);
/* Returns NULL if COUNTER is not in use. */
static inline struct nvs_kernel_count *nvs_kernel_counts_at(const struct nvs_kernel_counts *c,
							    uint32_t counter)
{
	return nvs_number_get(&c->counters, counter);
}

#endif
