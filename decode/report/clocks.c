/* SPDX-License-Identifier: MIT */
/* Aligns traces by their clocks, and prints how well they are aligned. Called by --timeline,
 * --ranks, --by-rank and the exports. */
#include "decode/report/clocks.h"
#include <errno.h>
#include <stdlib.h>
#include "decode/report/prose.h"
#include "decode/trace/clock.h"

/* Linux slews both clocks alike: a change above the reading error is a step. */
#define STEP_NS 100000
#define READ_NS 1000u /* the tightest of several pairs of readings */
#define MAX_NS (1ull << 61) /* year 2043; keeps sums of times within 64 bits */
#define MAX_STEPS_PRINTED 4

/* State of one trace while it is compared with others. */
struct found {
	const char *host;
	int64_t first, last; /* time of day minus monotonic clock */
	int64_t offset; /* the offset chosen */
	uint64_t mono, until; /* monotonic time of the first record and of the last sample */
	uint32_t index;
};

static int64_t get_offset(const struct nvs_clock_point *p)
{
	return (int64_t)p->real_ns - (int64_t)p->mono_ns;
}

static bool is_plausible(const struct nvs_clock_point *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (p[i].real_ns >= MAX_NS || p[i].mono_ns >= MAX_NS)
			return false;
	return n;
}

/* Goes from the last sample backwards and removes steps, as if the last setting had always been
 * in effect. */
static void remove_steps(struct nvs_clock_of *of, struct found *f, const struct nvs_clock_point *p,
			 uint32_t n)
{
	int64_t least, most, at = 0, shift = 0;

	least = most = at = f->last = get_offset(p + n - 1);
	f->first = get_offset(p);
	for (uint32_t i = n - 1; i--;) {
		int64_t by = get_offset(p + i + 1) - get_offset(p + i);

		if (llabs(by) > STEP_NS) {
			if (!of->steps++)
				of->step_at = (int64_t)(p[i + 1].mono_ns - f->mono);
			shift += by;
		}
		at = get_offset(p + i) + shift;
		least = at < least ? at : least;
		most = at > most ? at : most;
	}
	of->stepped = shift;
	of->drift = f->last - at;
	of->error = (uint64_t)(most - least + 1) / 2 + READ_NS;
	f->offset = least + (most - least) / 2;
	f->until = p[n - 1].mono_ns;
}

static void read_clock(struct nvs_clock_of *of, struct found *f, const struct nvs_source *s)
{
	const struct nvs_session *session = nvs_trace_session(s->trace);
	const char *day = session->attr[NVS_ATTR_CLOCK_ERROR];
	const struct nvs_clock_point *p;
	uint32_t n;
	char *end;

	*of = (struct nvs_clock_of){0};
	*f = (struct found){.host = session->attr[NVS_ATTR_HOST]};
	p = nvs_clock_points(s->trace, &n);
	if (!is_plausible(p, n) || !nvs_clock_mono(s->trace, session->first_time, &f->mono) ||
	    f->mono >= MAX_NS)
		return;
	of->known = true;
	remove_steps(of, f, p, n);
	if (day && *day >= '0' && *day <= '9') {
		of->day_error = strtoull(day, &end, 10) % 1000000000000 * 1000;
		of->day = *end ? NVS_DAY_UNKNOWN : NVS_DAY_KEPT;
	} else if (day) {
		of->day = NVS_DAY_UNKEPT;
	}
}

static bool is_near(int64_t a, int64_t b)
{
	return llabs(a - b) <= STEP_NS;
}

/* Returns true if both are of one boot of one machine. If the time of day was set, both traces
 * saw the same offset before or after it. */
static bool same_clock(const struct found *a, const struct found *b)
{
	return a->host && b->host && !strcmp(a->host, b->host) &&
	       (is_near(a->first, b->first) || is_near(a->first, b->last) ||
		is_near(a->last, b->first) || is_near(a->last, b->last));
}

/* Sorts by the end of the trace, latest first: others on the same clock take the offset from it. */
static int compare_end(const void *pa, const void *pb)
{
	const struct found *a = pa, *b = pb;

	if (a->until != b->until)
		return a->until > b->until ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static void assign_clocks(struct nvs_clock_of *of, struct found *found, uint32_t n)
{
	uint32_t clocks = 0, k;

	for (uint32_t i = 0; i < n; i++) {
		struct nvs_clock_of *one = of + found[i].index;

		if (!one->known)
			continue;
		for (k = 0; k < i; k++)
			if (of[found[k].index].known && same_clock(found + k, found + i))
				break;
		one->clock = k < i ? of[found[k].index].clock : clocks++;
		if (k < i)
			found[i].offset = found[k].offset;
		one->began = found[i].mono + (uint64_t)found[i].offset;
		one->known = one->began < MAX_NS;
	}
}

int nvs_clocks_align(struct nvs_clock_of *of, const struct nvs_source *sources, uint32_t n)
{
	struct found *found = calloc(n + 1ul, sizeof(*found));
	uint64_t base = UINT64_MAX;

	if (!found)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		read_clock(of + i, found + i, sources + i);
		found[i].index = i;
	}
	qsort(found, n, sizeof(*found), compare_end);
	assign_clocks(of, found, n);
	free(found);
	for (uint32_t i = 0; i < n; i++)
		base = of[i].known && of[i].began < base ? of[i].began : base;
	for (uint32_t i = 0; i < n; i++)
		of[i].shift = of[i].known ? (int64_t)(of[i].began - base) : 0;
	return 0;
}

/* ---- messages ---- */

struct sum {
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

static struct sum summarize_clocks(const struct nvs_clock_of *of, uint32_t n)
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
	s.error = s.clocks > 1 ? error[0] + error[1] : READ_NS;
	s.day = day[0] + day[1];
	return s;
}

static void print_alignment(FILE *f, const struct sum *s, uint32_t n)
{
	if (s->known < n) {
		nvs_say_count(f, n - s->known, "trace does", "traces do");
		fputs(" not record the time of day and start at time 0. ", f);
	}
	if (s->known < 2)
		return;
	if (s->clocks == 1) {
		fprintf(f, "%s traces share one clock: their times are aligned to within ",
			s->known == n ? "All" : "The other");
		nvs_say_ns(f, (double)s->error, 2);
		fputc('.', f);
		return;
	}
	fputs("Times are aligned by the time of day of ", f);
	nvs_say_count(f, s->clocks, "clock", "clocks");
	fputs(", to within ", f);
	nvs_say_ns(f, (double)s->error, 2);
	fputs(" if these agree; ", f);
	if (s->day_known) {
		fputs("according to their systems two of them may differ by ", f);
		nvs_say_ns(f, (double)s->day, 2);
		fputc('.', f);
	} else if (s->unkept) {
		nvs_say_count(f, s->unkept, "of them is", "of them are");
		fputs(" not synchronised.", f);
	} else {
		fputs("the traces do not record how well these were synchronised.", f);
	}
}

static void print_clock(FILE *f, const struct nvs_clock_of *of, const struct nvs_source *s)
{
	const char *host = nvs_trace_session(s->trace)->attr[NVS_ATTR_HOST];

	fputs(" The time of day of ", f);
	nvs_say_text(f, host ? host : s->path, 60);
	if (of->steps) {
		fputs(" was set ", f);
		if (of->steps > 1) {
			nvs_say_count(f, of->steps, "time", "times");
			fputs(", in total ", f);
		}
		fprintf(f, "%s by ", of->stepped < 0 ? "back" : "forward");
		nvs_say_ns(f, (double)llabs(of->stepped), 3);
		fputs(of->steps > 1 ? ", the last time at " : " at ", f);
		fprintf(f, "%.6f s; times before that are converted to the new setting",
			(double)(of->step_at + of->shift) / 1e9);
	}
	if (llabs(of->drift) > (int64_t)READ_NS) {
		fprintf(f, "%s ran ", of->steps ? ", and it" : "");
		nvs_say_ns(f, (double)llabs(of->drift), 2);
		fprintf(f, " %s against its monotonic clock over the run",
			of->drift < 0 ? "slow" : "fast");
	}
	fputc('.', f);
}

/* Returns the trace of CLOCK with most steps, then with most drift. */
static const struct nvs_clock_of *find_worst(const struct nvs_clock_of *of, uint32_t n,
					     uint32_t clock)
{
	const struct nvs_clock_of *best = NULL;

	for (uint32_t i = 0; i < n; i++)
		if (of[i].known && of[i].clock == clock &&
		    (!best || of[i].steps > best->steps ||
		     (of[i].steps == best->steps && llabs(of[i].drift) > llabs(best->drift))))
			best = of + i;
	return best;
}

static void print_clocks(FILE *f, const struct nvs_clock_of *of, const struct nvs_source *sources,
			 uint32_t n)
{
	struct sum s = summarize_clocks(of, n);
	uint32_t printed = 0;

	print_alignment(f, &s, n);
	for (uint32_t clock = 0; clock < s.clocks && s.known > 1; clock++) {
		const struct nvs_clock_of *one = find_worst(of, n, clock);

		if (!one || (!one->steps && llabs(one->drift) <= (int64_t)READ_NS))
			continue;
		if (printed++ < MAX_STEPS_PRINTED)
			print_clock(f, one, sources + (one - of));
	}
	if (printed > MAX_STEPS_PRINTED) {
		fputs(" The same applies to ", f);
		nvs_say_count(f, printed - MAX_STEPS_PRINTED, "more clock", "more clocks");
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
	print_clocks(f, of, sources, n);
	if (fclose(f) || !text)
		return -ENOMEM;
	nvs_budget_adopt(text);
	fputs(nvs_out_style(out, NVS_STYLE_DIM), out->file);
	nvs_print_wrapped(out, text, 0);
	fputs(nvs_out_style(out, NVS_STYLE_PLAIN), out->file);
	free(text);
	return 0;
}
