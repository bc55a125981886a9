/* SPDX-License-Identifier: MIT */
/*
 * Names and resources of function handles. They are queried from the driver once, after a call that
 * launched the function or added it to a graph. The driver has loaded the function by then, so the
 * query has no side effects.
 */
#include <string.h>
#include "preload/api/intercept/api.h"
#include "preload/base/preload.h"
#include "preload/live/live.h"
#include "trap/buffer/calls.h"

#define EACH_SLOT(at, key) NVS_HASH_EACH(at, nvs_hash(key, NVS_API_KNOWN_BITS), 8, NVS_API_KNOWN)
#define MAX_NAME 16384

/* CUfunction_attribute */
enum { ATTR_MAX_THREADS = 0, ATTR_SHARED = 1, ATTR_LOCAL = 3, ATTR_REGISTERS = 4 };

_Atomic uint64_t nvs_api_known[NVS_API_KNOWN];
_Atomic uint32_t nvs_api_unloads;
_Atomic int32_t nvs_api_captures;
const struct nvs_api_snapshots *_Atomic nvs_api_snapshots;

/* Handles of the library API, which need other query functions, until their library is unloaded. */
static struct {
	_Atomic uint64_t handle, library;
} kernels[NVS_API_KNOWN];

static void note_kernel(uint64_t handle, uint64_t library)
{
	if (!handle)
		return;
	EACH_SLOT(k, handle)
	{
		uint64_t have = 0;

		if (!atomic_compare_exchange_strong(&kernels[k].handle, &have, handle) &&
		    have != handle)
			continue;
		atomic_store(&kernels[k].library, library);
		return;
	}
}

static bool is_kernel(uint64_t handle)
{
	EACH_SLOT(k, handle)
	if (atomic_load(&kernels[k].handle) == handle)
		return true;
	return false;
}

static void remove_kernels(uint64_t library)
{
	for (uint32_t i = 0; i < NVS_API_KNOWN; i++) {
		uint64_t own = library;

		if (atomic_load_explicit(&kernels[i].library, memory_order_relaxed) == library &&
		    library && atomic_compare_exchange_strong(&kernels[i].library, &own, 0))
			atomic_store(&kernels[i].handle, 0);
	}
}

/* Returns false if it is known, or if the table is full. */
static bool is_new(uint64_t key)
{
	uint64_t generation = key >> 48;

	EACH_SLOT(k, key)
	if (atomic_load(&nvs_api_known[k]) == key)
		return false;
	EACH_SLOT(k, key)
	{
		_Atomic uint64_t *slot = &nvs_api_known[k];
		uint64_t have = atomic_load(slot);

		if ((!have || have >> 48 != generation) &&
		    atomic_compare_exchange_strong(slot, &have, key))
			return true;
		if (have == key)
			return false;
	}
	return false;
}

/* ---- queries ---- */

struct asked {
	const char *name;
	int value[8]; /* by attribute */
	bool attributes;
};

static void record_kernel(uint64_t handle, const struct asked *a)
{
	uint32_t length = a->name ? (uint32_t)strnlen(a->name, MAX_NAME) : 0;
	uint32_t size = (uint32_t)(sizeof(struct nvs_rec_kernel) + length + 7) & ~7u;
	struct nvs_rec_kernel *rec = nvs_alloc(size);

	if (!rec)
		return;
	rec->rec.type = NVS_REC_KERNEL;
	rec->rec.flags = (a->attributes ? NVS_KERNEL_ATTRS : 0) | (a->name ? NVS_KERNEL_NAMED : 0);
	rec->rec.size = size;
	rec->function = handle;
	rec->registers = (uint32_t)a->value[ATTR_REGISTERS];
	rec->shared = (uint32_t)a->value[ATTR_SHARED];
	rec->local = (uint32_t)a->value[ATTR_LOCAL];
	rec->max_threads = (uint32_t)a->value[ATTR_MAX_THREADS];
	rec->length = length;
	if (length)
		memcpy(rec->name, a->name, length);
	nvs_record_write(&rec->rec);
	nvs_free(rec, size);
}

static void ask_driver(uint64_t function, struct asked *a)
{
	static const int wanted[] = {ATTR_MAX_THREADS, ATTR_SHARED, ATTR_LOCAL, ATTR_REGISTERS};
	bool kernel = is_kernel(function);
	int (*get_name)(const char **, uint64_t) =
		nvs_api_driver_function(kernel ? "cuKernelGetName" : "cuFuncGetName");
	int (*of_kernel)(int *, int, uint64_t,
			 int) = nvs_api_driver_function("cuKernelGetAttribute");
	int (*of_function)(int *, int, uint64_t) = nvs_api_driver_function("cuFuncGetAttribute");
	int (*get_device)(int *) = nvs_api_driver_function("cuCtxGetDevice");
	int device = 0;
	bool able;

	NVS_QUIET();
	if (get_name && get_name(&a->name, function))
		a->name = NULL;
	able = kernel ? of_kernel && get_device && !get_device(&device) : of_function != NULL;
	a->attributes = able;
	for (int i = 0; i < 4 && able; i++) {
		int *to = &a->value[wanted[i]];

		if (kernel ? of_kernel(to, wanted[i], function, device)
			   : of_function(to, wanted[i], function))
			a->attributes = false;
	}
	nvs_calls.asked = nvs_calls.next;
}

const char *nvs_api_function_name(uint64_t function)
{
	struct asked a = {0};

	ask_driver(function, &a);
	return a.name;
}

/* Adds the kernel to the live page. */
static uint32_t keep_row(struct nvs_live_page *page, uint64_t key, uint64_t function,
			 const struct asked *a)
{
	struct nvs_live_kernel_info facts = {.name = a->name};

	if (a->attributes) {
		facts.registers = (uint32_t)a->value[ATTR_REGISTERS];
		facts.shared = (uint32_t)a->value[ATTR_SHARED];
		facts.local = (uint32_t)a->value[ATTR_LOCAL];
		facts.max_threads = (uint32_t)a->value[ATTR_MAX_THREADS];
	}
	return nvs_live_kernel_new(page, key, function, &facts);
}

void nvs_api_record_kernel(uint64_t function)
{
	struct asked a = {0};
	uint64_t key = nvs_api_known_key(function);

	if (!is_new(key))
		return;
	ask_driver(function, &a);
	record_kernel(function, &a);
	if (nvs_live_page())
		keep_row(nvs_live_page(), key, function, &a);
}

static uint32_t new_row(struct nvs_live_page *page, uint64_t key, uint64_t function)
{
	struct asked a = {0};

	ask_driver(function, &a);
	return keep_row(page, key, function, &a);
}

uint32_t nvs_api_kernel_row(struct nvs_live_page *page, uint64_t function)
{
	uint64_t key = nvs_api_known_key(function);
	bool known;
	uint32_t row;

	if (!function)
		return 0;
	row = nvs_live_kernel(page, key, &known);
	return __builtin_expect(known, 1) ? row : new_row(page, key, function);
}

/* ---- capture ---- */

bool nvs_api_is_capturing(const struct nvs_api *api, uint64_t stream)
{
	int (*ask)(uint64_t, int *);
	int status = 0;

	if (atomic_load(&nvs_api_captures) <= 0)
		return false;
	ask = nvs_api_driver_function(api->per_thread ? "cuStreamIsCapturing_ptsz"
						      : "cuStreamIsCapturing");
	/* The legacy stream cannot be captured, and querying it disturbs captures of others. */
	if (!ask || stream == 1 || (!api->per_thread && !stream))
		return false;
	NVS_QUIET();
	return !ask(stream, &status) && status;
}

/* ---- after calls ---- */

/*
 * Function handles may be reused: invalidates all cached ones. A module is unloaded by itself or
 * with its context. Its handles are freed during the call, and another thread may get them before
 * it returns, so the generation changes before and after.
 */
void nvs_api_before_unload(struct nvs_api_frame *f)
{
	uint32_t n = atomic_fetch_add(&nvs_api_unloads, 1) + 1;

	/* Generations have 16 bits: clear the tables when they wrap around. */
	if (n & 0xffff)
		return;
	for (uint32_t i = 0; i < NVS_API_KNOWN; i++)
		atomic_store_explicit(&nvs_api_known[i], 0, memory_order_relaxed);
	if (nvs_live_page())
		nvs_live_forget_kernels(nvs_live_page());
}

void nvs_api_before_library_unload(struct nvs_api_frame *f)
{
	remove_kernels(f->regs[0]);
	nvs_api_before_unload(f);
}

void nvs_api_after_get_kernel(struct nvs_api_frame *f, uint32_t result)
{
	if (result || !f->regs[0])
		return;
	note_kernel(*(uint64_t *)f->regs[0], f->regs[1]);
	if (nvs_api_get_snapshots())
		nvs_api_get_snapshots()->got_kernel(*(uint64_t *)f->regs[0], f->regs[1],
						    (const char *)f->regs[2]);
}

void nvs_api_after_enumerate_kernels(struct nvs_api_frame *f, uint32_t result)
{
	const uint64_t *handles = (const uint64_t *)f->regs[0];

	for (uint32_t i = 0; !result && handles && i < (uint32_t)f->regs[1]; i++)
		note_kernel(handles[i], f->regs[2]);
}

void nvs_api_after_begin_capture(struct nvs_api_frame *f, uint32_t result)
{
	if (!result)
		atomic_fetch_add(&nvs_api_captures, 1);
}

/* A capture ends even if the result says that it was invalidated. A wrong stream gives another
 * error. */
void nvs_api_after_end_capture(struct nvs_api_frame *f, uint32_t result)
{
	int32_t n = atomic_load(&nvs_api_captures);

	if (result && (result < 900 || result > 910))
		return;
	while (n > 0 && !atomic_compare_exchange_weak(&nvs_api_captures, &n, n - 1))
		;
}
