/* SPDX-License-Identifier: MIT */
/*
 * From header to header. Forms of headers: facts of the host classes 906f to ca6f, as decode/gpu
 * reads them in full.
 */
#include "trap/copy/walk.h"
#include "trap/copy/batch.h"
#include "trap/low/guard.h"
#include "trap/low/poison.h"

#define OPCODE_EXTENDED_BASE 4u
#define SEM_ADDR_LO 0x5cu
#define SEM_EXECUTE 0x6cu
enum { OP_OLD_INC, OP_INC, OP_OLD_NON_INC, OP_NON_INC, OP_IMMD, OP_ONE_INC, OP_END = 7 };

/* What releases of ours set as well, a program is to set whole each time. */
static bool is_piece(uint32_t method, uint32_t count)
{
	uint32_t last = method + 4 * (count ? count - 1 : 0);

	if (!count || method > SEM_EXECUTE || last < SEM_ADDR_LO)
		return false;
	return method > SEM_ADDR_LO || last < SEM_EXECUTE;
}

/* True: the rest of the segment is ignored. */
static bool header(struct nvs_walk *walk, uint32_t w)
{
	switch (w >> 29) {
	case OP_OLD_INC:
	case OP_OLD_NON_INC:
		if (w >> 16 & 3)
			return false; /* masks of subdevices */
		walk->left = w >> 18 & 0x7ff;
		walk->pieces |= is_piece(w & 0x1ffc, walk->left);
		return false;
	case OP_INC:
		walk->left = w >> 16 & 0x1fff;
		walk->pieces |= is_piece((w & 0xfff) << 2, walk->left);
		return false;
	case OP_NON_INC:
		walk->left = w >> 16 & 0x1fff;
		walk->pieces |= is_piece((w & 0xfff) << 2, walk->left ? 1 : 0);
		return false;
	case OP_ONE_INC: /* the first word to the method, all others to the next one */
		walk->left = w >> 16 & 0x1fff;
		walk->pieces |= is_piece((w & 0xfff) << 2, walk->left < 2 ? walk->left : 2);
		return false;
	case OP_IMMD:
		walk->pieces |= is_piece((w & 0xfff) << 2, 1);
		return false;
	}
	return w >> 29 == OP_END;
}

void nvs_walk_entry(struct nvs_batch *b, struct nvs_walk *walk, uint64_t entry)
{
	uint32_t dwords = nvs_entry_dwords(entry), at = 0;
	uint64_t va = walk->base | (entry & 0xfffffffffcull);
	const uint32_t *seen;

	if (!dwords) {
		if ((entry >> 32 & 0xff) == OPCODE_EXTENDED_BASE)
			walk->base = (entry >> 8 & 0x1ffff) << 40;
		return;
	}
	seen = nvs_segment_whole(b, va, dwords * 4ull);
	while (at < dwords && !walk->lost) {
		uint32_t w, skip = walk->left < dwords - at ? walk->left : dwords - at;

		walk->left -= skip;
		at += skip;
		if (at == dwords)
			return;
		if (!(seen ? nvs_load32_guarded(seen + at, &w)
			   : nvs_segment_word(b, va + at * 4ull, &w)))
			walk->lost = true;
		else if (header(walk, w))
			return;
		at++;
	}
}
