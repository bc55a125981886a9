/* SPDX-License-Identifier: MIT */
/* Code images as passed to the driver: a call gives only the start of an image; its format contains
 * its size. */
#ifndef NVSNOOP_PRELOAD_API_IMAGES_IMAGE_H
#define NVSNOOP_PRELOAD_API_IMAGES_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/image.h"

#define NVS_CODE_MAX_BYTES (1ull << 30) /* bytes; larger images are not recorded */

struct nvs_image_piece {
	const uint8_t *at; /* in the program's memory */
	uint64_t bytes;
};

/* The parts of an image that are recorded. */
struct nvs_loaded_image {
	enum nvs_code_kind kind;
	bool chosen, unread; /* NVS_IMAGE_CHOSEN, NVS_IMAGE_UNREAD */
	uint64_t given, size; /* bytes: of the whole image; of the recorded pieces */
	uint32_t npieces, room;
	struct nvs_image_piece *piece;
	uint64_t head[2]; /* first piece of a fatbin with chosen entries: its header */
};

/* Compute capabilities of the GPUs, for example 90. The list ends with 0. */
#define NVS_CODE_GPUS 17

/*
 * Reads IMAGE into CODE, at most MOST bytes (UINT64_MAX: as many as its format says), and chooses
 * the parts for GPUS. A piece may point into CODE, which must not be moved. Free with
 * nvs_code_free().
 */
void nvs_code_select(struct nvs_loaded_image *code, const void *image, uint64_t most,
		     const uint8_t *gpus);
void nvs_code_free(struct nvs_loaded_image *code);
/* Copies BYTES from OFFSET. Returns false if they are unreadable. */
bool nvs_code_read(const struct nvs_loaded_image *code, uint64_t offset, void *to, uint64_t bytes);

/* ---- image.c ---- */

/* The call that loaded the code. */
struct nvs_image_load {
	uint64_t call, handle;
	uint32_t tid;
};

/* Records the code: its bytes, if this content was not recorded before. */
void nvs_code_record(const struct nvs_loaded_image *code, const struct nvs_image_load *load);
/* Size of the largest possible record. Returns 0 if there is no buffer. */
uint32_t nvs_largest_record(void);
/* The machine's GPUs, from the driver. */
void nvs_code_query_gpus(uint8_t gpus[NVS_CODE_GPUS]);

/* ---- fault_images.c: without code=on ---- */

/* Notes that a call passed IMAGE to the driver, for the case that a kernel faults. */
void nvs_code_note(const void *image, uint64_t call, uint64_t handle);

/* ---- image.c: shared with load.c ---- */

/* Compute capability of DEVICE, for example 90. Returns 0 if the driver does not report it. */
uint32_t nvs_code_arch(int device);
/* Copies a file's contents and adds a zero byte. It is not mapped, since the file may be truncated.
 * Free *BYTES + 1 bytes with nvs_free(). Returns NULL if the file is unreadable or too large. */
void *nvs_code_read_file(const char *path, uint64_t *bytes);

#endif
