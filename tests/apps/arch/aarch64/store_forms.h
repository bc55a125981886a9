/* SPDX-License-Identifier: MIT */
/* Every form of store that a compiler or a programmer may use, for tests/apps/stores.c. */
#ifndef APPS_STORE_FORMS_H
#define APPS_STORE_FORMS_H

/* One form: NAME(address, token), BODY is its asm with %0 the address, %1 the token. */
#define FORM(name, body, ...)                                                                      \
	static void name(addr_t a, uint32_t token)                                                 \
	{                                                                                          \
		uint64_t p = (uint64_t)a, before = p;                                              \
		__asm__ volatile(body : "+r"(p) : "r"((uint64_t)token) : "memory", ##__VA_ARGS__); \
		if (p != before)                                                                   \
			wrong(#name " changed its base");                                          \
	}

/* The same for a form that changes its base by CHANGE, from BELOW bytes before the address. */
#define FORM_BACK(name, body, below, change, ...)                                                  \
	static void name(addr_t a, uint32_t token)                                                 \
	{                                                                                          \
		uint64_t p = (uint64_t)a - (below), before = p;                                    \
		__asm__ volatile(body : "+r"(p) : "r"((uint64_t)token) : "memory", ##__VA_ARGS__); \
		if (p != before + (uint64_t)(change))                                              \
			wrong(#name " left a wrong base");                                         \
	}

/* Sizes. The page reads as zero, so narrow stores of a small token make the whole. */
FORM(str8, "strb %w1, [%0]")
FORM(str16, "strh %w1, [%0]")
FORM(str32, "str %w1, [%0]")
FORM(str64, "str %1, [%0]")
FORM(offset, "sub x9, %0, #0x90\n\tstr %w1, [x9, #0x90]", "x9")
FORM(unscaled, "add x9, %0, #1\n\tstur %w1, [x9, #-1]", "x9")
FORM(unprivileged, "sttr %w1, [%0]")
FORM(index64, "mov x9, #4\n\tsub x10, %0, #16\n\tstr %w1, [x10, x9, lsl #2]", "x9", "x10")
FORM(index_unsigned,
     "mov x9, #-1\n\tmov w9, #8\n\torr x9, x9, #0xff00000000\n\tsub x10, %0, #8\n\t"
     "str %w1, [x10, w9, uxtw]",
     "x9", "x10")
FORM(index_signed, "mov w9, #-4\n\tadd x10, %0, #16\n\tstr %w1, [x10, w9, sxtw #2]", "x9", "x10")
FORM(base_is_data, "sub x9, %1, #0\n\tsub x10, %0, x9\n\tstr w9, [x9, x10]", "x9", "x10")
FORM(sp_base, "mov x9, sp\n\tsub x10, %0, x9\n\tstr %w1, [sp, x10]", "x9", "x10")
FORM_BACK(pre, "str %w1, [%0, #16]!", 16, 16)
FORM_BACK(post, "str %w1, [%0], #-8", 0, -8)
FORM_BACK(pair_pre, "stp %w1, wzr, [%0, #8]!", 8, 8)
FORM_BACK(pair_post, "stp %1, xzr, [%0], #16", 0, 16)
FORM(pair32, "stp %w1, wzr, [%0]")
FORM(pair64, "stp %1, xzr, [%0]")
FORM(pair_low, "sub x9, %0, #8\n\tstp xzr, %1, [x9]", "x9")
FORM(non_temporal, "stnp %w1, wzr, [%0]")
FORM(release32, "stlr %w1, [%0]")
FORM(release64, "stlr %1, [%0]")
FORM(limited, ".arch_extension lor\n\tstllr %w1, [%0]")
FORM(swap32,
     ".arch_extension lse\n\tmov w9, #7\n\tswpal %w1, w9, [%0]\n\tcbz w9, 1f\n\tudf #0\n1:", "x9")
FORM(swap64, ".arch_extension lse\n\tswpl %1, x9, [%0]\n\tcbz x9, 1f\n\tudf #0\n1:", "x9")
FORM(swap_none, ".arch_extension lse\n\tswp %w1, wzr, [%0]")

/* Vector registers. */
FORM(vector8, "fmov d5, %1\n\tstr b5, [%0]", "v5")
FORM(vector16, "fmov d5, %1\n\tstr h5, [%0]", "v5")
FORM(vector32, "fmov s5, %w1\n\tstr s5, [%0]", "v5")
FORM(vector64, "fmov d5, %1\n\tstr d5, [%0]", "v5")
FORM(vector128, "fmov d5, %1\n\tstr q5, [%0]", "v5")
FORM(vector_unscaled, "fmov d5, %1\n\tadd x9, %0, #3\n\tstur q5, [x9, #-3]", "v5", "x9")
FORM(vector_index, "fmov d5, %1\n\tmov x9, #1\n\tsub x10, %0, #16\n\tstr q5, [x10, x9, lsl #4]",
     "v5", "x9", "x10")
FORM(vector_pair32, "fmov d5, %1\n\tmovi v6.2d, #0\n\tstp s5, s6, [%0]", "v5", "v6")
FORM(vector_pair64, "fmov d5, %1\n\tmovi v6.2d, #0\n\tstp d5, d6, [%0]", "v5", "v6")
FORM(vector_pair128, "fmov d5, %1\n\tmovi v6.2d, #0\n\tstp q5, q6, [%0]", "v5", "v6")
FORM_BACK(vector_post, "fmov d5, %1\n\tstr q5, [%0], #16", 0, 16, "v5")

/* Those that run as a copy. */
FORM(add32, ".arch_extension lse\n\tstadd %w1, [%0]")
FORM(add64, ".arch_extension lse\n\tldaddal %1, x9, [%0]\n\tcbz x9, 1f\n\tudf #0\n1:", "x9")
FORM(set32, ".arch_extension lse\n\tstset %w1, [%0]")
FORM(eor32, ".arch_extension lse\n\tsteor %w1, [%0]")
FORM(max32, ".arch_extension lse\n\tstumax %w1, [%0]")
FORM(add_base,
     ".arch_extension lse\n\tmov x9, %0\n\tldadd %w1, w9, [x9]\n\tcbz w9, 1f\n\tudf #0\n1:", "x9")
FORM(cas32,
     ".arch_extension lse\n\tmov w9, #0\n\tcasal w9, %w1, [%0]\n\tcbz w9, 1f\n\tudf #0\n1:", "x9")
FORM(cas64,
     ".arch_extension lse\n\tmov x9, #0\n\tcas x9, %1, [%0]\n\tcbz x9, 1f\n\tudf #0\n1:", "x9")
FORM(st1, "fmov d5, %1\n\tst1 {v5.2d}, [%0]", "v5")
FORM(st1_element, "fmov d5, %1\n\tst1 {v5.s}[0], [%0]", "v5")
FORM(st2, "fmov d5, %1\n\tmovi v6.2d, #0\n\tst2 {v5.4s, v6.4s}, [%0]", "v5", "v6")
FORM_BACK(st1_post, "fmov d5, %1\n\tst1 {v5.2d}, [%0], #16", 0, 16, "v5")
FORM_BACK(st1_post_index, "fmov d5, %1\n\tmov x9, #24\n\tst1 {v5.4s}, [%0], x9", 0, 24, "v5", "x9")

/* Flags of the program must survive a plain store. */
static void flags_kept(addr_t a, uint32_t token)
{
	uint64_t before, after;

	__asm__ volatile("cmp %2, #1\n\tmrs %0, nzcv\n\tstr %w3, [%2]\n\tmrs %1, nzcv"
			 : "=&r"(before), "=&r"(after)
			 : "r"((uint64_t)a), "r"((uint64_t)token)
			 : "memory", "cc");
	if (before != after)
		wrong("the flags changed over a store");
}

/* All registers that a store does not name keep their values. */
static void registers_kept(addr_t a, uint32_t token)
{
	register uint64_t at __asm__("x9") = (uint64_t)a;
	register uint64_t value __asm__("x10") = token;
	uint64_t sum;

	__asm__ volatile(
		"mov x1, #1\n\tmov x2, #2\n\tmov x3, #3\n\tmov x4, #4\n\tmov x5, #5\n\t"
		"mov x6, #6\n\tmov x7, #7\n\tmov x8, #8\n\tmov x15, #15\n\tmov x16, #16\n\t"
		"mov x17, #17\n\tmov x30, #30\n\tstr w10, [x9]\n\t"
		"add x1, x1, x2\n\tadd x1, x1, x3, lsl #1\n\tadd x1, x1, x4, lsl #2\n\t"
		"add x1, x1, x5, lsl #3\n\tadd x1, x1, x6, lsl #4\n\tadd x1, x1, x7, lsl #5\n\t"
		"add x1, x1, x8, lsl #6\n\tadd x1, x1, x15, lsl #7\n\tadd x1, x1, x16, lsl #8\n\t"
		"add x1, x1, x17, lsl #9\n\tadd %0, x1, x30, lsl #10"
		: "=r"(sum)
		: "r"(at), "r"(value)
		: "memory", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x15", "x16", "x17",
		  "x30");
	if (sum != 1 + 2 + (3 << 1) + (4 << 2) + (5 << 3) + (6 << 4) + (7 << 5) + (8 << 6) +
			   (15 << 7) + (16 << 8) + (17 << 9) + (30 << 10))
		wrong("a register changed over a store");
}

#define F(name)             \
	{                   \
#name, name \
	}
static const struct {
	const char *name;
	void (*store)(addr_t a, uint32_t token);
} forms[] = {
	F(str8),
	F(str16),
	F(str32),
	F(str64),
	F(offset),
	F(unscaled),
	F(unprivileged),
	F(index64),
	F(index_unsigned),
	F(index_signed),
	F(base_is_data),
	F(sp_base),
	F(pre),
	F(post),
	F(pair_pre),
	F(pair_post),
	F(pair32),
	F(pair64),
	F(pair_low),
	F(non_temporal),
	F(release32),
	F(release64),
	F(limited),
	F(swap32),
	F(swap64),
	F(swap_none),
	F(vector8),
	F(vector16),
	F(vector32),
	F(vector64),
	F(vector128),
	F(vector_unscaled),
	F(vector_index),
	F(vector_pair32),
	F(vector_pair64),
	F(vector_pair128),
	F(vector_post),
	F(add32),
	F(add64),
	F(set32),
	F(eor32),
	F(max32),
	F(add_base),
	F(cas32),
	F(cas64),
	F(st1),
	F(st1_element),
	F(st2),
	F(st1_post),
	F(st1_post_index),
	F(flags_kept),
	F(registers_kept),
};

#endif
