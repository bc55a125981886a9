/* SPDX-License-Identifier: MIT */
/* Order of the copies in both runs of dma --compare: for each timing method all sizes, and for each
 * size WARM + TIMED copies. */
#ifndef NVSNOOP_PROBE_STUDIES_COPIES_H
#define NVSNOOP_PROBE_STUDIES_COPIES_H

#define PROBE_COPIES_WARM 3
#define PROBE_COPIES_TIMED 100

enum { PROBE_BY_HOST, PROBE_BY_EVENTS, PROBE_BY_CUPTI, PROBE_COPY_WAYS };

#endif
