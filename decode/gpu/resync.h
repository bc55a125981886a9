/* SPDX-License-Identifier: MIT */
/* Where a stream of pushbuffer dwords can be read again after something that is no header. */
#ifndef NVSNOOP_DECODE_GPU_RESYNC_H
#define NVSNOOP_DECODE_GPU_RESYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "decode/gpu/ops.h"

#define NVS_RESUME_HEADERS 16u /* looked at of a stretch */
#define NVS_RESUME_ZEROS 64u /* dwords: padding, the end of a piece */
/* Dwords that the longest stretch takes. */
#define NVS_RESUME_AHEAD (NVS_RESUME_HEADERS * (0x2000u + NVS_RESUME_ZEROS))

/*
 * Looks through N dwords for the first from which on the stream fits: headers that have a form and
 * whose methods are known in the classes that are bound in C, one behind the other with their data,
 * eight of them, or fewer where they reach the stream's end (ENDS: N is all there is) or padding.
 * *PASSED: how many lie before it; false: none yet, and without ENDS the last NVS_RESUME_AHEAD are
 * not passed, but to be given again with more behind them. The time it takes is linear in N.
 */
bool nvs_resume(const struct nvs_ops_channel *c, const uint32_t *words, size_t n, bool ends,
		size_t *passed);

#endif
