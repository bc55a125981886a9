/* SPDX-License-Identifier: MIT */
/* The exported functions for files, devices and mappings. Each returns result and errno of the next
 * definition. A call that concerns no device costs one table lookup: no lock, no allocation. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "preload/base/next.h"
#include "preload/base/state.h"
#include "preload/hooks/export.h"
#include "preload/rm/rm.h"
#include "preload/signals/signals.h"
#include "trap/low/sys.h"

/* Returns true for the library's own calls, those of the trap, and all calls if the library is
 * disabled. */
static bool must_pass(void)
{
	return nvs_lock_is_mine() || nvs_in_trap() || nvs_options()->disabled;
}

static void track_open(int fd, const char *path)
{
	if (fd < 0 || must_pass())
		return;
	nvs_fd_opened(fd, path);
	/* A constructor that runs before ours has opened it, before main(). */
	if (nvs_fd_tracked(fd))
		nvs_session_prepare();
}

static mode_t mode_of(int flags, va_list ap)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0;
}

#define OPEN(name, parameters, ...)                              \
	EXPORT int name parameters                               \
	{                                                        \
		va_list ap;                                      \
		mode_t mode;                                     \
		int fd;                                          \
		va_start(ap, flags);                             \
		mode = mode_of(flags, ap);                       \
		va_end(ap);                                      \
		fd = nvs_next()->name(__VA_ARGS__, flags, mode); \
		track_open(fd, path);                            \
		return fd;                                       \
	}

/* The fortified forms. The C library's abort a program that omits the mode; they still do. */
#define OPEN_2(name, parameters, ...)                                        \
	int __##name##_2 parameters;                                         \
	EXPORT int __##name##_2 parameters                                   \
	{                                                                    \
		const struct nvs_next *next = nvs_next();                    \
		int fd = next->name##_2 ? next->name##_2(__VA_ARGS__, flags) \
					: next->name(__VA_ARGS__, flags);    \
		track_open(fd, path);                                        \
		return fd;                                                   \
	}

#undef open
#undef open64
#undef openat
#undef openat64

OPEN(open, (const char *path, int flags, ...), path)
OPEN(open64, (const char *path, int flags, ...), path)
OPEN(openat, (int dir, const char *path, int flags, ...), dir, path)
OPEN(openat64, (int dir, const char *path, int flags, ...), dir, path)
OPEN_2(open, (const char *path, int flags), path)
OPEN_2(open64, (const char *path, int flags), path)
OPEN_2(openat, (int dir, const char *path, int flags), dir, path)
OPEN_2(openat64, (int dir, const char *path, int flags), dir, path)

/* Called before close(), since another thread may get the number afterwards. */
EXPORT int close(int fd)
{
	if (!must_pass())
		nvs_fd_closing(fd);
	return nvs_next()->close(fd);
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	const struct nvs_next *next = nvs_next();

	if (!(flags & 4 /* CLOSE_RANGE_CLOEXEC */) && !must_pass())
		nvs_fd_closing_range(first, last);
	if (next->close_range)
		return next->close_range(first, last, flags);
	return (int)syscall(436 /* SYS_close_range */, first, last, flags);
}

EXPORT void closefrom(int low)
{
	const struct nvs_next *next = nvs_next();

	if (!must_pass())
		nvs_fd_closing_range(low < 0 ? 0 : (unsigned)low, ~0u);
	if (next->closefrom)
		next->closefrom(low);
	else
		syscall(436 /* SYS_close_range */, low < 0 ? 0 : low, ~0u, 0);
}

static int track_dup(int from, int to)
{
	if (to >= 0 && !must_pass())
		nvs_fd_duped(from, to);
	return to;
}

EXPORT int dup(int fd)
{
	return track_dup(fd, nvs_next()->dup(fd));
}

/* Closes the old file of the number as close() does, unless the kernel will refuse the call: no
 * file FROM, or flags that dup3() does not have. */
static int dup_onto(int from, int to, int flags, bool three)
{
	const struct nvs_next *next = nvs_next();
	int ret, err = errno;

	if (from != to && !(flags & ~O_CLOEXEC) && nvs_fd_tracked(to) && !must_pass() &&
	    next->fcntl(from, F_GETFD) >= 0)
		nvs_fd_closing(to);
	errno = err;
	ret = three ? next->dup3(from, to, flags) : next->dup2(from, to);
	if (ret >= 0 && !must_pass())
		nvs_fd_duped(from, to);
	return ret;
}

EXPORT int dup2(int from, int to)
{
	return dup_onto(from, to, 0, false);
}

EXPORT int dup3(int from, int to, int flags)
{
	return dup_onto(from, to, flags, true);
}

#undef fcntl
#undef fcntl64

EXPORT int fcntl(int fd, int cmd, ...)
{
	int ret = nvs_next()->fcntl(fd, cmd, NVS_VARIABLE_ARGUMENT(cmd));

	return cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC ? track_dup(fd, ret) : ret;
}

EXPORT_ALIAS(fcntl64, fcntl);

#define HANDLERS_NS 10000000u /* interval of the check of our signal handlers, */

/* which is also made whenever a new doorbell may follow: our handlers must be installed for it. */
static void check_handlers(bool channel)
{
	static _Atomic uint64_t asked;
	uint64_t now = nvs_read_clock(CLOCK_MONOTONIC_COARSE);

	if (!channel && now - atomic_load_explicit(&asked, memory_order_relaxed) < HANDLERS_NS)
		return;
	atomic_store_explicit(&asked, now, memory_order_relaxed);
	if (nvs_signals_check())
		nvs_rm_handlers_replaced();
}

static int device_ioctl(int fd, unsigned long request, void *arg, bool uvm)
{
	bool channel = !uvm && nvs_rm_makes_channel((unsigned)request, arg);

	/* The trace starts before the first channel is allocated. */
	if (nvs_session_is_active())
		check_handlers(channel);
	else if (channel)
		nvs_session_start();
	return nvs_rm_ioctl(fd, request, arg, uvm, channel);
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	void *arg = (void *)NVS_VARIABLE_ARGUMENT(request);
	enum nvs_fd_kind kind;

	if (must_pass())
		return nvs_next()->ioctl(fd, request, arg);
	kind = nvs_fd_kind_for(fd, request);
	if (kind < NVS_FD_CTL || nvs_state_is_borrowed())
		return nvs_next()->ioctl(fd, request, arg);
	return device_ioctl(fd, request, arg, kind == NVS_FD_UVM);
}

static bool device_mapping(int flags, int fd)
{
	if (fd < 0 || flags & MAP_ANONYMOUS)
		return false;
	if (!atomic_load_explicit(&nvs_state()->device_seen, memory_order_relaxed))
		return false;
	return nvs_fd_kind(fd) >= NVS_FD_CTL;
}

#undef mmap
#undef mmap64

EXPORT void *mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset)
{
	bool device, over;

	if (nvs_lock_is_mine() || nvs_in_trap())
		return nvs_next()->mmap(address, size, prot, flags, fd, offset);
	device = device_mapping(flags, fd) && !nvs_state_is_borrowed();
	over = (flags & MAP_FIXED) && nvs_maps_may_overlap((uintptr_t)address, size);
	if (!device && !over)
		return nvs_next()->mmap(address, size, prot, flags, fd, offset);
	return nvs_maps_mmap(address, size, prot, flags, fd, offset, device);
}

EXPORT_ALIAS(mmap64, mmap);

static bool overlaps_tracked(const void *address, size_t size)
{
	return !nvs_lock_is_mine() && !nvs_in_trap() &&
	       nvs_maps_may_overlap((uintptr_t)address, size);
}

EXPORT int munmap(void *address, size_t size)
{
	return overlaps_tracked(address, size) ? nvs_maps_munmap(address, size)
					       : nvs_next()->munmap(address, size);
}

EXPORT int mprotect(void *address, size_t size, int prot)
{
	return overlaps_tracked(address, size) ? nvs_maps_mprotect(address, size, prot)
					       : nvs_next()->mprotect(address, size, prot);
}

EXPORT void *mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
	void *to = (void *)NVS_VARIABLE_ARGUMENT(flags);

	if (overlaps_tracked(old, old_size) || (flags & MREMAP_FIXED && overlaps_tracked(to, size)))
		return nvs_maps_mremap(old, old_size, size, flags, to);
	return nvs_next()->mremap(old, old_size, size, flags, to);
}
