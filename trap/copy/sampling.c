/* SPDX-License-Identifier: MIT */
/* Draws the submissions of a channel that are timed (timing=sample). */
#include "trap/copy/slots.h"
#include "trap/low/poison.h"

#define MAX_EVERY 1000000u

void nvs_gpfifo_timing_sample(struct nvs_gpfifo_timing *t, uint32_t every, uint32_t pace,
			      uint64_t seed)
{
	t->sample = (struct nvs_timing_sample){
		.on = true,
		.every = every,
		.pace = pace,
		.gap = pace,
		/* The bits of neighbouring channels' numbers and of the seed's are spread. */
		.random = ((seed ^ (t->channel + 1ull)) * 0x9e3779b97f4a7c15ull) | 1,
	};
}

/* Updates the gap by a submission at NOW: the mean of the last ones, but a long one counts at once.
 */
static void note_gap(struct nvs_timing_sample *s, uint64_t now)
{
	uint64_t gap = now > s->last ? now - s->last : 0;

	s->last = now;
	s->gap = gap >= s->pace ? s->pace : s->gap - s->gap / 8 + (uint32_t)gap / 8;
	if (s->gap < s->pace / MAX_EVERY + 1)
		s->gap = s->pace / MAX_EVERY + 1;
}

/* Draws with the chance gap / pace, or 1 / every. */
uint32_t nvs_sample_draw(struct nvs_timing_sample *s, uint64_t now)
{
	uint32_t mine = s->drawn, pace = s->every ? s->every : s->pace, gap = 1;

	if (!s->every) {
		note_gap(s, now);
		gap = s->gap;
	}
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	s->drawn = 0;
	if ((s->random >> 32) * pace >> 32 < gap)
		s->drawn = (pace + gap / 2) / gap;
	return mine;
}
