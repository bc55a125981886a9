/* SPDX-License-Identifier: MIT */
/*
 * Calls that only sleep: they go on where they were interrupted by a signal of ours that the
 * program is not to notice.
 */
#include <errno.h>
#include <time.h>
#include <unistd.h>
#include "preload/signals/sigactions.h"
#include "preload/base/signext.h"

#define EXPORT __attribute__((visibility("default")))

static bool plain(void)
{
	return !nvs_sighook(NVS_SIGHOOK_VIEW | NVS_SIGHOOK_UNKNOWN);
}

EXPORT int pause(void)
{
	struct nvs_sigcounts before = nvs_signals_counts();

	if (plain())
		return nvs_signext.pause();
	do
		nvs_signext_find()->pause();
	while (nvs_signals_unnoticed(&before));
	return -1;
}

/* The error, as clock_nanosleep() gives it. */
static int sleep_on(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	struct nvs_sigcounts before = nvs_signals_counts();
	struct timespec rest;
	int err;

	do {
		err = nvs_signext_find()->clock_nanosleep(clock, flags, time, &rest);
		if (err == EINTR && !(flags & TIMER_ABSTIME))
			time = &rest;
	} while (err == EINTR && nvs_signals_unnoticed(&before));
	if (err == EINTR && left && !(flags & TIMER_ABSTIME))
		*left = rest;
	return err;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			   struct timespec *left)
{
	if (plain())
		return nvs_signext.clock_nanosleep(clock, flags, time, left);
	return sleep_on(clock, flags, time, left);
}

EXPORT int nanosleep(const struct timespec *time, struct timespec *left)
{
	int err;

	if (plain())
		return nvs_signext.nanosleep(time, left);
	err = sleep_on(CLOCK_REALTIME, 0, time, left);
	if (!err)
		return 0;
	errno = err;
	return -1;
}

EXPORT int usleep(useconds_t us)
{
	struct timespec time = {us / 1000000, (long)(us % 1000000) * 1000};

	return nanosleep(&time, NULL);
}

/* Whole seconds that are left, cut off as by the C library. */
EXPORT unsigned sleep(unsigned seconds)
{
	struct timespec time = {seconds, 0};
	int err = errno;

	if (nanosleep(&time, &time))
		return (unsigned)time.tv_sec;
	errno = err;
	return 0;
}
