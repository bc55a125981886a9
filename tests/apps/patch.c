/* SPDX-License-Identifier: MIT */
/*
 * patch CASE [ARGUMENT]: doorbell stores that may be patched, that must not be, that are patched
 * while threads run them, or that are unloaded and loaded again. Prints the result of each.
 * Software GPU only.
 *   refused   a jump into the store; no padding near it; and one store that can be patched
 *   running   8 threads in twelve stores, each patched while they run it, within ARGUMENT ms
 *   crammed   two stores, with no free address within 2 GiB of them
 *   reload    the store's library (ARGUMENT) is unloaded and loaded again, while others submit
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "app.h"
#include "tests/softgpu/softgpu.h"

#define THREADS 8
#define SITES 12
#define JUMP 0xeb
#define LIMIT_MS 5000

static _Atomic int stop;
static CUcontext context;

/* ---- stores ---- */

#define STORE(name, before, between)                                            \
	void name(volatile void *address, uint32_t token);                      \
	extern const volatile uint8_t name##_at[];                              \
	__asm__("	.text\n	.globl " #name "\n	.type " #name           \
		", @function\n	.p2align 4\n" #name ":\n"                       \
		"	.cfi_startproc\n	sfence\n" before #name "_at:\n" \
		"	.byte 0x89, 0x37\n" /* mov %esi, (%rdi) */              \
		between "	ret\n	.cfi_endproc\n	.size " #name ", . - " #name "\n")

/* As the driver's: a jump, and padding behind it that never runs. */
#define PADDED                                                                    \
	"	jmp 1f\n	.byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n	.p2align " \
	"4\n1:\n"

STORE(good, "", PADDED);
/* Never taken, but who knows: into the second byte. */
STORE(entered, "	test %rdi, %rdi\n	jne 2f\n	jmp entered_at + 1\n2:\n", PADDED);
/* Nothing but code as far as a short jump reaches. */
STORE(crowded, "	.rept 60\n	add $1, %eax\n	.endr\n",
      "	.rept 60\n	add $1, %eax\n	.endr\n");
STORE(site0, "", PADDED);
STORE(site1, "", PADDED);
STORE(site2, "", PADDED);
STORE(site3, "", PADDED);
STORE(site4, "", PADDED);
STORE(site5, "", PADDED);
STORE(site6, "", PADDED);
STORE(site7, "", PADDED);
STORE(site8, "", PADDED);
STORE(site9, "", PADDED);
STORE(site10, "", PADDED);
STORE(site11, "", PADDED);

static const struct {
	softgpu_store store;
	const volatile uint8_t *at;
} sites[SITES] = {{site0, site0_at}, {site1, site1_at}, {site2, site2_at},   {site3, site3_at},
		  {site4, site4_at}, {site5, site5_at}, {site6, site6_at},   {site7, site7_at},
		  {site8, site8_at}, {site9, site9_at}, {site10, site10_at}, {site11, site11_at}};

static void nap(void)
{
	struct timespec ts = {0, 1000000};

	nanosleep(&ts, NULL);
}

/* Submits with the store until it is a jump, for a while at most. */
static bool becomes_jump(const volatile uint8_t *at, struct softgpu_channel *ch, int limit_ms)
{
	for (int i = 0; i < limit_ms && *at != JUMP; i++) {
		if (ch)
			softgpu_submit_count(ch);
		nap();
	}
	return *at == JUMP;
}

static void check(struct softgpu_channel *ch, uint32_t n)
{
	EXPECT(!softgpu_wait(ch, softgpu_payload(ch)), "channel died");
	EXPECT(softgpu_counted(ch) == n, "%u counted of %u", softgpu_counted(ch), n);
}

/* ---- cases ---- */

static void refused(const char *arg)
{
	struct softgpu_channel *ch = softgpu_channel_at(0);
	uint32_t n = 0;

	softgpu_set_store(entered);
	EXPECT(!becomes_jump(entered_at, ch, 400), "patched a store that is jumped into");
	softgpu_set_store(crowded);
	EXPECT(!becomes_jump(crowded_at, ch, 400), "patched a store without a cave");
	EXPECT(entered_at[0] == 0x89 && entered_at[1] == 0x37 && crowded_at[0] == 0x89 &&
		       crowded_at[1] == 0x37,
	       "the stores were changed");
	softgpu_set_store(good);
	EXPECT(becomes_jump(good_at, ch, LIMIT_MS), "the good one was not patched");
	for (int i = 0; i < 500; i++)
		n = softgpu_submit_count(ch);
	check(ch, n);
}

/* Takes the free addresses from FROM to TO that lie within 2 GiB of here. */
static void cram(uintptr_t from, uintptr_t to)
{
	uintptr_t here = (uintptr_t)good_at & -4096ul, low = here - (2ul << 30),
		  high = here + (2ul << 30);

	from = from < low ? low : from;
	to = to > high ? high : to;
	if (from < to)
		EXPECT(mmap((void *)from, to - from, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			    0) == (void *)from,
		       "cannot map %#lx-%#lx", from, to);
}

/* As large libraries do that are loaded before the driver. */
static void cram_all(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uintptr_t from, to, last = 65536;
	char line[4096];
	/* Mapped when all has been read: what stdio maps for itself comes first. */
	static struct {
		uintptr_t from, to;
	} gaps[4096];
	int n = 0;

	while (fgets(line, sizeof(line), maps) && n < 4095) {
		EXPECT(sscanf(line, "%lx-%lx", &from, &to) == 2, "%s", line);
		gaps[n].from = last;
		gaps[n++].to = from;
		last = to;
	}
	fclose(maps);
	for (int i = 0; i < n; i++)
		if (gaps[i].from < gaps[i].to)
			cram(gaps[i].from, gaps[i].to);
}

static void crammed(const char *arg)
{
	struct softgpu_channel *ch = softgpu_channel_at(0);
	uint32_t n = 0;

	cram_all();
	softgpu_set_store(good);
	EXPECT(becomes_jump(good_at, ch, LIMIT_MS), "it was not patched");
	softgpu_set_store(site0);
	EXPECT(becomes_jump(site0_at, ch, LIMIT_MS), "the second was not patched");
	for (int i = 0; i < 500; i++) {
		softgpu_set_store(i % 2 ? good : site0);
		n = softgpu_submit_count(ch);
	}
	check(ch, n);
}

static void *submit(void *arg)
{
	struct softgpu_channel *ch;
	uint32_t n = 0;

	CK(cuCtxSetCurrent(context));
	ch = softgpu_channel_at((uint32_t)(uintptr_t)arg);
	do
		n = softgpu_submit_count(ch);
	while (!stop);
	check(ch, n);
	return NULL;
}

static void start(pthread_t *t, int n)
{
	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, submit, (void *)(uintptr_t)i);
}

static void end(pthread_t *t, int n)
{
	stop = 1;
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

static void running(const char *arg)
{
	pthread_t t[THREADS];

	softgpu_set_store(sites[0].store);
	start(t, THREADS);
	for (int i = 0; i < SITES; i++) {
		softgpu_set_store(sites[i].store);
		EXPECT(becomes_jump(sites[i].at, NULL, arg ? atoi(arg) : LIMIT_MS),
		       "store %d was not patched", i);
	}
	end(t, THREADS);
}

static void reload(const char *library)
{
	struct softgpu_channel *ch;
	pthread_t t[3];
	uint32_t n = 0;

	start(t, 3);
	ch = softgpu_channel_at(5);
	for (int i = 0; i < 8; i++) {
		void *handle = dlopen(library, RTLD_NOW), *symbol;
		const volatile uint8_t *(*bytes)(void);
		softgpu_store store;

		EXPECT(handle, "%s", dlerror());
		symbol = dlsym(handle, "plugin_store");
		memcpy(&store, &symbol, sizeof(store));
		symbol = dlsym(handle, "plugin_store_bytes");
		memcpy(&bytes, &symbol, sizeof(bytes));
		softgpu_set_store(store);
		/* Every other time it goes again before anything could be done to it. */
		if (i % 2 == 0)
			EXPECT(becomes_jump(bytes(), ch, LIMIT_MS), "not patched at load %d", i);
		for (int k = 0; k < 20; k++)
			n = softgpu_submit_count(ch);
		check(ch, n);
		softgpu_set_store(NULL);
		/* The others may still be in it: until each has submitted anew. */
		for (uint32_t c = 0; c < 3; c++) {
			uint32_t seen = softgpu_payload(softgpu_channel_at(c));

			while (softgpu_payload(softgpu_channel_at(c)) - seen < 3)
				nap();
		}
		dlclose(handle);
		EXPECT(!dlopen(library, RTLD_NOW | RTLD_NOLOAD), "it is still loaded");
	}
	end(t, 3);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(const char *);
	} cases[] = {{"refused", refused},
		     {"running", running},
		     {"crammed", crammed},
		     {"reload", reload}};

	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(argv[1], cases[i].name))
			continue;
		context = app_context(0);
		cases[i].run(argc > 2 ? argv[2] : NULL);
		printf("patch ok\n");
		return 0;
	}
	fprintf(stderr, "patch: no such case\n");
	return 2;
}
