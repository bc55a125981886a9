/* SPDX-License-Identifier: MIT */
/* Instructions for test_store.c, encoded by the assembler into tables. The test fills in addresses:
 * registers, RIP-relative and absolute displacements refer to the test's target. */
#ifndef NVSNOOP_TESTS_STORE_CASES_H
#define NVSNOOP_TESTS_STORE_CASES_H

#include <stdint.h>

struct store_case {
	char text[64];
	char feature[8];
	uint8_t bytes[15];
	uint8_t length;
	uint8_t flags;
};

#define CASE(table, feature, flags, text)                           \
	asm(".pushsection " #table ", \"a\", @progbits\n"           \
	    "1: .ascii \"" text "\"\n.fill 64 - (. - 1b), 1, 0\n"   \
	    "1: .ascii \"" feature "\"\n.fill 8 - (. - 1b), 1, 0\n" \
	    "1: " text "\n2: .fill 15 - (2b - 1b), 1, 0x90\n"       \
	    ".byte 2b - 1b, " #flags "\n.popsection\n")

/* Flags: 1 in place, 2 every byte of the width is written. */
#define STORE(text) CASE(step_cases, "", 3, text)
#define COPY(text) CASE(step_cases, "", 2, text)
#define CHANGE(text) CASE(step_cases, "", 1, text)
#define CHANGE_COPY(text) CASE(step_cases, "", 0, text)
#define STORE_ON(cpu, text) CASE(step_cases, cpu, 3, text)
#define COPY_ON(cpu, text) CASE(step_cases, cpu, 2, text)
#define CHANGE_ON(cpu, text) CASE(step_cases, cpu, 1, text)
#define CHANGEC_ON(cpu, text) CASE(step_cases, cpu, 0, text)
#define REFUSED(text) CASE(refused_cases, "", 0, text)

extern const struct store_case __start_step_cases[], __stop_step_cases[];
extern const struct store_case __start_refused_cases[], __stop_refused_cases[];
#define step_cases __start_step_cases
#define NSTEP_CASES ((size_t)(__stop_step_cases - __start_step_cases))
#define refused_cases __start_refused_cases
#define NREFUSED_CASES ((size_t)(__stop_refused_cases - __start_refused_cases))

/* ---- vector stores ---- */
STORE("movups %xmm3, (%rax)");
STORE("movups %xmm3, 0x40(%rax)");
STORE("movups %xmm11, 0x12345(%r13)");
STORE("movaps %xmm1, 0x40(%rcx, %rdx, 4)");
STORE("movapd %xmm8, (%r12, %r9, 8)");
STORE("movdqa %xmm2, (%rbp)");
STORE("movdqu %xmm2, -3(%rbp)");
STORE("movntdq %xmm5, 0x10(%rdi)");
STORE("movntps %xmm5, 0x10(%rsi)");
STORE("movntpd %xmm5, 0x10(%rbx)");
STORE("movss %xmm1, 4(%rax)");
STORE("movsd %xmm1, 8(%rax)");
STORE("movlps %xmm1, 8(%rax)");
STORE("movhps %xmm1, 8(%rax)");
STORE("movlpd %xmm9, 8(%r8)");
STORE("movhpd %xmm9, 8(%r8)");
STORE("movd %xmm1, (%rax)");
STORE("movq %xmm1, (%rax)");
STORE(".byte 0x66, 0x48, 0x0f, 0x7e, 0x08"); /* movq in its other form */
STORE("movd %mm1, (%rax)");
STORE("movq %mm1, (%rax)");
STORE("movntq %mm1, (%rax)");
STORE("pextrb $3, %xmm2, (%rax)");
STORE("pextrw $3, %xmm2, 2(%rax)");
STORE("pextrd $3, %xmm2, (%r10)");
STORE("pextrq $1, %xmm2, (%rax)");
STORE("extractps $1, %xmm2, (%rax)");
CHANGE("maskmovdqu %xmm1, %xmm2");
CHANGE("maskmovq %mm1, %mm2");
CHANGE("fxsave 0x40(%rax)");
CHANGE("stmxcsr 4(%rax)");
COPY("movups %xmm3, 0x12345(%rip)");
COPY("movups %xmm13, 0x12345(%rip)");
COPY("movdqa %xmm3, 0x12345");
COPY("movdqa %xmm3, 0x12345(, %rcx, 1)");
COPY("movdqa %xmm3, 0x12345(, %r9, 2)");
COPY("movntdq %xmm3, 0x10(%rsp)");
COPY("movntdq %xmm3, 0x10(%rsp, %rbp, 2)");
COPY("movups %xmm3, (%rcx, %rcx, 2)");
COPY("movups %xmm3, (%r13, %r13, 8)");
COPY("movups %xmm3, %gs:0x40(%rax)");
COPY("movups %xmm3, %gs:0x123");
COPY("movups %xmm3, %fs:(%r15, %r14, 4)");
COPY("movups %xmm3, 0x40(%eax)");
COPY("movups %xmm3, 0x40(%r9d, %ecx, 4)");
COPY("movups %xmm3, 0x40(%eip)");
COPY("pextrq $1, %xmm12, 0x12345(%rip)");
COPY("pextrb $1, %xmm12, 0x12345(%rip)");

STORE_ON("avx", "vmovups %xmm3, (%rax)");
STORE_ON("avx", "vmovdqu %ymm3, 0x20(%rax)");
STORE_ON("avx", "vmovdqa %ymm13, 0x20(%r9, %r10, 4)");
STORE_ON("avx", "vmovntdq %ymm3, 0x20(%rbp)");
STORE_ON("avx", "vmovntps %ymm3, (%r13)");
STORE_ON("avx", "vmovss %xmm3, (%rdx)");
STORE_ON("avx", "vmovsd %xmm3, (%rdx)");
STORE_ON("avx", "vmovhps %xmm3, (%rdx)");
STORE_ON("avx", "vmovlpd %xmm3, (%rdx)");
STORE_ON("avx", "vmovd %xmm3, (%rdx)");
STORE_ON("avx", "vmovq %xmm3, (%rdx)");
STORE_ON("avx", "vpextrb $2, %xmm3, (%rdx)");
STORE_ON("avx", "vpextrw $2, %xmm3, (%rdx)");
STORE_ON("avx", "vpextrq $1, %xmm3, (%r11)");
STORE_ON("avx", "vextractf128 $1, %ymm3, 16(%rdx)");
STORE_ON("avx", "vextracti128 $1, %ymm3, (%r8)");
STORE_ON("avx", "vcvtps2ph $0, %ymm3, (%r8)");
CHANGE_ON("avx", "vmaskmovps %ymm1, %ymm2, (%rax)");
CHANGE_ON("avx", "vpmaskmovq %xmm1, %xmm12, (%r8)");
CHANGE_ON("avx", "vmaskmovdqu %xmm1, %xmm2");
CHANGE_ON("avx", "vstmxcsr (%rax)");
COPY_ON("avx", "vmovups %ymm3, 0x123(%rip)");
COPY_ON("avx", "vmovups %ymm13, 0x123(%rip)");
COPY_ON("avx", "vmovups %ymm3, 0x20(%rsp)");
COPY_ON("avx", "vmovups %ymm3, 0x20(, %r9, 1)");
COPY_ON("avx", "vmovups %ymm3, (%r9, %r9, 8)");
COPY_ON("avx", "vmovups %ymm3, %gs:0x20(%r12)");
COPY_ON("avx", "vmovups %ymm3, 0x20(%r12d, %r8d, 2)");
COPY_ON("avx", "vextracti128 $1, %ymm12, 0x123(%rip)");
CHANGEC_ON("avx", "vmaskmovpd %ymm1, %ymm12, 0x20(%rsp)");

STORE_ON("avx512", "vmovups %zmm3, (%rax)");
STORE_ON("avx512", "vmovdqu8 %zmm23, (%rax)");
STORE_ON("avx512", "vmovdqu64 %zmm23, 0x40(%r13)");
STORE_ON("avx512", "vmovdqu32 %ymm17, -0x40(%r13, %r14, 8)");
STORE_ON("avx512", "vmovdqa64 %xmm17, 0x12345(%r13)");
STORE_ON("avx512", "vmovntdq %zmm3, 0x40(%rcx)");
STORE_ON("avx512", "vextracti64x4 $1, %zmm3, (%rcx)");
STORE_ON("avx512", "vextractf32x4 $1, %zmm3, (%rcx)");
STORE_ON("avx512", "kmovw %k1, (%rcx)");
STORE_ON("avx512", "kmovb %k1, (%rcx)");
STORE_ON("avx512", "kmovd %k1, (%rcx)");
STORE_ON("avx512", "kmovq %k1, (%r9)");
CHANGE_ON("avx512", "vmovdqu8 %zmm23, 0x40(%rax){%k1}");
CHANGE_ON("avx512", "vmovaps %zmm3, (%r8, %r9, 2){%k2}");
CHANGE_ON("avx512", "vpcompressd %zmm3, (%rcx){%k1}");
CHANGE_ON("avx512", "vpmovdb %zmm3, (%rcx)");
COPY_ON("avx512", "vmovdqu64 %zmm23, 0x123(%rip)");
COPY_ON("avx512", "vmovdqu64 %zmm3, 0x40(%rsp)");
COPY_ON("avx512", "vmovdqu64 %zmm3, 0x40(%r12, %r12, 2)");
COPY_ON("avx512", "vmovdqu64 %zmm29, 0x40(, %r12, 2)");
COPY_ON("avx512", "vmovdqu64 %zmm29, %gs:0x80(%r15, %r12, 2)");
COPY_ON("avx512", "vmovdqu64 %zmm29, 0x12345(%r15d, %r12d, 2)");
CHANGEC_ON("avx512", "vmovdqu16 %zmm29, 0x40(%rsp){%k1}");
COPY_ON("avx512", "kmovq %k1, 0x123(%rip)");

/* ---- strings ---- */
CHANGE("stosb");
CHANGE("stosw");
CHANGE("stosl");
CHANGE("stosq");
CHANGE("movsb");
CHANGE("movsw");
CHANGE("movsl");
CHANGE("movsq");
CHANGE("rep stosb");
CHANGE("rep stosl");
CHANGE("rep stosq");
CHANGE("rep movsb");
CHANGE("rep movsl");
CHANGE("rep movsq");

/* ---- read, change, write ---- */
CHANGE("orl $1, (%rax)");
CHANGE("orl $1, (%rcx)");
CHANGE("addq $0x12345, 8(%rdx, %rcx, 2)");
CHANGE("andb $0x55, 8(%rdx)");
CHANGE("addl %ebx, (%rax)");
CHANGE("subw %bx, (%rax)");
CHANGE("xorb %bh, (%rax)");
CHANGE("lock addl %ebx, (%rax)");
CHANGE("lock xaddq %rbx, (%r9)");
CHANGE("lock xaddb %dh, (%rax)");
CHANGE("lock cmpxchgl %ebx, (%rcx)");
CHANGE("lock cmpxchgb %ch, (%rdx)");
CHANGE("lock cmpxchgq %r12, 8(%rsi)");
CHANGE("lock cmpxchg8b (%rsi)");
CHANGE("lock cmpxchg16b (%rdi)");
CHANGE("incl (%rax)");
CHANGE("lock decq (%rax)");
CHANGE("notb (%rax)");
CHANGE("negl (%r8)");
CHANGE("shll $3, (%rax)");
CHANGE("rorq (%rax)");
CHANGE("sarl %cl, (%rax)");
CHANGE("rcrb %cl, (%rax)");
CHANGE("shldl $3, %ecx, (%rax)");
CHANGE("shrdq %cl, %rdx, (%rax)");
CHANGE("btsl $3, (%rax)");
CHANGE("lock btcq $33, (%rax)");
CHANGE("setc (%rax)");
CHANGE("setg 3(%rax, %rbx, 4)");
CHANGE_COPY("addl %eax, (%rax)");
CHANGE_COPY("adcq %rax, 8(%rax)");
CHANGE_COPY("addb %ah, (%rax)");
CHANGE_COPY("addb %dh, 0x12345(%rip)");
CHANGE_COPY("addb %sil, 0x12345(%rip)");
CHANGE_COPY("xorl %esi, (%rsi)");
CHANGE_COPY("xorl %edi, 8(%rdi, %rsi)");
CHANGE_COPY("lock xaddl %eax, (%rbx, %rbx)");
CHANGE_COPY("lock xaddl %ecx, (%rcx)");
CHANGE_COPY("lock cmpxchgl %ebx, (%rax)");
CHANGE_COPY("lock cmpxchgl %ecx, (%rcx)");
CHANGE_COPY("lock cmpxchgq %rsi, (%rsp)");
CHANGE_COPY("lock cmpxchg8b (%rdx)");
CHANGE_COPY("lock cmpxchg16b (%rbx)");
CHANGE_COPY("sarl %cl, (%rcx)");
CHANGE_COPY("shldq %cl, %rsi, (%rcx)");
CHANGE_COPY("addl $0x11223344, 0x123(%rip)");
CHANGE_COPY("orl $3, 0x123(%rip)");
CHANGE_COPY("addw $0x1122, 0x123(%rip)");
CHANGE_COPY("lock orl $3, %gs:0x10(%rax)");
CHANGE_COPY("lock incl %gs:0x10");
CHANGE_COPY("incl %fs:(%rax, %rdi)");
CHANGE_COPY("negq 8(%rsp)");
CHANGE_COPY("setne (%rsp, %rax)");
CHANGE_COPY("notl 0x10(%ecx)");

/* ---- simple ones that emulation leaves alone, and the rest ---- */
COPY("movl %ecx, %gs:(%rax)");
COPY("movl %ecx, %gs:0x10");
COPY("movb %ch, %gs:0x10(%rbx)");
COPY("movl $0x11223344, %fs:8(%rax, %rcx, 8)");
COPY("movabs %eax, %gs:0x1122334455667788");
COPY("movabs %al, %gs:0x1122334455667788");
COPY("movabs %rax, %gs:0x1122334455667788");
COPY("movabs %ax, %gs:0x1122334455667788");
CHANGE_COPY("xchgl %ecx, %gs:(%rax)");
COPY("movnti %ecx, %gs:(%rax)");
CHANGE("movw %ds, (%rax)");
CHANGE_COPY("movw %fs, 0x123(%rip)");
CHANGE("popq (%rax)");
CHANGE("popq 8(%r12, %rbx, 2)");
CHANGE("popw 8(%r12)");
CHANGE_COPY("popq 0x123(%rip)");
CHANGE_COPY("popq (%rsp)");
CHANGE_COPY("popq 0x10(%rsp)");
CHANGE_COPY("popw 0x10(%rsp)");
CHANGE("fnstcw (%rax)");
CHANGE("fnstsw (%rax)");
CHANGE("fnstenv (%rax)");
CHANGE("fnsave (%rax)");
CHANGE("fstps (%rax)");
CHANGE("fstpl (%rax)");
CHANGE("fstpt (%rax)");
CHANGE_COPY("fnstcw 0x123(%rip)");
STORE_ON("movbe", "movbe %ecx, (%rax)");
STORE_ON("movbe", "movbe %cx, (%rax)");
STORE_ON("movbe", "movbe %r9, 8(%rax)");
COPY_ON("movbe", "movbe %rax, 8(%rax)");
COPY_ON("movbe", "movbe %esi, 0x123(%rip)");

/* ---- what has to be refused ---- */
REFUSED("pushq (%rax)");
REFUSED("call *(%rax)");
REFUSED("jmp *(%rax)");
REFUSED("pushq %rax");
REFUSED("call .");
REFUSED("ret");
REFUSED("nop");
REFUSED("syscall");
REFUSED("addl %eax, %ecx");
REFUSED("movw (%rax), %ss");
REFUSED("xsave (%rdi)");
REFUSED("xsavec (%rdi)");
REFUSED("enter $16, $0");
REFUSED("leave");
REFUSED("lodsb");
REFUSED("addr32 stosb");
REFUSED("addr32 rep movsl");
REFUSED("vpscatterdd %zmm1, (%rax, %zmm2, 4){%k1}");
REFUSED("vgatherdps %ymm1, (%rax, %ymm2, 4), %ymm3");
REFUSED(".byte 0xc4, 0xe2, 0x7a, 0x4b, 0x14, 0x08"); /* tilestored */
REFUSED(".byte 0xf2, 0x0f, 0x38, 0xf8, 0x08"); /* enqcmd */
#endif
