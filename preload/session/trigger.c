/* SPDX-License-Identifier: MIT */
/*
 * The trigger file: its content, each time it changes, decides what is recorded from then on:
 * "start", "stop", or a number of submissions. Read at the session's start and ten times a second.
 * Nothing is recorded until the file exists.
 */
#include <string.h>
#include "decode/cli/units.h"
#include "preload/base/outfile.h"
#include "preload/base/sys.h"
#include "preload/session/poll_thread.h"
#include "preload/writer/session.h"

/* Cuts out the only word of TEXT. Returns "" if there are several. */
static const char *cut_word(char *text)
{
	char *end;

	text += strspn(text, " \t\r\n");
	end = text + strcspn(text, " \t\r\n");
	if (end[strspn(end, " \t\r\n")])
		return "";
	*end = '\0';
	return text;
}

static bool parse_command(char *text, int64_t *submissions)
{
	const char *said = cut_word(text);
	uint64_t n;

	if (!strcmp(said, "start")) {
		*submissions = NVS_RECORD_ALL;
		return true;
	}
	if (!strcmp(said, "stop")) {
		*submissions = 0;
		return true;
	}
	if (!nvs_read_number(&said, 1ull << 52, &n))
		return false;
	*submissions = (int64_t)n;
	return !*said;
}

void nvs_trigger_poll(struct nvs_recorder *session)
{
	const struct nvs_options *options = nvs_options();
	struct nvs_trigger *t = &session->trigger;
	char text[64] = {0}, path[PATH_MAX];
	int64_t submissions;
	struct stat st;
	int fd;

	if (!*options->values.trigger ||
	    nvs_path_absolute(options->folder, options->values.trigger, path))
		return;
	fd = nvs_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return;
	if (!nvs_sys_fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    (st.st_ino != t->inode || st.st_mtim.tv_sec != t->obeyed.tv_sec ||
	     st.st_mtim.tv_nsec != t->obeyed.tv_nsec) &&
	    nvs_sys_read(fd, text, sizeof(text) - 1) > 0) {
		t->inode = st.st_ino;
		t->obeyed = st.st_mtim;
		if (parse_command(text, &submissions))
			nvs_switch_request(submissions, NVS_WINDOW_TRIGGER);
		else
			atomic_store(&t->wrong, true);
	}
	nvs_sys_close(fd);
}
