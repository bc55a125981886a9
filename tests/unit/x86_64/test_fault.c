/* SPDX-License-Identifier: MIT */
/* LINK: trap */
/* A doorbell page that stays write-protected: every form of store is captured first and reaches the
 * page afterwards, on one thread and on many, emulated and single-stepped. */
#include <immintrin.h>
#include <pthread.h>
#include <ucontext.h>
#include "tests/unit/doorbell_page.h"
#include "tests/unit/fakering.h"
#include "trap/buffer/process.h"

#define RING 1024u
#define VA 0x200000000ull

static uint64_t gpfifo[2][RING];
static uint32_t put[2];
static struct nvs_spool_channel state[2];
static struct nvs_channel channels[2];
static uint32_t hash[8], commands[64];
static struct nvs_segment_map map;
static struct nvs_view view;
static int foreign;

static void on_segv(int sig, siginfo_t *info, void *context)
{
	if (!nvs_trap_segv(info, context)) {
		ucontext_t *uc = context;

		/* The test's own wild store: `movl $1, 0` of 11 bytes at most, told by its address.
		 *  */
		foreign++;
		uc->uc_mcontext.gregs[REG_RIP] = uc->uc_mcontext.gregs[REG_RBX];
	}
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	if (!nvs_trap_sigtrap(info, context))
		_exit(98);
}

static void set_up(void)
{
	struct sigaction sa = {.sa_flags = SA_SIGINFO | SA_NODEFER};

	make_doorbell_page();
	for (uint32_t i = 0; i < 2; i++) {
		state[i].channel = i;
		channels[i] = (struct nvs_channel){
			.number = i,
			.token = 0x10012 + i,
			.entries = RING,
			.gpfifo = gpfifo[i],
			.put = &put[i],
			.state = &state[i],
		};
		for (uint32_t h = nvs_channel_hash(0, 0x10012 + i);; h++)
			if (!hash[h & 7]) {
				hash[h & 7] = i + 1;
				break;
			}
	}
	map = (struct nvs_segment_map){
		.gpu_va = VA, .size = sizeof(commands), .cpu = (uintptr_t)commands};
	view = (struct nvs_view){.ndoorbells = 1,
				 .doorbells = &doorbell,
				 .nmaps = 1,
				 .maps = &map,
				 .nchannels = 2,
				 .channels = channels,
				 .channel_mask = 7,
				 .channel_hash = hash};
	nvs_view_publish(&view);
	sa.sa_sigaction = on_segv;
	sigaction(SIGSEGV, &sa, NULL);
	sa.sa_sigaction = on_trap;
	sigaction(SIGTRAP, &sa, NULL);
}

static void commit(uint32_t channel)
{
	gpfifo[channel][put[channel]] = VA | 8ull << 42;
	put[channel] = (put[channel] + 1) % RING;
}

/* Stores TOKEN to REG; each a form of its own. */
typedef void (*store_fn)(volatile uint32_t *reg, uint32_t token);

static void mov_plain(volatile uint32_t *reg, uint32_t token)
{
	asm volatile("movl %1, (%0)" : : "a"(reg), "c"(token) : "memory");
}

static void mov_index(volatile uint32_t *reg, uint32_t token)
{
	asm volatile("movl %1, -0x240(%0, %2, 8)" : : "r"(reg), "r"(token), "r"(0x48ul) : "memory");
}

static void mov_imm(volatile uint32_t *reg, uint32_t token)
{
	asm volatile("movl $0x10012, 4(%0)" : : "r"(reg - 1) : "memory");
}

static void mov_64(volatile uint32_t *reg, uint32_t token)
{
	asm volatile("movq %1, (%0)" : : "r"(reg), "r"((uint64_t)token) : "memory");
}

static void movnti(volatile uint32_t *reg, uint32_t token)
{
	asm volatile("movnti %1, (%0)" : : "r"(reg), "r"(token) : "memory");
}

static void xchg(volatile uint32_t *reg, uint32_t token)
{
	asm volatile("xchgl %1, (%0)" : : "r"(reg), "r"(token) : "memory");
}

static void vector(volatile uint32_t *reg, uint32_t token)
{
	asm volatile("movd %1, %%xmm3; movd %%xmm3, (%0)"
		     :
		     : "r"(reg), "r"(token)
		     : "memory", "xmm3");
}

static void wide_vector(volatile uint32_t *reg, uint32_t token)
{
	asm volatile("movd %1, %%xmm3; movups %%xmm3, (%0)"
		     :
		     : "r"(reg), "r"(token)
		     : "memory", "xmm3");
}

static void stos(volatile uint32_t *reg, uint32_t token)
{
	volatile uint32_t *end;

	asm volatile("stosl" : "=D"(end) : "0"(reg), "a"(token) : "memory");
	CHECK(end == reg + 1);
}

static void string_move(volatile uint32_t *reg, uint32_t token)
{
	volatile uint32_t *end;
	const uint32_t *from = &token, *from_end;

	asm volatile("movsl" : "=D"(end), "=S"(from_end) : "0"(reg), "1"(from) : "memory");
	CHECK(end == reg + 1 && from_end == &token + 1);
}

static void locked_add(volatile uint32_t *reg, uint32_t token)
{
	asm volatile("lock addl %1, (%0)" : : "r"(reg), "r"(token) : "memory", "cc");
}

static void exchange_add(volatile uint32_t *reg, uint32_t token)
{
	asm volatile("lock xaddl %1, (%0)" : : "r"(reg), "r"(token) : "memory", "cc");
}

static void or_store(volatile uint32_t *reg, uint32_t token)
{
	asm volatile("orl %1, (%0)" : : "r"(reg), "r"(token) : "memory", "cc");
}

static void no_base(volatile uint32_t *reg, uint32_t token)
{
	asm volatile("movd %1, %%xmm3; movd %%xmm3, 0x48(, %0, 2)"
		     :
		     : "r"(((uintptr_t)reg - 0x48) / 2), "r"(token)
		     : "memory", "xmm3");
}

static const struct {
	const char *name;
	store_fn fn;
	bool step;
} forms[] = {
	{"mov", mov_plain, false},
	{"mov indexed", mov_index, false},
	{"mov immediate", mov_imm, false},
	{"mov 64", mov_64, false},
	{"movnti", movnti, false},
	{"xchg", xchg, false},
	{"movd", vector, true},
	{"movups", wide_vector, true},
	{"stos", stos, true},
	{"movs", string_move, true},
	{"lock add", locked_add, true},
	{"lock xadd", exchange_add, true},
	{"or", or_store, true},
	{"no base", no_base, true},
};

static uint32_t undrained[8];

static uint64_t drain(uint32_t ring, uint64_t *submissions, uint64_t *others)
{
	struct nvs_rec *rec;

	while ((rec = fake_next(nvs_buffer_at(ring), &undrained[ring]))) {
		struct nvs_rec_submission *sub = (void *)rec;

		if (rec->type != NVS_REC_SUBMISSION) {
			*others += rec->type != NVS_REC_THREAD;
			continue;
		}
		(*submissions)++;
		if (sub->nentries != 1 || memcmp(&sub->entries[1], commands, 32))
			(*others)++;
	}
	return *submissions;
}

static void test_forms(enum nvs_trap_mode mode)
{
	volatile uint32_t *reg = (void *)(page + 0x90);

	nvs_process->options.mode = mode;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct nvs_buffer *ring = nvs_buffer_own();
		uint64_t stepped = ring->counters[NVS_COUNT_STEPPED], got = 0, others = 0;
		uint32_t n = (uint32_t)(ring - nvs_buffer_at(0));

		memset(behind, 0, PAGE);
		commit(0);
		forms[i].fn(reg, 0x10012);
		drain(n, &got, &others);
		if (*(uint32_t *)(void *)(behind + 0x90) != 0x10012 || got != 1 || others ||
		    (ring->counters[NVS_COUNT_STEPPED] != stepped) !=
			    (forms[i].step || mode == NVS_TRAP_STEP)) {
			printf("%s: stored %#x, %lu submissions, %lu others, %lu steps\n",
			       forms[i].name, *(uint32_t *)(void *)(behind + 0x90), got, others,
			       ring->counters[NVS_COUNT_STEPPED] - stepped);
			failed++;
		} else {
			passed++;
		}
		CHECK(ring->shared->rung == ring->shared->head);
	}
}

/* A store elsewhere in the page goes through and is no doorbell. */
static void test_other_register(void)
{
	uint64_t got = 0, others = 0;

	*(volatile uint32_t *)(void *)(page + 0x200) = 77;
	CHECK(*(uint32_t *)(void *)(behind + 0x200) == 77);
	CHECK(drain((uint32_t)(nvs_buffer_own() - nvs_buffer_at(0)), &got, &others) == 0 &&
	      !others);
}

static void test_foreign(void)
{
	int before = foreign;

	asm volatile("leaq 1f(%%rip), %%rbx; movl $1, 0; 1:" : : : "rbx", "memory");
	CHECK(foreign == before + 1);
	CHECK(nvs_buffer_own()->counters[NVS_COUNT_FOREIGN] > 0);
}

#define STORES 20000
static void *storing(void *arg)
{
	uint32_t channel = (uint32_t)(uintptr_t)arg;

	for (int i = 0; i < STORES; i++) {
		commit(channel);
		forms[i % 14].fn((void *)(page + 0x90),
				 0x10012 + (forms[i % 14].fn == mov_imm ? 0 : channel));
		if (forms[i % 14].fn == mov_imm && channel)
			mov_plain((void *)(page + 0x90), 0x10012 + channel);
		*(volatile uint32_t *)(void *)(page + 0x90) = 0x10012 + channel;
	}
	return NULL;
}

/* Two threads on their own channels, all forms mixed: the chain of each channel has every entry. */
static void test_threads(void)
{
	pthread_t threads[2];
	uint64_t start[2] = {state[0].claim >> NVS_PUT_BITS, state[1].claim >> NVS_PUT_BITS};
	bool done = false;

	nvs_process->options.mode = NVS_TRAP_EMULATE;
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, storing, (void *)i);
	while (!done) {
		done = pthread_tryjoin_np(threads[0], NULL) == 0;
		for (uint32_t r = 0; r < nvs_buffer_count(); r++) {
			uint64_t a = 0, b = 0;

			fake_heartbeat++;
			drain(r, &a, &b);
		}
	}
	done = false;
	while (!done) {
		done = pthread_tryjoin_np(threads[1], NULL) == 0;
		for (uint32_t r = 0; r < nvs_buffer_count(); r++) {
			uint64_t a = 0, b = 0;

			fake_heartbeat++;
			drain(r, &a, &b);
		}
	}
	for (int i = 0; i < 2; i++) {
		CHECK((state[i].claim & ((1 << NVS_PUT_BITS) - 1)) == put[i]);
		CHECK((state[i].claim >> NVS_PUT_BITS) - start[i] >= 2 * STORES);
		CHECK(state[i].lost == 0);
	}
}

int main(void)
{
	struct nvs_trap_options options = {.backtrace = false};

	for (int i = 0; i < 64; i++)
		commands[i] = (uint32_t)i * 77;
	CHECK(nvs_trap_init(&options) == 0);
	fake_rings(8, 65536);
	set_up();
	test_forms(NVS_TRAP_EMULATE);
	test_forms(NVS_TRAP_STEP);
	test_other_register();
	test_foreign();
	test_threads();
	return test_result();
}
