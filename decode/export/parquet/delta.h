/* SPDX-License-Identifier: MIT */
/* Parquet's encoding DELTA_BINARY_PACKED: the differences between numbers, each block of them with
 * as few bits as it needs. */
#ifndef NVSNOOP_DECODE_EXPORT_PARQUET_DELTA_H
#define NVSNOOP_DECODE_EXPORT_PARQUET_DELTA_H

#include <stdint.h>

struct nvs_proto;

/* Appends N numbers to PAGE. */
void nvs_parquet_put_deltas(struct nvs_proto *page, const int64_t *numbers, uint32_t n);

#endif
