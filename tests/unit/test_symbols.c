/* SPDX-License-Identifier: MIT */
/* Symbol names in memory that is unmapped: the thread that looks them up has SIGSEGV blocked, so a
 * plain load of what the program has unloaded meanwhile would end the program. */
/* LINK: preload */
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "preload/writer/symbols.h"
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
	struct nvs_elf_module object = {.path = "", .bias = bias, .start = start, .loaded = true};
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

#define PIECES 4096u

static uint32_t named; /* addresses that got the name they should */

static void tell_piece(void *arg, const struct nvs_name *name)
{
	uint64_t number = (name->wanted->address - PIECES) / 64;
	char right[32];

	(void)arg;
	/* Every eighth was told of again. */
	snprintf(right, sizeof(right), "%s %llu", number % 8 ? "piece" : "again",
		 (unsigned long long)number);
	named += !strcmp(name->name, right) && name->offset == 5;
}

/* Pieces of code that were made, and an address in each: not every line is held against all. */
static void many_pieces(void)
{
	static char scratch[NVS_SCRATCH_BYTES] __attribute__((aligned(64)));
	static struct nvs_wanted wanted[PIECES];
	uint64_t steps;
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	EXPECT(map);
	for (uint32_t i = 0; map && i < PIECES; i++)
		fprintf(map, "%x 40 piece %u\n", PIECES + i * 64, i);
	for (uint32_t i = 0; map && i < PIECES; i += 8)
		fprintf(map, "%x 40 again %u\n", PIECES + i * 64, i);
	if (map)
		fclose(map);
	for (uint32_t i = 0; i < PIECES; i++)
		wanted[i].address = PIECES + i * 64 + 5;
	steps = nvs_perfmap_find(scratch, (uint32_t)getpid(), wanted, PIECES, tell_piece, NULL);
	unlink(path);
	EXPECT_EQ(named, PIECES);
	if (!expect_(steps && steps < 20 * PIECES, __FILE__, __LINE__))
		printf("%llu steps\n", (unsigned long long)steps);
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
	many_pieces();
	return expect_done();
}
