/* SPDX-License-Identifier: MIT */
/* Counts a call in the live page: its time and result, and what it launched, copied, allocated or
 * freed. Runs on the calling thread, in the thread's own slot. */
#include <string.h>
#include "include/array_format.h"
#include "preload/api/intercept/api.h"
#include "preload/api/graphs/graph.h"
#include "preload/live/live.h"
#include "trap/buffer/calls.h"

/* ---- copies ---- */

/* A box with height 0 is a single row. */
static uint64_t bytes_of(const struct nvs_api_returned_call *d)
{
	const struct nvs_api_effect *e = &d->api->effect;
	uint64_t bytes, n;

	if (!nvs_api_done_value(d, e->bytes, &bytes))
		return 0;
	if (nvs_api_done_value(d, e->height, &n) && n)
		bytes *= n;
	if (nvs_api_done_value(d, e->depth, &n) && n)
		bytes *= n;
	return bytes;
}

/* Bucket N holds sizes up to 4^N. */
static uint32_t size_bucket(uint64_t bytes)
{
	uint32_t bucket = bytes > 1 ? (65 - (uint32_t)__builtin_clzll(bytes - 1)) / 2 : 0;

	return bucket < NVS_LIVE_SIZES ? bucket : NVS_LIVE_SIZES - 1;
}

static void count_copy(struct nvs_live_slot *slot, const struct nvs_api_returned_call *d,
		       uint64_t ns)
{
	enum nvs_live_direction direction = nvs_api_direction(d);
	struct nvs_live_copy *c = &slot->copies[direction][d->api->effect.mode];
	uint64_t bytes = bytes_of(d);

	nvs_live_add(&slot->copy_sizes[direction][size_bucket(bytes)], 1);
	nvs_live_add(&c->bytes, bytes);
	nvs_live_add(&c->ns, ns);
	nvs_live_add(&c->calls, 1);
}

/* ---- memory ---- */

#define CONTEXT_BITS 6
#define CONTEXTS (1u << CONTEXT_BITS)

/* Cache of the GPU of each context. A forked child looks it up again. */
static struct known_context {
	_Atomic uint64_t context;
	_Atomic uint64_t gpu; /* row + 1; PID in the upper half */
} contexts[CONTEXTS];

static uint32_t gpu_of_device(struct nvs_live_page *page, int device)
{
	int (*get_uuid)(uint8_t *, int) = nvs_api_driver_function("cuDeviceGetUuid_v2");
	uint8_t uuid[16] = {0};

	if (!get_uuid)
		get_uuid = nvs_api_driver_function("cuDeviceGetUuid");
	if (device < 0 || !get_uuid || get_uuid(uuid, device))
		return 0;
	return nvs_live_gpu(page, uuid, NVS_NONE, (uint32_t)device, NULL);
}

static uint32_t query_gpu(struct nvs_live_page *page)
{
	int (*get_device)(int *) = nvs_api_driver_function("cuCtxGetDevice");
	int device = -1;

	if (!get_device || get_device(&device))
		return 0;
	return gpu_of_device(page, device);
}

/* Another context may take the place meanwhile, as in nvs_live_handle_row(). */
static bool find_context(struct known_context *at, uint64_t context, uint32_t pid, uint32_t *gpu)
{
	uint64_t known;

	if (atomic_load_explicit(&at->context, memory_order_acquire) != context)
		return false;
	known = atomic_load_explicit(&at->gpu, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&at->context, memory_order_relaxed) != context ||
	    known >> 32 != pid)
		return false;
	*gpu = (uint32_t)known;
	return true;
}

static void keep_context(struct known_context *at, uint64_t context, uint32_t pid, uint32_t gpu)
{
	NVS_LOCK_SCOPE();
	atomic_store_explicit(&at->context, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&at->gpu, (uint64_t)pid << 32 | gpu, memory_order_relaxed);
	atomic_store_explicit(&at->context, context, memory_order_release);
}

uint64_t nvs_api_current_context(struct nvs_live_page *page, uint32_t *gpu)
{
	int (*get)(uint64_t *) = nvs_api_driver_function("cuCtxGetCurrent");
	uint64_t context = 0;
	struct known_context *at;

	*gpu = 0;
	NVS_QUIET();
	if (!get || get(&context))
		context = 0;
	at = &contexts[nvs_hash(context, CONTEXT_BITS)];
	if (context && !find_context(at, context, page->head->pid, gpu)) {
		*gpu = query_gpu(page);
		keep_context(at, context, page->head->pid, *gpu);
	}
	return context;
}

static bool is_host_only(uint8_t kind)
{
	return kind == NVS_LIVE_HOST || kind == NVS_LIVE_REGISTERED;
}

static void count_alloc(struct nvs_live_page *page, const struct nvs_api_returned_call *d)
{
	const struct nvs_api_effect *e = &d->api->effect;
	struct nvs_live_allocation g = {
		.space = (enum nvs_live_space)e->space,
		.kind = (enum nvs_live_kind)e->kind,
		.api = d->row,
		.stack = d->stack,
		.time = d->end,
	};
	uint64_t format, channels;

	g.context = nvs_api_current_context(page, &g.gpu);
	g.gpu = is_host_only(e->kind) ? 0 : g.gpu;
	if (d->result) {
		nvs_live_alloc_failed(page, g.gpu, g.kind);
		return;
	}
	if (!nvs_api_done_value(d, e->address, &g.value) || !g.value)
		return;
	g.bytes = bytes_of(d);
	if (e->does == NVS_DOES_ALLOC_ARRAY && nvs_api_done_value(d, e->source, &format) &&
	    nvs_api_done_value(d, e->target, &channels))
		g.bytes *= nvs_array_format_bytes(format) * channels;
	nvs_live_alloc_add(page, &g);
}

void nvs_api_count_free(struct nvs_live_page *page, const struct nvs_api *api,
			struct nvs_api_frame *frame)
{
	const struct nvs_api_keep *k = &api->keep[api->effect.address];

	if (!nvs_calls.quiet)
		frame->token = nvs_live_free_begin(
			page, (enum nvs_live_space)api->effect.space,
			k->size == 4 ? (uint32_t)nvs_api_argument(frame, k->place)
				     : nvs_api_argument(frame, k->place));
}

static void count_free(struct nvs_live_page *page, const struct nvs_api_returned_call *d,
		       uint64_t token)
{
	uint64_t address;

	/* Freeing NULL succeeds and frees nothing. */
	if (nvs_api_done_value(d, d->api->effect.address, &address) && address)
		nvs_live_free_end(page, token, !d->result, (enum nvs_live_kind)d->api->effect.kind);
}

static void count_other(struct nvs_live_page *page, struct nvs_live_slot *slot,
			const struct nvs_api_returned_call *d)
{
	const struct nvs_api_effect *e = &d->api->effect;
	uint64_t address, handle;

	if (e->does == NVS_DOES_MAP || e->does == NVS_DOES_UNMAP)
		nvs_api_memory_changed();
	if (d->result || !nvs_api_done_value(d, e->address, &address))
		return;
	if (e->does == NVS_DOES_MAP && nvs_api_done_value(d, e->handle, &handle))
		nvs_live_mapping_add(page, address, bytes_of(d), handle);
	else if (e->does == NVS_DOES_UNMAP)
		nvs_live_mapping_remove(page, address, bytes_of(d));
	else if (e->does == NVS_DOES_RETAIN)
		nvs_live_handle_retain(page, address);
	else if (e->does == NVS_DOES_GRAPH_LAUNCH && !d->captured)
		nvs_graph_count_launch(page, slot, address, d);
}

void nvs_api_count_context(uint64_t context)
{
	struct nvs_live_page *page = nvs_live_page();

	if (!page)
		return;
	nvs_api_memory_changed();
	nvs_live_free_context(page, context);
	for (uint32_t i = 0; i < CONTEXTS; i++)
		if (atomic_load(&contexts[i].context) == context)
			atomic_store(&contexts[i].context, 0);
}

/* ---- long calls ---- */

/* True for calls that only submit work and need not wait for it. */
static bool is_async(const char *group)
{
	return !strcmp(group, "launch") || !strcmp(group, "graph-launch") ||
	       !strcmp(group, "copy") || !strcmp(group, "memset");
}

static __attribute__((noinline)) void count_long(struct nvs_live_page *page,
						 struct nvs_live_slot *slot,
						 const struct nvs_api_returned_call *d, uint64_t ns,
						 const struct nvs_api_frame *frame)
{
	const struct nvs_api_effect *e = &d->api->effect;
	struct nvs_live_slow_call call = {
		.begin = d->begin,
		.ns = ns,
		.row = d->row,
		.module = d->api->launched >= 0 && nvs_calls.asked == nvs_calls.next,
		.memory = nvs_calls.made >= d->begin && nvs_calls.made <= d->end,
		.copy = e->does == NVS_DOES_COPY && e->mode == NVS_LIVE_SYNC,
	};

	if (frame && frame->depth <= 1 && !d->captured && is_async(d->api->group))
		nvs_live_stall(page, slot, &call);
}

/* ---- entry points ---- */

static __attribute__((noinline)) void count_effect(struct nvs_live_page *page,
						   struct nvs_live_slot *slot,
						   const struct nvs_api_returned_call *d,
						   uint64_t ns, uint64_t token)
{
	switch (d->api->effect.does) {
	case NVS_DOES_COPY:
		if (!d->result && !d->captured)
			count_copy(slot, d, ns);
		break;
	case NVS_DOES_SET:
		if (!d->result && !d->captured) {
			nvs_live_add(&slot->set_bytes, bytes_of(d) * d->api->effect.kind);
			nvs_live_add(&slot->sets, 1);
		}
		break;
	case NVS_DOES_ALLOC:
	case NVS_DOES_ALLOC_PITCH:
	case NVS_DOES_ALLOC_ARRAY:
		nvs_api_memory_changed();
		if (!d->captured)
			count_alloc(page, d);
		break;
	case NVS_DOES_FREE:
		nvs_api_memory_changed();
		if (d->captured)
			nvs_live_free_cancel(page, token);
		else
			count_free(page, d, token);
		break;
	default:
		count_other(page, slot, d);
	}
}

static inline __attribute__((always_inline)) uint64_t
tally_call(struct nvs_live_page *page, struct nvs_live_slot *slot,
	   const struct nvs_api_returned_call *d, uint64_t function)
{
	uint64_t ns = nvs_live_ns(page, d->end - d->begin);
	uint32_t row;

	nvs_live_count_call(slot, d->row, ns);
	if (__builtin_expect(d->result != 0, 0))
		nvs_live_count_failure(page, d->row, d->result);
	if (__builtin_expect(d->captured, 0)) {
		nvs_live_add(&slot->captured, 1);
	} else if (d->api->launched >= 0 && !d->result) {
		row = nvs_api_kernel_row(page, function);
		nvs_live_add(&nvs_live_kernel_count(slot, row)->direct, 1);
		nvs_live_add(&slot->launches, 1);
	}
	return ns;
}

void nvs_api_count_plain(struct nvs_live_page *page, struct nvs_live_slot *slot,
			 const struct nvs_api_returned_call *d, uint64_t function,
			 const struct nvs_api_frame *frame)
{
	uint64_t ns = tally_call(page, slot, d, function);

	if (__builtin_expect(ns >= NVS_LIVE_LONG_NS, 0))
		count_long(page, slot, d, ns, frame);
}

void nvs_api_count_call(struct nvs_live_page *page, struct nvs_live_slot *slot,
			const struct nvs_api_returned_call *d, struct nvs_api_frame *frame)
{
	uint64_t ns = tally_call(page, slot, d,
				 d->api->launched >= 0 ? d->args[d->api->launched] : 0);

	if (d->api->effect.does != NVS_DOES_NOTHING)
		count_effect(page, slot, d, ns, frame ? frame->token : 0);
	if (__builtin_expect(ns >= NVS_LIVE_LONG_NS, 0))
		count_long(page, slot, d, ns, frame);
}
