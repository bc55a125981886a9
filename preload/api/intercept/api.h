/* SPDX-License-Identifier: MIT */
/*
 * The API layer: observes calls of the CUDA driver API at the places where the program gets its
 * entry points (dlsym, cuGetProcAddress, its own GOT). Every libcuda entry point in the table is
 * replaced by its own thunk, which records the call around the original. Tables are in .bss and
 * filled without locks: the caller may hold the loader's lock, and a forked child keeps its wrapped
 * pointers.
 */
#ifndef NVSNOOP_PRELOAD_API_INTERCEPT_API_H
#define NVSNOOP_PRELOAD_API_INTERCEPT_API_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nvsnoop/trace.h"
#include "preload/base/hash.h"
#include "preload/live/memory.h"
#include "preload/modules/elf.h"
#include "trap/arch/cpu.h"
#include "trap/buffer/calls.h"

/* Restores errno when the enclosing block ends. */
#define NVS_KEEP_ERRNO() \
	const int kept_errno_ __attribute__((cleanup(nvs_restore_errno), unused)) = errno
static inline void nvs_restore_errno(const int *kept)
{
	errno = *kept;
}

/* Until the enclosing block ends, this thread's calls of the driver are not recorded; keeps errno.
 */
#define NVS_QUIET()       \
	NVS_KEEP_ERRNO(); \
	const uint32_t quiet_ __attribute__((cleanup(nvs_end_quiet), unused)) = ++nvs_calls.quiet
static inline void nvs_end_quiet(const uint32_t *quiet)
{
	nvs_calls.quiet--;
}

/* ---- the table, generated from api/cuda.api ---- */

enum nvs_keep_how {
	NVS_KEEP_VALUE,
	NVS_KEEP_IN,
	NVS_KEEP_OUT,
	NVS_KEEP_ATTR, /* a launch attribute: its id << 8 | offset in its value */
	NVS_KEEP_IN_OF, /* in a structure that begins with a type: type << 8 | offset */
	NVS_KEEP_OUT_OF,
	NVS_KEEP_SUM,
	NVS_KEEP_LEAST,
	NVS_KEEP_MOST,
	NVS_KEEP_FIRST, /* of an array: its first item */
};

/* Layout of an array argument. The value is absent if any item fails a guard. */
struct nvs_api_array {
	uint8_t count; /* place of the argument with the number of items */
	uint8_t factors; /* number of u64 that are multiplied for an item's value */
	uint8_t nguards;
	uint8_t guard[2]; /* offsets of u32 that must be 1 */
	uint16_t stride;
};

struct nvs_api_keep {
	const char *name; /* "name:kind" */
	const struct nvs_api_array *array;
	uint8_t place; /* below NVS_ARG_REGS: register; from there on: stack */
	uint8_t how; /* enum nvs_keep_how */
	uint8_t size;
	uint8_t is_string;
	uint16_t offset; /* offset in the structure that the argument points to */
};

#define NVS_API_MAX_KEPT 24

struct nvs_api_frame;
/* Extra work before a call, and after it has returned RESULT. */
typedef void nvs_api_before(struct nvs_api_frame *frame);
typedef void nvs_api_after(struct nvs_api_frame *frame, uint32_t result);

/* Counted in the live page in addition to the call itself (preload/api/stats/call_stats.c). */
enum nvs_api_effect_kind {
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
	uint8_t does; /* enum nvs_api_effect_kind */
	uint8_t kind; /* copy: enum nvs_live_direction; memory: enum nvs_live_kind; memset: bytes of
			 an item */
	uint8_t space; /* enum nvs_live_space */
	uint8_t mode; /* enum nvs_live_mode */
	/* Indices in keep, -1: none. For an array, source is Format and target NumChannels. */
	int8_t address, bytes, height, depth, source, target, handle;
	/* both ends of a copy whose direction the driver determines, -1: none */
	int8_t to, from;
};

struct nvs_api {
	const char *name, *group;
	const struct nvs_api_keep *keep;
	nvs_api_before *before; /* NULL: none */
	nvs_api_after *after;
	uint8_t nkeep;
	uint8_t words; /* number of stack argument words */
	int8_t launched; /* index in keep of the launched function, -1: none */
	int8_t stream; /* index in keep of the stream that may be capturing, -1: none */
	bool per_thread; /* its default stream is per thread */
	bool sited; /* allocates, frees or synchronizes: its stack is recorded, even if it submits
		       nothing */
	bool for_snapshots; /* BEFORE and AFTER are called only with the option snapshot */
	struct nvs_api_effect effect;
};

extern const struct nvs_api nvs_api_table[]; /* sorted by name */
extern const unsigned nvs_api_count;

/* ---- arch/, thunk.S ---- */

#define NVS_API_SLOTS 1024
#define NVS_API_THUNK_BYTES 16
extern const uint8_t nvs_api_thunks[NVS_API_SLOTS * NVS_API_THUNK_BYTES];

/* A thunk's stack frame while its call runs. thunk.S depends on this layout. */
struct nvs_api_frame {
	uint64_t regs[NVS_ARG_REGS]; /* registers of integer arguments */
	uint64_t index; /* of the thunk's slot */
	const uint64_t *stack; /* further arguments */
	uint64_t begin, number, depth; /* depth 0: the call is not in the list of open calls */
	uint64_t result[2]; /* return registers, saved by the thunk */
	uint64_t token; /* count.c: the allocation being freed; load.c: struct load; snapshot.c */
	uint64_t vector[16];
};

/*
 * Calls FN(handle, name, version) with the instructions at GADGET as its return address, so that FN
 * takes the module of GADGET for its caller. nvs_api_find_return() finds some in SIZE bytes of code
 * from AT on, or NULL; nvs_api_may_return() is false if the processor would refuse that return.
 */
void *nvs_api_call_as(void *handle, const char *name, const char *version, void *fn,
		      const void *gadget);
const void *nvs_api_find_return(const void *at, size_t size);
bool nvs_api_may_return(void);

/* ---- call.c: start and end of a call ---- */

struct nvs_api_slot {
	void *original;
	const struct nvs_api *api;
	nvs_api_before *before; /* NULL: none */
	nvs_api_after *after;
};
extern struct nvs_api_slot nvs_api_slots[NVS_API_SLOTS];

extern bool nvs_api_keys; /* open calls have the key of the kernel that they launch */
extern _Atomic uint32_t nvs_api_live; /* 1: calls go to the trace; 0: to the early store */

static inline uint32_t nvs_api_number(const struct nvs_api *api)
{
	return (uint32_t)(api - nvs_api_table);
}

static inline uint64_t nvs_api_argument(const struct nvs_api_frame *frame, unsigned place)
{
	return place < NVS_ARG_REGS ? frame->regs[place] : frame->stack[place - NVS_ARG_REGS];
}

/* Sets *VALUE to kept argument WHICH of a call of API, no string. OK: the call succeeded. Returns
 * false if it is unknown, or WHICH negative: none. */
bool nvs_api_kept(const struct nvs_api_frame *frame, const struct nvs_api *api, int8_t which,
		  bool ok, uint64_t *value);

/* Records the calls of this thread that were left by a longjmp. */
void nvs_api_abandon_left(void);

/* Assigns live page rows to open calls of this thread that began before the page existed. Must run
 * before the thread gets a buffer, which publishes its open calls. */
void nvs_api_name_open(void);

/* callsite.c: records the stack of a call that has returned. Returns its number, NVS_NONE if none
 * was taken. *UNWOUND: signals were deferred meanwhile; deliver them after leaving BUFFER. */
struct nvs_buffer;
uint32_t nvs_api_callsite(struct nvs_buffer *buffer, const struct nvs_api_frame *frame,
			  uint64_t time, bool *unwound);

/* waiting.c: called by the keeper ten times a second. Returns true if a call has been open for long
 * enough that nvs_api_record_stuck() should record its stack. */
bool nvs_api_find_stuck(void);
/* Called with the module list locked. Makes system calls that a sandbox may forbid. */
void nvs_api_record_stuck(void);

/* ---- count.c: counts calls in the live page ---- */

struct nvs_api_returned_call {
	const struct nvs_api *api;
	uint64_t begin, end; /* ticks */
	uint32_t result, row; /* row: of the page */
	uint32_t stack; /* NVS_NONE: none */
	uint32_t absent;
	const uint64_t *args;
	bool captured;
};
/* Sets *V to argument WHICH. Returns false if it is unknown, or WHICH negative: none. */
static inline bool nvs_api_done_value(const struct nvs_api_returned_call *d, int8_t which,
				      uint64_t *v)
{
	*v = which >= 0 ? d->args[which] : 0;
	return which >= 0 && !(d->absent & 1u << which);
}
/* Counts a call that returned, and its effect. Only the owner of SLOT may call it. */
void nvs_api_count_call(struct nvs_live_page *page, struct nvs_live_slot *slot,
			const struct nvs_api_returned_call *done, struct nvs_api_frame *frame);
/* The same for a call without effect, of which only the launched FUNCTION is known. */
void nvs_api_count_plain(struct nvs_live_page *page, struct nvs_live_slot *slot,
			 const struct nvs_api_returned_call *done, uint64_t function,
			 const struct nvs_api_frame *frame);
/* Call before a call that frees memory. */
void nvs_api_count_free(struct nvs_live_page *page, const struct nvs_api *api,
			struct nvs_api_frame *frame);
/* Row of a launched function in the live page. Asks the driver about it the first time. */
uint32_t nvs_api_kernel_row(struct nvs_live_page *page, uint64_t function);
/* The current context. *GPU: row + 1 of its GPU. */
uint64_t nvs_api_current_context(struct nvs_live_page *page, uint32_t *gpu);
/* direction.c: the direction of a copy. Returns NVS_LIVE_ANY if unknown. */
enum nvs_live_direction nvs_api_direction(const struct nvs_api_returned_call *done);
/* Call when memory is allocated or freed: addresses may change their kind. */
void nvs_api_memory_changed(void);
/* Counts the end of a context and of its memory. */
void nvs_api_count_context(uint64_t context);

/* ---- bind.c, libcuda.c: binding of entry points to thunks ---- */

/* Returns the thunk for ADDRESS if it is an observed entry point, else ADDRESS itself. NAME: under
 * which it was looked up, NULL if unknown. */
void *nvs_api_wrap(void *address, const char *name);
/* The program looked up NAME and got ADDRESS. Records it if its calls are not observed. */
void nvs_api_note_lookup(const void *address, const char *name);
/* Registers a loaded libcuda and, for the first one, its exports. DYNAMIC: its dynamic section. */
void nvs_api_add_libcuda(uintptr_t base, const void *dynamic, uintptr_t start, uintptr_t end);
bool nvs_api_is_libcuda(const char *path);
bool nvs_api_in_libcuda(uintptr_t address);
/* The same, but also finds a libcuda that was not registered yet. Takes no lock. */
bool nvs_api_find_libcuda(uintptr_t address);
/* Address of libcuda's function NAME. Returns NULL if it has none or libcuda is not loaded. */
void *nvs_api_driver_function(const char *name);
struct nvs_api_export {
	uintptr_t address;
	const char *name;
	_Atomic uint8_t scope; /* of a lazy slot: 0 unknown, 1 lookup pending, 2 libcuda's function,
				  3 another object's */
};
struct nvs_api_export *nvs_api_exported(const char *name);
uint32_t nvs_api_exports(struct nvs_api_export **first);
bool nvs_api_is_enabled(void);

static inline bool nvs_api_is_name(const char *name)
{
	return name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

/* ---- dlsym.c ---- */
extern void *nvs_real_dlsym, *nvs_real_dlvsym, *nvs_real_dlopen;

/* ---- context.c: NULL handlers: not used; context 0 in ends: any context may be ending ---- */
/* The object that a call waited for. A synchronous copy waits for its stream. */
enum nvs_api_wait_kind { NVS_WAITED_STREAM, NVS_WAITED_CONTEXT, NVS_WAITED_EVENT };

/* Callbacks of instruction counting (counting.h). NULL: nothing is counted. */
struct nvs_api_counting {
	void (*loaded)(struct nvs_api_frame *frame); /* runs first after a load */
	void (*called)(const struct nvs_api_frame *frame, const struct nvs_api *api,
		       uint32_t result); /* after any call */
	void (*waited)(const struct nvs_api_frame *frame, enum nvs_api_wait_kind on);
	void (*unloaded)(uint64_t handle); /* handle of a module or a library */
	void (*ends)(uint64_t context, bool certain); /* like nvs_api_context_ends */
	void (*ended)(uint64_t context);
	/* from=profiler: FRAME's call is about to start or stop the recording window */
	void (*window)(const struct nvs_api_frame *frame, bool begins);
};
/* from=profiler: true between cuProfilerStart and cuProfilerStop */
extern _Atomic bool nvs_api_profiled;
extern const struct nvs_api_counting *_Atomic nvs_api_counting;
static inline const struct nvs_api_counting *nvs_api_get_counting(void)
{
	return atomic_load_explicit(&nvs_api_counting, memory_order_acquire);
}
/* A call returned RESULT, an error that a fault of the GPU may have caused. */
extern void (*nvs_api_call_failed)(uint32_t result);
extern void (*nvs_api_context_seen)(uint64_t context);
extern void (*nvs_api_context_ends)(uint64_t context);

/* ---- got.c: GOT slots of objects that are linked with libcuda ---- */
/* Scans objects loaded since the last call, those of deepbind.h first. Call without nvs_lock. */
void nvs_api_rebind(void);
/* Called by nvs_session_prepare(). */
void nvs_api_start(void);

/* ---- preload/api/snapshot: snapshot=GLOB ---- */
struct nvs_api_snapshots {
	nvs_api_after *follow; /* after calls that allocate and free */
	void (*loaded)(const void *image, uint64_t handle); /* code */
	void (*got_kernel)(uint64_t kernel, uint64_t library, const char *name);
	void (*waited)(void); /* the program has waited for the GPU */
	void (*failed)(void); /* a call returned an error that a fault of the GPU may have caused */
};
extern const struct nvs_api_snapshots *_Atomic nvs_api_snapshots;
/* NULL: there are no snapshots. */
static inline const struct nvs_api_snapshots *nvs_api_get_snapshots(void)
{
	return atomic_load_explicit(&nvs_api_snapshots, memory_order_relaxed);
}
void nvs_snapshot_start(void); /* called before nvs_api_start() */

/* ---- early.c: calls and ranges before the session starts ---- */
/* Stores a CALL or NVTX record. */
void nvs_api_store_early(const struct nvs_rec *rec);
/* image.c: writes images that were loaded before the session into the trace. */
void nvs_api_images_flush(void);
/* fault_images.c: a kernel has faulted. Records code that was noted when it was loaded, once. */
void nvs_api_record_noted_code(void);
/* Writes the stored records into the trace, without CALLS only the ranges. */
void nvs_api_early_flush(bool calls);
/* Called by session.c once records can be written. */
void nvs_api_session_started(void);
extern _Atomic int nvs_api_clock; /* 0: not chosen yet, 1: CLOCK_MONOTONIC, 2: nvs_ticks() */
uint64_t nvs_api_now_slowly(void);

/* Reads the clock that the session uses or will use. */
static inline uint64_t nvs_api_now(void)
{
	if (__builtin_expect(atomic_load_explicit(&nvs_api_clock, memory_order_relaxed) == 2, 1))
		return nvs_ticks();
	return nvs_api_now_slowly();
}

/* ---- kernel.c, graph.c: properties of handles, queried from the driver after the call ---- */
#define NVS_API_KNOWN_BITS 14
#define NVS_API_KNOWN (1u << NVS_API_KNOWN_BITS)
extern _Atomic uint64_t nvs_api_known[NVS_API_KNOWN];
extern _Atomic uint32_t nvs_api_unloads;
extern _Atomic int32_t nvs_api_captures; /* streams being captured */

static inline uint64_t nvs_api_known_key(uint64_t function)
{
	return function ^ (uint64_t)atomic_load_explicit(&nvs_api_unloads, memory_order_relaxed)
				  << 48;
}

void nvs_api_record_kernel(uint64_t function);
/* The function's name from the driver. Returns NULL if the driver does not provide it. */
const char *nvs_api_function_name(uint64_t function);

/* Records FUNCTION's name and resources the first time it is seen. */
static inline void nvs_api_kernel(uint64_t function)
{
	uint64_t key = nvs_api_known_key(function);
	uint32_t at = nvs_hash(key, NVS_API_KNOWN_BITS);

	if (function && atomic_load_explicit(&nvs_api_known[at], memory_order_relaxed) != key)
		nvs_api_record_kernel(function);
}

/* True if STREAM, an argument of a call of API, is being captured. */
bool nvs_api_is_capturing(const struct nvs_api *api, uint64_t stream);

/* ---- handlers named in cuda.api: kernel.c, graphset.c, profiler.c, context.c ---- */
nvs_api_before nvs_api_before_context_destroy, nvs_api_before_primary_reset,
	nvs_api_before_primary_release, nvs_api_before_green_destroy;
nvs_api_after nvs_api_after_context_out, nvs_api_after_context_in, nvs_api_after_context_destroy,
	nvs_api_after_primary_retain, nvs_api_after_primary_reset, nvs_api_after_primary_release;
nvs_api_before nvs_api_before_load, nvs_api_before_load_library;
nvs_api_after nvs_api_after_wait, nvs_api_after_wait_context, nvs_api_after_wait_event;
nvs_api_before nvs_api_before_unload, nvs_api_before_library_unload, nvs_api_before_profiler_start,
	nvs_api_before_profiler_stop;
nvs_api_after nvs_api_after_unload, nvs_api_after_get_kernel, nvs_api_after_enumerate_kernels,
	nvs_api_after_begin_capture, nvs_api_after_end_capture, nvs_api_after_resolve,
	nvs_api_after_load_data, nvs_api_after_load_file, nvs_api_after_link_complete;
nvs_api_after nvs_api_after_instantiate, nvs_api_after_update, nvs_api_after_set_kernel,
	nvs_api_after_set_kernel_v2, nvs_api_after_set_copy, nvs_api_after_set_memset,
	nvs_api_after_set_child, nvs_api_after_set_node, nvs_api_after_set_enabled,
	nvs_api_after_add_node, nvs_api_after_add_node_v2, nvs_api_after_destroy_graph,
	nvs_api_after_destroy_node, nvs_api_after_destroy_exec;
nvs_api_before nvs_api_before_launch;
nvs_api_after nvs_api_after_launch, nvs_api_after_get_function, nvs_api_after_kernel_function;

#endif
