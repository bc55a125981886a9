/* SPDX-License-Identifier: MIT */
/*
 * The engine of one GPU: a thread that takes doorbells, fetches entries up to USERD's PUT and runs
 * segments.
 *
 * It consumes, with `eager`, up to PUT at any time; with `poison`, up to the PUT of the last
 * doorbell that the driver reported (so a tool that reads after the store finds overwritten data,
 * one that reads before it does not); else up to PUT at any doorbell, possibly before the channel's
 * own.
 *
 * A real GPU reads a channel's PUT when that channel's doorbell rings. Here a page holds one token,
 * and one of two simultaneous doorbells is lost, so any doorbell counts. With `own`, none counts
 * between a driver's PUT and its doorbell, since PUT may then be ahead of the lost doorbell.
 */
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "../softgpu.h"
#include "gpu.h"

#define USERD_GET (0x88 / 4)
#define USERD_PUT (0x8c / 4)
#define DOORBELL (0x90 / 4)
#define TIME (0x80 / 4)
#define SLICE 64 /* consecutive entries of one channel */
#define POISON 0xdeadd00d

struct sg_gpu sg_gpus[SG_MAX_GPUS] = {
	{.minor = 0, .lock = PTHREAD_MUTEX_INITIALIZER},
	{.minor = 1, .lock = PTHREAD_MUTEX_INITIALIZER},
	{.minor = 2, .lock = PTHREAD_MUTEX_INITIALIZER},
	{.minor = 3, .lock = PTHREAD_MUTEX_INITIALIZER},
};

void sg_gpu_lock(struct sg_gpu *g)
{
	__atomic_fetch_add(&g->wanted, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&g->lock);
	__atomic_fetch_sub(&g->wanted, 1, __ATOMIC_RELAXED);
}

void sg_gpu_unlock(struct sg_gpu *g)
{
	pthread_mutex_unlock(&g->lock);
}

void sg_channel_free(struct sg_channel *ch)
{
	struct sg_channel **p = &ch->gpu->channels;
	struct sg_log_channel *r = sg_log_begin(SG_LOG_CHANNEL_FREE, sizeof(*r), ch->gpu->minor);

	if (r) {
		r->serial = ch->serial;
		r->client = ch->client;
		r->handle = ch->handle;
		r->token = ch->token;
		r->entries = ch->entries;
		r->get = ch->get;
		r->put = ch->userd[USERD_PUT];
		sg_log_commit(r);
	}
	while (*p && *p != ch)
		p = &(*p)->next;
	if (*p)
		*p = ch->next;
	if (ch->gpu->waiting == ch)
		ch->gpu->waiting = NULL;
	ch->gpu->chids[(ch->token & 2047) / 32] &= ~(1u << ch->token % 32);
	sg_vaspace_put(ch->vaspace);
	sg_memory_put(ch->userd_memory);
	sg_memory_put(ch->notifier);
	free(ch->buf);
	free(ch);
}

/* ---- fetching ---- */

/* Hashes the segment as its driver wrote it: nvsnoop makes a launch's grid release a second time,
 * which the driver never does. */
static uint64_t hash_of(struct sg_channel *ch, uint32_t ndwords)
{
	uint32_t was[5], *w = NULL;
	uint64_t hash;

	for (uint32_t i = 0; i + 97 <= ndwords; i++)
		/* LOAD_INLINE_DATA [96] of a descriptor, by its version */
		if (ch->buf[i] == 0x6060206d && (ch->buf[i + 1 + 18] & 0xff) == 0x40 &&
		    ch->buf[i + 1 + 10] >> 16)
			w = ch->buf + i + 1;
	if (!w)
		return sg_hash(ch->buf, ndwords);
	was[4] = w[10];
	memcpy(was, w + 24, 16);
	w[10] &= 0xffff;
	memset(w + 24, 0, 16);
	hash = sg_hash(ch->buf, ndwords);
	w[10] = was[4];
	memcpy(w + 24, was, 16);
	return hash;
}

static void log_fetch(struct sg_channel *ch, uint32_t index, uint64_t entry, uint32_t ndwords)
{
	struct sg_log_fetch *r = sg_log_begin(SG_LOG_FETCH, sizeof(*r), ch->gpu->minor);

	if (!r)
		return;
	r->serial = ch->serial;
	r->index = index;
	r->entry = entry;
	r->bytes = ndwords * 4ull;
	r->hash = hash_of(ch, ndwords);
	sg_log_commit(r);
}

static void poison_segment(struct sg_channel *ch, uint64_t va, uint64_t n)
{
	uint64_t left;

	while (n) {
		uint8_t *p = sg_vaspace_find(ch->vaspace, va, &left);

		if (!p)
			return;
		left = left < n ? left : n;
		for (uint64_t i = 0; i + 4 <= left; i += 4)
			*(volatile uint32_t *)(p + i) = POISON;
		va += left;
		n -= left;
	}
}

/* Takes the entry at ch->get and copies its segment to ch->buf. */
static void fetch(struct sg_channel *ch)
{
	uint64_t entry, slot = ch->ring + ch->get * 8ull, va, poison = 0xdeadd00ddeadd00dull;
	uint32_t n;

	if (!sg_read(ch, slot, &entry, 8))
		return;
	n = (uint32_t)(entry >> 42) & 0x1fffff;
	ch->len = n;
	ch->pos = 0;
	if (n > ch->buf_room) {
		free(ch->buf);
		ch->buf_room = n < 4096 ? 4096 : n;
		ch->buf = malloc(ch->buf_room * 4);
	}
	va = ch->ext_base | (entry & 0xfffffffffcull);
	if (!n && (entry >> 32 & 0xff) == 4)
		ch->ext_base = (entry >> 8 & 0x1ffff) << 40;
	if (n && !sg_read(ch, va, ch->buf, n * 4ull))
		return;
	log_fetch(ch, ch->get, entry, n);
	if (sg_options.poison) {
		poison_segment(ch, va, n * 4ull);
		sg_write(ch, slot, &poison, 8);
	}
	ch->get = (ch->get + 1) & (ch->entries - 1);
	__atomic_fetch_add(&ch->fetches, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&ch->userd[USERD_GET], ch->get, __ATOMIC_RELEASE);
}

/* A ring that is not whole pages cannot be replaced: only its driver puts entries there. */
static bool takes_others(const struct sg_channel *ch)
{
	return sg_options.own && ch->entries * 8ull % 4096 == 0;
}

/* The PUT up to which CH may be consumed now. */
static uint32_t limit(struct sg_channel *ch, bool any_bell)
{
	uint32_t put = __atomic_load_n(&ch->userd[USERD_PUT], __ATOMIC_ACQUIRE) & (ch->entries - 1);
	uint32_t rung;

	if (sg_options.eager)
		return put;
	ch->bell |= any_bell;
	if (sg_options.poison) {
		rung = __atomic_load_n(&ch->rung, __ATOMIC_ACQUIRE); /* one past PUT */
		if (rung != SG_NO_GPU && !takes_others(ch))
			return rung & (ch->entries - 1);
		ch->held = rung != SG_NO_GPU && rung & SOFTGPU_RINGING;
		if (ch->held)
			return ch->get;
		ch->bell |= rung != ch->seen_rung;
		ch->seen_rung = rung;
	}
	return ch->bell ? put : ch->get;
}

/* Returns true if anything was done. */
static bool run_channel(struct sg_channel *ch, bool any_bell)
{
	uint32_t end = limit(ch, any_bell);
	bool did = ch->grid && sg_idle(ch);

	/* A kernel that ran longer than its segment: nothing else would end the channel. */
	if (ch->due && !ch->dead && ch->pos >= ch->len)
		sg_end_group(ch, ch->due, 0);
	if (sg_engine_waits(ch))
		return did;
	for (int i = 0; i < SLICE && !ch->dead && ch->scheduled; i++) {
		if (ch->pos < ch->len) {
			uint32_t before = ch->pos;
			bool more = sg_execute(ch);

			did |= ch->pos != before;
			if (!more)
				return did;
		}
		if (ch->get == end) {
			ch->bell &= ch->held;
			return did;
		}
		fetch(ch);
		did = true;
	}
	return did;
}

/* ---- doorbells ---- */

static bool take_bells(struct sg_gpu *g)
{
	bool any = false;

	for (uint32_t i = 0; i < g->nbells; i++) {
		uint32_t *page = g->bells[i] ? (uint32_t *)g->bells[i]->map : NULL;
		struct sg_channel *ch;
		uint32_t token;

		if (!page || !__atomic_load_n(&page[DOORBELL], __ATOMIC_RELAXED))
			continue;
		token = __atomic_exchange_n(&page[DOORBELL], 0, __ATOMIC_ACQ_REL);
		any = true;
		for (ch = g->channels; ch && ch->token != token; ch = ch->next)
			;
		if (ch)
			__atomic_fetch_add(&ch->bells, 1, __ATOMIC_RELAXED);
		else
			g->bells_other++;
	}
	return any;
}

/* TIME_0 and TIME_1. */
static void show_clock(struct sg_gpu *g)
{
	for (uint32_t i = 0; i < g->nbells; i++) {
		uint32_t *page = g->bells[i] ? (uint32_t *)g->bells[i]->map : NULL;

		if (!page || g->bar1 >> i & 1)
			continue;
		__atomic_store_n(&page[TIME], (uint32_t)sg_clock(g) & ~31u, __ATOMIC_RELAXED);
		__atomic_store_n(&page[TIME + 1], (uint32_t)(sg_clock(g) >> 32), __ATOMIC_RELEASE);
	}
}

static bool work(struct sg_gpu *g)
{
	bool did = false, any;

	pthread_mutex_lock(&g->lock);
	any = take_bells(g);
	for (struct sg_channel *ch = g->channels; ch; ch = ch->next)
		did |= run_channel(ch, any);
	if (sg_options.clock && sg_options.time)
		show_clock(g);
	pthread_mutex_unlock(&g->lock);
	return did | any;
}

/* Idle: polls soon, then less and less often. */
static void rest(struct sg_gpu *g, uint32_t idle)
{
	uint64_t ns;

	if (sg_options.eager && idle < 20000) {
		nvs_pause();
		return;
	}
	if (idle < 200) {
		nvs_pause();
		if (idle > 50)
			sched_yield();
		return;
	}
	ns = 50000ull << (idle - 200 > 5 ? 5 : idle - 200);
	__atomic_store_n(&g->kick, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&g->asleep, 1, __ATOMIC_SEQ_CST);
	sg_futex_wait(&g->kick, 0, g->channels ? ns : 20000000);
	__atomic_store_n(&g->asleep, 0, __ATOMIC_SEQ_CST);
}

static void *engine(void *arg)
{
	struct sg_gpu *g = arg;
	uint32_t idle = 0;

	for (;;) {
		if (work(g))
			idle = 0;
		else
			rest(g, idle++);
		if (__atomic_load_n(&g->wanted, __ATOMIC_RELAXED))
			sched_yield();
	}
	return NULL;
}

static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/*
 * Creates the thread with libc's own function, so that the hooks of a library before this one do
 * not see it. ThreadSanitizer must see it, because its allocator fails in threads it does not know.
 * Looked up at the start, since a test may open the GPU while another thread holds the loader's
 * lock.
 */
__attribute__((constructor)) static void find_create(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	if (dlsym(RTLD_DEFAULT, "__tsan_init"))
		create = pthread_create;
	else
		create = (__typeof__(create))dlsym(libc ? libc : RTLD_NEXT, "pthread_create");
}

void sg_gpu_start(struct sg_gpu *g)
{
	pthread_attr_t attr;
	sigset_t all, old;

	if (g->started)
		return;
	if (!create)
		find_create();
	g->started = true;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	sg_sys(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&old, 8, 0, 0);
	create(&g->thread, &attr, engine, g);
	sg_sys(SYS_rt_sigprocmask, SIG_SETMASK, (long)&old, 0, 8, 0, 0);
	pthread_attr_destroy(&attr);
}

void sg_gpu_forget(void)
{
	for (uint32_t i = 0; i < SG_MAX_GPUS; i++) {
		sg_gpus[i].started = false;
		sg_gpus[i].channels = NULL;
		sg_gpus[i].nbells = 0;
		memset(sg_gpus[i].chids, 0, sizeof(sg_gpus[i].chids));
		memset(sg_gpus[i].tasks, 0, sizeof(sg_gpus[i].tasks));
	}
}
