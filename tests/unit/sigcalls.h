/* SPDX-License-Identifier: MIT */
/* The signal functions under test, ours or the C library's: after choose(), calls by their usual
 * names go to the chosen ones. */
#ifndef NVSNOOP_TEST_SIGCALLS_H
#define NVSNOOP_TEST_SIGCALLS_H

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

typedef void (*handler_fn)(int);
handler_fn __sysv_signal(int sig, handler_fn handler);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
/* clang-format off */
#define FUNCTIONS(X)                                                            \
	X(sigaction) X(signal) X(__sysv_signal) X(sigset) X(sigignore) X(sighold)    \
	X(sigrelse) X(sigblock) X(sigsetmask) X(sigprocmask) X(pthread_sigmask)      \
	X(sigpending) X(sigwait) X(sigwaitinfo) X(sigtimedwait) X(pthread_create)
/* clang-format on */
#define FIELD(name) __typeof__(&name) name;
static struct {
	FUNCTIONS(FIELD)
} f;

static void choose(bool ours)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);

#define CHOOSE(name)                            \
	if (ours) {                             \
		f.name = name;                  \
	} else {                                \
		void *p = dlsym(libc, #name);   \
		memcpy(&f.name, &p, sizeof(p)); \
	}
	FUNCTIONS(CHOOSE)
}
#pragma GCC diagnostic pop

#define sigaction(...) f.sigaction(__VA_ARGS__)
#define signal(...) f.signal(__VA_ARGS__)
#define __sysv_signal(...) f.__sysv_signal(__VA_ARGS__)
#define sigset(...) f.sigset(__VA_ARGS__)
#define sigignore(...) f.sigignore(__VA_ARGS__)
#define sighold(...) f.sighold(__VA_ARGS__)
#define sigrelse(...) f.sigrelse(__VA_ARGS__)
#define sigblock(...) f.sigblock(__VA_ARGS__)
#define sigsetmask(...) f.sigsetmask(__VA_ARGS__)
#define sigprocmask(...) f.sigprocmask(__VA_ARGS__)
#define pthread_sigmask(...) f.pthread_sigmask(__VA_ARGS__)
#define sigpending(...) f.sigpending(__VA_ARGS__)
#define sigwait(...) f.sigwait(__VA_ARGS__)
#define sigwaitinfo(...) f.sigwaitinfo(__VA_ARGS__)
#define sigtimedwait(...) f.sigtimedwait(__VA_ARGS__)
#define pthread_create(...) f.pthread_create(__VA_ARGS__)

#endif
