/* SPDX-License-Identifier: MIT */
/* Handlers for calls that create, destroy or wait for contexts, and that unload code. They notify
 * instruction counting, GPU timing and the live page. */
#include "preload/api/intercept/api.h"

const struct nvs_api_counting *_Atomic nvs_api_counting;
void (*nvs_api_context_seen)(uint64_t context);
void (*nvs_api_context_ends)(uint64_t context);

#define MAX_DEVICES 64
/* The primary context that was retained last of each device; 0: unknown. */
static _Atomic uint64_t primary_contexts[MAX_DEVICES];

static void notify_handler(void (*whom)(uint64_t), uint64_t context)
{
	NVS_KEEP_ERRNO();

	if (whom)
		whom(context);
}

/* CERTAIN: the context ends; false: it may have other holders. */
static void notify_end(uint64_t context, bool certain)
{
	const struct nvs_api_counting *counting = nvs_api_get_counting();
	NVS_KEEP_ERRNO();

	if (counting)
		counting->ends(context, certain);
	if (nvs_api_get_snapshots())
		nvs_api_get_snapshots()->waited();
	notify_handler(nvs_api_context_ends, context);
}

static void notify_waited(struct nvs_api_frame *f, uint32_t result, enum nvs_api_wait_kind on)
{
	const struct nvs_api_counting *counting = nvs_api_get_counting();

	if (counting && !result)
		counting->waited(f, on);
	if (nvs_api_get_snapshots() && !result)
		nvs_api_get_snapshots()->waited();
}

void nvs_api_after_wait(struct nvs_api_frame *f, uint32_t result)
{
	notify_waited(f, result, NVS_WAITED_STREAM);
}

void nvs_api_after_wait_context(struct nvs_api_frame *f, uint32_t result)
{
	notify_waited(f, result, NVS_WAITED_CONTEXT);
}

void nvs_api_after_wait_event(struct nvs_api_frame *f, uint32_t result)
{
	notify_waited(f, result, NVS_WAITED_EVENT);
}

void nvs_api_after_context_out(struct nvs_api_frame *f, uint32_t result)
{
	if (nvs_api_context_seen && !result && f->regs[0])
		notify_handler(nvs_api_context_seen, *(uint64_t *)f->regs[0]);
}

void nvs_api_after_context_in(struct nvs_api_frame *f, uint32_t result)
{
	if (!result)
		notify_handler(nvs_api_context_seen, f->regs[0]);
}

void nvs_api_after_primary_retain(struct nvs_api_frame *f, uint32_t result)
{
	uint32_t device = (uint32_t)f->regs[1];

	if (!result && f->regs[0] && device < MAX_DEVICES)
		atomic_store(&primary_contexts[device], *(uint64_t *)f->regs[0]);
	nvs_api_after_context_out(f, result);
}

void nvs_api_before_context_destroy(struct nvs_api_frame *f)
{
	nvs_api_before_unload(f);
	notify_end(f->regs[0], true);
}

void nvs_api_after_unload(struct nvs_api_frame *f, uint32_t result)
{
	const struct nvs_api_counting *counting = nvs_api_get_counting();

	nvs_api_before_unload(f);
	if (counting && !result)
		counting->unloaded(f->regs[0]);
}

void nvs_api_after_context_destroy(struct nvs_api_frame *f, uint32_t result)
{
	nvs_api_after_unload(f, result);
	if (!result)
		nvs_api_count_context(f->regs[0]);
}

static void count_primary(uint32_t device)
{
	uint64_t context = device < MAX_DEVICES ? atomic_load(&primary_contexts[device]) : 0;

	if (context)
		nvs_api_count_context(context);
}

/* Those that are notified are not told which context is the primary one. */
void nvs_api_before_primary_reset(struct nvs_api_frame *f)
{
	nvs_api_before_unload(f);
	notify_end(0, true);
}

void nvs_api_after_primary_reset(struct nvs_api_frame *f, uint32_t result)
{
	nvs_api_after_unload(f, result);
	if (!result)
		count_primary((uint32_t)f->regs[0]);
}

void nvs_api_before_primary_release(struct nvs_api_frame *f)
{
	notify_end(0, false);
}

static bool is_active(uint32_t device)
{
	int (*get_state)(int, unsigned *,
			 int *) = nvs_api_driver_function("cuDevicePrimaryCtxGetState");
	unsigned flags;
	int active = 0;

	NVS_QUIET();
	return get_state && !get_state((int)device, &flags, &active) && active;
}

/* Some programs retain and release constantly; only the last release destroys the context. */
void nvs_api_after_primary_release(struct nvs_api_frame *f, uint32_t result)
{
	const struct nvs_api_counting *counting = nvs_api_get_counting();
	uint32_t device = (uint32_t)f->regs[0];

	if (result || is_active(device))
		return;
	nvs_api_before_unload(f);
	count_primary(device);
	if (counting)
		counting->ended(0);
}

/* The context that ends is the one made from the green context. */
void nvs_api_before_green_destroy(struct nvs_api_frame *f)
{
	int (*convert)(uint64_t *, uint64_t) = nvs_api_driver_function("cuCtxFromGreenCtx");
	uint64_t context = 0;

	if (convert) {
		NVS_QUIET();
		if (convert(&context, f->regs[0]))
			context = 0;
	}
	notify_end(context, context != 0);
}
