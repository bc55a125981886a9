/* SPDX-License-Identifier: MIT */
/*
 * Turns recording on and off. The trigger file, cuProfilerStart/Stop and nvsnoop-record request it,
 * and the last request counts; delay, duration and the trace's maximum size decide when the request
 * applies. A forked child inherits the request.
 */
#include "preload/writer/session.h"

static struct {
	bool known; /* the options have been applied */
	bool late; /* the delay is over */
	_Atomic bool full; /* the trace has reached its size; set by the writer, without the lock */
	int64_t wanted; /* number of submissions, as for nvs_trap_record() */
	uint64_t wanted_ns; /* since when */
	int64_t holds; /* what the trap was told last */
} sw;

static const struct nvs_option_values *get_values(void)
{
	return &nvs_options()->values;
}

bool nvs_switch_is_used(void)
{
	const struct nvs_option_values *v = get_values();

	return v->trigger[0] || v->from_profiler || v->delay_ns || v->duration_ns || v->max_size ||
	       nvs_options()->untraced;
}

static uint64_t delay_end(void)
{
	return nvs_options()->start_ns + get_values()->delay_ns;
}

/* End of the requested window, which opens when the delay is over; 0: none. */
static uint64_t window_end(void)
{
	uint64_t from = sw.wanted_ns > delay_end() ? sw.wanted_ns : delay_end();

	return sw.wanted && get_values()->duration_ns ? from + get_values()->duration_ns : 0;
}

static void init_wanted(void)
{
	if (sw.known)
		return;
	sw.known = true;
	sw.wanted = get_values()->trigger[0] || get_values()->from_profiler ||
				    nvs_options()->untraced
			    ? 0
			    : NVS_RECORD_ALL;
}

static void record_window(enum nvs_window_cause cause)
{
	struct nvs_rec_window rec = {
		.rec = {.type = NVS_REC_WINDOW, .size = sizeof(rec)},
		.cause = cause,
		.submissions = (uint64_t)sw.holds,
	};

	if (nvs_session_is_active() && nvs_switch_is_used())
		nvs_record_write(&rec.rec);
}

/* Makes the trap do what is requested now. The WINDOW record is made while recording is on, so that
 * a window contains all of its records. */
static void apply_wanted(enum nvs_window_cause cause)
{
	int64_t before = sw.holds;

	sw.holds = sw.late && !atomic_load(&sw.full) ? sw.wanted : 0;
	if (sw.holds) {
		record_window(cause);
		nvs_trap_record(sw.holds);
		if (atomic_load(&sw.full))
			nvs_trap_record(0);
	} else if (before) {
		nvs_trap_record(0);
		record_window(cause);
	}
}

/* Applies delay and duration. */
static void update_window(uint64_t now)
{
	init_wanted();
	if (!sw.late && now >= delay_end()) {
		sw.late = true;
		if (sw.wanted)
			apply_wanted(NVS_WINDOW_DELAY);
	}
	if (window_end() && now >= window_end()) {
		sw.wanted = 0;
		apply_wanted(NVS_WINDOW_DURATION);
	}
}

void nvs_switch_request(int64_t submissions, enum nvs_window_cause cause)
{
	NVS_LOCK_SCOPE();
	update_window(nvs_clock_mono_ns());
	/* A request to turn on again has no effect; a number starts a new count. */
	if (submissions != sw.wanted || (submissions && submissions != NVS_RECORD_ALL)) {
		sw.wanted = submissions;
		sw.wanted_ns = nvs_clock_mono_ns();
		apply_wanted(cause);
	}
}

unsigned nvs_switch_update(unsigned most_ms)
{
	uint64_t now = nvs_clock_mono_ns(), next;

	if (!nvs_switch_is_used())
		return most_ms;
	NVS_LOCK_SCOPE();
	update_window(now);
	next = sw.late ? window_end() : delay_end();
	if (next <= now || next - now >= most_ms * 1000000ull)
		return most_ms;
	return (unsigned)((next - now) / 1000000) + 1;
}

void nvs_switch_begin(void)
{
	NVS_LOCK_SCOPE();
	atomic_store(&sw.full, false);
	sw.holds = 0;
	/* A window on demand is the parent's. */
	if (nvs_options()->untraced)
		sw.wanted = 0;
	update_window(nvs_clock_mono_ns());
	apply_wanted(NVS_WINDOW_START);
}

void nvs_switch_record(void)
{
	record_window(NVS_WINDOW_START);
}

void nvs_switch_set_full(void)
{
	atomic_store(&sw.full, true);
	nvs_trap_record(0);
}

bool nvs_switch_is_full(void)
{
	return atomic_load(&sw.full);
}
