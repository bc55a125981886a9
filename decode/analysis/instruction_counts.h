/* SPDX-License-Identifier: MIT */
/* Instructions that kernels have counted, by their names: of one trace. */
#ifndef NVSNOOP_DECODE_ANALYSIS_INSTRUCTION_COUNTS_H
#define NVSNOOP_DECODE_ANALYSIS_INSTRUCTION_COUNTS_H

#include "decode/base/numbers.h"
#include "decode/base/keyed_rows.h"

/* A kernel, in all images that have one of this name. */
struct nvs_counted {
	uint64_t hash; /* of its name: the key */
	char *name; /* mangled */
	uint32_t flags; /* NVS_COUNT_*, of those that count */
	char *reason; /* why it does not count, in one image at least; NULL */
	uint32_t instructions, registers[2]; /* of the latest; NVS_NONE: not known */
	uint64_t warp, thread;
	uint32_t wrapped; /* NVS_COUNT_*, of which the sum is too small */
	bool launched; /* has a row of --by-kernel */
	void *user;
};

/* Images of which no kernel counts. */
struct nvs_uncounted_images {
	uint64_t hash;
	char *reason;
	uint64_t images;
};

struct nvs_counted_kernels {
	struct nvs_numbers counters; /* the kernel of each */
	struct nvs_rows rows; /* struct nvs_counted */
	struct nvs_rows images; /* struct nvs_uncounted_images */
	uint64_t unread; /* readings that came to nothing */
	bool last_unread;
	uint32_t first, end; /* of a kernel's instructions; END 0: all */
};

/* C is zero at first. 0 or -ENOMEM. */
int nvs_counted_record(struct nvs_counted_kernels *c, const struct nvs_rec *rec);
void nvs_counted_forget(struct nvs_counted_kernels *c);
/* NULL: nothing is known of a kernel of that name. */
struct nvs_counted *nvs_counted_of(const struct nvs_counted_kernels *c, const char *name);
/* NULL: a number without a COUNTER. */
static inline struct nvs_counted *nvs_counted_at(const struct nvs_counted_kernels *c,
						 uint32_t counter)
{
	return nvs_number_get(&c->counters, counter);
}

#endif
