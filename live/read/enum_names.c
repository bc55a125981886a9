/* SPDX-License-Identifier: MIT */
/* Names of the enum values in live pages. */
#include <stdio.h>
#include "live/read/page_set.h"

const char *nvs_live_direction_name(enum nvs_live_direction direction)
{
	static const char *const names[] = {
		[NVS_LIVE_H2D] = "HtoD", [NVS_LIVE_D2H] = "DtoH", [NVS_LIVE_D2D] = "DtoD",
		[NVS_LIVE_H2H] = "HtoH", [NVS_LIVE_P2P] = "PtoP", [NVS_LIVE_ANY] = "not known"};

	return (size_t)direction < sizeof(names) / sizeof(*names) ? names[direction] : "?";
}

const char *nvs_live_stall_name(enum nvs_live_stall why)
{
	static const char *const names[] = {
		[NVS_LIVE_STALL_UNKNOWN] = "not known",
		[NVS_LIVE_STALL_RING] = "ring full",
		[NVS_LIVE_STALL_MODULE] = "module loading",
		[NVS_LIVE_STALL_MEMORY] = "memory allocation",
		[NVS_LIVE_STALL_COPY] = "synchronising copy",
	};

	return (size_t)why < sizeof(names) / sizeof(*names) ? names[why] : NULL;
}

const char *nvs_live_workload_name(enum nvs_live_workload which)
{
	static const char *const names[NVS_LIVE_WORKLOADS] = {
		[NVS_LIVE_POD] = "pod",
		[NVS_LIVE_POD_NAMESPACE] = "namespace",
		[NVS_LIVE_POD_UID] = "pod_uid",
		[NVS_LIVE_CONTAINER] = "container",
		[NVS_LIVE_CONTAINER_ID] = "container_id",
		[NVS_LIVE_NODE] = "node",
		[NVS_LIVE_SLURM_JOB] = "slurm_job_id",
	};

	return (size_t)which < NVS_LIVE_WORKLOADS ? names[which] : NULL;
}

const char *nvs_live_mode_name(enum nvs_live_mode mode)
{
	return mode == NVS_LIVE_SYNC ? "sync" : mode == NVS_LIVE_ASYNC ? "async" : "?";
}

const char *nvs_live_engine_name(enum nvs_live_engine engine)
{
	return engine == NVS_LIVE_COMPUTE_ENGINE ? "compute"
	       : engine == NVS_LIVE_COPY_ENGINE	 ? "copy"
						 : "?";
}

const char *nvs_live_kind_name(enum nvs_live_kind kind)
{
	static const char *const names[] = {
		[NVS_LIVE_DEVICE] = "device",	  [NVS_LIVE_ASYNC_POOL] = "async",
		[NVS_LIVE_GRAPH] = "graph",	  [NVS_LIVE_PHYSICAL] = "physical",
		[NVS_LIVE_ARRAY] = "array",	  [NVS_LIVE_MANAGED] = "managed",
		[NVS_LIVE_HOST] = "host",	  [NVS_LIVE_REGISTERED] = "registered",
		[NVS_LIVE_RESERVED] = "reserved", [NVS_LIVE_IMPORTED] = "imported",
		[NVS_LIVE_EXTERNAL] = "external",
	};

	return (size_t)kind < sizeof(names) / sizeof(*names) ? names[kind] : "?";
}

bool nvs_live_kind_on_gpu(enum nvs_live_kind kind)
{
	return kind <= NVS_LIVE_ARRAY;
}

void nvs_format_uuid(char to[48], const uint8_t uuid[16])
{
	char *at = to + sprintf(to, "GPU");

	for (int i = 0; i < 16; i++)
		at += sprintf(at, "%s%02x",
			      i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}
