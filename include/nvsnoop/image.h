/* SPDX-License-Identifier: MIT */
/* Part of trace.h: code that calls passed to the driver, with code=on. */
#ifndef NVSNOOP_IMAGE_H
#define NVSNOOP_IMAGE_H

#include "nvsnoop/record.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

enum nvs_code_kind {
	NVS_CODE_OTHER = 0, /* none of these: a format that only the driver knows */
	NVS_CODE_PTX = 1, /* text, which the driver assembled: no machine code */
	NVS_CODE_CUBIN = 2,
	NVS_CODE_FATBIN = 3,
};

/* rec.flags of an IMAGE record */
#define NVS_IMAGE_LOAD                                                             \
	(1u << 0) /* a call passed it to the driver: the first record of that load \
		   */
#define NVS_IMAGE_LAST (1u << 1) /* no more bytes of it follow */
/* Of a fatbin: only its header, which has the original size, and the entries that a GPU of this
 * machine uses */
#define NVS_IMAGE_CHOSEN (1u << 2)
#define NVS_IMAGE_UNREAD (1u << 3) /* its bytes could not be read, or are too many */

/*
 * Comes after the CALL that loaded the code, once for each load. The bytes of one content are
 * recorded once, in order, in records with one number, from that of its first load on: in that
 * record and in those after it without NVS_IMAGE_LOAD. A record of a later load has no bytes. If
 * they start again from offset 0, they replace the earlier ones, which were not written completely.
 */
struct nvs_rec_image {
	struct nvs_rec rec;
	uint32_t thread; /* of the call; NVS_NONE: made before the trace, by another thread */
	uint32_t image; /* number in this trace, one for each content */
	uint64_t call; /* its number on the thread */
	uint64_t handle; /* CUmodule, CUlibrary; for cuLinkComplete the CUlinkState */
	uint64_t given; /* bytes passed to the driver; 0: unknown */
	uint64_t size; /* bytes of the content, as recorded */
	uint64_t offset; /* offset of data[] in the content */
	uint32_t bytes; /* at data[], without padding */
	uint32_t kind; /* enum nvs_code_kind */
	uint8_t data[];
};

#pragma GCC diagnostic pop
#ifdef __cplusplus
}
#endif

#endif
