/* SPDX-License-Identifier: MIT */
/*
 * The GPU's own time of what channels submit (trap/copy/gpfifo_timing.h): memory for it, by
 * channels that can reach it, and given up before it goes; what was not timed and why; the GPUs'
 * clocks.
 *
 * A GPU may write where its channel's own GPFIFO is mapped too: in the same address space, and, of
 * the one that UVM keeps for the process, for the same GPU.
 */
#include <string.h>
#include "preload/base/sys.h"
#include "preload/rm/rm.h"
#include "trap/copy/shadow.h"
#include "trap/copy/gpfifo_timing.h"

#define PAGE 4096u
#define DOORBELL 0x90
#define USERMODE_TIME 0x80
#define CHUNKS (NVS_TIMING_POOL_BYTES / NVS_TIMING_BYTES)
#define NAP_NS 50000
#define STEPS 20 /* towards a shadow's end, of a GPU that has nothing to do */
#define END_TRIES 2000 /* naps, 100 ms: it would fault at what it has not done yet */
#define DRAIN_TRIES 1000
#define LAST_TRIES 20 /* for times of what the GPU has taken */
#define CLOCK_READS 8

bool nvs_load32_guarded(const volatile uint32_t *from, uint32_t *value); /* trap/low/guard.S */

/* Memory of ours that a GPU sees. */
struct nvs_timing_pool {
	struct nvs_timing_pool *next;
	uint32_t gpu, client, handle; /* the object by which it is mapped; handle 0: none now */
	uint8_t *cpu;
	uint64_t address;
	uint64_t used; /* a bit a chunk */
	bool gone; /* or about to go: no more chunks of it */
};
_Static_assert(CHUNKS <= 64, "a bit a chunk");

static void nap(void)
{
	struct timespec ts = {0, NAP_NS};

	nvs_sys(SYS_nanosleep, (long)&ts, 0, 0, 0, 0, 0);
}

/* The last one made: the driver rings by it (on an H200 the one on BAR1). */
static struct nvs_timing_bell bell_of(const struct nvs_channel_entry *c)
{
	const struct nvs_spans *all = &nvs_rm()->cpu;
	const struct nvs_cpu_map *last = NULL;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct nvs_cpu_map *m = (const struct nvs_cpu_map *)all->at[i];

		if (nvs_map_is_doorbell(m) && m->gpu == c->object->gpu && m->alias &&
		    (!last || m->number > last->number))
			last = m;
	}
	return (struct nvs_timing_bell){last ? (volatile uint32_t *)(last->alias + DOORBELL) : NULL,
					c->token};
}

/* ---- a channel's timing ---- */

/* NV2080_ENGINE_TYPE_COPY0 to 9; of others it is not known whether what they do comes to an end. */
static bool is_copy_engine(uint32_t engine)
{
	return engine >= 9 && engine <= 18;
}

void nvs_timing_begin(struct nvs_channel_entry *c, struct nvs_shadow *sh)
{
	uint32_t kind = nvs_options()->values.timing;
	struct nvs_timing *t;

	/* Its shadow would have to be given back, which takes as long as the GPU, when another
	 * channel comes to the page. */
	c->userd_shared = c->userd_offset % PAGE != 0;
	t = kind && !c->userd_shared ? nvs_alloc(nvs_timing_size(c->entries)) : NULL;
	if (!t)
		return;
	nvs_timing_init(t, kind, is_copy_engine(c->engine), c->number, c->entries,
			(const volatile uint64_t *)sh->pieces[0].program, c->slot->claim);
	sh->timing = t;
}

void nvs_timing_free(struct nvs_shadow *sh)
{
	if (sh->timing)
		nvs_free(sh->timing, nvs_timing_size(sh->timing->entries));
	sh->timing = NULL;
}

/* Submissions whose times have not come. */
static uint64_t missing(const struct nvs_timing *t)
{
	uint64_t n = 0;

	for (uint32_t i = 0; t->slots && i < NVS_TIMING_SLOTS; i++)
		n += nvs_timing_waits(&t->uses[i]) && t->uses[i].kind != NVS_TIMING_EMPTY;
	return n;
}

static void leave_pool(struct nvs_channel_entry *c, struct nvs_timing *t)
{
	uint64_t lost;

	/* What the GPU may still write to stays nobody's. */
	if (c->pool && !nvs_timing_harvest(t))
		c->pool->used &= ~(1ull << c->chunk);
	lost = c->pool ? missing(t) : 0;
	t->timed -= lost;
	t->untimed[NVS_UNTIMED_ENDING] += lost;
	c->pool = NULL;
}

/* Its counts, before the shadow that had them goes. */
static void keep_counts(struct nvs_channel_entry *c, struct nvs_timing *t)
{
	for (uint32_t i = 0; i < NVS_UNTIMED_REASONS; i++)
		c->untimed[i] += t->untimed[i];
	c->timed += t->timed;
	memset(t->untimed, 0, sizeof(t->untimed));
	t->timed = 0;
}

void nvs_timing_gone(struct nvs_channel_entry *c)
{
	struct nvs_timing *t = c->shadow->timing;

	if (!t)
		return;
	nvs_timing_forget(c->shadow);
	leave_pool(c, t);
	keep_counts(c, t);
}

bool nvs_timing_step(struct nvs_channel_entry *c)
{
	struct nvs_timing_bell bell = bell_of(c);

	return nvs_timing_settle(c->shadow, &bell);
}

static void wait_for_times(struct nvs_timing *t)
{
	for (uint32_t i = 0; nvs_timing_harvest(t) && i < LAST_TRIES; i++)
		nap();
}

void nvs_timing_ring(const struct nvs_channel_entry *c)
{
	struct nvs_timing_bell bell = bell_of(c);

	if (bell.doorbell)
		*bell.doorbell = bell.token;
}

bool nvs_timing_end(struct nvs_channel_entry *c)
{
	struct nvs_timing *t = c->shadow->timing;

	if (!t)
		return true;
	for (uint32_t i = 0; !nvs_timing_step(c); i++) {
		if (i == STEPS)
			return false;
		nap();
	}
	wait_for_times(t);
	leave_pool(c, t);
	t->slots = NULL;
	keep_counts(c, t);
	return true;
}

void nvs_timing_drain(struct nvs_channel_entry *c)
{
	struct nvs_timing_bell bell = bell_of(c);

	for (uint32_t i = 0; nvs_timing_turn(c->shadow, &bell) && i < DRAIN_TRIES; i++)
		nap();
	for (uint32_t i = 0; !nvs_timing_caught_up(c->shadow) && i < LAST_TRIES; i++)
		nap();
	wait_for_times(c->shadow->timing);
}

static void tell(const struct nvs_channel_entry *c, uint32_t reason, uint64_t submissions)
{
	struct nvs_rec_untimed rec = {
		.rec = {.type = NVS_REC_UNTIMED, .size = sizeof(rec)},
		.channel = c->number,
		.reason = reason,
		.submissions = submissions,
	};

	nvs_record(&rec.rec);
}

void nvs_timing_tell(const struct nvs_channel_entry *c)
{
	const struct nvs_timing *t = c->shadow ? c->shadow->timing : NULL;
	uint64_t all = c->slot ? c->slot->claim >> NVS_PUT_BITS : 0, told = c->timed, lost;

	if (!nvs_options()->values.timing || !all)
		return;
	lost = t && c->pool ? missing(t) : 0;
	told += c->untimed[0] + (t ? t->timed - lost + t->untimed[0] : 0);
	for (uint32_t i = 1; i < NVS_UNTIMED_REASONS; i++) {
		uint64_t n = c->untimed[i] + (t ? t->untimed[i] : 0);

		n += i == NVS_UNTIMED_ENDING ? lost : 0;
		told += n;
		/* Where no memory ever came, that is why it was too early. */
		if (n)
			tell(c,
			     i == NVS_UNTIMED_EARLY && !nvs_rm()->pools ? NVS_UNTIMED_NO_MEMORY : i,
			     n);
	}
	if (!t && all > told)
		tell(c, c->userd_shared ? NVS_UNTIMED_SHARED : NVS_UNTIMED_NO_SHADOW, all - told);
}

/* ---- memory ---- */

/* The channel's GPFIFO and the pool are mapped in one address space. */
static bool reaches(const struct nvs_channel_entry *c, const struct nvs_timing_pool *p)
{
	const struct nvs_segs *segs = &nvs_rm()->segs;
	uint32_t space = NVS_NONE;

	if (p->gpu != c->object->gpu ||
	    (p->address >> 40 && c->object->object_class < HOPPER_CHANNEL_GPFIFO_A))
		return false;
	for (uint32_t i = 0; i < segs->n; i++) {
		const struct nvs_seg *s = &segs->at[i];

		if ((!s->vaspace || s->vaspace == c->vaspace) && c->gpfifo - s->gpu_va < s->size)
			space = s->vaspace;
	}
	for (uint32_t i = 0; i < segs->n && space != NVS_NONE; i++) {
		const struct nvs_seg *s = &segs->at[i];

		if (s->vaspace == space && p->address >= s->gpu_va &&
		    p->address + NVS_TIMING_POOL_BYTES <= s->gpu_va + s->size &&
		    s->cpu + (p->address - s->gpu_va) == (uintptr_t)p->cpu)
			return true;
	}
	return false;
}

static bool may_have(const struct nvs_channel_entry *c)
{
	return c->shadow && c->shadow->timing && !c->pool && !c->hidden &&
	       !c->shadow->timing->walk.lost;
}

static void arm(struct nvs_channel_entry *c)
{
	for (struct nvs_timing_pool *p = nvs_rm()->pools; p; p = p->next) {
		uint32_t chunk = (uint32_t)__builtin_ctzll(~p->used);
		uint64_t at = chunk * NVS_TIMING_BYTES;

		if (p->gone || !~p->used || chunk >= CHUNKS || !reaches(c, p))
			continue;
		if (!nvs_timing_arm(c->shadow, (struct nvs_timing_slot *)(void *)(p->cpu + at),
				    p->address + at))
			return;
		p->used |= 1ull << chunk;
		c->pool = p;
		c->chunk = chunk;
		return;
	}
}

void nvs_timing_arm_one(struct nvs_channel_entry *c)
{
	if (may_have(c))
		arm(c);
}

static void arm_all(void)
{
	struct nvs_channel_entry *c;

	DL_FOREACH(nvs_rm()->channels, c)
	nvs_timing_arm_one(c);
}

static void find_object(struct nvs_timing_pool *p)
{
	NVS_SPANS_EACH(&nvs_rm()->cpu, i, (uintptr_t)p->cpu, (uintptr_t)p->cpu + 1)
	{
		const struct nvs_cpu_map *m = (struct nvs_cpu_map *)nvs_rm()->cpu.at[i];

		p->client = m->client;
		p->handle = m->handle;
	}
}

void nvs_rm_timing_memory(uint32_t gpu, void *cpu, uint64_t address)
{
	struct nvs_timing_pool *p;
	sigset_t saved;

	nvs_lock(&saved);
	p = nvs_alloc(sizeof(*p));
	if (p) {
		*p = (struct nvs_timing_pool){
			.next = nvs_rm()->pools, .gpu = gpu, .cpu = cpu, .address = address};
		find_object(p);
		nvs_rm()->pools = p;
		arm_all();
	}
	nvs_unlock(&saved);
}

bool nvs_rm_timing_wants(uint32_t gpu)
{
	struct nvs_channel_entry *c;
	bool wants = false;
	sigset_t saved;

	nvs_lock(&saved);
	arm_all();
	DL_FOREACH(nvs_rm()->channels, c)
	wants |= may_have(c) && c->object->gpu == gpu;
	nvs_unlock(&saved);
	return wants;
}

/* The GPU has fetched all of ours, and written what they say. */
static bool is_through(struct nvs_channel_entry *c)
{
	return nvs_timing_step(c) && !nvs_timing_harvest(c->shadow->timing);
}

static void goes(struct nvs_timing_pool *p)
{
	struct nvs_channel_entry *c;
	uint32_t tries = 0; /* for all of them: a GPU that is stuck holds all up */

	p->gone = true;
	DL_FOREACH(nvs_rm()->channels, c)
	{
		while (c->pool == p && c->shadow && tries < END_TRIES && !is_through(c)) {
			tries++;
			nap();
		}
		if (c->pool == p && c->shadow)
			nvs_timing_end(c);
	}
}

void nvs_timing_memory_goes(uint64_t start, uint64_t end)
{
	for (struct nvs_timing_pool *p = nvs_rm()->pools; p; p = p->next)
		if (!p->gone && p->address < end && start < p->address + NVS_TIMING_POOL_BYTES)
			goes(p);
}

void nvs_timing_object_goes(const struct nvs_object *o)
{
	for (struct nvs_timing_pool *p = nvs_rm()->pools; p; p = p->next) {
		const struct nvs_object *up = nvs_object_find(p->client, p->handle);

		while (up && up != o)
			up = up->up;
		if (up && !p->gone)
			goes(p);
	}
}

static bool is_used(const struct nvs_timing_pool *p)
{
	struct nvs_channel_entry *c;

	DL_FOREACH(nvs_rm()->channels, c)
	if (c->pool == p)
		return true;
	return false;
}

/* No GPU sees it any more, and no channel's times are read from it. */
static bool is_spare(struct nvs_timing_pool *p)
{
	if (p->gone && !nvs_object_find(p->client, p->handle))
		p->handle = 0;
	return p->gone && !p->handle && !is_used(p);
}

/* A checkpoint takes all objects away; when it is restored the same memory is pinned again. */
static void revive_pools(void)
{
	bool any = false;

	for (struct nvs_timing_pool *p = nvs_rm()->pools; p; p = p->next) {
		if (!is_spare(p))
			continue;
		find_object(p);
		if (!p->handle)
			continue;
		p->gone = false;
		p->used = 0;
		any = true;
	}
	if (any)
		arm_all();
}

void *nvs_rm_timing_spare(void)
{
	struct nvs_timing_pool **at, *p;
	void *cpu = NULL;
	sigset_t saved;

	nvs_lock(&saved);
	revive_pools();
	for (at = &nvs_rm()->pools; (p = *at) && !is_spare(p);)
		at = &p->next;
	if (p) {
		cpu = p->cpu;
		*at = p->next;
		nvs_free(p, sizeof(*p));
	}
	nvs_unlock(&saved);
	return cpu;
}

/* ---- now and then ---- */

bool nvs_rm_timing_round(bool read)
{
	struct nvs_channel_entry *c;
	bool behind = false;
	sigset_t saved;

	nvs_lock(&saved);
	DL_FOREACH(nvs_rm()->channels, c)
	{
		struct nvs_timing_bell bell;

		if (!c->shadow || !c->shadow->timing || c->hidden)
			continue;
		bell = bell_of(c);
		behind |= nvs_timing_turn(c->shadow, &bell);
		if (read)
			nvs_timing_harvest(c->shadow->timing);
	}
	if (read)
		revive_pools();
	nvs_unlock(&saved);
	return behind;
}

/* The one reading of TIME, of several, that lies between the nearest two of the session's clock. */
static bool read_clock(const volatile uint32_t *time, struct nvs_rec_gpu_clock *best)
{
	best->after = UINT64_MAX;
	best->before = 0;
	for (int i = 0; i < CLOCK_READS; i++) {
		uint32_t high, low, again;
		uint64_t before, after;

		/* Through BAR1 it reads as zero. */
		if (!nvs_load32_guarded(time + 1, &high) || !high)
			return false;
		before = nvs_now();
		if (!nvs_load32_guarded(time, &low))
			return false;
		after = nvs_now();
		/* The lower word comes around every 4.3 s. */
		if (!nvs_load32_guarded(time + 1, &again) || again != high ||
		    after - before >= best->after - best->before)
			continue;
		best->before = before;
		best->after = after;
		best->ns = (uint64_t)high << 32 | low;
	}
	return best->after != UINT64_MAX;
}

bool nvs_rm_timing_clocks(void)
{
	const struct nvs_spans *all;
	uint64_t done = 0;
	sigset_t saved;

	if (!nvs_options()->values.timing)
		return false;
	nvs_lock(&saved);
	all = &nvs_rm()->cpu;
	for (uint32_t i = 0; i < all->n; i++) {
		const struct nvs_cpu_map *m = (const struct nvs_cpu_map *)all->at[i];
		struct nvs_rec_gpu_clock rec = {
			.rec = {.type = NVS_REC_GPU_CLOCK, .size = sizeof(rec)}, .gpu = m->gpu};

		if (!nvs_map_is_doorbell(m) || !m->alias || m->gpu >= 64 || done >> m->gpu & 1 ||
		    !read_clock((const volatile uint32_t *)(m->alias + USERMODE_TIME), &rec))
			continue;
		done |= 1ull << m->gpu;
		nvs_record(&rec.rec);
	}
	nvs_unlock(&saved);
	return done;
}
