/* SPDX-License-Identifier: MIT */
/* Part of trace.h: memory of kernels before and after a launch, with snapshot=GLOB[:N]. */
#ifndef NVSNOOP_SNAPSHOT_H
#define NVSNOOP_SNAPSHOT_H

#include "nvsnoop/record.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

/* rec.flags of a SNAPSHOT record */
#define NVS_SNAPSHOT_AFTER (1u << 0) /* after the launch; else before it */
#define NVS_SNAPSHOT_LAST (1u << 1) /* no more bytes of this buffer and moment follow */
/* A variable of the kernel's module; else an allocation */
#define NVS_SNAPSHOT_VARIABLE (1u << 2)
/* No parameter points into it: taken because the size allowed it */
#define NVS_SNAPSHOT_OTHER (1u << 3)
#define NVS_SNAPSHOT_NAME (1u << 4) /* the bytes are the name of the variable, before its own */

enum nvs_snapshot_reason {
	NVS_SNAPSHOT_TAKEN = 0,
	NVS_SNAPSHOT_TOO_LARGE = 1, /* it does not fit into snapshot-size, with those before it */
	NVS_SNAPSHOT_REFUSED = 2, /* the driver refused the copy */
	NVS_SNAPSHOT_FAILED = 3, /* a call had failed, or this launch did: nothing is copied then */
	NVS_SNAPSHOT_CAPTURING = 4, /* a stream was capturing */
	NVS_SNAPSHOT_NO_MEMORY = 5, /* there was no page-locked memory to copy to */
	NVS_SNAPSHOT_NO_PARAMETERS = 6, /* their sizes are unknown: a driver before 550 */
	NVS_SNAPSHOT_BUSY = 7, /* earlier snapshots had used up snapshot-size */
	NVS_SNAPSHOT_UNFINISHED = 8, /* the GPU had not reached it at the last wait */
};

/*
 * Comes after the CALL that launched, when the program has waited for the GPU or launches another
 * kernel whose memory is copied. With BUSY or CAPTURING for the launch as a whole, the kernel's
 * next launch is tried. The bytes of a buffer are in one or several records, in order. With a
 * REASON a record has no bytes: what was left out, with its address and size; size 0: of the launch
 * as a whole.
 */
struct nvs_rec_snapshot {
	struct nvs_rec rec;
	uint32_t thread; /* of the launch */
	uint32_t reason; /* enum nvs_snapshot_reason */
	uint64_t call; /* number of the launch on its thread */
	uint64_t address, size; /* of the buffer */
	uint64_t offset; /* of data[] in the buffer */
	uint32_t bytes; /* at data[], without padding */
	uint32_t nth; /* number of the launch among those of its kernel, from 1 */
	uint8_t data[];
};

#pragma GCC diagnostic pop
#ifdef __cplusplus
}
#endif

#endif
