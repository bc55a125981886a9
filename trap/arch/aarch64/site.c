/* SPDX-License-Identifier: MIT */
/* Replaces a store by a branch to its trampoline, and fills the trampoline in. */
#include "trap/arch/site.h"
#include "trap/low/code_write.h"
#include "trap/low/poison.h"

extern const uint8_t nvs_tramp_begin[], nvs_tramp_end[], nvs_tramp_site[], nvs_tramp_function[];
extern const uint8_t nvs_tramp_back1[], nvs_tramp_original[], nvs_tramp_back2[];

/* STR of 32 bits with a constant offset. Other forms stay with the trap. */
bool nvs_site_form(struct nvs_site_form *form, const struct nvs_insn *insn)
{
	form->base = insn->base;
	form->source = insn->source;
	form->disp = insn->offset;
	return insn->form == NVS_A64_SIMPLE && insn->width == 4 && !insn->pair && !insn->vector &&
	       !insn->release && !insn->writeback && !insn->option;
}

/* Sets *BRANCH to a branch from FROM to TO. Returns false if it is too far. */
static bool encode_branch(uint32_t *branch, uint64_t from, uint64_t to)
{
	int64_t words = (int64_t)(to - from) >> 2;

	*branch = NVS_A64_B | ((uint32_t)words & ~NVS_A64_B_MASK);
	return words >= -(1 << 25) && words < 1 << 25;
}

enum nvs_site_verdict nvs_site_analyse(struct nvs_site *site, const struct nvs_site_text *text,
				       uint64_t store, uint64_t trampoline)
{
	uint32_t back;

	if (store & 3 || store - text->address >= text->size)
		return NVS_SITE_UNKNOWN;
	*site = (struct nvs_site){.store = store, .resume = store + 4};
	/* The way back is from within the trampoline. */
	if (!encode_branch(&site->jump, store, trampoline) ||
	    !encode_branch(&back, trampoline + (uint64_t)(nvs_tramp_end - nvs_tramp_begin),
			   site->resume))
		return NVS_SITE_FAR;
	return NVS_SITE_OK;
}

bool nvs_site_write_way(long mem, const struct nvs_site *site)
{
	return true;
}

/* A core that has not noticed yet runs the store, which traps. */
bool nvs_site_write_store(long mem, const struct nvs_site *site)
{
	if (!nvs_code_write(mem, site->store, (const uint8_t *)&site->jump, sizeof(site->jump)))
		return false;
	nvs_code_sync();
	return true;
}

static void put_branch(uint8_t *tramp, const uint8_t *slot, uintptr_t to)
{
	uint8_t *at = tramp + (slot - nvs_tramp_begin);
	uint32_t branch;

	encode_branch(&branch, (uintptr_t)at, to);
	__builtin_memcpy(at, &branch, sizeof(branch));
}

static void put_address(uint8_t *tramp, const uint8_t *slot, const void *address)
{
	__builtin_memcpy(tramp + (slot - nvs_tramp_begin), &address, sizeof(address));
}

uintptr_t nvs_tramp_fill(uint8_t *tramp, const void *site, const void *function,
			 const uint8_t *bytes, size_t length, uintptr_t resume)
{
	size_t size = (size_t)(nvs_tramp_end - nvs_tramp_begin);
	uint8_t *copy = tramp + (nvs_tramp_original - nvs_tramp_begin);

	__builtin_memcpy(tramp, nvs_tramp_begin, size);
	put_address(tramp, nvs_tramp_site, site);
	put_address(tramp, nvs_tramp_function, function);
	__builtin_memcpy(copy, bytes, length);
	put_branch(tramp, nvs_tramp_back1, resume);
	put_branch(tramp, nvs_tramp_back2, resume);
	__builtin___clear_cache((char *)tramp, (char *)tramp + size);
	return (uintptr_t)copy;
}
