/* SPDX-License-Identifier: MIT */
/*
 * Doorbells and signals: with everything blocked, on an alternate stack, inside handlers with full
 * masks, and with the trap's own faults in the middle. The program's handlers and stacks do not
 * change.
 */
/* LINK: preload */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "insns.h"
#include "preload/base/preload.h"
#include "tests/unit/doorbell_page.h"

#define RING 1024u
#define VA 0x200000000ull
#define TOKEN 0x10012u
#define STACK 65536u

static int passed, failed;
#define CHECK(cond)                                                                     \
	do {                                                                            \
		if (cond) {                                                             \
			passed++;                                                       \
		} else {                                                                \
			failed++;                                                       \
			printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond); \
		}                                                                       \
	} while (0)

static uint64_t gpfifo[RING];
static uint32_t put, commands[64];
static struct nvs_channel channel;
static uint32_t hash[2];
/* One segment that can be read, and one that faults. */
static struct nvs_segment_map maps[2];
static struct nvs_view view;

static void set_up(void)
{
	struct nvs_spool_channel *state;

	nvs_session_start();
	state = nvs_session_channel_slot(0);
	if (!state)
		abort();
	make_doorbell_page();
	channel = (struct nvs_channel){
		.token = TOKEN, .entries = RING, .gpfifo = gpfifo, .put = &put, .state = state};
	hash[nvs_channel_hash(0, TOKEN) & 1] = 1;
	maps[0] = (struct nvs_segment_map){
		.gpu_va = VA, .size = sizeof(commands), .cpu = (uintptr_t)commands};
	maps[1] = (struct nvs_segment_map){.gpu_va = VA + 4096, .size = 4096};
	maps[1].cpu = (uintptr_t)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	view = (struct nvs_view){.ndoorbells = 1,
				 .doorbells = &doorbell,
				 .nmaps = 2,
				 .maps = maps,
				 .nchannels = 1,
				 .channels = &channel,
				 .channel_mask = 1,
				 .channel_hash = hash};
	nvs_view_publish(&view);
}

static uint64_t sum(enum nvs_counter counter)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < nvs_buffer_count(); i++)
		n += nvs_buffer_at(i)->counters[counter];
	return n;
}

/* One entry whose segment can be read or not, and the doorbell, by a store that is emulated or
 * stepped. */
static void ring(bool readable, bool odd)
{
	volatile uint32_t *reg = (volatile uint32_t *)(void *)(page + 0x90);
	uint32_t *seen = (uint32_t *)(void *)(behind + 0x90);

	*seen = 0;
	gpfifo[put] = (readable ? VA : VA + 4096) | 8ull << 42;
	put = (put + 1) % RING;
	if (odd)
		insn_store_odd(reg, TOKEN);
	else
		insn_store(reg, TOKEN);
	CHECK(*seen == TOKEN);
}

static void ring_all(void)
{
	uint64_t subs = sum(NVS_COUNT_SUBMISSIONS), gaps = sum(NVS_COUNT_GAPS);

	for (int i = 0; i < 4; i++)
		ring(i & 1, i & 2);
	CHECK(sum(NVS_COUNT_SUBMISSIONS) == subs + 4);
	CHECK(sum(NVS_COUNT_GAPS) == gaps + 2);
}

static volatile int own_faults;

static void own_fault(int sig, siginfo_t *info, void *uc)
{
	own_faults++;
	mprotect(info->si_addr, 4096, PROT_READ | PROT_WRITE);
}

static void fault_of_our_own(void)
{
	char *p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int before = own_faults;

	*(volatile char *)p = 1;
	CHECK(own_faults == before + 1);
	munmap(p, 4096);
}

static void ring_in_handler(int sig, siginfo_t *info, void *uc)
{
	stack_t st;

	sigaltstack(NULL, &st);
	CHECK(!!(st.ss_flags & SS_ONSTACK) == (sig == SIGUSR2));
	ring_all();
	sigaltstack(NULL, &st);
	CHECK(!!(st.ss_flags & SS_ONSTACK) == (sig == SIGUSR2));
	fault_of_our_own();
}

static void install(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};

	sigfillset(&a.sa_mask);
	/* But for the program's own faults in it. */
	if (sig != SIGSEGV)
		sigdelset(&a.sa_mask, SIGSEGV);
	sigaction(sig, &a, NULL);
}

static void test_blocked(void)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ring_all();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void test_in_handlers(void)
{
	raise(SIGUSR1);
	raise(SIGUSR2);
}

static void *everything(void *arg)
{
	stack_t st = {.ss_size = STACK}, now;

	st.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&st, NULL);
	for (int i = 0; i < 50; i++) {
		ring_all();
		test_blocked();
		test_in_handlers();
		fault_of_our_own();
	}
	sigaltstack(NULL, &now);
	CHECK(now.ss_sp == st.ss_sp && now.ss_size == st.ss_size && now.ss_flags == 0);
	st.ss_flags = SS_DISABLE;
	sigaltstack(&st, NULL);
	munmap(now.ss_sp, STACK);
	return NULL;
}

static void run_mode(const char *options)
{
	char folder[] = "/tmp/nvsnoop-test.XXXXXX", name[64];
	pthread_t t;

	if (!mkdtemp(folder))
		abort();
	snprintf(name, sizeof(name), "%s/t.zst", folder);
	setenv("NVSNOOP_OUT", name, 1);
	setenv("NVSNOOP_OPTIONS", options, 1);
	set_up();
	for (int onstack = 0; onstack < 2; onstack++) {
		install(SIGSEGV, own_fault, onstack ? SA_ONSTACK : 0);
		install(SIGUSR1, ring_in_handler, 0);
		install(SIGUSR2, ring_in_handler, SA_ONSTACK);
		everything(NULL);
		pthread_create(&t, NULL, everything, NULL);
		pthread_join(t, NULL);
	}
	nvs_session_finish();
	unlink(name);
	CHECK(rmdir(folder) == 0);
}

int main(int argc, char **argv)
{
	static const char *const modes[] = {"quiet,trap=emulate", "quiet,trap=step",
					    "quiet,backtrace=off"};
	int status;

	if (argc > 1) {
		run_mode(argv[1]);
		printf("%d passed, %d failed\n", passed, failed);
		return failed != 0;
	}
	/* The options are read once a process. */
	for (int i = 0; i < 3; i++) {
		fflush(stdout);
		if (fork() == 0) {
			execl("/proc/self/exe", argv[0], modes[i], NULL);
			_exit(127);
		}
		wait(&status);
		if (status)
			printf("%s: status %x\n", modes[i], status);
		passed += !status;
		failed += !!status;
	}
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
