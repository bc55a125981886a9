/* SPDX-License-Identifier: MIT */
/* The directory of this user's live pages, and the removal of pages that killed processes have
 * left. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "preload/base/sys.h"
#include "preload/live/live.h"
#include "trap/low/sys.h"

/* ---- the directory ---- */

/* Returns true for a directory in which only this user can create files. */
static bool is_ours(const char *path)
{
	struct stat st;

	return !nvs_sys_lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 022);
}

struct other {
	char *path; /* at first the path that is taken, then the directory found */
	size_t length; /* of the path that is taken */
};

static bool is_other(const char *name, void *arg)
{
	struct other *other = arg;
	const char *taken = other->path + sizeof("/tmp/") - 1;
	size_t length = other->length - (sizeof("/tmp/") - 1);

	if (strncmp(name, taken, length) || name[length] != '.' ||
	    snprintf(other->path + other->length, PATH_MAX / 2 - other->length, "%s",
		     name + length) >= (int)(PATH_MAX / 2 - other->length))
		return false;
	if (is_ours(other->path))
		return true;
	other->path[other->length] = '\0';
	return false;
}

/* PATH belongs to another user. Appends a suffix that cannot be created in advance. */
static bool find_other(char *path)
{
	struct other other = {path, strlen(path)};
	uint32_t number = 0;

	if (nvs_folder_search("/tmp", is_other, &other))
		return true;
	nvs_sys4(SYS_getrandom, &number, sizeof(number), 0, 0);
	snprintf(path + other.length, PATH_MAX / 2 - other.length, ".%08x", number);
	nvs_sys_mkdir(path, 0700);
	return is_ours(path);
}

bool nvs_live_find_directory(char *out)
{
	const char *given = nvs_options()->runtime_dir;

	if (*given == '/' && is_ours(strcpy(out, given)))
		return true;
	snprintf(out, PATH_MAX / 2, NVS_LIVE_SHARED "/%u", (unsigned)geteuid());
	nvs_sys_mkdir(out, 0700); /* fails where nobody has made the folder */
	if (is_ours(out))
		return true;
	snprintf(out, PATH_MAX / 2, "/run/user/%u", (unsigned)geteuid());
	if (is_ours(out))
		return true;
	snprintf(out, PATH_MAX / 2, "/tmp/nvsnoop-%u", (unsigned)geteuid());
	if (nvs_sys_mkdir(out, 0700) != -EEXIST || is_ours(out))
		return is_ours(out);
	return find_other(out);
}

/* ---- processes ---- */

uint64_t nvs_live_start_time(const char *process)
{
	char path[64], text[1024], *p;

	snprintf(path, sizeof(path), "/proc/%s/stat", process);
	nvs_sys_read_file(path, text, sizeof(text));
	p = strrchr(text, ')');
	/* The name ends in ')'; field 3 (state) follows. */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

void nvs_live_read_boot(uint8_t boot[16])
{
	char text[64], digit[3] = "";
	unsigned n = 0;

	nvs_sys_read_file("/proc/sys/kernel/random/boot_id", text, sizeof(text));
	for (const char *p = text; *p && n < 32; p++) {
		if (*p == '-' || *p == '\n')
			continue;
		digit[n & 1] = *p;
		if (n++ & 1)
			boot[n / 2 - 1] = (uint8_t)strtoul(digit, NULL, 16);
	}
}

/* A process whose state is unknown counts as alive. */
static bool is_dead(const struct nvs_live *head, const struct nvs_live *own)
{
	char number[16], path[32];
	struct stat st;
	uint64_t start;

	if (memcmp(head->boot, own->boot, sizeof(own->boot)))
		return true;
	if (head->pid_namespace != own->pid_namespace && own->heard > head->heard &&
	    own->heard - head->heard >= NVS_LIVE_ABANDONED_NS)
		return true;
	if (head->pid_namespace != own->pid_namespace || !own->pid_namespace || !own->start_time)
		return false;
	snprintf(number, sizeof(number), "%u", head->pid);
	snprintf(path, sizeof(path), "/proc/%s", number);
	if (nvs_sys_lstat(path, &st) == -ENOENT)
		return true;
	start = nvs_live_start_time(number);
	return start && start != head->start_time;
}

/* ---- stale pages ---- */

static bool clear_page(const char *name, void *arg)
{
	const char *folder = arg, *end = strstr(name, NVS_LIVE_SUFFIX);
	const struct nvs_live *own = nvs_live_page()->head;
	struct stat st, named;
	struct nvs_live head;
	char path[PATH_MAX];
	int fd;

	if (strncmp(name, "nvsnoop.", 8) || !end || end[sizeof(NVS_LIVE_SUFFIX) - 1])
		return false;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = nvs_sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	if (!nvs_sys_fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == own->uid &&
	    nvs_syscall(SYS_pread64, fd, (long)&head, sizeof(head), 0, 0, 0) == sizeof(head) &&
	    head.magic == NVS_LIVE_MAGIC && is_dead(&head, own) && !nvs_sys_lstat(path, &named) &&
	    named.st_ino == st.st_ino && named.st_dev == st.st_dev)
		nvs_sys_unlink(path);
	nvs_sys_close(fd);
	return false;
}

void nvs_live_clear_stale(void)
{
	const struct nvs_live_page *p = nvs_live_page();
	char folder[PATH_MAX];

	strcpy(folder, p->file.path);
	*strrchr(folder, '/') = '\0';
	nvs_folder_search(folder, clear_page, folder);
}
