/* SPDX-License-Identifier: MIT */
/* sigcalls: waiting calls with their own signal masks, for SIGSEGV and SIGTRAP too, while the
 * program submits. Its output is the same without a tool. Software GPU only. */
#include <poll.h>
#include <setjmp.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <ucontext.h>
#include "sigapp.h"

int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
		size_t room);

static int pipes[2], epoll_fd;

static int by_ppoll(const struct timespec *timeout, const sigset_t *mask)
{
	struct pollfd p = {pipes[0], POLLIN, 0};

	return ppoll(&p, 1, timeout, mask);
}

static int by_ppoll_chk(const struct timespec *timeout, const sigset_t *mask)
{
	struct pollfd p = {pipes[0], POLLIN, 0};

	return __ppoll_chk(&p, 1, timeout, mask, sizeof(p));
}

static int by_pselect(const struct timespec *timeout, const sigset_t *mask)
{
	fd_set in;

	FD_ZERO(&in);
	FD_SET(pipes[0], &in);
	return pselect(pipes[0] + 1, &in, NULL, NULL, timeout, mask);
}

static int by_epoll_pwait(const struct timespec *timeout, const sigset_t *mask)
{
	struct epoll_event e;

	return epoll_pwait(epoll_fd, &e, 1,
			   (int)(timeout->tv_sec * 1000 + timeout->tv_nsec / 1000000), mask);
}

static int by_epoll_pwait2(const struct timespec *timeout, const sigset_t *mask)
{
	struct epoll_event e;

	return epoll_pwait2(epoll_fd, &e, 1, timeout, mask);
}

static const struct {
	const char *name;
	int (*call)(const struct timespec *timeout, const sigset_t *mask);
} calls[] = {
	{"ppoll", by_ppoll},
	{"__ppoll_chk", by_ppoll_chk},
	{"pselect", by_pselect},
	{"epoll_pwait", by_epoll_pwait},
	{"epoll_pwait2", by_epoll_pwait2},
};

static const struct timespec no_time, a_moment = {0, 60000000}, long_time = {20, 0};
static sigjmp_buf jump;

/* What is told here is written after the call: a handler may come in the middle of a line. */
static sigset_t in_handler, to_restore;
static siginfo_t got;

static void note_masks(int sig, siginfo_t *info, void *context)
{
	handled++;
	got = *info;
	pthread_sigmask(SIG_BLOCK, NULL, &in_handler);
	/* What another signal's handler will restore is the kernel's alone to know. */
	if (sig == SIGUSR1)
		sigemptyset(&to_restore);
	else
		memcpy(&to_restore, &((ucontext_t *)context)->uc_sigmask, 8);
	submit(1);
}

static void jump_out(int sig, siginfo_t *info, void *context)
{
	handled++;
	siglongjmp(jump, 1);
}

static void show_call(const char *what, int ret)
{
	int err = ret < 0 ? errno : 0;

	printf("  %s: %d, errno %d, handled %d", what, ret, err, handled);
	if (handled) {
		unsigned long long a, b;

		memcpy(&a, &in_handler, 8);
		memcpy(&b, &to_restore, 8);
		printf(" with signal %d, code %d, mask %llx, before %llx", got.si_signo,
		       got.si_code, a, b);
	}
	printf("\n");
	show_mask("  mask");
	show_pending("  pending");
	handled = 0;
	submit(1);
}

/* Twenty times in a row, a millisecond apart: it is in the call, however busy the machine is. */
static void until_it_waits(pid_t pid)
{
	char path[64], state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)pid);
	for (int looks = 0, waits = 0; looks < 5000 && waits < 20; looks++) {
		state = 0;
		file = fopen(path, "re");
		if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			_exit(1);
		fclose(file);
		waits = state == 'S' ? waits + 1 : 0;
		usleep(1000);
	}
}

/* What a call of limited time gave, once the child has sent what it has to send. */
static int and_sent(int ret)
{
	int err = errno;

	while (wait(NULL) < 0 && errno == EINTR)
		;
	errno = err;
	return ret;
}

static void send_segv(pid_t to)
{
	until_it_waits(to);
	kill(to, SIGSEGV);
}

static void send_int(pid_t to)
{
	until_it_waits(to);
	kill(to, SIGTRAP);
	kill(to, SIGUSR1);
}

static void one_call(int (*call)(const struct timespec *, const sigset_t *))
{
	sigset_t both = set_of(SIGSEGV, SIGTRAP, 0), ours = set_of(SIGSEGV, SIGTRAP, SIGUSR1);
	sigset_t none = set_of(0, 0, 0), trap = set_of(SIGTRAP, SIGHUP, 0);

	install(SIGSEGV, note_masks);
	install(SIGTRAP, note_masks);
	install(SIGUSR1, note_masks);
	pthread_sigmask(SIG_BLOCK, &ours, NULL);
	raise(SIGSEGV);
	show_call("pending and open", call(&long_time, &trap));
	sigqueue(getpid(), SIGTRAP, (union sigval){.sival_int = 9});
	show_call("pending and blocked", call(&a_moment, &trap));
	EXPECT(write(pipes[1], "x", 1) == 1, "write");
	show_call("pending and open, ready", call(&long_time, &none));
	EXPECT(read(pipes[0], (char[1]){0}, 1) == 1, "read");
	show_call("still pending and open", call(&no_time, &none));
	by_child(send_segv);
	show_call("sent to it", and_sent(call(&long_time, &none)));
	/* Blocked by the call alone; the other signal ends it, which is open in it alone. */
	pthread_sigmask(SIG_UNBLOCK, &both, NULL);
	by_child(send_int);
	show_call("blocked by the call", and_sent(call(&long_time, &trap)));
	install(SIGSEGV, jump_out);
	pthread_sigmask(SIG_BLOCK, &ours, NULL);
	raise(SIGSEGV);
	if (!sigsetjmp(jump, 1))
		printf("  came back with %d\n", call(&long_time, &none));
	show_mask("  jumped out");
	handled = 0;
	submit(1);
	pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
}

/* Until it is ended: one that comes ahead of the call interrupts nothing. */
static pid_t by_many(int sig)
{
	pid_t parent = getpid(), pid;

	fflush(stdout);
	pid = fork();
	while (!pid) {
		usleep(5000);
		kill(parent, sig);
	}
	EXPECT(pid > 0, "fork");
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static volatile int may_jump;

static void submit_and_jump(int sig, siginfo_t *info, void *context)
{
	submit(1);
	if (may_jump)
		siglongjmp(jump, 1);
}

/* While one of the two is waited for, other signals are what they always are, and their handlers
 * submit. */
static void waiting(void)
{
	sigset_t segv = set_of(SIGSEGV, 0, 0), got_set;
	siginfo_t info = {.si_signo = 77};
	int sig, ret;
	pid_t child;

	printf("waiting\n");
	pthread_sigmask(SIG_SETMASK, &segv, NULL);
	install(SIGUSR1, note);
	child = by_many(SIGUSR1);
	ret = sigtimedwait(&segv, &info, &long_time);
	end_child(child);
	printf("  handled, and ended: %d, errno %d, info %d\n", ret, errno, info.si_signo);
	install(SIGUSR1, submit_and_jump);
	child = by_many(SIGUSR1);
	if (!sigsetjmp(jump, 1)) {
		may_jump = 1;
		printf("  not jumped out: %d\n", sigtimedwait(&segv, NULL, &long_time));
	}
	may_jump = 0;
	end_child(child);
	signal(SIGUSR1, SIG_IGN);
	pthread_sigmask(SIG_BLOCK, NULL, &got_set);
	show_set("  mask", &got_set);
	child = by_many(SIGUSR1);
	ret = sigtimedwait(&segv, NULL, &a_moment);
	end_child(child);
	printf("  ignored: %d, errno %d\n", ret, errno);
	child = by_many(SIGCHLD);
	ret = sigtimedwait(&segv, NULL, &a_moment);
	end_child(child);
	printf("  by default: %d, errno %d\n", ret, errno);
	install(SIGUSR1, note);
	child = by_many(SIGUSR1);
	by_child(send_segv);
	ret = sigwait(&segv, &sig);
	end_child(child);
	and_sent(0);
	printf("  what it waits for: %d, %d\n", ret, sig);
	submit(1);
	EXPECT(!softgpu_wait(channel, softgpu_payload(channel)), "channel died");
	EXPECT(softgpu_counted(channel) == count, "counted %u of %u", softgpu_counted(channel),
	       count);
}

static void suspend(void)
{
	sigset_t ours = set_of(SIGSEGV, SIGTRAP, 0), none = set_of(0, 0, 0),
		 trap = set_of(SIGTRAP, 0, 0);

	printf("sigsuspend\n");
	install(SIGSEGV, note_masks);
	install(SIGTRAP, note_masks);
	pthread_sigmask(SIG_BLOCK, &ours, NULL);
	raise(SIGSEGV);
	raise(SIGTRAP);
	show_call("one of two", sigsuspend(&trap));
	show_call("the other", sigsuspend(&none));
	by_child(send_segv);
	show_call("sent to it", and_sent(sigsuspend(&none)));
	pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
}

int main(void)
{
	struct epoll_event e = {.events = EPOLLIN};

	submit_begin();
	EXPECT(!pipe(pipes), "pipe");
	epoll_fd = epoll_create1(0);
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pipes[0], &e);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		printf("%s\n", calls[i].name);
		one_call(calls[i].call);
	}
	suspend();
	submit_end();
	waiting();
	return 0;
}
