/* SPDX-License-Identifier: MIT */
/*
 * State of the process that the writer polls. It reads /proc through descriptors that were opened
 * at the start and are in the writer's own table, where the program does not see them.
 *
 * Sandboxes: a seccomp filter that the program installs later may kill for one of the library's
 * system calls. After that no file is opened, created, renamed or removed.
 *
 * The last thread: a process whose main() ended by pthread_exit() ends when its last thread calls
 * exit(). The library's threads keep it alive, so one of them checks that no other is left.
 */
#include <stdlib.h>
#include <string.h>
#include "preload/base/ownthread.h"
#include "preload/writer/session.h"

static const char *const files[NVS_WATCHED] = {"/proc/self/stat", "/proc/self/status",
					       "/proc/thread-self/status"};

/* Reads one of the files to TEXT, "" if it is not open. */
static const char *read_watched(const struct nvs_recorder *session, enum nvs_watch which,
				char *text, size_t size)
{
	long n = session->watched[which] < 0 ? -EBADF
					     : nvs_syscall(SYS_pread64, session->watched[which],
							   (long)text, (long)size - 1, 0, 0, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Returns the number of filters of the main thread and the writer; a filter for all threads shows
 * in both. */
static unsigned long count_filters(const struct nvs_recorder *session)
{
	unsigned long sum = 0;
	char text[4096];

	for (int i = NVS_WATCH_MAIN; i <= NVS_WATCH_WRITER; i++) {
		read_watched(session, (enum nvs_watch)i, text, sizeof(text));
		sum += nvs_file_field(text, "\nSeccomp:", 0) +
		       nvs_file_field(text, "\nSeccomp_filters:", 0);
	}
	return sum;
}

void nvs_watch_begin(struct nvs_recorder *session, bool own_table)
{
	for (int i = 0; i < NVS_WATCHED; i++)
		session->watched[i] = own_table ? nvs_sys_open(files[i], O_RDONLY | O_CLOEXEC, 0)
						: -1;
	session->filters = count_filters(session);
	atomic_store(&nvs_writer_signal.confined, 0);
}

void nvs_watch_check_sandbox(struct nvs_recorder *session)
{
	if (count_filters(session) > session->filters)
		atomic_store(&nvs_writer_signal.confined, 1);
}

/* Returns true if the main thread is a zombie and only the library's threads are alive. */
static bool only_we_are_left(const struct nvs_recorder *session)
{
	char text[512], *p;
	int field;

	read_watched(session, NVS_WATCH_STAT, text, sizeof(text));
	p = strrchr(text, ')');
	if (!p || p[1] != ' ' || p[2] != 'Z')
		return false;
	/* The name ends in ')'; state is field 3, the number of threads field 20. */
	for (field = 2; p && field < 20; field++)
		p = strchr(p + 1, ' ');
	return p && strtoul(p, NULL, 10) <= 1 + nvs_own_thread_count();
}

void nvs_watch_check_threads(struct nvs_recorder *session)
{
	if (only_we_are_left(session))
		atomic_store(&session->alone, 1);
}

void nvs_end_with_last_thread(struct nvs_recorder *session)
{
	uint64_t none = 0;

	if (!atomic_load(&session->alone))
		return;
	/* The C library does the same in the last thread. */
	nvs_sys_sigmask(SIG_SETMASK, &none, NULL);
	exit(0);
}
