/* SPDX-License-Identifier: MIT */
/* LINK: preload/rm/abi.o preload/rm/abi_table.o */
/* LINK: preload/base/arena.o preload/base/state.o preload/rm/spans.o */
/* LINK: preload/rm/rm_state.o preload/rm/object_identity.o preload/rm/files.o */
/* LINK: preload/rm/hooked_call.o */
/* LINK: preload/rm/objects.o preload/rm/mappings.o preload/rm/doorbells.o preload/rm/rmmaps.o */
/* LINK: preload/rm/gpumaps.o preload/rm/segments.o preload/rm/channels.o */
/* LINK: preload/rm/faults.o preload/rm/publish.o */
/* LINK: preload/rm/forms.o */
/* LINK: preload/rm/records.o preload/rm/fdkind.o preload/rm/ioctls.o preload/rm/uvm.o */
/* LINK: preload/rm/replay.o preload/rm/mapscheck.o */
/* Mappings on the CPU and the GPU, their join, and the doorbells: what is armed when, and in what
 * order things are removed. */
#include "rm_fake.h"

#define A 0xc1000001u
#define BELL 0x7f0000000000ull
#define RW (PROT_READ | PROT_WRITE)

static void memory(uint32_t handle, uint32_t object_class)
{
	rm_alloc(A, 2, handle, object_class, NULL);
}

static const struct nvs_cpu_map *cpu_map(uint64_t address)
{
	const struct nvs_cpu_map *m;

	NVS_SPANS_EACH(&nvs_rm()->cpu, m, address, address + 1)
	return m;
	return NULL;
}

static void start(void)
{
	make_client(A, 0);
	nvs_rm()->release = NVS_RELEASE(580, 159, 4);
	nvs_rm()->asked = true;
	nvs_session_start();
	CHECK(view != NULL);
}

static void test_join(void)
{
	memory(20, 0x003e);
	/* The GPU shows bytes [0x3000, 0x8000), the process two windows of the object. */
	uvm_map(0x500000000, 0x5000, 0x3000, A, 20);
	CHECK_EQ(cpu_of(0x500000000, 0), 0);
	open_device(40, "/dev/nvidiactl", DEV_CTL);
	rm_map(A, 20, 0x1000, 0x3000, 0, 40);
	next_mmap = 0x7a0000000000;
	nvs_maps_mmap(NULL, 0x3000, RW, MAP_SHARED, 40, 0, true);
	CHECK_EQ(cpu_of(0x500000000, 0), 0x7a0000002000);
	CHECK_EQ(cpu_of(0x500000fff, 0), 0x7a0000002fff);
	CHECK_EQ(cpu_of(0x500001000, 0), 0);
	open_device(41, "/dev/nvidiactl", DEV_CTL);
	rm_map(A, 20, 0x5000, 0x10000, 0, 41);
	next_mmap = 0x7b0000000000;
	nvs_maps_mmap(NULL, 0x10000, PROT_READ, MAP_SHARED, 41, 0, true);
	CHECK_EQ(cpu_of(0x500001000, 0), 0);
	CHECK_EQ(cpu_of(0x500002000, 0), 0x7b0000000000);
	CHECK_EQ(cpu_of(0x500004fff, 0), 0x7b0000002fff);
	CHECK_EQ(cpu_of(0x500005000, 0), 0);
	/* The same fd once more: the same bytes, no overlap in the view. */
	next_mmap = 0x7c0000000000;
	nvs_maps_mmap(NULL, 0x3000, RW, MAP_SHARED, 40, 0, true);
	CHECK_EQ(cpu_of(0x500000000, 0), 0x7a0000002000);
	nvs_maps_munmap((void *)0x7a0000000000, 0x3000);
	CHECK_EQ(cpu_of(0x500000000, 0), 0x7c0000002000);
	/* What cannot be read is not there. */
	nvs_maps_mprotect((void *)0x7c0000000000, 0x3000, PROT_NONE);
	CHECK_EQ(cpu_of(0x500000000, 0), 0);
	nvs_maps_mprotect((void *)0x7c0000000000, 0x3000, PROT_READ);
	CHECK_EQ(cpu_of(0x500000000, 0), 0x7c0000002000);
	close_device(40);
	close_device(41);
	CHECK_EQ(cpu_of(0x500000000, 0), 0x7c0000002000);
	rm_free(A, 20);
	CHECK_EQ(cpu_of(0x500000000, 0), 0);
	CHECK_EQ(view->nmaps, 0);
	uvm_free(0x500000000, 0x5000);
}

/* pLinearAddress within a page: the object's byte OFFSET lies there, not at the mapping's start. */
static void test_unaligned(void)
{
	memory(21, 0x0040);
	open_device(40, "/dev/nvidia0", DEV_GPU(0));
	rm_map(A, 21, 0x100, 0x200, 0x10000a00100, 40);
	next_mmap = 0x7a0000000000;
	nvs_maps_mmap(NULL, 0x1000, RW, MAP_SHARED, 40, 0, true);
	uvm_map(0x600000000, 0x1000, 0, A, 21);
	CHECK_EQ(cpu_of(0x600000100, 0), 0x7a0000000100);
	close_device(40);
	rm_free(A, 21);
	uvm_free(0x600000000, 0x1000);
}

static void test_partial_unmap(void)
{
	unsigned gone = count_records(NVS_REC_CPU_MAP_GONE);

	memory(22, 0x003e);
	map_memory(A, 22, 0x10000, 0, DEV_CTL, 0x7a0000000000, RW);
	uvm_map(0x600000000, 0x10000, 0, A, 22);
	nvs_maps_munmap((void *)0x7a0000004000, 0x3001); /* the kernel rounds up */
	CHECK_EQ(cpu_of(0x600003fff, 0), 0x7a0000003fff);
	CHECK_EQ(cpu_of(0x600004000, 0), 0);
	CHECK_EQ(cpu_of(0x600007fff, 0), 0);
	CHECK_EQ(cpu_of(0x600008000, 0), 0x7a0000008000);
	CHECK(count_records(NVS_REC_CPU_MAP_GONE) > gone);
	/* Refused: everything as before. */
	fail_munmap = 1;
	errno = 0;
	CHECK_EQ(nvs_maps_munmap((void *)0x7a0000000000, 0x1000), -1);
	CHECK_EQ(errno, ENOMEM);
	fail_munmap = 0;
	CHECK_EQ(cpu_of(0x600000000, 0), 0x7a0000000000);
	/* Ordinary memory over a part of it. */
	nvs_maps_mmap((void *)0x7a0000000000, 0x2000, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		      -1, 0, false);
	CHECK_EQ(cpu_of(0x600001000, 0), 0);
	CHECK_EQ(cpu_of(0x600002000, 0), 0x7a0000002000);
	/* The rest moves. */
	nvs_maps_mremap((void *)0x7a0000002000, 0x2000, 0x2000, MREMAP_MAYMOVE | MREMAP_FIXED,
			(void *)0x7e0000000000);
	CHECK_EQ(cpu_of(0x600002000, 0), 0x7e0000000000);
	nvs_maps_mremap((void *)0x7e0000000000, 0x2000, 0x1000, 0, NULL);
	CHECK_EQ(cpu_of(0x600002fff, 0), 0x7e0000000fff);
	CHECK_EQ(cpu_of(0x600003000, 0), 0);
	rm_free(A, 22);
	uvm_free(0x600000000, 0x10000);
	CHECK_EQ(nvs_rm()->cpu.n, 0);
}

static void test_uvm_forms(void)
{
	uint8_t a[9264] = {0};
	uint32_t releases[] = {NVS_RELEASE(515, 43, 4), NVS_RELEASE(550, 40, 7),
			       NVS_RELEASE(550, 40, 53), NVS_RELEASE(590, 48, 1)};

	memory(23, 0x003e);
	map_memory(A, 23, 0x4000, 0, DEV_CTL, 0x7a0000000000, RW);
	for (unsigned i = 0; i < 4; i++) {
		unsigned tail = i < 2 ? 1176 : 9240;

		nvs_rm()->release = releases[i];
		memset(a, 0, sizeof(a));
		put64(a, 0, 0x700000000);
		put64(a, 8, 0x4000);
		uvm_call(73, a);
		put64(a, 0, 0x700000000);
		put64(a, tail, 1);
		put32(a, tail + 12, A);
		put32(a, tail + 16, 23);
		put32(a, tail + 20, 0x1f); /* refused */
		uvm_call(33, a);
		CHECK_EQ(cpu_of(0x700000000, 0), 0);
		put32(a, tail + 20, 0);
		uvm_call(33, a);
		CHECK_EQ(cpu_of(0x700003000, 0), 0x7a0000003000);
		/* 590 frees by base alone: the length is the range's. */
		memset(a, 0, sizeof(a));
		put64(a, 0, 0x700000000);
		if (i < 3)
			put64(a, 8, 0x4000);
		uvm_call(34, a);
		CHECK_EQ(cpu_of(0x700000000, 0), 0);
		CHECK_EQ(nvs_rm()->ranges.n, 0);
	}
	/* The form is found from the parameters, whatever the release. */
	for (unsigned i = 0; i < 8; i++) {
		unsigned tail = i & 1 ? 1176 : 9240;
		bool old_free = i & 2;

		nvs_rm()->release = i & 4 ? NVS_RELEASE(620, 6, 0) : NVS_RELEASE(515, 43, 4);
		memset(a, 0, sizeof(a));
		put64(a, 0, 0x700000000);
		put64(a, 8, 0x4000);
		uvm_call(73, a);
		put64(a, tail, 1);
		put32(a, tail + 12, A);
		put32(a, tail + 16, 23);
		uvm_call(33, a);
		CHECK_EQ(cpu_of(0x700003000, 0), 0x7a0000003000);
		memset(a, 0, 32);
		put64(a, 0, 0x700000000);
		put64(a, 8, old_free ? 0x4000 : 0x1f); /* refused */
		put32(a, 16, old_free ? 0x1f : 0);
		uvm_call(34, a);
		CHECK_EQ(cpu_of(0x700003000, 0), 0x7a0000003000);
		put64(a, 8, old_free ? 0x4000 : 0);
		put32(a, 16, old_free ? 0 : 0x1f);
		uvm_call(34, a);
		CHECK_EQ(cpu_of(0x700003000, 0), 0);
	}
	/* Both forms fit, or neither does: nothing is mapped, and it is remarked on. */
	for (unsigned i = 0; i < 2; i++) {
		memset(a, 0, sizeof(a));
		put64(a, 0, 0x700000000);
		put64(a, 8, 0x4000);
		for (unsigned tail = 1176; tail <= 9240; tail += 9240 - 1176) {
			put64(a, tail, i ? 1000 : 1);
			put32(a, tail + 12, A);
			put32(a, tail + 16, 23);
		}
		nvs_rm()->nremarks = 0;
		uvm_call(33, a);
		CHECK_EQ(cpu_of(0x700003000, 0), 0);
		CHECK(nvs_rm()->nremarks == 1 &&
		      nvs_rm()->remarks[0].r.kind == NVS_REMARK_UVM_FORM);
	}
	nvs_rm()->release = NVS_RELEASE(580, 159, 4);
	/* Mapped for two GPUs, unmapped for one after the other. */
	memset(a, 0, sizeof(a));
	put64(a, 0, 0x700000000);
	put64(a, 8, 0x4000);
	put64(a, 9240, 2);
	put32(a, 9252, A);
	put32(a, 9256, 23);
	uvm_call(33, a);
	uvm_call(66, a);
	CHECK_EQ(cpu_of(0x700000000, 0), 0x7a0000000000);
	uvm_call(66, a);
	CHECK_EQ(cpu_of(0x700000000, 0), 0);
	rm_free(A, 23);
}

static void test_uvm_mmap(void)
{
	CHECK_EQ(cpu_of(0x204a00000, 0), 0);
	next_mmap = 0x204a00000;
	nvs_maps_mmap((void *)0x204a00000, 0x200000, RW, MAP_SHARED | MAP_FIXED, uvm, 0x204a00000,
		      true);
	CHECK_EQ(cpu_of(0x204a00010, 0), 0x204a00010);
	CHECK_EQ(((struct nvs_rec_cpu_map *)last_record(NVS_REC_CPU_MAP))->kind, NVS_MAP_UVM);
	nvs_maps_munmap((void *)0x204a00000, 0x200000);
	CHECK_EQ(cpu_of(0x204a00010, 0), 0);
	/* The GPU's mappings go with the file. */
	memory(24, 0x003e);
	map_memory(A, 24, 0x4000, 0, DEV_CTL, 0x7a0000000000, RW);
	uvm_map(0x700000000, 0x4000, 0, A, 24);
	CHECK(cpu_of(0x700000000, 0) != 0);
	close_device(uvm);
	CHECK_EQ(cpu_of(0x700000000, 0), 0);
	open_device(uvm, "/dev/nvidia-uvm", DEV_UVM);
	rm_free(A, 24);
}

static void map_dma(unsigned size, uint32_t dma, uint32_t handle, uint64_t offset, uint64_t length,
		    uint64_t va)
{
	uint8_t a[64] = {0};

	put32(a, 0, A);
	put32(a, 8, dma);
	put32(a, 12, handle);
	put64(a, 16, offset);
	put64(a, 24, length);
	put64(a, size == 64 ? 48 : 40, va);
	escape(ctl, 0x57, size, a, size == 64 ? 56 : 48);
}

static void unmap_dma(unsigned size, uint32_t dma, uint32_t handle, uint64_t va, uint64_t length)
{
	uint8_t a[48] = {0};

	put32(a, 0, A);
	put32(a, 8, dma);
	put32(a, 12, handle);
	put64(a, 24, va);
	if (size == 48)
		put64(a, 32, length);
	escape(ctl, 0x58, size, a, size == 48 ? 40 : 32);
}

static void test_dma(void)
{
	uint8_t virtual[128] = {0};
	uint32_t space = nvs_object_find(A, 9)->entity->id,
		 device = nvs_object_find(A, 2)->entity->id;

	memory(25, 0x003e);
	map_memory(A, 25, 0x4000, 0, DEV_CTL, 0x7a0000000000, RW);
	put32(virtual, 108, 9);
	rm_alloc(A, 2, 26, 0x50a0, virtual);
	put32(virtual, 108, 0);
	rm_alloc(A, 2, 27, 0x50a0, virtual);
	map_dma(64, 26, 25, 0x1000, 0x2000, 0x800000000);
	CHECK_EQ(cpu_of(0x800000000, space), 0x7a0000001000);
	CHECK_EQ(cpu_of(0x800000000, device), 0); /* another address space */
	CHECK_EQ(((struct nvs_rec_gpu_map *)last_record(NVS_REC_GPU_MAP))->vaspace, 9);
	/* The device's own, at the same address. */
	map_dma(56, 27, 25, 0, 0x1000, 0x800000000);
	CHECK_EQ(cpu_of(0x800000000, device), 0x7a0000000000);
	CHECK_EQ(cpu_of(0x800000000, space), 0x7a0000001000);
	rm_status = 5;
	unmap_dma(48, 26, 25, 0x800000000, 0x2000);
	rm_status = 0;
	CHECK_EQ(cpu_of(0x800000000, space), 0x7a0000001000);
	unmap_dma(48, 26, 25, 0x800000000, 0x1000);
	CHECK_EQ(cpu_of(0x800000000, space), 0);
	CHECK_EQ(cpu_of(0x800001000, space), 0x7a0000002000);
	unmap_dma(40, 27, 25, 0x800000000, 0);
	CHECK_EQ(cpu_of(0x800000000, device), 0);
	/* With the virtual memory go its mappings; so with the memory. */
	rm_free(A, 26);
	CHECK_EQ(cpu_of(0x800001000, space), 0);
	map_dma(64, 27, 25, 0, 0x1000, 0x900000000);
	rm_free(A, 25);
	CHECK_EQ(cpu_of(0x900000000, device), 0);
	CHECK_EQ(nvs_rm()->gpu.n, 0);
	rm_free(A, 27);
}

static void test_pinned(void)
{
	uint8_t a[56] = {0};

	put32(a, 0, A);
	put32(a, 4, 2);
	put32(a, 8, 28);
	put32(a, 12, 0x71);
	put64(a, 24, 0x7d0000000000);
	put64(a, 32, 0x1fffff);
	put32(a, 48, ~0u);
	escape(13, 0x27, 56, a, 40);
	uvm_map(0x7d0000000000, 0x200000, 0, A, 28);
	CHECK_EQ(cpu_of(0x7d0000012345, 0), 0x7d0000012345);
	CHECK_EQ(((struct nvs_rec_cpu_map *)last_record(NVS_REC_CPU_MAP))->kind, NVS_MAP_PINNED);
	CHECK(nvs_rm()->gpu.n == 1 && ((struct nvs_gpu_map *)nvs_rm()->gpu.at[0])->gpu == NVS_NONE);
	nvs_maps_munmap((void *)0x7d0000000000, 0x100000);
	CHECK_EQ(cpu_of(0x7d0000012345, 0), 0);
	CHECK_EQ(cpu_of(0x7d0000100000, 0), 0x7d0000100000);
	rm_free(A, 28);
	uvm_free(0x7d0000000000, 0x200000);
	CHECK_EQ(view->nmaps, 0);
}

static uint64_t make_bell(uint32_t handle, uint64_t linear)
{
	rm_alloc(A, 3, handle, 0xc661, NULL);
	map_memory(A, handle, 0x10000, linear, DEV_GPU(0), BELL, PROT_WRITE);
	CHECK_EQ(view->ndoorbells, 1);
	return view->ndoorbells ? view->doorbells[0].alias : 0;
}

/* The view, then the alias, then the call. */
static void check_order(unsigned from, const char *last, uint64_t last_a, uint64_t alias)
{
	unsigned a = find_step(from, "publish", 0), b = find_step(from, "munmap", alias);
	unsigned c = find_step(from, last, last_a);

	CHECK(from <= a && a < b && b < c && c < nsteps);
	CHECK_EQ(view->ndoorbells, 0);
}

static void test_doorbell_goes(void)
{
	uint64_t alias = make_bell(5, 0x1000000a0000);
	unsigned n = nsteps, at;

	/* Armed at once while the session lives: in the view before the page refuses stores. */
	at = find_step(0, "mprotect", BELL);
	CHECK(at < nsteps && steps[at].c == PROT_READ && !strcmp(steps[at - 1].what, "publish"));
	CHECK_EQ(nvs_maps_munmap((void *)BELL, 0x10000), 0);
	check_order(n, "munmap", BELL, alias);

	alias = make_bell(5, 0x1000000a0000);
	n = nsteps;
	next_mmap = BELL;
	nvs_maps_mmap((void *)BELL, 0x10000, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0,
		      false);
	check_order(n, "mmap", BELL, alias);

	/* The page stays with the program when its object goes: it is then as the program made it.
	 *  */
	alias = make_bell(6, 0x1000000a0000);
	n = nsteps;
	rm_unmap(A, 6, 0x1000000a0000);
	check_order(n, "ioctl", 0x4f, alias);
	at = find_step(n, "mprotect", BELL);
	CHECK(at < find_step(n, "publish", 0) && steps[at].c == PROT_WRITE);
	CHECK(!cpu_map(BELL));

	alias = make_bell(7, 0x1000000a0000);
	n = nsteps;
	rm_free(A, 7);
	check_order(n, "ioctl", 0x29, alias);
	/* Published ahead of the call and behind it, and not in between. */
	for (at = n, n = 0; at < nsteps; at++)
		n += !strcmp(steps[at].what, "publish");
	CHECK(n >= 1 && n <= 2);

	/* By the address it was told, and by a wrong one. */
	alias = make_bell(8, 0x1000000a0000);
	{
		uint8_t a[40] = {0};

		put32(a, 0, A);
		put32(a, 8, 8);
		put64(a, 16, 0x1000000a0000);
		put64(a, 24, BELL);
		escape(ctl, 0x5e, 40, a, 32);
	}
	rm_status = 0x1f;
	rm_unmap(A, 8, 0x12345000);
	rm_status = 0;
	CHECK_EQ(view->ndoorbells, 1);
	n = nsteps;
	rm_unmap(A, 8, BELL);
	check_order(n, "ioctl", 0x4f, alias);
	rm_free(A, 8);
	rm_free(A, 5);
	rm_free(A, 6);
}

static void test_doorbell_protection(void)
{
	uint64_t alias = make_bell(5, 0x1000000a0000);
	unsigned n = nsteps, at;

	/* Opening it is not done, and said to be. */
	CHECK_EQ(nvs_maps_mprotect((void *)BELL, 0x10000, RW), 0);
	at = find_step(n, "mprotect", BELL);
	CHECK(at < nsteps && steps[at].c == PROT_READ);
	CHECK_EQ(find_step(at + 1, "mprotect", BELL), nsteps);
	CHECK_EQ(view->ndoorbells, 1);
	/* Closing it is: a store is then the program's own fault. */
	n = nsteps;
	CHECK_EQ(nvs_maps_mprotect((void *)BELL, 0x10000, PROT_NONE), 0);
	at = find_step(n, "mprotect", BELL);
	CHECK(at < nsteps && steps[at].c == PROT_NONE && find_step(n, "publish", 0) < at);
	CHECK_EQ(view->ndoorbells, 0);
	CHECK_EQ(nvs_maps_mprotect((void *)BELL, 0x10000, PROT_WRITE), 0);
	CHECK_EQ(view->ndoorbells, 1);
	CHECK_EQ(view->doorbells[0].alias, alias);
	/* In a larger range, what lies around it gets what was asked. */
	n = nsteps;
	nvs_maps_mprotect((void *)(BELL - 0x3000), 0x20000, RW);
	at = find_step(n, "mprotect", BELL - 0x3000);
	CHECK(at < nsteps && steps[at].b == 0x3000 && steps[at].c == RW);
	at = find_step(n, "mprotect", BELL);
	CHECK(at < nsteps && steps[at].b == 0x10000 && steps[at].c == PROT_READ);
	at = find_step(n, "mprotect", BELL + 0x10000);
	CHECK(at < nsteps && steps[at].b == 0xd000 && steps[at].c == RW);
	/* It moves with its alias. */
	nvs_maps_mremap((void *)BELL, 0x10000, 0x10000, MREMAP_MAYMOVE | MREMAP_FIXED,
			(void *)(BELL + 0x100000));
	CHECK(view->ndoorbells == 1 && view->doorbells[0].start == BELL + 0x100000 &&
	      view->doorbells[0].alias == alias);
	/* Its tail goes; the page that rings stays armed. */
	nvs_maps_munmap((void *)(BELL + 0x101000), 0xf000);
	CHECK(view->ndoorbells == 1 && view->doorbells[0].end == BELL + 0x101000 &&
	      view->doorbells[0].alias == alias);
	CHECK(find_step(0, "munmap", alias + 0x1000) < nsteps);
	/* A hole in a fresh one: what lies behind it has no register and is the program's again. */
	rm_free(A, 5);
	alias = make_bell(5, 0x1000000a0000);
	n = nsteps;
	nvs_maps_munmap((void *)(BELL + 0x4000), 0x1000);
	CHECK(view->ndoorbells == 1 && view->doorbells[0].end == BELL + 0x4000);
	at = find_step(n, "mprotect", BELL + 0x4000);
	CHECK(at < nsteps && steps[at].b == 0xc000 && steps[at].c == PROT_WRITE);
	at = find_step(n, "munmap", alias + 0x4000);
	CHECK(at < nsteps && steps[at].b == 0xc000);
	CHECK(find_step(n, "publish", 1) < at);
	CHECK(cpu_map(BELL + 0x5000) && cpu_map(BELL + 0x5000)->kind == NVS_MAP_MEMORY);
	rm_free(A, 5);
	CHECK_EQ(view->ndoorbells, 0);
}

/* Where there was no memory for a view that has it, no store may be refused there yet. */
static void test_doorbell_unseen(void)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_cpu_map *m;
	unsigned n, at;

	make_bell(9, 0x1000000a0000);
	m = (struct nvs_cpu_map *)cpu_map(BELL);
	m->guarded = false;
	rm->arming = rm->dirty = true;
	rm->live = false; /* nothing is published */
	n = nsteps;
	CHECK_EQ(nvs_maps_mprotect((void *)BELL, 0x10000, RW), 0);
	at = find_step(n, "mprotect", BELL);
	CHECK(at < nsteps && steps[at].c == RW);
	CHECK_EQ(find_step(at + 1, "mprotect", BELL), nsteps);
	rm->live = true;
	n = nsteps;
	nvs_publish_view();
	at = find_step(n, "mprotect", BELL);
	CHECK(at < nsteps && steps[at].c == PROT_READ && find_step(n, "publish", 1) < at);
	rm_free(A, 9);
}

static void test_doorbell_fails(void)
{
	struct nvs_rec_cpu_map *r;

	rm_alloc(A, 3, 5, 0xc661, NULL);
	/* Both tries at an alias are refused. */
	open_device(40, "/dev/nvidia0", DEV_GPU(0));
	rm_map(A, 5, 0, 0x10000, 0, 40);
	next_mmap = BELL;
	fail_mmap = 1;
	{
		const struct nvs_cpu_map *m;
		void *p = nvs_maps_mmap(NULL, 0x10000, PROT_WRITE, MAP_SHARED, 40, 0, true);

		/* The second try, write-only, has worked. */
		m = cpu_map((uintptr_t)p);
		CHECK(m && m->alias && m->armed);
		nvs_maps_munmap(p, 0x10000);
	}
	fail_mprotect = 1;
	next_mmap = BELL;
	nvs_maps_mmap(NULL, 0x10000, PROT_WRITE, MAP_SHARED, 40, 0, true);
	fail_mprotect = 0;
	r = last_record(NVS_REC_CPU_MAP);
	CHECK(r->kind == NVS_MAP_DOORBELL && r->rec.flags == NVS_MAP_UNARMED);
	CHECK_EQ(view->ndoorbells, 0);
	close_device(40);
	rm_free(A, 5);
}

/* A mapping that no call has told of is found at the end. */
static void test_maps_check(void)
{
	int fd = memfd_create("/dev/nvidia0", 0), other = memfd_create("/dev/nvidiactl", 0);
	struct nvs_rec_check *r;
	void *p, *q, *s;

	CHECK(fd >= 0 && !ftruncate(fd, 0x10000) && other >= 0 && !ftruncate(other, 0x10000));
	p = mmap(NULL, 0x10000, PROT_WRITE, MAP_SHARED, fd, 0);
	q = mmap(NULL, 0x10000, PROT_READ, MAP_SHARED, fd, 0);
	s = mmap(NULL, 0x10000, PROT_WRITE, MAP_SHARED, other, 0);
	CHECK(p != MAP_FAILED && q != MAP_FAILED && s != MAP_FAILED);
	nvs_maps_check();
	r = last_record(NVS_REC_CHECK);
	CHECK(r->kind == NVS_CHECK_MAPS && r->value == 1);
	for (unsigned i = 0; i < nrecords; i++) {
		r = (void *)records[i];
		if (r->rec.type == NVS_REC_CHECK && r->kind == NVS_CHECK_UNARMED) {
			CHECK_EQ(r->start, (uintptr_t)p);
			CHECK_EQ(r->end, (uintptr_t)p + 0x10000);
		}
	}
	/* Not what the program has left, however many others since. */
	nvs_maps_add_dead((uintptr_t)p, (uintptr_t)p + 0x10000);
	for (uint64_t i = 1; i <= 1000; i++)
		nvs_maps_add_dead(0x100000 * i, 0x100000 * i + 0x10000);
	nvs_maps_check();
	r = last_record(NVS_REC_CHECK);
	CHECK(r->kind == NVS_CHECK_MAPS && r->value == 0);
	munmap(p, 0x10000);
	nvs_maps_check();
	r = last_record(NVS_REC_CHECK);
	CHECK(r->kind == NVS_CHECK_MAPS && r->value == 0);
	munmap(q, 0x10000);
	munmap(s, 0x10000);
}

/* A trap that is interrupted, or left, stays on an old view for long: nothing of that is given
 * back. */
static void test_trap_stays(void)
{
	uint64_t alias = make_bell(5, 0x1000000a0000);
	const struct nvs_spool_channel *slot;

	make_channel(A, 2, 31, 0x200000000, 1024, 0, 0, 0x1f);
	CHECK(viewed(0x1f) != NULL);
	slot = viewed(0x1f)->state;
	trap_stays = true;
	rm_free(A, 5);
	rm_free(A, 31);
	CHECK(view->ndoorbells == 0 && !viewed(0x1f));
	CHECK(find_step(0, "munmap", alias) == nsteps && nvs_maps_is_dead(alias, alias + 0x10000));
	CHECK(slot_used[slot - slots]);
	trap_stays = false;
	alias = make_bell(5, 0x1000000b0000);
	rm_free(A, 5);
	CHECK(find_step(0, "munmap", alias) < nsteps);
}

static void test_many(void)
{
	enum { N = 4000 };
	unsigned wrong = 0;

	for (unsigned i = 0; i < N; i++) {
		uint32_t handle = 0x1000 + i;
		uint64_t at = 0x100000000000ull + i * 0x10000ull;

		rm_alloc(A, 2, handle, 0x003e, NULL);
		map_memory(A, handle, 0x3000, 0, DEV_CTL, at, RW);
		uvm_map(at + 0x700000000, 0x3000, 0, A, handle);
	}
	CHECK_EQ(view->nmaps, N);
	for (unsigned i = 0; i < N; i += 97)
		wrong += cpu_of(0x100700000000ull + i * 0x10000ull, 0) !=
			 0x100000000000ull + i * 0x10000ull;
	CHECK_EQ(wrong, 0);
	for (unsigned i = 0; i < N; i++) {
		rm_free(A, 0x1000 + (i * 7919) % N);
		uvm_free(0x100700000000ull + ((i * 7919) % N) * 0x10000ull, 0x3000);
	}
	CHECK_EQ(view->nmaps, 0);
	CHECK_EQ(nvs_rm()->cpu.n, 0);
	CHECK_EQ(nvs_rm()->gpu.n, 0);
}

int main(void)
{
	start();
	test_join();
	test_unaligned();
	test_partial_unmap();
	test_uvm_forms();
	test_uvm_mmap();
	test_dma();
	test_pinned();
	test_doorbell_goes();
	test_doorbell_protection();
	test_doorbell_unseen();
	test_doorbell_fails();
	test_maps_check();
	test_trap_stays();
	test_many();
	return finish();
}
