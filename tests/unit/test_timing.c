/* SPDX-License-Identifier: MIT */
/* LINK: trap */
/*
 * Our entries in the real GPFIFO, with the test's own GPU, which poisons what it has fetched: the
 * program's entries reach it unchanged and in order, ours are only between submissions, times
 * belong to their submissions, and no slot is reused before it was read. Tested at every position
 * of the ring, with a stalled GPU, and to the end of the shadow. Nothing waits for kernels: a grid
 * releases its end itself.
 */
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
static void check_get(uint32_t first)
{
	uint32_t get = ENTRIES;

	CHECK(nvs_gpfifo_translate_get(&shadow, &get) && get == (first + taken) % ENTRIES);
}

static void check_end(uint32_t timed)
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

/* ---- tests ---- */

static void test_positions(uint32_t kind, uint64_t own)
{
	for (uint32_t first = 0; first < ENTRIES; first++) {
		begin(kind, first, own);
		CHECK(nvs_gpfifo_timing_enable(&shadow, slots, own));
		for (uint32_t i = 0; i < 6; i++) {
			submit(1 + (first + i) % 3);
			for (uint32_t k = 0; k < (first * 7 + i * 3) % 9; k++)
				gpu_one();
		}
		gpu_all();
		check_get(first);
		check_end(6);
		CHECK(timing->empties == (kind == NVS_TIMING_WORK ? 6 : 0));
		end();
	}
}

static void test_round_and_round(uint32_t kind, uint64_t own)
{
	uint32_t seed = 1;

	begin(kind, 5, own);
	CHECK(nvs_gpfifo_timing_enable(&shadow, slots, own));
	for (uint32_t i = 0; i < 5000; i++) {
		seed = seed * 1103515245 + 12345;
		while (queued - taken > ENTRIES - 8 && gpu_one())
			nvs_gpfifo_advance(&shadow, &bells);
		submit(1 + (seed >> 16) % 4);
		for (uint32_t k = 0; k < (seed >> 20) % 12; k++)
			gpu_one();
	}
	gpu_all();
	check_get(5);
	check_end(5000);
	/* Those at the beginning, and one of every 1024 behind them, or of a few more where there
	 * was no room for it. */
	CHECK(timing->empties == (kind == NVS_TIMING_WORK ? NVS_TIMING_FIRST + 4 : 0));
	end();
}

/* It fills its ring to the last entry: what finds no room beside ours stays behind, and comes. */
static void test_standstill(void)
{
	begin(NVS_TIMING_WORK, 100, LOW);
	CHECK(nvs_gpfifo_timing_enable(&shadow, slots, LOW));
	for (uint32_t round = 0; round < 3; round++) {
		while (queued - taken < ENTRIES - 1)
			submit(1);
		CHECK(nvs_gpfifo_advance(&shadow, &bells)); /* no room at all */
		check_get(100);
		for (uint32_t k = 0; k < 40; k++)
			gpu_one();
		bell = 0;
		nvs_gpfifo_advance(&shadow, &bells);
		CHECK(bell == 0x10012);
		check_get(100);
	}
	gpu_all();
	check_end(submissions);
	CHECK(timing->untimed[NVS_UNTIMED_BEHIND] == 0);
	end();
}

/* A submission as large as the ring goes without. */
static void test_large(void)
{
	begin(NVS_TIMING_WORK, 0, LOW);
	CHECK(nvs_gpfifo_timing_enable(&shadow, slots, LOW));
	submit(ENTRIES - 1);
	gpu_all();
	submit(2);
	gpu_all();
	check_end(1);
	CHECK(timing->untimed[NVS_UNTIMED_RING] == 1);
	end();
}

static void test_end(uint32_t behind)
{
	uint32_t last;

	begin(NVS_TIMING_WORK, 300, LOW);
	CHECK(nvs_gpfifo_timing_enable(&shadow, slots, LOW));
	CHECK(nvs_shadow_remove(&shadow, true) != 0); /* indices may differ */
	for (uint32_t i = 0; i < behind; i++)
		submit(1);
	for (uint32_t i = 0; !nvs_gpfifo_realign(&shadow, &bells) && i < 10000; i++)
		gpu_one();
	last = *(userd_of(program) + NVS_USERD_GP_PUT);
	CHECK(*(userd_of(real) + NVS_USERD_GP_PUT) == last);
	CHECK(*(userd_of(real) + NVS_USERD_GP_GET) == last);
	CHECK(last == (300 + behind) % ENTRIES);
	CHECK(nvs_gpfifo_translate_put(&shadow) == last);
	nvs_gpu_times_collect(timing);
	drain();
	CHECK(wrong == 0 && taken == queued);
	/* From here on as without timing, and then without a shadow. */
	submit(3);
	CHECK(timing->untimed[behind ? NVS_UNTIMED_ENDING : NVS_UNTIMED_EARLY] >= 1);
	put_words(nvs_method_header(1, 0x100, 3), 4, true); /* not rung */
	CHECK(nvs_shadow_remove(&shadow, true) == 0);
	CHECK(*(userd_of(real) + NVS_USERD_GP_PUT) == (last + 4) % ENTRIES);
	while (gpu_one())
		;
	CHECK(wrong == 0 && taken == queued);
	end();
}

/* One of EVERY: each that is drawn and the one before it, at the places where that is possible. */
static void test_sampled(uint32_t every, uint32_t n)
{
	uint32_t seed = 7, drawn = 0, alone = 0, again = 0;
	bool open = false;

	begin(NVS_TIMING_WORK, 5, LOW);
	nvs_gpfifo_timing_sample(timing, every, 1, 42);
	CHECK(nvs_gpfifo_timing_enable(&shadow, slots, LOW));
	for (uint32_t i = 0; i < n; i++) {
		seed = seed * 1103515245 + 12345;
		/* Some end in the middle of a method's data, which the next one begins with. */
		if (open)
			put_words(0, 6, true);
		else if (seed >> 16 & 7)
			put_words(nvs_method_header(1, 0x100, 3), 4, true);
		else
			put_words(nvs_method_header_same(1, 0x1b4, 10), 5, true);
		open = !open && !(seed >> 16 & 7);
		queue[queued - 1].open = open;
		ring_doorbell();
		gpu_all();
	}
	nvs_gpu_times_collect(timing);
	drain();
	for (uint32_t i = 0; i < n; i++) {
		uint64_t own = times[i].every;

		if (times[i].told && own != NVS_NOT_DRAWN) {
			drawn++;
			CHECK(own == every);
			/* The one before has no time where it may have none. */
			alone += i && !times[i - 1].told;
		} else if (times[i].told && i + 1 < n) {
			again += !times[i + 1].told;
		}
	}
	CHECK(wrong == 0 && taken == queued);
	CHECK(drawn > n / every * 7 / 10 && drawn < n / every * 13 / 10);
	CHECK(alone < drawn / 2 && again < drawn / 2);
	CHECK(timing->timed + timing->untimed[NVS_UNTIMED_NOT_DRAWN] +
		      timing->untimed[NVS_UNTIMED_METHOD] ==
	      n);
	end();
}

/* By the time between submissions: one of many in a burst, each of those that are far apart. */
static void test_paced(void)
{
	uint32_t burst = 0, slow = 0;
	uint64_t sum = 0;

	begin(NVS_TIMING_WORK, 5, LOW);
	nvs_gpfifo_timing_sample(timing, 0, 1000000, 42);
	CHECK(nvs_gpfifo_timing_enable(&shadow, slots, LOW));
	for (uint32_t i = 0; i < 20100; i++) {
		now += i < 20000 ? 10000 : 2000000;
		submit(1);
		gpu_all();
	}
	now = 0;
	nvs_gpu_times_collect(timing);
	drain();
	for (uint32_t i = 100; i < 20100; i++)
		if (times[i].told && times[i].every != NVS_NOT_DRAWN) {
			sum += times[i].every;
			*(i < 20000 ? &burst : &slow) += 1;
		}
	CHECK(burst > 140 && burst < 260); /* one of 100 */
	CHECK(slow >= 99);
	CHECK(sum > 16000 && sum < 24000); /* together they stand for all */
	CHECK(wrong == 0);
	end();
}

/* Headers compared with an earlier segment's say the same as headers read one after the other. */
static void test_shapes(void)
{
	static struct nvs_stream_shape shapes[NVS_STREAM_SHAPES];
	struct nvs_stream_state fast = {0}, slow = {0};
	struct nvs_batch b = {.reader = {.view = &view, .channel = &channel}};
	uint32_t *w = (uint32_t *)(void *)pb, seed = 3, kind = 0;

	begin(NVS_TIMING_WORK, 0, LOW);
	for (uint32_t i = 0; i < 200000; i++) {
		uint32_t n = 1 + i % 9, pick;

		/* Mostly one of a few segments with other data, now and then any words at all. */
		for (uint32_t k = 0; k < n; k++) {
			seed = seed * 1103515245 + 12345;
			pick = seed >> 16 & 0xff;
			kind = k ? kind : pick;
			w[k] = kind == 0  ? seed
			       : k % 3	  ? (kind == 1 ? 0x20020017 : seed)
			       : pick < 2 ? nvs_method_header(pick, 0x50 + 4 * (i % 12), 2)
					  : nvs_method_header(1, 0x100, 2);
		}
		nvs_stream_advance(&b, &slow, VA | (uint64_t)n << 42);
		nvs_stream_advance_copy(&fast, shapes, (uint64_t)n << 42, w);
		wrong += fast.left != slow.left || fast.pieces != slow.pieces;
		if (i % 50 == 0)
			fast.pieces = slow.pieces = false;
	}
	CHECK(wrong == 0);
	end();
}

static void test_methods(void)
{
	begin(NVS_TIMING_WORK, 0, LOW);
	CHECK(nvs_gpfifo_timing_enable(&shadow, slots, LOW));
	submit(1);
	put_words(nvs_method_header_same(1, 0x1b4, 10), 5, true); /* six words are to come */
	ring_doorbell();
	put_words(0, 6, true);
	ring_doorbell();
	submit(2);
	put_words(nvs_method_header_same(1, 0x1b4, 7), 5, false); /* within a submission */
	put_words(0, 3, true);
	ring_doorbell();
	gpu_all();
	check_end(3);
	CHECK(timing->untimed[NVS_UNTIMED_METHOD] == 2);
	/* Address here, execution there: a release of ours in between would be taken for it. */
	put_words(nvs_method_header(0, 0x5c, 2), 3, true);
	ring_doorbell();
	submit(1);
	gpu_all();
	CHECK(timing->untimed[NVS_UNTIMED_SEMAPHORE] == 2);
	check_end(3);
	end();
	begin(NVS_TIMING_WORK, 0, LOW);
	CHECK(nvs_gpfifo_timing_enable(&shadow, slots, LOW));
	put((VA + PB_BYTES + PAGE) | 4ull << 42, true); /* nobody knows what is there */
	ring_doorbell();
	submit(1);
	gpu_all();
	CHECK(timing->untimed[NVS_UNTIMED_UNREADABLE] == 2);
	check_end(0);
	end();
}

/* The program's own extended base is there again behind each segment of ours. */
static void test_extended(uint64_t own)
{
	begin(NVS_TIMING_WORK, 7, own);
	CHECK(nvs_gpfifo_timing_enable(&shadow, slots, own));
	for (uint32_t i = 0; i < 20; i++) {
		put(EXTENDED((uint64_t)i << 40), false);
		put(EXTENDED(0ull), true);
		ring_doorbell();
		submit(1);
		put(EXTENDED((uint64_t)i << 40), true);
		ring_doorbell();
		gpu_all();
		CHECK(gpu_base == (uint64_t)i << 40);
		put(EXTENDED(0ull), true);
		ring_doorbell();
	}
	gpu_all();
	check_end(80);
	end();
}

/* Fetched, and not released: the slots stay what they are until they are, and were read. */
static void test_late_releases(void)
{
	begin(NVS_TIMING_DISPATCH, 0, LOW);
	CHECK(nvs_gpfifo_timing_enable(&shadow, slots, LOW));
	hold_stamps = true;
	for (uint32_t i = 0; i < NVS_TIMING_SLOTS + 100; i++) {
		submit(1);
		gpu_all();
	}
	CHECK(timing->untimed[NVS_UNTIMED_BEHIND] == 100);
	CHECK(nheld == NVS_TIMING_SLOTS);
	for (uint32_t i = 0; i < nheld; i++)
		for (uint32_t k = 0; k < i; k += 37)
			wrong += held[i].at == held[k].at;
	/* With the times that were theirs. */
	for (uint32_t i = 0; i < nheld; i++) {
		held[i].at->ns = times[i].ns[0];
		__atomic_store_n(&held[i].at->payload, held[i].payload, __ATOMIC_RELEASE);
	}
	hold_stamps = false;
	for (uint32_t i = 0; i < 50; i++) {
		submit(1);
		gpu_all();
	}
	check_end(NVS_TIMING_SLOTS + 50);
	end();
}

/* Who held the lock is gone: jumped out of it, or dead. What comes later reaches the GPU. */
static void test_left(uint32_t holder)
{
	begin(NVS_TIMING_WORK, 0, LOW);
	CHECK(nvs_gpfifo_timing_enable(&shadow, slots, LOW));
	submit(2);
	atomic_store(&timing->lock, holder ? holder : nvs_tls.tid);
	submit(1);
	submit(2);
	gpu_all();
	CHECK(wrong == 0 && taken == queued);
	CHECK(timing->lock == 0);
	check_end(1);
	end();
}

/* Entries that were laid before the GPU was told, and those it was told of, are known apart. */
static void test_left_in_the_middle(bool told)
{
	uint32_t put;

	begin(NVS_TIMING_WORK, 0, LOW);
	CHECK(nvs_gpfifo_timing_enable(&shadow, slots, LOW));
	submit(1);
	gpu_all();
	put = timing->put;
	put_words(nvs_method_header(1, 0x100, 3), 4, true);
	/* As far as a doorbell gets that is left before it has taken note of its GP_PUT. */
	timing->of_real[put] = 1;
	ring_of(real)[put] = queue[1].entry;
	timing->of_real[put + 1] = 2;
	state.claim = 2ull << NVS_PUT_BITS | 2;
	atomic_store(&shadow.carried, 2ull << NVS_PUT_BITS | 2);
	if (told)
		*(userd_of(real) + NVS_USERD_GP_PUT) = put + 1;
	atomic_store(&timing->lock, nvs_tls.tid);
	submissions++;
	submit(1);
	gpu_all();
	CHECK(wrong == 0 && taken == queued);
	end();
}

/* Found held by what it interrupts: whoever holds it brings it over. */
static void test_nested(void)
{
	struct nvs_doorbell_event event = {.doorbell = &doorbell, .token = 0x10012, .stack = 5};

	begin(NVS_TIMING_WORK, 0, LOW);
	CHECK(nvs_gpfifo_timing_enable(&shadow, slots, LOW));
	submit(1);
	atomic_store(&timing->lock, nvs_tls.tid);
	put_words(nvs_method_header(1, 0x100, 3), 4, true);
	nvs_capture_lost(nvs_view_get(), &event); /* no buffer of its own to be had */
	submissions++;
	CHECK(timing->lock == nvs_tls.tid);
	atomic_store(&timing->lock, 0);
	gpu_all();
	CHECK(wrong == 0 && taken == queued);
	end();
}

/* The GPU stands still when doorbells are not to be seen any more: what is put comes over unrung.
 */
static void test_blind(void)
{
	begin(NVS_TIMING_WORK, 500, LOW);
	CHECK(nvs_gpfifo_timing_enable(&shadow, slots, LOW));
	submit(2);
	CHECK(!nvs_gpfifo_untrack(&shadow, &bells));
	for (uint32_t i = 0; i < 2 * ENTRIES; i++) {
		put_words(nvs_method_header(1, 0x100, 3), 4, true);
		bell = 0;
		nvs_gpfifo_advance(&shadow, &bells);
		CHECK(bell == 0x10012);
		gpu_all();
	}
	CHECK(wrong == 0 && taken == queued);
	end();
}

/* ---- where kernels run ---- */

#define DESCRIPTOR 0x204e54000ull

enum { AUXILIARY = 1, GRID = 2 }; /* QMD_TYPE: GRID_NULL, GRID_CTA */

static uint32_t segment[512], nwords;

static uint32_t *add(uint32_t header, uint32_t n, const uint32_t *data)
{
	uint32_t *at = segment + nwords;

	*at++ = header;
	for (uint32_t i = 0; i < n; i++)
		at[i] = data ? data[i] : 0;
	nwords += 1 + n;
	return at;
}

/* A descriptor's upload; of which release is enabled already. */
static uint32_t *upload(uint64_t to, uint32_t type, uint32_t releases)
{
	uint32_t *w;

	add(0x20022062, 2, (uint32_t[]){(uint32_t)(to >> 32), (uint32_t)to});
	add(0x20022060, 2, (uint32_t[]){384, 1});
	add(0x200120ac - 0x40, 1, (uint32_t[]){0x41}); /* LAUNCH_DMA */
	w = add(0x6060206d, 96, NULL);
	w[0] = type << 23;
	w[10] = releases;
	w[18] = 0xbc000040;
	return w;
}

static void trigger(uint64_t descriptor)
{
	add(0x200120ad, 1, (uint32_t[]){(uint32_t)(descriptor >> 8)});
	add(0x200120b0, 1, (uint32_t[]){10});
}

static void report(void)
{
	add(0x200426c0, 4, (uint32_t[]){2, 0x460ffe0, 5, 4});
}

/* The segment as one submission; where it lies. */
static uint32_t *submit_segment(void)
{
	uint32_t *at = (uint32_t *)(void *)(pb + pb_at);

	memcpy(at, segment, nwords * 4);
	put((VA + pb_at) | (uint64_t)nwords << 42, true);
	pb_at = (pb_at + nwords * 4 + 63) / 64 * 64 % (PB_BYTES - PAGE);
	ring_doorbell();
	nwords = 0;
	return at;
}

/* The slot of the submission that was made last. */
static struct nvs_timing_use *last_use(void)
{
	return &timing->uses[(timing->next - 1) % NVS_TIMING_SLOTS];
}

static uint64_t va_of(const struct nvs_timing_use *use, uint32_t which)
{
	return own_va + (uint64_t)(use - timing->uses) * sizeof(struct nvs_timing_slot) +
	       offsetof(struct nvs_timing_slot, stamp) + which * sizeof(struct nvs_timing_stamp);
}

/* No entry of ours waits for anything. */
static bool waits_for_nothing(void)
{
	for (uint32_t i = 0; i < NVS_TIMING_SLOTS; i++)
		for (uint32_t k = 0; k < 2; k++)
			if (timing->uses[i].payload && slots[i].words[k][0] == 0x20050017 &&
			    slots[i].words[k][5] != 0x2000001)
				return false;
	return true;
}

static uint32_t on_the_ring(void)
{
	return (*(userd_of(real) + NVS_USERD_GP_PUT) + ENTRIES - timing->get) % ENTRIES;
}

/* A kernel's end is its grid's own release, in the segment, before the GPU is told of it. BEHIND:
 * its ring is full, and the launch is brought over later. */
static void test_grid(uint64_t own, bool behind)
{
	struct nvs_timing_use *use;
	uint32_t *w, *qmd, at, slot;

	begin(NVS_TIMING_WORK, 0, own);
	CHECK(nvs_gpfifo_timing_enable(&shadow, slots, own));
	timing->empties = NVS_TIMING_FIRST;
	while (behind && timing->from == (atomic_load(&shadow.carried) & NVS_PUT_MASK))
		submit(1);
	upload(DESCRIPTOR + 0x4000, AUXILIARY, 0);
	trigger(DESCRIPTOR + 0x4000);
	qmd = upload(DESCRIPTOR, GRID, 3);
	at = (uint32_t)(qmd - segment);
	trigger(DESCRIPTOR);
	report();
	w = submit_segment() + at;
	if (behind) {
		CHECK(w[10] == 3);
		gpu_all();
		nvs_gpfifo_advance(&shadow, &bells);
	}
	use = last_use();
	slot = (uint32_t)(use - timing->uses);
	CHECK(use->kind == NVS_TIMING_REACHED && use->stamps == 2);
	CHECK(w[10] == (3 | 1u << 16));
	CHECK((w[24] | (uint64_t)w[25] << 32) == va_of(use, 1));
	CHECK(w[26] == use->payload && w[27] == 0);
	if (behind)
		return end();
	CHECK(on_the_ring() == (own == LOW ? 2 : 4) && waits_for_nothing());
	CHECK(nvs_gpu_times_collect(timing) == 1);
	slots[slot].stamp[0] = (struct nvs_timing_stamp){.payload = use->payload, .ns = 32};
	CHECK(nvs_gpu_times_collect(timing) == 1); /* it is still at work */
	slots[slot].stamp[1] = (struct nvs_timing_stamp){.payload = use->payload, .ns = 96};
	CHECK(nvs_gpu_times_collect(timing) == 0);
	end();
}

/* Of what else is set off there is a begin alone, and what has no grid ends by the engine. */
static void test_no_grid(void)
{
	uint32_t *w, kinds[5], at;

	begin(NVS_TIMING_WORK, 0, LOW);
	CHECK(nvs_gpfifo_timing_enable(&shadow, slots, LOW));
	timing->empties = NVS_TIMING_FIRST;
	trigger(DESCRIPTOR); /* a graph's, uploaded long ago */
	report();
	submit_segment();
	kinds[0] = last_use()->kind;
	at = (uint32_t)(upload(DESCRIPTOR, GRID, 3 | 1u << 16) - segment); /* both taken */
	trigger(DESCRIPTOR);
	w = submit_segment() + at;
	kinds[1] = last_use()->kind;
	CHECK(w[10] == (3 | 1u << 16) && !w[24] && !w[26]);
	upload(DESCRIPTOR, GRID, 3);
	trigger(DESCRIPTOR);
	upload(DESCRIPTOR + 0x800, GRID, 3);
	trigger(DESCRIPTOR + 0x800);
	submit_segment();
	kinds[2] = last_use()->kind;
	*(upload(DESCRIPTOR, GRID, 3) + 18) = 0x30; /* another version */
	trigger(DESCRIPTOR);
	submit_segment();
	kinds[3] = last_use()->kind;
	add(0x80000040, 0, NULL);
	submit_segment();
	kinds[4] = last_use()->kind;
	for (uint32_t i = 0; i < 5; i++)
		CHECK(kinds[i] == NVS_TIMING_DISPATCH);
	report();
	submit_segment();
	CHECK(last_use()->kind == NVS_TIMING_REACHED);
	CHECK(slots[last_use() - timing->uses].words[1][0] == 0x200426c0);
	CHECK(waits_for_nothing());
	end();
}

int main(void)
{
	struct nvs_trap_options options = {.backtrace = false};

	CHECK(nvs_trap_init(&options) == 0);
	fake_rings(4, 1 << 20);
	atomic_store(&nvs_process->started, 1);
	nvs_trap_record(NVS_RECORD_ALL);
	pb = mmap(NULL, PB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	slots = aligned_alloc(4096, NVS_TIMING_BYTES);
	test_positions(NVS_TIMING_WORK, LOW);
	test_positions(NVS_TIMING_DISPATCH, LOW);
	test_positions(NVS_TIMING_WORK, HIGH);
	test_round_and_round(NVS_TIMING_WORK, LOW);
	test_round_and_round(NVS_TIMING_DISPATCH, LOW);
	test_round_and_round(NVS_TIMING_WORK, HIGH);
	test_standstill();
	test_large();
	test_end(0);
	test_end(1);
	test_end(100);
	test_end(ENTRIES - 1);
	test_methods();
	test_sampled(1, 1000);
	test_sampled(4, 4000);
	test_sampled(50, 20000);
	test_paced();
	test_shapes();
	test_extended(LOW);
	test_extended(HIGH);
	test_late_releases();
	copies = false;
	test_grid(LOW, false);
	test_grid(HIGH, false);
	test_grid(LOW, true);
	test_no_grid();
	copies = true;
	test_left(0);
	test_left(0x3ffffff0);
	test_left_in_the_middle(false);
	test_left_in_the_middle(true);
	test_nested();
	test_blind();
	return test_result();
}
