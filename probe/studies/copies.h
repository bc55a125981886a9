/* SPDX-License-Identifier: MIT */
/* What the two runs of a comparison agree on: for each way all sizes in order, and of each size so
 * many copies. */
#ifndef NVSNOOP_PROBE_STUDIES_COPIES_H
#define NVSNOOP_PROBE_STUDIES_COPIES_H

#define PROBE_COPIES_WARM 3
#define PROBE_COPIES_TIMED 100

enum { PROBE_BY_HOST, PROBE_BY_EVENTS, PROBE_BY_CUPTI, PROBE_COPY_WAYS };

#endif
