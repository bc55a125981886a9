/* SPDX-License-Identifier: MIT */
/*
 * GPU timestamps around submissions (trap/copy/gpfifo_timing.h): gives their memory to channels
 * that can reach it and takes it back before its mapping goes; counts submissions without
 * timestamps by reason; reads the GPUs' clocks. A GPU can write where its channel's own GPFIFO is
 * mapped too, that is in the same address space; in UVM's process-wide address space, for the same
 * GPU.
 */
#include <string.h>
#include "preload/base/sys.h"
#include "preload/rm/rm.h"
#include "trap/arch/cpu.h"
#include "trap/copy/shadow.h"
#include "trap/copy/gpfifo_timing.h"
#include "trap/low/guard.h"

#define DOORBELL 0x90
#define USERMODE_TIME 0x80
#define CHUNKS (NVS_TIMING_POOL_BYTES / NVS_TIMING_BYTES)
#define NAP_NS 50000
#define STEPS 20 /* tries to end a shadow while the GPU is idle */
#define END_TRIES 2000 /* naps, 100 ms: the GPU would fault on entries it has not done yet */
#define DRAIN_TRIES 1000
#define LAST_TRIES 20 /* for timestamps of entries that the GPU has fetched */
#define CLOCK_READS 8

/* Memory of the library that is mapped for a GPU. */
struct nvs_timing_pool {
	struct nvs_timing_pool *next;
	uint32_t gpu, client,
		handle; /* the object through which it is mapped; handle 0: none now */
	uint8_t *cpu;
	uint64_t address;
	uint64_t used; /* bit N: chunk N */
	bool gone; /* its mapping is going away or has gone: assign no more chunks */
};
_Static_assert(CHUNKS <= 64, "a bit a chunk");

/* The most recent doorbell mapping: the driver uses that one to ring (on an H200 the one in BAR1).
 *  */
static struct nvs_timing_bell find_bell(const struct nvs_channel_entry *c)
{
	const struct nvs_cpu_map *m, *last = NULL;

	NVS_SPANS_ALL(&nvs_rm()->cpu, m)
	if (nvs_map_is_doorbell(m) && m->gpu == c->object->gpu && m->alias &&
	    (!last || m->number > last->number))
		last = m;
	return (struct nvs_timing_bell){last ? (volatile uint32_t *)(last->alias + DOORBELL) : NULL,
					c->token};
}

/* ---- timing of one channel ---- */

/* NV2080_ENGINE_TYPE_COPY0 to 9. Work on other engines may never end. */
static bool is_copy_engine(uint32_t engine)
{
	return engine >= 9 && engine <= 18;
}

#define PACE_NS 1000000 /* a drawn submission and the one before it cost some 0.2 % of this */

struct nvs_timing_sink *(*nvs_timing_sink_new)(uint32_t gpu, bool copies);

static void begin_sampling(struct nvs_gpfifo_timing *t)
{
	uint32_t every = nvs_options()->values.sample;
	uint64_t start;
	double rate = nvs_session_clock_rate(&start);

	nvs_gpfifo_timing_sample(t, every == NVS_SAMPLE_ADAPTIVE ? 0 : every,
				 (uint32_t)(PACE_NS * rate), start);
}

void nvs_timing_begin(struct nvs_channel_entry *c, struct nvs_shadow *sh)
{
	uint32_t kind = nvs_options()->values.timing;
	struct nvs_gpfifo_timing *t;

	/* When another channel gets a USERD in this page, the shadow would have to be given back,
	 * which can take as long as the GPU's work. */
	c->userd_shared = nvs_page_offset(c->userd_offset) != 0;
	/* Without GP_GET nothing tells when the ring has room for more entries. */
	t = kind && !c->userd_shared && nvs_class_has_get(c->object->object_class)
		    ? nvs_alloc(nvs_gpfifo_timing_size(c->entries))
		    : NULL;
	if (!t)
		return;
	nvs_gpfifo_timing_init(t, kind, is_copy_engine(c->engine), c->number, c->entries,
			       (const volatile uint64_t *)sh->pieces[0].program, c->slot->claim);
	if (nvs_options()->values.sample)
		begin_sampling(t);
	if (nvs_timing_sink_new)
		t->sink = nvs_timing_sink_new(c->object->gpu, t->finite);
	sh->timing = t;
}

void nvs_bracket_times_free(struct nvs_shadow *sh)
{
	if (sh->timing && sh->timing->sink)
		sh->timing->sink->free(sh->timing->sink);
	if (sh->timing)
		nvs_free(sh->timing, nvs_gpfifo_timing_size(sh->timing->entries));
	sh->timing = NULL;
}

/* Counts submissions whose timestamps are still missing. */
static uint64_t count_missing(const struct nvs_gpfifo_timing *t)
{
	uint64_t n = 0;

	for (uint32_t i = 0; t->slots && i < NVS_TIMING_SLOTS; i++)
		n += nvs_timing_is_unread(&t->uses[i]) && t->uses[i].kind != NVS_TIMING_EMPTY;
	return n;
}

static void leave_pool(struct nvs_channel_entry *c, struct nvs_gpfifo_timing *t)
{
	uint64_t lost;

	/* A chunk that the GPU may still write to is never reused. */
	if (c->pool && !nvs_gpu_times_collect(t))
		c->pool->used &= ~(1ull << c->chunk);
	lost = c->pool ? count_missing(t) : 0;
	t->timed -= lost;
	t->untimed[NVS_UNTIMED_ENDING] += lost;
	c->pool = NULL;
}

/* Saves the counts of a shadow that is about to go. */
static void keep_counts(struct nvs_channel_entry *c, struct nvs_gpfifo_timing *t)
{
	for (uint32_t i = 0; i < NVS_UNTIMED_REASONS; i++)
		c->untimed[i] += t->untimed[i];
	c->timed += t->timed;
	memset(t->untimed, 0, sizeof(t->untimed));
	t->timed = 0;
}

void nvs_timing_drop(struct nvs_channel_entry *c)
{
	struct nvs_gpfifo_timing *t = c->shadow->timing;

	if (!t)
		return;
	nvs_gpfifo_drop(c->shadow);
	leave_pool(c, t);
	keep_counts(c, t);
}

bool nvs_timing_step(struct nvs_channel_entry *c)
{
	struct nvs_timing_bell bell = find_bell(c);

	return nvs_gpfifo_realign(c->shadow, &bell);
}

static void wait_for_times(struct nvs_gpfifo_timing *t)
{
	for (uint32_t i = 0; nvs_gpu_times_collect(t) && i < LAST_TRIES; i++)
		nvs_sleep(NAP_NS);
}

void nvs_timing_ring(const struct nvs_channel_entry *c)
{
	struct nvs_timing_bell bell = find_bell(c);

	if (bell.doorbell)
		*bell.doorbell = bell.token;
}

bool nvs_timing_end_channel(struct nvs_channel_entry *c)
{
	struct nvs_gpfifo_timing *t = c->shadow->timing;

	if (!t)
		return true;
	for (uint32_t i = 0; !nvs_timing_step(c); i++) {
		if (i == STEPS)
			return false;
		nvs_sleep(NAP_NS);
	}
	wait_for_times(t);
	leave_pool(c, t);
	t->slots = NULL;
	keep_counts(c, t);
	return true;
}

void nvs_timing_drain(struct nvs_channel_entry *c)
{
	struct nvs_timing_bell bell = find_bell(c);

	for (uint32_t i = 0; nvs_gpfifo_advance(c->shadow, &bell) && i < DRAIN_TRIES; i++)
		nvs_sleep(NAP_NS);
	for (uint32_t i = 0; !nvs_gpfifo_is_drained(c->shadow) && i < LAST_TRIES; i++)
		nvs_sleep(NAP_NS);
	wait_for_times(c->shadow->timing);
}

static void record_untimed(const struct nvs_channel_entry *c, uint32_t reason, uint64_t submissions)
{
	struct nvs_rec_untimed rec = {
		.rec = {.type = NVS_REC_UNTIMED, .size = sizeof(rec)},
		.channel = c->number,
		.reason = reason,
		.submissions = submissions,
	};

	nvs_record_write(&rec.rec);
}

void nvs_timing_record_untimed(const struct nvs_channel_entry *c)
{
	const struct nvs_gpfifo_timing *t = c->shadow ? c->shadow->timing : NULL;
	uint64_t all = c->slot ? c->slot->claim >> NVS_PUT_BITS : 0, counted = c->timed, lost;

	if (!nvs_options()->values.timing || !all)
		return;
	lost = t && c->pool ? count_missing(t) : 0;
	counted += c->untimed[0] + (t ? t->timed - lost + t->untimed[0] : 0);
	for (uint32_t i = 1; i < NVS_UNTIMED_REASONS; i++) {
		uint64_t n = c->untimed[i] + (t ? t->untimed[i] : 0);

		n += i == NVS_UNTIMED_ENDING ? lost : 0;
		counted += n;
		/* If no memory ever came, that was the reason, rather than an early submission. */
		if (n)
			record_untimed(c,
				       i == NVS_UNTIMED_EARLY && !nvs_rm()->pools
					       ? NVS_UNTIMED_NO_MEMORY
					       : i,
				       n);
	}
	if (!t && all > counted)
		record_untimed(c,
			       !nvs_class_has_get(c->object->object_class) ? NVS_UNTIMED_NO_GET
			       : c->userd_shared			   ? NVS_UNTIMED_SHARED
									   : NVS_UNTIMED_NO_SHADOW,
			       all - counted);
}

/* ---- memory ---- */

/* True if the channel's GPFIFO and the pool are mapped in the same address space. */
static bool can_reach(const struct nvs_channel_entry *c, const struct nvs_timing_pool *p)
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

static bool needs_memory(const struct nvs_channel_entry *c)
{
	return c->shadow && c->shadow->timing && !c->pool && !c->hidden &&
	       !c->shadow->timing->walk.lost;
}

static void enable_channel(struct nvs_channel_entry *c)
{
	for (struct nvs_timing_pool *p = nvs_rm()->pools; p; p = p->next) {
		uint32_t chunk = (uint32_t)__builtin_ctzll(~p->used);
		uint64_t at = chunk * NVS_TIMING_BYTES;

		if (p->gone || !~p->used || chunk >= CHUNKS || !can_reach(c, p))
			continue;
		if (!nvs_gpfifo_timing_enable(c->shadow,
					      (struct nvs_timing_slot *)(void *)(p->cpu + at),
					      p->address + at))
			return;
		p->used |= 1ull << chunk;
		c->pool = p;
		c->chunk = chunk;
		return;
	}
}

void nvs_timing_add_memory(struct nvs_channel_entry *c)
{
	if (needs_memory(c))
		enable_channel(c);
}

static void enable_all(void)
{
	struct nvs_channel_entry *c;

	DL_FOREACH(nvs_rm()->channels, c)
	nvs_timing_add_memory(c);
}

static void find_object(struct nvs_timing_pool *p)
{
	const struct nvs_cpu_map *m;

	NVS_SPANS_EACH(&nvs_rm()->cpu, m, (uintptr_t)p->cpu, (uintptr_t)p->cpu + 1)
	{
		p->client = m->client;
		p->handle = m->handle;
	}
}

void nvs_rm_timing_add_memory(uint32_t gpu, void *cpu, uint64_t address)
{
	struct nvs_timing_pool *p;

	NVS_LOCK_SCOPE();
	p = nvs_alloc(sizeof(*p));
	if (p) {
		*p = (struct nvs_timing_pool){
			.next = nvs_rm()->pools, .gpu = gpu, .cpu = cpu, .address = address};
		find_object(p);
		nvs_rm()->pools = p;
		enable_all();
	}
}

bool nvs_rm_timing_needs_memory(uint32_t gpu)
{
	struct nvs_channel_entry *c;
	bool wants = false;

	NVS_LOCK_SCOPE();
	DL_FOREACH(nvs_rm()->channels, c)
	{
		nvs_timing_add_memory(c);
		wants |= needs_memory(c) && c->object->gpu == gpu;
	}
	return wants;
}

/* True if the GPU has fetched all timing entries and has written their timestamps. */
static bool is_through(struct nvs_channel_entry *c)
{
	return nvs_timing_step(c) && !nvs_gpu_times_collect(c->shadow->timing);
}

static void retire_pool(struct nvs_timing_pool *p)
{
	struct nvs_channel_entry *c;
	uint32_t tries = 0; /* limit for all channels together: a hung GPU stalls every one */

	p->gone = true;
	DL_FOREACH(nvs_rm()->channels, c)
	{
		while (c->pool == p && c->shadow && tries < END_TRIES && !is_through(c)) {
			tries++;
			nvs_sleep(NAP_NS);
		}
		if (c->pool == p && c->shadow)
			nvs_timing_end_channel(c);
	}
}

void nvs_timing_retire_memory(uint64_t start, uint64_t end)
{
	for (struct nvs_timing_pool *p = nvs_rm()->pools; p; p = p->next)
		if (!p->gone && p->address < end && start < p->address + NVS_TIMING_POOL_BYTES)
			retire_pool(p);
}

void nvs_timing_retire_object(const struct nvs_driver_object *o)
{
	for (struct nvs_timing_pool *p = nvs_rm()->pools; p; p = p->next) {
		const struct nvs_driver_object *up = nvs_object_find(p->client, p->handle);

		while (up && up != o)
			up = up->up;
		if (up && !p->gone)
			retire_pool(p);
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

/* True if no GPU maps the pool and no channel reads timestamps from it. */
static bool is_spare(struct nvs_timing_pool *p)
{
	if (p->gone && !nvs_object_find(p->client, p->handle))
		p->handle = 0;
	return p->gone && !p->handle && !is_used(p);
}

/* A checkpoint frees all objects; restoring it pins the same memory again. */
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
		enable_all();
}

void *nvs_rm_timing_take_spare(void)
{
	struct nvs_timing_pool **at, *p;
	void *cpu = NULL;

	NVS_LOCK_SCOPE();
	revive_pools();
	for (at = &nvs_rm()->pools; (p = *at) && !is_spare(p);)
		at = &p->next;
	if (p) {
		cpu = p->cpu;
		*at = p->next;
		nvs_free(p, sizeof(*p));
	}
	return cpu;
}

/* ---- periodic work ---- */

bool nvs_rm_timing_poll(bool read)
{
	struct nvs_channel_entry *c;
	bool behind = false;

	NVS_LOCK_SCOPE();
	DL_FOREACH(nvs_rm()->channels, c)
	{
		struct nvs_timing_bell bell;

		if (!c->shadow || !c->shadow->timing || c->hidden)
			continue;
		bell = find_bell(c);
		behind |= nvs_gpfifo_advance(c->shadow, &bell);
		if (read)
			nvs_gpu_times_collect(c->shadow->timing);
	}
	if (read)
		revive_pools();
	return behind;
}

/* Takes, of several reads of TIME, the one with the closest session clock values around it. */
static bool read_clock(const volatile uint32_t *time, struct nvs_rec_gpu_clock *best)
{
	best->after = UINT64_MAX;
	best->before = 0;
	for (int i = 0; i < CLOCK_READS; i++) {
		uint32_t high, low, again;
		uint64_t before, after;

		/* In BAR1 the register reads as zero. */
		if (!nvs_load32_guarded(time + 1, &high) || !high)
			return false;
		before = nvs_clock_now();
		nvs_fence_ticks();
		if (!nvs_load32_guarded(time, &low))
			return false;
		nvs_fence_ticks();
		after = nvs_clock_now();
		/* The lower word wraps around every 4.3 s. */
		if (!nvs_load32_guarded(time + 1, &again) || again != high ||
		    after - before >= best->after - best->before)
			continue;
		best->before = before;
		best->after = after;
		best->ns = (uint64_t)high << 32 | low;
	}
	return best->after != UINT64_MAX;
}

bool nvs_rm_timing_read_clocks(void)
{
	const struct nvs_cpu_map *m;
	uint64_t done = 0;

	if (!nvs_options()->values.timing)
		return false;
	NVS_LOCK_SCOPE();
	NVS_SPANS_ALL(&nvs_rm()->cpu, m)
	{
		struct nvs_rec_gpu_clock rec = {
			.rec = {.type = NVS_REC_GPU_CLOCK, .size = sizeof(rec)}, .gpu = m->gpu};

		if (!nvs_map_is_doorbell(m) || !m->alias || m->gpu >= 64 || done >> m->gpu & 1 ||
		    !read_clock((const volatile uint32_t *)(m->alias + USERMODE_TIME), &rec))
			continue;
		done |= 1ull << m->gpu;
		nvs_record_write(&rec.rec);
	}
	return done;
}
