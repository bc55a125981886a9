/* SPDX-License-Identifier: MIT */
/*
 * The numbers that stand in for our two signals, and the tokens that are sent by them.
 */
#include "preload/base/next.h"
#include "preload/base/sys.h"
#include "preload/signals/sigtoken.h"
#include "preload/signals/sigview.h"
#include "trap/low/sys.h"

/* Set once, both or none. */
static _Atomic int stand_ins[2];
static const char token; /* its address is a token's value */

int nvs_sigtoken_stand_in(int slot)
{
	return atomic_load_explicit(&stand_ins[slot], memory_order_relaxed);
}

uint64_t nvs_sigtoken_stand_ins(uint64_t set)
{
	uint64_t word = 0;

	if (!nvs_sighook(NVS_SIGHOOK_FD))
		return 0;
	if (set & NVS_SIGBIT(SIGSEGV))
		word |= NVS_SIGBIT(nvs_sigtoken_stand_in(0));
	if (set & NVS_SIGBIT(SIGTRAP))
		word |= NVS_SIGBIT(nvs_sigtoken_stand_in(1));
	return word;
}

bool nvs_sigtoken_is(uint64_t code, uint64_t value)
{
	return (int)code == SI_QUEUE && value == (uintptr_t)&token;
}

void nvs_sigtoken_stand_ins_made(int first, int second)
{
	atomic_store(&stand_ins[0], first);
	atomic_store(&stand_ins[1], second);
	atomic_fetch_or(&nvs_sighooks, NVS_SIGHOOK_FD);
}

void nvs_sigtoken_drain(int number)
{
	uint64_t bit = NVS_SIGBIT(number);
	struct timespec none = {0, 0};

	while (nvs_sys4(SYS_rt_sigtimedwait, &bit, 0, &none, sizeof(bit)) > 0)
		;
}

void nvs_sigtoken_put(int number, bool process)
{
	siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE};
	int pid = nvs_sys_getpid();

	info.si_value.sival_ptr = (void *)&token;
	if (process)
		nvs_sys4(SYS_rt_sigqueueinfo, pid, number, &info, 0);
	else
		nvs_sys4(SYS_rt_tgsigqueueinfo, pid, nvs_sys_gettid(), number, &info);
}
