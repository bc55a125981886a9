/* SPDX-License-Identifier: MIT */
/* The first submissions of a new context, in the order captured from a real driver: set-up of the
 * engines on every channel, clearing by copy engine, the driver's own kernels. */
#include <string.h>
#include "driver.h"
#include "push.h"

/* Shadow programs for the front end, as loaded by the real driver. */
static const uint32_t macro0[15] = {0x140003,	0x1d00001b, 0x71c08300, 0x3,	    0x18c00000,
				    0xb01c5f00, 0x200003,   0x18c00000, 0x300c0300, 0x3,
				    0x18c00000, 0x318c0301, 0x3,	0x18c00000, 0x318c0300};
static const uint32_t macro1[24] = {0x3,	0x1d080000, 0x31c00300, 0x540003,   0xc00455,
				    0x31c00300, 0x2a200003, 0xc00056,	0x301c0300, 0x7,
				    0x18c00400, 0x359c1f00, 0x1801b7,	0x18c00000, 0xb00c5f00,
				    0x600003,	0x18c00000, 0x318c0300, 0x3,	    0x18c00000,
				    0x318c0301, 0x3,	    0x18c00000, 0x318c0300};

static uint32_t *push_macro(uint32_t *p, uint32_t at, const uint32_t *words, uint32_t n,
			    uint32_t slot)
{
	p = push1(p, SUBCH_COMPUTE, 0x114, at);
	*p++ = PUSH_HEADER(3, SUBCH_COMPUTE, 0x118, n);
	memcpy(p, words, n * 4);
	return push2(p + n, SUBCH_COMPUTE, 0x11c, slot, at);
}

static CUresult first_copy(struct softgpu_channel *ch)
{
	uint32_t *p = sg_channel_begin(ch, 16);

	if (!p)
		return CUDA_ERROR_UNKNOWN;
	p = push1(p, SUBCH_COPY, 0, 0xc8b5);
	p = sg_push_progress(ch, p, 0);
	sg_channel_submit(ch, p);
	return CUDA_SUCCESS;
}

static CUresult first_compute(struct softgpu_channel *ch)
{
	static const uint32_t pairs[][2] = {{0x0, 0xcbc0},  {0x100, 0}, {0x2a0, 0x7f19}, {0x2a4, 0},
					    {0x310, 0x900}, {0x7ac, 1}, {0x288, 0x10040}};
	static const uint32_t tail[][2] = {{0x1574, 0x100}, {0x1578, 0},	 {0x157c, 0xfffff},
					   {0x155c, 0x100}, {0x1560, 0x2000000}, {0x1564, 0}};
	uint32_t *p = sg_channel_begin(ch, 256);

	if (!p)
		return CUDA_ERROR_UNKNOWN;
	for (uint32_t i = 0; i < 7; i++)
		p = push1(p, SUBCH_COMPUTE, pairs[i][0], pairs[i][1]);
	for (uint32_t i = 64; i-- > 0;)
		p = push1(p, SUBCH_COMPUTE, 0x248, 0x210000 | i);
	p = push1(p, SUBCH_COMPUTE, 0x23c, 1);
	p = push3(p, SUBCH_COMPUTE, 0x200, 2, 0, 0x420000);
	p = push1(p, SUBCH_COMPUTE, 0x2ec, 0x42);
	p = push_macro(p, 0, macro0, 15, 0);
	p = push_macro(p, 15, macro1, 24, 1);
	p = push1(p, SUBCH_COPY, 0, 0xc8b5);
	for (uint32_t i = 0; i < 6; i++)
		p = push1(p, SUBCH_COMPUTE, tail[i][0], tail[i][1]);
	p = sg_push_progress(ch, p, 0);
	sg_channel_submit(ch, p);
	return CUDA_SUCCESS;
}

/* Fills N dwords with the copy engine's remapping. */
static CUresult clear(struct softgpu_channel *ch, uint64_t va, uint32_t n)
{
	uint32_t *p = sg_channel_begin(ch, 32);

	if (!p)
		return CUDA_ERROR_UNKNOWN;
	p = push1(p, SUBCH_COPY, 0x700, 0);
	p = push1(p, SUBCH_COPY, 0x708, 0x30004);
	p = push1(p, SUBCH_COPY, 0x41c, 1);
	p = push_va(p, SUBCH_COPY, 0x408, va);
	p = push1(p, SUBCH_COPY, 0x418, n);
	p = push1(p, SUBCH_COPY, 0x300, 0x586);
	p = sg_push_progress(ch, p, 0);
	sg_channel_submit(ch, p);
	return CUDA_SUCCESS;
}

static CUresult shared_windows(struct sg_context *ctx)
{
	struct softgpu_channel *ch = &ctx->ch[0];
	uint32_t *p = sg_channel_begin(ch, 32);

	if (!p)
		return CUDA_ERROR_UNKNOWN;
	p = push2(p, SUBCH_COMPUTE, 0x790, (uint32_t)(ctx->code >> 32), 0x62000000);
	p = push2(p, SUBCH_COMPUTE, 0x2e4, 0, 0x640000);
	p = push2(p, SUBCH_COMPUTE, 0x7b0, 0x7f18, 0x8d000000);
	p = sg_push_progress(ch, p, 0);
	sg_channel_submit(ch, p);
	return CUDA_SUCCESS;
}

/* The real driver sometimes starts its channel groups in another order, as seen on an H200. No
 * group waits for another. */
static CUresult first_of_each(struct sg_context *ctx)
{
	uint32_t before = sg_driver.turned ? SG_COMPUTE_CHANNELS + 4 : SG_CHANNELS;
	CUresult r = CUDA_SUCCESS;

	for (uint32_t i = SG_COMPUTE_CHANNELS; i < before && !r; i++)
		r = first_copy(&ctx->ch[i]);
	for (uint32_t i = 0; i < SG_COMPUTE_CHANNELS && !r; i++)
		r = first_compute(&ctx->ch[i]);
	for (uint32_t i = before; i < SG_CHANNELS && !r; i++)
		r = first_copy(&ctx->ch[i]);
	return r;
}

CUresult sg_context_first(struct sg_context *ctx)
{
	struct softgpu_channel *copy = &ctx->ch[SG_COMPUTE_CHANNELS];
	CUresult r = first_of_each(ctx);

	for (uint32_t i = 0; i < 3 && !r; i++)
		r = clear(copy, ctx->base + 0x4620000 + i * 0x8000, 0x2000);
	for (uint32_t i = 0; i < 64 && !r; i++)
		r = clear(copy, ctx->base + 0x5200000 + i * 0x100, 4);
	if (!r)
		r = sg_builtin_load(ctx);
	if (!r)
		r = shared_windows(ctx);
	for (uint32_t i = 0; i < SG_CHANNELS && !r; i++)
		r = sg_channel_wait(&ctx->ch[i], ctx->ch[i].payload);
	return r;
}
