/* SPDX-License-Identifier: MIT */
/* Prints that GPU times were asked for and not recorded. */
#ifndef NVSNOOP_DECODE_REPORT_CORE_TIMING_NOTE_H
#define NVSNOOP_DECODE_REPORT_CORE_TIMING_NOTE_H

#include "decode/analysis/gpu_work.h"
#include "decode/report/core/report.h"

/* Prints on stderr that the trace lacks timing=work, once, if it does. */
void nvs_work_list_explain(const struct nvs_work_list *w, struct nvs_run *run,
			   const struct nvs_source *s);

#endif
