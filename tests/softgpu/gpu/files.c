/* SPDX-License-Identifier: MIT */
/*
 * The device files /dev/nvidiactl, /dev/nvidiaN and /dev/nvidia-uvm, by interposing libc functions.
 * An open device is a separate memfd, identified by its inode, so that descriptors obtained in any
 * way work. fstat and stat report character devices. All other calls go directly to the kernel,
 * whatever libraries are loaded before or after this one.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include "gpu.h"

#define EXPORT __attribute__((visibility("default")))
#define UVM_MAJOR 511
#define BUCKETS 256

pthread_mutex_t sg_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sg_file *files[BUCKETS];
static bool any_file;
static dev_t memfd_dev;
struct sg_options sg_options;
static long owner; /* process that owns these descriptors: not a child that shares our memory */

static long result(long r)
{
	if (r < 0 && r > -4096) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

/* A mistake in SOFTGPU ends the process: a test must not run on another GPU than it says. */
static void parse_options(void)
{
	const char *gpus = sg_option_value("gpus");
	char text[256];
	uint32_t n = sg_options_check(text, sizeof(text));

	if (n) {
		sg_sys(SYS_write, 2, (long)text, n, 0, 0, 0);
		sg_sys(SYS_exit_group, 2, 0, 0, 0, 0, 0);
	}
	sg_options.gpus = gpus && *gpus > '0' && *gpus <= '0' + SG_MAX_GPUS
				  ? (uint32_t)(*gpus - '0')
				  : 1;
	sg_options.poison = sg_option("poison");
	sg_options.time = sg_option("time");
	sg_options.own = sg_option("own");
	sg_options.eager = sg_option("eager");
	sg_options.clock = sg_option("clock");
	sg_options.machine = sg_option("machine");
	sg_options.unstated = sg_option("unstated");
	sg_options.stated_late = sg_option("stated-late");
	sg_options.once = sg_option("once");
	sg_options.unguarded = sg_option("unguarded");
	sg_options.usermode = sg_usermode();
	sg_options.ill = sg_option("wrong")   ? SG_WRONG
			 : sg_option("mute")  ? SG_MUTE
			 : sg_option("fault") ? SG_FAULT
					      : SG_WELL;
}

static void before_fork(void)
{
	pthread_mutex_lock(&sg_lock);
	for (uint32_t i = 0; i < SG_MAX_GPUS; i++)
		pthread_mutex_lock(&sg_gpus[i].lock);
}

static void after_fork(void)
{
	for (uint32_t i = 0; i < SG_MAX_GPUS; i++)
		pthread_mutex_unlock(&sg_gpus[i].lock);
	pthread_mutex_unlock(&sg_lock);
}

static void in_child(void)
{
	after_fork();
	owner = sg_sys(SYS_getpid, 0, 0, 0, 0, 0, 0);
	sg_gpu_forget();
}

/* sg_lock is held. */
static void start_once(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	owner = sg_sys(SYS_getpid, 0, 0, 0, 0, 0, 0);
	parse_options();
	sg_log_open();
	pthread_atfork(before_fork, after_fork, in_child);
}

/* The device that PATH names: node, and minor for a GPU. Returns 0 for other files. */
static enum sg_node node_of(const char *path, uint32_t *minor)
{
	if (!path || strncmp(path, "/dev/nvidia", 11))
		return 0;
	pthread_mutex_lock(&sg_lock);
	start_once();
	pthread_mutex_unlock(&sg_lock);
	*minor = 0;
	if (!strcmp(path + 11, "ctl"))
		return SG_NODE_CTL;
	if (!strcmp(path + 11, "-uvm"))
		return SG_NODE_UVM;
	if (path[11] >= '0' && path[11] < '0' + (int)sg_options.gpus && !path[12]) {
		*minor = (uint32_t)(path[11] - '0');
		return SG_NODE_GPU;
	}
	return 0;
}

static int open_device(enum sg_node node, uint32_t minor, const char *path, int flags)
{
	int fd = (int)sg_sys(SYS_memfd_create, (long)path, flags & O_CLOEXEC ? 1 : 0, 0, 0, 0, 0);
	struct sg_file *f;
	struct stat st;

	if (fd < 0)
		return (int)result(fd);
	sg_fstat(fd, &st);
	f = calloc(1, sizeof(*f));
	f->ino = st.st_ino;
	f->refs = 1;
	f->node = node;
	f->minor = minor;
	pthread_mutex_lock(&sg_lock);
	memfd_dev = st.st_dev;
	f->next = files[f->ino % BUCKETS];
	files[f->ino % BUCKETS] = f;
	__atomic_store_n(&any_file, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&sg_lock);
	return fd;
}

bool sg_any_file(void)
{
	return __atomic_load_n(&any_file, __ATOMIC_ACQUIRE);
}

struct sg_file *sg_file_of(int fd)
{
	struct stat st;
	struct sg_file *f;

	if (fd < 0 || !sg_any_file() || sg_fstat(fd, &st) < 0 || st.st_dev != memfd_dev)
		return NULL;
	for (f = files[st.st_ino % BUCKETS]; f && f->ino != st.st_ino; f = f->next)
		;
	return f;
}

static void file_unref(struct sg_file *f)
{
	struct sg_file **p = &files[f->ino % BUCKETS];

	if (--f->refs > 0)
		return;
	while (*p != f)
		p = &(*p)->next;
	*p = f->next;
	if (f->node == SG_NODE_CTL)
		sg_rm_file_gone(f);
	if (f->node == SG_NODE_UVM)
		sg_uvm_file_gone(f);
	sg_memory_put(f->area);
	free(f);
}

static void fd_gone(int fd)
{
	struct sg_file *f;

	if (fd < 0 || !sg_any_file() || owner != sg_sys(SYS_getpid, 0, 0, 0, 0, 0, 0))
		return;
	pthread_mutex_lock(&sg_lock);
	f = sg_file_of(fd);
	if (f)
		file_unref(f);
	pthread_mutex_unlock(&sg_lock);
}

static long fd_new(long fd)
{
	struct sg_file *f;

	if (fd < 0 || !sg_any_file() || owner != sg_sys(SYS_getpid, 0, 0, 0, 0, 0, 0))
		return fd;
	pthread_mutex_lock(&sg_lock);
	f = sg_file_of((int)fd);
	if (f)
		f->refs++;
	pthread_mutex_unlock(&sg_lock);
	return fd;
}

/* ---- open ---- */

static int do_open(int dir, const char *path, int flags, unsigned mode)
{
	uint32_t minor;
	enum sg_node node = node_of(path, &minor);

	if (node)
		return open_device(node, minor, path, flags);
	return (int)result(sg_sys(SYS_openat, dir, (long)path, flags, (long)mode, 0, 0));
}

#define MODE_ARG(flags, last)                          \
	({                                             \
		unsigned mode_ = 0;                    \
		if ((flags) & (O_CREAT | O_TMPFILE)) { \
			va_list ap_;                   \
			va_start(ap_, last);           \
			mode_ = va_arg(ap_, unsigned); \
			va_end(ap_);                   \
		}                                      \
		mode_;                                 \
	})

EXPORT int open(const char *path, int flags, ...)
{
	return do_open(AT_FDCWD, path, flags, MODE_ARG(flags, flags));
}

EXPORT int open64(const char *path, int flags, ...)
{
	return do_open(AT_FDCWD, path, flags, MODE_ARG(flags, flags));
}

EXPORT int openat(int dir, const char *path, int flags, ...)
{
	return do_open(dir, path, flags, MODE_ARG(flags, flags));
}

EXPORT int openat64(int dir, const char *path, int flags, ...)
{
	return do_open(dir, path, flags, MODE_ARG(flags, flags));
}

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

EXPORT int __open_2(const char *path, int flags)
{
	return do_open(AT_FDCWD, path, flags, 0);
}

EXPORT int __open64_2(const char *path, int flags)
{
	return do_open(AT_FDCWD, path, flags, 0);
}

EXPORT int __openat_2(int dir, const char *path, int flags)
{
	return do_open(dir, path, flags, 0);
}

EXPORT int __openat64_2(int dir, const char *path, int flags)
{
	return do_open(dir, path, flags, 0);
}

/* ---- descriptors ---- */

EXPORT int close(int fd)
{
	fd_gone(fd);
	return (int)result(sg_sys(SYS_close, fd, 0, 0, 0, 0, 0));
}

EXPORT int dup(int fd)
{
	return (int)result(fd_new(sg_sys(SYS_dup, fd, 0, 0, 0, 0, 0)));
}

EXPORT int dup2(int from, int to)
{
	long flags = sg_sys(SYS_fcntl, from, F_GETFD, 0, 0, 0, 0);

	if (from == to)
		return (int)result(flags < 0 ? flags : to);
	fd_gone(to);
	return (int)result(fd_new(sg_sys(SYS_dup3, from, to, 0, 0, 0, 0)));
}

EXPORT int dup3(int from, int to, int flags)
{
	if (from != to)
		fd_gone(to);
	return (int)result(fd_new(sg_sys(SYS_dup3, from, to, flags, 0, 0, 0)));
}

static int do_fcntl(int fd, int cmd, long arg)
{
	long r = sg_sys(SYS_fcntl, fd, cmd, arg, 0, 0, 0);

	return (int)result(cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC ? fd_new(r) : r);
}

#define LONG_ARG(last)                    \
	({                                \
		va_list ap_;              \
		long arg_;                \
		va_start(ap_, last);      \
		arg_ = va_arg(ap_, long); \
		va_end(ap_);              \
		arg_;                     \
	})

EXPORT int fcntl(int fd, int cmd, ...)
{
	return do_fcntl(fd, cmd, LONG_ARG(cmd));
}

EXPORT int fcntl64(int fd, int cmd, ...)
{
	return do_fcntl(fd, cmd, LONG_ARG(cmd));
}

/* ---- ioctl ---- */

/* An RM call in direct or indirect form: number, size, argument. */
static int rm_call(struct sg_file *f, unsigned long request, void *arg)
{
	uint32_t nr = request & 0xff, size = request >> 16 & 0x3fff;

	if (nr == 0xd3) {
		struct {
			uint32_t cmd, size;
			uint64_t ptr;
		} *x = arg;

		if (size != sizeof(*x))
			return -EINVAL;
		nr = x->cmd;
		size = x->size;
		arg = (void *)x->ptr;
	}
	return sg_rm_ioctl(f, nr, size, arg);
}

static bool frees(unsigned long request, const uint32_t *arg)
{
	uint32_t call = request & 0xffff;

	return call == 0x4629 || (call == 0x464a && arg[2] == 3); /* RM_FREE, VID_HEAP_CONTROL */
}

/* If the file named by SOFTGPU_STUCK exists, a call that frees removes it and never returns, as on
 * a hung GPU. */
static void get_stuck(unsigned long request, const void *arg)
{
	const char *path = frees(request, arg) ? getenv("SOFTGPU_STUCK") : NULL;
	struct timespec nap = {1, 0};

	while (path && !sg_sys(SYS_unlinkat, AT_FDCWD, (long)path, 0, 0, 0, 0))
		for (;;)
			nanosleep(&nap, NULL);
}

int ioctl(int fd, unsigned long request, ...);

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	long arg = LONG_ARG(request);
	struct sg_file *f;
	int r;

	if (sg_any_file()) {
		get_stuck(request, (const void *)arg);
		pthread_mutex_lock(&sg_lock);
		f = sg_file_of(fd);
		if (f) {
			r = f->node == SG_NODE_UVM ? sg_uvm_ioctl(f, request, (void *)arg)
						   : rm_call(f, request, (void *)arg);
			pthread_mutex_unlock(&sg_lock);
			return (int)result(r);
		}
		pthread_mutex_unlock(&sg_lock);
	}
	return (int)result(sg_sys(SYS_ioctl, fd, (long)request, arg, 0, 0, 0));
}

/* ---- mappings ---- */

static long map_area(struct sg_file *f, void *at, size_t n, int prot, int flags, uint64_t off)
{
	struct sg_memory *m = f->area;
	uint64_t from = f->area_offset & ~4095ull, pages;

	if (f->node == SG_NODE_UVM) {
		m = sg_uvm_pool((uint64_t)at, n, &from);
		if (off != (uint64_t)at || !m || !(flags & MAP_SHARED))
			return -EINVAL;
		return sg_sys(SYS_mmap, (long)at, (long)n, prot, flags, m->fd, (long)from);
	}
	if (!m || off || !(flags & MAP_SHARED))
		return -EINVAL;
	n = (n + 4095) & ~4095ull;
	pages = ((f->area_offset + f->area_size + 4095) & ~4095ull) - from;
	if (f->node == SG_NODE_GPU ? n != pages : n > pages)
		return -ENXIO;
	if (sg_options.once && f->node == SG_NODE_GPU && sg_is_bell(f->minor, m)) {
		if (f->bell_mapped)
			return -EINVAL;
		f->bell_mapped = true;
	}
	return sg_sys(SYS_mmap, (long)at, (long)n, prot, flags, m->fd, (long)from);
}

static void *do_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	struct sg_file *f;
	long r;

	if (fd >= 0 && !(flags & MAP_ANONYMOUS) && sg_any_file()) {
		pthread_mutex_lock(&sg_lock);
		f = sg_file_of(fd);
		if (f) {
			r = map_area(f, at, n, prot, flags, (uint64_t)off);
			pthread_mutex_unlock(&sg_lock);
			return (void *)result(r);
		}
		pthread_mutex_unlock(&sg_lock);
	}
	return (void *)result(sg_sys(SYS_mmap, (long)at, (long)n, prot, flags, fd, off));
}

EXPORT void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	return do_mmap(at, n, prot, flags, fd, off);
}

EXPORT void *mmap64(void *at, size_t n, int prot, int flags, int fd, off64_t off)
{
	return do_mmap(at, n, prot, flags, fd, off);
}

EXPORT int munmap(void *at, size_t n)
{
	return (int)result(sg_sys(SYS_munmap, (long)at, (long)n, 0, 0, 0, 0));
}

/* With `unguarded`, a doorbell page stays writable: nothing else of its size changes here. */
EXPORT int mprotect(void *at, size_t n, int prot)
{
	if (sg_options.unguarded && n == 0x10000 && !(prot & PROT_WRITE)) {
		errno = EACCES;
		return -1;
	}
	return (int)result(sg_sys(SYS_mprotect, (long)at, (long)n, prot, 0, 0, 0));
}

/* ---- stat ---- */

static void as_device(struct stat *st, enum sg_node node, uint32_t minor)
{
	st->st_mode = S_IFCHR | 0666;
	st->st_size = 0;
	st->st_rdev = node == SG_NODE_UVM ? makedev(UVM_MAJOR, 0)
					  : makedev(195, node == SG_NODE_CTL ? 255 : minor);
}

static int do_fstat(int fd, struct stat *st)
{
	struct sg_file *f;
	long r = sg_sys(SYS_fstat, fd, (long)st, 0, 0, 0, 0);

	if (!r && sg_any_file() && st->st_dev == memfd_dev) {
		pthread_mutex_lock(&sg_lock);
		f = sg_file_of(fd);
		if (f)
			as_device(st, f->node, f->minor);
		pthread_mutex_unlock(&sg_lock);
	}
	return (int)result(r);
}

static int do_stat(const char *path, struct stat *st, int flags)
{
	uint32_t minor;
	enum sg_node node = node_of(path, &minor);

	if (!node)
		return (int)result(
			sg_sys(SYS_newfstatat, AT_FDCWD, (long)path, (long)st, flags, 0, 0));
	memset(st, 0, sizeof(*st));
	st->st_nlink = 1;
	st->st_blksize = 4096;
	as_device(st, node, minor);
	return 0;
}

#undef fstat
#undef fstat64
#undef stat
#undef stat64
#undef lstat
#undef lstat64

EXPORT int fstat(int fd, struct stat *st)
{
	return do_fstat(fd, st);
}

EXPORT int fstat64(int fd, struct stat64 *st)
{
	return do_fstat(fd, (struct stat *)st);
}

EXPORT int stat(const char *path, struct stat *st)
{
	return do_stat(path, st, 0);
}

EXPORT int stat64(const char *path, struct stat64 *st)
{
	return do_stat(path, (struct stat *)st, 0);
}

EXPORT int lstat(const char *path, struct stat *st)
{
	return do_stat(path, st, AT_SYMLINK_NOFOLLOW);
}

EXPORT int lstat64(const char *path, struct stat64 *st)
{
	return do_stat(path, (struct stat *)st, AT_SYMLINK_NOFOLLOW);
}

int __fxstat(int ver, int fd, struct stat *st);
int __fxstat64(int ver, int fd, struct stat64 *st);
int __xstat(int ver, const char *path, struct stat *st);
int __xstat64(int ver, const char *path, struct stat64 *st);

EXPORT int __fxstat(int ver, int fd, struct stat *st)
{
	return do_fstat(fd, st);
}

EXPORT int __fxstat64(int ver, int fd, struct stat64 *st)
{
	return do_fstat(fd, (struct stat *)st);
}

EXPORT int __xstat(int ver, const char *path, struct stat *st)
{
	return do_stat(path, st, 0);
}

EXPORT int __xstat64(int ver, const char *path, struct stat64 *st)
{
	return do_stat(path, (struct stat *)st, 0);
}
