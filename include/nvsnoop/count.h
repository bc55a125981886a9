/* SPDX-License-Identifier: MIT */
/* Part of trace.h: instructions executed by kernels, counted by code that was inserted into the
 * kernels. */
#ifndef NVSNOOP_COUNT_H
#define NVSNOOP_COUNT_H

#include "nvsnoop/record.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

/* rec.flags of a COUNTER record. With neither of the first two, the kernel runs unchanged; the
 * reason follows its name. */
#define NVS_COUNT_WARP (1u << 0) /* instructions of warps are counted */
#define NVS_COUNT_THREAD (1u << 1) /* instructions of threads are counted */
#define NVS_COUNT_PRED_ON (1u << 2) /* instructions whose predicate is false are not counted */
/* Its code calls functions that are not in its image, but in the driver: device-side launches,
 * printf, malloc. Instructions executed there are not counted. */
#define NVS_COUNT_CALLS_OUT (1u << 3)

/*
 * From here on COUNTER means this kernel of an image that the program loads. A name may have
 * several counters, because several modules may have a kernel of that name. Without a name, the
 * reason applies to a whole image.
 */
struct nvs_rec_counter {
	struct nvs_rec rec;
	uint32_t counter; /* number in this trace; NVS_NONE: not counted */
	uint32_t instructions; /* in its code, before counting was added */
	uint32_t first, end; /* only the instructions [first, end) are counted; end 0: all */
	uint32_t registers[2]; /* per thread, before and with counting */
	uint32_t length, reason_length; /* bytes of name (mangled) and of the reason after it */
	char text[];
};

/* Why a COUNT was read. */
enum nvs_count_cause {
	NVS_COUNT_SYNC = 1, /* the program waited for the GPU */
	NVS_COUNT_LAUNCH = 2, /* call NUMBER of the thread launched a kernel, and was waited for */
	NVS_COUNT_WINDOW =
		3, /* a window is about to end, by call NUMBER; or, with UNREAD, to begin */
	NVS_COUNT_CONTEXT = 4, /* a context is about to be destroyed */
	NVS_COUNT_EXIT = 5, /* the program exits */
};

/* nvs_count.flags: a warp has executed 2^32 instructions; the threads' sum is too small */
#define NVS_COUNT_WRAPPED (1u << 0)
/* nvs_count.flags: the threads of a warp have executed 2^32 instructions; the warps' sum may be too
 * small. With WRAPPED as well: both sums are unknown, since the window's beginning was not read */
#define NVS_COUNT_WARPS_WRAPPED (1u << 1)

struct nvs_count {
	uint32_t counter;
	uint32_t flags;
	uint64_t warp, thread; /* instructions */
};

/* Instructions executed since the previous COUNT of these counters. Counters without new
 * instructions are left out. */
struct nvs_rec_count {
	struct nvs_rec rec;
	uint32_t thread; /* thread that read the counters, NVS_NONE: unknown */
	uint32_t cause; /* enum nvs_count_cause */
	uint64_t number; /* call in which they were read, on its thread */
	uint32_t ncounts;
	uint32_t reserved;
	struct nvs_count counts[];
};

/* rec.flags of a COUNT record */
#define NVS_COUNT_MORE (1u << 0) /* another record of the same reading follows */
#define NVS_COUNT_UNREAD \
	(1u << 1) /* the GPU did not answer in time: the counts are in a later record, or lost */

#pragma GCC diagnostic pop
#ifdef __cplusplus
}
#endif

#endif
