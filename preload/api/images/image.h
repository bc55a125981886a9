/* SPDX-License-Identifier: MIT */
/*
 * Code as a call gives it to the driver: where it begins is told, how long it is stands in itself.
 */
#ifndef NVSNOOP_PRELOAD_API_IMAGES_IMAGE_H
#define NVSNOOP_PRELOAD_API_IMAGES_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/image.h"

#define NVS_CODE_MOST (1ull << 30) /* bytes; what is larger stays out of the trace */

struct nvs_code_piece {
	const uint8_t *at; /* of the program's memory */
	uint64_t bytes;
};

/* What is kept of an image, piece by piece. */
struct nvs_code {
	enum nvs_code_kind kind;
	bool chosen, unread; /* NVS_IMAGE_CHOSEN, NVS_IMAGE_UNREAD */
	uint64_t given, size; /* bytes: as the driver was given it; of all pieces */
	uint32_t npieces, room;
	struct nvs_code_piece *piece;
	uint64_t head[2]; /* of a fatbin that was chosen from: the first piece */
};

/* Compute capabilities of the GPUs, as 90; ends with 0. */
#define NVS_CODE_GPUS 17

/*
 * What IMAGE is (into CODE, which stays where it is: a piece may lie in it), of which at most MOST
 * bytes may be read (UINT64_MAX: as many as it says), for GPUS as above. To be freed.
 */
void nvs_code_of(struct nvs_code *code, const void *image, uint64_t most, const uint8_t *gpus);
void nvs_code_free(struct nvs_code *code);
/* BYTES from OFFSET on. False: not readable. */
bool nvs_code_read(const struct nvs_code *code, uint64_t offset, void *to, uint64_t bytes);

/* ---- image.c: for who rewrites code as well ---- */

/* Compute capability of DEVICE, as 90; 0: the driver does not tell. */
uint32_t nvs_code_arch(int device);
/* A copy of what is in a file, with a zero behind its *BYTES: what is mapped may be cut off. For
 * nvs_free(), of *BYTES + 1. NULL: it cannot be read, or is too large. */
void *nvs_code_file(const char *path, uint64_t *bytes);

#endif
