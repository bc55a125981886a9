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

/* The same with the base in a register that is asked for. */
#define FORM_BASE(reg)                                                                        \
	static void mov32_##reg(addr_t a, uint32_t token)                                     \
	{                                                                                     \
		uint64_t out;                                                                 \
		__asm__ volatile("mov %1, %%" #reg "\n\tmov %k2, (%%" #reg ")\n\tmov %%" #reg \
				 ", %0"                                                       \
				 : "=&r"(out)                                                 \
				 : "r"((uint64_t)a), "r"((uint64_t)token)                     \
				 : "memory", #reg);                                           \
		if (out != (uint64_t)a)                                                       \
			wrong("mov32_" #reg " changed its base");                             \
	}

FORM_BASE(rax)
FORM_BASE(rcx)
FORM_BASE(rdx)
FORM_BASE(rbx)
FORM_BASE(rsi)
FORM_BASE(rdi)
FORM_BASE(r8)
FORM_BASE(r9)
FORM_BASE(r10)
FORM_BASE(r11)
FORM_BASE(r12)
FORM_BASE(r13)
FORM_BASE(r14)
FORM_BASE(r15)

static void mov32_rbp(addr_t a, uint32_t token)
{
	__asm__ volatile("mov %%rbp, %%rdx\n\tmov %0, %%rbp\n\tmov %k1, (%%rbp)\n\tmov %%rdx, %%rbp"
			 :
			 : "r"((uint64_t)a), "r"((uint64_t)token)
			 : "memory", "rdx");
}

/* Sizes and immediates. The page reads as zero, so narrow stores of a small token make the whole.
 *  */
FORM(mov8, "movb %b1, (%0)")
FORM(mov16, "movw %w1, (%0)")
FORM(mov32, "movl %k1, (%0)")
FORM(mov64, "movq %1, (%0)")
FORM(mov8_high, "mov %k1, %%eax\n\tshl $8, %%eax\n\tmov %0, %%rdx\n\tmovb %%ah, (%%rdx)", "rax",
     "rdx", "cc")
FORM(mov8_imm, "movb $0xa, (%0)")
FORM(mov16_imm, "movw $0xa, (%0)")
FORM(mov32_imm, "movl $0xa, (%0)")
FORM(mov64_imm, "movq $0xa, (%0)")
FORM(movnti32, "movnti %k1, (%0)")
FORM(movnti64, "movnti %1, (%0)")

/* Addressing. */
FORM(disp8, "sub $0x40, %0\n\tmovl %k1, 0x40(%0)\n\tadd $0x40, %0")
FORM(disp8_negative, "add $0x70, %0\n\tmovl %k1, -0x70(%0)\n\tsub $0x70, %0")
FORM(disp32, "sub $0x12345678, %0\n\tmovl %k1, 0x12345678(%0)\n\tadd $0x12345678, %0")
FORM(disp32_negative, "add $0x12345678, %0\n\tmovl %k1, -0x12345678(%0)\n\tsub $0x12345678, %0")
FORM(index1, "mov %0, %%rdx\n\tsub $77, %%rdx\n\tmov $77, %%ecx\n\tmovl %k1, (%%rdx,%%rcx)", "rcx",
     "rdx")
FORM(index4, "mov %0, %%rdx\n\tsub $400, %%rdx\n\tmov $100, %%ecx\n\tmovl %k1, (%%rdx,%%rcx,4)",
     "rcx", "rdx")
FORM(index8_disp,
     "mov %0, %%rdx\n\tsub $1000, %%rdx\n\tmov $100, %%ecx\n\tmovl %k1, 200(%%rdx,%%rcx,8)", "rcx",
     "rdx")
FORM(index_negative,
     "mov %0, %%rdx\n\tadd $32, %%rdx\n\tmov $-8, %%rcx\n\tmovl %k1, (%%rdx,%%rcx,4)", "rcx", "rdx")
FORM(index_r12_r13,
     "mov %0, %%r13\n\tsub $48, %%r13\n\tmov $24, %%r12d\n\tmovl %k1, (%%r13,%%r12,2)", "r12",
     "r13")
FORM(no_base, "mov %0, %%rcx\n\tshr $3, %%rcx\n\tmovl %k1, 0(,%%rcx,8)", "rcx")
FORM(rsp_base, "mov %0, %%rcx\n\tsub %%rsp, %%rcx\n\tmovl %k1, (%%rsp,%%rcx)", "rcx")
FORM(index_is_data, "mov %0, %%rdx\n\tsub %1, %%rdx\n\tmov %1, %%rcx\n\tmovl %%ecx, (%%rdx,%%rcx)",
     "rcx", "rdx")
FORM(base_is_data, "mov %0, %%rdx\n\tsub %1, %%rdx\n\tmov %1, %%rcx\n\tmovl %%ecx, (%%rcx,%%rdx)",
     "rcx", "rdx")
FORM(base_is_data64, "mov %0, %%rdx\n\tsub %1, %%rdx\n\tmov %1, %%rcx\n\tmovq %%rcx, (%%rcx,%%rdx)",
     "rcx", "rdx")
FORM(base_is_data_movnti,
     "mov %0, %%rdx\n\tsub %1, %%rdx\n\tmov %1, %%rcx\n\tmovnti %%ecx, (%%rcx,%%rdx)", "rcx", "rdx")
FORM(segment_fs, "mov %%fs:0, %%rcx\n\tmov %0, %%rdx\n\tsub %%rcx, %%rdx\n\tmovl %k1, %%fs:(%%rdx)",
     "rcx", "rdx")
FORM(red_zone,
     "movq $0x1234, -16(%%rsp)\n\tmovl %k1, (%0)\n\tmov -16(%%rsp), %%rcx\n\tcmp $0x1234, "
     "%%rcx\n\tje 1f\n\tud2\n1:",
     "rcx", "cc")

/* The absolute form has its address in the instruction: built when it is known. So has
 * RIP-relative. */
static uint8_t *near_page(uint64_t a)
{
	for (int64_t d = 0x10000; d < 0x7fff0000; d += 0x10000) {
		for (int sign = -1; sign <= 1; sign += 2) {
			uint8_t *p = mmap((void *)((a & ~0xfffull) + (uint64_t)(sign * d)), 4096,
					  PROT_READ | PROT_WRITE | PROT_EXEC,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

			if (p != MAP_FAILED)
				return p;
		}
	}
	wrong("no page near the doorbell");
	return NULL;
}

static void run_code(addr_t a, uint32_t token, const uint8_t *head, size_t n, const uint8_t *disp,
		     size_t ndisp, bool relative)
{
	uint8_t *code = near_page((uint64_t)a), *p = code;
	int32_t rel;

	memcpy(p, head, n);
	p += n;
	if (relative) {
		rel = (int32_t)((int64_t)(uint64_t)a - (int64_t)(uint64_t)(p + 4 + ndisp));
		memcpy(p, &rel, 4);
		p += 4;
		memcpy(p, disp, ndisp);
		p += ndisp;
	} else {
		memcpy(p, &a, 8);
		p += 8;
	}
	*p = 0xc3;
	((void (*)(uint32_t, uint32_t))code)(token, token);
	munmap(code, 4096);
}

static void rip_relative(addr_t a, uint32_t token)
{
	run_code(a, token, (const uint8_t[]){0x89, 0x3d}, 2, NULL, 0,
		 true); /* mov %edi, rel(%rip) */
}

static void rip_relative_imm(addr_t a, uint32_t token)
{
	run_code(a, token, (const uint8_t[]){0xc7, 0x05}, 2, (const uint8_t[]){TOKEN, 0, 0, 0}, 4,
		 true);
}

static void rip_relative_vector(addr_t a, uint32_t token)
{
	/* movd %edi, %xmm0; movd %xmm0, rel(%rip) */
	run_code(a, token, (const uint8_t[]){0x66, 0x0f, 0x6e, 0xc7, 0x66, 0x0f, 0x7e, 0x05}, 8,
		 NULL, 0, true);
}

static void rip_relative_or(addr_t a, uint32_t token)
{
	run_code(a, token, (const uint8_t[]){0x09, 0x3d}, 2, NULL, 0,
		 true); /* or %edi, rel(%rip) */
}

static void absolute(addr_t a, uint32_t token)
{
	run_code(a, token, (const uint8_t[]){0x89, 0xf8, 0xa3}, 3, NULL, 0,
		 false); /* mov %edi, %eax; movabs */
}

/* Exchange: what comes back is what the page shows, zero. */
FORM(xchg32, "mov %k1, %%ecx\n\txchgl %%ecx, (%0)\n\ttest %%ecx, %%ecx\n\tjz 1f\n\tud2\n1:", "rcx",
     "cc")
FORM(xchg64, "mov %1, %%rcx\n\txchgq %%rcx, (%0)\n\ttest %%rcx, %%rcx\n\tjz 1f\n\tud2\n1:", "rcx",
     "cc")
FORM(xchg16, "mov %k1, %%ecx\n\txchgw %%cx, (%0)", "rcx")
FORM(xchg8, "mov %k1, %%ecx\n\txchgb %%cl, (%0)", "rcx")
FORM(xchg_r11, "mov %k1, %%r11d\n\tmov %0, %%rdx\n\tsub $8, %%rdx\n\txchgl %%r11d, 8(%%rdx)", "r11",
     "rdx")

/* What has to be stepped. */
FORM(sse_movd, "movd %k1, %%xmm3\n\tmovd %%xmm3, (%0)", "xmm3")
FORM(sse_movq, "movq %1, %%xmm3\n\tmovq %%xmm3, (%0)", "xmm3")
FORM(sse_movss, "movd %k1, %%xmm3\n\tmovss %%xmm3, (%0)", "xmm3")
FORM(sse_movlps, "movq %1, %%xmm3\n\tmovlps %%xmm3, (%0)", "xmm3")
FORM(sse_movdqu, "movq %1, %%xmm3\n\tmovdqu %%xmm3, (%0)", "xmm3")
FORM(sse_indexed,
     "movd %k1, %%xmm3\n\tmov %0, %%rdx\n\tsub $16, %%rdx\n\tmov $2, %%ecx\n\tmovd %%xmm3, "
     "(%%rdx,%%rcx,8)",
     "xmm3", "rcx", "rdx")
FORM(mmx_movd, "movd %k1, %%mm1\n\tmovd %%mm1, (%0)\n\temms", "mm1", "st")
FORM(x87_fistp,
     "lea -128(%%rsp), %%rsp\n\tpush %1\n\tfildq (%%rsp)\n\tfistpl (%0)\n\tlea 136(%%rsp), %%rsp",
     "st")
FORM(or32, "orl %k1, (%0)", "cc")
FORM(add32, "addl %k1, (%0)", "cc")
FORM(xor32, "xorl %k1, (%0)", "cc")
FORM(lock_or, "lock orl %k1, (%0)", "cc")
FORM(lock_add64, "lock addq %1, (%0)", "cc")
FORM(add_imm, "addl $0xa, (%0)", "cc")
FORM(cmpxchg32, "xor %%eax, %%eax\n\tlock cmpxchgl %k1, (%0)\n\tjz 1f\n\tud2\n1:", "rax", "cc")
FORM(cmpxchg64, "xor %%eax, %%eax\n\tcmpxchgq %1, (%0)\n\tjz 1f\n\tud2\n1:", "rax", "cc")
FORM(xadd32,
     "mov %k1, %%ecx\n\tlock xaddl %%ecx, (%0)\n\ttest %%ecx, %%ecx\n\tjz 1f\n\tud2\n1:", "rcx",
     "cc")
FORM(popq_mem, "lea -128(%%rsp), %%rsp\n\tpush %1\n\tpopq (%0)\n\tlea 128(%%rsp), %%rsp")
FORM(rsp_base_vector,
     "movd %k1, %%xmm3\n\tmov %0, %%rcx\n\tsub %%rsp, %%rcx\n\tmovd %%xmm3, (%%rsp,%%rcx)", "rcx",
     "xmm3")
FORM(no_base_or, "mov %0, %%rcx\n\tshr $3, %%rcx\n\torl %k1, 0(,%%rcx,8)", "rcx", "cc")
FORM(base_is_data_or, "mov %0, %%rdx\n\tsub %1, %%rdx\n\tmov %1, %%rcx\n\torl %%ecx, (%%rcx,%%rdx)",
     "rcx", "rdx", "cc")
FORM(base_is_data_xchg,
     "mov %0, %%rdx\n\tsub %1, %%rdx\n\tmov %1, %%rcx\n\txchgl %%ecx, (%%rcx,%%rdx)\n\ttest %%ecx, "
     "%%ecx\n\tjz 1f\n\tud2\n1:",
     "rcx", "rdx", "cc")

static void stosd(addr_t a, uint32_t token)
{
	uint64_t p = (uint64_t)a;

	__asm__ volatile("stosl" : "+D"(p) : "a"(token) : "memory");
	if (p != (uint64_t)a + 4)
		wrong("stosd left a wrong rdi");
}

static void rep_stosd(addr_t a, uint32_t token)
{
	uint64_t p = (uint64_t)a, n = 1;

	__asm__ volatile("rep stosl" : "+D"(p), "+c"(n) : "a"(token) : "memory");
	if (p != (uint64_t)a + 4 || n)
		wrong("rep stosd left a wrong rdi or rcx");
}

static void movsd(addr_t a, uint32_t token)
{
	uint64_t p = (uint64_t)a;
	const uint32_t *s = &token;

	__asm__ volatile("movsl" : "+D"(p), "+S"(s) : : "memory");
	if (p != (uint64_t)a + 4 || s != &token + 1)
		wrong("movsd left a wrong rdi or rsi");
}

static void movsd_down(addr_t a, uint32_t token)
{
	uint64_t p = (uint64_t)a, s = (uint64_t)&token;

	__asm__ volatile("std\n\tmovsl\n\tcld" : "+D"(p), "+S"(s) : : "memory", "cc");
	if (p != (uint64_t)a - 4 || s != (uint64_t)&token - 4)
		wrong("movsd downwards left a wrong rdi or rsi");
}

/* Flags of the program must survive a plain store. */
static void flags_kept(addr_t a, uint32_t token)
{
	uint64_t before, after;

	__asm__ volatile("xor %%ecx, %%ecx\n\tsub $1, %%ecx\n\tpushfq\n\tpop %0\n\tmovl %k3, "
			 "(%2)\n\tpushfq\n\tpop %1"
			 : "=&r"(before), "=&r"(after)
			 : "r"((uint64_t)a), "r"((uint64_t)token)
			 : "memory", "cc", "rcx");
	if (before != after)
		wrong("the flags changed over a store");
}

#define F(name)             \
	{                   \
#name, name \
	}
static const struct {
	const char *name;
	void (*store)(addr_t a, uint32_t token);
} forms[] = {
	F(mov32_rax),
	F(mov32_rcx),
	F(mov32_rdx),
	F(mov32_rbx),
	F(mov32_rsi),
	F(mov32_rdi),
	F(mov32_r8),
	F(mov32_r9),
	F(mov32_r10),
	F(mov32_r11),
	F(mov32_r12),
	F(mov32_r13),
	F(mov32_r14),
	F(mov32_r15),
	F(mov32_rbp),
	F(mov8),
	F(mov16),
	F(mov32),
	F(mov64),
	F(mov8_high),
	F(mov8_imm),
	F(mov16_imm),
	F(mov32_imm),
	F(mov64_imm),
	F(movnti32),
	F(movnti64),
	F(disp8),
	F(disp8_negative),
	F(disp32),
	F(disp32_negative),
	F(index1),
	F(index4),
	F(index8_disp),
	F(index_negative),
	F(index_r12_r13),
	F(no_base),
	F(rsp_base),
	F(index_is_data),
	F(base_is_data),
	F(base_is_data64),
	F(base_is_data_movnti),
	F(segment_fs),
	F(red_zone),
	F(rip_relative),
	F(rip_relative_imm),
	F(rip_relative_vector),
	F(rip_relative_or),
	F(absolute),
	F(xchg32),
	F(xchg64),
	F(xchg16),
	F(xchg8),
	F(xchg_r11),
	F(sse_movd),
	F(sse_movq),
	F(sse_movss),
	F(sse_movlps),
	F(sse_movdqu),
	F(sse_indexed),
	F(mmx_movd),
	F(x87_fistp),
	F(or32),
	F(add32),
	F(xor32),
	F(lock_or),
	F(lock_add64),
	F(add_imm),
	F(cmpxchg32),
	F(cmpxchg64),
	F(xadd32),
	F(popq_mem),
	F(rsp_base_vector),
	F(no_base_or),
	F(base_is_data_or),
	F(base_is_data_xchg),
	F(stosd),
	F(rep_stosd),
	F(movsd),
	F(movsd_down),
	F(flags_kept),
};

#endif
