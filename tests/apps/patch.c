/* SPDX-License-Identifier: MIT */
/*
 * patch CASE [ARGUMENT]: doorbell stores that may be patched, that must not be, that are patched
 * while threads run them, or that are unloaded and loaded again. Prints the result of each.
 * Software GPU only.
 *   refused   two stores that cannot be patched, and one that can
 *   running   8 threads in twelve stores, each patched while they run it, within ARGUMENT ms
 *   crammed   two stores, with no free address in reach of a jump from them
 *   reload    the store's library (ARGUMENT) is unloaded and loaded again, while others submit
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "app.h"
#include "insns.h"
#include "tests/softgpu/softgpu.h"

#define THREADS 8
#define SITES 12
#define LIMIT_MS 5000

static _Atomic int stop;
static CUcontext context;

/* ---- stores ---- */

INSN_STORE(good);
INSN_STORE(site0);
INSN_STORE(site1);
INSN_STORE(site2);
INSN_STORE(site3);
INSN_STORE(site4);
INSN_STORE(site5);
INSN_STORE(site6);
INSN_STORE(site7);
INSN_STORE(site8);
INSN_STORE(site9);
INSN_STORE(site10);
INSN_STORE(site11);

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
	for (int i = 0; i < limit_ms && !insn_is_jump(at); i++) {
		if (ch)
			softgpu_submit_count(ch);
		nap();
	}
	return insn_is_jump(at);
}

static void check(struct softgpu_channel *ch, uint32_t n)
{
	EXPECT(!softgpu_wait(ch, softgpu_payload(ch)), "channel died");
	EXPECT(softgpu_counted(ch) == n, "%u counted of %u", softgpu_counted(ch), n);
}

/* ---- cases ---- */

/* Two stores that are not patched. */
#define USE(first, second)                  \
	static const struct {               \
		softgpu_store store;        \
		const volatile uint8_t *at; \
		const char *name;           \
	} refused_stores[] = {{first, first##_at, #first}, {second, second##_at, #second}}
INSN_REFUSED(USE);

static void refused(const char *arg)
{
	struct softgpu_channel *ch = softgpu_channel_at(0);
	uint32_t n = 0;

	for (int i = 0; i < 2; i++) {
		uint8_t before[4];

		memcpy(before, (const void *)refused_stores[i].at, sizeof(before));
		softgpu_set_store(refused_stores[i].store);
		becomes_jump(refused_stores[i].at, ch, 400);
		EXPECT(!memcmp(before, (const void *)refused_stores[i].at, sizeof(before)),
		       "patched the store '%s'", refused_stores[i].name);
	}
	softgpu_set_store(good);
	EXPECT(becomes_jump(good_at, ch, LIMIT_MS), "the good one was not patched");
	for (int i = 0; i < 500; i++)
		n = softgpu_submit_count(ch);
	check(ch, n);
}

/* Takes the free addresses from FROM to TO that lie in reach of a jump from here. */
static void cram(uintptr_t from, uintptr_t to)
{
	uintptr_t here = (uintptr_t)good_at & -4096ul, low = here - INSN_REACH,
		  high = here + INSN_REACH;

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
