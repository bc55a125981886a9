/* SPDX-License-Identifier: MIT */
/* Faults: what the driver asks after a wait has failed, as libcuda does, and the error that all
 * later calls of the context return. */
#include <string.h>
#include "../gpu/builtin.h"
#include "driver.h"

#define READ_ERRORS 0x83de030c
#define CLEAR_ERRORS 0x83de0310
#define ECC_STATUS 0x2080012f
#define DEBUGGER 0x83de
#define MAX_SMS 100 /* in one answer */
#define SMS 132

struct sm_state {
	uint32_t global, warp, pc32, masks[2], pad;
	uint64_t address, pc;
	uint32_t cga[2];
};

struct error_states {
	uint32_t channel, n;
	struct sm_state sm[MAX_SMS];
	uint32_t mmu[3], first;
};

/* Reads the states of all SMs. Returns warp error and PC of the first one that has any. */
static struct sm_state ask(struct softgpu_channel *ch)
{
	static struct error_states states; /* sg_driver.lock is held */
	struct sm_state found = {0};

	for (uint32_t first = 0; first < SMS; first += MAX_SMS) {
		memset(&states, 0, sizeof(states));
		states.channel = ch->handle;
		states.n = SMS - first < MAX_SMS ? SMS - first : MAX_SMS;
		states.first = first;
		sg_control(ch->ctx->debugger, READ_ERRORS, &states, sizeof(states));
		for (uint32_t i = 0; i < states.n; i++)
			if (!found.global && !found.warp)
				found = states.sm[i];
	}
	return found;
}

/* By the number of the error and the low half of hwwWarpEsr. */
static CUresult error_of(uint32_t number, uint32_t warp)
{
	if (number == 13)
		return CUDA_ERROR_MISALIGNED_ADDRESS;
	if (number != 43 || (warp & 0xffff) == 0xe)
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	return warp ? CUDA_ERROR_ILLEGAL_INSTRUCTION : CUDA_ERROR_LAUNCH_FAILED;
}

static CUresult find_error(struct softgpu_channel *ch)
{
	struct sg_context *ctx = ch->ctx;
	struct sm_state state;
	CUresult r;

	pthread_mutex_lock(&sg_driver.lock);
	if (ctx->error) { /* another thread has found it */
		pthread_mutex_unlock(&sg_driver.lock);
		return ctx->error;
	}
	if (!ctx->debugger) {
		ctx->debugger = sg_handle();
		sg_alloc(ctx->device->handle, ctx->debugger, DEBUGGER,
			 (uint32_t[32]){0, sg_driver.client, ch->engine[0]});
	}
	sg_control_quiet(ctx->device->subdevice, ECC_STATUS);
	state = ask(ch);
	sg_control(ctx->debugger, CLEAR_ERRORS, (uint32_t[2]){ch->handle, SMS}, 8);
	r = error_of(ch->notifier[2], state.warp);
	ctx->error = r;
	pthread_mutex_unlock(&sg_driver.lock);
	return r;
}

CUresult sg_channel_error(struct softgpu_channel *ch)
{
	struct sg_context *ctx = ch->ctx;

	if (!ctx->error && sg_channel_dead(ch))
		return find_error(ch);
	if (!ctx->error && ch->notifier &&
	    __atomic_load_n(&ch->notifier[SG_ASSERTED], __ATOMIC_ACQUIRE))
		ctx->error = CUDA_ERROR_ASSERT;
	return ctx->error;
}

CUresult sg_context_failed(struct sg_context *ctx)
{
	CUresult r = ctx->error;

	for (uint32_t i = 0; !r && i < SG_CHANNELS; i++)
		r = sg_channel_error(&ctx->ch[i]);
	return r ? r : CUDA_ERROR_ILLEGAL_ADDRESS;
}
