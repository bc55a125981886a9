/* SPDX-License-Identifier: MIT */
/* sigsent: SIGSEGV and SIGTRAP are sent to a program with several threads, while they submit;
 * prints which thread takes them. Its output is the same without a tool. Software GPU only. */
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include "sigapp.h"

#define IDLE 6

static sigset_t ours, none;
static sem_t sleeping, answered;
static int stop[2]; /* a pipe for who sleeps in poll() */
static __thread const char *role;
static const char *_Atomic taker;
static siginfo_t taken;

static void note_taker(int sig, siginfo_t *info, void *context)
{
	taken = *info;
	taker = role;
	sem_post(&answered);
}

static void answer(const char *what)
{
	while (sem_wait(&answered))
		;
	printf("%s: %s took it; ", what, taker);
	show_info("it", &taken);
	submit(1);
}

static void take(const char *who, const sigset_t *set)
{
	while (sigwaitinfo(set, &taken) < 0)
		;
	taker = who;
	sem_post(&answered);
}

/* Starts FN in a thread with MASK, and comes back when it is about to sleep. */
static pthread_t start(void *(*fn)(void *), const sigset_t *mask)
{
	sigset_t before;
	pthread_t t;

	pthread_sigmask(SIG_SETMASK, mask, &before);
	EXPECT(!pthread_create(&t, NULL, fn, NULL), "thread");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	while (sem_wait(&sleeping))
		;
	return t;
}

static void *sleep_open(void *arg)
{
	struct pollfd p = {stop[0], POLLIN, 0};

	role = "an open thread";
	sem_post(&sleeping);
	while (poll(&p, 1, -1) < 0)
		;
	return NULL;
}

static _Atomic int disturbed;

static void *sleep_blocked(void *arg)
{
	struct pollfd p = {stop[0], POLLIN, 0};

	role = "a blocked thread";
	sem_post(&sleeping);
	if (poll(&p, 1, -1) < 0)
		disturbed++;
	return NULL;
}

static void *sleep_in_wait(void *arg)
{
	sem_post(&sleeping);
	take("a waiting thread", &ours);
	return NULL;
}

static void *sleep_in_ppoll(void *arg)
{
	struct pollfd p = {stop[0], POLLIN, 0};
	int ret;

	role = "a thread in ppoll";
	sem_post(&sleeping);
	ret = ppoll(&p, 1, NULL, &none);
	EXPECT(ret < 0 && errno == EINTR, "ppoll %d", ret);
	return NULL;
}

static void *look_and_open(void *arg)
{
	role = "a thread that opens";
	show_pending("seen by a thread");
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	show_pending("seen when open");
	sem_post(&sleeping);
	return NULL;
}

static void wake(pthread_t *t, int n)
{
	EXPECT(write(stop[1], "x", 1) == 1, "write");
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	EXPECT(read(stop[0], (char[1]){0}, 1) == 1, "read");
}

static void send_segv(pid_t to)
{
	kill(to, SIGSEGV);
}

static void to_open(void)
{
	pthread_t t = start(sleep_open, &none);

	kill(getpid(), SIGSEGV);
	answer("kill");
	sigqueue(getpid(), SIGTRAP, (union sigval){.sival_int = 31});
	answer("sigqueue");
	by_child(send_segv);
	answer("kill by a child");
	wait(NULL);
	/* These are for this thread alone. */
	raise(SIGSEGV);
	pthread_sigqueue(pthread_self(), SIGTRAP, (union sigval){.sival_int = 32});
	show_pending("for this thread");
	taken = (siginfo_t){0};
	take("main", &ours);
	answer("raise or pthread_sigqueue");
	take("main", &ours);
	answer("the other");
	wake(&t, 1);
}

static void to_waiting(void)
{
	struct timespec moment = {0, 10000000};
	siginfo_t info;
	pthread_t t = start(sleep_in_wait, &ours);

	/* It may not be asleep yet: then it finds what is pending. */
	kill(getpid(), SIGTRAP);
	answer("kill while one waits");
	pthread_join(t, NULL);
	t = start(sleep_in_wait, &ours);
	usleep(50000);
	by_child(send_segv);
	answer("kill by a child while one sleeps");
	pthread_join(t, NULL);
	wait(NULL);
	show_pending("nothing");
	errno = 0;
	EXPECT(sigtimedwait(&ours, &info, &moment) < 0 && errno == EAGAIN, "errno %d", errno);
}

static void to_nobody(void)
{
	pthread_t t[IDLE], other;

	for (int i = 0; i < IDLE; i++)
		t[i] = start(sleep_blocked, &ours);
	usleep(20000);
	kill(getpid(), SIGSEGV);
	show_pending("for the process");
	other = start(look_and_open, &ours);
	answer("opened by another");
	pthread_join(other, NULL);
	show_pending("after it");
	kill(getpid(), SIGTRAP);
	other = start(sleep_in_wait, &ours);
	answer("awaited by another");
	pthread_join(other, NULL);
	show_pending("after it");
	wake(t, IDLE);
	printf("disturbed: %d\n", disturbed);
}

static void to_ppoll(void)
{
	pthread_t t = start(sleep_in_ppoll, &ours);

	usleep(50000);
	kill(getpid(), SIGSEGV);
	answer("kill while one is in ppoll");
	pthread_join(t, NULL);
}

/* ---- cancelled while they wait: what cleans up behind them may submit ---- */

static void clean_up(void *what)
{
	submit(1);
	show_mask(what);
	raise(SIGSEGV);
	show_pending("pending in it");
}

static void *cancelled_in_wait(void *arg)
{
	pthread_cleanup_push(clean_up, "cancelled in sigwaitinfo");
	sem_post(&sleeping);
	take("nobody", &ours);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *cancelled_in_ppoll(void *arg)
{
	struct pollfd p = {stop[0], POLLIN, 0};

	pthread_cleanup_push(clean_up, "cancelled in ppoll");
	sem_post(&sleeping);
	ppoll(&p, 1, NULL, &none);
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancel(void *(*fn)(void *))
{
	pthread_t t = start(fn, &ours);
	void *ret;

	usleep(20000);
	pthread_cancel(t);
	pthread_join(t, &ret);
	EXPECT(ret == PTHREAD_CANCELED, "thread ended by itself");
	submit(1);
}

int main(void)
{
	role = "main";
	submit_begin();
	ours = set_of(SIGSEGV, SIGTRAP, 0);
	none = set_of(0, 0, 0);
	sem_init(&sleeping, 0, 0);
	sem_init(&answered, 0, 0);
	EXPECT(!pipe(stop), "pipe");
	install(SIGSEGV, note_taker);
	install(SIGTRAP, note_taker);
	pthread_sigmask(SIG_BLOCK, &ours, NULL);
	to_open();
	to_waiting();
	to_nobody();
	to_ppoll();
	cancel(cancelled_in_wait);
	cancel(cancelled_in_ppoll);
	submit_end();
	return 0;
}
