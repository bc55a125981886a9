/* SPDX-License-Identifier: MIT */
/* Which kernels of a trace ran, for --code. */
#ifndef NVSNOOP_DECODE_ANALYSIS_LAUNCHED_KERNELS_H
#define NVSNOOP_DECODE_ANALYSIS_LAUNCHED_KERNELS_H

#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

struct nvs_ran_kernel {
	uint64_t key;
	char *name; /* mangled */
	uint32_t registers; /* as the driver says; UINT32_MAX: it does not */
	uint64_t address; /* of its code when it was last launched by itself; 0: not known */
	uint32_t images; /* that have one of this name: counted by who asks */
};

#define NVS_RAN_RECENT 256u

struct nvs_ran {
	struct nvs_rows rows; /* struct nvs_ran_kernel */
	/* Launches whose calls have not returned: the function is known then. */
	struct {
		uint64_t call, program;
		uint32_t thread;
	} recent[NVS_RAN_RECENT];
	uint32_t at;
};

/* Reads TRACE, which is read anew afterwards. 0 or -errno, with a message in ERR. */
int nvs_ran_read(struct nvs_ran *ran, struct nvs_trace *trace, struct nvs_error *err);
/* NULL: none of this name ran. */
struct nvs_ran_kernel *nvs_ran_find(struct nvs_ran *ran, const char *name);
void nvs_ran_free(struct nvs_ran *ran);

#endif
