/* SPDX-License-Identifier: MIT */
/*
 * sigstorm [N]: threads submit, each on its own channel, and in between block, unblock, await,
 * handle and jump away from SIGSEGV and SIGTRAP, which a child sends continuously. No submission
 * may be lost, and no other signal may arrive. Software GPU only.
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdatomic.h>
#include "sigapp.h"

#define THREADS 4
#define SEED 20251

static int rounds = 3000;
static sigset_t ours, none;
static _Atomic int strange, came;

static void check(int sig, int code)
{
	if ((sig != SIGSEGV && sig != SIGTRAP) ||
	    (code != SI_USER && code != SI_QUEUE && code != SI_TKILL))
		strange++;
	came++;
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	check(sig, info->si_code);
}

/* The jump brings back the mask of before. */
static void block_and_jump(bool block)
{
	sigjmp_buf jump;

	if (sigsetjmp(jump, 1))
		return;
	pthread_sigmask(SIG_SETMASK, block ? &ours : &none, NULL);
	siglongjmp(jump, 1);
}

static void one_step(uint32_t r)
{
	static const struct timespec moment = {0, 20000};
	siginfo_t info;

	switch (r % 8) {
	case 0:
	case 1:
		pthread_sigmask(SIG_SETMASK, r & 8 ? &ours : &none, NULL);
		break;
	case 2:
		ppoll(NULL, 0, &moment, r & 8 ? &ours : &none);
		break;
	case 3:
		if (sigtimedwait(&ours, &info, &moment) > 0)
			check(info.si_signo, info.si_code);
		break;
	case 4:
	case 5:
		block_and_jump(r & 8);
		break;
	case 6:
		raise(r & 8 ? SIGSEGV : SIGTRAP);
		break;
	case 7:
		pthread_sigqueue(pthread_self(), r & 8 ? SIGSEGV : SIGTRAP,
				 (union sigval){.sival_int = 1});
		break;
	}
}

static void *work(void *arg)
{
	struct softgpu_channel *own = arg;
	uint32_t r = SEED + (uint32_t)(uintptr_t)pthread_self() % 1000, n = 0;

	for (int i = 0; i < rounds; i++) {
		r = r * 1664525 + 1013904223;
		one_step(r >> 8);
		n = softgpu_submit_count(own);
	}
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	EXPECT(!softgpu_wait(own, softgpu_payload(own)), "channel died");
	EXPECT(softgpu_counted(own) == n && n == (uint32_t)rounds, "%u counted of %u",
	       softgpu_counted(own), n);
	return NULL;
}

static void send_all(pid_t to)
{
	while (getppid() == to) {
		kill(to, SIGSEGV);
		sigqueue(to, SIGTRAP, (union sigval){.sival_int = 1});
		usleep(200);
	}
}

int main(int argc, char **argv)
{
	struct softgpu_channel *own[THREADS];
	pthread_t t[THREADS];
	pid_t child;

	if (argc > 1)
		rounds = atoi(argv[1]);
	submit_begin();
	ours = set_of(SIGSEGV, SIGTRAP, 0);
	none = set_of(0, 0, 0);
	install(SIGSEGV, on_signal);
	install(SIGTRAP, on_signal);
	for (int i = 0; i < THREADS; i++)
		own[i] = softgpu_channel_create(false, 256, false);
	child = fork();
	if (!child) {
		send_all(getppid());
		_exit(0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, own[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	kill(child, SIGKILL);
	wait(NULL);
	submit_end();
	printf("strange: %d, any: %d\n", strange, came > 0);
	return 0;
}
