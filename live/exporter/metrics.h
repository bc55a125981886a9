/* SPDX-License-Identifier: MIT */
/* Writes the samples of one family for one process. */
#ifndef NVSNOOP_LIVE_EXPORTER_METRICS_H
#define NVSNOOP_LIVE_EXPORTER_METRICS_H

#include "live/exporter/families.h"
#include "live/exporter/process_labels.h"

/* Writes FAMILY's samples of P. The family must have been begun; it is NVS_F_PROCESS_INFO or later.
 *  */
void nvs_report_family(struct nvs_exposition *e, enum nvs_family_number family,
		       const struct nvs_exported_process *p);
/* The same for families named by other exporters. */
void nvs_report_foreign_family(struct nvs_exposition *e, enum nvs_family_number family,
			       const struct nvs_exported_process *p);

/* Returns the labels of P and of ONE, or TEXT if ONE is NULL; valid until the next call. */
const char *nvs_sample_labels(const struct nvs_exported_process *p,
			      const struct nvs_series_name *one, const char *text);

#endif
