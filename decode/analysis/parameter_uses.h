/* SPDX-License-Identifier: MIT */
/* What kernels do with the memory that their parameters point to, by their code: of traces recorded
 * with code=on. Code is examined as it is read and not kept: one cubin can have 100 MB. */
#ifndef NVSNOOP_DECODE_ANALYSIS_PARAMETER_USES_H
#define NVSNOOP_DECODE_ANALYSIS_PARAMETER_USES_H

#include "decode/analysis/memory_accesses.h"
#include "decode/base/keyed_rows.h"
#include "nvsnoop/decode.h"

struct nvs_parameter_uses {
	const struct nvs_trace *trace;
	struct nvs_rows kernels; /* by hash of their mangled name */
	struct nvs_images *images;
	uint64_t pointers, decided; /* of launches, by calls of nvs_parameter_use() */
};

/* Call with all records. Returns 0 or -ENOMEM. */
int nvs_parameter_uses_record(struct nvs_parameter_uses *u, const struct nvs_rec *rec);
/* What the kernel NAME does with the memory that the word at offset AT of its parameters points to:
 * LOADS, STORES, ADDS, or GIVEN if that is unknown. */
enum nvs_access_kind nvs_parameter_use(struct nvs_parameter_uses *u, const char *name, uint32_t at);
/* True if the kernel's code waits for the kernel before it; *KNOWN: the code is known. */
bool nvs_kernel_waits(struct nvs_parameter_uses *u, const char *name, bool *known);
void nvs_parameter_uses_free(struct nvs_parameter_uses *u);

#endif
