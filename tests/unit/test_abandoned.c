/* SPDX-License-Identifier: MIT */
/*
 * Signal handlers of the program that interrupt a doorbell and jump out of it. Nothing stays
 * locked: not the thread's buffer, not publishing, not the program's view of its signals. Memory
 * that a doorbell reads is not freed while it is interrupted, and what was put is in the real ring
 * behind a shadow before the next doorbell, once. Also: the program single-steps over a doorbell
 * and sees one step per store; and how much of the interrupted stack a doorbell uses.
 */
/* LINK: preload */
#include <pthread.h>
#include <setjmp.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include "trap/arch/context.h"
#include "insns.h"
#include "preload/base/preload.h"
#include "tests/unit/doorbell_page.h"
#include "tests/unit/fakering.h"
#include "trap/enter/patch.h"
#include "trap/buffer/process.h"
#include "trap/copy/shadow.h"

#define RING 1024u
#define VA 0x200000000ull
#define TOKEN 0x10012u
#define LARGE (1u << 20) /* bytes of a segment whose copy takes its time */
#define ROUNDS 20

static uint64_t gpfifo[RING], real_ring[RING];
static uint32_t put, real_userd[NVS_USERD_BYTES / 4];
static struct nvs_shadow shadow = {.gpfifo = real_ring, .userd = real_userd};
static struct nvs_channel channel;
static uint32_t hash[2];
static struct nvs_segment_map maps[2]; /* the second one's pages are there when `hole` has grown */
static int hole;
static struct nvs_view views[2];

static void set_up(void)
{
	struct nvs_spool_channel *state;

	nvs_session_start();
	state = nvs_session_channel_slot(0);
	if (!state)
		abort();
	make_doorbell_page();
	channel = (struct nvs_channel){.token = TOKEN,
				       .entries = RING,
				       .gpfifo = gpfifo,
				       .put = &put,
				       .state = state,
				       .shadow = &shadow};
	hash[nvs_channel_hash(0, TOKEN) & 1] = 1;
	maps[0] = (struct nvs_segment_map){.gpu_va = VA, .size = LARGE};
	maps[0].cpu = (uintptr_t)mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	hole = memfd_create("hole", 0);
	maps[1] = (struct nvs_segment_map){.gpu_va = VA + LARGE, .size = LARGE};
	maps[1].cpu = (uintptr_t)mmap(NULL, LARGE, PROT_READ, MAP_SHARED, hole, 0);
	views[0] = (struct nvs_view){.ndoorbells = 1,
				     .doorbells = &doorbell,
				     .nmaps = 2,
				     .maps = maps,
				     .nchannels = 1,
				     .channels = &channel,
				     .channel_mask = 1,
				     .channel_hash = hash};
	views[1] = views[0];
	nvs_view_publish(&views[0]);
}

static uint32_t *seen(void)
{
	return (uint32_t *)(void *)(behind + 0x90);
}

/* The GPU has, behind the doorbell just rung, all that was put, and nothing that was not. */
static bool carried(void)
{
	return real_userd[NVS_USERD_GP_PUT] == put && !memcmp(real_ring, gpfifo, sizeof(gpfifo));
}

static void next_entry(uint32_t bytes)
{
	*seen() = 0;
	gpfifo[put] = VA | (uint64_t)(bytes / 4) << 42;
	put = (put + 1) % RING;
}

/* By the fault. */
static void ring_slow(uint32_t bytes)
{
	next_entry(bytes);
	insn_store(page + 0x90, TOKEN);
}

/* As a patched site does. */
__attribute__((noinline)) static bool ring_fast(uint32_t bytes)
{
	static const struct nvs_patch_site site = {.form = INSN_FAST_FORM};
	struct nvs_fast_regs regs = INSN_FAST_REGS((uintptr_t)page, TOKEN);

	next_entry(bytes);
	return nvs_fast_doorbell(&site, &regs);
}

/* Further down the stack than the frames of the rings before. */
__attribute__((noinline)) static bool ring_deeper(void)
{
	volatile char room[8192];

	memset((char *)room, 0x55, sizeof(room));
	return ring_fast(16) && room[100];
}

/* ---- a thread that disturbs this one ---- */

static pid_t victim;
static _Atomic int disturb; /* signal, 0 none */

static void *disturber(void *arg)
{
	for (;;) {
		int sig = disturb;

		if (sig < 0)
			return NULL;
		if (sig)
			syscall(SYS_tgkill, getpid(), victim, sig);
		usleep(200);
	}
}

static sigjmp_buf jump;
static volatile int interrupted, nested;

static bool in_flight(void)
{
	return atomic_load(&nvs_tls.buffer->epoch) != 0;
}

static void leave(int sig)
{
	if (!in_flight())
		return;
	interrupted++;
	CHECK(!nvs_in_trap());
	siglongjmp(jump, 1);
}

/* A doorbell in a handler takes a ring of its own; the one underneath goes on unharmed. */
static void ring_within(int sig)
{
	if (!in_flight())
		return;
	nested++;
	CHECK(!ring_fast(16));
	ring_slow(16);
	CHECK(*seen() == TOKEN && carried());
}

static void handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction a = {.sa_handler = handler, .sa_flags = flags};

	sigaction(sig, &a, NULL);
}

static void *publish(void *arg)
{
	static int next;

	next ^= 1;
	return nvs_view_publish(&views[next]);
}

/* By another thread, since one does not wait for itself. */
static void *published(void)
{
	pthread_t t;
	void *old;

	pthread_create(&t, NULL, publish, NULL);
	pthread_join(t, &old);
	return old;
}

static void test_abandoned(int flags, bool deeper)
{
	struct nvs_buffer *ring = nvs_tls.buffer;
	volatile uint64_t records;
	volatile int i;

	handle(SIGUSR1, leave, flags);
	for (i = 0; i < ROUNDS; i++) {
		int before = interrupted;

		if (!sigsetjmp(jump, 1)) {
			disturb = SIGUSR1;
			while (interrupted == before)
				ring_fast(LARGE);
		}
		disturb = 0;
		CHECK(atomic_load(&ring->epoch));
		records = ring->counters[NVS_COUNT_FAST];
		/* The same ring again, on the fast way, as if nothing had been. */
		CHECK(deeper ? ring_deeper() : ring_fast(16));
		CHECK(*seen() == TOKEN && !atomic_load(&ring->epoch) && !ring->busy);
		CHECK(carried());
		CHECK(ring->counters[NVS_COUNT_FAST] == records + 1);
		CHECK(nvs_tls.buffer == ring);
	}
}

static void test_publish(void)
{
	CHECK(published() != NULL);
	if (!sigsetjmp(jump, 1)) {
		handle(SIGUSR1, leave, 0);
		disturb = SIGUSR1;
		for (;;)
			ring_fast(LARGE);
	}
	disturb = 0;
	/* Nobody waits for ever for a trap that was left, nor for long more than once. */
	for (int i = 0; i < 100; i++)
		CHECK(published() == NULL);
	ring_slow(16);
	CHECK(*seen() == TOKEN);
	CHECK(published() != NULL);
}

static void test_nested(int flags)
{
	handle(SIGUSR1, ring_within, flags);
	nested = 0;
	disturb = SIGUSR1;
	while (nested < ROUNDS) {
		CHECK(ring_fast(LARGE));
		CHECK(*seen() == TOKEN && carried());
	}
	disturb = 0;
}

/* ---- a handler in the middle of a copy, each time: its memory is not there yet ---- */

static void (*within)(void);

static void on_bus(int sig)
{
	CHECK(in_flight());
	within();
	CHECK(!ftruncate(hole, LARGE));
}

__attribute__((noinline)) static bool ring_over_hole(void (*fn)(void))
{
	static const struct nvs_patch_site site = {.form = INSN_FAST_FORM};
	struct nvs_fast_regs regs = INSN_FAST_REGS((uintptr_t)page, TOKEN);

	within = fn;
	CHECK(!ftruncate(hole, 0));
	next_entry(16);
	gpfifo[(put + RING - 1) % RING] += LARGE;
	return nvs_fast_doorbell(&site, &regs);
}

static void *replaced;

static void replace(void)
{
	replaced = publish(NULL);
}

static void replace_and_leave(void)
{
	replace();
	siglongjmp(jump, 1);
}

/* The view that an interrupted doorbell reads is not given back to the handler that replaces it. */
static void test_replaced(int flags)
{
	handle(SIGBUS, on_bus, flags);
	for (int i = 0; i < 3; i++) {
		replaced = &replaced;
		CHECK(ring_over_hole(replace) && *seen() == TOKEN);
		CHECK(replaced == NULL);
		CHECK(publish(NULL) != NULL);
	}
	if (!sigsetjmp(jump, 1)) {
		ring_over_hole(replace_and_leave);
		CHECK(false);
	}
	CHECK(replaced == NULL && in_flight());
	CHECK(ring_fast(16) && *seen() == TOKEN);
	CHECK(publish(NULL) != NULL);
	handle(SIGBUS, SIG_DFL, 0);
}

/* ---- threads that are ended as they begin ---- */

static volatile bool by_signal, ran;

static void end_thread(int sig)
{
	pthread_exit(NULL);
}

static int ending_unwinder(void **pcs, int max)
{
	if (by_signal)
		raise(SIGUSR1);
	else
		pthread_cancel(pthread_self());
	pthread_testcancel();
	return 0;
}

static void *run_thread(void *arg)
{
	ran = true;
	return arg;
}

/* What ends a thread that is being prepared does so after that; nobody waits for it ever after. */
static void test_begin(void)
{
	handle(SIGUSR1, end_thread, 0);
	nvs_process->options.backtrace = true;
	nvs_callsite_set(ending_unwinder, false);
	for (int i = 0; i < 2; i++) {
		pthread_t t;

		by_signal = i;
		ran = false;
		pthread_create(&t, NULL, run_thread, NULL);
		pthread_join(t, NULL);
		CHECK(ran == !by_signal && !atomic_load(&nvs_process->warming));
	}
	nvs_callsite_set(NULL, false);
	nvs_process->options.backtrace = false;
}

/* ---- how much of a stack is taken ---- */

#define PAINT 0x5a
#define STACK 262144u

static uint8_t *stack;

static size_t painted(size_t bytes)
{
	size_t n = 0;

	while (n < bytes && stack[n] == PAINT)
		n++;
	return n;
}

/* Bytes below the caller's frame that FN has used, on STACK. */
__attribute__((noinline)) static size_t depth_of(bool (*fn)(uint32_t))
{
	uint8_t *here = __builtin_frame_address(0);

	for (volatile uint8_t *p = stack; p < here - 256; p++)
		*p = PAINT;
	CHECK(fn(16) && *seen() == TOKEN);
	return (size_t)(here - stack) - painted((size_t)(here - stack));
}

static size_t signal_frame(void)
{
	return getauxval(AT_MINSIGSTKSZ) ? getauxval(AT_MINSIGSTKSZ) : MINSIGSTKSZ;
}

static void check_depth(size_t depth, size_t most)
{
	CHECK(depth < most);
	if (depth >= most)
		printf("%zu bytes, at most %zu were to be taken\n", depth, most);
}

static void *measure_fast(void *arg)
{
	CHECK(nvs_buffer_own() != NULL);
	check_depth(depth_of(ring_fast), signal_frame());
	return NULL;
}

/* By the fault of a thread for which there is no ring: the signal's frame, and little besides. */
static bool ring_lost(uint32_t bytes)
{
	uint64_t lost = channel.state->lost;

	ring_slow(bytes);
	return !nvs_tls.buffer && channel.state->lost == lost + 1;
}

static void *measure_lost(void *arg)
{
	check_depth(depth_of(ring_lost), signal_frame() + 2048);
	return NULL;
}

static void measure(void *(*fn)(void *))
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, STACK);
	pthread_create(&t, &attr, fn, NULL);
	pthread_join(t, NULL);
	pthread_attr_destroy(&attr);
}

/* ---- a doorbell left by another thread ---- */

static _Atomic int turn;

static void await(int n)
{
	while (turn != n)
		usleep(100);
}

static void *leave_one(void *arg)
{
	int before = interrupted;

	victim = (pid_t)syscall(SYS_gettid);
	ring_slow(16);
	if (!sigsetjmp(jump, 1)) {
		disturb = SIGUSR1;
		while (interrupted == before)
			ring_fast(LARGE);
	}
	disturb = 0;
	turn = 1;
	await(2);
	ring_slow(16);
	CHECK(*seen() == TOKEN && carried());
	return NULL;
}

static void test_left_by_another(void)
{
	pid_t mine = victim;
	pthread_t t;

	handle(SIGUSR1, leave, 0);
	for (int i = 0; i < 3; i++) {
		turn = 0;
		pthread_create(&t, NULL, leave_one, NULL);
		await(1);
		CHECK(ring_fast(16) && *seen() == TOKEN && carried());
		turn = 2;
		pthread_join(t, NULL);
	}
	victim = mine;
}

/* The first record in a buffer is not judged by the activity of the buffer's previous owner. */
static void *take_buffer(void *arg)
{
	const struct nvs_buffer *buffer = nvs_buffer_own();
	uintptr_t here = (uintptr_t)&buffer;

	CHECK(buffer && buffer->activity.sp - here + STACK < 2 * STACK && !buffer->activity.mark);
	return NULL;
}

static void test_previous_owner(void)
{
	static uint64_t mark;
	pthread_t t;

	for (uint32_t i = 0; i < nvs_buffer_count(); i++)
		if (nvs_buffer_at(i) != nvs_tls.buffer)
			nvs_buffer_at(i)->activity = (struct nvs_activity){.sp = 16, .mark = &mark};
	pthread_create(&t, NULL, take_buffer, NULL);
	pthread_join(t, NULL);
}

/* ---- signals of the kind that the trap itself lives on, sent by somebody ---- */

static volatile int sent;

static void leave_sent(int sig)
{
	sent++;
	CHECK(!nvs_in_trap() && !in_flight());
	siglongjmp(jump, 1);
}

static void test_sent(int sig)
{
	volatile int rung = 0;
	volatile uint64_t lost = 0;

	handle(sig, leave_sent, 0);
	sent = 0;
	while (sent < ROUNDS) {
		int before = sent;

		sigsetjmp(jump, 1);
		if (sent != before)
			continue;
		disturb = sig;
		for (;;) {
			rung = rung + 1;
			ring_slow(LARGE);
		}
	}
	disturb = 0;
	usleep(1000);
	handle(sig, SIG_DFL, 0);
	for (uint32_t i = 0; i < nvs_buffer_count(); i++)
		lost = lost + nvs_buffer_at(i)->counters[NVS_COUNT_GAPS];
	/* None was taken for a fault of the copy. */
	CHECK(lost == 0);
	CHECK(rung > 0);
}

/* ---- single steps ---- */

static uintptr_t at[64];
static volatile int steps;

static void step(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	if (steps < 64)
		at[steps] = nvs_context_pc(&uc->uc_mcontext);
	steps++;
	CHECK(info->si_code == TRAP_TRACE && (uintptr_t)info->si_addr == at[steps - 1]);
}

/* Steps over a store to TO; where it stopped, from the store on. */
__attribute__((noinline)) static int step_over(void *to, uintptr_t *where)
{
	steps = 0;
	insn_ring_stepwise(to, TOKEN);
	memcpy(where, at, sizeof(at));
	return steps;
}

static void test_steps(void)
{
	struct sigaction a = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
	uintptr_t plain[64], rung[64];
	uint32_t ordinary;
	int n, m;

	if (!INSN_CAN_STEP)
		return;
	sigaction(SIGTRAP, &a, NULL);
	n = step_over(&ordinary, plain);
	CHECK(n >= 6 && n < 64);
	for (int i = 0; i < 10; i++) {
		next_entry(16);
		m = step_over(page + 0x90, rung);
		CHECK(*seen() == TOKEN);
		CHECK(m == n && !memcmp(plain, rung, (size_t)n * sizeof(*plain)));
		if (m != n)
			printf("%d steps over an ordinary store, %d over a doorbell\n", n, m);
	}
	handle(SIGTRAP, SIG_DFL, 0);
}

static void run(void)
{
	stack_t alternate = {.ss_size = 65536};
	pthread_t t;

	alternate.ss_sp = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
	sigaltstack(&alternate, NULL);
	victim = (pid_t)syscall(SYS_gettid);
	set_up();
	ring_slow(16);
	CHECK(*seen() == TOKEN && nvs_tls.buffer);
	pthread_create(&t, NULL, disturber, NULL);
	test_steps();
	test_abandoned(0, false);
	test_abandoned(0, true);
	test_abandoned(SA_ONSTACK, false);
	test_nested(0);
	test_nested(SA_ONSTACK);
	test_left_by_another();
	test_previous_owner();
	test_publish();
	test_begin();
	test_replaced(0);
	test_replaced(SA_ONSTACK);
	test_sent(SIGSEGV);
	test_sent(SIGTRAP);
	disturb = -1;
	pthread_join(t, NULL);
	stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	measure(measure_fast);
	nvs_session_finish();
	/* Into the late spool, and then with every ring taken. */
	measure(measure_fast);
	for (uint32_t i = 0; i < nvs_buffer_count(); i++)
		nvs_buffer_at(i)->shared->tid = (uint32_t)victim;
	measure(measure_lost);
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/nvsnoop-test.XXXXXX", name[64];

	if (!mkdtemp(folder))
		abort();
	snprintf(name, sizeof(name), "%s/t.zst", folder);
	setenv("NVSNOOP_OUT", name, 1);
	setenv("NVSNOOP_OPTIONS", "quiet,backtrace=off,patch=off,buffer=8M", 1);
	run();
	unlink(name);
	strcat(name, ".spool");
	unlink(name);
	CHECK(rmdir(folder) == 0);
	return test_result();
}
