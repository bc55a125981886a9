/* SPDX-License-Identifier: MIT */
/*
 * churn MASK ROUNDS [PLUGIN]: three threads submit continuously while other threads, selected by
 * the bits of MASK:
 *    1  create and free channels, whose tokens and handles are reused immediately
 *    2  map, protect and unmap doorbell pages, and ring doorbells there
 *    4  replace doorbell pages by other mappings with MAP_FIXED
 *    8  create and destroy contexts
 *   16  dlopen and dlclose libraries
 *
 * Software GPU only.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include "app.h"
#include "insns.h"
#include "tests/softgpu/softgpu.h"

#define SUBMITTERS 3
#define PAGE_OF(doorbell) ((void *)((uintptr_t)(doorbell) & ~0xffful))

static _Atomic int stop;
static CUcontext context;
static long rounds;
static const char *plugin;

/* A thread may ring at a page of its own. */
static __thread volatile uint32_t *own_page;

static void store(volatile void *address, uint32_t token)
{
	volatile uint32_t *to = own_page ? own_page : address;

	insn_ring(to, token);
}

static void check(struct softgpu_channel *ch, uint32_t n)
{
	EXPECT(!softgpu_wait(ch, softgpu_payload(ch)), "channel died");
	EXPECT(softgpu_counted(ch) == n, "%u counted of %u", softgpu_counted(ch), n);
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

static void *churn_channels(void *arg)
{
	CK(cuCtxSetCurrent(context));
	for (long i = 0; i < rounds; i++) {
		struct softgpu_channel *ch = softgpu_channel_create(i & 1, i & 2 ? 512 : 64, i & 4);
		uint32_t n = 0;

		EXPECT(ch, "no channel in round %ld", i);
		for (int k = 0; k < 10; k++)
			n = softgpu_submit_count(ch);
		check(ch, n);
		softgpu_channel_destroy(ch);
	}
	return NULL;
}

static void ring_some(struct softgpu_channel *ch, uint32_t *n)
{
	for (int k = 0; k < 5; k++)
		*n = softgpu_submit_count(ch);
	check(ch, *n);
}

static void *churn_pages(void *arg)
{
	struct softgpu_channel *ch;
	uint32_t n = 0;

	CK(cuCtxSetCurrent(context));
	ch = softgpu_channel_at(4);
	for (long i = 0; i < rounds; i++) {
		volatile uint32_t *page = softgpu_map_doorbell(i & 1, false);

		EXPECT(page, "no page in round %ld", i);
		own_page = page;
		ring_some(ch, &n);
		EXPECT(!mprotect(PAGE_OF(page), 0x10000, PROT_READ), "mprotect");
		EXPECT(!mprotect(PAGE_OF(page), 0x10000, PROT_READ | PROT_WRITE), "mprotect");
		ring_some(ch, &n);
		own_page = NULL;
		ring_some(ch, &n);
		/* Gone behind the driver's back; something of ours keeps the place, which the
		 * driver unmaps once more. */
		if (i & 1) {
			void *base = PAGE_OF(page);

			EXPECT(!munmap(base, 0x10000), "munmap");
			if (mmap(base, 0x10000, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != base)
				continue; /* another thread's by now: not to be touched again */
		}
		softgpu_unmap_doorbell(page);
	}
	return NULL;
}

static void *churn_over(void *arg)
{
	struct softgpu_channel *ch;
	uint32_t n = 0;

	CK(cuCtxSetCurrent(context));
	ch = softgpu_channel_at(5);
	for (long i = 0; i < rounds; i++) {
		volatile uint32_t *page = softgpu_map_doorbell(i & 1, false);
		uint8_t *base = PAGE_OF(page);

		own_page = page;
		ring_some(ch, &n);
		own_page = NULL;
		/* All of it, or the part with the register, or only what is behind it. */
		EXPECT(mmap(base + (i % 3 == 2 ? 0x1000 : 0), i % 3 == 1 ? 0x1000 : 0xf000,
			    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			    0) != MAP_FAILED,
		       "mmap");
		if (i % 3 < 2) {
			*page = 0x5555; /* the program's own memory now: nobody's doorbell */
			EXPECT(*page == 0x5555, "the program's own store got lost");
		} else {
			own_page = page;
			ring_some(ch, &n);
			own_page = NULL;
		}
		base[0x2000] = 1;
		softgpu_unmap_doorbell(page);
	}
	return NULL;
}

static void *churn_contexts(void *arg)
{
	CUdevice d;

	CK(cuDeviceGet(&d, 0));
	for (long i = 0; i < (rounds + 9) / 10; i++) {
		CUcontext c;
		uint32_t n = 0;

		CK(cuCtxCreate_v2(&c, 0, d));
		for (int k = 0; k < 20; k++)
			n = softgpu_submit_count(softgpu_channel_at(1));
		check(softgpu_channel_at(1), n);
		CK(cuCtxDestroy_v2(c));
	}
	return NULL;
}

static void *churn_loads(void *arg)
{
	for (long i = 0; i < rounds; i++) {
		void *handle = dlopen(plugin, RTLD_NOW);

		EXPECT(handle, "%s", dlerror());
		dlclose(handle);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const churns[])(void *) = {churn_channels, churn_pages, churn_over,
						  churn_contexts, churn_loads};
	pthread_t submitters[SUBMITTERS], threads[5];
	long mask = argc > 1 ? atol(argv[1]) : 15;

	rounds = argc > 2 ? atol(argv[2]) : 50;
	plugin = argc > 3 ? argv[3] : NULL;
	context = app_context(0);
	softgpu_set_store(store);
	for (long i = 0; i < SUBMITTERS; i++)
		pthread_create(&submitters[i], NULL, submit, (void *)i);
	for (int i = 0; i < 5; i++)
		if (mask >> i & 1)
			pthread_create(&threads[i], NULL, churns[i], NULL);
	for (int i = 0; i < 5; i++)
		if (mask >> i & 1)
			pthread_join(threads[i], NULL);
	stop = 1;
	for (int i = 0; i < SUBMITTERS; i++)
		pthread_join(submitters[i], NULL);
	puts("churn ok");
	return 0;
}
