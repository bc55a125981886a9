/* SPDX-License-Identifier: MIT */
/* What is said where times of the GPU were asked for and not recorded. */
#ifndef NVSNOOP_DECODE_REPORT_CORE_TIMING_NOTE_H
#define NVSNOOP_DECODE_REPORT_CORE_TIMING_NOTE_H

#include "decode/analysis/gpu_work.h"
#include "decode/report/core/report.h"

/* Where there is nothing to be said without timing=work, which the trace lacks: says so on stderr,
 * once. */
void nvs_works_explain(const struct nvs_works *w, struct nvs_run *run, const struct nvs_source *s);

#endif
