/* SPDX-License-Identifier: MIT */
/* Names of code generated at run time, from /tmp/perf-PID.map: Python (-X perf), JVMs and others
 * write a line "START SIZE NAME" for each piece of code, in hexadecimal. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "decode/base/grow.h"
#include "decode/base/search.h"
#include "decode/trace/internal.h"
#include "decode/base/compare.h"
#include "decode/base/uncounted.h"

#define MAX_PIECES (4u << 20)
#define MAX_FILE (512ll << 20)

struct perfmap_entry {
	uint64_t start, size;
	uint32_t place; /* index in the file: of two at one address the later one is valid */
	char *name;
};

struct nvs_perfmap {
	struct perfmap_entry *items;
	uint32_t count, room;
};

static uint64_t start_ns(const struct nvs_trace *t)
{
	return t->session.header.realtime_ns;
}

/* Checks the file, as the pid may have been reused and /tmp is world-writable. */
static bool is_ours(const struct nvs_trace *t, int fd)
{
	const char *host = t->session.attr[NVS_ATTR_HOST];
	struct utsname here;
	struct stat st;

	return host && !uname(&here) && !strcmp(host, here.nodename) && !fstat(fd, &st) &&
	       S_ISREG(st.st_mode) && (st.st_uid == geteuid() || !geteuid()) &&
	       st.st_size <= MAX_FILE && (uint64_t)st.st_mtime >= start_ns(t) / 1000000000u;
}

static FILE *open_map(const struct nvs_trace *t)
{
	char path[40];
	FILE *file;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", t->session.header.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	file = fd >= 0 && is_ours(t, fd) ? fdopen(fd, "r") : NULL;
	if (fd >= 0 && !file)
		close(fd);
	return file;
}

static bool add_piece(struct nvs_perfmap *map, uint64_t start, uint64_t size, const char *name)
{
	uint32_t index = map->count;
	struct perfmap_entry *own = NVS_APPEND(map->items, map->count, map->room, 1024, MAX_PIECES);

	if (own)
		*own = (struct perfmap_entry){start, size, index, strdup(name)};
	return own && own->name;
}

static void read_map(struct nvs_perfmap *map, FILE *file)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	while ((length = getline(&line, &room, file)) > 0) {
		char *end, *name;
		uint64_t start = strtoull(line, &end, 16), size = strtoull(end, &name, 16);

		if (line[length - 1] == '\n')
			line[--length] = '\0';
		if (*end != ' ' || *name != ' ' || !name[1] || !size)
			continue;
		if (!add_piece(map, start, size, name + 1))
			break;
	}
	free(line);
}

static int compare_starts(const void *pa, const void *pb)
{
	const struct perfmap_entry *a = pa, *b = pb;

	return NVS_CMP(a->start, b->start) ?: NVS_CMP(a->place, b->place);
}

static struct nvs_perfmap *load_map(const struct nvs_trace *t)
{
	struct nvs_perfmap *map = calloc(1, sizeof(*map));
	FILE *file = map ? open_map(t) : NULL;

	if (!file)
		return map;
	read_map(map, file);
	fclose(file);
	if (map->count)
		qsort(map->items, map->count, sizeof(*map->items), compare_starts);
	return map;
}

const char *nvs_perfmap_lookup(struct nvs_trace *t, uint64_t address, uint64_t *offset)
{
	struct nvs_perfmap *map = t->perfmap ? t->perfmap : (t->perfmap = load_map(t));
	size_t n = map ? NVS_COUNT_UP_TO(map->items, map->count, start, address) : 0;
	const struct perfmap_entry *last = n ? map->items + n - 1 : NULL;

	if (!last || address - last->start >= last->size)
		return NULL;
	*offset = address - last->start;
	return last->name;
}

void nvs_perfmap_free(struct nvs_trace *t)
{
	for (uint32_t i = 0; t->perfmap && i < t->perfmap->count; i++)
		free(t->perfmap->items[i].name);
	if (t->perfmap)
		free(t->perfmap->items);
	free(t->perfmap);
}
