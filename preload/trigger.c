/* SPDX-License-Identifier: MIT */
/*
 * The trigger file: what it says when it changes decides what is recorded from then on. "start", "stop", or
 * a number of submissions. Looked at ten times a second; until it exists nothing is recorded.
 */
#include <string.h>
#include "preload/live.h"
#include "preload/options.h"
#include "preload/sys.h"

/* What was read last; the same file is not obeyed twice. */
static struct timespec obeyed;
static uint64_t obeyed_inode;

static bool parse(const char *text, int64_t *submissions)
{
	int64_t n = 0;

	if (!strncmp(text, "start", 5)) {
		*submissions = NVS_RECORD_ALL;
		return true;
	}
	if (!strncmp(text, "stop", 4)) {
		*submissions = 0;
		return true;
	}
	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9' && n < (1ll << 48); text++)
		n = n * 10 + (*text - '0');
	*submissions = n;
	return true;
}

void nvs_trigger_look(void)
{
	const struct nvs_options *options = nvs_options();
	char text[64] = { 0 }, path[PATH_MAX];
	int64_t submissions;
	struct stat st;
	int fd;

	if (!*options->values.trigger || nvs_path_absolute(options->folder, options->values.trigger, path))
		return;
	fd = nvs_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return;
	if (!nvs_sys_fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    (st.st_ino != obeyed_inode || st.st_mtim.tv_sec != obeyed.tv_sec ||
	     st.st_mtim.tv_nsec != obeyed.tv_nsec) &&
	    nvs_sys_read(fd, text, sizeof(text) - 1) > 0) {
		obeyed_inode = st.st_ino;
		obeyed = st.st_mtim;
		if (parse(text, &submissions))
			nvs_trap_record(submissions);
	}
	nvs_sys_close(fd);
}
