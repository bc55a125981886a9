/* SPDX-License-Identifier: MIT */
/* The exported functions that run another program. They may be called in a signal handler and in a
 * vfork() child: no lock, no memory but the stack. */
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <unistd.h>
#include "preload/base/next.h"
#include "preload/hooks/export.h"
#include "preload/live/live.h"
#include "preload/signals/hooked.h"

/* Calls one of the forms; it returns only on failure. */
#define RUN(name, ...)                         \
	({                                     \
		struct nvs_exec_signals h;     \
		if (!nvs_next()->name) {       \
			errno = ENOSYS;        \
			return -1;             \
		}                              \
		nvs_signals_exec_begin(&h);    \
		nvs_live_set_executing(true);  \
		nvs_next()->name(__VA_ARGS__); \
		nvs_live_set_executing(false); \
		nvs_signals_exec_failed(&h);   \
	})

#define EXEC(name, parameters, ...)            \
	EXPORT int name parameters             \
	{                                      \
		return RUN(name, __VA_ARGS__); \
	}

EXEC(execve, (const char *path, char *const argv[], char *const envp[]), path, argv, envp)
EXEC(execv, (const char *path, char *const argv[]), path, argv)
EXEC(execvp, (const char *file, char *const argv[]), file, argv)
EXEC(execvpe, (const char *file, char *const argv[], char *const envp[]), file, argv, envp)
EXEC(fexecve, (int fd, char *const argv[], char *const envp[]), fd, argv, envp)
int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags);
EXEC(execveat, (int dir, const char *path, char *const argv[], char *const envp[], int flags), dir,
     path, argv, envp, flags)

/* Copies a NULL-terminated argument list to an array on the stack. */
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

#define EXECL(name, run)                                        \
	EXPORT int name(const char *file, const char *arg, ...) \
	{                                                       \
		char **argv;                                    \
		va_list ap;                                     \
		va_start(ap, arg);                              \
		argv = ARGV(arg, ap);                           \
		va_end(ap);                                     \
		return run(file, argv);                         \
	}

EXECL(execl, execv)
EXECL(execlp, execvp)

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

/* Passes the child's mask in a copy of the program's attributes. */
#define SPAWN(name)                                                                              \
	EXPORT int name(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, \
			const posix_spawnattr_t *attr, char *const argv[], char *const envp[])   \
	{                                                                                        \
		posix_spawnattr_t copy;                                                          \
		return nvs_next()->name(pid, file, actions, nvs_signals_spawn_mask(&copy, attr), \
					argv, envp);                                             \
	}

SPAWN(posix_spawn)
SPAWN(posix_spawnp)
