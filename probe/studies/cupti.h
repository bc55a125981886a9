/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA's profiling library, where it is installed: how long it says that copies to the device
 * took. A yardstick; nothing depends on it.
 */
#ifndef NVSNOOP_PROBE_STUDIES_CUPTI_H
#define NVSNOOP_PROBE_STUDIES_CUPTI_H

#include <stdbool.h>
#include <stdint.h>

/* False: it is not there, or does not record. From here on it keeps copies. */
bool probe_cupti_begin(void);
/*
 * Of the copies of BYTES to the device that came since the last call the last N, the oldest first,
 * end - start in ns. False: there were not as many.
 */
bool probe_cupti_copies(uint64_t bytes, double *ns, uint32_t n);

#endif
