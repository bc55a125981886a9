/* SPDX-License-Identifier: MIT */
/* LINK: trap */
/* timing=sample: which submissions are drawn, that those which are not are walked right, and that
 * nothing of ours comes into the middle of a method. */
#include "tests/unit/timed_ring.h"

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

int main(void)
{
	set_up();
	test_sampled(1, 1000);
	test_sampled(4, 4000);
	test_sampled(50, 20000);
	test_paced();
	test_shapes();
	return test_result();
}
