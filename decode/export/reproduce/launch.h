/* SPDX-License-Identifier: MIT */
/* All that a trace has of one launch, for --reproduce. */
#ifndef NVSNOOP_DECODE_EXPORT_REPRODUCE_LAUNCH_H
#define NVSNOOP_DECODE_EXPORT_REPRODUCE_LAUNCH_H

#include "decode/analysis/launch_arguments.h"
#include "decode/calls/handles.h"
#include "decode/query/source.h"

/* Memory before and after the launch, from SNAPSHOT records; an allocation, or a variable. */
struct nvs_launch_memory {
	uint64_t address, size;
	uint32_t flags; /* NVS_SNAPSHOT_VARIABLE, _OTHER */
	char *name; /* of a variable */
	uint8_t *bytes[2]; /* before, after; NULL: missing */
	uint64_t have[2]; /* bytes so far */
	uint32_t reason[2]; /* enum nvs_snapshot_reason: why they are missing */
	bool seen[2]; /* there is a record; else the launch had no snapshot */
};

/* A launch that has a snapshot. */
struct nvs_launch_taken {
	struct nvs_launch_key {
		uint64_t call;
		uint64_t thread;
	} key;
	uint64_t submission;
	bool submitted; /* SUBMISSION is known */
	bool same; /* it is of the kernel in question */
};

struct nvs_launch_facts {
	/* What to find, and the state while the trace is read. */
	uint64_t submission;
	struct nvs_source *source;
	struct nvs_handles *handles;
	struct nvs_arguments *arguments;
	struct nvs_rows modules; /* of functions and kernels, by handle */
	bool in_it; /* the current submission is the one */
	/* What was found. */
	bool submitted, launched, returned;
	uint32_t thread;
	uint64_t call; /* its number; UINT64_MAX: no call is known */
	char *kernel; /* mangled */
	uint64_t module; /* or library; 0: unknown */
	uint32_t cls, grid[3], block[3], cluster[3];
	uint64_t shared; /* dynamic, bytes */
	uint8_t *params;
	uint32_t nparams;
	bool has_params;
	struct nvs_memory_range *ranges; /* live then */
	uint32_t nranges;
	struct nvs_launch_memory *memory;
	uint32_t nmemory, room;
	uint32_t reason; /* why there is no snapshot: enum nvs_snapshot_reason */
	struct nvs_rows taken; /* struct nvs_launch_taken, all in the trace */
	struct nvs_launch_taken *current; /* the one of the current submission, or NULL */
	/* Of the first call that failed by a fault after the launch; 0 if another launch may have
	 * caused it. */
	uint32_t error;
	bool others; /* kernels were launched after it, before that call */
	/* code.c */
	uint8_t *code;
	size_t code_size;
	bool ptx;
	struct nvs_kernel_parameter *layout;
	uint32_t nlayout, layout_bytes;
	bool cooperative;
	bool by_cluster; /* the kernel itself says how large its clusters are */
};

/* Reads the trace. Returns 0 or -errno; a launch that is not in the trace is not LAUNCHED. */
int nvs_launch_facts_read(struct nvs_launch_facts *f, struct nvs_source *s, uint64_t submission);
/* Finds the code of the kernel and its parameters; reads the trace again. Returns 0 or -errno.
 * *WHY: why the launch cannot be reproduced; NULL: it can. */
int nvs_launch_facts_read_code(struct nvs_launch_facts *f, const char **why);
/* Reads the trace again. *SUBMISSION: a launch of the same kernel that has a snapshot; UINT64_MAX:
 * none. Returns 0 or -errno. */
int nvs_launch_facts_find_taken(struct nvs_launch_facts *f, uint64_t *submission);
void nvs_launch_facts_free(struct nvs_launch_facts *f);
/* The live allocation that contains ADDRESS, or NULL. */
const struct nvs_memory_range *nvs_launch_facts_range(const struct nvs_launch_facts *f,
						      uint64_t address);
/* "too large for --snapshot-size" */
const char *nvs_snapshot_reason_text(uint32_t reason);

struct nvs_run;
/* program.c: writes the folder. DEEP: follows addresses inside buffers. */
int nvs_program_write(struct nvs_run *run, struct nvs_launch_facts *f, bool deep);

#endif
