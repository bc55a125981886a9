/* SPDX-License-Identifier: MIT */
/*
 * The one switch of recording. What is wanted is said by the trigger file and by cuProfilerStart
 * and cuProfilerStop, the last word counts; a delay, a duration and the trace's largest size decide
 * when that holds. A forked child goes on with what was wanted.
 */
#include "preload/writer/session.h"

static struct {
	bool known; /* what the options say */
	bool late; /* the delay is over */
	_Atomic bool full; /* the trace has its size; by the writer, without the lock */
	int64_t wanted; /* submissions, as nvs_trap_record() takes them */
	uint64_t wanted_ns; /* since when */
	int64_t holds; /* what the trap was told last */
} sw;

static const struct nvs_option_values *values(void)
{
	return &nvs_options()->values;
}

bool nvs_switch_used(void)
{
	const struct nvs_option_values *v = values();

	return v->trigger[0] || v->from_profiler || v->delay_ns || v->duration_ns || v->max_size;
}

static uint64_t delay_end(void)
{
	return nvs_options()->start_ns + values()->delay_ns;
}

/* Of the window that is wanted, which opens when the delay is over; 0: none. */
static uint64_t window_end(void)
{
	uint64_t from = sw.wanted_ns > delay_end() ? sw.wanted_ns : delay_end();

	return sw.wanted && values()->duration_ns ? from + values()->duration_ns : 0;
}

static void learn(void)
{
	if (sw.known)
		return;
	sw.known = true;
	sw.wanted = values()->trigger[0] || values()->from_profiler ? 0 : NVS_RECORD_ALL;
}

static void tell(enum nvs_window_cause cause)
{
	struct nvs_rec_window rec = {
		.rec = {.type = NVS_REC_WINDOW, .size = sizeof(rec)},
		.cause = cause,
		.submissions = (uint64_t)sw.holds,
	};

	if (nvs_session_active() && nvs_switch_used())
		nvs_record(&rec.rec);
}

/* Has the trap do what is wanted now. Told within the window, so that all it holds is. */
static void settle(enum nvs_window_cause cause)
{
	int64_t before = sw.holds;

	sw.holds = sw.late && !atomic_load(&sw.full) ? sw.wanted : 0;
	if (sw.holds) {
		tell(cause);
		nvs_trap_record(sw.holds);
		if (atomic_load(&sw.full))
			nvs_trap_record(0);
	} else if (before) {
		nvs_trap_record(0);
		tell(cause);
	}
}

/* What the time has brought. */
static void look(uint64_t now)
{
	learn();
	if (!sw.late && now >= delay_end()) {
		sw.late = true;
		if (sw.wanted)
			settle(NVS_WINDOW_DELAY);
	}
	if (window_end() && now >= window_end()) {
		sw.wanted = 0;
		settle(NVS_WINDOW_DURATION);
	}
}

void nvs_switch_set(int64_t submissions, enum nvs_window_cause cause)
{
	sigset_t saved;

	nvs_lock(&saved);
	look(nvs_clock_mono_ns());
	/* On while it is on means nothing; a number counts anew. */
	if (submissions != sw.wanted || (submissions && submissions != NVS_RECORD_ALL)) {
		sw.wanted = submissions;
		sw.wanted_ns = nvs_clock_mono_ns();
		settle(cause);
	}
	nvs_unlock(&saved);
}

unsigned nvs_switch_look(unsigned most_ms)
{
	uint64_t now = nvs_clock_mono_ns(), next;
	sigset_t saved;

	if (!nvs_switch_used())
		return most_ms;
	nvs_lock(&saved);
	look(now);
	next = sw.late ? window_end() : delay_end();
	nvs_unlock(&saved);
	if (next <= now || next - now >= most_ms * 1000000ull)
		return most_ms;
	return (unsigned)((next - now) / 1000000) + 1;
}

void nvs_switch_begin(void)
{
	sigset_t saved;

	nvs_lock(&saved);
	atomic_store(&sw.full, false);
	sw.holds = 0;
	look(nvs_clock_mono_ns());
	settle(NVS_WINDOW_START);
	nvs_unlock(&saved);
}

void nvs_switch_tell(void)
{
	tell(NVS_WINDOW_START);
}

void nvs_switch_full(void)
{
	atomic_store(&sw.full, true);
	nvs_trap_record(0);
}

bool nvs_switch_is_full(void)
{
	return atomic_load(&sw.full);
}
