/* SPDX-License-Identifier: MIT */
/* window FILE: opens and closes a trigger window through the trigger file, and submits inside and
 * outside of it. Prints the number of submissions to be recorded: "window ok: N submissions". */
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>
#include "app.h"

static CUdeviceptr words;

/* Puts a file that says TEXT in place, and returns when somebody has read it and closed it again.
 *  */
static void say(const char *file, const char *text)
{
	struct pollfd read_it = {.fd = inotify_init1(IN_CLOEXEC), .events = POLLIN};
	char other[4096];
	FILE *f;

	snprintf(other, sizeof(other), "%s.new", file);
	f = fopen(other, "w");
	EXPECT(f && fputs(text, f) >= 0 && !fclose(f), "%s", other);
	EXPECT(inotify_add_watch(read_it.fd, other, IN_CLOSE_NOWRITE) >= 0, "%s", other);
	EXPECT(!rename(other, file), "%s", file);
	EXPECT(poll(&read_it, 1, 30000) == 1, "nobody reads %s", file);
	close(read_it.fd);
}

static void submit(int n)
{
	for (int i = 0; i < n; i++)
		CK(cuMemsetD32Async(words, (unsigned)i, 4, NULL));
}

int main(int argc, char **argv)
{
	EXPECT(argc == 2, "usage: window FILE");
	app_context(0);
	CK(cuMemAlloc_v2(&words, 64));
	submit(100);
	say(argv[1], "20\n");
	submit(100);
	say(argv[1], "start");
	submit(30);
	say(argv[1], "starting\n");
	say(argv[1], "7 8");
	submit(5);
	say(argv[1], " stop\n");
	submit(100);
	say(argv[1], "99999999999999999999");
	submit(10);
	CK(cuCtxSynchronize());
	puts("window ok: 55 submissions");
	return 0;
}
