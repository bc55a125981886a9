/* SPDX-License-Identifier: MIT */
/*
 * An environment for the part of preload/ that follows device calls: descriptors that count as
 * devices, an mmap that returns a given address, and a log of everything that is recorded,
 * published or called.
 */
#ifndef RM_FAKE_H
#define RM_FAKE_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "preload/base/state.h"
#include "preload/rm/rm.h"
#include "preload/signals/signals.h"
#include "preload/writer/session.h"
#include "trap/copy/gpfifo_timing.h"

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

/* Compares numbers and says both. */
#define CHECK_EQ(a, b)                                                                             \
	do {                                                                                       \
		unsigned long long a_ = (unsigned long long)(a), b_ = (unsigned long long)(b);     \
		if (a_ == b_) {                                                                    \
			passed++;                                                                  \
		} else {                                                                           \
			failed++;                                                                  \
			printf("%s:%d: %s is %#llx, not %#llx\n", __FILE__, __LINE__, #a, a_, b_); \
		}                                                                                  \
	} while (0)

static inline int finish(void)
{
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}

/* ---- what happened, in order ---- */

struct step {
	char what[16]; /* mmap munmap mprotect publish start prepare clear cut shadow unshadow */
	uint64_t a, b, c;
};
static struct step steps[100000];
static unsigned nsteps;

static void step(const char *what, uint64_t a, uint64_t b, uint64_t c)
{
	struct step *s = &steps[nsteps < 99999 ? nsteps++ : nsteps];

	snprintf(s->what, sizeof(s->what), "%s", what);
	s->a = a;
	s->b = b;
	s->c = c;
}

/* Index of the first step from FROM on, nsteps if there is none. */
static inline unsigned find_step(unsigned from, const char *what, uint64_t a)
{
	unsigned i = from;

	while (i < nsteps && (strcmp(steps[i].what, what) || steps[i].a != a))
		i++;
	return i;
}

/* ---- records ---- */

static struct nvs_rec *records[100000];
static unsigned nrecords;

int nvs_record_write(struct nvs_rec *rec)
{
	if (rec->size % 8 || !rec->type || nrecords == 100000) {
		printf("bad record: type %u, %u bytes\n", rec->type, rec->size);
		exit(1);
	}
	records[nrecords] = malloc(rec->size);
	memcpy(records[nrecords++], rec, rec->size);
	return 0;
}

static inline unsigned count_records(unsigned type)
{
	unsigned n = 0;

	for (unsigned i = 0; i < nrecords; i++)
		n += records[i]->type == type;
	return n;
}

static inline void *last_record(unsigned type)
{
	for (unsigned i = nrecords; i-- > 0;)
		if (records[i]->type == type)
			return records[i];
	return NULL;
}

/* ---- session and trap ---- */

static struct nvs_options options;

const struct nvs_options *nvs_options(void)
{
	return &options;
}

static bool session_refused, session_on, signals_refused;
static struct nvs_spool_channel slots[4096];
static bool slot_used[4096];
static struct nvs_view *view; /* as published; NULL: none yet */
static bool trap_stays; /* on the view that is replaced */

void nvs_session_start(void)
{
	if (session_on || session_refused)
		return;
	session_on = true;
	atomic_store(&nvs_state()->session_active, 1);
	step("start", 0, 0, 0);
	nvs_rm_replay();
}

struct nvs_spool_channel *nvs_session_channel_slot(uint32_t number)
{
	for (unsigned i = 0; i < 4096; i++) {
		if (slot_used[i])
			continue;
		slot_used[i] = true;
		memset(&slots[i], 0, sizeof(slots[i]));
		slots[i].channel = number;
		return &slots[i];
	}
	return NULL;
}

void nvs_session_channel_free(struct nvs_spool_channel *slot)
{
	slot_used[slot - slots] = false;
}

bool nvs_channel_read_progress(const struct nvs_channel_entry *channel,
			       struct nvs_channel_done *done)
{
	return false;
}

void nvs_channels_spool_progress(void)
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
/* Nothing is left out here. */
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
	step("clear", start, end, 0);
}

void nvs_shadow_clear_due(struct nvs_channel_entry *channel)
{
}

void nvs_shadow_prepare(uint64_t start, uint64_t end)
{
	step("prepare", start, end, 0);
}

void nvs_shadow_cut_off(uint64_t start, uint64_t end)
{
	step("cut", start, end, 0);
}

void nvs_shadow_copy_userd(void)
{
}

void nvs_shadow_create(struct nvs_channel_entry *channel)
{
	step("shadow", channel->number, 0, 0);
}

void nvs_shadow_end(struct nvs_channel_entry *channel)
{
	step("unshadow", channel->number, 0, 0);
}

void nvs_shadow_drop(struct nvs_channel_entry *channel)
{
}

void nvs_shadow_free_retired(void)
{
}

/* No channel has a shadow here, so none is timed. */
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
	return signals_refused ? -EPERM : 0;
}

/* Publishing checks what every reader relies on. */
static void check_view(const struct nvs_view *v)
{
	for (uint32_t i = 1; i < v->nmaps; i++) {
		const struct nvs_segment_map *a = &v->maps[i - 1], *b = &v->maps[i];

		if (a->vaspace > b->vaspace ||
		    (a->vaspace == b->vaspace &&
		     (a->gpu_va >= b->gpu_va || a->gpu_va + a->size > b->gpu_va))) {
			printf("segment maps out of order at %u\n", i);
			failed++;
		}
	}
	for (uint32_t i = 0; i < v->nchannels; i++) {
		const struct nvs_channel *c = &v->channels[i];
		uint32_t h = nvs_channel_hash(c->gpu, c->token);

		while (v->channel_hash[h & v->channel_mask] &&
		       v->channel_hash[h & v->channel_mask] != i + 1)
			h++;
		if (v->channel_hash[h & v->channel_mask] != i + 1) {
			printf("channel %u is not to be found by its token\n", c->number);
			failed++;
		}
	}
}

struct nvs_view *nvs_view_publish(struct nvs_view *v)
{
	struct nvs_view *old = view;

	check_view(v);
	view = v;
	step("publish", v->ndoorbells, v->nmaps, v->nchannels);
	return trap_stays ? NULL : old;
}

static inline const struct nvs_channel *viewed(uint32_t token)
{
	for (uint32_t i = 0; view && i < view->nchannels; i++)
		if (view->channels[i].token == token)
			return &view->channels[i];
	return NULL;
}

/* CPU address of a GPU address, 0: in no map. */
static inline uint64_t cpu_of(uint64_t va, uint32_t vaspace)
{
	for (uint32_t i = 0; view && i < view->nmaps; i++) {
		const struct nvs_segment_map *m = &view->maps[i];

		if (va >= m->gpu_va && va < m->gpu_va + m->size &&
		    (!m->vaspace || m->vaspace == vaspace))
			return m->cpu + (va - m->gpu_va);
	}
	return 0;
}

/* Nothing is mapped here: GP_PUT is told. */
static uint64_t put_address;
static uint32_t put_value;

bool nvs_load32_guarded(const volatile uint32_t *from, uint32_t *value);
bool nvs_load32_guarded(const volatile uint32_t *from, uint32_t *value)
{
	step("getput", (uintptr_t)from, 0, 0);
	if (put_address && (uintptr_t)from != put_address)
		return false;
	*value = put_value;
	return true;
}

/* The kernel has been asked ahead of it. */
size_t nvs_copy_guarded(void *to, const void *from, size_t bytes);
size_t nvs_copy_guarded(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	return 0;
}

/* ---- the kernel ---- */

static uint32_t rm_status; /* what it answers */
static dev_t fd_device[4096]; /* 0: no device */
static uint64_t next_mmap; /* what the next mmap gives; 0: as asked, or from the heap below */
static uint64_t mmap_heap = 0x600000000000;
static int fail_mmap = -1, fail_munmap, fail_mprotect; /* fail_mmap: in so many calls */

/* What other threads do until the next call of these returns. */
static void (*meanwhile)(void);
static void *answer; /* how the device answers: a status word in the program's parameters */

/* The driver has a part in these, which may never come back. */
static void enter_kernel(const char *call)
{
	void (*others)(void) = meanwhile;
	void *saved = answer;

	if (nvs_lock_is_mine()) {
		printf("%s under the lock\n", call);
		failed++;
	}
	meanwhile = NULL;
	if (others)
		others();
	answer = saved;
}

static void *fake_mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset)
{
	uint64_t p = next_mmap ? next_mmap : (uintptr_t)address;

	enter_kernel("mmap");
	if (fail_mmap >= 0 && fail_mmap-- == 0) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (!p) {
		p = mmap_heap;
		mmap_heap += (size + 0xffff) & ~0xffffull;
	}
	next_mmap = 0;
	step("mmap", p, size, (uint64_t)prot);
	return (void *)p;
}

static int fake_munmap(void *address, size_t size)
{
	step("munmap", (uintptr_t)address, size, 0);
	enter_kernel("munmap");
	if (!fail_munmap)
		return 0;
	errno = ENOMEM;
	return -1;
}

static int fake_mprotect(void *address, size_t size, int prot)
{
	step("mprotect", (uintptr_t)address, size, (uint64_t)prot);
	if (!fail_mprotect)
		return 0;
	errno = EACCES;
	return -1;
}

static void *fake_mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
	va_list ap;
	void *to;

	va_start(ap, flags);
	to = va_arg(ap, void *);
	va_end(ap);
	step("mremap", (uintptr_t)old, old_size, size);
	enter_kernel("mremap");
	return flags & MREMAP_FIXED ? to : old;
}

static int fake_fstat(int fd, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	if (fd < 0 || fd >= 4096) {
		errno = EBADF;
		return -1;
	}
	st->st_mode = fd_device[fd] ? S_IFCHR | 0666 : S_IFREG | 0644;
	st->st_rdev = fd_device[fd];
	return 0;
}

static int fake_open(const char *path, int flags, ...)
{
	errno = ENOENT;
	return -1;
}

static int fake_close(int fd)
{
	return 0;
}

static int fake_ioctl(int fd, unsigned long request, ...)
{
	if (answer)
		step("ioctl", request & 0xff, 0, 0);
	if (answer)
		memcpy(answer, &rm_status, 4);
	enter_kernel("ioctl");
	return 0;
}

static const struct nvs_next fake_next = {
	.ioctl = fake_ioctl,
	.open = fake_open,
	.close = fake_close,
	.mmap = fake_mmap,
	.munmap = fake_munmap,
	.mprotect = fake_mprotect,
	.mremap = fake_mremap,
	.fstat = fake_fstat,
};

const struct nvs_next *nvs_next(void)
{
	return &fake_next;
}

#define DEV_GPU(n) makedev(195, n)
#define DEV_CTL makedev(195, 255)
#define DEV_UVM makedev(510, 0)

static inline void open_device(int fd, const char *path, dev_t device)
{
	fd_device[fd] = device;
	nvs_fd_opened(fd, path);
}

static inline void close_device(int fd)
{
	nvs_fd_closing(fd);
	fd_device[fd] = 0;
}

/* ---- the program's calls ---- */

static int ctl = 9, uvm = 10;

static inline void put32(void *p, unsigned at, uint32_t v)
{
	memcpy((uint8_t *)p + at, &v, 4);
}

static inline void put64(void *p, unsigned at, uint64_t v)
{
	memcpy((uint8_t *)p + at, &v, 8);
}

static inline void escape(int fd, unsigned nr, unsigned size, void *arg, int status_at)
{
	unsigned request = 0xc0004600u | size << 16 | nr;
	bool channel = nvs_rm_makes_channel(request, arg);
	uint32_t nowhere;

	if (channel)
		nvs_session_start();
	answer = status_at >= 0 ? (uint8_t *)arg + status_at : (void *)&nowhere;
	nvs_rm_ioctl(fd, request, arg, false, channel);
	answer = NULL;
}

/* NVOS64 of 580, as CUDA uses it: paramsSize 0. */
static inline void rm_alloc(uint32_t client, uint32_t parent, uint32_t handle,
			    uint32_t object_class, void *params)
{
	uint8_t a[48] = {0};

	put32(a, 0, client);
	put32(a, 4, parent);
	put32(a, 8, handle);
	put32(a, 12, object_class);
	put64(a, 16, (uintptr_t)params);
	escape(ctl, 0x2b, 48, a, 40);
}

static inline void rm_free(uint32_t client, uint32_t handle)
{
	uint8_t a[16] = {0};

	put32(a, 0, client);
	put32(a, 8, handle);
	escape(ctl, 0x29, 16, a, 12);
}

static inline void rm_dup(uint32_t client, uint32_t parent, uint32_t handle, uint32_t from_client,
			  uint32_t from)
{
	uint8_t a[28] = {0};

	put32(a, 0, client);
	put32(a, 4, parent);
	put32(a, 8, handle);
	put32(a, 12, from_client);
	put32(a, 16, from);
	escape(ctl, 0x34, 28, a, 24);
}

static inline void rm_control(uint32_t client, uint32_t object, uint32_t cmd, void *params,
			      uint32_t size)
{
	uint8_t a[32] = {0};

	put32(a, 0, client);
	put32(a, 4, object);
	put32(a, 8, cmd);
	put64(a, 16, (uintptr_t)params);
	put32(a, 24, size);
	escape(ctl, 0x2a, 32, a, 28);
}

static inline void rm_map(uint32_t client, uint32_t handle, uint64_t offset, uint64_t length,
			  uint64_t linear, int fd)
{
	uint8_t a[56] = {0};

	put32(a, 0, client);
	put32(a, 8, handle);
	put64(a, 16, offset);
	put64(a, 24, length);
	put64(a, 32, linear);
	put32(a, 48, (uint32_t)fd);
	escape(ctl, 0x4e, 56, a, 40);
}

static inline void rm_unmap(uint32_t client, uint32_t handle, uint64_t linear)
{
	uint8_t a[32] = {0};

	put32(a, 0, client);
	put32(a, 8, handle);
	put64(a, 16, linear);
	escape(ctl, 0x4f, 32, a, 24);
}

static inline void uvm_call(unsigned long nr, void *arg)
{
	nvs_rm_ioctl(uvm, nr, arg, true, false);
}

/* UVM_MAP_EXTERNAL_ALLOCATION in the form with 256 GPUs, inside a range of its own. */
static inline void uvm_map(uint64_t base, uint64_t length, uint64_t offset, uint32_t client,
			   uint32_t handle)
{
	static uint8_t a[9264];
	uint8_t range[24] = {0};

	put64(range, 0, base);
	put64(range, 8, length);
	uvm_call(73, range);
	memset(a, 0, sizeof(a));
	put64(a, 0, base);
	put64(a, 8, length);
	put64(a, 16, offset);
	put64(a, 9240, 1);
	put32(a, 9252, client);
	put32(a, 9256, handle);
	uvm_call(33, a);
}

static inline void uvm_free(uint64_t base, uint64_t length)
{
	uint8_t a[24] = {0};

	put64(a, 0, base);
	put64(a, 8, length);
	uvm_call(34, a);
}

/* Opens FD on DEVICE, has the object mapped through it at ADDRESS, closes it. */
static inline void map_memory(uint32_t client, uint32_t handle, uint64_t length, uint64_t linear,
			      dev_t device, uint64_t address, int prot)
{
	int fd = 30;

	open_device(fd, device == DEV_CTL ? "/dev/nvidiactl" : "/dev/nvidia0", device);
	rm_map(client, handle, 0, length, linear, fd);
	next_mmap = address;
	nvs_maps_mmap(NULL, (length + (linear & 4095) + 4095) & ~4095ull, prot, MAP_SHARED, fd, 0,
		      true);
	close_device(fd);
}

/* A client with a device, a subdevice and an address space: handles 1, 2, 3 and 9 below CLIENT. */
static inline void make_client(uint32_t client, uint32_t gpu)
{
	uint8_t device[56] = {0}, space[56] = {0}, sub[4] = {0};

	put32(device, 0, gpu);
	if (!fd_device[ctl])
		open_device(ctl, "/dev/nvidiactl", DEV_CTL);
	if (!fd_device[uvm])
		open_device(uvm, "/dev/nvidia-uvm", DEV_UVM);
	rm_alloc(0, 0, client, 0x0041, NULL);
	rm_alloc(client, client, 2, 0x0080, device);
	rm_alloc(client, 2, 3, 0x2080, sub);
	rm_alloc(client, 2, 9, 0x90f1, space);
}

/* A channel of class c86f with USERD in object USERD. */
static inline void make_channel(uint32_t client, uint32_t parent, uint32_t handle, uint64_t gpfifo,
				uint32_t entries, uint32_t userd, uint64_t userd_offset,
				uint32_t token)
{
	uint8_t p[368] = {0}, t[4];

	put64(p, 8, gpfifo);
	put32(p, 16, entries);
	put32(p, 28, 9);
	put32(p, 32, userd);
	put64(p, 64, userd_offset);
	put32(p, 128, 1);
	rm_alloc(client, parent, handle, 0xc86f, p);
	put32(t, 0, token);
	rm_control(client, handle, 0xc36f0108, t, 4);
}

/* Forgets all objects; the driver is of RELEASE from here on. */
static inline void fresh(uint32_t release)
{
	sigset_t saved;
	struct nvs_rm *rm;

	nvs_lock(&saved);
	rm = nvs_rm();
	for (struct nvs_driver_object *o = rm->objects; o; o = rm->objects)
		nvs_object_destroy(o);
	rm->release = release;
	rm->asked = true;
	nvs_unlock(&saved);
	rm_status = 0;
}

static inline struct nvs_driver_object *object(uint32_t client, uint32_t handle)
{
	return nvs_object_find(client, handle);
}

static inline const struct nvs_rec_remark *last_remark(uint32_t kind)
{
	for (unsigned i = nrecords; i-- > 0;) {
		const struct nvs_rec_remark *r = (const void *)records[i];

		if (r->rec.type == NVS_REC_REMARK && r->kind == kind)
			return r;
	}
	return NULL;
}

/* Object 20 of local memory mapped for both sides at VA, and a channel in it as CUDA lays them out.
 */
static inline void ring_memory(uint32_t client, uint64_t va)
{
	uint8_t memory[128] = {0};

	put64(memory, 64, 0x200000);
	rm_alloc(client, 2, 20, 0x0040, memory);
	map_memory(client, 20, 0x200000, 0x100000000000, DEV_GPU(0), va, PROT_READ | PROT_WRITE);
	uvm_map(va, 0x200000, 0, client, 20);
}

#endif
