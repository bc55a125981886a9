/* SPDX-License-Identifier: MIT */
/*
 * snapshot=GLOB[:N]: copies of the memory that a launch can reach, before and after it. The copies
 * are queued on the launch's own stream, into page-locked memory, and a word is written after them:
 * nothing waits. The program's next wait, or the next launch whose memory is to be copied, finds
 * the word and records the bytes. A launch for which there is no memory until then is passed over,
 * and the kernel's next one takes its place.
 *
 * Contract: runs on threads of the program, around its own calls, never in the trap. Driver
 * functions are called with nvs_calls.quiet raised and without any lock. A call that never returns
 * leaves a slot unused for ever, and nothing else. Once a call has failed, or while a stream
 * captures, no driver function is called any more.
 */
#ifndef NVSNOOP_PRELOAD_API_SNAPSHOT_SNAPSHOT_H
#define NVSNOOP_PRELOAD_API_SNAPSHOT_SNAPSHOT_H

#include "nvsnoop/snapshot.h"
#include "preload/api/intercept/api.h"

#define NVS_SNAPSHOT_BUFFERS 256u /* of one launch */
#define NVS_SNAPSHOT_PARAMETERS 32768u /* bytes */

/* Memory to copy. */
struct nvs_snapshot_range {
	uint64_t address, size;
	uint32_t flags; /* NVS_SNAPSHOT_VARIABLE, _OTHER */
	const char *name; /* of a variable */
};

struct nvs_snapshot_ranges {
	struct nvs_snapshot_range range[NVS_SNAPSHOT_BUFFERS];
	uint32_t n;
};

/* ---- reachable.c: allocations and variables ---- */

/* Adds the allocations into which words of the parameters point. */
void nvs_snapshot_find_pointers(struct nvs_snapshot_ranges *to, const uint8_t *params,
				uint32_t size);
/* Adds the variables of a module or library; GET is cuModuleGetGlobal or cuLibraryGetGlobal. */
void nvs_snapshot_find_variables(struct nvs_snapshot_ranges *to, uint64_t module,
				 int (*get)(uint64_t *, size_t *, uint64_t, const char *));
/* Adds all other allocations. */
void nvs_snapshot_find_others(struct nvs_snapshot_ranges *to);
/* After a call that allocates, frees, maps or unmaps. */
nvs_api_after nvs_snapshot_follow;
/* Notes the variables of the code that was loaded as HANDLE. */
void nvs_snapshot_note_image(const void *image, uint64_t handle);

/* ---- kernels.c: kernels by handle ---- */

/* Of all kernels of a name. */
struct nvs_snapshot_count {
	_Atomic uint32_t launches; /* so far */
	_Atomic bool done; /* one was copied, or never will be */
};

struct nvs_snapshot_kernel {
	uint64_t function; /* 0: not used any more */
	uint64_t module; /* or library */
	bool of_library; /* MODULE is a CUlibrary */
	bool is_kernel; /* FUNCTION is a CUkernel */
	struct nvs_snapshot_count *count;
};

/* Returns false if the function's name does not match. */
bool nvs_snapshot_kernel(uint64_t function, struct nvs_snapshot_kernel *found);

/* Never freed: records that are still to be written refer to it. */
struct nvs_snapshot_name {
	struct nvs_snapshot_name *next;
	struct nvs_snapshot_count count; /* of kernels only */
	char text[];
};

/* The lock is held. Adds TEXT to *LIST unless it is there. Returns NULL if memory is short. */
struct nvs_snapshot_name *nvs_snapshot_keep_name(struct nvs_snapshot_name **list, const char *text);

void nvs_snapshot_got_kernel(uint64_t kernel, uint64_t library, const char *name);

/* ---- snapshot.c ---- */

/* Allocates the memory, once, if there is a context: not at a launch, when it might have to wait.
 */
void nvs_snapshot_prepare(void);

#endif
