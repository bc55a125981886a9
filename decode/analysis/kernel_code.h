/* SPDX-License-Identifier: MIT */
/* The code of kernels by name, from the images of a trace recorded with code=on: for the
 * instruction at a program counter, its source line, and the kernel's size. */
#ifndef NVSNOOP_DECODE_ANALYSIS_KERNEL_CODE_H
#define NVSNOOP_DECODE_ANALYSIS_KERNEL_CODE_H

#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"
#include "sass/sass.h"

struct nvs_named_code {
	uint64_t key; /* hash of NAME */
	char *name; /* mangled */
	const struct nvs_cubin *cubin; /* NULL: not in the trace, or several that differ */
	uint32_t section;
	uint64_t offset; /* of the kernel in its section */
	const uint8_t *bytes;
	uint64_t size; /* to the end of the section: functions that it calls are there, too */
	bool several; /* images with different code have a kernel of this name */
};

struct nvs_kernel_codes {
	struct nvs_rows rows; /* struct nvs_named_code */
	struct kept_cubin *kept;
	uint32_t arch; /* 90 */
	struct nvs_images *images;
};

/* Returns 0 or -ENOMEM. */
int nvs_kernel_codes_want(struct nvs_kernel_codes *k, const char *name);
/* Reads the images of the trace, in a pass of its own, for GPUs with this compute class. Returns 0
 * or -errno. */
int nvs_kernel_codes_read(struct nvs_kernel_codes *k, struct nvs_source *s, uint32_t compute_class);
/* Returns NULL unless the trace has the code. */
const struct nvs_named_code *nvs_kernel_codes_find(const struct nvs_kernel_codes *k,
						   const char *name);
void nvs_kernel_codes_free(struct nvs_kernel_codes *k);

#endif
