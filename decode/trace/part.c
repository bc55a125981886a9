/* SPDX-License-Identifier: MIT */
/* Which part of the run a trace holds: its windows, and what was not kept. */
#include <stdio.h>
#include "decode/trace/internal.h"

typedef unsigned long long ull; /* for printing */

static const char *cause_name(uint32_t cause, bool opens)
{
	static const char *const names[] = {
		[NVS_WINDOW_START] = "the start",	  [NVS_WINDOW_DELAY] = "--delay",
		[NVS_WINDOW_DURATION] = "--duration",	  [NVS_WINDOW_TRIGGER] = "--trigger",
		[NVS_WINDOW_PROFILER] = "cuProfilerStop", [NVS_WINDOW_SIZE] = "--max-size",
	};

	if (opens && cause == NVS_WINDOW_PROFILER)
		return "cuProfilerStart";
	return cause < sizeof(names) / sizeof(*names) ? names[cause] : "an unknown cause";
}

static void close_window(struct nvs_part *p, uint64_t time, uint32_t cause)
{
	p->open = false;
	p->last = time;
	p->last_cause = cause;
}

void nvs_part_window(struct nvs_trace *t, const struct nvs_rec_window *rec)
{
	struct nvs_part *p = &t->part;

	p->known = true;
	if (p->open)
		close_window(p, rec->rec.time, rec->cause);
	if (!rec->submissions)
		return;
	if (!p->windows++) {
		p->first = rec->rec.time;
		p->first_cause = rec->cause;
	}
	p->open = true;
	p->limited = rec->submissions != INT64_MAX;
}

static void put_time(const struct nvs_trace *t, char *text, size_t room, uint64_t ticks)
{
	int64_t ns;

	if (nvs_clock_since_start(t, ticks, &ns))
		snprintf(text, room, "%.3f s", (double)ns / 1e9);
	else
		snprintf(text, room, "-");
}

static void put_windows(struct nvs_trace *t)
{
	struct nvs_part *p = &t->part;
	char from[32], to[64] = "the end", count[48] = "";

	put_time(t, from, sizeof(from), p->first);
	if (!p->open) {
		put_time(t, to, sizeof(to) - 32, p->last);
		snprintf(to + strlen(to), 32, " (%s)", cause_name(p->last_cause, false));
	} else if (p->limited) {
		snprintf(to, sizeof(to), "as many submissions as --trigger said");
	}
	if (p->windows > 1)
		snprintf(count, sizeof(count), "in %llu windows, ", (ull)p->windows);
	snprintf(p->text, sizeof(p->text), "%sfrom %s (%s) to %s", count, from,
		 cause_name(p->first_cause, true), to);
}

void nvs_part_end(struct nvs_trace *t)
{
	struct nvs_part *p = &t->part;

	p->text[0] = '\0';
	if (p->known && p->windows)
		put_windows(t);
	else if (p->known)
		snprintf(p->text, sizeof(p->text), "nothing: recording was never switched on");
	if (p->text[0])
		nvs_trace_add_finding(t, NVS_FINDING_NOTE, "recorded: %s", p->text);
}

const char *nvs_trace_part(const struct nvs_trace *t)
{
	return t->part.text[0] ? t->part.text : NULL;
}
