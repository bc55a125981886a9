/* SPDX-License-Identifier: MIT */
/* Each GPU's clock beside the session's, by the trace's readings of both. */
#ifndef NVSNOOP_DECODE_CALLS_GPUCLOCK_H
#define NVSNOOP_DECODE_CALLS_GPUCLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/decode.h"

struct nvs_gpuclock;
struct nvs_gpuclock *nvs_gpuclock_new(void); /* NULL: no memory */
void nvs_gpuclock_free(struct nvs_gpuclock *k);
/* 0 or -ENOMEM. */
int nvs_gpuclock_record(struct nvs_gpuclock *k, const struct nvs_rec_gpu_clock *rec);
/* The session's clock is known now. */
void nvs_gpuclock_settle(struct nvs_gpuclock *k, const struct nvs_trace *trace);
/* NS of GPU's clock as ns since the session's start, give or take *GIVE. False: not known. */
bool nvs_gpuclock_session(const struct nvs_gpuclock *k, uint32_t gpu, uint64_t ns, int64_t *at,
			  uint64_t *give);

#endif
