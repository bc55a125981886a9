/* SPDX-License-Identifier: MIT */
/* LINK: trap */
/*
 * The end of a shadow while its channel is in use: what the program has written and not rung for
 * yet is in the real pages afterwards, whenever it was written, and the next doorbell commits it.
 */
#include <pthread.h>
#include <signal.h>
#include "tests/unit/fakering.h"
#include "trap/buffer/process.h"
#include "trap/copy/shadow.h"

#define ENTRIES 1024u
#define PAGE 4096u
#define BYTES (3 * PAGE) /* two pages of ring, and USERD's */
#define USERD (2 * PAGE + 512)
#define VA 0x200800000ull
#define ROUNDS 300

static uint8_t *program, *real,
	*spare; /* the same pages, as the program, the GPU and the library see them */
static struct nvs_shadow shadow;
static struct nvs_spool_channel state;
static struct nvs_channel channel;
static uint32_t hash[2];
static struct nvs_doorbell doorbell = {.map = 7};
static struct nvs_view view;
static volatile int foreign;

static volatile uint64_t *ring_of(uint8_t *pages)
{
	return (volatile uint64_t *)(void *)pages;
}

static volatile uint32_t *put_of(uint8_t *pages)
{
	return (volatile uint32_t *)(void *)(pages + USERD) + NVS_USERD_GP_PUT;
}

/* Ordinary memory in place of [at, at + bytes) of the program. */
static struct nvs_shadow_piece take_place(size_t at, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(p, program + at, bytes);
	if (mremap(p, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, program + at) == MAP_FAILED)
		abort();
	return (struct nvs_shadow_piece){
		.program = (uintptr_t)program + at, .stash = (uintptr_t)spare + at, .bytes = bytes};
}

static void begin(void)
{
	int fd = memfd_create("pages", 0);

	if (ftruncate(fd, BYTES))
		abort();
	program = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	real = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	spare = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	state = (struct nvs_spool_channel){.channel = 3};
	shadow = (struct nvs_shadow){.gpfifo = ring_of(real),
				     .userd = (volatile uint32_t *)(void *)(real + USERD)};
	shadow.pieces[0] = take_place(0, 2 * PAGE);
	shadow.pieces[1] = take_place(2 * PAGE, PAGE);
	channel = (struct nvs_channel){.number = 3,
				       .token = 0x10012,
				       .entries = ENTRIES,
				       .gpfifo = ring_of(program),
				       .put = put_of(program),
				       .state = &state,
				       .shadow = &shadow};
	hash[nvs_channel_hash(0, 0x10012) & 1] = 1;
	view = (struct nvs_view){.nchannels = 1,
				 .channels = &channel,
				 .channel_mask = 1,
				 .channel_hash = hash,
				 .ndoorbells = 1,
				 .doorbells = &doorbell};
	nvs_view_publish(&view);
}

static void end(void)
{
	munmap(program, BYTES);
	munmap(real, BYTES);
	munmap(spare, BYTES); /* and what took the place of what was moved from there */
}

/* A control entry: it has no segment. */
static uint64_t entry(uint32_t i)
{
	return (uint64_t)i << 8 | 1;
}

static void ring_doorbell(void)
{
	struct nvs_buffer *ring = nvs_buffer_enter();
	struct nvs_doorbell_event event = {
		.doorbell = &doorbell, .token = 0x10012, .stack = 5, .time = nvs_clock_now()};

	nvs_capture_doorbell(ring, nvs_view_get(), &event);
	nvs_buffer_leave(ring);
	ring->shared->tail = ring->shared->head;
}

static void push(uint32_t i)
{
	ring_of(program)[i % ENTRIES] = entry(i);
	*put_of(program) = (i + 1) % ENTRIES;
}

static void test_not_rung(void)
{
	begin();
	push(0);
	ring_doorbell();
	CHECK(ring_of(real)[0] == entry(0) && *put_of(real) == 1);
	push(1);
	ring_of(program)[2] = entry(2); /* its PUT is still to come */
	((volatile uint32_t *)(void *)(program + 2 * PAGE))[900] = 0x5a5a5a5a;
	*(volatile uint32_t *)(void *)(real + 2 * PAGE + 16) = 77; /* by the GPU */
	CHECK(ring_of(real)[1] == 0 && *put_of(real) == 1);
	CHECK(nvs_shadow_remove(&shadow, true) == 0);
	CHECK(ring_of(real)[1] == entry(1) && ring_of(real)[2] == entry(2) && *put_of(real) == 2);
	CHECK(((uint32_t *)(void *)(real + 2 * PAGE))[900] == 0x5a5a5a5a);
	CHECK(*(volatile uint32_t *)(void *)(program + 2 * PAGE + 16) == 77);
	/* The doorbell that comes now has the view of before. */
	ring_doorbell();
	CHECK((state.claim & 0xffffff) == 2 && *put_of(real) == 2);
	push(2);
	CHECK(*put_of(real) == 3);
	ring_doorbell();
	CHECK((state.claim & 0xffffff) == 3 && *put_of(real) == 3);
	CHECK(nvs_shadow_remove(&shadow, true) == 0 && *put_of(real) == 3);
	end();
}

/* ---- while another thread submits ---- */

static _Atomic uint32_t pushed, stop;
static bool ring_each;

static void *submit(void *arg)
{
	for (uint32_t i = 0; !stop || i < 50; i++) {
		push(i);
		if (ring_each)
			ring_doorbell();
		pushed = i + 1;
	}
	return NULL;
}

static void test_in_use(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		pthread_t t;
		uint32_t wrong = 0;

		begin();
		pushed = stop = 0;
		ring_each = round & 1;
		pthread_create(&t, NULL, submit, NULL);
		while (pushed < (uint32_t)round)
			;
		CHECK(nvs_shadow_remove(&shadow, true) == 0);
		stop = 1;
		pthread_join(t, NULL);
		CHECK(*put_of(real) == pushed % ENTRIES);
		for (uint32_t i = pushed > ENTRIES ? pushed - ENTRIES : 0; i < pushed; i++)
			wrong += ring_of(real)[i % ENTRIES] != entry(i);
		CHECK(wrong == 0);
		if (ring_each)
			CHECK((state.claim & 0xffffff) == pushed % ENTRIES);
		end();
	}
}

/* ---- faults that have nothing to do with it ---- */

static uint8_t *closed;

static uint8_t *unreadable; /* code, while the trap is at work */

static void on_segv(int sig, siginfo_t *info, void *context)
{
	bool ours;

	if (unreadable && (uintptr_t)info->si_addr - doorbell.start < PAGE) {
		mprotect(unreadable, PAGE, PROT_NONE);
		ours = nvs_trap_segv(info, context);
		mprotect(unreadable, PAGE, PROT_READ | PROT_EXEC);
		if (!ours)
			_exit(97);
		return;
	}
	if (nvs_trap_segv(info, context))
		return;
	foreign++;
	mprotect(closed, PAGE, PROT_READ | PROT_WRITE);
}

static void test_foreign(void)
{
	int before = foreign;

	closed = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 3; i++) {
		mprotect(closed, PAGE, PROT_READ);
		*(volatile uint8_t *)closed = 1;
		CHECK(foreign == before + i + 1);
		begin();
		CHECK(nvs_shadow_remove(&shadow, true) == 0);
		end();
	}
	munmap(closed, PAGE);
}

/* ---- a store that cannot be let through ---- */

/* Its bytes cannot be read, so the doorbell page is opened for good: what the program rings for, by
 * that store and by all that come after, has to reach the GPU without us. */
static void test_disarmed(void)
{
#ifdef __aarch64__
	static const uint32_t code[] = {0xb9000001, 0xd65f03c0}; /* str w1, [x0]; ret */
#else
	static const uint8_t code[] = {0x89, 0x37, 0xc3}; /* mov %esi, (%rdi); ret */
#endif
	void (*store)(volatile void *, uint32_t);
	uint8_t *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	unreadable = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(unreadable, code, sizeof(code));
	__builtin___clear_cache((char *)unreadable, (char *)unreadable + sizeof(code));
	mprotect(unreadable, PAGE, PROT_READ | PROT_EXEC);
	memcpy(&store, &unreadable, sizeof(store));
	doorbell.start = doorbell.alias = (uintptr_t)page;
	doorbell.end = doorbell.start + PAGE;
	begin();
	push(0);
	ring_doorbell();
	push(1);
	store(page + 0x90, 0x10012);
	CHECK(*(uint32_t *)(void *)(page + 0x90) == 0x10012);
	CHECK(ring_of(real)[1] == entry(1) && *put_of(real) == 2);
	push(2);
	store(page + 0x90, 0x10012);
	CHECK(ring_of(real)[2] == entry(2) && *put_of(real) == 3);
	end();
	doorbell.start = doorbell.alias = doorbell.end = 0;
	munmap(unreadable, PAGE);
	munmap(page, PAGE);
	unreadable = NULL;
}

int main(void)
{
	struct nvs_trap_options options = {.backtrace = false};
	struct sigaction a = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_NODEFER};

	CHECK(nvs_trap_init(&options) == 0);
	fake_rings(4, 1 << 20);
	sigaction(SIGSEGV, &a, NULL);
	test_not_rung();
	test_in_use();
	CHECK(foreign == 0);
	test_foreign();
	test_disarmed();
	return test_result();
}
