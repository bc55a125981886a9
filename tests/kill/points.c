/* SPDX-License-Identifier: MIT */
/*
 * Kills the process with SIGKILL at a named point: NVSNOOP_TEST_KILL=point:count[:fast] at the
 * count-th time that a doorbell gets there; `fast` counts only those through a patched site. The
 * thread id is written to the file NVSNOOP_TEST_KILLED, as 32 bits. Only in test builds of the
 * library.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "trap/low/point.h"
#include "trap/low/sys.h"

static int wanted;
static bool fast_only;
static _Atomic long left;
static int killed_fd = -1;
static __thread bool fast;

__attribute__((constructor)) static void read_wish(void)
{
	const char *text = getenv("NVSNOOP_TEST_KILL");
	char *end;

	if (!text)
		return;
	wanted = (int)strtol(text, &end, 10);
	left = *end == ':' ? strtol(end + 1, &end, 10) : 1;
	fast_only = !strcmp(end, ":fast");
	text = getenv("NVSNOOP_TEST_KILLED");
	if (text)
		killed_fd = (int)nvs_sys4(SYS_openat, AT_FDCWD, text,
					  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

void nvs_test_point(enum nvs_point point)
{
	if (point == NVS_POINT_FAULT || point == NVS_POINT_FAST)
		fast = point == NVS_POINT_FAST;
	if (point != (enum nvs_point)wanted || (fast_only && !fast))
		return;
	if (atomic_fetch_sub(&left, 1) == 1) {
		int tid = (int)nvs_sys4(SYS_gettid, 0, 0, 0, 0);

		nvs_sys4(SYS_write, killed_fd, &tid, sizeof(tid), 0);
		nvs_sys4(SYS_kill, nvs_sys4(SYS_getpid, 0, 0, 0, 0), SIGKILL, 0, 0);
	}
}
