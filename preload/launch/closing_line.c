/* SPDX-License-Identifier: MIT */
/*
 * The closing line for a whole process tree. The library in each process appends a line to a
 * private file when its trace ends (format: NVS_ENV_SUMMARY in preload/base/options.h). Each is a
 * single write with O_APPEND, so lines of several processes do not mix.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "nvsnoop/trace.h"
#include "preload/launch/launch.h"
#include "preload/base/fault_text.h"
#include "preload/base/names.h"
#include "preload/base/options.h"
#include "preload/base/text.h"

#define MAX_NAMED 4 /* maximum of traces that are listed by name */

enum flag {
	STARTED, /* and not finished: its process was killed or still runs */
	RENAMED, /* the requested name was taken */
	LOST, /* the output could not be written to its end */
	FULL, /* recording stopped at its --max-size */
	STUCK, /* recording stopped since no further part could be created */
	CUT, /* it has only the last submissions */
	NEWER, /* its driver is newer than all known releases */
	UNKNOWN, /* calls to its driver had an unknown form */
	TRIGGER, /* its trigger file had invalid contents */
	FAILED, /* could not be created: why is in error */
	FLAGS
};

struct trace {
	uint64_t pid, submissions, gaps, bytes, skipped, lost_submissions;
	int error; /* errno of the first failed write; 0: none */
	char *path;
	struct nvs_fault_facts fault;
	bool is[FLAGS];
};

struct traces {
	struct trace *list;
	size_t n;
	size_t bypassed; /* processes of which nothing was seen */
};

static char summary_path[PATH_MAX];

int nvs_launch_summary_open(void)
{
	const char *folder = getenv("TMPDIR");
	int fd;

	if (snprintf(summary_path, sizeof(summary_path), "%s/nvsnoop.XXXXXX",
		     folder && *folder == '/' ? folder : "/tmp") >= (int)sizeof(summary_path))
		return -1;
	fd = mkostemp(summary_path, O_CLOEXEC);
	if (fd < 0 || setenv(NVS_ENV_SUMMARY, summary_path, 1)) {
		nvs_launch_print("cannot create %s: %s", summary_path, strerror(errno));
		return -1;
	}
	close(fd);
	return 0;
}

/* Returns the next field and advances *LINE. */
static char *next_field(char **line)
{
	return strsep(line, "\t") ?: "";
}

/* Converts \ooo back, in place. */
static void unescape_text(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' &&
		    text[2] <= '7' && text[3] >= '0' && text[3] <= '7') {
			*to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
				       (text[3] - '0'));
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = 0;
}

/* Returns the entry of this trace, a new one if there is none yet; NULL without memory. */
static struct trace *trace_of(struct traces *all, uint64_t pid, const char *path)
{
	struct trace *more;

	for (size_t i = 0; i < all->n; i++)
		if (all->list[i].pid == pid && !strcmp(all->list[i].path, path))
			return &all->list[i];
	more = reallocarray(all->list, all->n + 1, sizeof(*more));
	if (!more)
		return NULL;
	all->list = more;
	more[all->n] = (struct trace){.pid = pid, .path = strdup(path)};
	return more[all->n].path ? &more[all->n++] : NULL;
}

/* Returns true if WORD is in a comma-separated list. */
static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (!strncmp(list, word, length) && (list[length] == ',' || !list[length]))
			return true;
	}
	return false;
}

static void read_line(struct traces *all, char *line)
{
	static const char *const names[FLAGS] = {"started", "renamed", "lost",	"full",
						 "stuck",   "cut",     "newer", "unknown",
						 "trigger", "failed"};
	uint64_t numbers[4];
	struct trace *trace;
	char *path, *flags;

	for (int i = 0; i < 4; i++)
		numbers[i] = strtoull(next_field(&line), NULL, 10);
	path = next_field(&line);
	flags = next_field(&line);
	all->bypassed += has_word(flags, "bypassed");
	if (!*path)
		return;
	unescape_text(path);
	trace = trace_of(all, numbers[0], path);
	if (!trace)
		return;
	trace->submissions = numbers[1];
	trace->gaps = numbers[2];
	trace->bytes = numbers[3];
	trace->skipped = strtoull(next_field(&line), NULL, 10);
	trace->error = atoi(next_field(&line));
	trace->lost_submissions = strtoull(next_field(&line), NULL, 10);
	nvs_fault_parse(next_field(&line), &trace->fault);
	for (int i = 0; i < FLAGS; i++)
		trace->is[i] = has_word(flags, names[i]);
}

static void read_all(struct traces *all)
{
	FILE *file = fopen(summary_path, "re");
	char *line = NULL;
	size_t room = 0;

	if (!file)
		return;
	while (getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = 0;
		read_line(all, line);
	}
	free(line);
	fclose(file);
}

/* Returns PATH relative to the working directory if it is below it. */
static const char *shorten_path(const char *path)
{
	static char folder[PATH_MAX];
	size_t length;

	if (!getcwd(folder, sizeof(folder)))
		return path;
	length = strlen(folder);
	if (strncmp(path, folder, length) || path[length] != '/')
		return path;
	return path + length + 1;
}

/* Prints PATH quoted for a shell. */
static void print_word(FILE *out, const char *path)
{
	char quoted[4 * PATH_MAX + 8];

	nvs_text_quote(path, quoted, sizeof(quoted));
	fputs(quoted, out);
}

/* Returns the shell pattern that matches all names of the trace's name pattern: "out.%p.zst" gives
 * out.*.zst. NULL if there is none, or if it would need quoting. */
static const char *pattern_glob(void)
{
	static char glob[PATH_MAX];
	const char *from = getenv(NVS_ENV_OUT);
	size_t to = 0;

	for (; from && *from && to < sizeof(glob) - 1; from++) {
		if (*from != '%') {
			glob[to++] = *from;
			continue;
		}
		if (from[1] == 0)
			return NULL;
		from++;
		if (*from == 'q') {
			from = strchr(from, '}');
			if (!from)
				return NULL;
		}
		if (*from == '%')
			glob[to++] = '%';
		else if (!to || glob[to - 1] != '*')
			glob[to++] = '*';
		while (to >= 3 && !strncmp(glob + to - 3, "*.*", 3))
			to -= 2;
	}
	glob[to] = 0;
	if (!strchr(glob, '*') || glob[strspn(glob, NVS_SHELL_PLAIN "*")])
		return NULL;
	return shorten_path(glob);
}

/* Prints the command of the report, in the launcher's directory if that was called by a path. */
static void print_command(FILE *out, const char *argv0, const struct traces *all)
{
	const char *glob = all->n > MAX_NAMED ? pattern_glob() : NULL;
	char name[PATH_MAX];

	nvs_launch_subcommand_name(name, sizeof(name), argv0, "report");
	fputs(name, out);
	if (glob) {
		fprintf(out, " %s\n", glob);
		return;
	}
	for (size_t i = 0; i < all->n; i++) {
		fputc(' ', out);
		print_word(out, shorten_path(all->list[i].path));
	}
	fputc('\n', out);
}

struct sums {
	uint64_t submissions, gaps, bytes, skipped, lost_submissions;
	size_t n[FLAGS]; /* traces with each flag */
	int why_stuck; /* errno; 0: unknown, error is set instead */
	int error; /* of the first trace that has one */
};

/* Returns the size of an unfinished trace, including the parts before it (--keep-last). */
static uint64_t unfinished_bytes(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t length = strlen(slash + 1);
	struct dirent *entry;
	char folder[PATH_MAX];
	uint64_t sum = 0;
	struct stat st;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path + 1), path);
	dir = opendir(folder);
	while (dir && (entry = readdir(dir))) {
		const char *rest = entry->d_name + length;

		if (strncmp(entry->d_name, slash + 1, length) ||
		    (*rest &&
		     (*rest != '.' || !rest[1] || rest[1 + strspn(rest + 1, "0123456789")])))
			continue;
		if (!fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			sum += (uint64_t)st.st_size;
	}
	if (dir)
		closedir(dir);
	return sum;
}

static struct sums sum_up(const struct traces *all)
{
	struct sums sums = {0};

	for (size_t i = 0; i < all->n; i++) {
		const struct trace *trace = &all->list[i];

		sums.submissions += trace->submissions;
		sums.gaps += trace->gaps;
		sums.skipped += trace->skipped;
		sums.bytes += trace->is[STARTED] ? unfinished_bytes(trace->path) : trace->bytes;
		sums.lost_submissions += trace->lost_submissions;
		if (trace->is[STUCK] && !trace->is[LOST])
			sums.why_stuck = trace->error;
		else if (!sums.error)
			sums.error = trace->error;
		for (int flag = 0; flag < FLAGS; flag++)
			sums.n[flag] += trace->is[flag];
	}
	return sums;
}

/* Prints why writing failed, in how many traces, and how much was lost. */
static void print_lost(FILE *out, const struct sums *sums, size_t traces)
{
	fputs(sums->error ? "; WRITING FAILED" : "; WRITING HANGS", out);
	if (traces > 1)
		fprintf(out, " in %zu", sums->n[LOST]);
	if (sums->error)
		fprintf(out, " (%s)", strerror(sums->error));
	fprintf(out, ", %s submission%s lost", NVS_NUMBER(sums->lost_submissions),
		sums->lost_submissions == 1 ? " was" : "s were");
	if (!sums->error)
		fputs(", the others are only in the spool", out);
}

static void print_closing(FILE *out, const char *argv0, const struct traces *all, bool kept)
{
	struct sums sums = sum_up(all);

	fputs("nvsnoop: ", out);
	if (all->n == 1 && !kept)
		fputs("the trace", out);
	else if (all->n == 1)
		print_word(out, shorten_path(all->list[0].path));
	else
		fprintf(out, "%zu traces", all->n);
	if (sums.n[RENAMED])
		fputs(" (the requested name was taken)", out);
	fprintf(out, ": %s", NVS_SIZE(sums.bytes));
	/* The contents of an unfinished trace are known only after reading it. */
	if (sums.n[STARTED] < all->n) {
		fprintf(out, "%s%s submission%s, %s gap%s", sums.n[CUT] ? NVS_CLOSING_CUT : ", ",
			NVS_NUMBER(sums.submissions), NVS_PLURAL(sums.submissions),
			NVS_NUMBER(sums.gaps), NVS_PLURAL(sums.gaps));
		if (sums.skipped)
			fprintf(out, ", %s more only counted", NVS_NUMBER(sums.skipped));
		if (sums.n[FULL])
			fputs(NVS_CLOSING_FULL, out);
		if (sums.n[FULL] && all->n > 1)
			fprintf(out, " in %zu", sums.n[FULL]);
		if (sums.n[STUCK])
			fprintf(out, NVS_CLOSING_STUCK,
				strerror(sums.why_stuck ? sums.why_stuck : sums.error));
		if (sums.n[STUCK] && all->n > 1)
			fprintf(out, " in %zu", sums.n[STUCK]);
	}
	if (sums.n[STARTED])
		fprintf(out, ", %zu unfinished (killed or still running)", sums.n[STARTED]);
	if (sums.n[LOST])
		print_lost(out, &sums, all->n);
	if (sums.n[TRIGGER])
		fputs("; " NVS_CLOSING_TRIGGER, out);
	if (sums.n[NEWER])
		fputs(NVS_CLOSING_NEWER, out);
	if (sums.n[UNKNOWN])
		fputs(NVS_CLOSING_UNKNOWN, out);
	if (kept) {
		fputs("; next: ", out);
		print_command(out, argv0, all);
	} else {
		fputs("; not kept: use -o TRACE to keep it\n", out);
	}
}

/* Prints what faulted in the process where that was first, and the next command. */
static void print_faults(FILE *out, const char *argv0, const struct traces *all, bool kept)
{
	char text[NVS_FAULT_TEXT], name[PATH_MAX];
	const struct trace *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct trace *trace = &all->list[i];

		if (!nvs_fault_is_known(&trace->fault))
			continue;
		if (!n++ || trace->fault.after_us < first->fault.after_us)
			first = trace;
	}
	if (!first)
		return;
	nvs_fault_describe(&first->fault, text, sizeof(text));
	fprintf(out, "nvsnoop: %s", text);
	if (all->n > 1)
		fprintf(out, ", in process %llu", (unsigned long long)first->pid);
	if (n > 1)
		fprintf(out, " and, later, in %zu more", n - 1);
	fputc('\n', out);
	if (!kept)
		return;
	nvs_launch_subcommand_name(name, sizeof(name), argv0, "report");
	fprintf(out, "nvsnoop: which kernel: %s ", name);
	print_word(out, shorten_path(first->path));
	fputs(" --fault\n", out);
}

static void print_none(FILE *out, const char *program)
{
	const char *why = nvs_launch_preload_obstacle(program);

	fputs("nvsnoop: no trace: ", out);
	if (why)
		print_word(out, program);
	fprintf(out, "%s%s\n", why ? " " : "no GPU channel was opened", why ?: "");
}

/* Removes traces that could not be created, and prints why. Returns true if there were any. */
static bool drop_failed(struct traces *all, bool quiet)
{
	size_t kept = 0;
	bool any = false;

	for (size_t i = 0; i < all->n; i++) {
		const struct trace *trace = &all->list[i];

		if (trace->is[FAILED]) {
			char name[PATH_MAX];

			nvs_name_printable(trace->path, name, sizeof(name));
			if (!quiet)
				nvs_launch_print("nothing was recorded: %s: %s", name,
						 strerror(trace->error));
			free(all->list[i].path);
			any = true;
		} else {
			all->list[kept++] = all->list[i];
		}
	}
	all->n = kept;
	return any;
}

/* Written at once: other processes may write to the same terminal. */
static void print_all(const struct traces *all, const struct nvs_launch_args *args,
		      const char *argv0, bool failed)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return;
	if (all->n) {
		print_closing(out, argv0, all, !nvs_launch_stat_is_private(args));
		print_faults(out, argv0, all, !nvs_launch_stat_is_private(args));
	}
	if (!all->n && !failed && !all->bypassed)
		print_none(out, args->program[0]);
	if (all->bypassed)
		fprintf(out, "nvsnoop: nothing was recorded of %zu process%s: %s\n", all->bypassed,
			all->bypassed == 1 ? "" : "es", NVS_CLOSING_BYPASSED);
	fclose(out);
	if (write(STDERR_FILENO, text, length) < 0)
		length = 0;
	free(text);
}

static void print_stat(const char *argv0, bool timed, const struct traces *all)
{
	char **paths = calloc(all->n + 1, sizeof(*paths));

	for (size_t i = 0; paths && i < all->n; i++)
		paths[i] = (char *)shorten_path(all->list[i].path);
	if (paths)
		nvs_launch_stat_print(argv0, timed, paths, all->n);
	free(paths);
}

void nvs_launch_summary_close(const struct nvs_launch_args *args, const char *argv0, bool ran)
{
	struct traces all = {0};
	bool failed;

	/* The reader of our output may have ended; the launcher still ends as the program did. */
	signal(SIGPIPE, SIG_IGN);
	read_all(&all);
	unlink(summary_path);
	failed = drop_failed(&all, args->values.quiet);
	for (size_t i = 0; i < all.n; i++)
		if (all.list[i].is[STARTED])
			nvs_launch_embed_names(all.list[i].path);
	if (args->stat)
		print_stat(argv0, args->values.timing == NVS_TIMING_WORK, &all);
	if (ran && !args->values.quiet && !nvs_launch_is_untraced(args))
		print_all(&all, args, argv0, failed);
	for (size_t i = 0; i < all.n; i++)
		free(all.list[i].path);
	free(all.list);
}
