/* SPDX-License-Identifier: MIT */
/* Finds the live pages of the processes to record, also in other mount namespaces: the page of a
 * process there is in its folder under /proc/PID/root. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "live/read/process_alive.h"
#include "live/record/record.h"
#include "nvsnoop/decode.h"

void nvs_record_complain(uint32_t pid, const char *format, ...)
{
	char text[512], safe[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	nvs_escape(safe, sizeof(safe), text, strlen(text));
	fprintf(stderr, "nvsnoop-record: process %u: %s\n", pid, safe);
}

static struct nvs_pages *add_set(struct nvs_record_targets *t)
{
	struct nvs_pages **more = reallocarray(t->sets, t->nsets + 1, sizeof(*more));

	if (!more)
		return NULL;
	t->sets = more;
	return nvs_pages_open(&more[t->nsets], 0) ? NULL : more[t->nsets++];
}

static int add_target(struct nvs_record_targets *t, const struct nvs_page *page, uint32_t pid)
{
	struct nvs_record_target *more;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->list[i].pid == pid)
			return 0;
	more = reallocarray(t->list, t->n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	t->list = more;
	more[t->n++] = (struct nvs_record_target){page, pid};
	return 0;
}

/* ---- one process ---- */

/* Reads /proc/PID/NAME. Returns the number of bytes; a NUL follows them. */
static size_t read_proc(uint32_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	size_t n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	file = fopen(path, "re");
	if (file) {
		n = fread(text, 1, size - 1, file);
		fclose(file);
	}
	text[n] = '\0';
	return n;
}

/* Returns the value of a variable in the environment that PID was started with, or NULL. */
static const char *find_variable(const char *environment, size_t n, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = environment; at < environment + n; at += strlen(at) + 1)
		if (!strncmp(at, name, length) && at[length] == '=')
			return at + length + 1;
	return NULL;
}

/* Returns the process's number in its own PID namespace. */
static uint32_t inner_pid(uint32_t pid)
{
	char text[8192], *line, *number;

	read_proc(pid, "status", text, sizeof(text));
	line = strstr(text, "\nNSpid:");
	if (!line)
		return pid;
	line[1 + strcspn(line + 1, "\n")] = '\0';
	number = strrchr(line, '\t');
	return number ? (uint32_t)strtoul(number + 1, NULL, 10) : pid;
}

/* Returns the number that user UID has in the process's user namespace. */
static uint32_t inner_uid(uint32_t pid, uint32_t uid)
{
	unsigned inside, outside, count;
	char text[8192], *line = text;

	read_proc(pid, "uid_map", text, sizeof(text));
	for (; sscanf(line, "%u %u %u", &inside, &outside, &count) == 3;
	     line += strcspn(line, "\n"), line += *line == '\n')
		if (uid - outside < count)
			return inside + (uid - outside);
	return uid;
}

static bool is_below(uint32_t pid, uint32_t ancestor)
{
	struct nvs_process_stat process = {.parent = pid};

	do
		nvs_process_stat_read(&process, process.parent);
	while (process.parent && process.parent != ancestor);
	return process.parent;
}

static const struct nvs_page *find_page(const struct nvs_pages *pages, uint32_t pid, uint64_t start)
{
	for (uint32_t i = 0; i < nvs_pages_count(pages); i++) {
		const struct nvs_page *page = nvs_pages_get(pages, i);

		if (page->pid == pid && page->start_time == start)
			return page;
	}
	return NULL;
}

static const struct nvs_page *find_in(struct nvs_record_targets *t, const char *folder,
				      uint32_t pid, uint64_t start)
{
	struct nvs_pages *pages;
	struct stat st;

	if (stat(folder, &st) || !(pages = add_set(t)) || nvs_pages_restrict(pages, folder) ||
	    nvs_pages_update(pages))
		return NULL;
	return find_page(pages, pid, start);
}

static const struct nvs_page *find_elsewhere(struct nvs_record_targets *t, uint32_t pid,
					     uint32_t uid, uint64_t start)
{
	static char environment[1 << 17];
	size_t n = read_proc(pid, "environ", environment, sizeof(environment));
	const char *given = find_variable(environment, n, "XDG_RUNTIME_DIR");
	uint32_t inner = inner_pid(pid);
	uint32_t user = inner_uid(pid, uid);
	const struct nvs_page *page = NULL;
	char folder[PATH_MAX];

	if (given && *given == '/') {
		snprintf(folder, sizeof(folder), "/proc/%u/root%s", pid, given);
		page = find_in(t, folder, inner, start);
	}
	for (int i = 0; !page && i < 2; i++) {
		snprintf(folder, sizeof(folder), "/proc/%u/root/%s%u", pid,
			 i ? "tmp/nvsnoop-" : "run/user/", user);
		page = find_in(t, folder, inner, start);
	}
	return page;
}

/* Returns why a process has no page that can be used, or NULL: it does not run under nvsnoop. */
static const char *find_reason(uint32_t pid, const struct stat *st)
{
	static char environment[1 << 17];
	const char *options, *out;
	size_t n;

	if (st->st_uid != geteuid() && geteuid())
		return "it belongs to another user";
	n = read_proc(pid, "environ", environment, sizeof(environment));
	options = find_variable(environment, n, NVS_ENV_OPTIONS);
	out = find_variable(environment, n, NVS_ENV_OUT);
	if (options && strstr(options, "live=off"))
		return "it was started with --live=off";
	return out && !strcmp(out, NVS_OUT_NONE) ? "it has not used a GPU yet" : NULL;
}

static bool can_record(const struct nvs_page *page)
{
	return !page->gone && page->flags & NVS_LIVE_RECORDS;
}

/* The launcher, whose process ID a shell has in $!, stands for the program that it runs. */
static int find_below(struct nvs_record_targets *t, uint32_t pid)
{
	const struct nvs_page *found = NULL;
	uint32_t count = 0;
	char pids[400] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < nvs_pages_count(t->sets[0]); i++) {
		const struct nvs_page *page = nvs_pages_get(t->sets[0], i);

		if (!can_record(page) || page->pid_namespace || !is_below(page->pid, pid))
			continue;
		found = page;
		count++;
		if (n + sizeof(",4294967295") <= sizeof(pids))
			n += (size_t)sprintf(pids + n, "%s%u", n ? "," : "", page->pid);
	}
	if (count == 1)
		return add_target(t, found, found->pid);
	t->missing++;
	if (count)
		nvs_record_complain(pid,
				    "%u processes below it run under nvsnoop -o none; "
				    "choose with -p %s",
				    count, pids);
	else
		nvs_record_complain(pid, "neither it nor a process below it has used a GPU under "
					 "nvsnoop -o none");
	return 0;
}

static int find_process(struct nvs_record_targets *t, uint32_t pid)
{
	struct nvs_process_stat process;
	const struct nvs_page *page;
	const char *reason;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (stat(path, &st)) {
		nvs_record_complain(pid, "there is no such process");
		t->missing++;
		return 0;
	}
	nvs_process_stat_read(&process, pid);
	page = find_page(t->sets[0], pid, process.start_time);
	if (!page)
		page = find_elsewhere(t, pid, st.st_uid, process.start_time);
	if (page)
		return add_target(t, page, pid);
	reason = find_reason(pid, &st);
	if (!reason)
		return find_below(t, pid);
	nvs_record_complain(pid, "%s", reason);
	t->missing++;
	return 0;
}

/* ---- several ---- */

static bool is_named(const struct nvs_pattern *p, const void *arg)
{
	const struct nvs_page *page = arg;

	return nvs_pattern_matches(p, page->program) ||
	       (*page->job && nvs_pattern_matches(p, page->job));
}

static int find_all(const struct nvs_record_options *o, struct nvs_record_targets *t)
{
	struct nvs_pages *pages = t->sets[0];
	int err = 0;

	for (uint32_t i = 0; !err && i < nvs_pages_count(pages); i++) {
		const struct nvs_page *page = nvs_pages_get(pages, i);

		if (can_record(page) && (o->all || nvs_patterns_select(&o->names, is_named, page)))
			err = add_target(t, page, page->pid);
	}
	if (!err && !t->n) {
		fputs("nvsnoop-record: no such process runs under nvsnoop -o none\n", stderr);
		t->missing++;
	}
	return err;
}

int nvs_record_find(const struct nvs_record_options *o, struct nvs_record_targets *t)
{
	struct nvs_pages *pages;
	int err = 0;

	*t = (struct nvs_record_targets){.list = NULL};
	pages = add_set(t);
	if (!pages || nvs_pages_update(pages))
		return -ENOMEM;
	if (!o->npids)
		return find_all(o, t);
	for (uint32_t i = 0; i < o->npids && !err; i++)
		err = find_process(t, o->pids[i]);
	return err;
}

void nvs_record_free(struct nvs_record_targets *t)
{
	while (t->nsets)
		nvs_pages_close(t->sets[--t->nsets]);
	free(t->sets);
	free(t->list);
}
