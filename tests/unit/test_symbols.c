/* SPDX-License-Identifier: MIT */
/*
 * Names out of memory that goes away: the thread that looks for them has SIGSEGV blocked, so that a
 * load of what the program has unloaded meanwhile would end the program.
 */
/* LINK: preload */
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "preload/trace/symbols.h"
#include "tests/unit/expect.h"

static char found[256];

static void tell(void *arg, const struct nvs_name *name)
{
	(void)arg;
	snprintf(found, sizeof(found), "%s", name->exported);
}

static void find(uintptr_t start, uintptr_t bias, uint64_t address)
{
	static char scratch[NVS_SCRATCH_BYTES] __attribute__((aligned(64)));
	struct nvs_object object = {.path = "", .bias = bias, .start = start, .loaded = true};
	struct nvs_wanted wanted = {.address = address - bias};

	found[0] = 0;
	nvs_symbols_find(scratch, &object, false, &wanted, 1, tell, NULL);
}

struct library {
	uintptr_t start, bias;
};

static int libc_of(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct library *l = arg;

	(void)size;
	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	l->bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && !info->dlpi_phdr[i].p_offset)
			l->start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
	return 1;
}

int main(void)
{
	size_t page = (size_t)getpagesize();
	struct library libc = {0};
	uint64_t all = ~0ull;
	char *p;

	/* Past the library's hook, which would leave SIGSEGV open, as for a thread of ours. */
	EXPECT(!syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8));
	if (dl_iterate_phdr(libc_of, &libc) && libc.start) {
		find(libc.start, libc.bias, (uintptr_t)getppid);
		EXPECT(!strcmp(found, "getppid"));
	}
	/* Gone altogether. */
	p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(p != MAP_FAILED);
	EXPECT(!munmap(p, 2 * page));
	find((uintptr_t)p, (uintptr_t)p, (uintptr_t)p + 64);
	EXPECT(!found[0]);
	/* Gone behind the head, and with a table of segments that lies elsewhere. */
	p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(p != MAP_FAILED);
	memcpy(p, (void *)libc.start, libc.start ? page : 0);
	EXPECT(!munmap(p + page, page));
	find((uintptr_t)p, (uintptr_t)p, (uintptr_t)p + 64);
	EXPECT(!found[0]);
	((Elf64_Ehdr *)(void *)p)->e_phoff = 1ull << 46;
	find((uintptr_t)p, (uintptr_t)p, (uintptr_t)p + 64);
	EXPECT(!found[0]);
	return expect_done();
}
