/* SPDX-License-Identifier: MIT */
/*
 * The part of trap/arch/site.h that is x86-64's. A short jump is written over the store's first two
 * bytes, into a cave of padding near it, and there a long jump to the trampoline. If the trampoline
 * is out of reach of the long jump, that leads to a hop in the slack after the text, and the hop
 * leads to the trampoline.
 *
 * NVS_SITE_OK relies on this:
 *
 * Boundaries: the store and the code after it are decoded from STORE, the code before it from
 * text->function; without that, only caves after the store are used.
 *
 * Targets: no direct branch leads after the store's first byte or into the cave's padding.
 * Branches with 32-bit displacement, and addresses taken with lea, are searched at every byte of
 * TEXT; those with 8 bits in the decoded neighbourhood, or at every byte where it is not decoded. A
 * jump to the store's first byte is harmless.
 *
 * Cave: it follows a jump or return and holds only NOPs or int3, and no multiple of 16: so it
 * cannot be the start of a function or of an aligned block that begins with NOPs. Indirect jumps
 * lead to labels; compilers put none in front of padding that follows a jump.
 *
 * Hop: it is after the end of the text's segment (p_vaddr + p_memsz), in the page in which that
 * segment ends. The page is mapped because mappings are whole pages, and contains what the file
 * happens to hold after the segment. No address of the module refers to these bytes: code, symbols,
 * unwind tables and relocations are all within segments, and if the next segment has the same bytes
 * of the file, it has its own mapping and addresses for them.
 */
#ifndef NVSNOOP_TRAP_ARCH_X86_64_SITE_ARCH_H
#define NVSNOOP_TRAP_ARCH_X86_64_SITE_ARCH_H

#define NVS_SITE_HEAD 2 /* bytes of the short jump */
#define NVS_SITE_TAIL 5 /* bytes of the long one */
#define NVS_SITE_HOP 14 /* bytes of a jump to any address, which follows it */
/* A jump reaches 2 GiB; half of that leaves room for the module itself. */
#define NVS_SITE_REACH (1ull << 30)
#define NVS_SITE_CODE_BYTES 1
#define NVS_SHORT_JUMP 0xeb
#define NVS_STOP 0xf4 /* hlt: a SIGSEGV */

struct nvs_site {
	uint64_t store; /* address of the instruction */
	uint64_t cave;
	uint64_t hop; /* 0: the cave's jump reaches the trampoline */
	uint64_t resume; /* the instruction after the store, to which the trampoline returns */
	uint8_t length; /* of the store; its bytes from the third on are unchanged and not run */
	uint8_t store_old[NVS_SITE_HEAD], store_new[NVS_SITE_HEAD];
	uint8_t cave_old[NVS_SITE_TAIL], cave_new[NVS_SITE_TAIL];
	uint8_t hop_new[NVS_SITE_HOP];
};

/* mov %source, disp(%base) */
struct nvs_site_form {
	uint8_t base, source; /* enum nvs_x86_reg */
	int32_t disp;
};

/* Registers as the trampoline pushes them. */
struct nvs_fast_regs {
	uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax;
	uint64_t flags;
	uint8_t red_zone[128];
	/* the interrupted code's RSP points here */
};

static inline enum nvs_site_code nvs_site_code_of(const uint8_t *code)
{
	return *code == NVS_SHORT_JUMP ? NVS_SITE_CODE_JUMP
	       : *code == NVS_STOP     ? NVS_SITE_CODE_STOP
				       : NVS_SITE_CODE_OTHER;
}

static inline bool nvs_site_is_way(uintptr_t address, uintptr_t pc)
{
	const uint8_t *code = (const uint8_t *)address;

	/* PC is near enough to be in the cave: the site's bytes are mapped and say where it
	 * jumps. */
	return pc - (address - 128) < 260 && *code == NVS_SHORT_JUMP &&
	       pc == address + NVS_SITE_HEAD + (uintptr_t)(intptr_t)(int8_t)code[1];
}

static inline uintptr_t nvs_fast_sp(const struct nvs_fast_regs *regs)
{
	return (uintptr_t)(regs + 1);
}

static inline uintptr_t nvs_fast_fp(const struct nvs_fast_regs *regs)
{
	return regs->rbp;
}

static inline uintptr_t nvs_fast_lr(const struct nvs_fast_regs *regs)
{
	return 0;
}

/* Returns register REG as the site found it. */
static inline uint64_t nvs_fast_reg(const struct nvs_fast_regs *regs, uint8_t reg)
{
	static const uint8_t slot[16] = {
		14, 13, 12, 11, 0xff, 10, 9, 8,
		7,  6,	5,  4,	3,    2,  1, 0, /* RAX RCX RDX RBX RSP RBP RSI RDI R8.. */
	};

	if (reg == NVS_RSP)
		return nvs_fast_sp(regs);
	return ((const uint64_t *)(const void *)regs)[slot[reg & 15]];
}

static inline uintptr_t nvs_fast_address(const struct nvs_fast_regs *regs,
					 const struct nvs_site_form *form)
{
	return (uintptr_t)(nvs_fast_reg(regs, form->base) + (uint64_t)(int64_t)form->disp);
}

static inline uint32_t nvs_fast_value(const struct nvs_fast_regs *regs,
				      const struct nvs_site_form *form)
{
	return (uint32_t)nvs_fast_reg(regs, form->source);
}

#endif
