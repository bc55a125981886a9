/* SPDX-License-Identifier: MIT */
/*
 * A part of trace.h: the code that calls gave to the driver, with code=on.
 */
#ifndef NVSNOOP_IMAGE_H
#define NVSNOOP_IMAGE_H

#include "nvsnoop/record.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

enum nvs_code_kind {
	NVS_CODE_OTHER = 0, /* none of these: what only the driver knows */
	NVS_CODE_PTX = 1, /* text, which the driver assembled itself: no machine code */
	NVS_CODE_CUBIN = 2,
	NVS_CODE_FATBIN = 3,
};

/* rec.flags of an IMAGE record */
#define NVS_IMAGE_LOAD (1u << 0) /* a call has given it to the driver: the first record of that */
#define NVS_IMAGE_LAST (1u << 1) /* no more bytes of it come */
/* Of a fatbin: its head, which says their size, and the entries that a GPU of this machine takes */
#define NVS_IMAGE_CHOSEN (1u << 2)
#define NVS_IMAGE_UNREAD (1u << 3) /* its bytes could not be had, or are too many */

/*
 * Comes behind the CALL that gave it, once a load. The bytes of one content come once, in order, in
 * the records of one number from that of its first load on: in that, and in those behind it without
 * NVS_IMAGE_LOAD. A record of a later load has none. Told again from offset 0 on, the bytes replace
 * those that came before: these were not all written.
 */
struct nvs_rec_image {
	struct nvs_rec rec;
	uint32_t thread; /* of the call; NVS_NONE: made before the trace, by another one */
	uint32_t image; /* number in this trace, one a content */
	uint64_t call; /* its number on the thread */
	uint64_t handle; /* CUmodule, CUlibrary; of cuLinkComplete the CUlinkState */
	uint64_t given; /* bytes that the driver was given; 0: not known */
	uint64_t size; /* bytes of the content, as it is here */
	uint64_t offset; /* of data[] in it */
	uint32_t bytes; /* at data[], without padding */
	uint32_t kind; /* enum nvs_code_kind */
	uint8_t data[];
};

#pragma GCC diagnostic pop
#ifdef __cplusplus
}
#endif

#endif
