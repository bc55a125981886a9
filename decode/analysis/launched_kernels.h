/* SPDX-License-Identifier: MIT */
/* The kernels of a trace that ran, for --code. */
#ifndef NVSNOOP_DECODE_ANALYSIS_LAUNCHED_KERNELS_H
#define NVSNOOP_DECODE_ANALYSIS_LAUNCHED_KERNELS_H

#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

struct nvs_launched_kernel {
	uint64_t key;
	char *name; /* mangled */
	uint32_t registers; /* as reported by the driver; UINT32_MAX: unknown */
	uint64_t address; /* code address at the last direct launch; 0: unknown */
	uint32_t images; /* images with a kernel of this name; counted by the caller */
};

#define NVS_RAN_RECENT 256u

struct nvs_launched_kernels {
	struct nvs_rows rows; /* struct nvs_launched_kernel */
	/* Recent launches: the kernel is known only when the call returns. */
	struct {
		uint64_t call, program;
		uint32_t thread;
	} recent[NVS_RAN_RECENT];
	uint32_t at;
};

/* Reads TRACE, which the caller reads again afterwards. Returns 0 or -errno, with a message in
 * ERR. */
int nvs_launched_kernels_read(struct nvs_launched_kernels *ran, struct nvs_trace *trace,
			      struct nvs_error *err);
/* Returns NULL if no kernel of this name ran. */
struct nvs_launched_kernel *nvs_launched_kernels_find(struct nvs_launched_kernels *ran,
						      const char *name);
void nvs_launched_kernels_free(struct nvs_launched_kernels *ran);

#endif
