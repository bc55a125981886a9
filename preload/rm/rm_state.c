/* SPDX-License-Identifier: MIT */
/* Allocates the tables, and keeps the state that belongs to no object: the driver's release, GPUs
 * by UUID, calls that are not decoded, and queued unmappings. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "preload/base/state.h"
#include "preload/base/sys.h"
#include "preload/rm/rm.h"
#include "preload/writer/session.h"
#include "trap/low/guard.h"

struct nvs_rm *nvs_rm(void)
{
	void **slot = nvs_slot(NVS_SLOT_RM);

	if (!*slot && (*slot = nvs_alloc(sizeof(struct nvs_rm))))
		atomic_store(&nvs_state()->pid, (uint32_t)getpid());
	return *slot;
}

/* ---- the driver's release ---- */

/* The driver cannot change while the process runs, so a forked child keeps its version. The lock is
 * held. */
static char driver[NVS_DRIVER_BYTES];

const char *nvs_rm_driver_version(void)
{
	return driver;
}

void nvs_rm_set_driver(const char *version)
{
	struct nvs_rm *rm = nvs_rm();
	uint32_t release = nvs_abi_release(version);
	size_t n = strnlen(version, sizeof(driver) - 1);

	if (!release || release == rm->release)
		return;
	rm->release = release;
	if (!strncmp(driver, version, sizeof(driver)))
		return;
	memcpy(driver, version, n);
	driver[n] = '\0';
	if (rm->live) {
		nvs_record_attr(NVS_ATTR_DRIVER, driver, n);
		nvs_rm_check_release();
	}
}

bool nvs_rm_release_is_newer(void)
{
	struct nvs_rm *rm = *nvs_slot(NVS_SLOT_RM);

	return rm && rm->release > nvs_abi_newest;
}

bool nvs_rm_met_unknown_form(void)
{
	const struct nvs_rm *rm = *nvs_slot(NVS_SLOT_RM);
	uint32_t i = 0;

	while (rm && i < rm->nremarks &&
	       (rm->remarks[i].r.kind < NVS_REMARK_CHANNEL_FORM ||
		rm->remarks[i].r.kind > NVS_REMARK_UVM_FORM))
		i++;
	return rm && i < rm->nremarks;
}

void nvs_rm_check_release(void)
{
	if (nvs_rm_release_is_newer())
		nvs_record_remark(NVS_REMARK_NEWER_RELEASE, NVS_NONE, 0, 0);
	else if (!nvs_rm()->release)
		nvs_record_remark(NVS_REMARK_NO_RELEASE, NVS_NONE, 0, 0);
}

/* Finds the first word that looks like a release, for example in "... Kernel Module for x86_64
 * 580.159.04 Release ...". */
static void find_version(char *text)
{
	for (char *word = text; *word;) {
		char *end = word + strcspn(word, " \t\n");
		char stop = *end;

		*end = 0;
		if (nvs_abi_release(word)) {
			nvs_rm_set_driver(word);
			return;
		}
		*end = stop;
		word = end + (stop != 0);
	}
}

static void ask_proc(void)
{
	char text[512];
	int err = errno;
	int fd = nvs_next()->open("/proc/driver/nvidia/version", O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? -1 : nvs_sys_read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		nvs_next()->close(fd);
	if (n > 0) {
		text[n] = 0;
		find_version(text);
	}
	errno = err;
}

uint32_t nvs_rm_release(void)
{
	struct nvs_rm *rm = nvs_rm();

	if (!rm->asked) {
		rm->asked = true;
		if (!rm->release)
			ask_proc();
	}
	return rm->release ? rm->release : NVS_RELEASE_DEFAULT;
}

/* ---- GPUs ---- */

uint32_t nvs_gpu_by_uuid(const uint8_t *uuid)
{
	const struct nvs_gpu *gpus = nvs_rm()->gpus;

	for (uint32_t i = 0; i < NVS_MAX_GPUS; i++)
		if (gpus[i].seen && !memcmp(gpus[i].uuid, uuid, sizeof(gpus[i].uuid)))
			return i;
	return NVS_NONE;
}

uint32_t nvs_rm_gpu_by_uuid(const uint8_t uuid[16])
{
	uint32_t gpu;

	NVS_LOCK_SCOPE();
	gpu = nvs_gpu_by_uuid(uuid);
	return gpu;
}

/* ---- calls that were not decoded ---- */

void nvs_rm_count_unknown(uint32_t device, uint32_t number, uint32_t bytes)
{
	struct nvs_rm *rm = nvs_rm();

	rm->unknown_calls++;
	for (uint32_t i = 0; i < rm->unknown_n; i++) {
		struct nvs_unknown_ioctl *u = &rm->unknown[i];

		if (u->device == device && u->number == number && u->bytes == bytes) {
			u->count++;
			return;
		}
	}
	if (rm->unknown_n < NVS_MAX_UNKNOWN)
		rm->unknown[rm->unknown_n++] = (struct nvs_unknown_ioctl){device, number, bytes, 1};
}

uint64_t nvs_rm_unknown_calls(void)
{
	struct nvs_rm *rm = *nvs_slot(NVS_SLOT_RM);

	return rm ? rm->unknown_calls : 0;
}

/* ---- queued unmappings of the library's own mappings ---- */

struct nvs_unmapping {
	uintptr_t start;
	size_t size;
	struct nvs_unmapping *next;
};

void nvs_rm_unmap(uintptr_t start, size_t size)
{
	struct nvs_unmapping *u = start && size ? nvs_alloc(sizeof(*u)) : NULL;

	if (!u) /* out of memory: it stays mapped */
		return;
	*u = (struct nvs_unmapping){start, size, nvs_rm()->unmappings};
	nvs_rm()->unmappings = u;
}

/* munmap of device memory calls the driver, which may never return, so it runs without the lock. */
void nvs_rm_unlock(const sigset_t *saved)
{
	struct nvs_rm *rm = *nvs_slot(NVS_SLOT_RM);
	struct nvs_unmapping *all = rm ? rm->unmappings : NULL, *u;
	int err = errno;

	if (all) {
		rm->unmappings = NULL;
		atomic_fetch_add(&rm->remapping, 1);
	}
	nvs_unlock(saved);
	if (!all)
		return;
	while ((u = all)) {
		all = u->next;
		nvs_next()->munmap((void *)u->start, u->size);
		nvs_free(u, sizeof(*u));
	}
	atomic_fetch_sub(&rm->remapping, 1);
	errno = err;
}

/* ---- memory of the program ---- */

bool nvs_copy_program(void *to, const void *from, size_t bytes)
{
	const uint8_t *last = (const uint8_t *)from + bytes - 8;

	/* The bytes are on at most two pages. Another thread may unmap them after the check, so the
	 * copy is guarded. */
	return nvs_sys_readable(from) &&
	       (nvs_page_of((uintptr_t)from) == nvs_page_of((uintptr_t)last + 7) ||
		nvs_sys_readable(last)) &&
	       !nvs_copy_guarded(to, from, bytes);
}
