/* SPDX-License-Identifier: MIT */
/* Calls CUPTI without its headers: the library is loaded at run time. The declarations follow
 * cupti_activity.h and cupti_result.h of CUDA 11 to 13. */
#include "probe/studies/cupti.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIND_MEMCPY 1 /* CUPTI_ACTIVITY_KIND_MEMCPY */
#define COPY_HTOD 1 /* CUPTI_ACTIVITY_MEMCPY_KIND_HTOD */
#define BUFFER_BYTES (1u << 20)
#define KEPT_MAX 4096

/* The first members of CUpti_ActivityMemcpy, equal in all versions. */
struct record {
	uint32_t kind;
	uint8_t copy_kind, from_kind, to_kind, flags;
	uint64_t bytes;
	uint64_t start, end; /* ns */
};

static int (*register_callbacks)(void (*)(uint8_t **, size_t *, size_t *),
				 void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
static int (*enable)(int kind);
static int (*flush)(uint32_t flag);
static int (*next)(uint8_t *buffer, size_t valid, void **record);

static struct {
	uint64_t bytes;
	double ns;
} kept[KEPT_MAX];
static uint32_t nkept;

static void on_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*max_records = 0;
}

static void on_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
				size_t valid)
{
	void *p = NULL;

	while (valid && !next(buffer, valid, &p)) {
		struct record r;

		memcpy(&r, p, sizeof(r));
		if (r.kind != KIND_MEMCPY || r.copy_kind != COPY_HTOD || nkept == KEPT_MAX)
			continue;
		kept[nkept].bytes = r.bytes;
		kept[nkept++].ns = (double)(r.end - r.start);
	}
	free(buffer);
}

static void *open_cupti(void)
{
	static const char *const names[] = {
		"libcupti.so.13",
		"libcupti.so.12",
		"libcupti.so",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
		"/usr/local/cuda/lib64/libcupti.so",
	};
	void *lib = NULL;

	for (size_t i = 0; !lib && i < sizeof(names) / sizeof(names[0]); i++)
		lib = dlopen(names[i], RTLD_NOW);
	return lib;
}

bool probe_cupti_begin(void)
{
	void *lib = open_cupti();

	if (!lib)
		return false;
	register_callbacks = (typeof(register_callbacks))dlsym(lib,
							       "cuptiActivityRegisterCallbacks");
	enable = (typeof(enable))dlsym(lib, "cuptiActivityEnable");
	flush = (typeof(flush))dlsym(lib, "cuptiActivityFlushAll");
	next = (typeof(next))dlsym(lib, "cuptiActivityGetNextRecord");
	return register_callbacks && enable && flush && next &&
	       !register_callbacks(on_buffer_requested, on_buffer_completed) &&
	       !enable(KIND_MEMCPY);
}

bool probe_cupti_copies(uint64_t bytes, double *ns, uint32_t n)
{
	uint32_t left = n;

	nkept = 0;
	if (flush(1 /* CUPTI_ACTIVITY_FLAG_FLUSH_FORCED */))
		return false;
	for (uint32_t i = nkept; i-- && left;)
		if (kept[i].bytes == bytes)
			ns[--left] = kept[i].ns;
	return !left;
}
