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
/* LINK: preload/base/proc_maps.o */
/* LINK: preload/rm/replay.o preload/rm/mapscheck.o preload/hooks/device.o preload/base/next.o */
/* The exported hooks for a program without a GPU: results, errno and arguments are those of libc,
 * and nothing is tracked. The hooks are this program's own open, close, ... */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "preload/base/state.h"
#include "preload/rm/rm.h"
#include "trap/copy/gpfifo_timing.h"
#include "preload/signals/signals.h"
#include "preload/writer/session.h"

static int passed, failed;

#define CHECK(what)                                                       \
	do {                                                              \
		if (what) {                                               \
			passed++;                                         \
		} else {                                                  \
			failed++;                                         \
			printf("%s:%d: %s\n", __FILE__, __LINE__, #what); \
		}                                                         \
	} while (0)

/* ---- what the rest of the library would do ---- */

static struct nvs_options options;
static unsigned recorded, prepared;
static bool in_trap;

const struct nvs_options *nvs_options(void)
{
	return &options;
}

int nvs_record_write(struct nvs_rec *rec)
{
	recorded++;
	return 0;
}

void nvs_session_prepare(void)
{
	prepared++;
}

bool nvs_channel_read_progress(const struct nvs_channel_entry *channel,
			       struct nvs_channel_done *done)
{
	return false;
}

void nvs_channels_spool_progress(void)
{
}

void nvs_session_start(void)
{
}

struct nvs_spool_channel *nvs_session_channel_slot(uint32_t number)
{
	return NULL;
}

void nvs_session_channel_free(struct nvs_spool_channel *slot)
{
}

double nvs_session_clock_rate(uint64_t *start)
{
	*start = 0;
	return 1;
}

void nvs_session_channel_done(const struct nvs_spool_channel *slot,
			      const struct nvs_spool_done *now)
{
}

void nvs_session_note_fault(uint32_t number, uint32_t channel, bool first)
{
}

void nvs_session_note_error(uint32_t result)
{
}

void nvs_record_attr(uint32_t key, const char *value, size_t length)
{
}

/* Rings stay where they are. */
void nvs_channel_record_lost(struct nvs_spool_channel *state)
{
}

void nvs_capture_unrung(uint32_t number)
{
}

void nvs_wait_for_traps(void)
{
}

bool nvs_shadow_is_possible(const struct nvs_cpu_map *map, int fd)
{
	return false;
}

void nvs_shadow_map_extra(size_t size, int fd, struct nvs_extra_maps *more)
{
}

void nvs_shadow_query_power(void)
{
}

void nvs_shadow_drop_maps(struct nvs_cpu_map *map)
{
}

void nvs_shadow_clear(uint64_t start, uint64_t end)
{
}

void nvs_shadow_clear_due(struct nvs_channel_entry *channel)
{
}

void nvs_shadow_prepare(uint64_t start, uint64_t end)
{
}

void nvs_shadow_cut_off(uint64_t start, uint64_t end)
{
}

void nvs_shadow_copy_userd(void)
{
}

void nvs_shadow_create(struct nvs_channel_entry *channel)
{
}

void nvs_shadow_end(struct nvs_channel_entry *channel)
{
}

void nvs_shadow_drop(struct nvs_channel_entry *channel)
{
}

void nvs_shadow_free_retired(void)
{
}

void nvs_timing_drain(struct nvs_channel_entry *channel)
{
}

uint32_t nvs_gpfifo_translate_put(struct nvs_shadow *shadow)
{
	return 0;
}

void nvs_timing_record_untimed(const struct nvs_channel_entry *channel)
{
}

bool nvs_rm_timing_read_clocks(void)
{
	return false;
}

void nvs_timing_retire_memory(uint64_t start, uint64_t end)
{
}

void nvs_timing_retire_object(const struct nvs_driver_object *object)
{
}

int nvs_signals_install(void)
{
	return 0;
}

bool nvs_signals_check(void)
{
	return false;
}

bool nvs_in_trap(void)
{
	return in_trap;
}

struct nvs_view *nvs_view_publish(struct nvs_view *view)
{
	return NULL;
}

bool nvs_load32_guarded(const volatile uint32_t *from, uint32_t *value);
bool nvs_load32_guarded(const volatile uint32_t *from, uint32_t *value)
{
	return false;
}

size_t nvs_copy_guarded(void *to, const void *from, size_t bytes);
size_t nvs_copy_guarded(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	return 0;
}

/* ---- an allocator that maps memory while dlsym() looks a function up ---- */

static unsigned looked_up, mapped;

void *dlsym(void *restrict handle, const char *restrict name)
{
	static void *(*real)(void *, const char *);
	void *p;

	if (!real)
		real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!real)
		real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	looked_up++;
	/* As jemalloc does at its first allocation; this ends up in our hook again. */
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mapped += p != MAP_FAILED && !mprotect(p, 4096, PROT_READ) && !munmap(p, 4096);
	return real(handle, name);
}

static void test_open(void)
{
	char name[64], dir_name[] = "/tmp";
	struct stat st;
	int fd, dir;

	snprintf(name, sizeof(name), "/tmp/nvsnoop-test-hooks-%d", getpid());
	umask(022);
	fd = open(name, O_CREAT | O_EXCL | O_RDWR, 0751);
	CHECK(fd >= 0 && !fstat(fd, &st) && (st.st_mode & 07777) == 0751 - (0751 & 022));
	close(fd);
	errno = 0;
	CHECK(open(name, O_CREAT | O_EXCL | O_RDWR, 0600) == -1 && errno == EEXIST);
	CHECK(open64("/nonexistent/x", O_RDONLY) == -1 && errno == ENOENT);
	dir = open(dir_name, O_RDONLY | O_DIRECTORY);
	fd = openat(dir, name + 5, O_RDONLY);
	CHECK(fd >= 0);
	close(fd);
	fd = openat64(dir, name + 5, O_RDONLY);
	CHECK(fd >= 0);
	close(fd);
	fd = open(dir_name, O_TMPFILE | O_RDWR, 0640);
	CHECK(fd < 0 || (!fstat(fd, &st) && (st.st_mode & 07777) == 0640));
	if (fd >= 0)
		close(fd);
	close(dir);
	unlink(name);
	/* A wrong pointer is the kernel's to refuse. */
	CHECK(open((const char *)1, O_RDONLY) == -1 && errno == EFAULT);
	CHECK(close(-1) == -1 && errno == EBADF);
}

static void test_fds(void)
{
	int fd = open("/dev/null", O_RDWR), a, b;
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	int waiting = 77;

	errno = 4242;
	a = dup(fd);
	CHECK(a > fd && errno == 4242);
	b = fcntl(fd, F_DUPFD, 100);
	CHECK(b >= 100);
	CHECK(dup2(fd, b) == b && dup3(fd, b, O_CLOEXEC) == b);
	CHECK(fcntl(b, F_GETFD) == FD_CLOEXEC);
	CHECK(dup3(fd, fd, 0) == -1 && errno == EINVAL);
	CHECK(dup2(-1, b) == -1 && errno == EBADF && fcntl(b, F_GETFD) == FD_CLOEXEC);
	CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK));
	CHECK(fcntl(fd, F_GETLK, &lock) == 0 || errno == EINVAL || errno == EBADF);
	close(fd);
	close(a);
	CHECK(close_range((unsigned)b, (unsigned)b, 0) == 0 && fcntl(b, F_GETFD) == -1);

	{
		int p[2], expected;

		CHECK(pipe(p) == 0 && write(p[1], "abc", 3) == 3);
		CHECK(ioctl(p[0], FIONREAD, &waiting) == 0 && waiting == 3);
		CHECK(ioctl(p[0], TIOCGWINSZ, &waiting) == -1 && errno == ENOTTY);
		/* The type letter of the escapes on something that is none. */
		CHECK(ioctl(p[0], 0xc020462a, (void *)8) == -1 && errno == ENOTTY);
		CHECK(ioctl(p[0], 33, (void *)8) == -1 && errno == ENOTTY);
		close(p[0]);
		/* qemu-user says ENOTTY, since it does not know the call. */
		syscall(SYS_ioctl, p[0], 0xc020462a, NULL);
		expected = errno;
		CHECK(ioctl(p[0], 0xc020462a, NULL) == -1 && errno == expected);
		close(p[1]);
	}
	fd = open("/dev/null", O_RDWR);
	b = fcntl(fd, F_DUPFD, 500);
	closefrom(500);
	CHECK(fcntl(b, F_GETFD) == -1 && errno == EBADF && fcntl(fd, F_GETFD) == 0);
	close(fd);
}

static void test_memory(void)
{
	size_t page = 4096;
	char *p = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     *q;

	CHECK(p != MAP_FAILED);
	strcpy(p, "kept");
	CHECK(mmap64(p + page, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	      p + page);
	CHECK(mprotect(p, page, PROT_READ) == 0 && mprotect(p + 1, page, PROT_READ) == -1 &&
	      errno == EINVAL);
	CHECK(munmap(p + 2 * page, 2 * page) == 0 && munmap(p, 0) == -1 && errno == EINVAL);
	q = mremap(p, page, 16 * page, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED && !strcmp(q, "kept"));
	CHECK(mremap(q, page, 16 * page, MREMAP_FIXED, p) == MAP_FAILED && errno == EINVAL);
	CHECK(mmap(NULL, page, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EBADF);
	munmap(q, 16 * page);
}

/* A node that has a device's path, but is none. */
static void test_no_device(void)
{
	int fd = open("/dev/nvidia-is-not-here", O_RDONLY);

	CHECK(fd == -1 && errno == ENOENT);
	CHECK(*nvs_slot(NVS_SLOT_RM) == NULL && *nvs_slot(NVS_SLOT_FD) == NULL);
	CHECK(recorded == 0 && prepared == 0);
	CHECK(nvs_state()->device_seen == 0);
}

int main(void)
{
	int fd = dup(1);

	/* The first call of all needed the look-up, which needed the allocator, which needed a
	 * call. */
	CHECK(fd >= 0 && looked_up > 20 && mapped == looked_up);
	close(fd);
	test_open();
	test_fds();
	test_memory();
	options.disabled = true;
	test_open();
	test_fds();
	options.disabled = false;
	in_trap = true;
	test_open();
	test_fds();
	test_memory();
	in_trap = false;
	test_no_device();
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
