/* SPDX-License-Identifier: MIT */
/*
 * Sandboxes: a filter of system calls that the program puts on while we record is made for the
 * calls it knows of, and may kill it for one of ours. So the writer looks from time to time whether
 * there is one more than at the start; from then on nothing is opened, made, renamed or removed any
 * more.
 *
 * What /proc tells is read through descriptors that were opened at the start. They are in the
 * writer's table of its own, where the program never sees them.
 */
#include <stdlib.h>
#include <string.h>
#include "preload/trace/live.h"

static const char *const files[NVS_WATCHED] = {"/proc/self/stat", "/proc/self/status",
					       "/proc/thread-self/status"};

/* Text of one of them; "" where there is none. */
const char *nvs_watched(const struct nvs_live *live, enum nvs_watch which, char *text, size_t size)
{
	long n = live->watched[which] < 0 ? -EBADF
					  : nvs_sys(SYS_pread64, live->watched[which], (long)text,
						    (long)size - 1, 0, 0, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static unsigned long field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoul(at + strlen(name), NULL, 10) : 0;
}

/* Of the main thread and of the writer: a filter for all threads shows in both. */
static unsigned long filters(const struct nvs_live *live)
{
	unsigned long sum = 0;
	char text[4096];

	for (int i = NVS_WATCH_MAIN; i <= NVS_WATCH_WRITER; i++) {
		nvs_watched(live, (enum nvs_watch)i, text, sizeof(text));
		sum += field(text, "\nSeccomp:") + field(text, "\nSeccomp_filters:");
	}
	return sum;
}

void nvs_confined_begin(struct nvs_live *live, bool own_table)
{
	for (int i = 0; i < NVS_WATCHED; i++)
		live->watched[i] = own_table ? nvs_sys_open(files[i], O_RDONLY | O_CLOEXEC, 0) : -1;
	live->filters = filters(live);
	atomic_store(&nvs_writer_signal.confined, 0);
}

void nvs_confined_look(struct nvs_live *live)
{
	if (filters(live) > live->filters)
		atomic_store(&nvs_writer_signal.confined, 1);
}
