/* SPDX-License-Identifier: MIT */
/* A timed channel with the test's own GPU, which poisons what it has fetched and checks that our
 * entries are only between submissions. */
#ifndef NVSNOOP_TESTS_TIMED_RING_H
#define NVSNOOP_TESTS_TIMED_RING_H

#include "tests/unit/fakering.h"
#include "submit/commands.h"
#include "trap/buffer/process.h"
#include "trap/copy/batch.h"
#include "trap/copy/gpfifo_timing.h"

#define ENTRIES 512u
#define PAGE 4096u
#define USERD PAGE
#define VA 0x200800000ull
#define PB_BYTES (1u << 20)
#define LOW 0x1000000000ull
#define HIGH 0x7f1234500000ull
#define POISON 0xdeadd00ddeadd00dull
#define QUEUE (1u << 16)
#define EXTENDED(base) ((base) >> 32 | 4ull << 32 | 1) /* the program's: bit 0 means nothing */

static uint8_t *program, *real, *spare, *pb;
static struct nvs_shadow shadow;
static struct nvs_spool_channel state;
static struct nvs_channel channel;
static uint32_t hash[2];
static struct nvs_doorbell doorbell = {.map = 7};
static struct nvs_segment_map map = {.gpu_va = VA, .size = PB_BYTES};
static struct nvs_view view;
static struct nvs_gpfifo_timing *timing;
static struct nvs_timing_slot *slots;
static uint64_t own_va;
static uint32_t bell;
static const struct nvs_timing_bell bells = {&bell, 0x10012};

/* What the program has put, in order, and whose it is. */
static struct {
	uint64_t entry;
	uint32_t submission;
	bool last, open; /* of its submission; in the middle of a method's data */
} queue[QUEUE];
static uint32_t queued, taken, submissions, pb_at, wrong, ours, dwords_of_next;
static bool copies = true; /* the channel is a copy engine's */
static bool hold_stamps; /* the GPU fetches, and releases nothing yet */
static struct {
	struct nvs_timing_stamp *at;
	uint32_t payload;
} held[QUEUE];
static uint32_t nheld;
static uint64_t now; /* time of doorbells; 0: the clock's */

static uint64_t gpu_ns, gpu_base;
static struct stamped {
	uint64_t ns[2];
	uint32_t n, told;
	uint64_t every;
} times[QUEUE], empties[QUEUE]; /* by submission; of nothing, ahead of it */

static volatile uint64_t *ring_of(uint8_t *pages)
{
	return (volatile uint64_t *)(void *)pages;
}

static volatile uint32_t *userd_of(uint8_t *pages)
{
	return (volatile uint32_t *)(void *)(pages + USERD);
}

static struct nvs_shadow_piece take_place(size_t at)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(p, program + at, PAGE);
	if (mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, program + at) == MAP_FAILED)
		abort();
	return (struct nvs_shadow_piece){
		.program = (uintptr_t)program + at, .stash = (uintptr_t)spare + at, .bytes = PAGE};
}

static void begin(uint32_t kind, uint32_t first, uint64_t own)
{
	int fd = memfd_create("pages", 0);

	if (ftruncate(fd, 2 * PAGE))
		abort();
	program = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	real = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	spare = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	*(userd_of(real) + NVS_USERD_GP_PUT) = *(userd_of(real) + NVS_USERD_GP_GET) = first;
	state = (struct nvs_spool_channel){.channel = 3, .claim = first};
	shadow = (struct nvs_shadow){.gpfifo = ring_of(real), .userd = userd_of(real)};
	shadow.pieces[0] = take_place(0);
	shadow.pieces[1] = take_place(USERD);
	atomic_store(&shadow.carried, first);
	timing = calloc(1, nvs_gpfifo_timing_size(ENTRIES));
	nvs_gpfifo_timing_init(timing, kind, copies, 3, ENTRIES, ring_of(program), first);
	shadow.timing = timing;
	map.cpu = (uintptr_t)pb;
	channel = (struct nvs_channel){.number = 3,
				       .token = 0x10012,
				       .entries = ENTRIES,
				       .gpfifo = ring_of(program),
				       .put = userd_of(program) + NVS_USERD_GP_PUT,
				       .state = &state,
				       .shadow = &shadow};
	hash[nvs_channel_hash(0, 0x10012) & 1] = 1;
	view = (struct nvs_view){.nchannels = 1,
				 .channels = &channel,
				 .channel_mask = 1,
				 .channel_hash = hash,
				 .nmaps = 1,
				 .maps = &map,
				 .ndoorbells = 1,
				 .doorbells = &doorbell};
	nvs_view_publish(&view);
	memset(times, 0, sizeof(times));
	memset(empties, 0, sizeof(empties));
	queued = taken = submissions = wrong = ours = nheld = pb_at = dwords_of_next = 0;
	hold_stamps = false;
	gpu_base = 0;
	own_va = own;
}

static void end(void)
{
	munmap(program, 2 * PAGE);
	munmap(real, 2 * PAGE);
	munmap(spare, 2 * PAGE);
	free(timing);
}

/* ---- the program ---- */

static void put(uint64_t entry, bool last)
{
	volatile uint32_t *at = userd_of(program) + NVS_USERD_GP_PUT;

	ring_of(program)[*at] = entry;
	*at = (*at + 1) % ENTRIES;
	queue[queued].entry = entry;
	queue[queued].submission = submissions;
	queue[queued].open = false;
	queue[queued++].last = last;
}

/* A segment of N words, of which the first is HEADER. */
static void put_words(uint32_t header, uint32_t n, bool last)
{
	uint32_t *w = (uint32_t *)(void *)(pb + pb_at);

	for (uint32_t i = 0; i < n; i++)
		w[i] = 0xffffffff; /* no header at all */
	if (header)
		w[0] = header;
	put((VA + pb_at) | (uint64_t)n << 42, last);
	pb_at = (pb_at + n * 4) % (PB_BYTES - PAGE);
}

static void drain(void);

static void ring_doorbell(void)
{
	struct nvs_buffer *ring = nvs_buffer_enter();
	struct nvs_doorbell_event event = {.doorbell = &doorbell,
					   .token = 0x10012,
					   .stack = 5,
					   .time = now ? now : nvs_clock_now()};

	nvs_capture_doorbell(ring, nvs_view_get(), &event);
	nvs_buffer_leave(ring);
	submissions++;
	drain();
}

static void submit(uint32_t entries)
{
	for (uint32_t i = 0; i < entries; i++)
		put_words(nvs_method_header(1, 0x100, 3), 4, i + 1 == entries);
	ring_doorbell();
}

/* ---- the trace ---- */

static bool is_wrong(const struct nvs_rec_gpu_time *t, struct stamped *was)
{
	return was->told++ || t->begin != was->ns[0] || t->end != was->ns[1];
}

static void drain(void)
{
	struct nvs_buffer *ring = nvs_buffer_own();
	uint32_t undrained = 0;
	struct nvs_rec *rec;

	while ((rec = fake_next(ring, &undrained))) {
		const struct nvs_rec_gpu_time *t = (const void *)rec;
		bool empty;

		if (rec->type != NVS_REC_GPU_TIME)
			continue;
		empty = t->kind == NVS_TIMING_EMPTY;
		wrong += t->channel != 3 || (!empty && t->kind != timing->kind) ||
			 t->sequence >= submissions ||
			 is_wrong(t, (empty ? empties : times) + t->sequence);
		(empty ? empties : times)[t->sequence].every = t->every;
	}
}

/* ---- the GPU ---- */

static void stamp(struct nvs_timing_stamp *at, uint32_t payload)
{
	at->ns = gpu_ns;
	__atomic_store_n(&at->payload, payload, __ATOMIC_RELEASE);
}

/* A segment of ours: its release, and poison. */
static void own_segment(uint64_t va, uint32_t n)
{
	uint32_t *w = (uint32_t *)(void *)((uint8_t *)slots + (va - own_va));
	bool first = !taken || queue[taken - 1].last;
	uint32_t whose = first ? queue[taken].submission : 0;
	struct stamped *stamped = times;
	struct nvs_timing_stamp *at;
	uint64_t to = w[1] | (uint64_t)w[2] << 32;

	ours++;
	wrong += taken && queue[taken - 1].open;
	gpu_ns += 32;
	at = (void *)((uint8_t *)slots + (to - own_va));
	if (n != 6 || w[0] != 0x20050017 || !first || to - own_va >= NVS_TIMING_BYTES ||
	    w[5] != (timing->kind == NVS_TIMING_WORK ? 0x2100001 : 0x2000001)) {
		wrong++;
		return;
	}
	/* An end is the one that is to be had of the submission before. */
	if (timing->uses[(to - own_va) / sizeof(*slots)].kind == NVS_TIMING_EMPTY)
		stamped = empties;
	else if (timing->kind == NVS_TIMING_WORK && taken &&
		 times[queue[taken - 1].submission].n == 1)
		whose = queue[taken - 1].submission;
	/* Of nothing: behind all of the submission before, and ahead of all of its own. */
	wrong += stamped == empties &&
		 (times[whose].n || (taken && times[queue[taken - 1].submission].n == 1));
	stamped[whose].ns[stamped[whose].n & 1] = gpu_ns;
	wrong += stamped[whose].n++ >= 2;
	if (hold_stamps) {
		held[nheld].at = at;
		held[nheld++].payload = w[3];
	} else {
		stamp(at, w[3]);
	}
	memset(w, 0xdd, 24);
}

static bool gpu_one(void)
{
	volatile uint32_t *userd = userd_of(real);
	uint32_t get = userd[NVS_USERD_GP_GET];
	uint64_t entry = ring_of(real)[get], va = gpu_base | (entry & 0xfffffffffcull);

	if (get == userd[NVS_USERD_GP_PUT])
		return false;
	ring_of(real)[get] = POISON;
	if (taken < queued && entry == queue[taken].entry) {
		if (!nvs_entry_dwords(entry))
			gpu_base = (entry >> 8 & 0x1ffff) << 40;
		taken++;
		gpu_ns += 320;
	} else if (nvs_entry_dwords(entry) && va - own_va < NVS_TIMING_BYTES) {
		own_segment(va, nvs_entry_dwords(entry));
	} else if (entry >> 32 == 4) {
		gpu_base = (entry >> 8 & 0x1ffff) << 40;
	} else {
		wrong += entry != 0;
	}
	userd[NVS_USERD_GP_GET] = (get + 1) % ENTRIES;
	return true;
}

static void gpu_all(void)
{
	bool more;

	do {
		while (gpu_one())
			;
		more = nvs_gpfifo_advance(&shadow, &bells);
	} while (more || gpu_one());
}

/* What the program may see of GP_GET: never more than was taken. */
static inline void check_get(uint32_t first)
{
	uint32_t get = ENTRIES;

	CHECK(nvs_gpfifo_translate_get(&shadow, &get) && get == (first + taken) % ENTRIES);
}

static inline void check_end(uint32_t timed)
{
	uint32_t told = 0, empty = 0;

	CHECK(nvs_gpu_times_collect(timing) == 0);
	drain();
	for (uint32_t i = 0; i < submissions; i++) {
		told += times[i].told;
		empty += empties[i].told;
	}
	CHECK(wrong == 0);
	CHECK(taken == queued);
	CHECK(told == timed && timing->timed == timed);
	CHECK(empty == timing->empties);
	CHECK(ours == timed * timing->kind + 2 * empty);
}

static void set_up(void)
{
	struct nvs_trap_options options = {.backtrace = false};

	CHECK(nvs_trap_init(&options) == 0);
	fake_rings(4, 1 << 20);
	atomic_store(&nvs_process->started, 1);
	nvs_trap_record(NVS_RECORD_ALL);
	pb = mmap(NULL, PB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	slots = aligned_alloc(4096, NVS_TIMING_BYTES);
}

#endif
