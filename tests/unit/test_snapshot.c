/* SPDX-License-Identifier: MIT */
/* snapshot=: the memory that words of parameters point into, as calls allocate, map and free it. */
/* LINK: preload */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "preload/api/snapshot/snapshot.h"
#include "preload/base/state.h"
#include "tests/unit/expect.h"

#define MB (1ull << 20)

/* A call with up to four arguments, which all processors have in registers. */
static void call(const char *name, uint32_t result, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct nvs_api_frame frame = {.regs = {a, b, c, d}};
	const uint64_t none[8] = {0};

	frame.stack = none;
	for (unsigned i = 0; i < nvs_api_count; i++)
		if (!strcmp(nvs_api_table[i].name, name))
			nvs_api_slots[0].api = nvs_api_table + i;
	EXPECT_STR(nvs_api_slots[0].api->name, name);
	nvs_snapshot_follow(&frame, result);
}

/* Sets *SIZE to that of the memory that ADDRESS is in, and returns where it begins; 0: in none. */
static uint64_t memory_of(uint64_t address, uint64_t *size)
{
	static struct nvs_snapshot_ranges found;

	found.n = 0;
	nvs_snapshot_find_pointers(&found, (const uint8_t *)&address, sizeof(address));
	*size = found.n ? found.range[0].size : 0;
	return found.n ? found.range[0].address : 0;
}

static uint32_t count_all(void)
{
	static struct nvs_snapshot_ranges found;

	found.n = 0;
	nvs_snapshot_find_others(&found);
	return found.n;
}

static void test_allocations(void)
{
	uint64_t address = 0x7f0000000000, pitch = 512, size;

	call("cuMemAlloc_v2", 0, (uintptr_t)&address, 4096, 0, 0);
	EXPECT_EQ(memory_of(address + 4095, &size), address);
	EXPECT_EQ(size, 4096);
	EXPECT_EQ(memory_of(address + 4096, &size), 0);
	call("cuMemFree_v2", 1, address, 0, 0, 0);
	EXPECT_EQ(count_all(), 1);
	call("cuMemFree_v2", 0, address, 0, 0, 0);
	EXPECT_EQ(count_all(), 0);
	call("cuMemAllocPitch_v2", 0, (uintptr_t)&address, (uintptr_t)&pitch, 400, 10);
	EXPECT_EQ(memory_of(address + 5119, &size), address);
	EXPECT_EQ(size, 5120);
	call("cuMemFree_v2", 0, address, 0, 0, 0);
	call("cuMemAlloc_v2", 2, (uintptr_t)&address, 4096, 0, 0);
	EXPECT_EQ(count_all(), 0);
}

/* A context that ends takes its memory with it, without a call that frees it. */
static void test_unseen_free(void)
{
	uint64_t address = 0x7f2000000000, begin = address - MB, size;

	call("cuMemAlloc_v2", 0, (uintptr_t)&address, 2 * MB, 0, 0);
	call("cuMemAlloc_v2", 0, (uintptr_t)&begin, 4 * MB, 0, 0);
	EXPECT_EQ(memory_of(address + 4096, &size), begin);
	EXPECT_EQ(size, 4 * MB);
	EXPECT_EQ(memory_of(address - 4096, &size), begin);
	call("cuMemFree_v2", 0, begin, 0, 0, 0);
	EXPECT_EQ(count_all(), 0);
}

/* Reserved addresses are no memory; one call unmaps what several have mapped. */
static void test_mappings(void)
{
	uint64_t base = 0x7f1000000000, size;

	call("cuMemAddressReserve", 0, (uintptr_t)&base, 64 * MB, 0, 0);
	EXPECT_EQ(count_all(), 0);
	for (uint64_t i = 1; i < 5; i++)
		call("cuMemMap", 0, base + 2 * i * MB, 2 * MB, 0, 7);
	EXPECT_EQ(memory_of(base, &size), 0);
	EXPECT_EQ(memory_of(base + 5 * MB, &size), base + 4 * MB);
	EXPECT_EQ(size, 2 * MB);
	call("cuMemUnmap", 0, base + 4 * MB, 4 * MB, 0, 0);
	EXPECT_EQ(count_all(), 2);
	EXPECT_EQ(memory_of(base + 5 * MB, &size), 0);
	EXPECT_EQ(memory_of(base + 7 * MB, &size), 0);
	EXPECT_EQ(memory_of(base + 3 * MB, &size), base + 2 * MB);
	EXPECT_EQ(memory_of(base + 9 * MB, &size), base + 8 * MB);
	call("cuMemUnmap", 0, base, 64 * MB, 0, 0);
	call("cuMemAddressFree", 0, base, 64 * MB, 0, 0);
	EXPECT_EQ(count_all(), 0);
}

/* A cubin with variables. */
static struct cubin {
	Elf64_Ehdr head;
	Elf64_Shdr sections[4];
	Elf64_Sym symbols[3];
	char names[64], text[16];
} cubin;

#define AT(field) offsetof(struct cubin, field)

static void make_cubin(void)
{
	static const char names[] = "\0.nv.global\0.symtab\0.strtab", text[] = "\0one\0two";

	memcpy(cubin.names, names, sizeof(names));
	memcpy(cubin.text, text, sizeof(text));
	cubin.head = (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 0x33, 7},
		.e_type = ET_EXEC,
		.e_machine = 190, /* EM_CUDA */
		.e_version = EV_CURRENT,
		.e_flags = 90,
		.e_shoff = AT(sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 4,
		.e_shstrndx = 3,
	};
	cubin.sections[1] = (Elf64_Shdr){.sh_name = 1, .sh_type = SHT_NOBITS, .sh_size = 8};
	cubin.sections[2] = (Elf64_Shdr){.sh_name = 12,
					 .sh_type = SHT_SYMTAB,
					 .sh_offset = AT(symbols),
					 .sh_size = sizeof(cubin.symbols),
					 .sh_entsize = sizeof(Elf64_Sym),
					 .sh_link = 3};
	cubin.sections[3] = (Elf64_Shdr){
		.sh_name = 20, .sh_type = SHT_STRTAB, .sh_offset = AT(names), .sh_size = 80};
	for (int i = 1; i < 3; i++)
		cubin.symbols[i] = (Elf64_Sym){.st_name = (Elf64_Word)(61 + 4 * i),
					       .st_info = STT_OBJECT,
					       .st_shndx = 1,
					       .st_size = 4};
}

static int get_variable(uint64_t *address, size_t *size, uint64_t module, const char *name)
{
	*address = module + (name[0] == 't') * 4096u;
	*size = 4;
	return 0;
}

static uint8_t *end_of_memory(void)
{
	return nvs_state()->arena.next;
}

/* A program may load and unload for weeks. */
static void test_reloads(void)
{
	static struct nvs_snapshot_ranges found;
	uint8_t *end;

	make_cubin();
	nvs_snapshot_note_image(&cubin, 0x10000);
	for (int i = 0; i < 2; i++)
		nvs_snapshot_note_image(&cubin, 0x20000);
	end = end_of_memory();
	for (int i = 0; i < 1000; i++)
		nvs_snapshot_note_image(i % 2 ? &cubin : NULL, 0x20000);
	EXPECT(end_of_memory() == end);
	nvs_snapshot_find_variables(&found, 0x20000, get_variable);
	EXPECT_EQ(found.n, 2);
	EXPECT_STR(found.range[0].name, "one");
	EXPECT_STR(found.range[1].name, "two");
	found.n = 0;
	nvs_snapshot_note_image(NULL, 0x20000);
	nvs_snapshot_find_variables(&found, 0x20000, get_variable);
	EXPECT_EQ(found.n, 0);
	nvs_snapshot_find_variables(&found, 0x10000, get_variable);
	EXPECT_EQ(found.n, 2);
}

int main(void)
{
	test_reloads();
	test_allocations();
	test_unseen_free();
	test_mappings();
	return expect_done();
}
