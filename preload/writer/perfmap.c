/* SPDX-License-Identifier: MIT */
/*
 * Names of code that was generated at run time, from /tmp/perf-PID.map: Python (-X perf), JVMs and
 * others add a line "START SIZE NAME" in hexadecimal for each function. The file is read once for
 * all addresses.
 */
#include <string.h>
#include <unistd.h>
#include "preload/base/sys.h"
#include "preload/writer/symbols.h"

#define PIECE (64u << 10) /* maximum length of a line */
#define MAX_BYTES (256ll << 20)

static void map_path(uint32_t pid, char *to)
{
	char digits[12], *p = digits + sizeof(digits);

	*--p = '\0';
	do
		*--p = (char)('0' + pid % 10);
	while (pid /= 10);
	strcpy(stpcpy(stpcpy(to, "/tmp/perf-"), p), ".map");
}

/* Any user can write to /tmp. */
static int open_map(uint32_t pid)
{
	char path[64];
	struct stat st;
	int fd;

	map_path(pid, path);
	fd = nvs_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
	if (fd >= 0 && (nvs_sys_fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > MAX_BYTES ||
			st.st_uid != geteuid())) {
		nvs_sys_close(fd);
		return -ENOENT;
	}
	return fd;
}

static int parse_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Parses the number at *P and the blank after it, and advances *P past them. */
static bool parse_number(const char **p, uint64_t *value)
{
	const char *s = *p;

	if (s[0] == '0' && s[1] == 'x')
		s += 2;
	for (*value = 0; parse_digit(*s) >= 0 && *value >> 60 == 0; s++)
		*value = *value << 4 | (unsigned)parse_digit(*s);
	if (s == *p || *s != ' ')
		return false;
	*p = s + 1;
	return true;
}

/* The addresses to name, in ascending order. */
struct sought {
	struct nvs_wanted *wanted;
	size_t n;
	uint64_t steps; /* addresses compared */
};

/* LINE is at offset PLACE of the file. Later lines override earlier ones. */
static void parse_line(const char *line, uint64_t place, struct sought *s)
{
	const char *p = line;
	uint64_t start, size;

	if (!parse_number(&p, &start) || !parse_number(&p, &size))
		return;
	for (size_t i = nvs_wanted_from(s->wanted, s->n, start, &s->steps); i < s->n;
	     i++, s->steps++) {
		if (s->wanted[i].address - start >= size)
			return;
		s->wanted[i].covering[NVS_HIT_ANY] = (struct nvs_hit){
			.start = start,
			.name = (uint32_t)(place + (uint64_t)(p - line)),
			.table = 1,
		};
	}
}

static void read_lines(int fd, char *text, struct sought *s)
{
	uint64_t place = 0; /* file offset of text[0] */
	size_t used = 0;
	long got;

	while ((got = nvs_sys_read(fd, text + used, PIECE - used)) > 0) {
		char *line = text, *end;

		used += (size_t)got;
		for (; (end = memchr(line, '\n', used - (size_t)(line - text))); line = end + 1) {
			*end = '\0';
			parse_line(line, place + (uint64_t)(line - text), s);
		}
		if (line == text && used == PIECE)
			return; /* too long for a valid line */
		place += (uint64_t)(line - text);
		used -= (size_t)(line - text);
		memmove(text, line, used);
	}
}

static void report_name(int fd, char *text, const struct nvs_wanted *w,
			void (*tell)(void *arg, const struct nvs_name *name), void *arg)
{
	const struct nvs_hit *hit = &w->covering[NVS_HIT_ANY];
	struct nvs_name name = {w, text, "", w->address - hit->start, 0};
	long n = nvs_syscall(SYS_pread64, fd, (long)text, NVS_NAME_MAX, hit->name, 0, 0);
	char *end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;

	if (!end || end == text)
		return;
	*end = '\0';
	tell(arg, &name);
}

uint64_t nvs_perfmap_find(void *scratch, uint32_t pid, struct nvs_wanted *wanted, size_t n,
			  void (*tell)(void *arg, const struct nvs_name *name), void *arg)
{
	struct sought s = {.wanted = wanted, .n = n};
	int fd = open_map(pid);

	_Static_assert(PIECE <= NVS_SCRATCH_BYTES, "too little room");
	if (fd < 0)
		return 0;
	read_lines(fd, scratch, &s);
	for (size_t i = 0; i < n; i++)
		if (wanted[i].covering[NVS_HIT_ANY].table)
			report_name(fd, scratch, &wanted[i], tell, arg);
	nvs_sys_close(fd);
	return s.steps;
}
