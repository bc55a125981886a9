/* SPDX-License-Identifier: MIT */
/* Finds the position at which parsing of pushbuffer dwords can resume after an invalid header. */
#ifndef NVSNOOP_DECODE_GPU_RESYNC_H
#define NVSNOOP_DECODE_GPU_RESYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "decode/gpu/ops.h"

#define NVS_RESYNC_HEADERS 16u /* maximum checked per candidate */
#define NVS_RESYNC_ZEROS 64u /* this many zero dwords are padding: the end of a piece */
/* Maximum length of the dwords checked for one candidate. */
#define NVS_RESYNC_AHEAD (NVS_RESYNC_HEADERS * (0x2000u + NVS_RESYNC_ZEROS))

/*
 * Finds the first of N dwords from which the stream is valid: eight consecutive headers that have a
 * known form and whose methods exist in the classes bound in C, or fewer if they reach padding or
 * the end of the stream (ENDS: there are no dwords after these N). *PASSED is the number of dwords
 * before it. If there is none, returns false; without ENDS the last NVS_RESYNC_AHEAD dwords are
 * then not counted in *PASSED and must be given again with more after them. Runs in time linear in
 * N.
 */
bool nvs_resync(const struct nvs_ops_channel *c, const uint32_t *words, size_t n, bool ends,
		size_t *passed);

#endif
