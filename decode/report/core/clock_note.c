/* SPDX-License-Identifier: MIT */
/* How well traces stand beside each other, in words. */
#include "decode/report/core/clock_note.h"
#include <errno.h>
#include <stdlib.h>
#include "decode/cli/sentence.h"

#define MOST_STEPS_SAID 4

struct sum {
	uint32_t known, clocks, unkept;
	uint64_t error, day; /* the two largest of different clocks added up */
	bool day_known;
};

/* The two largest, of those that stand for a clock each. */
static void add_largest(uint64_t largest[2], uint64_t x)
{
	if (x > largest[0]) {
		largest[1] = largest[0];
		largest[0] = x;
	} else if (x > largest[1]) {
		largest[1] = x;
	}
}

static struct sum sum_up(const struct nvs_clock_of *of, uint32_t n)
{
	struct sum s = {.day_known = true};
	uint64_t error[2] = {0}, day[2] = {0};

	for (uint32_t i = 0; i < n; i++) {
		if (!of[i].known)
			continue;
		s.known++;
		s.clocks = of[i].clock + 1 > s.clocks ? of[i].clock + 1 : s.clocks;
	}
	for (uint32_t clock = 0; clock < s.clocks; clock++) {
		uint64_t worst = 0, worst_day = 0;
		bool unkept = false;

		for (uint32_t i = 0; i < n; i++) {
			if (!of[i].known || of[i].clock != clock)
				continue;
			worst = of[i].error > worst ? of[i].error : worst;
			worst_day = of[i].day_error > worst_day ? of[i].day_error : worst_day;
			s.day_known &= of[i].day == NVS_DAY_KEPT;
			unkept |= of[i].day == NVS_DAY_UNKEPT;
		}
		s.unkept += unkept;
		add_largest(error, worst);
		add_largest(day, worst_day);
	}
	s.error = s.clocks > 1 ? error[0] + error[1] : NVS_CLOCK_READ_NS;
	s.day = day[0] + day[1];
	return s;
}

static void say_how(FILE *f, const struct sum *s, uint32_t n)
{
	if (s->known < n) {
		nvs_say_count(f, n - s->known, "trace does", "traces do");
		fputs(" not tell the time of day, and stand at time 0. ", f);
	}
	if (s->known < 2)
		return;
	if (s->clocks == 1) {
		fprintf(f, "%s traces are of one clock: their times stand beside each other to ",
			s->known == n ? "All" : "The other");
		nvs_say_ns(f, (double)s->error, 2);
		fputc('.', f);
		return;
	}
	fputs("Times stand beside each other by the time of day of ", f);
	nvs_say_count(f, s->clocks, "clock", "clocks");
	fputs(", to ", f);
	nvs_say_ns(f, (double)s->error, 2);
	fputs(" as far as these agree; ", f);
	if (s->day_known) {
		fputs("by what their systems said two of them may differ by ", f);
		nvs_say_ns(f, (double)s->day, 2);
		fputc('.', f);
	} else if (s->unkept) {
		nvs_say_count(f, s->unkept, "of them is", "of them are");
		fputs(" kept right by nobody.", f);
	} else {
		fputs("how well they were kept the traces do not tell.", f);
	}
}

static void say_clock(FILE *f, const struct nvs_clock_of *of, const struct nvs_source *s)
{
	const char *host = nvs_trace_session(s->trace)->attr[NVS_ATTR_HOST];

	fputs(" The time of day of ", f);
	nvs_say_text(f, host ? host : s->path, 60);
	if (of->steps) {
		fputs(" was set ", f);
		if (of->steps > 1) {
			nvs_say_count(f, of->steps, "time", "times");
			fputs(", in all ", f);
		}
		fprintf(f, "%s by ", of->stepped < 0 ? "back" : "forward");
		nvs_say_ns(f, (double)llabs(of->stepped), 3);
		fputs(of->steps > 1 ? ", the last time at " : " at ", f);
		fprintf(f, "%.6f s; times before that are told by the new setting",
			(double)(of->step_at + of->shift) / 1e9);
	}
	if (llabs(of->drift) > (int64_t)NVS_CLOCK_READ_NS) {
		fprintf(f, "%s went ", of->steps ? ", and it" : "");
		nvs_say_ns(f, (double)llabs(of->drift), 2);
		fprintf(f, " %s beside its monotonic clock over the run",
			of->drift < 0 ? "slow" : "fast");
	}
	fputc('.', f);
}

/* Of each clock the trace that tells most. */
static const struct nvs_clock_of *teller(const struct nvs_clock_of *of, uint32_t n, uint32_t clock)
{
	const struct nvs_clock_of *best = NULL;

	for (uint32_t i = 0; i < n; i++)
		if (of[i].known && of[i].clock == clock &&
		    (!best || of[i].steps > best->steps ||
		     (of[i].steps == best->steps && llabs(of[i].drift) > llabs(best->drift))))
			best = of + i;
	return best;
}

static void say_all(FILE *f, const struct nvs_clock_of *of, const struct nvs_source *sources,
		    uint32_t n)
{
	struct sum s = sum_up(of, n);
	uint32_t said = 0;

	say_how(f, &s, n);
	for (uint32_t clock = 0; clock < s.clocks && s.known > 1; clock++) {
		const struct nvs_clock_of *one = teller(of, n, clock);

		if (!one || (!one->steps && llabs(one->drift) <= (int64_t)NVS_CLOCK_READ_NS))
			continue;
		if (said++ < MOST_STEPS_SAID)
			say_clock(f, one, sources + (one - of));
	}
	if (said > MOST_STEPS_SAID) {
		fputs(" So it was with ", f);
		nvs_say_count(f, said - MOST_STEPS_SAID, "clock more", "clocks more");
		fputc('.', f);
	}
}

int nvs_clocks_say(struct nvs_out *out, const struct nvs_clock_of *of,
		   const struct nvs_source *sources, uint32_t n)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = n > 1 ? open_memstream(&text, &bytes) : NULL;

	if (!f)
		return n > 1 ? -ENOMEM : 0;
	say_all(f, of, sources, n);
	if (fclose(f) || !text)
		return -ENOMEM;
	nvs_budget_adopt(text);
	fputs(nvs_out_style(out, NVS_STYLE_DIM), out->file);
	nvs_print_wrapped(out, text, 0);
	fputs(nvs_out_style(out, NVS_STYLE_PLAIN), out->file);
	free(text);
	return 0;
}
