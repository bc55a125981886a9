/* SPDX-License-Identifier: MIT */
/*
 * Emulated and redirected stores, compared with the processor: each instruction runs natively on
 * area A, then through trap/arch/store.h on area B. Registers, flags and memory must be the same.
 */
/* LINK: trap */
#include <asm/prctl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "trap/arch/store.h"

#define AREA 4096
#define ARITH_FLAGS 0x8d5 /* CF PF AF ZF SF OF */
#define TRAP_FLAG 0x100

static unsigned passed, failed;
static char what[256]; /* the case at hand */

static bool check(bool good, const char *text)
{
	if (good) {
		passed++;
	} else if (failed++ < 40) {
		printf("FAILED %s: %s\n", what, text);
	}
	return good;
}

static uint64_t seed = 0x6e76732d73746f72;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1d;
}

/* ---- running a register file ---- */

static uint8_t *area_a, *area_b, *code, *slot;

static volatile enum { IDLE, LAUNCH, RUN } phase;
static gregset_t home, in, out;
/* What trap/arch/store.h takes begins with the registers, and only those are used. */
#define CONTEXT(gregs) ((mcontext_t *)(void *)(gregs))
static volatile int out_signal;
static struct nvs_step step;
static bool stepping, step_done;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	greg_t *gregs = ((ucontext_t *)context)->uc_mcontext.gregs;

	if (phase == LAUNCH && sig == SIGTRAP) {
		memcpy(home, gregs, sizeof home);
		memcpy(gregs, in, NVS_STEP_GREGS * sizeof *gregs);
		phase = RUN;
		return;
	}
	if (phase != RUN)
		_exit(3);
	if (stepping)
		step_done = nvs_step_finish(&step, CONTEXT(gregs));
	memcpy(out, gregs, sizeof out);
	memcpy(gregs, home, NVS_STEP_GREGS * sizeof *gregs);
	out_signal = sig;
	phase = IDLE;
}

static void catch_signals(void)
{
	static uint8_t stack[65536];
	stack_t alt = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	static const int signals[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL};
	size_t i;

	sigaltstack(&alt, NULL);
	for (i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaction(signals[i], &action, NULL);
}

static bool have_avx, have_avx512;
static uint8_t vectors[32][64] __attribute__((aligned(64)));

#define LOAD(reg, n) "vmovdqu64 64*" #n "(%0), %%" reg #n "\n"
#define LOAD8(reg, a, b, c, d, e, f, g, h) \
	LOAD(reg, a)                       \
	LOAD(reg, b) LOAD(reg, c) LOAD(reg, d) LOAD(reg, e) LOAD(reg, f) LOAD(reg, g) LOAD(reg, h)
#define SSE(n) "movups 64*" #n "(%0), %%xmm" #n "\n"
#define AVX(n) "vmovdqu 64*" #n "(%0), %%ymm" #n "\n"
#define ALL16(what)                                                                              \
	what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7) what(8) what(9) what(10) \
		what(11) what(12) what(13) what(14) what(15)

/* Runs with registers IN; they come back in OUT. Vector registers hold VECTORS. */
static int run(void)
{
	phase = LAUNCH;
	if (have_avx512)
		asm volatile(LOAD8("zmm", 0, 1, 2, 3, 4, 5, 6, 7) LOAD8("zmm", 8, 9, 10, 11, 12, 13,
									14, 15)
				     LOAD8("zmm", 16, 17, 18, 19, 20, 21, 22, 23)
					     LOAD8("zmm", 24, 25, 26, 27, 28, 29, 30,
						   31) "kmovw (%0), %%k1\nkmovw 7(%0), %%k2\n"
						       "int3\nvzeroupper"
			     :
			     : "r"(vectors)
			     : "memory", "cc");
	else if (have_avx)
		asm volatile(ALL16(AVX) "int3\nvzeroupper" : : "r"(vectors) : "memory", "cc");
	else
		asm volatile(ALL16(SSE) "int3" : : "r"(vectors) : "memory", "cc");
	asm volatile("emms"
		     :
		     :
		     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
		       "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	return out_signal;
}

/* ---- one case ---- */

static const uint8_t greg_of[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
				    REG_RSI, REG_RDI, REG_R8,  REG_R9,	REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15};

static uint8_t bytes[NVS_INSN_MAX];
static struct nvs_insn insn;
static uint64_t target; /* in area A, what the instruction shall write */
static uint8_t pattern[AREA], expected[AREA];
static uint64_t fs_base, gs_base;

static uint64_t segment_base(void)
{
	return insn.segment == 0x64 ? fs_base : insn.segment == 0x65 ? gs_base : 0;
}

static bool is_string(void)
{
	return insn.map == NVS_MAP_ONE && (insn.opcode == 0xa4 || insn.opcode == 0xa5 ||
					   insn.opcode == 0xaa || insn.opcode == 0xab);
}

/* What EVEX multiplies an 8-bit displacement by: all such cases here store whole registers. */
static int64_t displacement(void)
{
	return insn.encoding == NVS_EVEX && insn.disp_bytes == 1
		       ? (int64_t)insn.disp * insn.vector_bytes
		       : insn.disp;
}

static void set_address(void)
{
	uint64_t want = target - segment_base();
	unsigned parts;

	if (is_string() || !insn.memory) {
		in[REG_RDI] = target;
		in[REG_RSI] = (uint64_t)area_a + 0x800;
		in[REG_RCX] = 1 + rnd() % 5;
		if (insn.opcode == 0xa2 || insn.opcode == 0xa3)
			memcpy(bytes + insn.imm_at, &want, insn.imm_bytes);
	} else if (insn.base == NVS_RIP) {
		insn.disp = want - ((uint64_t)code + insn.length);
		memcpy(bytes + insn.disp_at, &insn.disp, 4);
	} else if (insn.base == NVS_REG_NONE && insn.index == NVS_REG_NONE) {
		insn.disp = want;
		memcpy(bytes + insn.disp_at, &insn.disp, 4);
	} else if (insn.base == NVS_REG_NONE) {
		insn.disp = (want & 0xff) + 256;
		memcpy(bytes + insn.disp_at, &insn.disp, 4);
		in[greg_of[insn.index]] = (want - insn.disp) >> insn.scale;
	} else if (insn.base == insn.index) {
		parts = 1 + (1u << insn.scale);
		while ((want - displacement()) % parts)
			want++;
		target = want + segment_base();
		in[greg_of[insn.base]] = (want - displacement()) / parts;
	} else {
		if (insn.index != NVS_REG_NONE && insn.base == NVS_RSP)
			in[greg_of[insn.index]] = (uint64_t)in[greg_of[insn.index]] >> 21;
		if (insn.index != NVS_REG_NONE)
			want -= (uint64_t)in[greg_of[insn.index]] << insn.scale;
		in[greg_of[insn.base]] = want - displacement();
		if (insn.base == NVS_RSP && insn.opcode == 0x8f && insn.map == NVS_MAP_ONE)
			in[REG_RSP] -= insn.operand_bytes;
	}
	/* 32-bit addresses: what stands above them counts for nothing. */
	if ((insn.prefixes & NVS_PREFIX_ADDR32) && insn.memory) {
		if (insn.base < 16 && insn.base != insn.index)
			in[greg_of[insn.base]] ^= (rnd() & 0x7fff) << 32;
		else if (insn.index < 16 && insn.base == NVS_REG_NONE && !insn.scale)
			in[greg_of[insn.index]] ^= (rnd() & 0x7fff) << 32;
	}
}

/* pop needs a stack even where the operand is not on it. */
static void set_stack(void)
{
	if (insn.map == NVS_MAP_ONE && insn.opcode == 0x8f && insn.base != NVS_RSP)
		in[REG_RSP] = (uint64_t)area_a + 0xc00;
}

static void set_registers(unsigned align)
{
	size_t i;

	for (i = 0; i < NVS_STEP_GREGS; i++)
		in[i] = rnd();
	/* Some hypervisors cannot resume a program whose stack pointer is not canonical: it is
	 * canonical in all cases, and none loads it. */
	in[REG_RSP] = (uint64_t)in[REG_RSP] >> 17;
	in[REG_RIP] = (uint64_t)code;
	in[REG_EFL] = 0x202 | (rnd() & ARITH_FLAGS) | (rnd() & 0x400);
	target = (uint64_t)area_a + 0x400 + (rnd() % 0x200 & ~(uint64_t)(align - 1));
	set_address();
	set_stack();
	memcpy(code, bytes, insn.length);
	code[insn.length] = 0xcc;
}

static void fill(uint8_t *area)
{
	memcpy(area, pattern, AREA);
}

/* The processor's own way. False: it does not run. */
static bool run_native(gregset_t result)
{
	stepping = false;
	fill(area_a);
	if (run() != SIGTRAP || (uint64_t)out[REG_RIP] != (uint64_t)code + insn.length + 1)
		return false;
	out[REG_RIP]--;
	memcpy(result, out, sizeof out);
	memcpy(expected, area_a, AREA);
	fill(area_a);
	return true;
}

static bool same_registers(const gregset_t a, const gregset_t b)
{
	int i;

	for (i = 0; i < REG_EFL; i++)
		if (a[i] != b[i])
			return false;
	return ((a[REG_EFL] ^ b[REG_EFL]) & (ARITH_FLAGS | TRAP_FLAG | 0x400)) == 0;
}

/* Single-steps until RIP has left the instruction: once, but for rep. */
static bool run_redirected(gregset_t result, bool with_slot)
{
	int64_t delta = area_b - area_a;
	int rounds = 0;

	memcpy(result, in, sizeof in);
	do {
		memcpy(in, result, sizeof in);
		if (nvs_step_prepare(&step, &insn, bytes, CONTEXT(in), delta,
				     with_slot ? slot : NULL, (uintptr_t)slot))
			return false;
		stepping = true;
		if (run() != SIGTRAP || !step_done)
			return false;
		memcpy(result, out, sizeof out);
	} while ((uint64_t)result[REG_RIP] == (uint64_t)code && rounds++ < 10);
	return true;
}

static void check_extent(bool exact)
{
	uint64_t from = target - (uint64_t)area_a, width = nvs_insn_store_bytes(&insn), i;
	bool beyond = false;

	check(width || !exact, "width unknown");
	if (!width || is_string())
		return;
	for (i = 0; i < AREA; i++)
		if (expected[i] != pattern[i] && (i < from || i >= from + width))
			beyond = true;
	check(!beyond, "writes beyond its width");
	if (exact)
		check(expected[from + width - 1] != pattern[from + width - 1] &&
			      expected[from] != pattern[from],
		      "writes less than its width");
}

/* Random memory whose bytes at the target differ from what will come, where that is a plain store.
 *  */
static void make_pattern(void)
{
	size_t i;

	for (i = 0; i < AREA; i += 8)
		*(uint64_t *)(pattern + i) = rnd();
}

#define IN_PLACE 1 /* must do without a slot */
#define EXACT 2 /* writes all bytes of its width, whatever they held before */
#define EMULATED 4

static void check_step(const gregset_t native, const gregset_t start, bool with_slot)
{
	gregset_t result;
	uint64_t address;

	memcpy(in, start, sizeof in);
	fill(area_b);
	if (!check(run_redirected(result, with_slot), "cannot be stepped"))
		return;
	check(same_registers(native, result), "registers differ behind a step");
	check(!memcmp(area_b, expected, AREA), "memory differs behind a step");
	check(!memcmp(area_a, pattern, AREA), "step wrote to the original");
	if (nvs_insn_address(&insn, CONTEXT(start), &address))
		check(address == target, "address");
	if (!is_string())
		check(!step.address_known || step.address == target, "address in the step");
	nvs_step_rewind(&step, CONTEXT(result));
	if (!is_string())
		check(same_registers(start, result) && result[REG_EFL] == start[REG_EFL], "rewind");
}

static void check_emulation(const gregset_t native, const gregset_t start)
{
	struct nvs_store store;
	gregset_t result;

	memcpy(result, start, sizeof result);
	if (!check(nvs_store_decode(&store, &insn, CONTEXT(start)), "is not emulated"))
		return;
	check(store.address == target, "address of the store");
	check(store.width == nvs_insn_store_bytes(&insn), "two widths");
	fill(area_b);
	nvs_store_emulate(&store, target + (area_b - area_a), CONTEXT(result));
	check(same_registers(native, result), "registers differ behind emulation");
	check(!memcmp(area_b, expected, AREA), "memory differs behind emulation");
}

static void run_case(int flags, unsigned align)
{
	gregset_t native, start;
	struct nvs_store store;
	uint64_t i;

	make_pattern();
	set_registers(align);
	/* So that compare and exchange finds what it looks for half of the time. */
	if (rnd() % 2)
		memcpy(pattern + (target - (uint64_t)area_a), &in[REG_RAX], 8);
	memcpy(start, in, sizeof in);
	if (!check(nvs_insn_decode(&insn, bytes, sizeof bytes), "not decoded") ||
	    !check(run_native(native), "does not run natively"))
		return;
	if (flags & EXACT) {
		/* Once more on memory of which every byte is wrong. */
		for (i = 0; i < AREA; i++)
			pattern[i] = ~expected[i];
		memcpy(in, start, sizeof in);
		run_native(native);
	}
	check_extent(flags & EXACT);
	check_step(native, start, true);
	if (flags & IN_PLACE)
		check_step(native, start, false);
	if (flags & EMULATED)
		check_emulation(native, start);
	else
		check(!nvs_store_decode(&store, &insn, CONTEXT(start)), "emulated by mistake");
}

/* ---- all simple stores ---- */

static void put_prefixes(uint8_t *at, size_t *n, unsigned prefixes, unsigned rex)
{
	if (prefixes & 1)
		at[(*n)++] = 0x66;
	if (prefixes & 2)
		at[(*n)++] = 0x67;
	if (rex)
		at[(*n)++] = 0x40 | (rex & 15);
}

static void simple_case(uint8_t op, unsigned prefixes, unsigned rex, uint8_t modrm, uint8_t sib)
{
	size_t n = 0, i;

	for (i = 0; i < sizeof bytes; i++)
		bytes[i] = rnd();
	put_prefixes(bytes, &n, prefixes, rex);
	if (op == 0xc3)
		bytes[n++] = 0x0f;
	bytes[n++] = op;
	if (op == 0xc6 || op == 0xc7)
		modrm &= 0xc7;
	if ((op == 0x86 || op == 0x87) && (modrm >> 3 & 7) == NVS_RSP)
		modrm |= 8;
	if (op != 0xa2 && op != 0xa3)
		bytes[n++] = modrm;
	if ((modrm & 7) == 4 && op != 0xa2 && op != 0xa3)
		bytes[n++] = sib;
	n = snprintf(what, sizeof what, "simple");
	for (i = 0; i < sizeof bytes; i++)
		n += snprintf(what + n, sizeof what - n, " %02x", bytes[i]);
	if (!check(nvs_insn_decode(&insn, bytes, sizeof bytes), "not decoded"))
		return;
	run_case(EMULATED, 1);
}

static void simple_op(uint8_t op)
{
	unsigned prefixes, rex, modrm;
	bool moffs = op == 0xa2 || op == 0xa3;

	for (prefixes = 0; prefixes < 4; prefixes++)
		for (rex = 0x0f; rex < 0x20; rex++)
			for (modrm = 0; modrm < (moffs ? 1 : 0xc0); modrm++) {
				if (op == 0xc3 && (prefixes & 1))
					continue;
				simple_case(op, prefixes, rex == 0x0f ? 0 : rex, modrm, rnd());
				if ((modrm & 7) == 4)
					simple_case(op, prefixes, rex == 0x0f ? 0 : rex, modrm,
						    rnd());
			}
}

static void test_simple(void)
{
	static const uint8_t ops[] = {0x88, 0x89, 0xc6, 0xc7, 0xa2, 0xa3, 0xc3, 0x86, 0x87};
	size_t i;

	for (i = 0; i < sizeof ops; i++)
		simple_op(ops[i]);
}

/* ---- instructions from the assembler ---- */

#include "store_cases.h"

static bool supported(const char *feature)
{
	if (!strcmp(feature, "avx"))
		return have_avx;
	if (!strcmp(feature, "avx512"))
		return have_avx512;
	if (!strcmp(feature, "movbe")) {
		unsigned a = 1, b, c = 0, d;

		asm("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
		return c >> 22 & 1;
	}
	return true;
}

static void load_case(const struct store_case *c)
{
	memcpy(bytes, c->bytes, c->length);
	memset(bytes + c->length, 0x90, sizeof bytes - c->length);
	snprintf(what, sizeof what, "%s", c->text);
	check(nvs_insn_decode(&insn, bytes, c->length) == c->length, "length");
}

static void test_cases(void)
{
	size_t i;
	int round, skipped = 0;

	for (i = 0; i < NSTEP_CASES; i++) {
		if (!supported(step_cases[i].feature)) {
			skipped++;
			continue;
		}
		for (round = 0; round < 8; round++) {
			load_case(&step_cases[i]);
			run_case(step_cases[i].flags, 64);
		}
	}
	printf("%zu instructions from the assembler, %d of them not on this processor\n", i,
	       skipped);
}

static void test_refused(void)
{
	size_t i;

	for (i = 0; i < NREFUSED_CASES; i++) {
		gregset_t before;

		load_case(&refused_cases[i]);
		set_registers(64);
		memcpy(before, in, sizeof in);
		check(nvs_step_prepare(&step, &insn, bytes, CONTEXT(in), 4096, slot,
				       (uintptr_t)slot) == -1,
		      "not refused");
		check(!memcmp(before, in, sizeof in), "registers changed by a refusal");
	}
}

/* What needs a slot says so when there is none. */
static void test_no_slot(void)
{
	static const uint8_t add_eax_rax[] = {0x01, 0x00};

	memcpy(bytes, add_eax_rax, 2);
	snprintf(what, sizeof what, "add without a slot");
	check(nvs_insn_decode(&insn, bytes, 2) == 2, "length");
	set_registers(64);
	check(nvs_step_prepare(&step, &insn, bytes, CONTEXT(in), 4096, NULL, 0) == -1,
	      "done without a slot");
}

/* A step whose instruction faults leaves everything as it was. */
static void test_fault(bool copied)
{
	static const uint8_t moved[] = {0x0f, 0x11, 0x00}; /* movups %xmm0, (%rax) */
	static const uint8_t copy[] = {0x01, 0x00, 0x90}; /* add %eax, (%rax) */
	gregset_t start;
	int signal;

	snprintf(what, sizeof what, "fault in a step");
	memcpy(bytes, copied ? copy : moved, 3);
	check(nvs_insn_decode(&insn, bytes, 3) == (copied ? 2 : 3), "length");
	set_registers(64);
	memcpy(start, in, sizeof in);
	mprotect(area_b, AREA, PROT_READ);
	check(!nvs_step_prepare(&step, &insn, bytes, CONTEXT(in), area_b - area_a, slot,
				(uintptr_t)slot),
	      "prepare");
	stepping = true;
	signal = run();
	mprotect(area_b, AREA, PROT_READ | PROT_WRITE);
	check(signal == SIGSEGV && !step_done, "no fault");
	check(same_registers(start, out), "registers differ behind a fault");
}

/* A program that single-steps itself goes on doing so. */
static void test_own_trap_flag(void)
{
	static const uint8_t movups[] = {0x0f, 0x11, 0x00};

	snprintf(what, sizeof what, "own trap flag");
	memcpy(bytes, movups, 3);
	check(nvs_insn_decode(&insn, bytes, 3) == 3, "length");
	set_registers(64);
	in[REG_EFL] |= TRAP_FLAG;
	check(!nvs_step_prepare(&step, &insn, bytes, CONTEXT(in), area_b - area_a, slot,
				(uintptr_t)slot),
	      "prepare");
	stepping = true;
	check(run() == SIGTRAP && step_done && step.program_steps, "step");
	check(out[REG_EFL] & TRAP_FLAG, "trap flag lost");
}

static uint8_t *map(uintptr_t where, size_t size, int prot)
{
	void *p = mmap((void *)where, size, prot,
		       MAP_PRIVATE | MAP_ANONYMOUS | (where ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	if (p == MAP_FAILED || (where && p != (void *)where)) {
		printf("cannot map %#lx\n", (unsigned long)where);
		exit(1);
	}
	return p;
}

static void set_up(void)
{
	size_t i;

	/* Low, so that 32-bit absolute addresses reach it; the code within 2 GiB of it. */
	area_a = map(0x31230000, AREA, PROT_READ | PROT_WRITE);
	code = map(0x31560000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	area_b = map(0, AREA, PROT_READ | PROT_WRITE);
	slot = map(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	have_avx = __builtin_cpu_supports("avx2");
	have_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
		      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
	for (i = 0; i < 32 * 8; i++)
		((uint64_t *)vectors)[i] = rnd();
	gs_base = 0x1234000;
	syscall(SYS_arch_prctl, ARCH_SET_GS, gs_base);
	syscall(SYS_arch_prctl, ARCH_GET_FS, &fs_base);
	catch_signals();
}

int main(void)
{
	printf("seed %#" PRIx64 "\n", seed);
	set_up();
	test_cases();
	test_refused();
	test_no_slot();
	test_fault(false);
	test_fault(true);
	test_own_trap_flag();
	test_simple();
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}
