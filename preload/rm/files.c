/* SPDX-License-Identifier: MIT */
/* Device descriptors: the open file behind each fd, and the mapping context that this file carries
 * (the RM_MAP_MEMORY that its next mmap will show). */
#include "preload/rm/rm.h"

struct fd_entry {
	int fd;
	uint32_t file;
	struct nvs_rm_map *map;
	UT_hash_handle hh;
};

static struct fd_entry **fd_table(void)
{
	return (struct fd_entry **)nvs_slot(NVS_SLOT_FD);
}

static struct fd_entry *find_entry(int fd)
{
	struct fd_entry *e = NULL, *all = *fd_table();

	HASH_FIND_INT(all, &fd, e);
	return e;
}

static struct fd_entry *add_entry(int fd)
{
	struct fd_entry *e = find_entry(fd), *all;

	if (e)
		return e;
	e = nvs_alloc(sizeof(*e));
	if (!e)
		return NULL;
	e->fd = fd;
	e->file = ++nvs_rm()->next_file;
	all = *fd_table();
	HASH_ADD_INT(all, fd, e);
	*fd_table() = all;
	return e;
}

static bool file_open(uint32_t file)
{
	struct nvs_rm *rm = nvs_rm();
	struct fd_entry *e, *next, *all = *fd_table();

	HASH_ITER(hh, all, e, next)
		if (e->file == file)
			return true;
	/* A mapping keeps the file open as an fd does. */
	for (uint32_t i = 0; i < rm->cpu.n; i++)
		if (((struct nvs_cpu_map *)rm->cpu.at[i])->file == file)
			return true;
	return false;
}

uint32_t nvs_fd_remove(int fd)
{
	struct fd_entry *e = find_entry(fd), *all = *fd_table();
	uint32_t file;

	if (!e)
		return 0;
	file = e->file;
	HASH_DEL(all, e);
	*fd_table() = all;
	nvs_rm_map_put(e->map);
	nvs_free(e, sizeof(*e));
	return file_open(file) ? 0 : file;
}

int nvs_fd_in_range(unsigned first, unsigned last)
{
	struct fd_entry *e, *next, *all = *fd_table();

	HASH_ITER(hh, all, e, next)
		if ((unsigned)e->fd >= first && (unsigned)e->fd <= last)
			return e->fd;
	return -1;
}

void nvs_fd_share(int from, int to)
{
	struct fd_entry *a = add_entry(from), *b = a ? add_entry(to) : NULL;

	if (!b)
		return;
	b->file = a->file;
	b->map = a->map;
	if (b->map)
		b->map->refs++;
}

uint32_t nvs_fd_file(int fd)
{
	struct fd_entry *e = add_entry(fd);

	return e ? e->file : 0;
}

/* The context belongs to the open file, so all fds of that file share it. */
void nvs_fd_set_map(int fd, struct nvs_rm_map *map)
{
	struct fd_entry *named = fd >= 0 ? add_entry(fd) : NULL, *e, *next, *all = *fd_table();

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
	struct fd_entry *e = find_entry(fd);

	return e ? e->map : NULL;
}

void nvs_rm_map_put(struct nvs_rm_map *map)
{
	if (map && !--map->refs)
		nvs_free(map, sizeof(*map));
}
