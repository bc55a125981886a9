/* SPDX-License-Identifier: MIT */
/* Initialises the trap and the memory for single-stepped stores. Each buffer has a twin page pair,
 * on which such a store lands first, and a slot for a relocated copy of its instruction. */
#include <errno.h>
#include <sys/mman.h>
#include "trap/arch/store.h"
#include "trap/enter/step.h"
#include "trap/buffer/process.h"
#include "trap/low/sys.h"
#include "trap/low/poison.h"

#define TWINS ((size_t)NVS_MAX_BUFFERS * 2 * nvs_page_bytes())
#define SLOTS ((size_t)NVS_MAX_BUFFERS * NVS_SLOT_BYTES)
#define MFD_CLOEXEC_ 1u
/* Required since Linux 6.3 where memfds are not executable by default */
#define MFD_EXEC_ 0x10u

static uint8_t *map_or_null(size_t bytes, int prot, long fd)
{
	long p = nvs_syscall(SYS_mmap, 0, (long)bytes, prot, MAP_SHARED, fd, 0);

	if (p < 0 && p > -4096)
		return NULL;
	madvise((void *)p, bytes, MADV_DONTFORK);
	return (uint8_t *)p;
}

/* Written through one mapping and executed through another: no page is both. */
static void map_slots(void)
{
	long fd = nvs_sys4(SYS_memfd_create, "nvsnoop-slots", MFD_CLOEXEC_ | MFD_EXEC_, 0, 0);

	if (fd == -EINVAL)
		fd = nvs_sys4(SYS_memfd_create, "nvsnoop-slots", MFD_CLOEXEC_, 0, 0);
	if (fd < 0)
		return;
	if (!nvs_sys_over_limit(SLOTS) && !nvs_sys4(SYS_ftruncate, fd, SLOTS, 0, 0)) {
		nvs_process->slots_write = map_or_null(SLOTS, PROT_READ | PROT_WRITE, fd);
		nvs_process->slots_run = map_or_null(SLOTS, PROT_READ | PROT_EXEC, fd);
	}
	nvs_sys4(SYS_close, fd, 0, 0, 0);
}

int nvs_trap_init(const struct nvs_trap_options *options)
{
	int err = nvs_trap_state_init(options);

	if (err)
		return err;
	if (!nvs_process->twins)
		nvs_process->twins = nvs_sys_map_sparse(TWINS);
	if (!nvs_process->twins)
		return -ENOMEM;
	madvise(nvs_process->twins, TWINS, MADV_DONTFORK);
	if (!nvs_process->slots_run)
		map_slots();
	return 0;
}

static size_t buffer_index(const struct nvs_buffer *buffer)
{
	return (size_t)(buffer - nvs_process->buffers);
}

uint8_t *nvs_twin_of(const struct nvs_buffer *buffer)
{
	return nvs_process->twins + buffer_index(buffer) * 2 * nvs_page_bytes();
}

uint8_t *nvs_slot_write_of(const struct nvs_buffer *buffer)
{
	if (!nvs_process->slots_write || !nvs_process->slots_run)
		return NULL;
	return nvs_process->slots_write + buffer_index(buffer) * NVS_SLOT_BYTES;
}

uintptr_t nvs_slot_run_of(const struct nvs_buffer *buffer)
{
	return (uintptr_t)nvs_process->slots_run + buffer_index(buffer) * NVS_SLOT_BYTES;
}
