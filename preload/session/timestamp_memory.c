/* SPDX-License-Identifier: MIT */
/*
 * timing=: a thread of the library that creates memory for GPU timestamps in each context that the
 * program makes, and reads the timestamps. Driver calls are made here only, never under a lock of
 * the library, and a context does not end during one. The memory is anonymous, registered with the
 * driver: it stays readable after the context, and is below 2^40 if possible, as GPFIFO entries
 * need. It is reused, never unmapped: a checkpoint unregisters it, and a restore pins the same
 * addresses.
 */
#include <string.h>
#include <sys/mman.h>
#include "preload/api/intercept/api.h"
#include "preload/base/clock.h"
#include "preload/base/next.h"
#include "preload/base/ownthread.h"
#include "preload/base/sys.h"
#include "preload/session/timestamp_memory.h"
#include "preload/signals/signals.h"
#include "preload/writer/session.h"

#define MAX_CONTEXTS 64
#define ROUND_MS 10
#define BEHIND_NS 100000
#define CLOCK_NS 1000000000ull
#define MAKING_MS 1000 /* maximum time that the end of a context waits */
#define LOW_ADDRESS 0x1000000000ull
#define LOW_STEP 0x400000000ull
#define LOW_TRIES 32
#define RELAXED 2 /* CU_STREAM_CAPTURE_MODE_RELAXED: others may be capturing */
#define MAP_DEVICE 2 /* CU_MEMHOSTREGISTER_DEVICEMAP */

extern _Atomic uint32_t nvs_gpfifo_pending; /* trap/copy/gpfifo_timing.h */

struct contexts {
	_Atomic uint64_t context[MAX_CONTEXTS]; /* context 0: free slot */
	_Atomic uint32_t tried[MAX_CONTEXTS]; /* try nothing more in this context */
	_Atomic uint32_t gpu[MAX_CONTEXTS]; /* number + 1; 0: not queried yet */
	_Atomic uint64_t making; /* the context that the thread is working in */
	_Atomic uint32_t ended; /* the session is ending */
};

static struct contexts *get_contexts(void)
{
	return __atomic_load_n(nvs_slot(NVS_SLOT_TIMING), __ATOMIC_ACQUIRE);
}

/* ---- notifications from the program's threads ---- */

static void add_context(uint64_t context)
{
	struct contexts *all = get_contexts();
	uint32_t i;

	if (!all || !context)
		return;
	for (i = 0; i < MAX_CONTEXTS; i++)
		if (atomic_load_explicit(&all->context[i], memory_order_relaxed) == context)
			return;
	for (i = 0; i < MAX_CONTEXTS; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&all->context[i], &none, context))
			break;
	}
	atomic_store(&nvs_gpfifo_pending, 1);
	nvs_sys_futex_wake(&nvs_gpfifo_pending);
}

/* Call when the slot is or will be reused for another context. */
static void clear_slot(struct contexts *all, uint32_t i)
{
	atomic_store(&all->tried[i], 0);
	atomic_store(&all->gpu[i], 0);
}

/* CONTEXT is about to end; 0: any context may be. */
static void remove_contexts(uint64_t context)
{
	struct contexts *all = get_contexts();

	if (!all)
		return;
	for (uint32_t i = 0; i < MAX_CONTEXTS; i++) {
		uint64_t now = atomic_load(&all->context[i]);

		if (!now || (context && now != context))
			continue;
		atomic_compare_exchange_strong(&all->context[i], &now, 0);
		clear_slot(all, i);
	}
	for (int i = 0; i < MAKING_MS; i++) {
		uint64_t making = atomic_load(&all->making);

		if (!making || (context && making != context))
			return;
		nvs_sleep(1000000);
	}
}

/* ---- memory ---- */

static void *map_memory(void)
{
	const size_t bytes = NVS_TIMING_POOL_BYTES;
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *p = MAP_FAILED;

	for (uint64_t i = 0; i < LOW_TRIES && p == MAP_FAILED; i++) {
		void *at = (void *)(LOW_ADDRESS + i * LOW_STEP);

		p = nvs_next()->mmap(at, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE,
				     -1, 0);
		/* Kernels that do not know the flag ignore it and may map elsewhere. */
		if (p != MAP_FAILED && p != at) {
			nvs_next()->munmap(p, bytes);
			p = MAP_FAILED;
		}
	}
	if (p == MAP_FAILED)
		p = nvs_next()->mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, bytes, MADV_DONTFORK);
	return p;
}

/* The GPU of the current context. Returns NVS_NONE if unknown. */
static uint32_t current_gpu(void)
{
	int (*get_device)(int *) = nvs_api_driver_function("cuCtxGetDevice");
	int (*get_uuid)(uint8_t *, int) = nvs_api_driver_function("cuDeviceGetUuid_v2");
	uint8_t uuid[16];
	int device;

	if (!get_device || !get_uuid || get_device(&device) || get_uuid(uuid, device))
		return NVS_NONE;
	return nvs_rm_gpu_by_uuid(uuid);
}

/* Creates memory for GPU, the current context's. Returns true if there is nothing more to try in
 * this context. */
static bool make_memory(uint32_t gpu)
{
	int (*enlist)(void *, size_t, unsigned) = nvs_api_driver_function("cuMemHostRegister_v2");
	int (*find)(uint64_t *, void *,
		    unsigned) = nvs_api_driver_function("cuMemHostGetDevicePointer_v2");
	uint64_t address;
	void *p, *fresh = NULL;

	if (gpu == NVS_NONE || !enlist)
		return true;
	if (!nvs_rm_timing_needs_memory(gpu))
		return false;
	p = nvs_rm_timing_take_spare();
	if (!p)
		p = fresh = map_memory();
	if (!p)
		return true;
	memset(p, 0, NVS_TIMING_POOL_BYTES);
	if (enlist(p, NVS_TIMING_POOL_BYTES, MAP_DEVICE)) {
		if (fresh)
			nvs_next()->munmap(fresh, NVS_TIMING_POOL_BYTES);
		return true;
	}
	/* The query is not needed where host pointers are valid on the device. */
	if (!find || find(&address, p, 0))
		address = (uintptr_t)p;
	nvs_rm_timing_add_memory(gpu, p, address);
	/* A channel that cannot reach this memory will not reach another. */
	return true;
}

/* Nothing more may be created: driver calls could be of a kind that a sandbox kills for. */
static bool is_over(struct contexts *all)
{
	return atomic_load(&all->ended) || atomic_load(&nvs_writer_signal.ended) ||
	       nvs_session_is_confined();
}

/* Works in the current context. The program's signals may arrive on this thread meanwhile. */
static void work_in_context(struct contexts *all, uint32_t i)
{
	int (*exchange_mode)(int *) = nvs_api_driver_function("cuThreadExchangeStreamCaptureMode");
	uint32_t gpu = current_gpu();
	int mode = RELAXED;

	if (exchange_mode)
		exchange_mode(&mode);
	atomic_store(&all->gpu[i], gpu + 1);
	if (make_memory(gpu))
		atomic_store(&all->tried[i], 1);
}

static void visit_context(struct contexts *all, uint32_t i)
{
	int (*set_current)(uint64_t) = nvs_api_driver_function("cuCtxSetCurrent");
	uint64_t context = atomic_load(&all->context[i]);
	uint32_t gpu = atomic_load(&all->gpu[i]);

	if (!context || atomic_load(&all->tried[i]) || !set_current ||
	    (gpu && !nvs_rm_timing_needs_memory(gpu - 1)))
		return;
	atomic_store(&all->making, context);
	/* The context or the session may be ending by now, or a sandbox may be active. */
	if (atomic_load(&all->context[i]) == context && !is_over(all)) {
		/* A doorbell store of the driver on this thread faults like any other. */
		nvs_sigview_own_faults_begin();
		if (!set_current(context)) {
			work_in_context(all, i);
			set_current(0);
		}
		if (atomic_load(&all->context[i]) != context)
			clear_slot(all, i);
		nvs_sigview_own_faults_end();
	}
	atomic_store(&all->making, 0);
}

/* ---- the thread ---- */

static void run_timing(void *arg)
{
	struct contexts *all = arg;
	uint64_t clock_due = 0;
	bool behind = false;

	for (uint32_t round = 0;; round++) {
		bool over = is_over(all), ended = atomic_load(&nvs_writer_signal.ended);

		if (behind && !nvs_session_is_confined())
			nvs_sleep(BEHIND_NS);
		else
			nvs_sys_futex_wait(&nvs_gpfifo_pending, 0, behind ? 1 : ROUND_MS);
		atomic_store(&nvs_gpfifo_pending, 0);
		/* Before the first timestamp is taken. Reading a clock makes no system call but may
		 * fault. */
		if (!over && nvs_clock_mono_ns() >= clock_due && nvs_rm_timing_read_clocks())
			clock_due = nvs_clock_mono_ns() + CLOCK_NS;
		for (uint32_t i = 0; i < MAX_CONTEXTS && !over; i++)
			visit_context(all, i);
		behind = nvs_rm_timing_poll(!ended && (!behind || round % 64 == 0));
	}
}

void nvs_timing_start(void)
{
	struct contexts *all;

	if (!nvs_options()->values.timing || get_contexts())
		return;
	all = nvs_alloc(sizeof(*all));
	if (!all)
		return;
	__atomic_store_n(nvs_slot(NVS_SLOT_TIMING), all, __ATOMIC_RELEASE);
	nvs_api_context_seen = add_context;
	nvs_api_context_ends = remove_contexts;
	nvs_api_keys = nvs_options()->untraced;
	nvs_own_thread_start("nvsnoop-gpu", 0, run_timing, all);
}

void nvs_timing_stop(void)
{
	struct contexts *all = get_contexts();

	if (!all)
		return;
	atomic_store(&all->ended, 1);
	remove_contexts(0);
}
