/* SPDX-License-Identifier: MIT */
/*
 * What the handles in calls mean: functions by name, executable graphs with their nodes, graphs by
 * how they came to be. Handles are used again; what they mean follows the order of the trace.
 */
#ifndef NVSNOOP_DECODE_CALLS_HANDLES_H
#define NVSNOOP_DECODE_CALLS_HANDLES_H

#include "decode/calls/calls.h"
#include "decode/calls/executable_graphs.h"

/* One function, whatever the handles it had: told apart by name. */
struct nvs_kernel {
	uint32_t index;
	const char *name; /* mangled; "" where not known: then by handle */
	uint64_t handle; /* the first */
	bool has_attributes;
	uint32_t registers, shared, local, max_threads; /* the latest */
	void *user;
};

struct nvs_handles;
struct nvs_handles *nvs_handles_new(void); /* NULL: no memory */
/* Calls CHANGES as execs.h says. */
void nvs_handles_watch(struct nvs_handles *h, nvs_exec_changes *changes, void *arg);
void nvs_handles_free(struct nvs_handles *h);

/* In the order of the trace; the call before it is looked at. 0 or -ENOMEM. */
int nvs_handles_call(struct nvs_handles *h, const struct nvs_call *call);
int nvs_handles_kernel(struct nvs_handles *h, const struct nvs_rec_kernel *rec);
int nvs_handles_graph(struct nvs_handles *h, const struct nvs_rec_graph *rec);
int nvs_handles_edges(struct nvs_handles *h, const struct nvs_rec_graph_edges *rec);
/* Any of these, if REC is one of them. */
int nvs_handles_record(struct nvs_handles *h, const struct nvs_rec *rec);

/* Made where it is missing; NULL: no memory. */
struct nvs_kernel *nvs_handles_kernel_of(struct nvs_handles *h, uint64_t function);
struct nvs_exec *nvs_handles_exec_of(struct nvs_handles *h, uint64_t exec);
uint32_t nvs_handles_kernel_count(const struct nvs_handles *h);
struct nvs_kernel *nvs_handles_kernel_at(const struct nvs_handles *h, uint32_t index);
uint32_t nvs_handles_exec_count(const struct nvs_handles *h);
struct nvs_exec *nvs_handles_exec_at(const struct nvs_handles *h, uint32_t index);

#endif
