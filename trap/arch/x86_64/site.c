/* SPDX-License-Identifier: MIT */
/* Checks the code around a store with two bitmaps of a window around it: the bytes at which
 * instructions start, and those to which a jump may lead. */
#include "trap/arch/site.h"
#include "trap/low/poison.h"

/* A cave is within 128 bytes of the store, an 8-bit jump to it within another 128 bytes; the rest
 * is for the lengths of instructions. */
#define WINDOW 320
#define MAP_LEN (2 * WINDOW / 64)
#define SYNC 64 /* bytes before the window in which decodings from guessed starts converge */
#define GUESSES 16

struct neighbourhood {
	const struct nvs_site_text *text;
	uint64_t base; /* address of bit 0; may be before the text */
	uint64_t low, high; /* the part of the window within the text */
	uint64_t known_low, known_high; /* the range in which STARTS is complete */
	bool sure; /* the code before the store was decoded from a known start, not a guessed one */
	uint64_t starts[MAP_LEN], targets[MAP_LEN];
};

static bool in_window(const struct neighbourhood *n, uint64_t address)
{
	return address - n->base < 2 * WINDOW;
}

static void set_bit(uint64_t *map, uint64_t bit)
{
	map[bit / 64] |= 1ull << bit % 64;
}

static bool get_bit(const uint64_t *map, uint64_t bit)
{
	return map[bit / 64] >> bit % 64 & 1;
}

/* The barrier keeps compilers from turning the loop into a call of libc. */
static void clear_map(uint64_t *map)
{
	unsigned k;

	for (k = 0; k < MAP_LEN; k++) {
		map[k] = 0;
		asm volatile("" : : : "memory");
	}
}

static void add_target(struct neighbourhood *n, uint64_t address)
{
	if (in_window(n, address))
		set_bit(n->targets, address - n->base);
}

static bool is_target(const struct neighbourhood *n, uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		if (in_window(n, from) && get_bit(n->targets, from - n->base))
			return true;
	return false;
}

static const uint8_t *bytes_at(const struct nvs_site_text *text, uint64_t address)
{
	return text->bytes + (address - text->address);
}

static int decode_at(struct nvs_insn *insn, const struct nvs_site_text *text, uint64_t address)
{
	uint64_t offset = address - text->address;

	if (offset >= text->size)
		return 0;
	return nvs_insn_decode(insn, text->bytes + offset, text->size - offset);
}

static int64_t read_rel32(const uint8_t *p)
{
	return (int32_t)(p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24);
}

/* ---- where instructions start ---- */

/* Decodes from FROM to UNTIL or beyond. Returns the address it reached, 0 if it met an unknown
 * instruction. */
static uint64_t decode_range(struct neighbourhood *n, uint64_t from, uint64_t until,
			     uint64_t *starts)
{
	struct nvs_insn insn;

	while (from < until) {
		if (!decode_at(&insn, n->text, from))
			return 0;
		if (starts && in_window(n, from))
			set_bit(starts, from - n->base);
		from += insn.length;
	}
	return from;
}

/* Decodes from the store on: as certain as the store itself, up to the first unknown instruction.
 *  */
static void find_starts_behind(struct neighbourhood *n, uint64_t store)
{
	struct nvs_insn insn;
	uint64_t at = store;

	while (at < n->high && decode_at(&insn, n->text, at)) {
		set_bit(n->starts, at - n->base);
		at += insn.length;
	}
	n->known_high = at < n->high ? at : n->high;
}

/* Decodes from FUNCTION. Returns true if that leads to the store. */
static bool find_starts_before(struct neighbourhood *n, uint64_t store, uint64_t function)
{
	if (!function || function < n->text->address || function > store)
		return false;
	if (decode_range(n, function, store, NULL) != store)
		return false;
	decode_range(n, function, store, n->starts);
	n->known_low = function > n->low ? function : n->low;
	return true;
}

/* Without a known start: decodings from neighbouring bytes converge after a few instructions. Those
 * that miss the store are wrong; from the point where all others agree, they are assumed right. */
static void guess_starts_before(struct neighbourhood *n, uint64_t store)
{
	uint64_t any[MAP_LEN], one[MAP_LEN], not_all[MAP_LEN], bit;
	unsigned i, k, hits = 0;

	clear_map(any);
	clear_map(not_all);
	for (i = 0; i < GUESSES; i++) {
		uint64_t from = n->base - SYNC + i;

		clear_map(one);
		/* The text's first byte starts an instruction. */
		if (from < n->text->address || from > store)
			from = n->text->address;
		if (decode_range(n, from, store, one) != store)
			continue;
		hits++;
		for (k = 0; k < MAP_LEN; k++) {
			any[k] |= one[k];
			not_all[k] |= ~one[k];
		}
	}
	n->known_low = store;
	if (!hits)
		return;
	for (bit = store - n->base; bit-- > n->low - n->base;) {
		bool some = get_bit(any, bit), every = !get_bit(not_all, bit);

		if (some != every)
			break;
		if (every) {
			set_bit(n->starts, bit);
			n->known_low = n->base + bit;
		}
	}
}

/* ---- where jumps may land ---- */

/* Adds the target of every byte of the text that may be a branch or lea with 32-bit displacement.
 *  */
static void find_far_targets(struct neighbourhood *n)
{
	const struct nvs_site_text *text = n->text;
	size_t i;

	for (i = 0; i + 5 <= text->size; i++) {
		const uint8_t *p = text->bytes + i;
		unsigned at = 2; /* offset of the displacement */

		if ((p[0] & 0xfe) == 0xe8)
			at = 1;
		else if (i + 6 > text->size)
			break;
		else if (!(p[0] == 0x0f && (p[1] & 0xf0) == 0x80) &&
			 !(p[0] == 0x8d && (p[1] & 0xc7) == 0x05) &&
			 !(p[0] == 0xc7 && p[1] == 0xf8))
			continue;
		add_target(n, text->address + i + at + 4 + read_rel32(p + at));
	}
}

static bool is_short_branch(uint8_t opcode)
{
	return (opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0 || opcode == 0xeb;
}

/* Adds targets of 8-bit branches: of the decoded instructions, else at every byte. */
static void find_near_targets(struct neighbourhood *n)
{
	struct nvs_insn insn;
	uint64_t at;

	for (at = n->low; at < n->high; at++) {
		bool known = at >= n->known_low && at < n->known_high;
		const uint8_t *p = bytes_at(n->text, at);

		if (known) {
			if (!get_bit(n->starts, at - n->base) || !decode_at(&insn, n->text, at))
				continue;
			if (nvs_insn_is_direct(&insn))
				add_target(n, at + insn.target);
		} else if (is_short_branch(p[0]) && at + 1 < n->high) {
			add_target(n, at + 2 + (int8_t)p[1]);
		}
	}
}

/* ---- caves ---- */

static bool is_padding(const struct nvs_insn *insn)
{
	if (insn->encoding != NVS_LEGACY)
		return false;
	if (insn->map == NVS_MAP_0F)
		return insn->opcode == 0x1f && insn->memory;
	if (insn->map != NVS_MAP_ONE)
		return false;
	/* With F3 it is pause, with REX.B it is an exchange. */
	if (insn->opcode == 0x90)
		return insn->pp < 2 && !(insn->prefixes & NVS_PREFIX_REX);
	return insn->opcode == 0xcc;
}

/* True if the padding at START can be a cave. The caller has checked that execution does not run
 * into it. */
static bool is_cave(const struct neighbourhood *n, uint64_t start)
{
	uint64_t end = start, aligned = (start + 15) & ~15ull;
	struct nvs_insn insn;

	while (end < start + NVS_SITE_TAIL) {
		if (end >= n->known_high || !decode_at(&insn, n->text, end) || !is_padding(&insn))
			return false;
		end += insn.length;
	}
	/* A jump into a NOP whose end is overwritten also counts. */
	return aligned >= start + NVS_SITE_TAIL && !is_target(n, start, end);
}

/* Finds the nearest cave in reach of a short jump from STORE. Returns 0 if there is none. */
static uint64_t find_cave(const struct neighbourhood *n, uint64_t store)
{
	uint64_t best = 0, best_distance = 0, at;
	struct nvs_insn insn;

	for (at = n->sure ? n->known_low : store; at < n->known_high; at++) {
		uint64_t behind;
		int64_t distance;

		if (!get_bit(n->starts, at - n->base) || !decode_at(&insn, n->text, at) ||
		    !nvs_insn_ends_flow(&insn))
			continue;
		behind = at + insn.length;
		distance = behind - (store + NVS_SITE_HEAD);
		if (distance < -128 || distance > 127 || !is_cave(n, behind))
			continue;
		if (distance < 0)
			distance = -distance;
		if (best && best_distance <= (uint64_t)distance)
			continue;
		best = behind;
		best_distance = distance;
	}
	return best;
}

/* ---- the verdict ---- */

static void scan_neighbourhood(struct neighbourhood *n, const struct nvs_site_text *text,
			       uint64_t store)
{
	uint64_t end = text->address + text->size;

	n->text = text;
	n->base = store - WINDOW;
	n->low = store - text->address > WINDOW ? n->base : text->address;
	n->high = end - store > WINDOW ? store + WINDOW : end;
	clear_map(n->starts);
	clear_map(n->targets);
	find_starts_behind(n, store);
	n->sure = find_starts_before(n, store, text->function);
	if (!n->sure)
		guess_starts_before(n, store);
	find_near_targets(n);
	find_far_targets(n);
}

static bool is_in_reach(uint64_t from, uint64_t to)
{
	int64_t jump = (int64_t)(to - (from + NVS_SITE_TAIL));

	return jump == (int32_t)jump;
}

/* Writes jmp *0(%rip), followed by the address. */
static void fill_hop(struct nvs_site *site, uint64_t hop, uint64_t trampoline)
{
	unsigned i;

	site->hop = hop;
	site->hop_new[0] = 0xff;
	site->hop_new[1] = 0x25;
	for (i = 0; i < 4; i++)
		site->hop_new[2 + i] = 0;
	for (i = 0; i < 8; i++)
		site->hop_new[6 + i] = trampoline >> 8 * i;
}

static void fill_site(struct nvs_site *site, const struct nvs_site_text *text, uint64_t to)
{
	uint64_t jump = to - (site->cave + NVS_SITE_TAIL);
	const uint8_t *store = bytes_at(text, site->store);
	const uint8_t *cave = bytes_at(text, site->cave);
	unsigned i;

	for (i = 0; i < NVS_SITE_HEAD; i++)
		site->store_old[i] = store[i];
	for (i = 0; i < NVS_SITE_TAIL; i++)
		site->cave_old[i] = cave[i];
	site->store_new[0] = 0xeb;
	site->store_new[1] = site->cave - (site->store + NVS_SITE_HEAD);
	site->cave_new[0] = 0xe9;
	for (i = 0; i < 4; i++)
		site->cave_new[1 + i] = jump >> 8 * i;
}

enum nvs_site_verdict nvs_site_analyse(struct nvs_site *site, const struct nvs_site_text *text,
				       uint64_t store, uint64_t trampoline)
{
	struct neighbourhood n;
	struct nvs_insn insn;

	if (!decode_at(&insn, text, store) || insn.length < NVS_SITE_HEAD ||
	    insn.branch != NVS_BRANCH_NONE)
		return NVS_SITE_UNKNOWN;
	scan_neighbourhood(&n, text, store);
	if (is_target(&n, store + 1, store + insn.length))
		return NVS_SITE_TARGET;
	site->store = store;
	site->length = insn.length;
	site->resume = store + insn.length;
	site->cave = find_cave(&n, store);
	if (!site->cave)
		return NVS_SITE_NO_CAVE;
	site->hop = 0;
	if (!is_in_reach(site->cave, trampoline)) {
		if (text->slack_end - text->slack < NVS_SITE_HOP ||
		    !is_in_reach(site->cave, text->slack))
			return NVS_SITE_FAR;
		fill_hop(site, text->slack, trampoline);
	}
	fill_site(site, text, site->hop ? site->hop : trampoline);
	return NVS_SITE_OK;
}
