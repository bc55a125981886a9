/* SPDX-License-Identifier: MIT */
/* --code --wide: lists a kernel's instructions with their control fields. Mnemonics come from
 * nvdisasm, if installed, which is run on a copy of the cubin. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "decode/report/code/code.h"

extern char **environ;

/* Limit on nvdisasm's output per instruction; its lines are a few hundred bytes. */
#define TEXT_EACH 1024u
#define TEXT_BASE (1u << 20)

/* ---- nvdisasm ---- */

static bool write_all(int fd, const uint8_t *p, size_t n)
{
	ssize_t done;

	for (; n; p += done, n -= (size_t)done) {
		done = write(fd, p, n);
		if (done < 0 && errno == EINTR)
			done = 0;
		else if (done <= 0)
			return false;
	}
	return true;
}

/* Writes the cubin to a temporary file for nvdisasm. Returns its path, to be unlinked, or NULL. */
static char *make_file(const struct nvs_cubin *cubin)
{
	const char *folder = getenv("TMPDIR");
	char *path;
	bool whole;
	int fd;

	if (asprintf(&path, "%s/nvsnoop-code.XXXXXX", folder && *folder ? folder : "/tmp") < 0)
		return NULL;
	fd = mkostemp(path, O_CLOEXEC);
	whole = fd >= 0 && write_all(fd, cubin->data, cubin->size);
	if (fd >= 0)
		close(fd);
	if (whole)
		return path;
	if (fd >= 0)
		unlink(path);
	free(path);
	return NULL;
}

/* Starts nvdisasm. Returns the read end of its output pipe, or -1. */
static int start_nvdisasm(const char *file, pid_t *child)
{
	char *argv[] = {"nvdisasm", "-c", (char *)file, NULL};
	posix_spawn_file_actions_t actions;
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	r = posix_spawnp(child, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (!r)
		return ends[0];
	close(ends[0]);
	return -1;
}

/* Returns the output of nvdisasm, NUL-terminated, or NULL on failure. */
static char *read_output(const char *file, size_t room)
{
	char *text = malloc(room + 1);
	size_t n = 0;
	ssize_t got = 1;
	int status = -1, fd;
	pid_t child;

	fd = text ? start_nvdisasm(file, &child) : -1;
	if (fd < 0) {
		free(text);
		return NULL;
	}
	while (n < room && got > 0) {
		got = read(fd, text + n, room - n);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			n += (size_t)got;
	}
	close(fd); /* a child that has more to print gets SIGPIPE */
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	text[n] = '\0';
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Runs nvdisasm once per cubin: starting it takes longer than printing most kernels. */
static const char *run_nvdisasm(struct nvs_kernel_code_cubin *c)
{
	char *file;

	if (c->asked)
		return c->text;
	c->asked = true;
	file = make_file(&c->cubin);
	if (!file)
		return NULL;
	c->text = read_output(file, TEXT_BASE + c->cubin.size / 8 * TEXT_EACH);
	unlink(file);
	free(file);
	return c->text;
}

static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : line + strlen(line);
}

/* Returns the name of the section that LINE starts, or NULL. */
static const char *section_of(const char *line, size_t *length)
{
	static const char word[] = ".section";

	line += strspn(line, " \t");
	if (strncmp(line, word, sizeof(word) - 1))
		return NULL;
	line += sizeof(word) - 1;
	line += strspn(line, " \t\"");
	*length = strcspn(line, " \t\",\n");
	return line;
}

/* Returns the line after the start of ROW's section, or NULL. */
static const char *find_section(const char *text, const struct nvs_kernel_code_row *row)
{
	struct nvs_cubin_section s;
	const char *name;
	size_t n = 0;

	nvs_cubin_section(&row->cubin->cubin, row->function.section, &s);
	for (; *text; text = next_line(text)) {
		name = section_of(text, &n);
		if (name && strlen(s.name) == n && !strncmp(name, s.name, n))
			return next_line(text);
	}
	return NULL;
}

/* Fills LINES[n] with the text of ROW's instructions. TEXT is the section. An instruction's line
 * has its address in a comment, then the text up to a semicolon. */
static void cut_lines(const char *text, const struct nvs_kernel_code_row *row, const char **lines,
		      size_t n)
{
	size_t each = row->form >= NVS_SASS_VOLTA ? 16 : 8, length;
	const char *line;
	char *end;
	uint64_t at;

	for (; *text && !section_of(text, &length); text = next_line(text)) {
		line = text + strspn(text, " \t");
		if (strncmp(line, "/*", 2))
			continue;
		at = strtoull(line + 2, &end, 16);
		if (end == line + 2 || strncmp(end, "*/", 2) || at < row->function.offset ||
		    (at - row->function.offset) / each >= n)
			continue;
		line = end + 2;
		lines[(at - row->function.offset) / each] = line + strspn(line, " \t");
	}
}

/* ---- a listing ---- */

static void print_control(FILE *out, const struct nvs_sass_control *c)
{
	for (unsigned k = 0; k < 6; k++)
		fputc(c->wait >> k & 1 ? (int)('0' + k) : '-', out);
	fprintf(out, ":R%c", c->read_barrier < 6 ? '0' + c->read_barrier : '-');
	fprintf(out, ":W%c", c->write_barrier < 6 ? '0' + c->write_barrier : '-');
	fprintf(out, ":%c:S%02u", c->yield ? '-' : 'Y', c->stall);
}

/* Prints an instruction without nvdisasm: predicate, opcode, branch target. */
static void print_opcode(FILE *out, const struct nvs_sass_insn *insn, enum nvs_sass_form form)
{
	struct nvs_sass_flow flow;

	if (insn->predicate != 7 || insn->negated)
		fprintf(out, "@%sP%c ", insn->negated ? "!" : "",
			insn->predicate < 7 ? '0' + insn->predicate : 'T');
	fprintf(out, "%03x", insn->opcode);
	nvs_sass_insn_flow(insn, form, &flow);
	if (flow.target_known && flow.target >= 0)
		fprintf(out, " -> %04" PRIx64, (uint64_t)flow.target);
}

/* Prints up to the semicolon. */
static void print_text(struct nvs_out *out, const char *text)
{
	size_t n = strcspn(text, ";\n");

	while (n && text[n - 1] == ' ')
		n--;
	nvs_out_text_part(out, text, n);
}

static void print_insn(struct nvs_out *out, const struct nvs_kernel_code_row *row,
		       const struct nvs_sass_insn *insn, const char *text)
{
	fprintf(out->file, "  %04x  %016" PRIx64, insn->at, insn->lo);
	if (row->form >= NVS_SASS_VOLTA)
		fprintf(out->file, " %016" PRIx64, insn->hi);
	fputs("  ", out->file);
	print_control(out->file, &insn->control);
	fputs("  ", out->file);
	if (text)
		print_text(out, text);
	else
		print_opcode(out->file, insn, row->form);
	fputc('\n', out->file);
}

void nvs_code_print_listing(struct nvs_out *out, const struct nvs_kernel_code_row *row)
{
	const struct nvs_cubin_function *f = &row->function;
	size_t each = row->form >= NVS_SASS_VOLTA ? 16 : 8;
	size_t n = row->tally.instructions, slots = f->size / each + 1;
	const char **lines = calloc(slots, sizeof(*lines));
	const char *text = lines ? run_nvdisasm(row->cubin) : NULL;
	struct nvs_sass_insn insn;

	text = text ? find_section(text, row) : NULL;
	if (text)
		cut_lines(text, row, lines, slots);
	fputs(nvs_out_style(out, NVS_STYLE_HEAD), out->file);
	nvs_out_text(out, row->name);
	fprintf(out->file, "%s  %s\n", nvs_out_style(out, NVS_STYLE_PLAIN), row->arch);
	for (size_t i = 0; i < n && nvs_sass_insn(row->form, f->code, f->size, i, &insn); i++)
		print_insn(out, row, &insn, lines ? lines[insn.at / each] : NULL);
	free(lines);
}
