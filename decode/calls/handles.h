/* SPDX-License-Identifier: MIT */
/* Resolves the handles in calls: functions to names, executable graphs to nodes, graphs to their
 * origin. Handles are reused, so they are resolved in trace order. */
#ifndef NVSNOOP_DECODE_CALLS_HANDLES_H
#define NVSNOOP_DECODE_CALLS_HANDLES_H

#include "decode/calls/calls.h"
#include "decode/calls/executable_graphs.h"

/* One function with all its handles; functions are distinguished by name. */
struct nvs_kernel {
	uint32_t index;
	const char *name; /* mangled; "" if unknown, one such entry for each handle */
	uint64_t handle; /* the first */
	bool has_attributes;
	uint32_t registers, shared, local, max_threads; /* latest values */
};

struct nvs_handles;
struct nvs_handles *nvs_handles_new(void); /* NULL if memory is short */
/* Calls CHANGES as described in executable_graphs.h. */
void nvs_handles_watch(struct nvs_handles *h, nvs_exec_changing_fn *changes, void *arg);
void nvs_handles_free(struct nvs_handles *h);

/* Call in trace order, before the call is examined. Returns 0 or -ENOMEM. */
int nvs_handles_call(struct nvs_handles *h, const struct nvs_call *call);
int nvs_handles_kernel(struct nvs_handles *h, const struct nvs_rec_kernel *rec);
int nvs_handles_graph(struct nvs_handles *h, const struct nvs_rec_graph *rec);
/* Passes REC to one of these if its type matches. */
int nvs_handles_record(struct nvs_handles *h, const struct nvs_rec *rec);

/* Adds the entry if it is missing. Returns NULL if memory is short. */
struct nvs_kernel *nvs_handles_get_kernel(struct nvs_handles *h, uint64_t function);
struct nvs_exec *nvs_handles_get_exec(struct nvs_handles *h, uint64_t exec);
uint32_t nvs_handles_kernel_count(const struct nvs_handles *h);
struct nvs_kernel *nvs_handles_kernel_at(const struct nvs_handles *h, uint32_t index);
uint32_t nvs_handles_exec_count(const struct nvs_handles *h);
struct nvs_exec *nvs_handles_exec_at(const struct nvs_handles *h, uint32_t index);

#endif
