/* SPDX-License-Identifier: MIT */
/* Code that the trace holds, put together of its records. */
#ifndef NVSNOOP_DECODE_CALLS_IMAGES_H
#define NVSNOOP_DECODE_CALLS_IMAGES_H

#include "nvsnoop/decode.h"

struct nvs_images;

struct nvs_images *nvs_images_new(void); /* NULL: no memory */
void nvs_images_free(struct nvs_images *images); /* NULL is fine */
/*
 * REC, of any type, is the next. *IMAGE is what that completes, NULL: nothing; good until the next
 * call.
 */
void nvs_images_record(struct nvs_images *images, const struct nvs_rec *rec,
		       const struct nvs_trace_image **image);
/* Behind the last record: what was never completed, one after the other; NULL: nothing more. */
const struct nvs_trace_image *nvs_images_rest(struct nvs_images *images);

#endif
