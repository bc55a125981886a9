/* SPDX-License-Identifier: MIT */
/* Shared by the programs about signals: submissions before, between and after, and how a signal is
 * printed. */
#ifndef APPS_SIGAPP_H
#define APPS_SIGAPP_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "app.h"
#include "tests/softgpu/softgpu.h"

static struct softgpu_channel *channel;
static uint32_t count;
static bool in_child;

static void submit(int n)
{
	while (n-- && !in_child)
		count = softgpu_submit_count(channel);
}

static void submit_begin(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	app_context(0);
	channel = softgpu_channel_create(false, 1024, false);
	submit(5);
}

static void submit_end(void)
{
	submit(5);
	EXPECT(!softgpu_wait(channel, softgpu_payload(channel)), "channel died");
	printf("submissions: %u, counted %u\n", count, softgpu_counted(channel));
}

static inline sigset_t set_of(int a, int b, int c)
{
	sigset_t set;

	sigemptyset(&set);
	if (a)
		sigaddset(&set, a);
	if (b)
		sigaddset(&set, b);
	if (c)
		sigaddset(&set, c);
	return set;
}

static inline void show_set(const char *what, const sigset_t *set)
{
	unsigned long long word;

	memcpy(&word, set, sizeof(word));
	printf("%s: %llx\n", what, word);
}

static inline void show_mask(const char *what)
{
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	show_set(what, &set);
}

static inline void show_pending(const char *what)
{
	sigset_t set;

	sigpending(&set);
	show_set(what, &set);
}

static inline void show_info(const char *what, const siginfo_t *info)
{
	printf("%s: signal %d, code %d, %s, value %d\n", what, info->si_signo, info->si_code,
	       info->si_pid == getpid() ? "from itself" : "from another",
	       info->si_code < 0 ? info->si_value.sival_int : 0);
}

static volatile int handled;

static inline void note(int sig, siginfo_t *info, void *context)
{
	handled++;
	submit(1);
}

static inline void install(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	EXPECT(!sigaction(sig, &a, NULL), "sigaction");
}

/* A child that does what FN does and then ends. */
static inline void by_child(void (*fn)(pid_t parent))
{
	pid_t parent = getpid(), pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		fn(parent);
		_exit(0);
	}
	EXPECT(pid > 0, "fork");
}

#endif
