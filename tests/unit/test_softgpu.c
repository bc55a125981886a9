/* SPDX-License-Identifier: MIT */
/*
 * The software GPU itself: device nodes, mapping rules, objects and their freeing, methods,
 * semaphores, copies, poison and faults. Runs itself again with libsoftgpu.so preloaded, once for
 * each mode of the GPU.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/softgpu/cudadrv.h"
#include "tests/softgpu/driver/push.h"
#include "tests/softgpu/softgpu.h"

static unsigned passed, failed;

#define CHECK(cond)                                                               \
	do {                                                                      \
		if (cond) {                                                       \
			passed++;                                                 \
		} else {                                                          \
			failed++;                                                 \
			printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
		}                                                                 \
	} while (0)

/* The driver's entry points, looked up: the test is not linked with it. */
static void *driver;
#define FN(name) ((__typeof__(&name))dlsym(driver, #name))

/* ---- nodes and mappings ---- */

static void test_nodes(void)
{
	int ctl = open("/dev/nvidiactl", O_RDWR), gpu = open("/dev/nvidia0", O_RDWR | O_CLOEXEC);
	int uvm = openat(AT_FDCWD, "/dev/nvidia-uvm", O_RDWR), copy = dup(ctl);
	struct stat st, named;

	CHECK(ctl >= 0 && gpu >= 0 && uvm >= 0 && copy >= 0);
	CHECK(!fstat(ctl, &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(195, 255));
	CHECK(!fstat(gpu, &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(195, 0));
	CHECK(!fstat(copy, &st) && st.st_rdev == makedev(195, 255));
	CHECK(!fstat(uvm, &st) && !stat("/dev/nvidia-uvm", &named) && st.st_rdev == named.st_rdev);
	CHECK(major(st.st_rdev) != 195);
	CHECK(fcntl(gpu, F_GETFD) == FD_CLOEXEC && fcntl(ctl, F_GETFD) == 0);
	CHECK(open("/dev/nvidia1", O_RDWR) == -1 && errno == ENOENT);
	close(ctl);
	CHECK(ioctl(copy, 0xc00846d6, &(uint64_t){0}) == 0); /* the duplicate keeps the file */
	CHECK(ioctl(copy, 0xc02846d6, &st) == -1 && errno == EINVAL);
	close(copy);
	CHECK(ioctl(copy, 0xc00846d6, &(uint64_t){0}) == -1);
	CHECK(fcntl(copy, F_GETFD) == -1 && errno == EBADF);
	close(gpu);
	close(uvm);
}

struct rm {
	int ctl;
	uint32_t client;
};

static uint32_t rm_alloc(struct rm *rm, uint32_t parent, uint32_t *handle, uint32_t cls,
			 void *params)
{
	struct {
		uint32_t root, parent, handle, cls;
		uint64_t params, rights;
		uint32_t size, flags, status, pad;
	} c = {rm->client, parent, *handle, cls, (uint64_t)params, 0, 0, 0, 0, 0};

	if (ioctl(rm->ctl, 0xc030462b, &c))
		return ~0u;
	*handle = c.handle;
	return c.status;
}

static uint32_t rm_memory(struct rm *rm, uint32_t device, uint32_t *handle, uint32_t cls,
			  uint64_t size)
{
	uint64_t p[16] = {[8] = size};

	return rm_alloc(rm, device, handle, cls, p);
}

static uint32_t rm_map(struct rm *rm, uint32_t device, uint32_t memory, uint64_t size, int fd)
{
	struct {
		uint32_t client, device, memory, pad;
		uint64_t offset, length, linear;
		uint32_t status, flags;
		int fd;
		uint32_t pad2;
	} c = {rm->client, device, memory, 0, 0, size, 0, 0, 0, fd, 0};

	return ioctl(rm->ctl, 0xc038464e, &c) ? ~0u : c.status;
}

static void rm_up(struct rm *rm, uint32_t *device, uint32_t *subdevice)
{
	rm->ctl = open("/dev/nvidiactl", O_RDWR);
	rm->client = 0;
	CHECK(!rm_alloc(rm, 0, &rm->client, 0x41, NULL) && rm->client);
	*device = *subdevice = 0;
	CHECK(!rm_alloc(rm, rm->client, device, 0x80, (uint32_t[32]){0}) && *device);
	CHECK(!rm_alloc(rm, *device, subdevice, 0x2080, (uint32_t[32]){0}));
}

static void test_mapping_rules(void)
{
	uint32_t device, subdevice, video = 0, system = 0, usermode = 0, lost = 0;
	struct rm rm;
	int gpu = open("/dev/nvidia0", O_RDWR), ctl = open("/dev/nvidiactl", O_RDWR);
	int page = open("/dev/nvidia0", O_RDWR);
	volatile uint32_t *a, *b;
	void *bell;

	rm_up(&rm, &device, &subdevice);
	CHECK(rm_alloc(&rm, 0x1234, &lost, 0x2080, NULL) == 0x36);
	CHECK(rm_alloc(&rm, rm.client, &device, 0x80, (uint32_t[32]){0}) == 0x19);
	CHECK(!rm_memory(&rm, device, &video, 0x40, 0x200000));
	CHECK(!rm_memory(&rm, device, &system, 0x3e, 0x3000));
	CHECK(mmap(NULL, 0x200000, PROT_READ, MAP_SHARED, gpu, 0) ==
	      MAP_FAILED); /* no context yet */
	CHECK(rm_map(&rm, subdevice, video, 0x200000, ctl) ==
	      0x1f); /* video memory is not on the ctl node */
	CHECK(rm_map(&rm, device, system, 0x3000, gpu) == 0x1f);
	CHECK(rm_map(&rm, subdevice, video, 0x200001, gpu) == 0x2e);
	CHECK(!rm_map(&rm, subdevice, video, 0x200000, gpu));
	CHECK(rm_map(&rm, subdevice, video, 0x200000, gpu) == 0x63); /* one context a file */
	CHECK(mmap(NULL, 0x100000, PROT_READ, MAP_SHARED, gpu, 0) == MAP_FAILED);
	CHECK(mmap(NULL, 0x200000, PROT_READ, MAP_SHARED, gpu, 4096) == MAP_FAILED);
	a = mmap(NULL, 0x200000, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, 0);
	b = mmap(NULL, 0x200000, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, 0);
	close(gpu);
	CHECK(a != MAP_FAILED && b != MAP_FAILED && a != b);
	a[77] = 0x11223344;
	CHECK(b[77] == 0x11223344);
	CHECK(!rm_map(&rm, device, system, 0x3000, ctl));
	CHECK(mmap(NULL, 0x1000, PROT_READ | PROT_WRITE, MAP_SHARED, ctl, 0) != MAP_FAILED);
	CHECK(!rm_alloc(&rm, subdevice, &usermode, 0xc661, (uint8_t[2]){1}));
	CHECK(!rm_map(&rm, subdevice, usermode, 0x10000, page));
	bell = mmap(NULL, 0x10000, PROT_WRITE, MAP_SHARED, page, 0);
	CHECK(bell != MAP_FAILED && !munmap(bell, 0x10000));
	/* The client goes with its file; its memory stays where it is mapped. */
	close(rm.ctl);
	rm.ctl = open("/dev/nvidiactl", O_RDWR);
	CHECK(rm_alloc(&rm, rm.client, &lost, 0x80, (uint32_t[32]){0}) == 0x23);
	a[78] = 5;
	CHECK(b[78] == 5);
	close(rm.ctl);
	close(ctl);
	close(page);
}

static void test_maps_name(void)
{
	char line[512];
	unsigned doorbells = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f))
		doorbells += strstr(line, "/memfd:/dev/nvidia0 (deleted)") &&
			     strstr(line, " -w-s ");
	CHECK(doorbells == 2);
	fclose(f);
}

/* ---- execution ---- */

static struct softgpu_channel *channel(uint32_t i)
{
	return FN(softgpu_channel_at)(i);
}

static uint32_t submit(struct softgpu_channel *ch, const uint32_t *words, const uint32_t *end)
{
	uint32_t n = (uint32_t)(end - words);

	return FN(softgpu_submit)(ch, 1, &words, &n);
}

static int wait_for(struct softgpu_channel *ch, uint32_t payload)
{
	return FN(softgpu_wait)(ch, payload);
}

static void test_semaphores(uint32_t *m)
{
	uint64_t va = (uint64_t)m;
	struct softgpu_channel *a = channel(1), *b = channel(9);
	uint32_t w[64], *p, first, second;

	memset(m, 0, 4096);
	/* a waits for 3 at m[0], then writes 7 with a time to m[4]; b gets there in two steps. */
	p = push_acquire(w, va, 3, 3);
	p = push_acquire(p, va + 16, 7, 1 | 1u << 25);
	first = submit(a, w, p);
	p = push_acquire(w, va, 2, 1);
	second = submit(b, w, p);
	CHECK(!wait_for(b, second) && m[0] == 2);
	CHECK(m[4] == 0); /* a has not passed: b's work came after it, and is done */
	p = push_acquire(w, va, 1, 6u | 5u << 27 | 1u << 31); /* add 1 */
	submit(b, w, p);
	CHECK(!wait_for(a, first) && m[0] == 3 && m[4] == 7 && m[5] == 0 &&
	      *(uint64_t *)(m + 6) != 0);
	/* 64 bits, and or. */
	p = push_acquire(w, va + 32, 0x55, 1 | 1u << 24);
	w[4] = 0x66;
	p = push_acquire(p, va + 32, 0xf00, 6u | 4u << 27);
	CHECK(!wait_for(a, submit(a, w, p)) && m[8] == 0xf55 && m[9] == 0x66);
	/* The compute class releases one word, or four. */
	p = push_report(w, va + 64, 0xabc, 1u << 28);
	p = push_report(p, va + 80, 0xdef, 0);
	CHECK(!wait_for(a, submit(a, w, p)) && m[16] == 0xabc && m[17] == 0 && m[18] == 0 &&
	      m[20] == 0xdef);
	CHECK(*(uint64_t *)(m + 22) >= *(uint64_t *)(m + 6));
}

static void test_upload(uint32_t *m)
{
	struct softgpu_channel *ch = channel(2);
	const char text[] = "seventeen letters";
	uint32_t w[64], *p;

	memset(m, 0xee, 4096);
	p = push_upload(w, (uint64_t)m, text, 17);
	CHECK(!wait_for(ch, submit(ch, w, p)));
	CHECK(!memcmp(m, text, 17) && ((uint8_t *)m)[17] == 0xee); /* not a byte more */
	p = push2(w, SUBCH_COMPUTE, 0x180, 32, 1);
	p = push_va(p, SUBCH_COMPUTE, 0x188, (uint64_t)(m + 16));
	p = push1(p, SUBCH_COMPUTE, 0x1b0, 0x41);
	p = push2(p, SUBCH_COMPUTE, 0x3800, 8, 0x5a5a5a5a);
	CHECK(!wait_for(ch, submit(ch, w, p)) && m[16] == 0x5a5a5a5a && m[23] == 0x5a5a5a5a &&
	      m[24] == 0xeeeeeeee);
	/* From memory: high part, low part, count. */
	p = push4(w, SUBCH_COMPUTE, 0x180, 16, 1, (uint32_t)((uint64_t)(m + 40) >> 32),
		  (uint32_t)(uint64_t)(m + 40));
	p = push1(p, SUBCH_COMPUTE, 0x1b0, 0x41);
	p = push_va(p, SUBCH_COMPUTE, 0x3808, (uint64_t)m);
	p = push1(p, SUBCH_COMPUTE, 0x380c, 4);
	CHECK(!wait_for(ch, submit(ch, w, p)) && !memcmp(m + 40, text, 16) && m[44] == 0xeeeeeeee);
	/* Three lines of 6 bytes, 16 apart; each starts with a new word. */
	p = push2(w, SUBCH_COMPUTE, 0x180, 6, 3);
	p = push3(p, SUBCH_COMPUTE, 0x188, (uint32_t)((uint64_t)(m + 64) >> 32),
		  (uint32_t)(uint64_t)(m + 64), 16);
	p = push1(p, SUBCH_COMPUTE, 0x1b0, 0x41);
	*p++ = PUSH_HEADER(3, SUBCH_COMPUTE, 0x1b4, 6);
	memcpy(p, "abcdef..ghijkl..mnopqr..", 24);
	CHECK(!wait_for(ch, submit(ch, w, p + 6)));
	CHECK(!memcmp(m + 64, "abcdef\xee\xee", 8) && !memcmp(m + 68, "ghijkl\xee\xee", 8) &&
	      !memcmp(m + 72, "mnopqr\xee\xee", 8));
}

static void test_copy_engine(uint32_t *m)
{
	struct softgpu_channel *ch = channel(10);
	uint64_t from = (uint64_t)m, to = (uint64_t)(m + 4096);
	uint8_t *t = (uint8_t *)(m + 4096);
	uint32_t w[64], *p;

	for (int i = 0; i < 4096; i++)
		m[i] = (uint32_t)i * 0x01010101u;
	memset(t, 0, 8192);
	/* Five lines of 10 bytes, from a pitch of 64 to one of 32. */
	p = push4(w, SUBCH_COPY, 0x400, (uint32_t)(from >> 32), (uint32_t)from,
		  (uint32_t)(to >> 32), (uint32_t)to);
	p = push4(p, SUBCH_COPY, 0x410, 64, 32, 10, 5);
	p = push1(p, SUBCH_COPY, 0x300, 0x386);
	CHECK(!wait_for(ch, submit(ch, w, p)));
	CHECK(t[0] == 0 && !memcmp(t + 32, (uint8_t *)m + 64, 10) && t[42] == 0 &&
	      t[128 + 9] == 66 && t[160] == 0);
	/* Remapped: constant dwords. */
	p = push1(w, SUBCH_COPY, 0x700, 0xcafe1234);
	p = push1(p, SUBCH_COPY, 0x708, 0x30004);
	p = push_va(p, SUBCH_COPY, 0x408, to + 1024);
	p = push2(p, SUBCH_COPY, 0x418, 100, 1);
	p = push1(p, SUBCH_COPY, 0x300, 0x586);
	CHECK(!wait_for(ch, submit(ch, w, p)));
	CHECK(m[4096 + 256] == 0xcafe1234 && m[4096 + 355] == 0xcafe1234 && m[4096 + 356] == 0);
	/* Two 16-bit components swapped. */
	p = push4(w, SUBCH_COPY, 0x400, (uint32_t)(from >> 32), (uint32_t)from,
		  (uint32_t)(to >> 32), (uint32_t)to);
	p = push1(p, SUBCH_COPY, 0x708, 0x1 | 1u << 16 | 1u << 20 | 1u << 24);
	p = push2(p, SUBCH_COPY, 0x418, 8, 1);
	p = push1(p, SUBCH_COPY, 0x300, 0x586);
	m[3] = 0x11112222;
	CHECK(!wait_for(ch, submit(ch, w, p)) && m[4096 + 3] == 0x22221111);
}

/* A header whose data comes in the next segment, a segment that ends early, old forms, immediate
 * data. */
static void test_headers(uint32_t *m)
{
	struct softgpu_channel *ch = channel(3);
	uint32_t a[4], b[8], c[8], d[16], *p;
	const uint32_t *words[4] = {a, b, c, d};
	uint32_t n[4];

	memset(m, 0, 4096);
	a[0] = PUSH_HEADER(1, SUBCH_COMPUTE, 0x1b00, 4);
	a[1] = (uint32_t)((uint64_t)m >> 32);
	n[0] = 2;
	b[0] = (uint32_t)(uint64_t)m;
	b[1] = 0x77;
	b[2] = 1u << 28;
	n[1] = 3;
	c[0] = 7u << 29; /* END_PB_SEGMENT: the words behind it would spoil m[0] */
	p = push_report(c + 1, (uint64_t)m, 1, 1u << 28);
	n[2] = (uint32_t)(p - c);
	p = d;
	*p++ = 0; /* a word of zeros is nothing */
	*p++ = 4u << 18 | SUBCH_COMPUTE << 13 | 0x1b00; /* the old incrementing form */
	*p++ = (uint32_t)((uint64_t)(m + 4) >> 32);
	*p++ = (uint32_t)(uint64_t)(m + 4);
	*p++ = 0x88;
	*p++ = 1u << 28;
	*p++ = 4u << 29 | 0x99u << 16 | SUBCH_COMPUTE << 13 |
	       0x1b08 >> 2; /* immediate: payload 0x99 */
	p = push1(p, SUBCH_COMPUTE, 0x1b04, (uint32_t)(uint64_t)(m + 8));
	p = push1(p, SUBCH_COMPUTE, 0x1b0c, 1u << 28);
	n[3] = (uint32_t)(p - d);
	CHECK(!wait_for(ch, FN(softgpu_submit)(ch, 4, words, n)));
	CHECK(m[0] == 0x77 && m[4] == 0x88 && m[8] == 0x99);
}

/* Memory that is unmapped is a fault: it ends the channel and its group, in a context of its own,
 * and neither the process nor another context. */
static void test_fault(CUcontext before)
{
	CUcontext own;
	struct softgpu_channel *ch;
	uint32_t *gone, w[16], *p, payload;

	CHECK(!FN(cuCtxCreate_v2)(&own, 0, 0));
	ch = FN(softgpu_channel_create)(false, 64, true);
	gone = FN(softgpu_alloc)(0x200000, false);
	p = push_report(w, (uint64_t)gone, 0x44, 1u << 28);
	payload = submit(ch, w, p);
	CHECK(!wait_for(ch, payload) && *gone == 0x44);
	FN(softgpu_free)(gone);
	payload = submit(ch, w, p);
	CHECK(wait_for(ch, payload) == CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK(submit(ch, w, p) == 0);
	CHECK(!FN(softgpu_submit_count)(channel(1)));
	CHECK(FN(cuCtxSynchronize)() == CUDA_ERROR_ILLEGAL_ADDRESS);
	FN(softgpu_channel_destroy)(ch);
	CHECK(!FN(cuCtxDestroy_v2)(own) && !FN(cuCtxSetCurrent)(before));
	CHECK(FN(softgpu_submit_count)(channel(1)) &&
	      !wait_for(channel(1), FN(softgpu_payload)(channel(1))));
}

/* Tokens are used again, and a ring starts at 0 again. */
static void test_channel_life(void)
{
	struct softgpu_channel_info a, b;
	struct softgpu_channel *ch = FN(softgpu_channel_create)(true, 32, false);

	FN(softgpu_channel_info)(ch, &a);
	CHECK(a.token >> 16 == 1 && a.entries == 32 && a.put == 1);
	FN(softgpu_channel_destroy)(ch);
	ch = FN(softgpu_channel_create)(true, 64, true);
	FN(softgpu_channel_info)(ch, &b);
	CHECK(b.token == a.token && b.put == 1 && b.handle != a.handle);
	FN(softgpu_channel_destroy)(ch);
}

/* Nothing is consumed before the doorbell, everything after it is overwritten. */
static void test_poison(uint32_t *m)
{
	struct softgpu_channel *ch = channel(4), *other = channel(5);
	struct softgpu_channel_info i;
	uint64_t entry = (uint64_t)m | 1ull << 41 | 4ull << 42;
	uint32_t before;

	m[0] = m[3] = 0;
	m[1] = m[2] = 0;
	FN(softgpu_channel_info)(ch, &i);
	before = i.put;
	i.ring[before] = entry;
	__atomic_store_n(&i.userd[0x8c / 4], before + 1, __ATOMIC_RELEASE);
	for (int k = 0; k < 50; k++) {
		FN(softgpu_submit_count)(other);
		CHECK(!wait_for(other, FN(softgpu_payload)(other)));
	}
	CHECK(i.userd[0x88 / 4] == before && m[0] == 0 && i.ring[before] == entry);
	FN(softgpu_submit_entries)(ch, 1, &entry); /* the same entry, this time with its doorbell */
	FN(softgpu_submit_count)(ch);
	CHECK(!wait_for(ch, FN(softgpu_payload)(ch)));
	CHECK(m[0] == 0xdeadd00d && m[3] == 0xdeadd00d && i.ring[before] == 0xdeadd00ddeadd00dull);
}

static struct softgpu_channel *bystander, *ringing;
static uint64_t taken_early;

/* In place of the doorbell's store: others ring before, and the GPU looks around. */
static void others_first(volatile void *doorbell, uint32_t token)
{
	struct softgpu_channel_info other, own;
	uint64_t before;

	FN(softgpu_channel_info)(bystander, &other);
	FN(softgpu_channel_info)(ringing, &own);
	before = softgpu_channel_fetches(own.client, own.handle);
	for (int n = 0; n < 2; n++) {
		uint32_t bells = softgpu_channel_bells(other.client, other.handle);

		*other.doorbell = other.token;
		for (int k = 0;
		     k < 100000 && softgpu_channel_bells(other.client, other.handle) == bells;
		     k++) {
			softgpu_kick(0);
			usleep(100);
		}
		CHECK(softgpu_channel_bells(other.client, other.handle) != bells);
	}
	taken_early += softgpu_channel_fetches(own.client, own.handle) - before;
	*(volatile uint32_t *)doorbell = token;
}

/* Where others may put entries too, a GP_PUT whose doorbell has not rung yet is nobody's to take.
 */
static void test_others(void)
{
	ringing = channel(4);
	bystander = channel(5);
	FN(softgpu_set_store)(others_first);
	for (int k = 0; k < 20; k++) {
		FN(softgpu_submit_count)(ringing);
		/* What is fetched late is none of the next one's. */
		CHECK(!wait_for(ringing, FN(softgpu_payload)(ringing)));
	}
	FN(softgpu_set_store)(NULL);
	CHECK(!taken_early && FN(softgpu_counted)(ringing) == 20);
}

/* Without poison a doorbell of anybody will do, and the token is seen. */
static void test_doorbell(uint32_t *m)
{
	struct softgpu_channel *ch = channel(6);
	struct softgpu_channel_info i;
	uint32_t bells;
	int k;

	FN(softgpu_channel_info)(ch, &i);
	bells = softgpu_channel_bells(i.client, i.handle);
	*i.doorbell = i.token;
	for (k = 0; k < 100000 && softgpu_channel_bells(i.client, i.handle) == bells; k++) {
		softgpu_kick(0);
		usleep(100);
	}
	CHECK(softgpu_channel_bells(i.client, i.handle) == bells + 1);
	FN(softgpu_ring)(ch);
	FN(softgpu_submit_count)(ch);
	CHECK(!wait_for(ch, FN(softgpu_payload)(ch)) && FN(softgpu_counted)(ch) == 1);
}

static void test_engine(bool poison, bool own)
{
	CUcontext ctx = NULL;
	uint32_t *m;

	driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver)
		printf("%s\n", dlerror());
	CHECK(driver);
	if (!driver)
		return;
	CHECK(!FN(cuInit)(0) && !FN(cuDevicePrimaryCtxRetain)(&ctx, 0) &&
	      !FN(cuCtxSetCurrent)(ctx));
	test_maps_name();
	m = FN(softgpu_alloc)(0x200000, false);
	CHECK(m);
	test_semaphores(m);
	test_upload(m);
	test_copy_engine(m);
	test_headers(m);
	test_channel_life();
	test_fault(ctx);
	if (own)
		test_others();
	else if (poison)
		test_poison(m);
	else
		test_doorbell(m);
	CHECK(!FN(cuDevicePrimaryCtxRelease_v2)(0));
}

static int inner(bool poison, bool own)
{
	test_nodes();
	test_mapping_rules();
	test_engine(poison, own);
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}

/* Runs this program again as MODE; adds up what it counted. */
static void outer(const char *self, const char *mode)
{
	char path[4096], preload[4400], line[512];
	unsigned p, f;
	bool counted = false;
	FILE *in;
	int fds[2];
	pid_t pid;

	snprintf(path, sizeof(path), "%s", self);
	*strrchr(path, '/') = 0;
	snprintf(preload, sizeof(preload), "%s/../../softgpu/libsoftgpu.so", path);
	CHECK(!access(preload, R_OK) && !pipe(fds));
	pid = fork();
	if (!pid) {
		dup2(fds[1], 1);
		setenv("LD_PRELOAD", preload, 1);
		*strrchr(preload, '/') = 0;
		setenv("LD_LIBRARY_PATH", preload, 1);
		setenv("SOFTGPU", mode, 1);
		setenv("SOFTGPU_TEST", "inner", 1);
		execl("/proc/self/exe", self, mode, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	in = fdopen(fds[0], "r");
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%u passed, %u failed", &p, &f) == 2) {
			passed += p;
			failed += f;
			counted = true;
		} else {
			printf("[%s] %s", *mode ? mode : "plain", line);
		}
	}
	fclose(in);
	CHECK(counted && waitpid(pid, NULL, 0) == pid);
}

int main(int argc, char **argv)
{
	char self[4096] = {0};

	if (getenv("SOFTGPU_TEST"))
		return inner(argc > 1 && strstr(argv[1], "poison"),
			     argc > 1 && strstr(argv[1], "own"));
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	outer(self, "");
	outer(self, "poison");
	outer(self, "own,poison");
	outer(self, "xfer");
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}
