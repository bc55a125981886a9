/* SPDX-License-Identifier: MIT */
/* The code in an image of a trace (code=on) that the driver takes for a GPU: a cubin, or PTX. */
#ifndef NVSNOOP_DECODE_ANALYSIS_IMAGE_CODE_H
#define NVSNOOP_DECODE_ANALYSIS_IMAGE_CODE_H

#include "nvsnoop/decode.h"
#include "sass/sass.h"

struct nvs_image_code {
	uint32_t arch; /* 90; 0: of any GPU, one of each fatbin */
	/* Return 0 or -errno; DATA is freed afterwards. PTX may be NULL. */
	int (*cubin)(void *arg, const void *data, size_t size);
	int (*ptx)(void *arg, const char *text, size_t size); /* not terminated by a zero */
	void *arg;
};

/* Passes all code in IMAGE to TO. Damaged parts are skipped. Returns 0, -ENOMEM, or what TO
 * returned. */
int nvs_image_code_each(const struct nvs_trace_image *image, const struct nvs_image_code *to);
/* Architecture of a compute class (0xcbc0: 90); 0: unknown. */
uint32_t nvs_arch_of_class(uint32_t compute_class);

#endif
