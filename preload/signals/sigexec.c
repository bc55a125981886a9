/* SPDX-License-Identifier: MIT */
/*
 * What a program hands on to the one it runs: that it blocks or ignores one of our two signals, and
 * what is pending of them. In the kernel it does so for the moment of the call; where that fails,
 * all is as before.
 *
 * May run in a handler and in a vfork() child: system calls and the thread's own storage, no lock,
 * no memory but the stack's.
 */
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include "preload/base/preload.h"
#include "preload/signals/sigactions.h"
#include "preload/signals/sigfd.h"
#include "preload/signals/sigkeep.h"
#include "preload/base/signext.h"
#include "preload/signals/sigview.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"

#define EXPORT __attribute__((visibility("default")))

struct handover {
	bool masked;
	uint64_t before; /* the kernel's mask */
	uint64_t ignored; /* of ours: by the kernel too */
	uint64_t pending, process; /* of ours: with the kernel; and those for the process */
};

/* Blocked already, in the kernel as well. */
static void hand_pending(struct handover *h)
{
	uint64_t left = nvs_sigview_blocked();
	siginfo_t info;
	bool process;

	while (left && nvs_sigkeep_take(left, &info, &process)) {
		left &= ~NVS_SIGBIT(info.si_signo);
		nvs_sys_queue_self(info.si_signo, &info);
		h->pending |= NVS_SIGBIT(info.si_signo);
		h->process |= process ? NVS_SIGBIT(info.si_signo) : 0;
	}
	nvs_sigfd_sync();
}

static void hand_over(struct handover *h)
{
	uint64_t shown;

	*h = (struct handover){0};
	if (nvs_options()->disabled || !nvs_sigactions_installed())
		return;
	if (nvs_state_borrowed()) {
		if (nvs_sigview_differs())
			nvs_sigview_settle_child();
	} else if (nvs_sigview_differs() && !nvs_sys_sigmask(SIG_BLOCK, NULL, &h->before)) {
		shown = nvs_sigview_shown(h->before);
		/* What stands in for a pending one is taken back before it is open. */
		h->masked = !nvs_sys_sigmask(SIG_BLOCK, &shown, NULL);
		hand_pending(h);
		nvs_sys_sigmask(SIG_SETMASK, &shown, NULL);
	}
	h->ignored = nvs_sigactions_hand_over();
}

static int take_back(const struct handover *h)
{
	struct timespec none = {0, 0};
	int err = errno;
	siginfo_t info;

	nvs_sigactions_take_back(h->ignored);
	for (int i = 0; i < 2; i++) {
		uint64_t bit = NVS_SIGBIT(i ? SIGSEGV : SIGTRAP);

		if (h->pending & bit &&
		    nvs_sys4(SYS_rt_sigtimedwait, &bit, &info, &none, sizeof(bit)) > 0)
			nvs_sigkeep_add(info.si_signo, &info, h->process & bit);
	}
	if (h->masked)
		nvs_sys_sigmask(SIG_SETMASK, &h->before, NULL);
	errno = err;
	return -1;
}

/* One of the forms; comes back where it failed. */
#define RUN(name, ...)                           \
	({                                       \
		struct handover h;               \
		if (!nvs_signext_find()->name) { \
			errno = ENOSYS;          \
			return -1;               \
		}                                \
		hand_over(&h);                   \
		nvs_signext.name(__VA_ARGS__);   \
		take_back(&h);                   \
	})

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	return RUN(execve, path, argv, envp);
}

EXPORT int execv(const char *path, char *const argv[])
{
	return RUN(execv, path, argv);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return RUN(execvp, file, argv);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return RUN(execvpe, file, argv, envp);
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	return RUN(fexecve, fd, argv, envp);
}

int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags);
EXPORT int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	return RUN(execveat, dir, path, argv, envp, flags);
}

/* The arguments of a list, the last of them NULL, as an array on the stack. */
#define ARGV(first, ap)                                              \
	({                                                           \
		va_list count_;                                      \
		size_t n_ = 1;                                       \
		char **argv_;                                        \
		va_copy(count_, ap);                                 \
		while (n_ && va_arg(count_, char *))                 \
			n_++;                                        \
		va_end(count_);                                      \
		argv_ = __builtin_alloca((n_ + 1) * sizeof(*argv_)); \
		argv_[0] = (char *)(uintptr_t)(first);               \
		for (size_t i_ = 1; i_ <= n_; i_++)                  \
			argv_[i_] = va_arg(ap, char *);              \
		argv_;                                               \
	})

EXPORT int execl(const char *path, const char *arg, ...)
{
	char **argv;
	va_list ap;

	va_start(ap, arg);
	argv = ARGV(arg, ap);
	va_end(ap);
	return execv(path, argv);
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	char **argv;
	va_list ap;

	va_start(ap, arg);
	argv = ARGV(arg, ap);
	va_end(ap);
	return execvp(file, argv);
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	char **argv, **envp;
	va_list ap;

	va_start(ap, arg);
	argv = ARGV(arg, ap);
	envp = va_arg(ap, char **);
	va_end(ap);
	return execve(path, argv, envp);
}

/*
 * ---- posix_spawn: its child takes the mask from us as a copy of the program's own attributes ----
 */

static const posix_spawnattr_t *with_mask(posix_spawnattr_t *copy, const posix_spawnattr_t *attr)
{
	uint64_t kernel = 0;
	short flags = 0;
	sigset_t mask;

	if (nvs_options()->disabled || !nvs_sigview_differs())
		return attr;
	if (attr)
		*copy = *attr;
	else
		posix_spawnattr_init(copy);
	posix_spawnattr_getflags(copy, &flags);
	if (flags & POSIX_SPAWN_SETSIGMASK)
		return attr;
	nvs_sys_sigmask(SIG_BLOCK, NULL, &kernel);
	kernel = nvs_sigview_shown(kernel);
	sigemptyset(&mask);
	memcpy(&mask, &kernel, sizeof(kernel));
	posix_spawnattr_setsigmask(copy, &mask);
	posix_spawnattr_setflags(copy, (short)(flags | POSIX_SPAWN_SETSIGMASK));
	return copy;
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	posix_spawnattr_t copy;

	return nvs_signext_find()->posix_spawn(pid, path, actions, with_mask(&copy, attr), argv,
					       envp);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	posix_spawnattr_t copy;

	return nvs_signext_find()->posix_spawnp(pid, file, actions, with_mask(&copy, attr), argv,
						envp);
}
