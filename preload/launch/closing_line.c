/* SPDX-License-Identifier: MIT */
/*
 * The closing line of a whole process tree. The library in each process appends one line to a
 * private file when its trace is ended: process id, submissions, gaps, bytes of the trace, its
 * path and what became of it (NVS_ENV_SUMMARY in preload/base/options.h). Written in one piece with
 * O_APPEND, lines of many processes do not mix.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "preload/launch/launch.h"
#include "preload/base/names.h"
#include "preload/base/options.h"

#define MAX_NAMED 4 /* traces named one by one */

struct trace {
	uint64_t pid, submissions, gaps, bytes, skipped, lost_submissions;
	int error; /* errno of the first write that failed, 0: none */
	char *path;
	bool open; /* begun, and not ended in order: its process was killed, or runs on */
	bool renamed; /* the name asked for was taken */
	bool lost; /* the output could not be written to its end */
	bool full; /* it stopped at its --max-size */
	bool stuck; /* it stopped as no further part could be made */
	bool cut; /* it holds the last of the submissions */
	bool newer; /* its driver's release is newer than all that are known */
	bool trigger; /* its trigger file held what cannot be obeyed */
	bool failed; /* could not be made: why is in error */
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
		nvs_launch_say("cannot make %s: %s", summary_path, strerror(errno));
		return -1;
	}
	close(fd);
	return 0;
}

/* Takes the next field off *LINE. */
static char *field(char **line)
{
	char *text = strsep(line, "\t");

	return text ?: "";
}

/* Undoes \ooo in place. */
static void unescape(char *text)
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

/* The entry of a trace that is known already, else a new one. NULL: no memory. */
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

/* Whether WORD is in a list with commas. */
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
	uint64_t numbers[4];
	struct trace *trace;
	char *path, *flags;

	for (int i = 0; i < 4; i++)
		numbers[i] = strtoull(field(&line), NULL, 10);
	path = field(&line);
	flags = field(&line);
	all->bypassed += has_word(flags, "bypassed");
	if (!*path)
		return;
	unescape(path);
	trace = trace_of(all, numbers[0], path);
	if (!trace)
		return;
	trace->submissions = numbers[1];
	trace->gaps = numbers[2];
	trace->bytes = numbers[3];
	trace->open = has_word(flags, "started");
	trace->renamed = has_word(flags, "renamed");
	trace->lost = has_word(flags, "lost");
	trace->skipped = strtoull(field(&line), NULL, 10);
	trace->error = atoi(field(&line));
	trace->lost_submissions = strtoull(field(&line), NULL, 10);
	trace->trigger = has_word(flags, "trigger");
	trace->newer = has_word(flags, "newer");
	trace->full = has_word(flags, "full");
	trace->stuck = has_word(flags, "stuck");
	trace->cut = has_word(flags, "cut");
	trace->failed = has_word(flags, "failed");
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

/* PATH as seen from the folder we are in, where it lies below it. */
static const char *shorter(const char *path)
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

/* What means nothing to a shell. */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=:,@%^"

/* PATH as it can be typed into a shell. */
static void print_word(FILE *out, const char *path)
{
	if (path[strspn(path, PLAIN)] == 0) {
		fputs(path, out);
		return;
	}
	fputc('\'', out);
	for (; *path; path++) {
		if (*path == '\'')
			fputs("'\\''", out);
		else
			fputc((unsigned char)*path < 32 || *path == 127 ? '?' : *path, out);
	}
	fputc('\'', out);
}

static void print_size(FILE *out, uint64_t bytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB"};
	double size = bytes / 1000.;
	int unit = 0;

	if (bytes < 1000) {
		fprintf(out, "%" PRIu64 " bytes", bytes);
		return;
	}
	for (; size >= 999.95 && unit < 3; unit++)
		size /= 1000;
	fprintf(out, "%.1f %s", size, units[unit]);
}

/* "80,000 submissions" */
static void print_count(FILE *out, uint64_t n, const char *what, const char *plural)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < length; i++)
		fprintf(out, "%s%c", i && (length - i) % 3 == 0 ? "," : "", digits[i]);
	fprintf(out, " %s", n == 1 ? what : plural);
}

/*
 * What fits all names of a pattern, for the shell: "out.%p.zst" is out.*.zst. NULL when there is
 * nothing to fit, or a name that the shell would take apart.
 */
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
	if (!strchr(glob, '*') || glob[strspn(glob, PLAIN "*")])
		return NULL;
	return shorter(glob);
}

/* The report as it can be called: beside the launcher if that was named by a path. */
static void print_command(FILE *out, const char *argv0, const struct traces *all)
{
	const char *slash = strrchr(argv0, '/');
	const char *glob = all->n > MAX_NAMED ? pattern_glob() : NULL;

	if (slash)
		fprintf(out, "%.*s", (int)(slash - argv0 + 1), argv0);
	fputs("nvsnoop-report", out);
	if (glob) {
		fprintf(out, " %s\n", glob);
		return;
	}
	for (size_t i = 0; i < all->n; i++) {
		fputc(' ', out);
		print_word(out, shorter(all->list[i].path));
	}
	fputc('\n', out);
}

struct sums {
	uint64_t submissions, gaps, bytes, skipped, lost_submissions;
	size_t open, renamed, lost, trigger, newer, full, stuck, cut;
	int why_stuck; /* errno; 0: not known beside that of what was lost */
	int error; /* the first trace's that has one */
};

/* Bytes of a trace that is not ended, with the segments before it: --keep-last. */
static uint64_t open_bytes(const char *path)
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
		sums.bytes += trace->open ? open_bytes(trace->path) : trace->bytes;
		sums.open += trace->open;
		sums.renamed += trace->renamed;
		sums.lost += trace->lost;
		sums.lost_submissions += trace->lost_submissions;
		if (trace->stuck && !trace->lost)
			sums.why_stuck = trace->error;
		else if (!sums.error)
			sums.error = trace->error;
		sums.stuck += trace->stuck;
		sums.trigger += trace->trigger;
		sums.newer += trace->newer;
		sums.full += trace->full;
		sums.cut += trace->cut;
	}
	return sums;
}

/* Why writing failed, in how many traces, and what they lack. */
static void print_lost(FILE *out, const struct sums *sums, size_t traces)
{
	fputs(sums->error ? "; WRITING FAILED" : "; WRITING HANGS", out);
	if (traces > 1)
		fprintf(out, " in %zu", sums->lost);
	if (sums->error)
		fprintf(out, " (%s)", strerror(sums->error));
	fputs(", ", out);
	print_count(out, sums->lost_submissions, "submission was lost", "submissions were lost");
	if (!sums->error)
		fputs(", others are in the spool alone", out);
}

static void print_closing(FILE *out, const char *argv0, const struct traces *all, bool kept)
{
	struct sums sums = sum_up(all);

	fputs("nvsnoop: ", out);
	if (all->n == 1 && !kept)
		fputs("the trace", out);
	else if (all->n == 1)
		print_word(out, shorter(all->list[0].path));
	else
		fprintf(out, "%zu traces", all->n);
	if (sums.renamed)
		fputs(" (the name asked for was taken)", out);
	fputs(": ", out);
	print_size(out, sums.bytes);
	/* What an unfinished trace holds only its reader knows. */
	if (sums.open < all->n) {
		fputs(sums.cut ? NVS_SAID_CUT : ", ", out);
		print_count(out, sums.submissions, "submission", "submissions");
		fputs(", ", out);
		print_count(out, sums.gaps, "gap", "gaps");
		if (sums.skipped) {
			fputs(", ", out);
			print_count(out, sums.skipped, "more only counted", "more only counted");
		}
		if (sums.full)
			fputs(NVS_SAID_FULL, out);
		if (sums.full && all->n > 1)
			fprintf(out, " in %zu", sums.full);
		if (sums.stuck)
			fprintf(out, NVS_SAID_STUCK,
				strerror(sums.why_stuck ? sums.why_stuck : sums.error));
		if (sums.stuck && all->n > 1)
			fprintf(out, " in %zu", sums.stuck);
	}
	if (sums.open)
		fprintf(out, ", %zu not ended in order", sums.open);
	if (sums.lost)
		print_lost(out, &sums, all->n);
	if (sums.trigger)
		fputs("; " NVS_TRIGGER_WRONG, out);
	if (sums.newer)
		fputs(NVS_SAID_NEWER, out);
	if (kept) {
		fputs("; next: ", out);
		print_command(out, argv0, all);
	} else {
		fputs("; not kept: -o TRACE keeps it\n", out);
	}
}

static void print_none(FILE *out, const char *program)
{
	const char *why = nvs_launch_cannot_preload(program);

	fputs("nvsnoop: no trace: ", out);
	if (why)
		print_word(out, program);
	fprintf(out, "%s%s\n", why ? " " : "no GPU channel was opened", why ?: "");
}

/* Takes out what could not be made, and prints why. True: there was such a trace. */
static bool drop_failed(struct traces *all, bool quiet)
{
	size_t kept = 0;
	bool any = false;

	for (size_t i = 0; i < all->n; i++) {
		const struct trace *trace = &all->list[i];

		if (trace->failed) {
			char name[PATH_MAX];

			nvs_name_printable(trace->path, name, sizeof(name));
			if (!quiet)
				nvs_launch_say("nothing was recorded: %s: %s", name,
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

/* In one piece: others may be writing to the same terminal. */
static void print_all(const struct traces *all, const struct nvs_launch_args *args,
		      const char *argv0, bool failed)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return;
	if (all->n)
		print_closing(out, argv0, all, !nvs_launch_stat_private(args));
	else if (!failed && !all->bypassed)
		print_none(out, args->program[0]);
	if (all->bypassed)
		fprintf(out, "nvsnoop: nothing was recorded of %zu process%s: %s\n", all->bypassed,
			all->bypassed == 1 ? "" : "es", NVS_SAID_BYPASSED);
	fclose(out);
	if (write(STDERR_FILENO, text, length) < 0)
		length = 0;
	free(text);
}

static void print_stat(const char *argv0, const struct traces *all)
{
	char **paths = calloc(all->n + 1, sizeof(*paths));

	for (size_t i = 0; paths && i < all->n; i++)
		paths[i] = (char *)shorter(all->list[i].path);
	if (paths)
		nvs_launch_stat_print(argv0, paths, all->n);
	free(paths);
}

void nvs_launch_summary_close(const struct nvs_launch_args *args, const char *argv0, bool ran)
{
	struct traces all = {0};
	bool failed;

	/* Who reads what we print may be gone; we end as the program did all the same. */
	signal(SIGPIPE, SIG_IGN);
	read_all(&all);
	unlink(summary_path);
	failed = drop_failed(&all, args->values.quiet);
	for (size_t i = 0; i < all.n; i++)
		if (all.list[i].open)
			nvs_launch_embed(all.list[i].path);
	if (args->stat)
		print_stat(argv0, &all);
	if (ran && !args->values.quiet && !nvs_launch_untraced(args))
		print_all(&all, args, argv0, failed);
	for (size_t i = 0; i < all.n; i++)
		free(all.list[i].path);
	free(all.list);
}
