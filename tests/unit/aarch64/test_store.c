/* SPDX-License-Identifier: MIT */
/* LINK: trap */
/*
 * Stores of A64: random instructions of all kinds of store are run as they are, then emulated or
 * run as a copy at another address. Memory and registers must be the same afterwards. What is not a
 * store, or not supported, must not be taken for one.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <asm/sigcontext.h>
#include "tests/unit/expect.h"
#include "trap/arch/store.h"

#define SEED 20261127u
#define EACH 1000
#define ROOM 16384u /* bytes of each of the two buffers */
#define CENTRE 8192u
#define LAST 16 /* x0 to x15 are the instruction's */

struct state {
	uint64_t x[LAST];
	uint64_t v[8][2];
};

static uint32_t random_state = SEED;
static uint8_t *native, *alias; /* the program's memory, and where the trap performs its stores */
static uint32_t *code;
static sigjmp_buf jump;
static unsigned simple, copied, other, illegal;

static uint32_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

static void on_fault(int sig)
{
	siglongjmp(jump, sig);
}

static mcontext_t step_context; /* of the breakpoint behind a copy */

static void on_break(int sig, siginfo_t *info, void *context)
{
	memcpy(&step_context, &((ucontext_t *)context)->uc_mcontext, sizeof(step_context));
	siglongjmp(jump, SIGTRAP);
}

/* Runs the instruction at CODE, after which it returns, with the registers of S. */
extern void run_code(struct state *s, const uint32_t *at);
__asm__("	.text\n	.globl run_code\n	.type run_code, @function\nrun_code:\n"
	"	stp x29, x30, [sp, #-48]!\n	stp x27, x28, [sp, #16]\n	str x26, [sp, "
	"#32]\n"
	"	mov x28, x0\n	mov x27, x1\n	add x16, x28, #128\n"
	"	ldp q0, q1, [x16]\n	ldp q2, q3, [x16, #32]\n	ldp q4, q5, [x16, #64]\n"
	"	ldp q6, q7, [x16, #96]\n"
	"	ldp x0, x1, [x28]\n	ldp x2, x3, [x28, #16]\n	ldp x4, x5, [x28, #32]\n"
	"	ldp x6, x7, [x28, #48]\n	ldp x8, x9, [x28, #64]\n	ldp x10, x11, "
	"[x28, #80]\n"
	"	ldp x12, x13, [x28, #96]\n	ldp x14, x15, [x28, #112]\n	blr x27\n"
	"	stp x0, x1, [x28]\n	stp x2, x3, [x28, #16]\n	stp x4, x5, [x28, #32]\n"
	"	stp x6, x7, [x28, #48]\n	stp x8, x9, [x28, #64]\n	stp x10, x11, "
	"[x28, #80]\n"
	"	stp x12, x13, [x28, #96]\n	stp x14, x15, [x28, #112]\n"
	"	ldr x26, [sp, #32]\n	ldp x27, x28, [sp, #16]\n	ldp x29, x30, [sp], #48\n"
	"	ret\n	.size run_code, . - run_code\n");

static void put_code(uint32_t word)
{
	code[0] = word;
	code[1] = 0xd65f03c0; /* ret */
	__builtin___clear_cache((char *)code, (char *)(code + 2));
}

/* A signal's context with the registers of S. */
static void make_context(ucontext_t *uc, const struct state *s)
{
	struct fpsimd_context *f = (void *)uc->uc_mcontext.__reserved;

	memset(uc, 0, sizeof(*uc));
	memcpy(uc->uc_mcontext.regs, s->x, sizeof(s->x));
	uc->uc_mcontext.pc = (uintptr_t)code;
	f->head.magic = FPSIMD_MAGIC;
	f->head.size = sizeof(*f);
	memcpy(f->vregs, s->v, sizeof(s->v));
}

static bool same_registers(const mcontext_t *m, const struct state *after)
{
	return !memcmp(m->regs, after->x, sizeof(after->x));
}

/* Returns what ended it: 0, or a signal. */
static int run_native(uint32_t word, struct state *s)
{
	int sig;

	put_code(word);
	sig = sigsetjmp(jump, 1);
	if (!sig)
		run_code(s, code);
	return sig;
}

/* Runs the copy in SLOT, up to its breakpoint. */
static bool run_copy(const struct nvs_insn *insn, const struct state *before, ucontext_t *uc)
{
	struct nvs_step step;
	struct state s;
	mcontext_t *m = &uc->uc_mcontext;

	if (nvs_step_prepare(&step, insn, (const uint8_t *)code, m, alias - native,
			     (uint8_t *)(code + 16), (uintptr_t)(code + 16)))
		return false;
	EXPECT(nvs_step_is_at(&step, m->pc) && m->pc == (uintptr_t)(code + 16));
	s = *before;
	memcpy(s.x, m->regs, sizeof(s.x));
	if (!sigsetjmp(jump, 1))
		run_code(&s, code + 16);
	EXPECT(step_context.pc == (uintptr_t)(code + 17));
	memcpy(m->regs, step_context.regs, sizeof(s.x));
	m->pc = step_context.pc;
	return nvs_step_finish(&step, m) && m->pc == (uintptr_t)code + 4;
}

static void clear_buffers(void)
{
	memset(native, 0xee, ROOM);
	memset(alias, 0xee, ROOM);
}

static void wrong(const char *how, uint32_t word)
{
	printf("%08x: %s\n", word, how);
	expect_failed++;
}

static void compare(uint32_t word, const struct state *before)
{
	struct state after = *before;
	static ucontext_t uc;
	struct nvs_store store;
	struct nvs_insn insn;
	int sig;

	clear_buffers();
	sig = run_native(word, &after);
	if (sig) {
		illegal++;
		return;
	}
	EXPECT(nvs_insn_decode(&insn, (const uint8_t *)&word, 4) == 4);
	if (insn.form == NVS_A64_OTHER) {
		other++;
		return;
	}
	/* Unpredictable. */
	if (insn.writeback && !insn.vector &&
	    (insn.source == insn.base || (insn.pair && insn.second == insn.base)))
		return;
	make_context(&uc, before);
	if (nvs_store_decode(&store, &insn, &uc.uc_mcontext)) {
		simple++;
		nvs_store_emulate(&store, (uintptr_t)alias + (store.address - (uintptr_t)native),
				  &uc.uc_mcontext);
		if (memcmp(native, alias, ROOM))
			wrong("emulated, other memory", word);
		if (!same_registers(&uc.uc_mcontext, &after) ||
		    uc.uc_mcontext.pc != (uintptr_t)code + 4)
			wrong("emulated, other registers", word);
		make_context(&uc, before);
	}
	memset(alias, 0xee, ROOM);
	copied++;
	if (!run_copy(&insn, before, &uc))
		wrong("the copy did not run", word);
	else if (memcmp(native, alias, ROOM) || !same_registers(&uc.uc_mcontext, &after))
		wrong("as a copy, other memory or registers", word);
}

/* Fixed bits of a kind of store, and those that are drawn. */
static const struct {
	uint32_t fixed, drawn;
} kinds[] = {
	{0x39000000, 0xc43fffff}, /* STR, unsigned offset */
	{0x38000000, 0xc41fffff}, /* STUR, STTR, post-, pre-indexed */
	{0x38200800, 0xc41ff3ff}, /* register offset */
	{0x3c800000, 0x001fffff}, /* of 128 bits */
	{0x3ca00800, 0x001ff3ff}, {0x28000000, 0xd5bfffff}, /* STP, STNP */
	{0x089f7c00, 0xc00083ff}, /* STLR, STLLR */
	{0x38200000, 0xc0dff3ff}, /* atomics */
	{0x08a07c00, 0xc05f83ff}, /* CAS */
	{0x0c000000, 0x40bffbff}, /* ST1 to ST4 */
	{0x0c800000, 0x403fffff}, {0x0d000000, 0x40bfffff},
	{0x0c400000, 0x40bfffff}, /* LD1 to LD4: no stores */
	{0x39400000, 0xc03fffff}, /* LDR */
};

/* All registers but the base hold small numbers, in words of the instruction's own fields: an index
 * keeps the address within the buffer. */
static void draw_state(struct state *s, uint32_t word)
{
	unsigned base = word >> 5 & 31;

	for (int i = 0; i < LAST; i++)
		s->x[i] = next_random() & 31;
	for (int i = 0; i < 16; i++)
		s->v[i / 2][i % 2] = (uint64_t)next_random() << 32 | next_random();
	s->x[base] = (uintptr_t)native + CENTRE + (next_random() & 7) * 16;
}

static void try_kind(uint32_t fixed, uint32_t drawn)
{
	for (int n = 0; n < EACH; n++) {
		uint32_t word = fixed | (next_random() & drawn);
		struct state s;

		/* Registers of the test's: x0 to x15, v0 to v7, and none as zero. */
		word &= ~(1u << 9);
		if (!(word & 1u << 26) && (word & 31) != 31)
			word &= ~(1u << 4);
		if (word & 1u << 26)
			word &= ~0x18u;
		if ((word & 0x3a000000) == 0x28000000) /* pairs */
			word &= word & 1u << 26 ? ~(0x18u << 10) : ~(1u << 14);
		else if ((word & 0x3b200000) == 0x38200000 || (word & 0x3f000000) == 0x08000000)
			word &= ~(1u << 20);
		else if ((word & 0xbf800000) == 0x0c800000 || (word & 0xbf800000) == 0x0d800000)
			word |= 31u << 16;
		/* An offset of 12 bits and 16 bytes each would leave the buffer. */
		if ((word & 0x3b000000) == 0x39000000)
			word &= ~(7u << 19);
		draw_state(&s, word);
		compare(word, &s);
	}
}

/* The base is stored, and is index, data and result at once. */
static void test_base_elsewhere(void)
{
	static const uint32_t words[] = {
		0xb9000021, /* str w1, [x1] */
		0xa9000421, /* stp x1, x1, [x1] */
		0xf8210021, /* ldadd x1, x1, [x1] */
		0xf8218021, /* swp x1, x1, [x1] */
		0xc8a17c21, /* cas x1, x1, [x1] */
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		struct state s = {0};

		s.x[1] = (uintptr_t)native + CENTRE;
		compare(words[i], &s);
	}
}

static void test_refused(void)
{
	static const uint32_t words[] = {
		0xd65f03c0, /* ret */
		0x58000000, /* ldr x0, . */
		0xc8027c20, /* stxr w2, x0, [x1]: its monitor is lost in the trap */
		0xd50b7420, /* dc zva, x0 */
		0xe5804000, /* str z0, [x0]: SVE */
		0x48207c82, /* casp x0, x1, x2, x3, [x4] */
		0xf83f9020, /* st64b x0, [x1] */
	};
	ucontext_t uc;
	struct state s = {0};
	uint8_t slot[NVS_SLOT_BYTES];

	make_context(&uc, &s);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		struct nvs_store store;
		struct nvs_step step;
		struct nvs_insn insn;
		uint64_t address;

		EXPECT(nvs_insn_decode(&insn, (const uint8_t *)&words[i], 4) == 4);
		EXPECT(!nvs_store_decode(&store, &insn, &uc.uc_mcontext));
		EXPECT(!nvs_insn_address(&insn, &uc.uc_mcontext, &address));
		EXPECT(nvs_step_prepare(&step, &insn, (const uint8_t *)&words[i], &uc.uc_mcontext,
					0, slot, (uintptr_t)slot) == -1);
	}
	EXPECT(nvs_insn_decode(&(struct nvs_insn){0}, (const uint8_t *)words, 3) == 0);
}

/* A tagged pointer, and a fault in the copy, after which everything is as before. */
static void test_details(void)
{
	static const uint32_t word = 0xb9000020; /* str w0, [x1] */
	uint64_t address;
	struct state s = {.x = {7, (uintptr_t)native | 0x5aull << 56}};
	struct nvs_step step;
	struct nvs_insn insn;
	ucontext_t uc, before;

	make_context(&uc, &s);
	EXPECT(nvs_insn_decode(&insn, (const uint8_t *)&word, 4) == 4);
	EXPECT(nvs_insn_address(&insn, &uc.uc_mcontext, &address) && address == (uintptr_t)native);
	before = uc;
	EXPECT(!nvs_step_prepare(&step, &insn, (const uint8_t *)&word, &uc.uc_mcontext, 16,
				 (uint8_t *)(code + 16), (uintptr_t)(code + 16)));
	EXPECT(step.width == 4 && !step.program_steps);
	EXPECT(!nvs_step_finish(&step, &uc.uc_mcontext));
	EXPECT(!memcmp(&uc.uc_mcontext, &before.uc_mcontext, sizeof(mcontext_t)));
	EXPECT(nvs_step_prepare(&step, &insn, (const uint8_t *)&word, &uc.uc_mcontext, 16, NULL,
				0) == -1);
}

int main(void)
{
	struct sigaction sa = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};

	sigaction(SIGILL, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	sa.sa_sigaction = on_break;
	sa.sa_flags |= SA_SIGINFO;
	sigaction(SIGTRAP, &sa, NULL);
	native = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	alias = native + ROOM;
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	printf("seed %u\n", SEED);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		try_kind(kinds[i].fixed, kinds[i].drawn);
	test_base_elsewhere();
	test_refused();
	test_details();
	printf("%u emulated, %u run as a copy, %u not taken for stores, %u illegal\n", simple,
	       copied, other, illegal);
	EXPECT(simple > 2500 && copied > simple && other > 250);
	return expect_done();
}
