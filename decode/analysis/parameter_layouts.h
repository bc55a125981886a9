/* SPDX-License-Identifier: MIT */
/* Where the parameters of each kernel are, from the images of a trace recorded with code=on: from
 * the cubin's table, or from the entries of PTX. */
#ifndef NVSNOOP_DECODE_ANALYSIS_PARAMETER_LAYOUTS_H
#define NVSNOOP_DECODE_ANALYSIS_PARAMETER_LAYOUTS_H

#include "decode/analysis/parameter_words.h"
#include "decode/base/keyed_rows.h"

#define NVS_KERNEL_PARAMETERS 4096u /* bytes are at least as many */

struct nvs_parameter_layout {
	uint64_t key; /* hash of NAME */
	char *name; /* mangled */
	struct nvs_kernel_parameter *list; /* by offset */
	uint32_t n, bytes; /* bytes: end of the last one */
	bool several; /* images with other parameters have a kernel of this name */
};

/* Zeroed at the beginning. */
struct nvs_parameter_layouts {
	struct nvs_rows rows; /* struct nvs_parameter_layout */
	struct nvs_images *images;
};

/* Call for every record. Returns 0 or -ENOMEM. */
int nvs_parameter_layouts_record(struct nvs_parameter_layouts *l, const struct nvs_rec *rec);
/* The same for a cubin, and for PTX, which need not end with a zero. */
int nvs_parameter_layouts_cubin(struct nvs_parameter_layouts *l, const void *data, size_t size);
int nvs_parameter_layouts_ptx(struct nvs_parameter_layouts *l, const char *text, size_t size);
/* Returns NULL if it is unknown. */
const struct nvs_parameter_layout *nvs_parameter_layouts_find(const struct nvs_parameter_layouts *l,
							      const char *kernel);
void nvs_parameter_layouts_free(struct nvs_parameter_layouts *l);

#endif
