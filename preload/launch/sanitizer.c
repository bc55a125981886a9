/* SPDX-License-Identifier: MIT */
/* Finds the sanitizer's run-time library that a program is linked with. It must be loaded first, so
 * it is put before ours in LD_PRELOAD. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "preload/launch/launch.h"

#define MAX_DYNAMIC (1u << 20) /* maximum size of a dynamic section that is read */

bool nvs_launch_is_sanitizer(const char *name, size_t length)
{
	static const char *const names[] = {"libasan.so", "libtsan.so", "libclang_rt.asan",
					    "libclang_rt.tsan"};
	const char *base = name + length;

	while (base > name && base[-1] != '/')
		base--;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i]);

		if ((size_t)(name + length - base) >= n && !strncmp(base, names[i], n))
			return true;
	}
	return false;
}

struct program_image {
	int fd;
	Elf64_Phdr *segments;
	int n;
};

/* Returns the file offset of ADDRESS, or -1. */
static off_t offset_of(const struct program_image *im, uint64_t address)
{
	for (int i = 0; i < im->n; i++)
		if (im->segments[i].p_type == PT_LOAD &&
		    address - im->segments[i].p_vaddr < im->segments[i].p_filesz)
			return (off_t)(im->segments[i].p_offset +
				       (address - im->segments[i].p_vaddr));
	return -1;
}

/* Reads SIZE bytes at OFFSET, or fewer at the end of the file, and appends a NUL. */
static void *read_part(int fd, off_t offset, uint64_t size, size_t *got)
{
	char *p = offset >= 0 && size <= MAX_DYNAMIC ? calloc(1, size + 1) : NULL;
	ssize_t n = p ? pread(fd, p, size, offset) : -1;

	if (n < 0) {
		free(p);
		return NULL;
	}
	*got = (size_t)n;
	return p;
}

static uint64_t value_of(const Elf64_Dyn *dynamic, size_t n, Elf64_Sxword tag)
{
	for (size_t i = 0; i < n && dynamic[i].d_tag != DT_NULL; i++)
		if (dynamic[i].d_tag == tag)
			return dynamic[i].d_un.d_val;
	return 0;
}

static bool find_needed(const struct program_image *im, const Elf64_Dyn *dynamic, size_t n,
			char *name, size_t size)
{
	size_t length = 0;
	char *strings = read_part(im->fd, offset_of(im, value_of(dynamic, n, DT_STRTAB)),
				  value_of(dynamic, n, DT_STRSZ), &length);
	bool found = false;

	for (size_t i = 0; strings && i < n && dynamic[i].d_tag != DT_NULL && !found; i++) {
		const char *needed = strings + dynamic[i].d_un.d_val;

		if (dynamic[i].d_tag != DT_NEEDED || dynamic[i].d_un.d_val >= length ||
		    !nvs_launch_is_sanitizer(needed, strlen(needed)))
			continue;
		/* The loader splits LD_PRELOAD at both. */
		found = !strpbrk(needed, " :") && (size_t)snprintf(name, size, "%s", needed) < size;
	}
	free(strings);
	return found;
}

static bool search_image(struct program_image *im, const Elf64_Ehdr *head, char *name, size_t size)
{
	size_t got = 0;
	bool found = false;

	im->n = head->e_phnum;
	im->segments = read_part(im->fd, (off_t)head->e_phoff,
				 (uint64_t)im->n * sizeof(*im->segments), &got);
	if (!im->segments || got != (size_t)im->n * sizeof(*im->segments))
		im->n = 0;
	for (int i = 0; i < im->n && !found; i++) {
		Elf64_Dyn *dynamic;

		if (im->segments[i].p_type != PT_DYNAMIC)
			continue;
		dynamic = read_part(im->fd, (off_t)im->segments[i].p_offset,
				    im->segments[i].p_filesz, &got);
		found = dynamic && find_needed(im, dynamic, got / sizeof(*dynamic), name, size);
		free(dynamic);
	}
	free(im->segments);
	return found;
}

bool nvs_launch_find_sanitizer(const char *program, char *name, size_t size)
{
	struct program_image im = {.fd = nvs_launch_open_program(program)};
	Elf64_Ehdr head;
	bool found = false;

	if (im.fd < 0)
		return false;
	if (pread(im.fd, &head, sizeof(head), 0) == sizeof(head) &&
	    !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_ident[EI_CLASS] == ELFCLASS64 &&
	    head.e_phentsize == sizeof(Elf64_Phdr))
		found = search_image(&im, &head, name, size);
	close(im.fd);
	return found;
}
