/* SPDX-License-Identifier: MIT */
/* Counts of operations: nvsnoop/calls.h has struct nvs_tally. */
#ifndef NVSNOOP_DECODE_CALLS_TALLY_H
#define NVSNOOP_DECODE_CALLS_TALLY_H

#include "nvsnoop/calls.h"

/* One more operation, of any kind but CODE. */
void nvs_tally_op(struct nvs_tally *t, const struct nvs_op *op);
/* A CODE operation: the copy that it speaks of is among T's, and is taken out of them. */
void nvs_tally_code(struct nvs_tally *t, const struct nvs_op *op);
void nvs_tally_sum(struct nvs_tally *into, const struct nvs_tally *from);

#endif
