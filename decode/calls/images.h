/* SPDX-License-Identifier: MIT */
/* Reassembles the code images in a trace from their records. */
#ifndef NVSNOOP_DECODE_CALLS_IMAGES_H
#define NVSNOOP_DECODE_CALLS_IMAGES_H

#include "nvsnoop/decode.h"

struct nvs_images;

struct nvs_images *nvs_images_new(void); /* NULL if memory is short */
void nvs_images_free(struct nvs_images *images); /* NULL is allowed */
/* Processes the next record, of any type. *IMAGE is the image that it completes, or NULL; valid
 * until the next call. */
void nvs_images_record(struct nvs_images *images, const struct nvs_rec *rec,
		       const struct nvs_trace_image **image);
/* Call after the last record, repeatedly: returns each incomplete image, then NULL. */
const struct nvs_trace_image *nvs_images_next_incomplete(struct nvs_images *images);

#endif
