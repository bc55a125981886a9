/* SPDX-License-Identifier: MIT */
/* Writes to the program's standard error, which may be closed, redirected, full or without a
 * reader. */
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include "preload/base/preload.h"
#include "preload/base/stderr.h"
#include "preload/base/sys.h"

#define STDERR 2

static bool is_as_loaded(struct stat *st)
{
	const struct nvs_options *o = nvs_options();

	return !nvs_sys_fstat(STDERR, st) && st->st_ino == o->stderr_ino &&
	       st->st_dev == o->stderr_dev;
}

/* A sandbox may not allow poll(). */
static bool is_ready(void)
{
	struct pollfd fd = {.fd = STDERR, .events = POLLOUT};
	struct timespec now = {0};

	return nvs_session_is_confined() ||
	       (nvs_syscall(SYS_ppoll, (long)&fd, 1, (long)&now, 0, 0, 0) == 1 &&
		fd.revents & POLLOUT);
}

/* A pipe that is ready takes PIPE_BUF bytes without blocking. */
static long write_some(const struct stat *st, const char *text, size_t size)
{
	if (S_ISREG(st->st_mode))
		return nvs_sys_write(STDERR, text, size);
	if (S_ISSOCK(st->st_mode))
		return nvs_syscall(SYS_sendto, STDERR, (long)text, (long)size,
				   MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
	if (!is_ready())
		return -EAGAIN;
	return nvs_sys_write(STDERR, text, size < PIPE_BUF ? size : PIPE_BUF);
}

/* Consumes SIGNAL, which a write has sent to this thread. If the program blocks it, it stays
 * pending: it may be the program's own. */
static void consume_signal(int signal, uint64_t blocked)
{
	uint64_t set = 1ull << (signal - 1);
	struct timespec now = {0, 0};

	if (!(blocked & set))
		nvs_syscall(SYS_rt_sigtimedwait, (long)&set, 0, (long)&now, sizeof(set), 0, 0);
}

void nvs_stderr_write(const char *text, size_t size)
{
	uint64_t saved;
	struct stat st;
	long n = 1;

	if (!is_as_loaded(&st))
		return;
	/* This includes SIGTTOU: a background job is not stopped because of our line. */
	saved = nvs_sys_block_async();
	while (size && n > 0) {
		n = write_some(&st, text, size);
		text += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	if (n == -EPIPE)
		consume_signal(SIGPIPE, saved);
	if (n == -EFBIG)
		consume_signal(SIGXFSZ, saved);
	nvs_sys_sigmask(SIG_SETMASK, &saved, NULL);
}
