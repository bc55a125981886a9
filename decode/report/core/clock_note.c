/* SPDX-License-Identifier: MIT */
/* Prints how well the clocks of several traces are aligned. */
#include "decode/report/core/clock_note.h"
#include <errno.h>
#include <stdlib.h>
#include "decode/cli/sentence.h"

#define MAX_STEPS_PRINTED 4

struct clock_sum {
	uint32_t known, clocks, unkept;
	uint64_t error, day; /* sum of the two largest, from different clocks */
	bool day_known;
};

/* Keeps the two largest values; there is one value per clock. */
static void add_largest(uint64_t largest[2], uint64_t x)
{
	if (x > largest[0]) {
		largest[1] = largest[0];
		largest[0] = x;
	} else if (x > largest[1]) {
		largest[1] = x;
	}
}

static struct clock_sum summarize_clocks(const struct nvs_trace_clock *of, uint32_t n)
{
	struct clock_sum s = {.day_known = true};
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

static void print_alignment(FILE *f, const struct clock_sum *s, uint32_t n)
{
	if (s->known < n)
		fprintf(f, "%s not record the time of day and start at time 0. ",
			NVS_COUNT(n - s->known, "trace does", "traces do"));
	if (s->known < 2)
		return;
	if (s->clocks == 1) {
		fprintf(f, "%s traces share one clock: their times are aligned to within %s.",
			s->known == n ? "All" : "The other", NVS_ROUGHLY(s->error));
		return;
	}
	fprintf(f,
		"Times are aligned by the time of day of %s, to within %s if these "
		"agree; ",
		NVS_COUNT(s->clocks, "clock", "clocks"), NVS_ROUGHLY(s->error));
	if (s->day_known)
		fprintf(f, "according to their systems two of them may differ by %s.",
			NVS_ROUGHLY(s->day));
	else if (s->unkept)
		fprintf(f, "%s not synchronised.",
			NVS_COUNT(s->unkept, "of them is", "of them are"));
	else
		fputs("the traces do not record how well these were synchronised.", f);
}

static void print_clock(FILE *f, const struct nvs_trace_clock *of, const struct nvs_source *s)
{
	const char *host = nvs_trace_session(s->trace)->attr[NVS_ATTR_HOST];

	fprintf(f, " The time of day of %s", NVS_TEXT(host ? host : s->path, 60));
	if (of->steps) {
		fputs(" was set ", f);
		if (of->steps > 1)
			fprintf(f, "%s, in total ", NVS_COUNT(of->steps, "time", "times"));
		fprintf(f,
			"%s by %s%s at %.6f s; times before that are converted to the new setting",
			of->stepped < 0 ? "back" : "forward", NVS_DURATION(llabs(of->stepped)),
			of->steps > 1 ? ", the last time" : "",
			(double)(of->step_at + of->shift) / 1e9);
	}
	if (llabs(of->drift) > (int64_t)NVS_CLOCK_READ_NS)
		fprintf(f, "%s ran %s %s against its monotonic clock over the run",
			of->steps ? ", and it" : "", NVS_ROUGHLY(llabs(of->drift)),
			of->drift < 0 ? "slow" : "fast");
	fputc('.', f);
}

/* Returns the trace of CLOCK with most steps, then with most drift. */
static const struct nvs_trace_clock *find_worst(const struct nvs_trace_clock *of, uint32_t n,
						uint32_t clock)
{
	const struct nvs_trace_clock *best = NULL;

	for (uint32_t i = 0; i < n; i++)
		if (of[i].known && of[i].clock == clock &&
		    (!best || of[i].steps > best->steps ||
		     (of[i].steps == best->steps && llabs(of[i].drift) > llabs(best->drift))))
			best = of + i;
	return best;
}

static void print_clocks(FILE *f, const struct nvs_trace_clock *of,
			 const struct nvs_source *sources, uint32_t n)
{
	struct clock_sum s = summarize_clocks(of, n);
	uint32_t printed = 0;

	print_alignment(f, &s, n);
	for (uint32_t clock = 0; clock < s.clocks && s.known > 1; clock++) {
		const struct nvs_trace_clock *one = find_worst(of, n, clock);

		if (!one || (!one->steps && llabs(one->drift) <= (int64_t)NVS_CLOCK_READ_NS))
			continue;
		if (printed++ < MAX_STEPS_PRINTED)
			print_clock(f, one, sources + (one - of));
	}
	if (printed > MAX_STEPS_PRINTED)
		fprintf(f, " The same applies to %s.",
			NVS_COUNT(printed - MAX_STEPS_PRINTED, "more clock", "more clocks"));
}

int nvs_clock_note_print(struct nvs_out *out, const struct nvs_trace_clock *of,
			 const struct nvs_source *sources, uint32_t n)
{
	char *text = NULL;
	size_t bytes;
	FILE *f;

	if (n < 2)
		return 0;
	f = open_memstream(&text, &bytes);
	if (f)
		print_clocks(f, of, sources, n);
	if (nvs_budget_end_text(f, &text))
		return -ENOMEM;
	fputs(nvs_out_style(out, NVS_STYLE_DIM), out->file);
	nvs_print_wrapped(out, text, 0);
	fputs(nvs_out_style(out, NVS_STYLE_PLAIN), out->file);
	free(text);
	return 0;
}
