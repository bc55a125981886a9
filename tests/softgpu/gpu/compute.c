/* SPDX-License-Identifier: MIT */
/* The compute class: inline uploads, report semaphores, and launches, which tasks.c runs. */
#include <string.h>
#include "gpu.h"

/* Data for the upload that LAUNCH_DMA opened; data after its last byte is dropped. */
static void inline_bytes(struct sg_channel *ch, const uint8_t *p, uint64_t n)
{
	struct sg_engine_compute *c = &ch->compute;

	while (n && c->lines_left && !ch->dead) {
		uint64_t part = n < c->line_left ? n : c->line_left;

		if (!sg_write(ch, c->out, p, part))
			return;
		c->out += part;
		c->line_left -= part;
		p += part;
		n -= part;
		if (c->line_left)
			continue;
		c->lines_left--;
		c->line_start += c->pitch;
		c->out = c->line_start;
		c->line_left = c->line_bytes;
		p += n % 4; /* each line starts with a new word */
		n -= n % 4;
	}
}

void sg_compute_inline(struct sg_channel *ch, const uint32_t *data, uint32_t n)
{
	inline_bytes(ch, (const uint8_t *)data, n * 4ull);
}

static void open_upload(struct sg_channel *ch)
{
	struct sg_engine_compute *c = &ch->compute;

	c->out = (uint64_t)(c->reg[0x188 / 4 - 64] & 0x1ffffff) << 32 | c->reg[0x18c / 4 - 64];
	c->line_start = c->out;
	c->line_bytes = c->line_left = c->reg[0x180 / 4 - 64];
	c->lines_left = c->line_bytes ? c->reg[0x184 / 4 - 64] : 0;
	c->pitch = c->reg[0x190 / 4 - 64];
	sg_spend(ch, true, c->line_bytes);
}

/* Writes one value COUNT times. */
static void fill(struct sg_channel *ch, uint32_t count, uint32_t value)
{
	uint32_t block[1024];

	for (uint32_t i = 0; i < 1024; i++)
		block[i] = value;
	while (count && !ch->dead) {
		uint32_t n = count < 1024 ? count : 1024;

		inline_bytes(ch, (const uint8_t *)block, n * 4ull);
		count -= n;
	}
}

/* Inline data from memory instead of the pushbuffer. */
static void from_memory(struct sg_channel *ch, uint64_t va, uint32_t count)
{
	uint32_t block[1024];

	while (count && !ch->dead) {
		uint32_t n = count < 1024 ? count : 1024;

		if (!sg_read(ch, va, block, n * 4ull))
			return;
		inline_bytes(ch, (const uint8_t *)block, n * 4ull);
		va += n * 4ull;
		count -= n;
	}
}

static void report(struct sg_channel *ch, uint32_t d)
{
	struct sg_engine_compute *c = &ch->compute;
	uint64_t va = (uint64_t)(c->report[0] & 0x1ffffff) << 32 | c->report[1];

	if (d & 3)
		return; /* a trap: no handler exists */
	if (d >> 3 & 1)
		sg_reduce(ch, va, c->report[2], d >> 9 & 7, d >> 17 & 1);
	else
		sg_release(ch, va, c->report[2], false, !(d >> 28 & 1));
}

static void report2(struct sg_channel *ch, uint32_t e)
{
	const uint32_t *r = ch->compute.reg;
	uint64_t va = (uint64_t)(r[0x164 / 4 - 64] & 0x1ffffff) << 32 | r[0x160 / 4 - 64];
	uint64_t payload = r[0x158 / 4 - 64] | (uint64_t)r[0x15c / 4 - 64] << 32;
	bool wide = e >> 12 & 1;

	if (e & 3)
		return;
	if (e >> 6 & 1)
		sg_reduce(ch, va, (uint32_t)payload, e >> 7 & 7, e >> 10 & 1);
	else
		sg_release(ch, va, wide ? payload : (uint32_t)payload, wide, !(e >> 3 & 3));
}

/* Registers are written in the order high part, low part, count; the count starts the transfer. */
static void source(struct sg_channel *ch, uint32_t method, uint32_t data)
{
	struct sg_engine_compute *c = &ch->compute;

	if (method == 0x3808) {
		c->source = (uint64_t)data << 32;
		c->source_low_next = true;
	} else if (c->source_low_next) {
		c->source |= data;
		c->source_low_next = false;
	} else {
		from_memory(ch, c->source, data);
	}
}

#define QMD_WORDS 96

/* A word of a descriptor, which is scheduled with the last one. Driver 525 launches in this way. */
static bool inline_qmd(struct sg_channel *ch, uint32_t index, uint32_t data)
{
	uint64_t address = ((uint64_t)(ch->compute.qmd_high & 0x1ffff) << 32 | ch->compute.qmd_low)
			   << 8;

	sg_write(ch, address + 4ull * index, &data, 4);
	return index + 1 < QMD_WORDS || sg_pcas(ch, address, 10);
}

bool sg_compute_method(struct sg_channel *ch, uint32_t method, uint32_t data)
{
	struct sg_engine_compute *c = &ch->compute;

	if (method >= 0x320 && method < 0x320 + 4 * QMD_WORDS)
		return inline_qmd(ch, (method - 0x320) / 4, data);

	if (method >= 0x100 && method < 0x200)
		c->reg[method / 4 - 64] = data;
	switch (method) {
	case 0x110: /* WAIT_FOR_IDLE */
		return sg_idle(ch);
	case 0x168:
		report2(ch, data);
		break;
	case 0x1b0:
		open_upload(ch);
		break;
	case 0x1b4:
		sg_compute_inline(ch, &data, 1);
		break;
	case 0x2b4:
		c->pcas = data;
		break;
	case 0x318:
		c->qmd_high = data;
		break;
	case 0x31c:
		c->qmd_low = data;
		break;
	case 0x2bc:
		return sg_pcas(ch, (uint64_t)c->pcas << 8, data & 2 ? 2 : 1);
	case 0x2c0:
		return sg_pcas(ch, (uint64_t)c->pcas << 8, data & 15);
	case 0x1b00:
	case 0x1b04:
	case 0x1b08:
		c->report[(method - 0x1b00) / 4] = data;
		break;
	case 0x1b0c:
		report(ch, data);
		break;
	case 0x3800:
		c->fill_count = data;
		break;
	case 0x3804:
		fill(ch, c->fill_count, data);
		break;
	case 0x3808:
	case 0x380c:
		source(ch, method, data);
		break;
	}
	return true;
}
