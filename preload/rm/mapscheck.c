/* SPDX-License-Identifier: MIT */
/*
 * The final check at exit: every writable mapping of a GPU device node in /proc/self/maps must be
 * one of our aliases or known not to be a doorbell. Finds doorbell mappings that the hooked ioctls
 * did not reveal.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "preload/rm/rm.h"

struct maps_line {
	uint64_t start, end;
	bool writable;
	const char *path;
};

static const char *parse_hex(const char *p, uint64_t *value)
{
	for (*value = 0;; p++) {
		if (*p >= '0' && *p <= '9')
			*value = *value << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			*value = *value << 4 | (uint64_t)(*p - 'a' + 10);
		else
			return p;
	}
}

/* A line of /proc/self/maps: "start-end perms offset dev inode   path". */
static bool parse_line(const char *p, struct maps_line *l)
{
	p = parse_hex(p, &l->start);
	if (*p != '-')
		return false;
	p = parse_hex(p + 1, &l->end);
	if (*p != ' ' || !p[1] || !p[2])
		return false;
	l->writable = p[2] == 'w';
	for (int field = 0; field < 4; field++) {
		p += strspn(p, " ");
		p += strcspn(p, " ");
	}
	p += strspn(p, " ");
	l->path = p;
	return true;
}

/* True for "/dev/nvidia" followed by digits, also under memfd_create's name for it. */
static bool is_gpu_node(const char *path)
{
	size_t digits;

	if (!strncmp(path, "/memfd:", 7))
		path += 7;
	if (strncmp(path, "/dev/nvidia", 11))
		return false;
	digits = strspn(path + 11, "0123456789");
	return digits && (!path[11 + digits] || path[11 + digits] == ' ');
}

static bool line_is_within(const struct maps_line *l, uintptr_t start, uint64_t size)
{
	return start && l->start >= start && l->end <= start + size;
}

/* True for our own mappings: the alias of a doorbell, or the extra mappings of ring memory. */
static bool is_ours(const struct nvs_rm *rm, const struct maps_line *l)
{
	const struct nvs_cpu_map *m;

	NVS_SPANS_ALL(&rm->cpu, m)
	{
		uint64_t size = m->at.end - m->at.start;

		if (line_is_within(l, m->alias, size) || line_is_within(l, m->real, size) ||
		    line_is_within(l, m->spare, size))
			return true;
	}
	return false;
}

/* True if the object's class is unknown and the mapping has a doorbell's size. */
static bool may_be_doorbell(const struct nvs_cpu_map *m)
{
	return m->kind == NVS_MAP_MEMORY && m->at.end - m->at.start == NVS_DOORBELL_BYTES &&
	       !nvs_class_is_memory(m->object_class);
}

/* True if a store through this mapping could ring a GPU unseen. */
static bool may_ring_unseen(struct nvs_rm *rm, const struct maps_line *l)
{
	const struct nvs_cpu_map *m;

	if (!l->writable || !is_gpu_node(l->path) || is_ours(rm, l))
		return false;
	NVS_SPANS_EACH(&rm->cpu, m, l->start, l->end)
	{
		return nvs_map_is_doorbell(m) || may_be_doorbell(m);
	}
	/* An unknown mapping of a doorbell's size may be one, unless it was left after its object
	 * was freed. */
	return l->end - l->start == NVS_DOORBELL_BYTES && !nvs_maps_is_dead(l->start, l->end);
}

static uint64_t check_line(struct nvs_rm *rm, const char *text)
{
	struct maps_line l;

	if (!parse_line(text, &l) || !may_ring_unseen(rm, &l))
		return 0;
	nvs_record_check_result(NVS_CHECK_UNARMED, 0, l.start, l.end);
	return 1;
}

void nvs_maps_check(void)
{
	struct nvs_rm *rm = nvs_rm();
	char text[8192];
	size_t have = 0;
	uint64_t found = 0;
	int err = errno,
	    fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	while ((n = syscall(SYS_read, fd, text + have, sizeof(text) - 1 - have)) > 0) {
		char *line = text, *end;

		have += (size_t)n;
		text[have] = 0;
		while ((end = strchr(line, '\n'))) {
			*end = 0;
			found += check_line(rm, line);
			line = end + 1;
		}
		have -= (size_t)(line - text);
		memmove(text, line, have);
		if (have == sizeof(text) - 1)
			have = 0;
	}
	syscall(SYS_close, fd);
	nvs_record_check_result(NVS_CHECK_MAPS, found, 0, 0);
	errno = err;
}
