/* SPDX-License-Identifier: MIT */
/* Collects the GPU times of submissions, and derives durations from all of them together. */
#include "decode/base/grow.h"
#include "decode/calls/bracket_times.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/base/numbers.h"
#include "decode/base/search.h"
#include "decode/calls/gpuclock.h"
#include "decode/calls/semaphore_pairs.h"

#define STEP_NS 32u /* resolution of the GPU's clock */
#define LONGEST_NS (1ull << 53) /* about a hundred days, if the session's length is unknown */
#define SLACK_NS 1000000u /* two clocks may differ over the session by this plus a thousandth */

struct time {
	uint64_t sequence, begin, end;
	uint64_t after; /* end of the work it waited for; 0: it waited for nothing */
	uint64_t open; /* end of the bracket it waited for; 0: none */
	uint64_t shared; /* in the bracket; of an empty one: with any other channel at work */
	uint64_t every; /* as recorded */
	uint32_t kind;
	bool differs; /* from another record of the same submission */
	bool waited; /* until an unknown time */
	bool reached; /* begin is when the channel reached it: earlier work may have been running */
};

/* A submission of any channel. */
struct channel_position {
	uint32_t channel;
	uint64_t sequence;
};

/* A cannot begin before B is done. */
struct work_wait {
	struct channel_position a, b; /* b.channel is NVS_NONE if unknown */
	bool late; /* A had begun work before it waited */
};

/* Sorted by sequence once complete. */
struct channel_times {
	struct time *at;
	uint32_t n, room;
	uint32_t latest; /* index of the next one likely to be queried */
	bool mixed; /* records did not come in sequence order */
};

struct timed_channel {
	struct channel_times times, empties;
	struct nvs_empty_bracket empty;
	uint32_t gpu, engine;
	bool known; /* gpu and engine are known */
};

struct nvs_bracket_times {
	struct nvs_numbers channels;
	struct nvs_gpuclock *clock;
	struct nvs_semaphore_pairs *sync;
	struct work_wait *waits;
	size_t nwaits, waits_room;
	uint64_t number; /* number of the current submission */
	bool worked; /* it has begun to work */
	int status;
	struct nvs_timing_faults faults;
	uint64_t longest; /* upper limit of any duration, ns */
	bool any, sampled;
};

/* Records an acquire and the release that it waited for. */
static void add_wait(void *arg, const struct nvs_sync_pair *pair)
{
	struct nvs_bracket_times *t = arg;
	struct work_wait *wait;

	/* Submissions of one channel are executed in order anyway. */
	if (pair->found && pair->acquire.channel == pair->release.channel)
		return;
	wait = NVS_APPEND_OPTIONAL(t->waits, t->nwaits, t->waits_room, 64, UINT32_MAX);
	if (!wait) {
		t->status = -ENOMEM;
		return;
	}
	*wait = (struct work_wait){
		{pair->acquire.channel, pair->acquire.submission},
		{pair->found ? pair->release.channel : NVS_NONE, pair->release.submission},
		pair->acquire.late};
}

struct nvs_bracket_times *nvs_bracket_times_new(void)
{
	struct nvs_bracket_times *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->clock = nvs_gpuclock_new();
	t->sync = nvs_semaphore_pairs_new(add_wait, t);
	if (t->clock && t->sync)
		return t;
	nvs_bracket_times_free(t);
	return NULL;
}

static void free_channel(void *item)
{
	struct timed_channel *c = item;

	free(c->times.at);
	free(c->empties.at);
	free(c);
}

void nvs_bracket_times_free(struct nvs_bracket_times *t)
{
	if (!t)
		return;
	nvs_numbers_free(&t->channels, free_channel);
	nvs_gpuclock_free(t->clock);
	nvs_semaphore_pairs_free(t->sync);
	free(t->waits);
	free(t);
}

/* ---- records ---- */

/* Returns false if memory is short. */
static bool add_time(struct channel_times *times, const struct time *time)
{
	struct time *own = NVS_APPEND_OPTIONAL(times->at, times->n, times->room, 64, UINT32_MAX);

	if (!own)
		return false;
	times->mixed |= times->n > 1 && own[-1].sequence >= time->sequence;
	*own = *time;
	return true;
}

static bool is_wrong(const struct nvs_rec_gpu_time *r)
{
	return !r->begin || (r->kind != NVS_TIMING_DISPATCH && r->end < r->begin);
}

static int take_time(struct nvs_bracket_times *t, const struct nvs_rec_gpu_time *r)
{
	struct time time = {.sequence = r->sequence,
			    .begin = r->begin,
			    .end = r->end,
			    .kind = r->kind,
			    .every = r->every};
	struct timed_channel *c;

	if (r->kind < NVS_TIMING_DISPATCH || r->kind > NVS_TIMING_REACHED)
		return 0; /* kind of a later nvsnoop */
	if (r->kind == NVS_TIMING_REACHED) {
		time.kind = NVS_TIMING_WORK;
		time.reached = true;
	}
	t->sampled |= r->every;
	if (is_wrong(r) || r->channel >= NVS_MAX_NUMBER) {
		t->faults.wrong++;
		return 0;
	}
	c = nvs_number_make(&t->channels, r->channel, sizeof(*c));
	if (!c)
		return -ENOMEM;
	t->faults.dropped += !add_time(r->kind == NVS_TIMING_EMPTY ? &c->empties : &c->times,
				       &time);
	return 0;
}

int nvs_bracket_times_record(void *times, const struct nvs_rec *rec)
{
	struct nvs_bracket_times *t = times;

	t->any |= rec->type == NVS_REC_GPU_TIME || rec->type == NVS_REC_GPU_CLOCK ||
		  rec->type == NVS_REC_UNTIMED;
	if (rec->type == NVS_REC_GPU_CLOCK)
		return nvs_gpuclock_record(t->clock, (const void *)rec);
	return rec->type == NVS_REC_GPU_TIME ? take_time(t, (const void *)rec) : 0;
}

static bool is_work(const struct nvs_op *op)
{
	return op->kind == NVS_OP_LAUNCH || op->kind == NVS_OP_TRIGGER || op->kind == NVS_OP_COPY ||
	       op->kind == NVS_OP_MEMSET;
}

int nvs_bracket_times_op(void *times, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_bracket_times *t = times;
	struct nvs_sync_side who = {.submission = s->rec->sequence, .channel = s->channel->channel};
	int r;

	if (t->number != s->number)
		t->worked = false;
	t->number = s->number;
	who.late = op->kind == NVS_OP_ACQUIRE && t->worked;
	t->worked |= is_work(op);
	r = nvs_semaphore_pairs_op(t->sync, &who, op);
	return r ? r : t->status;
}

/* ---- sorting ---- */

static int by_sequence(const void *pa, const void *pb)
{
	const struct time *a = pa, *b = pb;

	return NVS_CMP(a->sequence, b->sequence);
}

/* Drops times longer than the session. */
static void drop_long(struct nvs_bracket_times *t, struct channel_times *times)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < times->n; i++) {
		const struct time *time = &times->at[i];

		if (time->kind == NVS_TIMING_DISPATCH || time->end - time->begin <= t->longest)
			times->at[kept++] = *time;
	}
	t->faults.wrong += times->n - kept;
	times->n = kept;
}

/* Sorts by sequence. Of duplicates, keeps one if they agree, and none otherwise. */
static void sort_times(struct nvs_bracket_times *t, struct channel_times *times)
{
	uint32_t kept = 0;

	drop_long(t, times);
	if (!times->mixed)
		return;
	qsort(times->at, times->n, sizeof(*times->at), by_sequence);
	for (uint32_t i = 0; i < times->n; i++) {
		struct time *last = kept ? &times->at[kept - 1] : NULL, *now = &times->at[i];

		if (!last || last->sequence != now->sequence)
			times->at[kept++] = *now;
		else
			last->differs |= last->begin != now->begin || last->end != now->end ||
					 last->kind != now->kind;
	}
	times->n = kept;
	kept = 0;
	for (uint32_t i = 0; i < times->n; i++) {
		t->faults.duplicates += times->at[i].differs;
		if (!times->at[i].differs)
			times->at[kept++] = times->at[i];
	}
	times->n = kept;
}

/* Returns the index of the first time at SEQUENCE or later. */
static uint32_t find_index(const struct channel_times *times, uint64_t sequence)
{
	return (uint32_t)NVS_COUNT_BELOW(times->at, times->n, sequence, sequence);
}

static const struct time *find_time(const struct channel_times *times, uint32_t at,
				    uint64_t sequence)
{
	return at < times->n && times->at[at].sequence == sequence ? times->at + at : NULL;
}

static uint64_t get_begin(const struct time *time)
{
	return time->after ? time->after : time->begin;
}

/* Work of a channel that waited for nothing before its begin timestamp begins when the preceding
 * work is done: moves begins that are earlier than that. */
static void order_begins(struct channel_times *times)
{
	uint64_t done = 0;

	for (uint32_t i = 0; i < times->n; i++) {
		struct time *now = &times->at[i];
		const struct time *before = i ? now - 1 : NULL;

		if (now->kind != NVS_TIMING_WORK)
			continue;
		if (now->reached && (!before || before->sequence + 1 != now->sequence ||
				     before->kind != NVS_TIMING_WORK))
			now->waited = now->sequence > 0;
		if (now->reached && done > now->begin && done < now->end)
			now->after = now->open = done;
		done = done > now->end ? done : now->end;
	}
}

/* ---- several channels of an engine ---- */

/* Begin or end of a bracket. */
struct edge {
	uint64_t ns;
	struct time *time;
	bool end;
};

static int by_ns(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;

	return NVS_CMP(a->ns, b->ns) ?: b->end - a->end;
}

/* While it waits, a bracket does not share the engine. */
static uint64_t get_open_time(const struct time *time)
{
	return time->open ? time->open : time->begin;
}

static size_t count_brackets(const struct channel_times *times)
{
	size_t n = 0;

	for (uint32_t i = 0; i < times->n; i++)
		n += times->at[i].end > get_open_time(times->at + i);
	return n;
}

static size_t put_edges(struct edge *edge, const struct channel_times *times)
{
	size_t n = 0;

	for (uint32_t i = 0; i < times->n; i++) {
		struct time *time = times->at + i;

		time->shared = 0;
		if (time->end <= get_open_time(time))
			continue;
		edge[n++] = (struct edge){get_open_time(time), time, false};
		edge[n++] = (struct edge){time->end, time, true};
	}
	return n;
}

/* Computes for each bracket how long another one was open, and for each empty bracket how long any
 * non-empty one was; those are never of its own channel. */
static void sweep_edges(struct edge *edge, size_t n)
{
	uint64_t open = 0, any = 0, several = 0;

	for (size_t i = 0; i < n; i++) {
		bool empty = edge[i].time->kind == NVS_TIMING_EMPTY;
		uint64_t passed = i ? edge[i].ns - edge[i - 1].ns : 0;
		uint64_t *shared = &edge[i].time->shared;

		any += open ? passed : 0;
		several += open > 1 ? passed : 0;
		*shared = (empty ? any : several) - (edge[i].end ? *shared : 0);
		if (!empty)
			open += edge[i].end ? -1ull : 1;
	}
}

static void set_unknown(struct channel_times *times)
{
	for (uint32_t i = 0; i < times->n; i++)
		times->at[i].shared = NVS_UNKNOWN;
}

/* Handles the N channels of one engine. */
static void compute_shared(struct timed_channel **channel, size_t n)
{
	struct edge *edge;
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += 2 * (count_brackets(&channel[i]->times) +
			      count_brackets(&channel[i]->empties));
	edge = nvs_budget_allows(count * sizeof(*edge)) ? malloc((count + 1) * sizeof(*edge))
							: NULL;
	count = 0;
	for (size_t i = 0; i < n; i++)
		if (edge) {
			count += put_edges(edge + count, &channel[i]->times);
			count += put_edges(edge + count, &channel[i]->empties);
		} else {
			set_unknown(&channel[i]->times);
			set_unknown(&channel[i]->empties);
		}
	if (!edge)
		return;
	qsort(edge, count, sizeof(*edge), by_ns);
	sweep_edges(edge, count);
	free(edge);
}

static int by_engine(const void *pa, const void *pb)
{
	const struct timed_channel *a = *(struct timed_channel *const *)pa,
				   *b = *(struct timed_channel *const *)pb;

	return NVS_CMP(a->gpu, b->gpu) ?: NVS_CMP(a->engine, b->engine);
}

static void prepare_channels(struct nvs_bracket_times *t, const struct nvs_trace *trace)
{
	for (uint32_t i = 0; i < t->channels.count; i++) {
		const struct nvs_trace_channel *of = nvs_trace_channel_at(trace, i);
		struct timed_channel *c = nvs_number_get(&t->channels, i);

		if (!c)
			continue;
		sort_times(t, &c->times);
		order_begins(&c->times);
		sort_times(t, &c->empties);
		c->known = of && of->known;
		if (c->known) {
			c->gpu = of->rec.gpu;
			c->engine = of->rec.engine;
		} else {
			set_unknown(&c->times);
		}
	}
}

static int compare_engines(struct nvs_bracket_times *t)
{
	struct timed_channel **list = calloc(t->channels.count + 1ul, sizeof(*list));
	size_t n = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->channels.count; i++) {
		struct timed_channel *c = nvs_number_get(&t->channels, i);

		if (c && c->known)
			list[n++] = c;
	}
	if (n)
		qsort(list, n, sizeof(*list), by_engine);
	for (size_t i = 0, to; i < n; i = to) {
		for (to = i + 1; to < n && !by_engine(list + i, list + to); to++)
			;
		if (to - i > 1)
			compute_shared(list + i, to - i);
	}
	free(list);
	return 0;
}

/* ---- waits ---- */

/* Returns NULL if it has no bracket. */
static struct time *find_bracket(const struct nvs_bracket_times *t,
				 const struct channel_position *at)
{
	struct timed_channel *c = nvs_number_get(&t->channels, at->channel);
	struct time *time = c ? (struct time *)find_time(&c->times,
							 find_index(&c->times, at->sequence),
							 at->sequence)
			      : NULL;

	return time && time->kind == NVS_TIMING_WORK ? time : NULL;
}

/* Latest time of B's release: the cost of an empty bracket comes after the work. */
static uint64_t get_done_time(const struct nvs_bracket_times *t, const struct work_wait *wait,
			      const struct time *b)
{
	const struct timed_channel *c = nvs_number_get(&t->channels, wait->b.channel);
	uint64_t begin = get_begin(b);

	return b->end - begin > c->empty.ns ? b->end - c->empty.ns : begin;
}

static bool on_one_gpu(const struct nvs_bracket_times *t, const struct work_wait *wait)
{
	const struct timed_channel *a = nvs_number_get(&t->channels, wait->a.channel);
	const struct timed_channel *b = nvs_number_get(&t->channels, wait->b.channel);

	return a->known && b->known && a->gpu == b->gpu;
}

/* Applies the recorded waits. Returns true if a bracket became shorter. */
static bool apply_waits(struct nvs_bracket_times *t)
{
	bool any = false;

	for (size_t i = 0; i < t->nwaits; i++) {
		const struct work_wait *wait = &t->waits[i];
		struct time *a = find_bracket(t, &wait->a);
		const struct time *b = a && wait->b.channel != NVS_NONE ? find_bracket(t, &wait->b)
									: NULL;
		uint64_t done;

		if (!a)
			continue;
		if (!b || !on_one_gpu(t, wait) || b->end > a->end) {
			a->waited = true;
			continue;
		}
		done = get_done_time(t, wait, b);
		if (done > a->begin && wait->late)
			a->waited = true;
		else if (done > a->begin && done > a->after)
			a->after = done;
		if (!wait->late && b->end > get_open_time(a)) {
			a->open = b->end;
			any = true;
		}
	}
	return any;
}

/* ---- empty brackets ---- */

static int by_size(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return NVS_CMP(*a, *b);
}

static uint64_t max_of_three(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t most = a > b ? a : b;

	return most > c ? most : c;
}

static int measure_empty(struct timed_channel *c)
{
	uint64_t *ns = calloc(c->empties.n + 1ul, sizeof(*ns)), n = 0, root = 1;

	if (!ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->empties.n; i++)
		if (!c->empties.at[i].shared)
			ns[n++] = c->empties.at[i].end - c->empties.at[i].begin;
	if (n) {
		qsort(ns, n, sizeof(*ns), by_size);
		c->empty.count = n;
		c->empty.ns = ns[(n - 1) / 2];
		c->empty.spread = max_of_three(c->empty.ns - ns[n / 10],
					       ns[n - 1 - n / 10] - c->empty.ns, STEP_NS);
		while ((root + 1) * (root + 1) <= n)
			root++;
		/* The spread is 1.28 standard deviations, and a median's error 1.25 of a mean's. */
		c->empty.error = STEP_NS / 2 + c->empty.spread * 245 / 128 / root;
	}
	free(ns);
	return 0;
}

static uint64_t max_duration(const struct nvs_trace *trace)
{
	int64_t ns;

	if (!nvs_clock_since_start(trace, nvs_trace_session(trace)->last_time, &ns) || ns < 0)
		return LONGEST_NS;
	return (uint64_t)ns + (uint64_t)ns / 1000 + SLACK_NS;
}

int nvs_bracket_times_finish(struct nvs_bracket_times *t, const struct nvs_trace *trace)
{
	int r;

	t->longest = max_duration(trace);
	prepare_channels(t, trace);
	r = compare_engines(t);
	for (uint32_t i = 0; i < t->channels.count && !r; i++) {
		struct timed_channel *c = nvs_number_get(&t->channels, i);

		if (c)
			r = measure_empty(c);
	}
	nvs_semaphore_pairs_end(t->sync);
	if (!r && apply_waits(t))
		r = compare_engines(t);
	/* Free what is no longer needed, since many traces may be open. */
	nvs_semaphore_pairs_free(t->sync);
	t->sync = NULL;
	free(t->waits);
	t->waits = NULL;
	t->nwaits = t->waits_room = 0;
	nvs_gpuclock_finish(t->clock, trace);
	return r ? r : t->status;
}

/* ---- queries ---- */

bool nvs_bracket_times_exist(const struct nvs_bracket_times *t)
{
	return t->any;
}

bool nvs_bracket_times_are_sampled(const struct nvs_bracket_times *t)
{
	return t->sampled;
}

const struct nvs_timing_faults *nvs_timing_faults(const struct nvs_bracket_times *t)
{
	return &t->faults;
}

bool nvs_bracket_times_empty(const struct nvs_bracket_times *t, uint32_t channel,
			     struct nvs_empty_bracket *empty)
{
	const struct timed_channel *c = nvs_number_get(&t->channels, channel);

	if (!c || !c->empty.count)
		return false;
	*empty = c->empty;
	return true;
}

/* The time of an empty bracket before the submission does not count as idle. */
static uint64_t idle_before(const struct nvs_bracket_times *t, const struct channel_times *times,
			    uint32_t at, const struct time *empty)
{
	const struct time *now = times->at + at, *before = at ? now - 1 : NULL;
	uint64_t taken = empty ? empty->end - empty->begin : 0, begin = get_begin(now);

	if (!before || before->sequence + 1 != now->sequence || before->kind != NVS_TIMING_WORK ||
	    before->end > begin || begin - before->end > t->longest || now->waited)
		return NVS_UNKNOWN;
	return begin - before->end > taken ? begin - before->end - taken : 0;
}

static void fill_bracket(const struct nvs_bracket_times *t, const struct timed_channel *c,
			 uint32_t at, const struct time *empty, struct nvs_submission_time *timed)
{
	const struct time *time = c->times.at + at;
	uint64_t ns = time->end - get_begin(time);

	timed->begin = get_begin(time);
	timed->end = time->end;
	timed->waited = time->waited;
	timed->subtracted = c->empty.count;
	timed->ns = ns > c->empty.ns ? ns - c->empty.ns : 0;
	timed->too_short = timed->subtracted && timed->ns <= c->empty.spread;
	timed->shared = time->shared == NVS_UNKNOWN || time->shared < ns ? time->shared : ns;
	timed->idle = idle_before(t, &c->times, at, empty);
	/* Others that overlap it, and most gaps, were not drawn. */
	if (t->sampled)
		timed->shared = timed->idle = NVS_UNKNOWN;
}

bool nvs_bracket_times_get(struct nvs_bracket_times *t, uint32_t channel, uint64_t sequence,
			   struct nvs_submission_time *timed)
{
	struct timed_channel *c = nvs_number_get(&t->channels, channel);
	const struct time *time, *empty;

	if (!c)
		return false;
	if (!find_time(&c->times, c->times.latest, sequence))
		c->times.latest = find_index(&c->times, sequence);
	time = find_time(&c->times, c->times.latest, sequence);
	if (!time || time->every == NVS_NOT_DRAWN)
		return false;
	empty = find_time(&c->empties, find_index(&c->empties, sequence), sequence);
	if (empty && empty->end > time->begin)
		empty = NULL;
	*timed = (struct nvs_submission_time){
		.channel = channel, .kind = time->kind, .sequence = sequence};
	timed->every = time->every ? time->every : 1;
	timed->reached = empty ? empty->begin : time->begin;
	if (time->kind == NVS_TIMING_WORK)
		fill_bracket(t, c, c->times.latest, empty, timed);
	if (c->times.latest + 1 < c->times.n)
		c->times.latest++;
	return true;
}

bool nvs_bracket_times_to_session(const struct nvs_bracket_times *t, uint32_t channel, uint64_t ns,
				  int64_t *at, uint64_t *give)
{
	const struct timed_channel *c = nvs_number_get(&t->channels, channel);

	return c && c->known && nvs_gpuclock_to_session(t->clock, c->gpu, ns, at, give);
}
