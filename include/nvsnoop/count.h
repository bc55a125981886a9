/* SPDX-License-Identifier: MIT */
/*
 * A part of trace.h: instructions that kernels have executed, counted by code that stands in the
 * kernels themselves.
 */
#ifndef NVSNOOP_COUNT_H
#define NVSNOOP_COUNT_H

#include "nvsnoop/record.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

/* rec.flags of a COUNTER record. Neither of the first two: the kernel runs as it is, and the reason
 * stands behind its name. */
#define NVS_COUNT_WARP (1u << 0) /* instructions of warps */
#define NVS_COUNT_THREAD (1u << 1) /* instructions of threads */
#define NVS_COUNT_PRED_ON (1u << 2) /* those whose predicate is false are left out */
/* Its code calls functions that its image does not hold, which are the driver's: device-side
 * launches, printf, malloc. The instructions of those are not counted. */
#define NVS_COUNT_CALLS_OUT (1u << 3)

/*
 * From here on COUNTER means this kernel of an image that the program loads. A name may have
 * several counters, as several modules have a kernel of that name. No name: REASON is of a whole
 * image.
 */
struct nvs_rec_counter {
	struct nvs_rec rec;
	uint32_t counter; /* number in this trace; NVS_NONE: it has none */
	uint32_t instructions; /* of its code, before counting was added */
	uint32_t first, end; /* only these of them are counted; end 0: all */
	uint32_t registers[2]; /* a thread's, before and with counting */
	uint32_t length, reason_length; /* bytes of name (mangled) and of reason behind it */
	char text[];
};

/* When a COUNT was read. */
enum nvs_count_cause {
	NVS_COUNT_SYNC = 1, /* the program has waited for the GPU */
	NVS_COUNT_LAUNCH = 2, /* the thread's call NUMBER has launched, and was waited for */
	NVS_COUNT_WINDOW =
		3, /* a window is about to end, by the call NUMBER; or, UNREAD, to begin */
	NVS_COUNT_CONTEXT = 4, /* a context is about to end */
	NVS_COUNT_EXIT = 5, /* the program ends */
};

/* nvs_count.flags: a warp has executed 2^32 instructions, and the threads' sum is too small */
#define NVS_COUNT_WRAPPED (1u << 0)
/* the threads of a warp have, and the warps' sum may be too small. With WRAPPED also: neither is
 * known, since the window's beginning was not read */
#define NVS_COUNT_WARPS_WRAPPED (1u << 1)

struct nvs_count {
	uint32_t counter;
	uint32_t flags;
	uint64_t warp, thread; /* instructions */
};

/* What has been executed since the latest COUNT of these counters, which are those that have
 * something. */
struct nvs_rec_count {
	struct nvs_rec rec;
	uint32_t thread; /* that read it, NVS_NONE: not known */
	uint32_t cause; /* enum nvs_count_cause */
	uint64_t number; /* of the call in which it was read, on its thread */
	uint32_t ncounts;
	uint32_t reserved;
	struct nvs_count counts[];
};

/* rec.flags of a COUNT record */
#define NVS_COUNT_MORE (1u << 0) /* another record of the same reading follows */
#define NVS_COUNT_UNREAD \
	(1u << 1) /* the GPU did not answer in time: they are in a later one, or lost */

#pragma GCC diagnostic pop
#ifdef __cplusplus
}
#endif

#endif
