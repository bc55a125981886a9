/* SPDX-License-Identifier: MIT */
/* LINK: preload */
/*
 * What calls that sleep return and leave in errno, for a kernel that answers as the test says. The
 * C library's sleep() gives the whole seconds that are left, cut off.
 */
#include <errno.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include "preload/signals/sigactions.h"
#include "preload/base/next.h"
#include "tests/unit/expect.h"

/* The kernel's next answers, in turn. */
static struct answer {
	int err;
	struct timespec left;
	bool unnoticed; /* only a signal came that the program is not to notice */
} answers[3];
static unsigned calls;
static struct timespec asked[3];

static void count_unnoticed(void)
{
	ucontext_t uc = {0};

	uc.uc_mcontext.gregs[REG_RAX] = -EINTR;
	sigfillset(&uc.uc_sigmask);
	nvs_signals_count_kept(&uc);
}

static int sleep_as_told(clockid_t clock, int flags, const struct timespec *time,
			 struct timespec *left)
{
	struct answer a = answers[calls];

	asked[calls++] = *time;
	if (a.unnoticed)
		count_unnoticed();
	if (a.err == EINTR && left)
		*left = a.left;
	return a.err;
}

static void begin(struct answer first, struct answer second)
{
	((struct nvs_next *)nvs_next())->clock_nanosleep = sleep_as_told;
	atomic_fetch_or(&nvs_sighooks, NVS_SIGHOOK_VIEW);
	answers[0] = first;
	answers[1] = second;
	calls = 0;
	errno = ERANGE;
}

static struct answer interrupted(long s, long ns)
{
	return (struct answer){.err = EINTR, .left = {s, ns}};
}

static struct answer unnoticed(long s, long ns)
{
	return (struct answer){.err = EINTR, .left = {s, ns}, .unnoticed = true};
}

static const struct answer slept;

static void test_sleep(void)
{
	static const struct {
		long s, ns;
		unsigned left;
	} cases[] = {{2, 800000000, 2}, {2, 0, 2}, {2, 499999999, 2}, {0, 999999999, 0}, {0, 1, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(interrupted(cases[i].s, cases[i].ns), slept);
		EXPECT_EQ(sleep(5), cases[i].left);
		EXPECT_EQ(errno, EINTR);
		EXPECT_EQ(calls, 1);
	}
	begin(slept, slept);
	EXPECT_EQ(sleep(5), 0);
	EXPECT_EQ(errno, ERANGE);
	/* For what the program is not to notice it goes on with the rest, all of it. */
	begin(unnoticed(2, 800000000), interrupted(1, 700000000));
	EXPECT_EQ(sleep(5), 1);
	EXPECT_EQ(calls, 2);
	EXPECT_EQ(asked[1].tv_sec, 2);
	EXPECT_EQ(asked[1].tv_nsec, 800000000);
	begin(unnoticed(2, 800000000), slept);
	EXPECT_EQ(sleep(5), 0);
	EXPECT_EQ(errno, ERANGE);
}

static void test_the_others(void)
{
	struct timespec time = {5, 6}, left = {7, 8};

	begin(interrupted(2, 800000000), slept);
	EXPECT_EQ(nanosleep(&time, &left), -1);
	EXPECT_EQ(errno, EINTR);
	EXPECT_EQ(left.tv_sec, 2);
	EXPECT_EQ(left.tv_nsec, 800000000);
	begin(unnoticed(2, 800000000), slept);
	left = (struct timespec){7, 8};
	EXPECT_EQ(nanosleep(&time, &left), 0);
	EXPECT_EQ(left.tv_sec, 7);
	begin(interrupted(2, 1), slept);
	EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &left), EINTR);
	EXPECT_EQ(errno, ERANGE);
	EXPECT_EQ(left.tv_sec, 2);
	begin(interrupted(2, 1), slept);
	left = (struct timespec){7, 8};
	EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, &left), EINTR);
	EXPECT_EQ(left.tv_sec, 7);
	begin(interrupted(2, 1), slept);
	EXPECT_EQ(usleep(2000001), -1);
	EXPECT_EQ(asked[0].tv_sec, 2);
	EXPECT_EQ(asked[0].tv_nsec, 1000);
}

int main(void)
{
	test_sleep();
	test_the_others();
	return expect_done();
}
