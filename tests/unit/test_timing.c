/* SPDX-License-Identifier: MIT */
/* LINK: trap */
/*
 * Our entries in the real GPFIFO, with the test's own GPU, which poisons what it has fetched: the
 * program's entries reach it unchanged and in order, ours are only between submissions, times
 * belong to their submissions, and no slot is reused before it was read. Tested at every position
 * of the ring, with a stalled GPU, and to the end of the shadow. Nothing waits for kernels: a grid
 * releases its end itself.
 */
#include "tests/unit/timed_ring.h"

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
	set_up();
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
