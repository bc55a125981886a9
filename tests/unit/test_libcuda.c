/* SPDX-License-Identifier: MIT */
/*
 * libcuda's exports in a child that is forked while another thread reads them. This program stands
 * in for libcuda. The page of its symbols is protected, so the fault of reading it is the moment
 * of the fork.
 */
/* LINK: preload */
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "preload/api/intercept/api.h"
#include "preload/modules/elf.h"

#define PAGE 4096ul

void cuExportOfTest(void);
void cuExportOfTest(void)
{
}

static const void *dynamic;
static uintptr_t base, start, end;
static pid_t child;

static int find_self(struct dl_phdr_info *info, size_t size, void *arg)
{
	base = info->dlpi_addr;
	dynamic = nvs_elf_extent(info->dlpi_phdr, info->dlpi_phnum, base, &start, &end);
	return 1;
}

static bool is_learnt(void)
{
	struct nvs_api_export *e = nvs_api_exported("cuExportOfTest");

	return e && e->address == (uintptr_t)cuExportOfTest;
}

static uint8_t *closed; /* the page of symbols */

static void on_segv(int sig, siginfo_t *info, void *context)
{
	if ((uintptr_t)info->si_addr - (uintptr_t)closed >= PAGE)
		_exit(97);
	mprotect(closed, PAGE, PROT_READ);
	child = fork();
	if (child)
		return;
	/* The thread that was at it is the parent's. */
	nvs_api_learn(base, dynamic, start, end);
	_exit(is_learnt() && nvs_api_in_libcuda(start) ? 0 : 1);
}

int main(void)
{
	struct sigaction sa = {.sa_flags = SA_SIGINFO | SA_NODEFER, .sa_sigaction = on_segv};
	struct nvs_elf elf;
	bool in_parent, in_child;
	int status;

	dl_iterate_phdr(find_self, NULL);
	if (!dynamic || !nvs_elf_parse(&elf, base, dynamic))
		abort();
	/* Somewhere in the middle: the loader reads the beginning for others. */
	closed = (uint8_t *)(((uintptr_t)elf.symbols + elf.count * sizeof(ElfW(Sym)) / 2) & -PAGE);
	sigaction(SIGSEGV, &sa, NULL);
	mprotect(closed, PAGE, PROT_NONE);
	nvs_api_learn(base, dynamic, start, end);
	mprotect(closed, PAGE, PROT_READ);
	in_parent = is_learnt();
	in_child = child > 0 && waitpid(child, &status, 0) == child && status == 0;
	printf("parent: %d, child: %d\n", in_parent, in_child);
	printf("%d passed, %d failed\n", in_parent + in_child, !in_parent + !in_child);
	return in_parent && in_child ? 0 : 1;
}
