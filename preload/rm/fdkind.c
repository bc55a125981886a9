/* SPDX-License-Identifier: MIT */
/*
 * File descriptors: what each one is by the device behind it, and for devices, which open file and
 * which mapping context it carries. A small table answers for the fds that are nobody's business;
 * it can be stale (an fd may come and go without us), so whatever looks like a device call asks the
 * kernel again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "preload/base/state.h"
#include "preload/rm/rm.h"

#define TABLE 65536
#define NVIDIA_MAJOR 195
#define MINOR_MODESET 254
#define MINOR_CTL 255

struct entry {
	int fd;
	uint32_t file;
	struct nvs_rm_map *map;
	UT_hash_handle hh;
};

/* True in a forked child too, which inherits the fds. */
static _Atomic uint8_t kinds[TABLE];
static _Atomic int uvm_major; /* 0 not looked for, -1 there is none */

static struct entry **head(void)
{
	return (struct entry **)nvs_slot(NVS_SLOT_FD);
}

static struct entry *find(int fd)
{
	struct entry *e = NULL, *all = *head();

	HASH_FIND_INT(all, &fd, e);
	return e;
}

static int major_from_proc(void)
{
	static const char name[] = " nvidia-uvm\n";
	char text[4096];
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/devices", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : syscall(SYS_read, fd, text, sizeof(text) - 1);
	char *at;

	if (fd >= 0)
		syscall(SYS_close, fd);
	if (n <= 0)
		return -1;
	text[n] = 0;
	at = strstr(text, name);
	if (!at)
		return -1;
	while (at > text && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return atoi(at);
}

static int find_uvm_major(void)
{
	struct stat st;
	int known = atomic_load_explicit(&uvm_major, memory_order_relaxed);

	if (known)
		return known;
	if (!syscall(SYS_stat, "/dev/nvidia-uvm", &st) && S_ISCHR(st.st_mode))
		known = (int)major(st.st_rdev);
	else
		known = major_from_proc();
	atomic_store_explicit(&uvm_major, known, memory_order_relaxed);
	return known;
}

/* Memory, terminals and pseudo-terminals: not worth looking for UVM's number. */
static bool ordinary_major(unsigned number)
{
	return number <= 5 || (number >= 136 && number <= 143);
}

static enum nvs_fd_kind kind_of(const struct stat *st)
{
	unsigned number = major(st->st_rdev);

	if (!S_ISCHR(st->st_mode))
		return NVS_FD_OTHER;
	if (number == NVIDIA_MAJOR) {
		if (minor(st->st_rdev) == MINOR_CTL)
			return NVS_FD_CTL;
		return minor(st->st_rdev) == MINOR_MODESET ? NVS_FD_MODESET : NVS_FD_GPU;
	}
	/* Minor 1 is nvidia-uvm-tools, which maps and submits nothing. */
	if (!ordinary_major(number) && minor(st->st_rdev) == 0 && (int)number == find_uvm_major())
		return NVS_FD_UVM;
	return NVS_FD_OTHER;
}

static void remember(int fd, enum nvs_fd_kind kind)
{
	if (fd >= 0 && fd < TABLE && atomic_load_explicit(&kinds[fd], memory_order_relaxed) != kind)
		atomic_store_explicit(&kinds[fd], (uint8_t)kind, memory_order_relaxed);
}

static enum nvs_fd_kind remembered(int fd)
{
	return fd >= 0 && fd < TABLE ? atomic_load_explicit(&kinds[fd], memory_order_relaxed)
				     : NVS_FD_UNKNOWN;
}

enum nvs_fd_kind nvs_fd_kind(int fd)
{
	enum nvs_fd_kind kind = NVS_FD_OTHER;
	int err = errno;
	struct stat st;

	if (fd < 0)
		return NVS_FD_OTHER;
	if (!nvs_next()->fstat(fd, &st))
		kind = kind_of(&st);
	else
		kind = NVS_FD_UNKNOWN;
	remember(fd, kind);
	errno = err;
	return kind;
}

/* 'F' is the escapes' type; UVM's numbers are bare. */
static bool looks_like_ours(unsigned long request)
{
	return (request >> 8 & 0xff) == 'F' || request < 2048 || (request & ~3ul) == 0x30000000;
}

enum nvs_fd_kind nvs_fd_kind_for(int fd, unsigned long request)
{
	enum nvs_fd_kind kind = remembered(fd);

	if (kind == NVS_FD_OTHER && !looks_like_ours(request))
		return kind;
	return nvs_fd_kind(fd);
}

static void learn_uvm(int fd)
{
	int err = errno;
	struct stat st;

	if (!nvs_next()->fstat(fd, &st) && S_ISCHR(st.st_mode) && major(st.st_rdev) != NVIDIA_MAJOR)
		atomic_store_explicit(&uvm_major, (int)major(st.st_rdev), memory_order_relaxed);
	errno = err;
}

bool nvs_fd_tracked(int fd)
{
	if (fd < 0)
		return false;
	if (fd >= TABLE)
		return *head() != NULL;
	return remembered(fd) > NVS_FD_OTHER;
}

void nvs_fd_opened(int fd, const char *path)
{
	/* Whoever had the number before has closed it without us. */
	if (nvs_fd_tracked(fd) && nvs_state_borrowed())
		return;
	if (nvs_fd_tracked(fd))
		nvs_fd_closing(fd);
	else
		remember(fd, NVS_FD_UNKNOWN);
	if (strncmp(path, "/dev/nvidia", 11))
		return;
	if (!strcmp(path, "/dev/nvidia-uvm"))
		learn_uvm(fd);
	nvs_fd_kind(fd);
}

static struct entry *make(int fd)
{
	struct entry *e = find(fd), *all;

	if (e)
		return e;
	e = nvs_alloc(sizeof(*e));
	if (!e)
		return NULL;
	e->fd = fd;
	e->file = ++nvs_rm()->next_file;
	all = *head();
	HASH_ADD_INT(all, fd, e);
	*head() = all;
	return e;
}

static bool file_open(uint32_t file)
{
	struct nvs_rm *rm = nvs_rm();
	struct entry *e, *next, *all = *head();

	HASH_ITER(hh, all, e, next)
		if (e->file == file)
			return true;
	/* A mapping holds the file as an fd does. */
	for (uint32_t i = 0; i < rm->cpu.n; i++)
		if (((struct nvs_cpu_map *)rm->cpu.at[i])->file == file)
			return true;
	return false;
}

static void forget(struct entry *e)
{
	struct entry *all = *head();
	uint32_t file = e->file;

	HASH_DEL(all, e);
	*head() = all;
	nvs_rm_map_put(e->map);
	nvs_free(e, sizeof(*e));
	if (file_open(file))
		return;
	nvs_objects_file_closed(file);
	nvs_gpu_maps_file_closed(file);
	nvs_publish();
}

void nvs_fd_closing(int fd)
{
	struct entry *e;
	sigset_t saved;
	bool tracked = nvs_fd_tracked(fd);

	if (tracked && nvs_state_borrowed())
		return;
	remember(fd, NVS_FD_UNKNOWN);
	if (!tracked)
		return;
	nvs_lock(&saved);
	e = find(fd);
	if (e)
		forget(e);
	nvs_unlock(&saved);
}

void nvs_fd_closing_range(unsigned first, unsigned last)
{
	struct entry *e, *next, *all;
	sigset_t saved;

	if (nvs_state_borrowed())
		return;
	for (unsigned fd = first; fd <= last && fd < TABLE; fd++)
		remember((int)fd, NVS_FD_UNKNOWN);
	if (!*head())
		return;
	nvs_lock(&saved);
again:
	all = *head();
	HASH_ITER(hh, all, e, next) {
		if ((unsigned)e->fd < first || (unsigned)e->fd > last)
			continue;
		forget(e);
		goto again;
	}
	nvs_unlock(&saved);
}

void nvs_fd_duped(int from, int to)
{
	struct entry *a, *b;
	sigset_t saved;

	if (from == to || ((nvs_fd_tracked(from) || nvs_fd_tracked(to)) && nvs_state_borrowed()))
		return;
	nvs_fd_closing(to);
	if (!nvs_fd_tracked(from) || nvs_fd_kind(from) < NVS_FD_CTL)
		return;
	nvs_lock(&saved);
	remember(to, remembered(from));
	a = nvs_rm() ? make(from) : NULL;
	b = a ? make(to) : NULL;
	if (b) {
		b->file = a->file;
		b->map = a->map;
		if (b->map)
			b->map->refs++;
	}
	nvs_unlock(&saved);
}

uint32_t nvs_fd_file(int fd)
{
	struct entry *e = make(fd);

	return e ? e->file : 0;
}

/* The context belongs to the open file: every fd of it shows the same. */
void nvs_fd_set_map(int fd, struct nvs_rm_map *map)
{
	struct entry *named = fd >= 0 ? make(fd) : NULL, *e, *next, *all = *head();

	if (!named)
		return;
	HASH_ITER(hh, all, e, next) {
		if (e->file != named->file)
			continue;
		map->refs++;
		nvs_rm_map_put(e->map);
		e->map = map;
	}
}

struct nvs_rm_map *nvs_fd_map(int fd)
{
	struct entry *e = find(fd);

	return e ? e->map : NULL;
}
