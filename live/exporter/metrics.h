/* SPDX-License-Identifier: MIT */
/* What one family says of one process. */
#ifndef NVSNOOP_LIVE_EXPORTER_METRICS_H
#define NVSNOOP_LIVE_EXPORTER_METRICS_H

#include "live/exporter/families.h"
#include "live/exporter/process_labels.h"

/* The family has been begun. From NVS_F_PROCESS_INFO on. */
void nvs_tell(struct nvs_expose *e, enum nvs_family_number family, const struct nvs_process *p);
/* Those of other exporters' names. */
void nvs_tell_others(struct nvs_expose *e, enum nvs_family_number family,
		     const struct nvs_process *p);

/* One column of S, and what others share under the labels OTHER. */
void nvs_tell_series(struct nvs_expose *e, const struct nvs_process *p, const struct nvs_series *s,
		     uint32_t column, const char *other);

/* Labels of P and of ONE (NULL: TEXT), valid until the next call. */
const char *nvs_tell_labels(const struct nvs_process *p, const struct nvs_one *one,
			    const char *text);

#endif
