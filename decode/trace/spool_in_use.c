/* SPDX-License-Identifier: MIT */
/* Checks whether a spool is still in use: then the process that it names has it mapped. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "decode/trace/internal.h"

/* Matches a line of /proc/PID/maps. On some file systems its device differs from that of stat(), so
 * the path is compared too. */
static bool is_mapping(const char *line, const struct stat *st, const char *path)
{
	unsigned long long inode;
	unsigned int major, minor;
	int at = 0;

	if (sscanf(line, "%*s %*s %*s %x:%x %llu %n", &major, &minor, &inode, &at) != 3 ||
	    inode != st->st_ino)
		return false;
	return makedev(major, minor) == st->st_dev || (at && !strcmp(line + at, path));
}

bool nvs_spool_running(const struct nvs_spool_file *f)
{
	char name[64], real[PATH_MAX], *line = NULL;
	bool found = false;
	size_t room = 0;
	struct stat st;
	ssize_t n;
	FILE *maps;

	if (f->head.kind != NVS_SPOOL_BUFFERS || f->head.ended || fstat(f->fd, &st) ||
	    !realpath(f->path, real))
		return false;
	snprintf(name, sizeof(name), "/proc/%u/maps", f->head.pid);
	maps = fopen(name, "re");
	if (!maps)
		return false;
	while (!found && (n = getline(&line, &room, maps)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		found = is_mapping(line, &st, real);
	}
	free(line);
	fclose(maps);
	return found;
}
