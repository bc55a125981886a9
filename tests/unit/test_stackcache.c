/* SPDX-License-Identifier: MIT */
/* LINK: trap -lunwind */
/*
 * Cached stacks: every match equals a new unwinding, over random call chains and over stacks that
 * are made to look like others.
 *
 * A "store" is an instruction that traps; the handler has the registers as the doorbell's trap has
 * them.
 */
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include "tests/unit/fakering.h"
#include "tests/unit/stack_shapes.h"
#include "trap/arch/context.h"
#include "trap/stack/stackcache.h"
#include "trap/buffer/process.h"

#define SEED 20240517u
#define CHAINS 100000u
#define MAX_STACKS 65536u

/* ---- what the handler sees ---- */

struct store {
	uintptr_t pc, sp, fp, lr;
	void **pcs;
	uint32_t n;
	uint32_t id; /* of these pcs, by a table of the test's own */
	uint32_t before, after; /* what matched before and after learning */
};

static struct store last;
static bool learning = true;
static void (*look)(struct store *);
static uint64_t matches, wrong, learned, refused;

struct known_pcs {
	uint32_t n;
	void **pcs;
};
static struct known_pcs stacks[MAX_STACKS];
static uint32_t nstacks;

static uint32_t number_of(void **pcs, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++)
		h = (h ^ (uintptr_t)pcs[i]) * 0x9e3779b97f4a7c15ull;
	for (h >>= 40;; h++) {
		struct known_pcs *k = &stacks[h % MAX_STACKS];

		if (!k->n) {
			k->n = n;
			k->pcs = memcpy(malloc(n * sizeof(*pcs)), pcs, n * sizeof(*pcs));
			nstacks++;
			return (uint32_t)(h % MAX_STACKS);
		}
		if (k->n == n && !memcmp(k->pcs, pcs, n * sizeof(*pcs)))
			return (uint32_t)(h % MAX_STACKS);
	}
}

static void learn(struct store *s)
{
	struct nvs_buffer *ring = nvs_buffer_own();

	s->before = nvs_stackcache_match(ring, s->pc, s->sp, s->fp, s->lr);
	if (learning)
		nvs_stackcache_add(ring, s->pc, s->sp, s->fp, s->lr, s->pcs, s->n, s->id);
	s->after = nvs_stackcache_match(ring, s->pc, s->sp, s->fp, s->lr);
	matches += s->before != NVS_NONE;
	learned += s->before == NVS_NONE && s->after != NVS_NONE;
	refused += s->after == NVS_NONE;
	if (s->before != NVS_NONE && s->before != s->id)
		wrong++;
	if (s->after != NVS_NONE && s->after != s->id)
		wrong++;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
	static __thread void *pcs[256];
	int n, own = 0;

	last = (struct store){.pc = nvs_context_pc(m),
			      .sp = nvs_context_sp(m),
			      .fp = nvs_context_fp(m),
			      .lr = nvs_context_lr(m)};
	n = backtrace_signal(pcs, 256);
	for (int i = 0; i < n; i++)
		pcs[i] = (void *)nvs_strip_return((uintptr_t)pcs[i]);
	while (own < n && (uintptr_t)pcs[own] != last.pc)
		own++;
	last.pcs = pcs + own;
	last.n = (uint32_t)(n - own);
	if (last.n) {
		last.id = number_of(last.pcs, last.n);
		learn(&last);
		if (look)
			look(&last);
	} else {
		printf("unwinding lost the store itself\n");
		failed++;
	}
	nvs_context_set_pc(m, nvs_context_pc(m) + STORE_BYTES);
}

static void on_segv(int sig, siginfo_t *info, void *context)
{
	if (!nvs_trap_segv(info, context))
		_exit(3);
}

/* ---- random chains ---- */

static uint32_t random_state = SEED;

static uint32_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

static void random_chain(struct step *steps)
{
	uint32_t depth = next_random() % 4 ? next_random() % 5 : next_random() % 30;
	bool same = next_random() % 4 == 0; /* recursion */

	for (uint32_t i = 0; i <= depth; i++) {
		steps[i].fn = same && i ? steps[0].fn : shapes[next_random() % NSHAPES];
		steps[i].size = 16u << next_random() % 5;
	}
	steps[depth].fn = stores[next_random() % NSTORES];
}

static void run_chains(uint32_t chains)
{
	enum { POOL = 512 };
	static __thread struct step pool[POOL][32];

	for (uint32_t i = 0; i < POOL; i++)
		random_chain(pool[i]);
	for (uint32_t i = 0; i < chains; i++) {
		struct step *steps = pool[next_random() % POOL];

		if (next_random() % 8 == 0)
			random_chain(steps); /* new ones come all the time */
		else if (next_random() % 8 == 0)
			steps[0].size = 16u << next_random() % 5;
		run(steps);
	}
}

static void test_random(void)
{
	matches = wrong = learned = refused = 0;
	run_chains(CHAINS);
	printf("seed %u: %u stores, %u different stacks; %lu matched (%.1f %%), %lu learned, %lu "
	       "not learnable, "
	       "%lu wrong\n",
	       SEED, CHAINS, nstacks, (long)matches, 100.0 * (double)matches / CHAINS,
	       (long)learned, (long)refused, (long)wrong);
	CHECK(!wrong);
	CHECK(matches > CHAINS / 2);
	CHECK(learned > 1000);
	CHECK(refused < CHAINS / 100);
}

static void *other_thread(void *arg)
{
	matches = wrong = learned = refused = 0;
	run_chains(5000);
	CHECK(!wrong && matches > 1000 && refused < 50);
	printf("another thread: %lu matched, %lu learned, %lu not learnable, %lu wrong\n",
	       (long)matches, (long)learned, (long)refused, (long)wrong);
	return NULL;
}

static void test_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, other_thread, NULL);
	pthread_join(thread, NULL);
}

/* ---- a stack made to look like another ---- */

#define IMAGE 4096u

static uint8_t image[IMAGE], *area;
static uintptr_t learned_rsp, learned_area;
static void *learned_caller;
static bool looked_alike;

static void take_image(struct store *s)
{
	learned_rsp = s->sp;
	learned_caller = s->pcs[1];
	learned_area = (uintptr_t)area;
	memcpy(image, (void *)s->sp, IMAGE);
}

static void compare_image(struct store *s)
{
	size_t from = learned_area - learned_rsp;

	looked_alike = (uintptr_t)area - s->sp == from &&
		       !memcmp(area, image + from, IMAGE - from) && s->pcs[1] == learned_caller;
}

/* With COPY the room holds the whole outer stack as it was at the store that was learned. */
SHAPE void forge(size_t size, bool copy, step_fn store)
{
	struct chain c = {.at = &(struct step){.size = 16} + 1};

	area = alloca(size);
	/* Without a branch, or the compiler makes two calls of the store. */
	memcpy(area, image + (learned_area - learned_rsp),
	       copy ? IMAGE - (learned_area - learned_rsp) : 0);
	KEEP(area);
	store(&c);
	KEEP(area);
}

SHAPE void honest_caller(step_fn store)
{
	uint8_t room[64];

	KEEP(room);
	forge(64, false, store);
	KEEP(room);
}

SHAPE void forging_caller(step_fn store)
{
	uint8_t room[IMAGE];

	KEEP(room);
	forge(2 * IMAGE, true, store);
	KEEP(room);
}

/* The same stack again and again comes from one call in a loop. */
static void test_forged(step_fn store)
{
	void (*const callers[])(step_fn) = {honest_caller, forging_caller, honest_caller};
	uint8_t above[2 * IMAGE]; /* so that an image never ends behind the stack */
	uint32_t honest = 0;

	KEEP(above);
	learning = true;
	looked_alike = false;
	for (volatile int i = 0; i < 3; i++) {
		look = i ? compare_image : take_image;
		callers[i](store);
		if (i == 0) {
			honest = last.id;
			CHECK(last.after == honest);
			learning = false;
		} else if (i == 1) {
			/* Every word at its place but one: FP less SP. */
			CHECK(looked_alike);
			CHECK(last.id != honest && last.before == NVS_NONE);
		} else {
			CHECK(last.id == honest && last.before == honest);
		}
	}
	learning = true;
	look = NULL;
}

/* ---- moved and broken stacks ---- */

static uintptr_t moved_to;
static uint32_t moved_id;
static uint32_t cut_wrong, cut_tried;

/* The same words elsewhere are the same stack, where none of them is an address of the stack
 * itself. */
static void move(struct store *s)
{
	struct nvs_buffer *ring = nvs_buffer_own();
	uint8_t *page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	size_t bytes = 0;

	/* As much as can be read. */
	while (bytes < (1 << 19) && !nvs_copy_guarded(page + bytes, (void *)(s->sp + bytes), 4096))
		bytes += 4096;
	moved_to = (uintptr_t)page;
	moved_id = nvs_stackcache_match(ring, s->pc, moved_to, s->fp, s->lr);
	/* A stack that ends too soon: no slot is read behind it in vain. */
	munmap(page + (1 << 19), 1 << 19);
	for (size_t cut = 8; cut < bytes; cut += cut < 1024 ? 8 : 512) {
		uint8_t *at = page + (1 << 19) - cut;
		uint32_t id;

		memcpy(at, (void *)s->sp, cut);
		id = nvs_stackcache_match(ring, s->pc, (uintptr_t)at, s->fp, s->lr);
		cut_tried++;
		cut_wrong += id != NVS_NONE && id != s->id;
	}
	CHECK(nvs_stackcache_match(ring, s->pc, moved_to + (1 << 20), s->fp, s->lr) == NVS_NONE);
	munmap(page, 1 << 19);
}

/* Each word that is checked matters: spoiled, the stack is not known any more. */
static uint32_t unnoticed;

static void spoil(struct store *s)
{
	struct nvs_buffer *ring = nvs_buffer_own();
	uint8_t *page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	size_t bytes = 0;

	while (bytes < (1 << 19) && !nvs_copy_guarded(page + bytes, (void *)(s->sp + bytes), 4096))
		bytes += 4096;
	CHECK(nvs_stackcache_match(ring, s->pc, (uintptr_t)page, s->fp, s->lr) == s->id);
	for (uint32_t i = 1; i < s->n; i++) {
		bool noticed = false;

		/* Old copies of the address may lie about; one word is the living one. */
		for (uint64_t *word = (void *)page; word < (uint64_t *)(void *)(page + bytes);
		     word++) {
			if (*word != (uintptr_t)s->pcs[i])
				continue;
			*word ^= 1;
			noticed |= nvs_stackcache_match(ring, s->pc, (uintptr_t)page, s->fp,
							s->lr) == NVS_NONE;
			*word ^= 1;
		}
		unnoticed += !noticed;
	}
	CHECK(nvs_stackcache_match(ring, s->pc + 1, (uintptr_t)page, s->fp, s->lr) == NVS_NONE);
	munmap(page, 1 << 20);
}

static void *plain_thread(void *arg)
{
	static const struct step plain[] = {{shape_small, 0}, {shape_middle, 0},
					    {shape_large, 0}, {shape_registers, 0},
					    {shape_small, 0}, {store_room, 0}};

	for (volatile int i = 0; i < 3; i++) {
		look = i == 1 ? move : i == 2 && moved_id == last.id ? spoil : NULL;
		run(plain);
		CHECK(i == 0 || last.before == last.id);
	}
	look = NULL;
	/* Where the thread's entry is compiled with a frame pointer its stack is known only in its
	 * place. */
	CHECK(moved_id == last.id || moved_id == NVS_NONE);
	printf("moved: %s; %u cut stacks, %u wrong\n", moved_id == last.id ? "known" : "not known",
	       cut_tried, cut_wrong);
	CHECK(cut_tried > 100 && !cut_wrong);
	CHECK(!unnoticed);
	return NULL;
}

static void test_moved(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, plain_thread, NULL);
	pthread_join(thread, NULL);
}

/* ---- what cannot be learned ---- */

static void on_usr1(int sig)
{
	static const struct step steps[] = {{shape_small, 0}, {store_leaf, 0}};

	run(steps);
}

static void test_signal_frame(void)
{
	signal(SIGUSR1, on_usr1);
	for (int i = 0; i < 3; i++) {
		raise(SIGUSR1);
		CHECK(last.n > 3 && last.before == NVS_NONE && last.after == NVS_NONE);
	}
}

/* Code without rules, with and without a frame pointer. */
static void test_code_without_rules(void)
{
	static const uint8_t bare[] = CALL_BARE, framed[] = CALL_FRAMED;
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*call)(struct chain *, step_fn) = (void (*)(struct chain *, step_fn))(uintptr_t)code;
	struct step steps[1] = {{NULL, 16}};
	struct chain c = {.at = steps + 1};

	for (int form = 0; form < 2; form++) {
		memcpy(code, form ? framed : bare, form ? sizeof(framed) : sizeof(bare));
		__builtin___clear_cache((char *)code, (char *)code + 64);
		for (int i = 0; i < 3; i++) {
			call(&c, store_leaf);
			CHECK(last.n >= 2 && last.before == NVS_NONE && last.after == NVS_NONE);
		}
	}
}

/* ---- a call that is the last instruction of its function: it returns to the next one ---- */

static jmp_buf back;

SHAPE __attribute__((noreturn)) void never_returns(struct chain *c)
{
	call_next(c);
	longjmp(back, 1);
}

SHAPE __attribute__((noreturn)) void ends_with_call(struct chain *c)
{
	uint8_t room[200];

	KEEP(room);
	never_returns(c);
}

SHAPE void call_end(struct chain *c)
{
	ends_with_call(c);
}

static void test_last_call(void)
{
	static const struct step steps[] = {{store_leaf, 0}};

	for (volatile int i = 0; i < 2; i++) {
		struct chain c = {.at = steps};

		if (!setjmp(back))
			call_end(&c);
		CHECK(last.n > 4 && last.after == last.id);
		CHECK(i == 0 || last.before == last.id);
	}
}

/* ---- depth ---- */

static void run_deep(uint32_t depth)
{
	static struct step steps[600];

	for (uint32_t i = 0; i < depth; i++)
		steps[i] = (struct step){i & 1 ? shape_small : shape_untouched, 32};
	steps[depth] = (struct step){store_leaf, 0};
	run(steps);
}

static void test_depth(void)
{
	static const uint32_t cut[] = {400, 500, 90};
	uint32_t ids[40];

	for (volatile uint32_t i = 0; i < 80; i++) {
		uint32_t depth = i < 40 ? i : 79 - i;

		run_deep(depth);
		if (i < 40)
			ids[depth] = last.id;
		CHECK(last.id == ids[depth] && last.after == last.id);
		CHECK(i < 40 || last.before == last.id);
	}
	/* Cut by the unwinder: its frames are known, and so is whatever is cut to the same. */
	for (volatile int i = 0; i < 3; i++) {
		run_deep(cut[i]);
		ids[i] = last.id;
		CHECK(last.after == last.id);
		CHECK(i == 2 || last.n >= NVS_STACKCACHE_CUT);
		CHECK(i != 1 || last.before == last.id);
	}
	CHECK(ids[0] == ids[1] && ids[2] != ids[0]);
}

/* ---- for how long it holds ---- */

static struct dl_phdr_info infos[64];
static struct nvs_module_view views[2];

static int add_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	if (views[0].nmodules < 64)
		infos[views[0].nmodules++] = *info;
	return 0;
}

static void run_one(void)
{
	static const struct step steps[] = {{shape_framed, 0}, {shape_small, 0}, {store_leaf, 0}};

	run(steps);
}

static int in_child(void)
{
	/* Everything of the trap is wiped; it begins anew. */
	struct nvs_trap_options options = {.backtrace = true};

	if (nvs_trap_init(&options))
		return 10;
	fake_rings(4, 1 << 16);
	nvs_modules_publish(&views[0]);
	for (volatile int i = 0; i < 2; i++) {
		run_one();
		if (last.before != (i ? last.id : NVS_NONE) || last.after != last.id)
			return 11 + i;
	}
	return 0;
}

static void learn_for_all(struct store *s)
{
	for (uint32_t i = 0; i < nvs_buffer_count(); i++)
		nvs_stackcache_add(nvs_buffer_at(i), s->pc, s->sp, s->fp, s->lr, s->pcs, s->n,
				   s->id);
}

static void test_life(void)
{
	struct nvs_buffer *ring = nvs_buffer_own();
	int status = 0;
	pid_t child;

	views[1] = views[0];
	views[1].subs++;
	for (volatile int i = 0; i < 8; i++) {
		if (i == 2)
			ring->shared->generation++; /* another owner */
		if (i == 4)
			nvs_modules_publish(&views[1]); /* something was unloaded */
		look = i == 5 ? learn_for_all
			      : NULL; /* so that the child meets a ring with a tree */
		if (i == 6) {
			fflush(stdout);
			child = fork();
			if (!child)
				_exit(in_child());
			waitpid(child, &status, 0);
			CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		}
		run_one();
		CHECK(last.after == last.id);
		/* New at first, and again after each event but the fork. */
		CHECK(last.before == (i == 0 || i == 2 || i == 4 ? NVS_NONE : last.id));
	}
}

/* More stacks than there is room for: old ones are forgotten, none is mistaken. */
static void test_full(void)
{
	struct step steps[16];

	matches = wrong = learned = refused = 0;
	for (uint32_t i = 0; i < 8000; i++) {
		for (uint32_t k = 0; k < 15; k++)
			steps[k] = (struct step){shapes[next_random() % NSHAPES], 16};
		steps[15] = (struct step){store_leaf, 0};
		run(steps);
	}
	CHECK(!wrong && learned > 7900 && !refused);
	for (volatile int i = 0; i < 2; i++)
		run_one();
	CHECK(last.before == last.id);
}

/* ---- cost ---- */

static double match_ns, unwind_ns;

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void measure(struct store *s)
{
	struct nvs_buffer *ring = nvs_buffer_own();
	enum { ROUNDS = 1000000 };
	void *pcs[256];
	double start = now_ns();
	uint32_t id = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		id |= nvs_stackcache_match(ring, s->pc, s->sp, s->fp, s->lr);
		KEEP(id);
	}
	match_ns = (now_ns() - start) / ROUNDS;
	start = now_ns();
	for (uint32_t i = 0; i < ROUNDS / 20; i++)
		backtrace_signal(pcs, 256);
	unwind_ns = (now_ns() - start) / (ROUNDS / 20);
}

static void bench(const char *what, step_fn shape)
{
	struct nvs_buffer *ring = nvs_buffer_own();
	struct step steps[64] = {{NULL, 0}};
	double among = 0;

	run_chains(3000);
	for (uint32_t i = 0; i < 20; i++)
		steps[i] = (struct step){shape ? shape : shapes[i % NSHAPES], 32};
	steps[20] = (struct step){store_leaf, 0};
	for (volatile int i = 0; i < 4; i++) {
		if (i == 2) {
			among = match_ns;
			ring->shared->generation++;
		}
		look = i & 1 ? measure : NULL;
		run(steps);
	}
	look = NULL;
	printf("%s: a stack of %u frames is matched in %.1f ns, among many others in %.1f ns; "
	       "unwound anew in %.0f ns\n",
	       what, last.n, match_ns, among, unwind_ns);
	CHECK(last.before == last.id);
}

int main(void)
{
	struct nvs_trap_options options = {.backtrace = true};
	struct sigaction ill = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
	struct sigaction segv = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_NODEFER};

	if (nvs_trap_init(&options))
		return 1;
	fake_rings(4, 1 << 16);
	dl_iterate_phdr(add_module, NULL);
	views[0].modules = infos;
	nvs_modules_publish(&views[0]);
	sigaction(SIGILL, &ill, NULL);
	sigaction(SIGSEGV, &segv, NULL);
	test_random();
	test_thread();
	test_forged(store_leaf);
	test_forged(store_no_fp);
	test_moved();
	test_signal_frame();
	test_code_without_rules();
	test_last_call();
	test_depth();
	test_life();
	test_full();
	bench("SP-based", shape_small);
	bench("FP-based", shape_framed);
	bench("mixed", NULL);
	return test_result();
}
