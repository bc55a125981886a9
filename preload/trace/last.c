/* SPDX-License-Identifier: MIT */
/*
 * The end of a process whose main() ended by pthread_exit(): it comes with the last thread, which
 * calls exit(). But threads of ours are there as well, so one of them has to see that nobody else
 * is left.
 */
#include <stdlib.h>
#include <string.h>
#include "preload/trace/live.h"

/* True: the main thread is a zombie and no thread but ours is alive. */
static bool only_we_are_left(const struct nvs_live *live)
{
	char text[512], *p;
	int field;

	nvs_watched(live, NVS_WATCH_STAT, text, sizeof(text));
	p = strrchr(text, ')');
	if (!p || p[1] != ' ' || p[2] != 'Z')
		return false;
	/* Behind the name: the state is field 3, the number of threads field 20. */
	for (field = 2; p && field < 20; field++)
		p = strchr(p + 1, ' ');
	return p && strtoul(p, NULL, 10) <= 1 + atomic_load(&live->own_threads);
}

/*
 * By the writer, whose file descriptors are its own: the program's table never shows one of ours.
 */
void nvs_look_for_last_thread(struct nvs_live *live)
{
	if (only_we_are_left(live))
		atomic_store(&live->alone, 1);
}

/* By a thread that has the program's: what exit() writes out needs them. */
void nvs_end_with_last_thread(struct nvs_live *live)
{
	uint64_t none = 0;

	if (!atomic_load(&live->alone))
		return;
	/* As the C library does it in the last thread. */
	nvs_sys_sigmask(SIG_SETMASK, &none, NULL);
	exit(0);
}
