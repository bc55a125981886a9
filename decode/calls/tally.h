/* SPDX-License-Identifier: MIT */
/* Counts operations in a struct nvs_tally (nvsnoop/calls.h). */
#ifndef NVSNOOP_DECODE_CALLS_TALLY_H
#define NVSNOOP_DECODE_CALLS_TALLY_H

#include "nvsnoop/calls.h"

/* Adds an operation of any kind except CODE. */
void nvs_tally_add(struct nvs_tally *t, const struct nvs_op *op);
/* Adds a CODE operation, and removes the copy that it identifies as code from T's copies. */
void nvs_tally_add_code(struct nvs_tally *t, const struct nvs_op *op);
void nvs_tally_sum(struct nvs_tally *into, const struct nvs_tally *from);

#endif
