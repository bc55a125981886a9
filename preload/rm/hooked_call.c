/* SPDX-License-Identifier: MIT */
/*
 * Hooked calls on their way to the kernel and back. State that a call may remove is withdrawn from
 * the tables before it; its result is entered after it. The trap's view is published only at these
 * two points, so nothing is unmapped while a trap may use it. During the call no lock is held and
 * no signal blocked: a driver call may never return.
 */
#include <errno.h>
#include <sys/mman.h>
#include "preload/base/state.h"
#include "preload/rm/rm.h"

static void ioctl_begins(unsigned request, void *arg, bool uvm, struct nvs_transit *transit)
{
	NVS_RM_LOCK_SCOPE();
	if (nvs_rm()) {
		transit->call = ++nvs_rm()->calls;
		if (uvm)
			nvs_uvm_before(request, arg);
		else
			nvs_rm_before(request, arg, transit);
		nvs_publish_view();
	}
}

int nvs_rm_ioctl(int fd, unsigned long request, void *arg, bool uvm, bool channel)
{
	struct nvs_transit transit = {0};
	int ret, err;

	if (channel && nvs_options()->values.timing)
		nvs_rm_prepare((unsigned)request, arg);
	atomic_store_explicit(&nvs_state()->device_seen, 1, memory_order_relaxed);
	/* Taking the lock costs two system calls; most calls do not need it before they run. */
	if (uvm ? nvs_uvm_needs_before(request)
		: channel || nvs_rm_needs_before((unsigned)request, arg))
		ioctl_begins((unsigned)request, arg, uvm, &transit);
	ret = nvs_next()->ioctl(fd, request, arg);
	err = errno;
	if (!uvm && nvs_rm_changes_nothing((unsigned)request, arg, ret))
		return ret;
	NVS_RM_LOCK_SCOPE();
	if (uvm)
		nvs_uvm_after(fd, request, arg, ret, &transit);
	else
		nvs_rm_after(fd, (unsigned)request, arg, ret, &transit);
	nvs_publish_view();
	errno = err;
	return ret;
}

/* ---- the program's address space ---- */

/* Registers the start of a call that changes mappings and returns its number. The lock is held. */
static uint64_t remap_begins(void)
{
	atomic_fetch_add(&nvs_rm()->remapping, 1);
	return ++nvs_rm()->calls;
}

static void remap_ends(void)
{
	atomic_fetch_sub(&nvs_rm()->remapping, 1);
}

/* Withdraws the mappings in [start, end), which the call is about to remove or replace. */
static void withdraw_range(uint64_t start, uint64_t end, uint64_t call)
{
	nvs_maps_split(start, end);
	nvs_shadow_cut_off(start, end);
	nvs_maps_withdraw(start, end, true, call);
}

/* The call is about to remove the mappings in [start, end). Returns its number. */
static uint64_t removal_begins(uint64_t start, uint64_t end)
{
	uint64_t call;

	nvs_shadow_prepare(start, end);
	NVS_RM_LOCK_SCOPE();
	call = remap_begins();
	withdraw_range(start, end, call);
	nvs_publish_view();
	return call;
}

static void removal_ends(uint64_t start, uint64_t end, uint64_t call, bool failed)
{
	if (failed)
		nvs_maps_restore(start, end, call);
	else
		nvs_maps_drop(start, end);
	remap_ends();
}

void *nvs_maps_mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset,
		    bool device)
{
	uint64_t start = (uintptr_t)address, end = start + nvs_page_up(size), call = 0;
	bool over = (flags & MAP_FIXED) && nvs_maps_may_overlap(start, size);
	struct nvs_extra_maps more = {0};
	void *p;
	int err;

	if (over)
		call = removal_begins(start, end);
	p = nvs_next()->mmap(address, size, prot, flags, fd, offset);
	err = errno;
	device = device && p != MAP_FAILED;
	if (device)
		nvs_maps_make_extra(size, prot, fd, offset, &more);
	if (device || over) {
		NVS_RM_LOCK_SCOPE();
		if (over)
			removal_ends(start, end, call, p == MAP_FAILED);
		if (device && nvs_rm())
			nvs_maps_add_new(p, size, prot, fd, offset, &more);
		nvs_publish_view();
	}
	errno = err;
	return p;
}

int nvs_maps_munmap(void *address, size_t size)
{
	uint64_t start = (uintptr_t)address, end = start + nvs_page_up(size), call;
	int ret, err;

	/* The kernel refuses such a call. */
	if (nvs_page_offset(start) || end <= start)
		return nvs_next()->munmap(address, size);
	call = removal_begins(start, end);
	ret = nvs_next()->munmap(address, size);
	err = errno;
	NVS_RM_LOCK_SCOPE();
	removal_ends(start, end, call, ret);
	nvs_publish_view();
	errno = err;
	return ret;
}

/*
 * A doorbell is in the view only while the program may store to it: a store to a page that the
 * program made read-only is the program's own fault. So the doorbell leaves the view before the
 * change and returns after it. mprotect() does not involve the driver, so the lock is held
 * throughout.
 */
int nvs_maps_mprotect(void *address, size_t size, int prot)
{
	uint64_t start = (uintptr_t)address, end = start + nvs_page_up(size), call;
	int ret, err;

	if (nvs_page_offset(start) || end <= start)
		return nvs_next()->mprotect(address, size, prot);
	nvs_shadow_prepare(start, end);
	NVS_RM_LOCK_SCOPE();
	call = ++nvs_rm()->calls;
	nvs_maps_split(start, end);
	if (!(prot & PROT_WRITE))
		nvs_maps_withdraw(start, end, false, call);
	nvs_publish_view();
	ret = nvs_maps_protect(start, end, prot, call);
	err = errno;
	nvs_maps_finish_protect(start, end, ret ? -1 : prot, call);
	nvs_publish_view();
	errno = err;
	return ret;
}

void *nvs_maps_mremap(void *old, size_t old_size, size_t size, int flags, void *to)
{
	uint64_t start = (uintptr_t)old, end = start + nvs_page_up(old_size), call;
	uint64_t kept = nvs_page_up(size) < end - start ? nvs_page_up(size) : end - start;
	uint64_t target = (uintptr_t)to, target_end = target + nvs_page_up(size);
	bool fixed = flags & MREMAP_FIXED;
	sigset_t saved;
	void *p;
	int err;

	nvs_shadow_prepare(start, end);
	if (fixed)
		nvs_shadow_prepare(target, target_end);
	nvs_lock(&saved);
	call = remap_begins();
	nvs_maps_split(start, end);
	nvs_maps_split(start, start + kept);
	nvs_shadow_cut_off(start, end);
	nvs_maps_withdraw(start, start + kept, false, call);
	nvs_maps_withdraw(start + kept, end, true, call);
	if (fixed)
		withdraw_range(target, target_end, call);
	nvs_publish_view();
	nvs_rm_unlock(&saved);
	p = nvs_next()->mremap(old, old_size, size, flags, to);
	err = errno;
	nvs_lock(&saved);
	if (p == MAP_FAILED) {
		nvs_maps_restore(start, end, call);
		if (fixed)
			nvs_maps_restore(target, target_end, call);
	} else {
		if (fixed)
			nvs_maps_drop(target, target_end);
		nvs_maps_drop(start + kept, end);
		if ((uintptr_t)p != start)
			nvs_maps_move(start, kept, (uintptr_t)p, call);
		else
			nvs_maps_restore(start, start + kept, call);
	}
	remap_ends();
	nvs_publish_view();
	nvs_rm_unlock(&saved);
	errno = err;
	return p;
}

/* ---- descriptors ---- */

/* close() always frees the number, and another thread may get that number as soon as the kernel has
 * it. So both steps run before the call. The lock is held. */
static void close_tracked(int fd)
{
	uint32_t file = nvs_fd_remove(fd);

	if (!file)
		return;
	nvs_objects_file_closing(file);
	nvs_publish_view();
	nvs_objects_file_closed(file);
	nvs_gpu_maps_file_closed(file);
	nvs_publish_view();
}

void nvs_fd_opened(int fd, const char *path)
{
	/* The previous file of this number was closed unseen. */
	if (nvs_fd_tracked(fd) && nvs_state_is_borrowed())
		return;
	nvs_fd_closing(fd);
	if (!strncmp(path, "/dev/nvidia", 11))
		nvs_fd_classify(fd, path);
}

void nvs_fd_closing(int fd)
{
	bool tracked = nvs_fd_tracked(fd);

	if (tracked && nvs_state_is_borrowed())
		return;
	nvs_fd_set_kind(fd, NVS_FD_UNKNOWN);
	if (!tracked)
		return;
	NVS_RM_LOCK_SCOPE();
	close_tracked(fd);
}

void nvs_fd_closing_range(unsigned first, unsigned last)
{
	int fd;

	if (nvs_state_is_borrowed())
		return;
	for (unsigned i = first; i <= last && i < NVS_FD_KINDS; i++)
		nvs_fd_set_kind((int)i, NVS_FD_UNKNOWN);
	if (!*nvs_slot(NVS_SLOT_FD))
		return;
	NVS_RM_LOCK_SCOPE();
	while ((fd = nvs_fd_in_range(first, last)) >= 0)
		close_tracked(fd);
}

void nvs_fd_duped(int from, int to)
{
	if (from == to || ((nvs_fd_tracked(from) || nvs_fd_tracked(to)) && nvs_state_is_borrowed()))
		return;
	nvs_fd_closing(to);
	if (!nvs_fd_tracked(from) || nvs_fd_kind(from) < NVS_FD_CTL)
		return;
	NVS_RM_LOCK_SCOPE();
	nvs_fd_set_kind(to, nvs_fd_kind(from));
	if (nvs_rm())
		nvs_fd_share(from, to);
}
