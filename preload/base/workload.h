/* SPDX-License-Identifier: MIT */
/* What a cluster calls this process: its pod, container and job. docs/cluster.md lists the sources.
 */
#ifndef NVSNOOP_PRELOAD_BASE_WORKLOAD_H
#define NVSNOOP_PRELOAD_BASE_WORKLOAD_H

#include "nvsnoop/live.h"

#define NVS_WORKLOAD_BYTES 254 /* the longest name that Kubernetes allows, and a NUL */

struct nvs_workload {
	char text[NVS_LIVE_WORKLOADS][NVS_WORKLOAD_BYTES]; /* "": unknown */
};

/* Reads the environment variables. A value that is too long is ignored. */
void nvs_workload_read_environment(struct nvs_workload *w);

/* Both fill in what is unknown. TEXT is the content of /proc/self/cgroup, or of
 * /proc/self/mountinfo, which has the pod's UID also in a cgroup namespace. */
void nvs_workload_parse_cgroup(struct nvs_workload *w, const char *text);
void nvs_workload_parse_mounts(struct nvs_workload *w, const char *text);

#endif
