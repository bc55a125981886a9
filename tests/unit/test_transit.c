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
/* What other threads do while a call is in progress: it holds no lock, and removes only what
 * existed before it. */
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

static uint64_t make_bell(uint32_t handle, uint64_t linear)
{
	rm_alloc(A, 3, handle, 0xc661, NULL);
	map_memory(A, handle, 0x10000, linear, DEV_GPU(0), BELL, PROT_WRITE);
	CHECK_EQ(view->ndoorbells, 1);
	return view->ndoorbells ? view->doorbells[0].alias : 0;
}

/* ---- objects ---- */

static void make_20(void)
{
	rm_alloc(A, 2, 20, 0x003e, NULL);
}

static void free_20(void)
{
	rm_free(A, 20);
}

/* Frees the channel, which the device refuses. */
static void refuse_32(void)
{
	uint32_t status = rm_status;

	CHECK(!viewed(0x10032));
	rm_status = 5;
	rm_free(A, 32);
	rm_status = status;
	CHECK(!viewed(0x10032));
}

/* The program changes the call's parameters while the call is on its way. */
static struct nv_ioctl_xfer changing;

static void change_form(void)
{
	changing.size = 20;
}

static void test_changed_form(void)
{
	struct NVOS00_PARAMETERS a = {.hRoot = A, .hObjectOld = 20};

	make_20();
	changing = (struct nv_ioctl_xfer){
		.cmd = NVS_ESC_FREE, .size = sizeof(a), .ptr = (uintptr_t)&a};
	meanwhile = change_form;
	escape(ctl, NVS_ESC_XFER_CMD, sizeof(changing), &changing, -1);
	CHECK(object(A, 20) && !object(A, 20)->leaving);
	free_20();
}

static void test_objects(void)
{
	const uint64_t va = 0x7f1000000000;
	unsigned gone;

	/* The handle is another object's before its free returns. */
	make_20();
	gone = count_records(NVS_REC_OBJECT_GONE);
	meanwhile = make_20;
	rm_free(A, 20);
	CHECK(object(A, 20) && !object(A, 20)->leaving);
	CHECK_EQ(count_records(NVS_REC_OBJECT_GONE), gone + 1);
	/* Freed twice at once; and with what it stands in. */
	meanwhile = free_20;
	rm_free(A, 20);
	CHECK(!object(A, 20));
	make_20();
	meanwhile = free_20;
	rm_free(A, 2);
	CHECK(!object(A, 20) && !object(A, 2));
	rm_free(A, A);
	CHECK(!nvs_rm()->objects);
	CHECK_EQ(count_records(NVS_REC_OBJECT_GONE), count_records(NVS_REC_OBJECT));

	/* A channel is out of view for as long as any call may take it away. */
	make_client(A, 0);
	ring_memory(A, va);
	make_channel(A, 3, 32, va, 1024, 20, 0x2400, 0x10032);
	CHECK(viewed(0x10032));
	rm_status = 5;
	meanwhile = refuse_32;
	rm_free(A, 3);
	CHECK(viewed(0x10032));
	rm_status = 0;
	meanwhile = refuse_32;
	rm_free(A, 3);
	CHECK(!object(A, 32));
	uvm_free(va, 0x200000);
	rm_free(A, A);
}

/* ---- mappings ---- */

static void map_21_there(void)
{
	map_memory(A, 21, 0x4000, 0, DEV_CTL, 0x7a0000000000, RW);
}

static void protect_there(void)
{
	CHECK(!cpu_of(0x500000000, 0));
	CHECK_EQ(nvs_maps_mprotect((void *)0x7a0000000000, 0x4000, PROT_NONE), 0);
	CHECK_EQ(nvs_maps_mprotect((void *)0x7a0000000000, 0x4000, RW), 0);
	CHECK(!cpu_of(0x500000000, 0));
}

static void free_there(void)
{
	rm_free(A, 20);
}

static void map_21_for_gpu(void)
{
	uvm_map(0x500000000, 0x4000, 0, A, 21);
}

/* Index of the last record of TYPE. */
static unsigned last_index(unsigned type)
{
	unsigned i = nrecords;

	while (i-- > 0 && records[i]->type != type)
		;
	return i;
}

static void test_memory(void)
{
	unsigned maps = nvs_rm()->cpu.n;

	memory(20, 0x003e);
	memory(21, 0x003e);
	uvm_map(0x500000000, 0x4000, 0, A, 20);
	uvm_map(0x600000000, 0x4000, 0, A, 21);
	map_memory(A, 20, 0x4000, 0, DEV_CTL, 0x7a0000000000, RW);
	CHECK_EQ(cpu_of(0x500000000, 0), 0x7a0000000000);
	/* Refused, while others make something of the same addresses. */
	fail_munmap = 1;
	meanwhile = protect_there;
	CHECK_EQ(nvs_maps_munmap((void *)0x7a0000000000, 0x4000), -1);
	fail_munmap = 0;
	CHECK_EQ(cpu_of(0x500000000, 0), 0x7a0000000000);
	/* Given away before it returns. The trace has one mapping there at a time. */
	meanwhile = map_21_there;
	CHECK_EQ(nvs_maps_munmap((void *)0x7a0000000000, 0x4000), 0);
	CHECK_EQ(nvs_rm()->cpu.n, maps + 1);
	CHECK(cpu_map(0x7a0000000000)->handle == 21 && !cpu_map(0x7a0000000000)->hidden);
	CHECK_EQ(cpu_of(0x500000000, 0), 0);
	CHECK_EQ(cpu_of(0x600000000, 0), 0x7a0000000000);
	CHECK(last_index(NVS_REC_CPU_MAP_GONE) < last_index(NVS_REC_CPU_MAP));
	nvs_maps_munmap((void *)0x7a0000000000, 0x4000);
	/* Its object goes meanwhile. */
	map_memory(A, 20, 0x4000, 0, DEV_CTL, 0x7a0000000000, RW);
	meanwhile = free_there;
	CHECK_EQ(nvs_maps_munmap((void *)0x7a0000000000, 0x4000), 0);
	CHECK_EQ(nvs_rm()->cpu.n, maps);
	/* The GPU's addresses as well. */
	map_21_there();
	meanwhile = map_21_for_gpu;
	uvm_free(0x500000000, 0x4000);
	CHECK_EQ(cpu_of(0x500000000, 0), 0x7a0000000000);
	CHECK(!nvs_rm()->remapping && !nvs_rm()->unmappings);
	uvm_free(0x500000000, 0x4000);
	uvm_free(0x600000000, 0x4000);
	CHECK_EQ(cpu_of(0x500000000, 0), 0);
	nvs_maps_munmap((void *)0x7a0000000000, 0x4000);
	rm_free(A, 21);
}

/* Of the doorbell that is being unmapped. */
static void free_bell(void)
{
	rm_status = 5;
	rm_free(A, 5);
	rm_status = 0;
}

static void test_doorbell(void)
{
	unsigned n;

	/* Both are refused: the page is the program's, open, and nobody protects what may lie
	 * there. */
	make_bell(5, 0x1000000a0000);
	fail_munmap = 1;
	meanwhile = free_bell;
	n = nsteps;
	CHECK_EQ(nvs_maps_munmap((void *)BELL, 0x10000), -1);
	fail_munmap = 0;
	CHECK(find_step(n, "munmap", BELL) < find_step(n, "mprotect", BELL));
	CHECK(!cpu_map(BELL)->hidden && !cpu_map(BELL)->armed);
	nvs_maps_munmap((void *)BELL, 0x10000);
	rm_free(A, 5);
	CHECK(!cpu_map(BELL));
}

int main(void)
{
	nvs_rm()->release = NVS_RELEASE(580, 159, 4);
	nvs_rm()->asked = true;
	make_client(A, 0);
	nvs_session_start();
	test_objects();
	make_client(A, 0);
	test_changed_form();
	test_memory();
	test_doorbell();
	return finish();
}
