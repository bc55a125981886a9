/* SPDX-License-Identifier: MIT */
/*
 * The helper process: answers one question after another, each with a CPU time limit. It is forked
 * from a program that may have other threads, so it must not take locks that one of them may have
 * held: it loads nothing and does not call setenv(); malloc() is made fork-safe by the C library.
 */
#include <fcntl.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include "decode/base/uncounted.h"
#include "decode/trace/helper.h"

/* libiberty's own limit refuses names of 1024 bytes, which kernel templates reach. */
#define STYLE (DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT)

/* Receives the output; once it is full, the answer is discarded. */
struct answer {
	jmp_buf full;
	size_t length;
	char text[1 + NVS_HELPER_MAX_TEXT];
};

static void append_text(const char *s, size_t n, void *arg)
{
	struct answer *a = arg;

	if (n > sizeof(a->text) - a->length)
		longjmp(a->full, 1); /* libiberty holds no resources here */
	memcpy(a->text + a->length, s, n);
	a->length += n;
}

/* Demangles the whole name, or leaves the answer empty. */
static void demangle_name(const char *name, struct answer *a)
{
	if (setjmp(a->full) ||
	    !(rust_demangle_callback(name, STYLE, append_text, a) ||
	      (a->length = 1, cplus_demangle_v3_callback(name, STYLE, append_text, a))))
		a->length = 1;
}

/* Sets the time limit, at which SIGPROF ends the process. */
static void set_time_limit(unsigned ms)
{
	struct itimerval t = {.it_value = {ms / 1000, ms % 1000 * 1000}};

	setitimer(ITIMER_PROF, &t, NULL);
}

static void answer_question(const struct nvs_helper_question *q, struct answer *a)
{
	a->length = 1;
	set_time_limit(q->id_length ? NVS_HELPER_LINE_MS : NVS_HELPER_NAME_MS);
	if (q->id_length) {
		nvs_helper_find_line(q, a->text + 1, sizeof(a->text) - 1);
		a->length += strlen(a->text + 1);
	} else {
		demangle_name(q->text, a);
	}
	set_time_limit(0);
}

/* Drops the parent's state: its files, whose other ends wait for a close, and its signal
 * handlers. */
static void drop_parent_state(int *fd)
{
	static char *nothing[1];

	static const int deadly[] = {SIGPROF, SIGXCPU, SIGSEGV, SIGBUS,
				     SIGFPE,  SIGILL,  SIGABRT, SIGTERM};
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++)
		signal(deadly[i], SIG_DFL);
	signal(SIGINT, SIG_IGN); /* handled by the parent */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Clear the environment so that libdw contacts no debuginfod servers. clearenv() could
	 * block on a lock that another thread held at the fork. */
	environ = nothing;
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, "nvsnoop-names");
	*fd = fcntl(*fd, F_DUPFD, 3);
	dup2(*fd, 3);
	*fd = 3;
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	if (syscall(SYS_close_range, 4u, ~0u, 0u))
		for (int i = 4; i < 1024; i++)
			close(i);
}

void nvs_helper_serve(int fd)
{
	static struct nvs_helper_question q;
	static struct answer a;
	const size_t head = offsetof(struct nvs_helper_question, text);
	ssize_t n;

	drop_parent_state(&fd);
	while ((n = recv(fd, &q, sizeof(q), 0)) >= (ssize_t)head) {
		if (q.length >= sizeof(q.text) || (size_t)n != head + q.length)
			break;
		q.text[q.length] = '\0';
		answer_question(&q, &a);
		if (send(fd, a.text, a.length, MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}
