/* SPDX-License-Identifier: MIT */
/*
 * Classifies file descriptors by the device behind them. A table caches the answer, mainly for fds
 * of other files. It can be stale, since an fd can be opened and closed unseen, so a request that
 * looks like a device call asks the kernel again, unless no other file accepts that request.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "preload/base/state.h"
#include "preload/base/sys.h"
#include "preload/rm/rm.h"

#define NVIDIA_MAJOR 195
#define MINOR_MODESET 254
#define MINOR_CTL 255

/* Also valid in a forked child, which inherits the fds. */
static _Atomic uint8_t kinds[NVS_FD_KINDS];
static _Atomic int uvm_major; /* 0: not determined yet; -1: no nvidia-uvm */

static int major_from_proc(void)
{
	static const char name[] = " nvidia-uvm\n";
	char text[4096];
	char *at;

	nvs_sys_read_file("/proc/devices", text, sizeof(text));
	at = strstr(text, name);
	if (!at)
		return -1;
	while (at > text && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return atoi(at);
}

static int find_uvm_major(void)
{
	struct stat st;
	int known = atomic_load_explicit(&uvm_major, memory_order_relaxed);

	if (known)
		return known;
	if (!nvs_sys_stat("/dev/nvidia-uvm", &st) && S_ISCHR(st.st_mode))
		known = (int)major(st.st_rdev);
	else
		known = major_from_proc();
	atomic_store_explicit(&uvm_major, known, memory_order_relaxed);
	return known;
}

/* Memory devices, terminals and pseudo-terminals, for which UVM's major number need not be read. */
static bool ordinary_major(unsigned number)
{
	return number <= 5 || (number >= 136 && number <= 143);
}

static enum nvs_fd_kind kind_of(const struct stat *st)
{
	unsigned number = major(st->st_rdev);

	if (!S_ISCHR(st->st_mode))
		return NVS_FD_OTHER;
	if (number == NVIDIA_MAJOR) {
		if (minor(st->st_rdev) == MINOR_CTL)
			return NVS_FD_CTL;
		return minor(st->st_rdev) == MINOR_MODESET ? NVS_FD_MODESET : NVS_FD_GPU;
	}
	/* Minor 1 is nvidia-uvm-tools, which maps and submits nothing. */
	if (!ordinary_major(number) && minor(st->st_rdev) == 0 && (int)number == find_uvm_major())
		return NVS_FD_UVM;
	return NVS_FD_OTHER;
}

void nvs_fd_set_kind(int fd, enum nvs_fd_kind kind)
{
	if (fd >= 0 && fd < NVS_FD_KINDS &&
	    atomic_load_explicit(&kinds[fd], memory_order_relaxed) != kind)
		atomic_store_explicit(&kinds[fd], (uint8_t)kind, memory_order_relaxed);
}

static enum nvs_fd_kind cached_kind(int fd)
{
	return fd >= 0 && fd < NVS_FD_KINDS ? atomic_load_explicit(&kinds[fd], memory_order_relaxed)
					    : NVS_FD_UNKNOWN;
}

enum nvs_fd_kind nvs_fd_kind(int fd)
{
	enum nvs_fd_kind kind = NVS_FD_OTHER;
	int err = errno;
	struct stat st;

	if (fd < 0)
		return NVS_FD_OTHER;
	if (!nvs_next()->fstat(fd, &st))
		kind = kind_of(&st);
	else
		kind = NVS_FD_UNKNOWN;
	nvs_fd_set_kind(fd, kind);
	errno = err;
	return kind;
}

/* RM escapes have the ioctl type 'F'; UVM request numbers are plain numbers. */
static bool looks_like_ours(unsigned long request)
{
	return (request >> 8 & 0xff) == 'F' || request < 2048 || (request & ~3ul) == 0x30000000;
}

/* True if only this kind of device accepts the request. If the number belongs to another file by
 * now, that file refuses it, and a refused call changes no state here. */
static bool no_other_takes(enum nvs_fd_kind kind, unsigned long request)
{
	if (kind == NVS_FD_UVM)
		return request > 2 /* FIBMAP, FIGETBSZ */ && nvs_abi_knows_uvm(request);
	return (kind == NVS_FD_CTL || kind == NVS_FD_GPU) && (request >> 8 & 0xff) == 'F' &&
	       (request >> 16 & 0x3fff) && nvs_abi_knows_escape(request & 0xff);
}

enum nvs_fd_kind nvs_fd_kind_for(int fd, unsigned long request)
{
	enum nvs_fd_kind kind = cached_kind(fd);

	if ((kind == NVS_FD_OTHER && !looks_like_ours(request)) || no_other_takes(kind, request))
		return kind;
	return nvs_fd_kind(fd);
}

static void classify_uvm(int fd)
{
	int err = errno;
	struct stat st;

	if (!nvs_next()->fstat(fd, &st) && S_ISCHR(st.st_mode) && major(st.st_rdev) != NVIDIA_MAJOR)
		atomic_store_explicit(&uvm_major, (int)major(st.st_rdev), memory_order_relaxed);
	errno = err;
}

bool nvs_fd_tracked(int fd)
{
	if (fd < 0)
		return false;
	if (fd >= NVS_FD_KINDS)
		return *nvs_slot(NVS_SLOT_FD) != NULL;
	return cached_kind(fd) > NVS_FD_OTHER;
}

void nvs_fd_classify(int fd, const char *path)
{
	if (!strcmp(path, "/dev/nvidia-uvm"))
		classify_uvm(fd);
	nvs_fd_kind(fd);
}
