/* SPDX-License-Identifier: MIT */
/* LINK: trap */
/*
 * Patching at the worst moments: a store is patched while another trap at it reads its bytes, its
 * module is unloaded and loaded between the trap and the check, or the answer whether it may be
 * patched does not come in time. Each moment is forced, not waited for: the page that the trap
 * will read is protected, and the fault is the moment. Or a write of code fails, or the process
 * forks between two of them: a filter passes each to a handler of the test.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include "insns.h"
#include "tests/unit/doorbell_page.h"
#include "tests/unit/fakering.h"
#include "trap/enter/patch.h"
#include "trap/buffer/process.h"
#include "trap/low/sys.h"

#define RING 1024u
#define CODE 4096u
#define VA 0x200000000ull
#define TOKEN 0x10012u
#define CASES 12
#define JUMP 0xeb
#define STOP 0xf4

static uint64_t gpfifo[RING];
static uint32_t put, hash[2], commands[64];
static struct nvs_spool_channel state;
static struct nvs_channel channel;
static struct nvs_segment_map map;
static struct nvs_view view;

/* Two pages of code a case; the store's two bytes lie on both sides of the border. */
static uint8_t *text;
static uint8_t *closed; /* of the text, at the next doorbell's fault; NULL: none */
static bool gone; /* the text's module */
static int moments;

static uint8_t *store_of(int i)
{
	return text + 2 * CODE * i + CODE - 1;
}

static bool text_of(uintptr_t address, struct nvs_site_text *t)
{
	*t = (struct nvs_site_text){
		.bytes = text, .address = (uintptr_t)text, .size = 2 * CODE * CASES};
	return !gone && address - (uintptr_t)text < t->size;
}

static void on_segv(int sig, siginfo_t *info, void *context)
{
	uint8_t *at = info->si_addr;

	if (closed && (uintptr_t)at - (uintptr_t)closed < CODE) {
		mprotect(closed, CODE, PROT_READ | PROT_WRITE | PROT_EXEC);
		closed = NULL;
		moments++;
		nvs_patch_pending_sites(text_of);
		return;
	}
	if (closed)
		mprotect(closed, CODE, PROT_NONE);
	if (!nvs_trap_segv(info, context))
		_exit(97);
}

static void set_up(void)
{
	static const uint8_t code[] = {
		0x89, 0x37, /* mov %esi, (%rdi) */
		0xeb, 0x0d, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, /* a jump, and padding that never runs */
		0xc3,
	};
	struct sigaction sa = {.sa_flags = SA_SIGINFO | SA_NODEFER, .sa_sigaction = on_segv};

	make_doorbell_page();
	channel = (struct nvs_channel){
		.token = TOKEN, .entries = RING, .gpfifo = gpfifo, .put = &put, .state = &state};
	hash[nvs_channel_hash(0, TOKEN) & 1] = 1;
	map = (struct nvs_segment_map){
		.gpu_va = VA, .size = sizeof(commands), .cpu = (uintptr_t)commands};
	view = (struct nvs_view){.ndoorbells = 1,
				 .doorbells = &doorbell,
				 .nmaps = 1,
				 .maps = &map,
				 .nchannels = 1,
				 .channels = &channel,
				 .channel_mask = 1,
				 .channel_hash = hash};
	nvs_view_publish(&view);
	text = mmap(NULL, 2 * CODE * CASES, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(text, 0xcc, 2 * CODE * CASES);
	for (int i = 0; i < CASES; i++)
		memcpy(store_of(i), code, sizeof(code));
	sigaction(SIGSEGV, &sa, NULL);
}

static struct nvs_buffer *mine(void)
{
	return nvs_buffer_own();
}

static void run_store(int i)
{
	void (*store)(volatile void *, uint32_t);
	void *at = store_of(i);

	memcpy(&store, &at, sizeof(store));
	*(uint32_t *)(void *)(behind + 0x90) = 0;
	store(page + 0x90, TOKEN);
	CHECK(*(uint32_t *)(void *)(behind + 0x90) == TOKEN);
}

/* One submission by the store of case I; both it and its doorbell have to arrive. */
static void submit(int i)
{
	uint32_t undrained = 0;

	gpfifo[put] = VA | 8ull << 42;
	put = (put + 1) % RING;
	run_store(i);
	CHECK((state.claim & ((1 << NVS_PUT_BITS) - 1)) == put);
	while (fake_next(mine(), &undrained))
		;
}

/* The trap reads the store's bytes when AT's page is opened again, and they have changed by then.
 */
static void test_while_read(int i, uint8_t *at)
{
	uint64_t fast;
	int before = moments;

	submit(i); /* seen */
	closed = at;
	submit(i);
	CHECK(moments == before + 1 && !closed);
	CHECK(*store_of(i) == JUMP);
	CHECK(mine()->counters[NVS_COUNT_GAPS] == 0);
	fast = mine()->counters[NVS_COUNT_FAST];
	submit(i);
	CHECK(mine()->counters[NVS_COUNT_FAST] == fast + 1);
}

/* The flags after the store of case I, which found FLAGS. */
static uint64_t flags_after(int i, uint64_t flags)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "push %0\n\t"
			 "popfq\n\t"
			 "call *%1\n\t"
			 "pushfq\n\t"
			 "cld\n\t"
			 "pop %0\n\t"
			 "lea 128(%%rsp), %%rsp"
			 : "+r"(flags)
			 : "r"(store_of(i)), "D"(page + 0x90), "S"(TOKEN)
			 : "memory", "cc");
	return flags;
}

/* Every arithmetic flag, and the direction of string instructions. */
static void test_flags(int i)
{
	static const uint64_t bit[] = {1u << 0,	 1u << 2, 1u << 6, 1u << 7,
				       1u << 11, 1u << 4, 1u << 10};
	uint64_t all = 0, fast = mine()->counters[NVS_COUNT_FAST];
	uint32_t undrained = 0;

	for (unsigned k = 0; k < 7; k++)
		all |= bit[k];
	for (unsigned set = 0; set < 128; set++) {
		uint64_t flags = 0x202;

		for (unsigned k = 0; k < 7; k++)
			flags |= set >> k & 1 ? bit[k] : 0;
		CHECK((flags_after(i, flags) & all) == (flags & all));
		while (fake_next(mine(), &undrained))
			;
	}
	CHECK(mine()->counters[NVS_COUNT_FAST] == fast + 128);
}

/* The list of modules as the keeper finds it from now on. */
static void publish(uint64_t adds, uint64_t subs)
{
	static struct nvs_module_view lists[2];
	static int turn;

	turn = !turn;
	lists[turn] = (struct nvs_module_view){.adds = adds, .subs = subs};
	nvs_modules_publish(&lists[turn]);
}

/* The table's state of the store of case I. */
static enum nvs_patch_state known(int i)
{
	for (int k = 0; k < NVS_MAX_SITES; k++) {
		const struct nvs_patch_site *s = &nvs_patch_sites()[k];

		if (s->state != NVS_PATCH_FREE && s->address == (uintptr_t)store_of(i))
			return s->state;
	}
	return NVS_PATCH_FREE;
}

/* Seen, unloaded, looked for, and loaded again at the same place: it is patched then. */
static void test_gone_and_back(int i)
{
	submit(i);
	publish(5, 1);
	gone = true;
	nvs_patch_pending_sites(text_of);
	CHECK(*store_of(i) != JUMP && !nvs_patch_pending());
	publish(6, 1);
	gone = false;
	CHECK(nvs_patch_pending());
	nvs_patch_pending_sites(text_of);
	CHECK(*store_of(i) == JUMP && known(i) == NVS_PATCH_DONE);
}

/* Something else came to lie at its place: nothing of what was seen there is made of it. */
static void test_other_code(int i)
{
	static const uint8_t other[] = {0x89, 0x0f}; /* mov %ecx, (%rdi) */

	submit(i);
	CHECK(known(i) == NVS_PATCH_SEEN);
	memcpy(store_of(i), other, sizeof(other));
	nvs_patch_pending_sites(text_of);
	CHECK(!memcmp(store_of(i), other, sizeof(other)) && known(i) == NVS_PATCH_FREE);
}

/* Its place in the table is free again when its module does not come back. */
static void test_gone(int i)
{
	submit(i);
	gone = true;
	nvs_patch_pending_sites(text_of);
	CHECK(known(i) == NVS_PATCH_SEEN);
	publish(6, 2);
	nvs_patch_pending_sites(text_of);
	CHECK(known(i) == NVS_PATCH_FREE);
	gone = false;
}

static bool may = true;

static bool may_patch(void)
{
	return may;
}

/* Whoever is asked gives no answer in time: the store is patched when he does. */
static void test_not_now(int i)
{
	submit(i);
	nvs_writer_signal.may_patch = may_patch;
	may = false;
	nvs_patch_pending_sites(text_of);
	CHECK(*store_of(i) != JUMP && known(i) == NVS_PATCH_SEEN && nvs_patch_pending());
	submit(i);
	may = true;
	nvs_patch_pending_sites(text_of);
	CHECK(*store_of(i) == JUMP && known(i) == NVS_PATCH_DONE && !nvs_patch_pending());
	submit(i);
}

static void *patch_sites(void *arg)
{
	nvs_patch_pending_sites(text_of);
	return NULL;
}

/* Run again and again while it is written, by a thread that has SIGTRAP blocked, as one that blocks
 * all. */
static void test_while_written(int i)
{
	sigset_t trap, before;
	pthread_t t;

	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	pthread_sigmask(SIG_BLOCK, &trap, &before);
	submit(i);
	pthread_create(&t, NULL, patch_sites, NULL);
	while (known(i) != NVS_PATCH_DONE && known(i) != NVS_PATCH_REFUSED)
		submit(i);
	pthread_join(t, NULL);
	submit(i);
	CHECK(*store_of(i) == JUMP && known(i) == NVS_PATCH_DONE);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- writes that fail, and what happens between two of them ---- */

/* A system call that has it as its sixth argument is let through. */
#define LET 0x6c6574

static int writes; /* of code, since set to 0: the cave, then the store's stop, tail, head */
static uint32_t failing; /* bit N: the Nth fails */
static void (*before)(int write); /* NULL: nothing happens */

static void on_sys(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	if (info->si_syscall == SYS_pwrite64) {
		writes++;
		if (before)
			before(writes);
	}
	if (failing >> writes & 1 &&
	    (info->si_syscall == SYS_pwrite64 || insn_argument(uc, 2) & PROT_WRITE))
		insn_set_result(uc, -EPERM);
	else
		insn_set_result(uc, nvs_syscall(info->si_syscall, insn_argument(uc, 0),
						insn_argument(uc, 1), insn_argument(uc, 2),
						insn_argument(uc, 3), 0, LET));
}

static void filter_writes(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LET, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	struct sigaction sys = {.sa_flags = SA_SIGINFO | SA_NODEFER, .sa_sigaction = on_sys};

	sigaction(SIGSYS, &sys, NULL);
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static const struct nvs_patch_site *site(int i)
{
	for (int k = 0; k < NVS_MAX_SITES; k++)
		if (nvs_patch_sites()[k].state != NVS_PATCH_FREE &&
		    nvs_patch_sites()[k].address == (uintptr_t)store_of(i))
			return &nvs_patch_sites()[k];
	return NULL;
}

/* The writes of FAIL fail: the store's two bytes are as they were, or it begins with a stop.
 */
static void test_failed_write(int i, uint32_t fail, bool stuck)
{
	static const uint8_t store[] = {0x89, 0x37};
	uint64_t fast;

	submit(i);
	writes = 0;
	failing = fail;
	nvs_patch_pending_sites(text_of);
	failing = 0;
	CHECK(known(i) == NVS_PATCH_REFUSED && site(i)->refusal == NVS_SITE_NO_WRITE);
	CHECK(stuck ? *store_of(i) == STOP : !memcmp(store_of(i), store, sizeof(store)));
	fast = mine()->counters[NVS_COUNT_FAST];
	submit(i);
	submit(i);
	CHECK(mine()->counters[NVS_COUNT_FAST] == fast + (stuck ? 2 : 0));
	/* Looked at again since another module came: it is the same site still. */
	publish(10 + i, 2);
	nvs_patch_pending_sites(text_of);
	CHECK(known(i) == NVS_PATCH_REFUSED);
	submit(i);
}

static int amid; /* the case whose store is run before each write */
static pid_t child;

static void run_amid(int write)
{
	submit(amid);
	if (write != 4)
		return;
	child = fork();
	if (child)
		return;
	/* The doorbell is ordinary memory for it, and nobody will finish the writing. */
	alarm(5);
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
	run_store(amid);
	_exit(failed ? 1 : 0);
}

static void test_between_writes(int i)
{
	int status;

	submit(i);
	writes = 0;
	amid = i;
	before = run_amid;
	nvs_patch_pending_sites(text_of);
	before = NULL;
	CHECK(*store_of(i) == JUMP && known(i) == NVS_PATCH_DONE);
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	submit(i);
}

int main(void)
{
	struct nvs_trap_options options = {.patch = true};

	CHECK(nvs_trap_init(&options) == 0);
	fake_rings(2, 65536);
	set_up();
	publish(4, 1);
	test_while_read(0, store_of(0) + 1 - CODE);
	test_while_read(1, store_of(1) + 1);
	test_gone_and_back(2);
	test_flags(2);
	test_other_code(3);
	test_gone(4);
	test_not_now(5);
	test_while_written(6);
	test_while_written(7);
	filter_writes();
	test_failed_write(8, 1 << 3, false);
	test_failed_write(9, 1 << 4, false);
	test_failed_write(10, ~0u << 3, true);
	test_between_writes(11);
	return test_result();
}
