/* SPDX-License-Identifier: MIT */
/*
 * The API layer: calls of the CUDA driver API, observed where the program gets its entry points
 * (dlsym, cuGetProcAddress, its own GOT). Each entry point of libcuda in the table is replaced by a
 * thunk of its own, which records the call around the original. Tables lie in .bss and are filled
 * without locks: what is done here may hold the loader's lock, and a forked child keeps its wrapped
 * pointers.
 */
#ifndef NVSNOOP_PRELOAD_API_INTERCEPT_API_H
#define NVSNOOP_PRELOAD_API_INTERCEPT_API_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nvsnoop/trace.h"
#include "preload/live/memory.h"
#include "preload/modules/elf.h"

/* ---- the table, made of api/cuda.api ---- */

enum nvs_keep_how {
	NVS_KEEP_VALUE,
	NVS_KEEP_IN,
	NVS_KEEP_OUT,
	NVS_KEEP_ATTR, /* of a launch's attribute: its id << 8 | offset in its value */
	NVS_KEEP_IN_OF, /* of a structure that begins with a type: type << 8 | offset */
	NVS_KEEP_OUT_OF,
	NVS_KEEP_SUM,
	NVS_KEEP_LEAST,
	NVS_KEEP_MOST,
	NVS_KEEP_FIRST, /* of an array's items */
};

/* How an array lies: all is absent where one of its items is of another sort. */
struct nvs_api_array {
	uint8_t count; /* place of the argument that says how many */
	uint8_t factors; /* so many u64 are multiplied */
	uint8_t nguards;
	uint8_t guard[2]; /* offsets of u32 that are 1 */
	uint16_t stride;
};

struct nvs_api_keep {
	const char *name; /* "name:kind" */
	const struct nvs_api_array *array;
	uint8_t place; /* 0 to 5: in a register, from 6: on the stack */
	uint8_t how; /* enum nvs_keep_how */
	uint8_t size;
	uint8_t is_string;
	uint16_t offset; /* in what it points to */
};

#define NVS_API_MAX_KEPT 24

struct nvs_api_frame;
/* What else is to be done before a call, and when it has returned RESULT. */
typedef void nvs_api_before(struct nvs_api_frame *frame);
typedef void nvs_api_after(struct nvs_api_frame *frame, uint32_t result);

/* What the live page counts beside the call itself (preload/api/stats/call_stats.c). */
enum nvs_api_does {
	NVS_DOES_NOTHING,
	NVS_DOES_COPY,
	NVS_DOES_SET,
	NVS_DOES_ALLOC,
	NVS_DOES_ALLOC_PITCH,
	NVS_DOES_ALLOC_ARRAY,
	NVS_DOES_FREE,
	NVS_DOES_MAP,
	NVS_DOES_UNMAP,
	NVS_DOES_RETAIN,
	NVS_DOES_GRAPH_LAUNCH,
};

struct nvs_api_effect {
	uint8_t does; /* enum nvs_api_does */
	uint8_t kind; /* enum nvs_live_direction of a copy, nvs_live_kind of memory, bytes of a
			 memset's items */
	uint8_t space; /* enum nvs_live_space */
	uint8_t mode; /* enum nvs_live_mode */
	/* Which of keep these are, -1: none. For an array: source Format, target NumChannels */
	int8_t address, bytes, height, depth, source, target, handle;
	/* Of a copy that leaves its direction to the driver, -1: not told */
	int8_t to, from;
};

struct nvs_api {
	const char *name, *group;
	const struct nvs_api_keep *keep;
	nvs_api_before *before; /* NULL: nothing */
	nvs_api_after *after;
	uint8_t nkeep;
	uint8_t words; /* of arguments on the stack */
	int8_t launched; /* which of keep is the function that it launches, -1: none */
	int8_t stream; /* which of keep may be capturing, -1: none */
	bool per_thread; /* its default stream is the thread's */
	bool sited; /* allocates, frees or synchronizes: its stack is asked for, whatever it submits
		     */
	struct nvs_api_effect effect;
};

extern const struct nvs_api nvs_api_table[]; /* by name */
extern const unsigned nvs_api_count;

/* ---- thunk.S ---- */

#define NVS_API_SLOTS 1024
#define NVS_API_THUNK_BYTES 16
extern const uint8_t nvs_api_thunks[NVS_API_SLOTS * NVS_API_THUNK_BYTES];

/* What a thunk leaves on the stack while its call runs. The layout is known to thunk.S. */
struct nvs_api_frame {
	uint64_t regs[6]; /* rdi, rsi, rdx, rcx, r8, r9 */
	uint64_t index; /* of the slot */
	const uint64_t *stack; /* arguments from the seventh on */
	uint64_t begin, number, depth; /* depth 0: not among the open calls */
	uint64_t result[2]; /* kept by the thunk */
	uint64_t token; /* of count.c: what is about to be freed; of load.c: the load */
	uint64_t vector[16];
};

/* Calls FN(handle, name, version) so that it returns by way of the RET at GADGET: that is its
 * caller then. */
void *nvs_api_call_as(void *handle, const char *name, const char *version, void *fn,
		      const void *gadget);

/* ---- call.c: a call begins, a call ends ---- */

struct nvs_api_slot {
	void *original;
	const struct nvs_api *api;
};
extern struct nvs_api_slot nvs_api_slots[NVS_API_SLOTS];

extern _Atomic uint32_t nvs_api_live; /* calls go to the trace; before, to the early store */

static inline uint32_t nvs_api_number(const struct nvs_api *api)
{
	return (uint32_t)(api - nvs_api_table);
}

static inline uint64_t nvs_api_argument(const struct nvs_api_frame *frame, unsigned place)
{
	return place < 6 ? frame->regs[place] : frame->stack[place - 6];
}

/* Tells of this thread's calls that were left by a jump. */
void nvs_api_forget_left(void);

/* Gives this thread's calls that began before the live page did their rows in it; to be done before
 * the thread has a buffer, which shows them. */
void nvs_api_name_open(void);

/* callsite.c: number of the stack that led to a call which is over, NVS_NONE if none is taken.
 * *UNWOUND: signals were held back for it, which are to be delivered once BUFFER has been left. */
struct nvs_buffer;
uint32_t nvs_api_callsite(struct nvs_buffer *buffer, const struct nvs_api_frame *frame,
			  uint64_t time, bool *unwound);

/* waiting.c: by the keeper, ten times a second. True: some call has stayed, and is to be seen. */
bool nvs_api_calls_stay(void);
/* While it holds the list of modules. Makes system calls that no program needs. */
void nvs_api_see_calls(void);

/* ---- count.c: what a call means for the live page ---- */

struct nvs_api_done {
	const struct nvs_api *api;
	uint64_t begin, end; /* ticks */
	uint32_t result, row; /* row of the page */
	uint32_t stack; /* NVS_NONE: not taken */
	uint32_t absent;
	const uint64_t *args;
	bool captured;
};
/* A call that returned, with what it did; by the owner of SLOT. */
void nvs_api_tally(struct nvs_live_page *page, struct nvs_live_slot *slot,
		   const struct nvs_api_done *done, struct nvs_api_frame *frame);
/* The same where DONE has no arguments but the FUNCTION that it launched, and no effect. */
void nvs_api_tally_plain(struct nvs_live_page *page, struct nvs_live_slot *slot,
			 const struct nvs_api_done *done, uint64_t function,
			 const struct nvs_api_frame *frame);
/* One that frees is about to be made. */
void nvs_api_count_free(struct nvs_live_page *page, const struct nvs_api *api,
			struct nvs_api_frame *frame);
/* The row of the page for a function that was launched, which the driver is asked about the first
 * time. */
uint32_t nvs_api_kernel_row(struct nvs_live_page *page, uint64_t function);
/* The current context, and its GPU: row + 1. */
uint64_t nvs_api_current(struct nvs_live_page *page, uint32_t *gpu);
/* direction.c: on which sides a copy's ends lie; NVS_LIVE_ANY: not known */
enum nvs_live_direction nvs_api_direction(const struct nvs_api_done *done);
/* Memory comes or goes: an address may be of another kind from now on. */
void nvs_api_memory_changed(void);
/* Contexts end, and what they had: as the handlers of context.c. */
void nvs_api_count_context(uint64_t context, uint32_t device);

/* ---- bind.c, libcuda.c: entry points to thunks ---- */

/* What the program is to be given for ADDRESS, which was found as NAME (NULL: not known): a thunk
 * or itself. */
void *nvs_api_wrap(void *address, const char *name);
/* The program asked for NAME and was given ADDRESS: told where its calls are not observed. */
void nvs_api_looked_up(const void *address, const char *name);
/* libcuda lies here; its dynamic section at DYNAMIC. */
void nvs_api_learn(uintptr_t base, const void *dynamic, uintptr_t start, uintptr_t end);
bool nvs_api_is_libcuda(const char *path);
bool nvs_api_in_libcuda(uintptr_t address);
/* The same, of one that has not been seen yet as well. Takes no lock. */
bool nvs_api_of_libcuda(uintptr_t address);
/* libcuda's own NAME; NULL: it has none, or libcuda is not loaded. */
void *nvs_api_driver(const char *name);
struct nvs_api_export {
	uintptr_t address;
	const char *name;
	_Atomic uint8_t
		scope; /* of a lazy slot: 0 not known, 1 wanted, 2 libcuda's, 3 somebody else's */
};
struct nvs_api_export *nvs_api_exported(const char *name);
uint32_t nvs_api_exports(struct nvs_api_export **first);
/* All that has been bound so far, for a trace that begins. */
void nvs_api_tell_all(void);
bool nvs_api_on(void);

static inline bool nvs_api_is_name(const char *name)
{
	return name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

/* ---- dlsym.c ---- */
extern void *nvs_real_dlsym, *nvs_real_dlvsym, *nvs_real_dlopen;

/* ---- context.c: NULL: nobody asks; 0 for ends: any of them may be about to end ---- */
/* For what a call has waited; a copy waits for its stream. */
enum nvs_api_waited { NVS_WAITED_STREAM, NVS_WAITED_CONTEXT, NVS_WAITED_EVENT };

/* What counting (counting.h) is told; NULL: nothing is counted. */
struct nvs_api_counting {
	void (*loaded)(struct nvs_api_frame *frame); /* ahead of all else that follows a load */
	void (*called)(const struct nvs_api_frame *frame, const struct nvs_api *api,
		       uint32_t result); /* any call */
	void (*waited)(const struct nvs_api_frame *frame, enum nvs_api_waited on);
	void (*unloaded)(uint64_t handle); /* a module, or a library */
	void (*ends)(uint64_t context, bool certain); /* as nvs_api_context_ends */
	void (*ended)(uint64_t context);
	/* from=profiler: the call of FRAME is about to begin or to end what is wanted */
	void (*window)(const struct nvs_api_frame *frame, bool begins);
};
/* from=profiler: between cuProfilerStart and cuProfilerStop */
extern _Atomic bool nvs_api_profiled;
extern const struct nvs_api_counting *_Atomic nvs_api_counting;
static inline const struct nvs_api_counting *nvs_api_who_counts(void)
{
	return atomic_load_explicit(&nvs_api_counting, memory_order_relaxed);
}
extern void (*nvs_api_context_seen)(uint64_t context);
extern void (*nvs_api_context_ends)(uint64_t context);

/* ---- got.c: slots of objects that were linked with libcuda ---- */
/* Looks at objects that came since the last time, those of deepbind.h first. Not under nvs_lock. */
void nvs_api_rebind(void);
/* By nvs_session_prepare(). */
void nvs_api_start(void);

/* ---- early.c: calls and ranges before the trace ---- */
/* A CALL, or one of NVTX. */
void nvs_api_early(const struct nvs_rec *rec);
/* image.c: code that was loaded before the trace, into it. */
void nvs_api_images_flush(void);
/* Into the trace; without CALLS, the ranges alone. */
void nvs_api_early_flush(bool calls);
/* Called by session.c once records can be written. */
void nvs_api_session_started(void);
extern _Atomic int nvs_api_clock; /* 0: not known yet, 1: CLOCK_MONOTONIC, 2: TSC */
uint64_t nvs_api_now_slowly(void);

/* The clock that the session has or will have. */
static inline uint64_t nvs_api_now(void)
{
	if (__builtin_expect(atomic_load_explicit(&nvs_api_clock, memory_order_relaxed) == 2, 1))
		return __builtin_ia32_rdtsc();
	return nvs_api_now_slowly();
}

/* ---- kernel.c, graph.c: what handles mean, asked of the driver after the call ---- */
#define NVS_API_KNOWN (1u << 14)
extern _Atomic uint64_t nvs_api_known[NVS_API_KNOWN];
extern _Atomic uint32_t nvs_api_unloads;
extern _Atomic int32_t nvs_api_captures; /* under way */

static inline uint64_t nvs_api_known_key(uint64_t function)
{
	return function ^ (uint64_t)atomic_load_explicit(&nvs_api_unloads, memory_order_relaxed)
				  << 48;
}

static inline uint32_t nvs_api_known_slot(uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 50);
}

void nvs_api_tell_kernel(uint64_t function);
/* As the driver tells; NULL: it does not. */
const char *nvs_api_function_name(uint64_t function);

/* Tells what FUNCTION is, the first time. */
static inline void nvs_api_kernel(uint64_t function)
{
	uint64_t key = nvs_api_known_key(function);

	if (function && atomic_load_explicit(&nvs_api_known[nvs_api_known_slot(key)],
					     memory_order_relaxed) != key)
		nvs_api_tell_kernel(function);
}

/* Is STREAM, which a call of API was given, capturing? */
bool nvs_api_capturing(const struct nvs_api *api, uint64_t stream);

/* ---- handlers that cuda.api names: kernel.c, graphset.c, profiler.c, context.c ---- */
nvs_api_before nvs_api_before_context_destroy, nvs_api_before_primary_reset,
	nvs_api_before_primary_release, nvs_api_before_green_destroy;
nvs_api_after nvs_api_after_context_out, nvs_api_after_context_in;
nvs_api_before nvs_api_before_load, nvs_api_before_load_library;
nvs_api_after nvs_api_after_wait, nvs_api_after_wait_context, nvs_api_after_wait_event;
nvs_api_before nvs_api_before_unload, nvs_api_before_library_unload, nvs_api_before_profiler_start,
	nvs_api_before_profiler_stop;
nvs_api_after nvs_api_after_unload, nvs_api_after_release, nvs_api_after_get_kernel,
	nvs_api_after_enumerate_kernels, nvs_api_after_begin_capture, nvs_api_after_end_capture,
	nvs_api_after_resolve, nvs_api_after_load_data, nvs_api_after_load_file,
	nvs_api_after_link_complete;
nvs_api_after nvs_api_after_instantiate, nvs_api_after_update, nvs_api_after_set_kernel,
	nvs_api_after_set_kernel_v2, nvs_api_after_set_copy, nvs_api_after_set_memset,
	nvs_api_after_set_child, nvs_api_after_set_node, nvs_api_after_set_enabled,
	nvs_api_after_add_node, nvs_api_after_add_node_v2, nvs_api_after_destroy_graph,
	nvs_api_after_destroy_node, nvs_api_after_destroy_exec;

#endif
