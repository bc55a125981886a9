/* SPDX-License-Identifier: MIT */
/*
 * The part of trap/arch/site.h that is aarch64's. The store, one word, is replaced by one word: a
 * branch to the trampoline, which reaches 128 MiB. No jump can lead into its middle, so the code
 * around it does not matter.
 *
 * The Arm manual guarantees that other cores run either the old or the new instruction only for
 * some kinds, of which a store is not one. Processors in fact fetch aligned words as a whole; on
 * Grace this has not been tried.
 */
#ifndef NVSNOOP_TRAP_ARCH_AARCH64_SITE_ARCH_H
#define NVSNOOP_TRAP_ARCH_AARCH64_SITE_ARCH_H

/* The rest leaves room for the distance within the trampoline. */
#define NVS_SITE_REACH (127ull << 20)
#define NVS_SITE_CODE_BYTES 4
#define NVS_SITE_HOP 0
#define NVS_A64_B 0x14000000u
#define NVS_A64_B_MASK 0xfc000000u

struct nvs_site {
	uint64_t store; /* address of the instruction */
	uint64_t hop; /* always 0 */
	uint64_t resume;
	uint32_t jump;
};

/* str wSOURCE, [xBASE, #DISP] */
struct nvs_site_form {
	uint8_t base; /* 31: SP */
	uint8_t source; /* 31: zero */
	int32_t disp;
};

/* Registers as the trampoline saves them. */
struct nvs_fast_regs {
	uint64_t x[31];
	uint64_t nzcv;
	/* the interrupted code's SP points here: there is no red zone */
};

static inline enum nvs_site_code nvs_site_code_of(const uint8_t *code)
{
	uint32_t word;

	__builtin_memcpy(&word, code, sizeof(word));
	return (word & NVS_A64_B_MASK) == NVS_A64_B ? NVS_SITE_CODE_JUMP : NVS_SITE_CODE_OTHER;
}

/* The branch leads to the trampoline directly. */
static inline bool nvs_site_is_way(uintptr_t address, uintptr_t pc)
{
	return false;
}

static inline uintptr_t nvs_fast_sp(const struct nvs_fast_regs *regs)
{
	return (uintptr_t)(regs + 1);
}

static inline uintptr_t nvs_fast_fp(const struct nvs_fast_regs *regs)
{
	return regs->x[29];
}

static inline uintptr_t nvs_fast_lr(const struct nvs_fast_regs *regs)
{
	return regs->x[30];
}

static inline uintptr_t nvs_fast_address(const struct nvs_fast_regs *regs,
					 const struct nvs_site_form *form)
{
	uint64_t base = form->base == 31 ? nvs_fast_sp(regs) : regs->x[form->base];

	return (base + (uint64_t)(int64_t)form->disp) & NVS_ADDRESS_BITS;
}

static inline uint32_t nvs_fast_value(const struct nvs_fast_regs *regs,
				      const struct nvs_site_form *form)
{
	return form->source == 31 ? 0 : (uint32_t)regs->x[form->source];
}

#endif
