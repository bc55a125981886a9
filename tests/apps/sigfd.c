/* SPDX-License-Identifier: MIT */
/*
 * sigfd: a program that reads SIGSEGV and SIGTRAP, among others, from a signalfd while it submits.
 * What it prints is the same without a tool. Software GPU only.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/uio.h>
#include "sigapp.h"

static int ready(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};

	return poll(&p, 1, 0);
}

static void show_record(const struct signalfd_siginfo *s)
{
	printf("  signal %u, errno %d, code %d, %s, user %s, int %d, ptr %llx\n", s->ssi_signo,
	       s->ssi_errno, s->ssi_code,
	       s->ssi_pid == (uint32_t)getpid() ? "from itself" : "from another",
	       s->ssi_uid == getuid() ? "the same" : "another", s->ssi_int,
	       (unsigned long long)s->ssi_ptr);
}

static void show_read(const char *what, int fd, size_t records)
{
	struct signalfd_siginfo s[8];
	ssize_t n;

	memset(s, 0xa5, sizeof(s));
	errno = 0;
	n = read(fd, s, records * sizeof(*s));
	printf("%s: read %zd, errno %d, ready %d\n", what, n, errno, ready(fd));
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(*s); i++)
		show_record(&s[i]);
	submit(1);
}

static void send_three(void)
{
	sigqueue(getpid(), SIGTRAP, (union sigval){.sival_int = 77});
	submit(1);
	kill(getpid(), SIGTERM);
	raise(SIGSEGV);
	submit(1);
}

static void alone_and_mixed(void)
{
	sigset_t set = set_of(SIGSEGV, SIGTRAP, SIGTERM);
	int fd;

	pthread_sigmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	show_read("nothing", fd, 1);
	raise(SIGSEGV);
	raise(SIGSEGV);
	printf("raised: ready %d\n", ready(fd));
	show_read("raised", fd, 1);
	kill(getpid(), SIGTRAP);
	show_read("killed", fd, 8);
	send_three();
	show_pending("three pending");
	show_read("three at once", fd, 4);
	send_three();
	for (int i = 0; i < 4; i++)
		show_read("one of three", fd, 1);
	send_three();
	show_read("two of three", fd, 2);
	show_read("the third", fd, 2);
	show_read("too small", fd, 0);
	close(fd);
}

/* Whoever takes it first has it. */
static void other_takers(void)
{
	sigset_t set = set_of(SIGSEGV, SIGTRAP, 0), one = set_of(SIGSEGV, 0, 0);
	int fd, other, sig = 0;
	siginfo_t info;

	raise(SIGSEGV); /* before there is a descriptor */
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	printf("raised before: ready %d\n", ready(fd));
	EXPECT(!sigwait(&set, &sig), "sigwait");
	printf("sigwait %d: ready %d\n", sig, ready(fd));
	show_read("after sigwait", fd, 1);
	sigqueue(getpid(), SIGSEGV, (union sigval){.sival_int = 5});
	sigwaitinfo(&set, &info);
	show_info("sigwaitinfo", &info);
	printf("ready %d\n", ready(fd));
	install(SIGSEGV, note);
	raise(SIGSEGV);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	printf("unblocked: handled %d, ready %d\n", handled, ready(fd));
	pthread_sigmask(SIG_BLOCK, &one, NULL);
	raise(SIGSEGV);
	signal(SIGSEGV, SIG_IGN);
	printf("ignored: ready %d\n", ready(fd));
	signal(SIGSEGV, SIG_DFL);
	/* Two descriptors for different signals. */
	one = set_of(SIGTRAP, 0, 0);
	other = signalfd(-1, &one, SFD_NONBLOCK);
	raise(SIGSEGV);
	printf("one of two: ready %d %d\n", ready(fd), ready(other));
	show_read("the other", other, 1);
	one = set_of(SIGTERM, 0, 0);
	EXPECT(signalfd(fd, &one, SFD_NONBLOCK) == fd, "signalfd");
	printf("another mask: ready %d\n", ready(fd));
	EXPECT(signalfd(fd, &set, SFD_NONBLOCK) == fd, "signalfd");
	show_read("the first mask", fd, 1);
	close(fd);
	close(other);
}

static void send_segv(pid_t to)
{
	usleep(20000);
	kill(to, SIGSEGV);
}

static void send_trap(pid_t to)
{
	usleep(20000);
	sigqueue(to, SIGTRAP, (union sigval){.sival_int = 123});
}

/* They wait for a signal that somebody else sends, and end for nothing else. */
static void waiting(void)
{
	sigset_t all, set = set_of(SIGSEGV, SIGTRAP, 0);
	struct pollfd p = {.events = POLLIN};
	struct epoll_event event = {.events = EPOLLIN}, got;
	struct timeval limit = {20, 0};
	int fd, copy, ep = epoll_create1(0);
	fd_set in;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	sigdelset(&all, SIGCHLD);
	fd = signalfd(-1, &all, 0);
	copy = dup(fd);
	epoll_ctl(ep, EPOLL_CTL_ADD, copy, &event);
	by_child(send_segv);
	show_read("blocking read", fd, 2);
	wait(NULL);
	p.fd = fd;
	by_child(send_trap);
	printf("poll %d\n", poll(&p, 1, -1));
	show_read("after poll", copy, 2);
	wait(NULL);
	by_child(send_segv);
	printf("epoll %d\n", epoll_wait(ep, &got, 1, 20000));
	show_read("after epoll", copy, 2);
	wait(NULL);
	FD_ZERO(&in);
	FD_SET(fd, &in);
	by_child(send_trap);
	printf("select %d\n", select(fd + 1, &in, NULL, NULL, &limit));
	show_read("after select", fd, 2);
	wait(NULL);
	show_mask("mask");
	show_pending("pending");
	sigemptyset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	show_mask("no mask");
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	show_mask("ours");
	close(fd);
	close(copy);
	close(ep);
}

static void in_pieces(void)
{
	struct signalfd_siginfo s;
	struct iovec iov[2] = {{&s, 40}, {(char *)&s + 40, sizeof(s) - 40}};
	sigset_t set = set_of(SIGSEGV, SIGTRAP, 0);
	int fd = signalfd(-1, &set, SFD_NONBLOCK), pipes[2];
	char data[128] = {SIGTERM}, back[128];
	ssize_t n;

	raise(SIGTRAP);
	printf("readv %zd\n", readv(fd, iov, 2));
	show_record(&s);
	n = readv(fd, iov, 2);
	printf("readv %zd errno %d\n", n, errno);
	/* What only looks like one. */
	EXPECT(!pipe(pipes), "pipe");
	EXPECT(write(pipes[1], data, sizeof(data)) == sizeof(data), "write");
	n = read(pipes[0], back, sizeof(back));
	printf("pipe %zd %d\n", n, memcmp(data, back, sizeof(data)));
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
}

static int shared_fd;

static void of_child(pid_t parent)
{
	in_child = true; /* the channel is the parent's */
	show_pending("child");
	show_read("child", shared_fd, 1);
	raise(SIGSEGV);
	show_read("child's own", shared_fd, 1);
	fflush(stdout);
}

/* Nothing is pending in a child, and what is sent to it is its own. */
static void forked(void)
{
	sigset_t set = set_of(SIGSEGV, SIGTRAP, 0);
	int status;

	shared_fd = signalfd(-1, &set, SFD_NONBLOCK);
	raise(SIGSEGV);
	kill(getpid(), SIGTRAP);
	by_child(of_child);
	EXPECT(wait(&status) > 0, "wait");
	printf("child's end: %x\n", status);
	show_read("parent", shared_fd, 4);
	close(shared_fd);
}

static pthread_barrier_t barrier;

static void *directed(void *arg)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	printf("its own thread: ready %d\n", ready(shared_fd));
	show_read("its own thread", shared_fd, 1);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	show_read("any thread", shared_fd, 1);
	return NULL;
}

static void threads(void)
{
	sigset_t set = set_of(SIGSEGV, SIGTRAP, 0);
	pthread_t t;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&t, NULL, directed, NULL);
	pthread_barrier_wait(&barrier);
	shared_fd = signalfd(-1, &set, SFD_NONBLOCK);
	pthread_kill(t, SIGSEGV);
	while (!softgpu_counted(channel))
		submit(1);
	printf("not its own: ready %d\n", ready(shared_fd));
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	kill(getpid(), SIGTRAP);
	pthread_barrier_wait(&barrier);
	pthread_join(t, NULL);
	printf("taken: ready %d\n", ready(shared_fd));
	close(shared_fd);
}

/* No other number shows, and the program can use every one while it blocks neither of the two. */
static void numbers(void)
{
	sigset_t set = set_of(SIGSEGV, SIGTRAP, 0);

	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++) {
		struct sigaction a;

		EXPECT(!sigaction(sig, NULL, &a), "sigaction");
		EXPECT(a.sa_handler == SIG_DFL, "action of %d", sig);
		set = set_of(sig, 0, 0);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
		show_mask("real-time");
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
		install(sig, note);
		handled = 0;
		raise(sig);
		EXPECT(handled == 1, "%d handled %d", sig, handled);
		signal(sig, SIG_DFL);
	}
	show_mask("mask");
}

int main(void)
{
	submit_begin();
	show_mask("at first");
	alone_and_mixed();
	other_takers();
	waiting();
	in_pieces();
	forked();
	threads();
	numbers();
	submit_end();
	return 0;
}
