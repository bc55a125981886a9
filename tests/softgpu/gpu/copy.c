/* SPDX-License-Identifier: MIT */
/* The copy engine: LAUNCH_DMA with pitch layouts, lines, remapped components and semaphores. */
#include <string.h>
#include "gpu.h"

#define REG(ch, m) ((ch)->copy.reg[(m) / 4])
#define BLOCK 65536

static uint64_t address(struct sg_channel *ch, uint32_t upper)
{
	return (uint64_t)(REG(ch, upper) & 0x1ffffff) << 32 | REG(ch, upper + 4);
}

static bool copy_bytes(struct sg_channel *ch, uint64_t to, uint64_t from, uint64_t n)
{
	uint64_t lf, lt;

	while (n) {
		uint8_t *f = sg_vaspace_find(ch->vaspace, from, &lf);
		uint8_t *t = sg_vaspace_find(ch->vaspace, to, &lt);

		if (!f || !t) {
			sg_fault(ch, f ? to : from);
			return false;
		}
		lf = lf < lt ? lf : lt;
		lf = lf < n ? lf : n;
		memmove(t, f, lf);
		from += lf;
		to += lf;
		n -= lf;
	}
	return true;
}

/* One line of N elements with remapped components. */
static bool remap_line(struct sg_channel *ch, uint64_t to, uint64_t from, uint64_t n)
{
	uint32_t map = REG(ch, 0x708), size = (map >> 16 & 3) + 1;
	uint32_t nsrc = (map >> 20 & 3) + 1, ndst = (map >> 24 & 3) + 1;
	uint8_t src[16] = {0}, block[BLOCK];
	uint64_t fill = 0, at = to;
	bool reads = false;

	for (uint32_t c = 0; c < ndst; c++)
		reads |= (map >> c * 4 & 7) < 4;
	for (uint64_t i = 0; i < n; i++) {
		if (reads && !sg_read(ch, from + i * size * nsrc, src, size * nsrc))
			return false;
		for (uint32_t c = 0; c < ndst; c++) {
			uint32_t sel = map >> c * 4 & 7;

			if (sel < 4)
				memcpy(block + fill, src + sel * size, size);
			else if (sel < 6)
				memcpy(block + fill, &REG(ch, sel == 4 ? 0x700 : 0x704), size);
			else if (!sg_read(ch, at + fill, block + fill, size))
				return false;
			fill += size;
		}
		if (fill > BLOCK - 64 || i + 1 == n) {
			if (!sg_write(ch, at, block, fill))
				return false;
			at += fill;
			fill = 0;
		}
	}
	return true;
}

static void transfer(struct sg_channel *ch, uint32_t launch)
{
	uint64_t from = address(ch, 0x400), to = address(ch, 0x408);
	uint64_t lines = launch >> 9 & 1 ? REG(ch, 0x41c) : 1, n = REG(ch, 0x418);

	for (uint64_t i = 0; i < lines; i++) {
		if (!(launch >> 10 & 1 ? remap_line(ch, to, from, n) : copy_bytes(ch, to, from, n)))
			return;
		sg_spend(ch, false, n);
		if (sg_options.ill == SG_WRONG && n == 4096)
			sg_write(ch, to + n - 1, "", 1);
		from += (int32_t)REG(ch, 0x410);
		to += (int32_t)REG(ch, 0x414);
	}
}

static void semaphore(struct sg_channel *ch, uint32_t launch)
{
	static const uint8_t op[16] = {1, 2, 7, 5, 6, 0, 3, 4};
	uint64_t va = address(ch, 0x240), payload = REG(ch, 0x248);
	bool wide = launch >> 27 & 1;

	if (launch >> 19 & 1)
		sg_reduce(ch, va, (uint32_t)payload, op[launch >> 14 & 15], !(launch >> 18 & 1));
	else
		sg_release(ch, va, payload | (wide ? (uint64_t)REG(ch, 0x24c) << 32 : 0), wide,
			   (launch >> 3 & 3) == 2);
}

void sg_copy_method(struct sg_channel *ch, uint32_t method, uint32_t data)
{
	if (method >= 0x800)
		return;
	REG(ch, method) = data;
	if (method != 0x300)
		return;
	if (data & 3)
		transfer(ch, data);
	if ((data >> 3 & 3) && !ch->dead)
		semaphore(ch, data);
}
