/* SPDX-License-Identifier: MIT */
/* Output of reports: pager, colour, width, escaping, and the progress line. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "decode/cli/background_file.h"
#include "decode/cli/output.h"
#include "nvsnoop/decode.h"

static bool want_color(const struct nvs_print_options *o, bool terminal)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (o->color)
		return o->color > 0;
	return terminal && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

int nvs_terminal_width(int otherwise)
{
	struct winsize w;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : otherwise;
}

/* A terminal that does not know its width. */
static int width_from_environment(void)
{
	const char *columns = getenv("COLUMNS");

	return columns && atoi(columns) > 0 ? atoi(columns) : 80;
}

/* Returns true if the shell would find COMMAND's program, after any NAME=value. A command with
 * quotes or other shell syntax is assumed to exist. */
static bool pager_exists(const char *command)
{
	char word[256];
	size_t length;
	int status;
	pid_t pid;

	for (;; command += length) {
		command += strspn(command, " \t");
		length = strcspn(command, " \t");
		if (!memchr(command, '=', length))
			break;
	}
	snprintf(word, sizeof(word), "%.*s", (int)length, command);
	if (!length || length >= sizeof(word) || strpbrk(word, "\"'\\$`(){}[]<>|&;*?~#!"))
		return true;
	pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "command -v -- \"$1\" >/dev/null 2>&1", "sh", word,
		      (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return true;
	return pid > 0 && !status;
}

static const char *choose_pager(bool wide)
{
	const char *pager = getenv("PAGER"), *standard = wide ? "less -FRSX" : "less -FRX";
	char safe[256];

	if (!pager)
		return pager_exists(standard) ? standard : "";
	if (!*pager || !strcmp(pager, "cat") || pager_exists(pager))
		return pager;
	fprintf(stderr, "nvsnoop-report: PAGER=%s not found; the output is not paged\n",
		nvs_escape(safe, sizeof(safe), pager, strlen(pager)));
	return "";
}

/* Pipes the output into the pager; without one it goes to stdout directly. */
static void start_pager(struct nvs_out *out, const struct nvs_print_options *o)
{
	const char *pager = choose_pager(o->wide);
	int fds[2];
	pid_t pid;

	if (!*pager || !strcmp(pager, "cat") || pipe(fds))
		return;
	pid = fork();
	if (pid == 0) {
		dup2(fds[0], STDIN_FILENO);
		close(fds[0]);
		close(fds[1]);
		execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
		_exit(127);
	}
	close(fds[0]);
	if (pid < 0) {
		close(fds[1]);
		return;
	}
	out->file = fdopen(fds[1], "w");
	out->pager = pid;
	/* Ctrl-C belongs to the pager. */
	signal(SIGINT, SIG_IGN);
}

static bool is_file(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode);
}

/* stdout; if that is a file, a stream of our own. */
static FILE *open_stdout(void)
{
	int fd = is_file(STDOUT_FILENO) ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0) : -1;
	FILE *file = fd < 0 ? NULL : nvs_background_file(fd);

	if (!file && fd >= 0)
		close(fd);
	return file ? file : stdout;
}

/* Replaces an existing file only with OVERWRITE; a pipe or a device is written to. */
static FILE *open_output(struct nvs_out *out, const char *path, bool overwrite)
{
	int how = O_CREAT | (overwrite ? O_TRUNC : O_EXCL), fd;
	struct stat st;
	FILE *file;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		how = 0;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | how, 0666);
	file = fd < 0 ? NULL : is_file(fd) ? nvs_background_file(fd) : fdopen(fd, "w");
	if (!file)
		fprintf(stderr, "nvsnoop-report: %s: %s\n", path, strerror(errno));
	out->made = file && how ? path : NULL;
	return file;
}

int nvs_out_open(struct nvs_out *out, const struct nvs_print_options *o)
{
	static char buffer[1 << 16];

	memset(out, 0, sizeof(*out));
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* inherited as ignored, it hides how children end */
	/* A report with a directory opens its own files. */
	out->file = o->output ? open_output(out, o->folder ? "/dev/null" : o->output, o->overwrite)
			      : open_stdout();
	if (!out->file)
		return -EIO;
	out->terminal = !o->output && isatty(STDOUT_FILENO);
	out->color = want_color(o, out->terminal);
	out->width = out->terminal ? nvs_terminal_width(width_from_environment()) : 0;
	out->fit = out->terminal && !o->wide;
	if (out->terminal && o->pager)
		start_pager(out, o);
	if (!out->file)
		return -ENOMEM;
	setvbuf(out->file, buffer, _IOFBF, sizeof(buffer));
	/* One thread at a time prints. */
	__fsetlocking(out->file, FSETLOCKING_BYCALLER);
	return 0;
}

/* Returns 0, or -errno of FILE's failure. If an earlier write failed, its errno is lost: one more
 * byte fails for the same reason. The file is broken anyway. */
static int write_error(FILE *file)
{
	bool wrong = ferror(file);

	errno = 0;
	if (!fflush(file) && !wrong)
		return 0;
	if (!errno && putc('\n', file) != EOF)
		fflush(file);
	return errno ? -errno : -EIO;
}

int nvs_out_close(struct nvs_out *out, bool failed)
{
	int status = 0;

	out->status = write_error(out->file);
	if (out->pager) {
		fclose(out->file);
		while (waitpid(out->pager, &status, 0) < 0 && errno == EINTR)
			;
		/* The shell could not run the pager, and has printed why. */
		return WIFEXITED(status) && WEXITSTATUS(status) >= 126 ? -ENOEXEC : 0;
	}
	if (out->file != stdout && fclose(out->file) && !out->status)
		out->status = -errno;
	if (out->made && (failed || out->status))
		unlink(out->made);
	return out->status;
}

void nvs_out_text_part(struct nvs_out *out, const char *text, size_t left)
{
	char safe[4096];

	while (left) {
		size_t n = left < 1000 ? left : 1000;

		/* Do not split a character. */
		while (n < left && n > 990 && ((unsigned char)text[n] & 0xc0) == 0x80)
			n--;
		fputs(nvs_escape(safe, sizeof(safe), text, n), out->file);
		text += n;
		left -= n;
	}
}

void nvs_out_text(struct nvs_out *out, const char *text)
{
	nvs_out_text_part(out, text, strlen(text));
}

void nvs_out_csv(struct nvs_out *out, const char *text)
{
	bool quoted = strpbrk(text, ",\"");

	if (quoted)
		fputc('"', out->file);
	while (*text) {
		size_t n = strcspn(text, "\"");

		nvs_out_text_part(out, text, n);
		text += n;
		if (*text)
			fputs("\"\"", out->file);
		text += *text != '\0';
	}
	if (quoted)
		fputc('"', out->file);
}

const char *nvs_out_style(const struct nvs_out *out, enum nvs_style style)
{
	static const char *const codes[] = {"\033[0m", "\033[1m", "\033[32m", "\033[31;1m",
					    "\033[2m"};

	return out->color ? codes[style] : "";
}

/* ---- progress ---- */

static _Atomic bool shown; /* traces may be read on several threads */

void nvs_progress_print(void *arg, uint64_t done, uint64_t total)
{
	static struct timespec start, last;
	struct timespec now;
	double since;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (!start.tv_sec)
		start = last = now;
	since = (double)(now.tv_sec - last.tv_sec) + (double)(now.tv_nsec - last.tv_nsec) / 1e9;
	if (now.tv_sec - start.tv_sec < 1 || (shown && since < 0.2))
		return;
	last = now;
	shown = true;
	if (total)
		fprintf(stderr, "\rreading %s: %d %%  ", (const char *)arg,
			(int)(100.0 * (double)done / (double)total));
	else
		fprintf(stderr, "\rreading %s: %llu MB  ", (const char *)arg,
			(unsigned long long)(done / 1000000));
	fflush(stderr);
}

void nvs_progress_clear(void)
{
	if (shown)
		fputs("\r\033[K", stderr);
	shown = false;
}
