/* SPDX-License-Identifier: MIT */
/* Finds out why a program left no trace or could not be started: a missing interpreter, or a
 * program into which nothing can be preloaded. An unclear case gives no reason. */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "preload/launch/launch.h"
#include "trap/arch/cpu.h"

int nvs_launch_open_program(const char *program)
{
	const char *folder = getenv("PATH") ?: "/bin:/usr/bin";
	char path[PATH_MAX];

	if (strchr(program, '/'))
		return open(program, O_RDONLY | O_CLOEXEC);
	for (; *folder; folder += strcspn(folder, ":"), folder += *folder == ':') {
		int length = (int)strcspn(folder, ":");

		if (snprintf(path, sizeof(path), "%.*s/%s", length, length ? folder : ".",
			     program) >= (int)sizeof(path))
			continue;
		if (!access(path, X_OK))
			return open(path, O_RDONLY | O_CLOEXEC);
	}
	return -1;
}

static bool read_head(int fd, Elf64_Ehdr *head)
{
	return pread(fd, head, sizeof(*head), 0) == sizeof(*head) &&
	       !memcmp(head->e_ident, ELFMAG, SELFMAG);
}

/* Finds the SEGMENT that names the program's loader. Returns 1, 0 if it has none, -1 if unknown. */
static int find_loader(int fd, const Elf64_Ehdr *head, Elf64_Phdr *segment)
{
	for (int i = 0; i < head->e_phnum; i++) {
		off_t at = (off_t)(head->e_phoff + (uint64_t)i * head->e_phentsize);

		if (pread(fd, segment, sizeof(*segment), at) != sizeof(*segment))
			return -1;
		if (segment->p_type == PT_INTERP)
			return 1;
	}
	return 0;
}

/* Reads the interpreter of a script, or the loader of a program; "": neither. */
static void read_interpreter(int fd, char *name, size_t size)
{
	ssize_t n = pread(fd, name, size - 1, 0);
	Elf64_Phdr segment;
	Elf64_Ehdr head;
	size_t blanks;

	name[n > 0 ? n : 0] = '\0';
	if (!strncmp(name, "#!", 2)) {
		blanks = 2 + strspn(name + 2, " \t");
		memmove(name, name + blanks, strlen(name + blanks) + 1);
		name[strcspn(name, " \t\n")] = '\0';
		return;
	}
	*name = '\0';
	if (!read_head(fd, &head) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    find_loader(fd, &head, &segment) <= 0)
		return;
	n = pread(fd, name, size - 1, (off_t)segment.p_offset);
	name[n > 0 ? n : 0] = '\0';
}

bool nvs_launch_lacks_interpreter(const char *program, char *name, size_t size)
{
	int fd = nvs_launch_open_program(program);

	if (fd < 0)
		return false;
	read_interpreter(fd, name, size);
	close(fd);
	return *name && access(name, F_OK);
}

static const char *find_reason(int fd)
{
	Elf64_Phdr segment;
	Elf64_Ehdr head;
	struct stat st;

	if (fstat(fd, &st) || !read_head(fd, &head))
		return NULL;
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != NVS_MACHINE)
		return "is not an " NVS_MACHINE_NAME " program";
	if (st.st_mode & (S_ISUID | S_ISGID) && geteuid() != 0)
		return "is a set-user-ID program, which ignores LD_PRELOAD";
	if (!find_loader(fd, &head, &segment))
		return "is statically linked, so LD_PRELOAD has no effect";
	return NULL;
}

const char *nvs_launch_preload_obstacle(const char *program)
{
	int fd = nvs_launch_open_program(program);
	const char *why;

	if (fd < 0)
		return NULL;
	why = find_reason(fd);
	close(fd);
	return why;
}
