/* SPDX-License-Identifier: MIT */
/*
 * What the writer looks at from time to time.
 *
 * Sandboxes: a filter of system calls that the program puts on while we record is made for the
 * calls it knows of, and may kill it for one of ours. From then on nothing is opened, made, renamed
 * or removed any more.
 *
 * The last thread: a process whose main() ended by pthread_exit() ends with its last thread, which
 * calls exit(). But threads of ours are there as well, so one of them has to see that nobody else
 * is left.
 *
 * What /proc tells is read through descriptors that were opened at the start. They are in the
 * writer's table of its own, where the program never sees them.
 */
#include <stdlib.h>
#include <string.h>
#include "preload/base/ownthread.h"
#include "preload/writer/session.h"

static const char *const files[NVS_WATCHED] = {"/proc/self/stat", "/proc/self/status",
					       "/proc/thread-self/status"};

/* Text of one of them; "" where there is none. */
static const char *watched(const struct nvs_session *session, enum nvs_watch which, char *text,
			   size_t size)
{
	long n = session->watched[which] < 0 ? -EBADF
					     : nvs_sys(SYS_pread64, session->watched[which],
						       (long)text, (long)size - 1, 0, 0, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static unsigned long field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoul(at + strlen(name), NULL, 10) : 0;
}

/* Of the main thread and of the writer: a filter for all threads shows in both. */
static unsigned long filters(const struct nvs_session *session)
{
	unsigned long sum = 0;
	char text[4096];

	for (int i = NVS_WATCH_MAIN; i <= NVS_WATCH_WRITER; i++) {
		watched(session, (enum nvs_watch)i, text, sizeof(text));
		sum += field(text, "\nSeccomp:") + field(text, "\nSeccomp_filters:");
	}
	return sum;
}

void nvs_watch_begin(struct nvs_session *session, bool own_table)
{
	for (int i = 0; i < NVS_WATCHED; i++)
		session->watched[i] = own_table ? nvs_sys_open(files[i], O_RDONLY | O_CLOEXEC, 0)
						: -1;
	session->filters = filters(session);
	atomic_store(&nvs_writer_signal.confined, 0);
}

void nvs_watch_sandbox(struct nvs_session *session)
{
	if (filters(session) > session->filters)
		atomic_store(&nvs_writer_signal.confined, 1);
}

/* True: the main thread is a zombie and no thread but ours is alive. */
static bool only_we_are_left(const struct nvs_session *session)
{
	char text[512], *p;
	int field;

	watched(session, NVS_WATCH_STAT, text, sizeof(text));
	p = strrchr(text, ')');
	if (!p || p[1] != ' ' || p[2] != 'Z')
		return false;
	/* Behind the name: the state is field 3, the number of threads field 20. */
	for (field = 2; p && field < 20; field++)
		p = strchr(p + 1, ' ');
	return p && strtoul(p, NULL, 10) <= 1 + nvs_own_threads();
}

void nvs_watch_threads(struct nvs_session *session)
{
	if (only_we_are_left(session))
		atomic_store(&session->alone, 1);
}

void nvs_end_with_last_thread(struct nvs_session *session)
{
	uint64_t none = 0;

	if (!atomic_load(&session->alone))
		return;
	/* As the C library does it in the last thread. */
	nvs_sys_sigmask(SIG_SETMASK, &none, NULL);
	exit(0);
}
