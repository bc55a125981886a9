/* SPDX-License-Identifier: MIT */
/* LINK: trap */
/* An unwinder that follows a wrong address: the fault ends it, and the frames before it remain.
 * Other faults stay the program's. */
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>
#include "tests/unit/fakering.h"
#include "trap/arch/context.h"
#include "trap/buffer/process.h"

#define PC 0x1000u
#define CALLER 0x2000u

static volatile uintptr_t wild;
static volatile uint64_t source = 1;
static sigjmp_buf program;
static int foreign, frames;

static void on_segv(int sig, siginfo_t *info, void *context)
{
	if (nvs_trap_segv(info, context))
		return;
	foreign++;
	siglongjmp(program, 1);
}

static __attribute__((noinline)) uint64_t next(void)
{
	return source = source * 6364136223846793005ull + 1442695040888963407ull;
}

/* Has more values in hand than there are registers that a called function preserves. */
static int read_wildly(void **pcs, int max)
{
	uint64_t a = next(), b = next(), c = next(), d = next(), e = next(), f = next(), g = next(),
		 h = next(), i = next(), j = next(), k = next(), l = next();

	for (int at = 0; at < frames; at++)
		pcs[at] = (void *)(uintptr_t)(at == 1 ? PC : at == 2 ? CALLER : 0x100u + at);
	a += *(volatile uint32_t *)wild + next();
	return (int)((a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j ^ k ^ l) & 1);
}

static int jump_away(void **pcs, int max)
{
	siglongjmp(program, 2);
}

static uint32_t take(void)
{
	uint32_t id;

	nvs_tls.depth++;
	id = nvs_callsite_take(nvs_buffer_own(), PC, (uintptr_t)__builtin_frame_address(0) & ~15ul,
			       0, 0, 0);
	nvs_tls.depth--;
	return id;
}

static void test_fault(uintptr_t at)
{
	uint64_t a = next(), b = next(), c = next(), d = next(), e = next(), f = next(), g = next(),
		 h = next(), i = next(), j = next(), k = next(), l = next(), m = source;
	uint64_t sum = a ^ (b * 3) ^ (c * 5) ^ (d * 7) ^ (e * 9) ^ (f * 11) ^ (g * 13) ^ (h * 15) ^
		       (i * 17) ^ (j * 19) ^ (k * 21) ^ (l * 23) ^ m;
	uint32_t ids[2];

	wild = at;
	frames = 3;
	ids[0] = take();
	CHECK(nvs_tls.nframes == 1 && nvs_tls.frames[0] == CALLER);
	frames = 2; /* nothing is left of the frames before */
	ids[1] = take();
	CHECK(nvs_tls.nframes == 0);
	CHECK(ids[0] != NVS_NONE && ids[1] != NVS_NONE && ids[0] != ids[1]);
	CHECK(!foreign && !nvs_tls.unwinding);
	CHECK(sum == (a ^ (b * 3) ^ (c * 5) ^ (d * 7) ^ (e * 9) ^ (f * 11) ^ (g * 13) ^ (h * 15) ^
		      (i * 17) ^ (j * 19) ^ (k * 21) ^ (l * 23) ^ m));
}

/* The unwinder has ended, or was left by a jump: a fault is the program's. */
static void test_foreign(void)
{
	volatile int went = 0;

	if (!sigsetjmp(program, 1))
		went = *(volatile int *)wild;
	CHECK(foreign == 1);
	nvs_callsite_set(jump_away, true);
	if (!sigsetjmp(program, 1))
		take();
	CHECK(nvs_tls.depth == 1 && foreign == 1);
	if (!sigsetjmp(program, 1))
		went = *(volatile int *)wild;
	CHECK(foreign == 2 && !went);
	nvs_tls.depth = 0;
}

int main(void)
{
	struct nvs_trap_options options = {.backtrace = true};
	struct sigaction segv = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_NODEFER};

	if (nvs_trap_init(&options))
		return 1;
	fake_rings(2, 1 << 16);
	sigaction(SIGSEGV, &segv, NULL);
	nvs_callsite_set(read_wildly, true);
	test_fault(8);
	/* As a signed return address is: bits above those of an address are set. */
	test_fault(0x27fdb94470650);
	test_foreign();
	return test_result();
}
