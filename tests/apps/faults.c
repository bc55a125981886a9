/* SPDX-License-Identifier: MIT */
/*
 * faults: a program that uses signals while it submits. It recovers from null pointers and guard
 * pages by a jump out of its handler, waits for SIGSEGV and SIGTRAP, hits its own breakpoints,
 * single-steps through submissions, and installs a handler with a direct system call. Its output
 * is the same without a tool. Software GPU only.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "app.h"
#include "insns.h"
#include "tests/softgpu/softgpu.h"

static struct softgpu_channel *channel;
static uint32_t count;

static void submit(int n)
{
	while (n--)
		count = softgpu_submit_count(channel);
}

static void install(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};

	EXPECT(!sigaction(sig, &a, NULL), "sigaction");
}

/* ---- recovering ---- */

static sigjmp_buf jump;
static volatile int caught;
static volatile int *volatile nowhere;

static void recover(int sig, siginfo_t *info, void *context)
{
	caught++;
	siglongjmp(jump, 1);
}

static void null_checks(void)
{
	install(SIGSEGV, recover, 0);
	for (volatile int i = 0; i < 200; i++) {
		if (!sigsetjmp(jump, 1))
			*nowhere = 1;
		submit(5);
	}
	printf("null checks: %d caught\n", caught);
}

static char *guarded;

static void open_page(int sig, siginfo_t *info, void *context)
{
	caught++;
	/* Submits from within the handler, on the alternate stack. */
	submit(1);
	mprotect((void *)((uintptr_t)info->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
}

static void guard_pages(void)
{
	stack_t stack = {.ss_size = 65536}, now;
	int sum = 0;

	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
	guarded = mmap(NULL, 64 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	caught = 0;
	install(SIGSEGV, open_page, SA_ONSTACK);
	for (int i = 0; i < 64; i++) {
		guarded[i * 4096] = 1;
		submit(3);
	}
	for (int i = 0; i < 64; i++)
		sum += guarded[i * 4096];
	sigaltstack(NULL, &now);
	printf("guard pages: %d caught, sum %d, stack %s\n", caught, sum,
	       now.ss_sp == stack.ss_sp && !now.ss_flags ? "as it was" : "another");
}

/* ---- waiting ---- */

static void waits(void)
{
	sigset_t set, old;
	siginfo_t info;
	int sig = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigaddset(&set, SIGTRAP);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	submit(3);
	raise(SIGSEGV);
	submit(3);
	EXPECT(!sigwait(&set, &sig), "sigwait");
	printf("sigwait: %d\n", sig);
	sigqueue(getpid(), SIGTRAP, (union sigval){.sival_int = 77});
	sig = sigwaitinfo(&set, &info);
	printf("sigwaitinfo: %d, value %d, code %d\n", sig, info.si_value.sival_int, info.si_code);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- breakpoints and steps ---- */

static volatile int breaks, steps;

static void on_break(int sig, siginfo_t *info, void *context)
{
	breaks++;
	insn_after_break(context);
}

static void breakpoints(void)
{
	install(SIGTRAP, on_break, 0);
	for (int i = 0; i < 50; i++) {
		insn_break();
		submit(2);
	}
	printf("breakpoints: %d\n", breaks);
}

static void on_step(int sig, siginfo_t *info, void *context)
{

	steps++;
}

/* Often enough that the store is patched on the way. */
static void stepping(void)
{
	int first = 0, same = 1;

	install(SIGTRAP, on_step, 0);
	softgpu_set_store(insn_ring_stepwise);
	for (int i = 0; i < 40; i++) {
		steps = 0;
		submit(1);
		if (!i)
			first = steps;
		same &= steps == first;
		if (i == 10)
			usleep(250000);
	}
	softgpu_set_store(NULL);
	printf("steps: %d, %s\n", first, same ? "every time" : "not every time");
}

/* ---- behind the C library's back ---- */

struct kernel_action {
	void *handler;
	unsigned long flags;
	void *restorer;
	unsigned long mask;
};

static void raw_handler(void)
{
	struct kernel_action a, old;
	struct softgpu_channel *more;

	/* The restorer that stands there, with another handler: as a runtime does that makes its
	 * own calls. */
	EXPECT(!syscall(SYS_rt_sigaction, SIGSEGV, NULL, &old, 8), "rt_sigaction");
	a = old;
	a.handler = recover;
	a.flags = (a.flags & 0x04000000) | SA_SIGINFO;
	a.mask = 0;
	EXPECT(!syscall(SYS_rt_sigaction, SIGSEGV, &a, NULL, 8), "rt_sigaction");
	/* A device call: here it is found. */
	more = softgpu_channel_create(false, 64, false);
	submit(10);
	caught = 0;
	if (!sigsetjmp(jump, 1))
		*nowhere = 1;
	submit(10);
	softgpu_channel_destroy(more);
	printf("raw handler: %d caught\n", caught);
}

/* ---- the end ---- */

static void once(int sig, siginfo_t *info, void *context)
{
	static const char text[] = "handler of the last fault\n";

	EXPECT(write(1, text, sizeof(text) - 1) > 0, "write");
}

static void die(void)
{
	fflush(stdout);
	install(SIGSEGV, once, (int)SA_RESETHAND);
	*nowhere = 1;
}

int main(int argc, char **argv)
{
	app_context(0);
	channel = softgpu_channel_create(false, 1024, false);
	submit(10);
	null_checks();
	guard_pages();
	waits();
	breakpoints();
	stepping();
	raw_handler();
	EXPECT(!softgpu_wait(channel, softgpu_payload(channel)), "channel died");
	printf("submissions: %u, counted %u\n", count, softgpu_counted(channel));
	if (argc > 1 && !strcmp(argv[1], "die"))
		die();
	return 0;
}
