/* SPDX-License-Identifier: MIT */
/* Times of copies to the device as reported by CUPTI, NVIDIA's profiling library, where it is
 * installed. Only used for comparison. */
#ifndef NVSNOOP_PROBE_STUDIES_CUPTI_H
#define NVSNOOP_PROBE_STUDIES_CUPTI_H

#include <stdbool.h>
#include <stdint.h>

/* Starts recording copies. Returns false if CUPTI is missing or does not record. */
bool probe_cupti_begin(void);
/* Stores the durations (end - start, ns) of the last N copies of BYTES to the device since the
 * previous call, oldest first. Returns false if there were fewer. */
bool probe_cupti_copies(uint64_t bytes, double *ns, uint32_t n);

#endif
