/* SPDX-License-Identifier: MIT */
/* Converts each GPU's clock to the session's clock, from the trace's readings of both. */
#ifndef NVSNOOP_DECODE_CALLS_GPUCLOCK_H
#define NVSNOOP_DECODE_CALLS_GPUCLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/decode.h"

struct nvs_gpuclock;
struct nvs_gpuclock *nvs_gpuclock_new(void); /* NULL if memory is short */
void nvs_gpuclock_free(struct nvs_gpuclock *k);
/* Returns 0 or -ENOMEM. */
int nvs_gpuclock_record(struct nvs_gpuclock *k, const struct nvs_rec_gpu_clock *rec);
/* Call when the session's clock is known. */
void nvs_gpuclock_finish(struct nvs_gpuclock *k, const struct nvs_trace *trace);
/* Converts NS of GPU's clock to ns since the start of the session, with an error of at most *GIVE.
 * Returns false if unknown. */
bool nvs_gpuclock_to_session(const struct nvs_gpuclock *k, uint32_t gpu, uint64_t ns, int64_t *at,
			     uint64_t *give);

#endif
