/* SPDX-License-Identifier: MIT */
/*
 * The GPU's own time of submissions: what is kept of it, and what follows from all together. One
 * file, since all of it fills or reads a channel's one list.
 */
#include "decode/calls/bracket_times.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/numbers.h"
#include "decode/base/search.h"
#include "decode/calls/gpuclock.h"
#include "decode/calls/semaphore_pairs.h"

#define STEP_NS 32u /* of the GPU's clock */
#define LONGEST_NS (1ull << 53) /* a hundred days, where the session's length is not known */
#define SLACK_NS 1000000u /* by which, and a thousandth, two clocks may differ over all of it */

struct time {
	uint64_t sequence, begin, end;
	uint64_t after; /* what it waited for was done then; 0: it waited for nothing */
	uint64_t open; /* until then the bracket of what it waited for was open; 0: likewise */
	uint64_t shared; /* of an empty one: in which any other channel was at work */
	uint32_t kind;
	bool differs; /* from another one of its submission */
	bool waited; /* nobody knows until when */
	bool reached; /* begin is when the channel came to it: work before it may have been under
			 way */
};

/* A submission, of all channels. */
struct place {
	uint32_t channel;
	uint64_t sequence;
};

/* A cannot begin before B is done. */
struct wait {
	struct place a, b; /* b.channel NVS_NONE: not known */
	bool late; /* it had begun before it waited */
};

/* In order of the sequence, once that is settled. */
struct times {
	struct time *at;
	uint32_t n, room;
	uint32_t latest; /* that was asked for: the next one will be asked for next */
	bool mixed; /* they did not come in that order */
};

struct channel {
	struct times times, empties;
	struct nvs_empty empty;
	uint32_t gpu, engine;
	bool known; /* which these are */
};

struct nvs_timing {
	struct nvs_numbers channels;
	struct nvs_gpuclock *clock;
	struct nvs_sync *sync;
	struct wait *waits;
	size_t nwaits, waits_room;
	uint64_t number; /* of the submission in progress */
	bool worked; /* that has begun to work */
	int status;
	struct nvs_timing_faults faults;
	uint64_t longest; /* that anything can have taken, ns */
	bool any;
};

/* An acquire, with the release that it waited for. */
static void on_pair(void *arg, const struct nvs_sync_pair *pair)
{
	struct nvs_timing *t = arg;

	/* Of one channel each is done before the next begins. */
	if (pair->found && pair->acquire.channel == pair->release.channel)
		return;
	if (t->nwaits == t->waits_room) {
		size_t room = t->waits_room ? 2 * t->waits_room : 64;
		struct wait *more = NULL;

		if (nvs_budget_left() > room * sizeof(*more) + nvs_budget_whole() / 4)
			more = realloc(t->waits, room * sizeof(*more));
		if (!more) {
			t->status = -ENOMEM;
			return;
		}
		t->waits = more;
		t->waits_room = room;
	}
	t->waits[t->nwaits++] = (struct wait){
		{pair->acquire.channel, pair->acquire.submission},
		{pair->found ? pair->release.channel : NVS_NONE, pair->release.submission},
		pair->acquire.api};
}

struct nvs_timing *nvs_timing_new(void)
{
	struct nvs_timing *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->clock = nvs_gpuclock_new();
	t->sync = nvs_sync_new(on_pair, t);
	if (t->clock && t->sync)
		return t;
	nvs_timing_free(t);
	return NULL;
}

static void free_channel(void *item)
{
	struct channel *c = item;

	free(c->times.at);
	free(c->empties.at);
	free(c);
}

void nvs_timing_free(struct nvs_timing *t)
{
	if (!t)
		return;
	nvs_numbers_free(&t->channels, free_channel);
	nvs_gpuclock_free(t->clock);
	nvs_sync_free(t->sync);
	free(t->waits);
	free(t);
}

/* ---- records ---- */

/* False: there is no memory for more. */
static bool add(struct times *times, const struct time *time)
{
	if (times->n == times->room) {
		uint64_t room = times->room + times->room / 2 + 64;
		struct time *at = NULL;

		if (room <= UINT32_MAX && nvs_budget_spare(room * sizeof(*at)))
			at = realloc(times->at, room * sizeof(*at));
		if (!at)
			return false;
		times->at = at;
		times->room = (uint32_t)room;
	}
	times->mixed |= times->n && times->at[times->n - 1].sequence >= time->sequence;
	times->at[times->n++] = *time;
	return true;
}

static bool is_wrong(const struct nvs_rec_gpu_time *r)
{
	return !r->begin || (r->kind != NVS_TIMING_DISPATCH && r->end < r->begin);
}

static int take_time(struct nvs_timing *t, const struct nvs_rec_gpu_time *r)
{
	struct time time = {
		.sequence = r->sequence, .begin = r->begin, .end = r->end, .kind = r->kind};
	struct channel *c;

	if (r->kind < NVS_TIMING_DISPATCH || r->kind > NVS_TIMING_REACHED)
		return 0; /* of a later nvsnoop */
	if (r->kind == NVS_TIMING_REACHED) {
		time.kind = NVS_TIMING_WORK;
		time.reached = true;
	}
	if (is_wrong(r) || r->channel >= NVS_MAX_NUMBER) {
		t->faults.wrong++;
		return 0;
	}
	c = nvs_number_make(&t->channels, r->channel, sizeof(*c));
	if (!c)
		return -ENOMEM;
	t->faults.untold += !add(r->kind == NVS_TIMING_EMPTY ? &c->empties : &c->times, &time);
	return 0;
}

int nvs_timing_record(struct nvs_timing *t, const struct nvs_rec *rec)
{
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

int nvs_timing_op(struct nvs_timing *t, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_sync_side who = {s->rec->sequence, s->channel->channel, NULL};
	int r;

	if (t->number != s->number)
		t->worked = false;
	t->number = s->number;
	/* The name is of no other use here. */
	if (op->kind == NVS_OP_ACQUIRE && t->worked)
		who.api = "late";
	t->worked |= is_work(op);
	r = nvs_sync_op(t->sync, &who, op);
	return r ? r : t->status;
}

/* ---- in order ---- */

static int by_sequence(const void *pa, const void *pb)
{
	const struct time *a = pa, *b = pb;

	return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

/* Longer than all that was recorded. */
static void drop_long(struct nvs_timing *t, struct times *times)
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

/* Of one that is told twice, one where both say the same, and none where they do not. */
static void put_in_order(struct nvs_timing *t, struct times *times)
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
		t->faults.twice += times->at[i].differs;
		if (!times->at[i].differs)
			times->at[kept++] = times->at[i];
	}
	times->n = kept;
}

/* The first of SEQUENCE or behind it. */
static uint32_t place_of(const struct times *times, uint64_t sequence)
{
	return (uint32_t)NVS_BELOW(times->at, times->n, sequence, sequence);
}

static const struct time *time_of(const struct times *times, uint32_t at, uint64_t sequence)
{
	return at < times->n && times->at[at].sequence == sequence ? times->at + at : NULL;
}

static uint64_t begin_of(const struct time *time)
{
	return time->after ? time->after : time->begin;
}

/*
 * Of a channel's work that waited for nothing before its begin was taken, each begins when the one
 * before is done: what was done later than that ran beside it.
 */
static void put_one_behind_the_other(struct times *times)
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

/* A bracket begins or ends. */
struct edge {
	uint64_t ns;
	struct time *time;
	bool end;
};

static int by_ns(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return b->end - a->end;
}

/* While it waits it shares the engine with nobody. */
static uint64_t opens_at(const struct time *time)
{
	return time->open ? time->open : time->begin;
}

static size_t brackets(const struct times *times)
{
	size_t n = 0;

	for (uint32_t i = 0; i < times->n; i++)
		n += times->at[i].end > opens_at(times->at + i);
	return n;
}

static size_t put_edges(struct edge *edge, const struct times *times)
{
	size_t n = 0;

	for (uint32_t i = 0; i < times->n; i++) {
		struct time *time = times->at + i;

		time->shared = 0;
		if (time->end <= opens_at(time))
			continue;
		edge[n++] = (struct edge){opens_at(time), time, false};
		edge[n++] = (struct edge){time->end, time, true};
	}
	return n;
}

/*
 * Of each bracket, for how long another one was open; of each empty one, for how long any was that
 * is not: of its own channel none can be.
 */
static void sweep(struct edge *edge, size_t n)
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

static void not_known(struct times *times)
{
	for (uint32_t i = 0; i < times->n; i++)
		times->at[i].shared = NVS_UNKNOWN;
}

/* N channels of one engine. */
static void see_engine(struct channel **channel, size_t n)
{
	struct edge *edge;
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += 2 * (brackets(&channel[i]->times) + brackets(&channel[i]->empties));
	edge = nvs_budget_spare(count * sizeof(*edge)) ? malloc((count + 1) * sizeof(*edge)) : NULL;
	count = 0;
	for (size_t i = 0; i < n; i++)
		if (edge) {
			count += put_edges(edge + count, &channel[i]->times);
			count += put_edges(edge + count, &channel[i]->empties);
		} else {
			not_known(&channel[i]->times);
			not_known(&channel[i]->empties);
		}
	if (!edge)
		return;
	qsort(edge, count, sizeof(*edge), by_ns);
	sweep(edge, count);
	free(edge);
}

static int by_engine(const void *pa, const void *pb)
{
	const struct channel *a = *(struct channel *const *)pa, *b = *(struct channel *const *)pb;

	if (a->gpu != b->gpu)
		return a->gpu < b->gpu ? -1 : 1;
	return (a->engine > b->engine) - (a->engine < b->engine);
}

static void settle_channels(struct nvs_timing *t, const struct nvs_trace *trace)
{
	for (uint32_t i = 0; i < t->channels.count; i++) {
		const struct nvs_trace_channel *of = nvs_trace_channel_at(trace, i);
		struct channel *c = nvs_number_get(&t->channels, i);

		if (!c)
			continue;
		put_in_order(t, &c->times);
		put_one_behind_the_other(&c->times);
		put_in_order(t, &c->empties);
		c->known = of && of->known;
		if (c->known) {
			c->gpu = of->rec.gpu;
			c->engine = of->rec.engine;
		} else {
			not_known(&c->times);
		}
	}
}

static int see_engines(struct nvs_timing *t)
{
	struct channel **list = calloc(t->channels.count + 1ul, sizeof(*list));
	size_t n = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->channels.count; i++) {
		struct channel *c = nvs_number_get(&t->channels, i);

		if (c && c->known)
			list[n++] = c;
	}
	if (n)
		qsort(list, n, sizeof(*list), by_engine);
	for (size_t i = 0, to; i < n; i = to) {
		for (to = i + 1; to < n && !by_engine(list + i, list + to); to++)
			;
		if (to - i > 1)
			see_engine(list + i, to - i);
	}
	free(list);
	return 0;
}

/* ---- what was waited for ---- */

/* NULL: it has no bracket. */
static struct time *bracket_at(const struct nvs_timing *t, const struct place *at)
{
	struct channel *c = nvs_number_get(&t->channels, at->channel);
	struct time *time = c ? (struct time *)time_of(&c->times, place_of(&c->times, at->sequence),
						       at->sequence)
			      : NULL;

	return time && time->kind == NVS_TIMING_WORK ? time : NULL;
}

/* No later than that was B's release: what an empty bracket takes is behind the work. */
static uint64_t done_at(const struct nvs_timing *t, const struct wait *wait, const struct time *b)
{
	const struct channel *c = nvs_number_get(&t->channels, wait->b.channel);
	uint64_t begin = begin_of(b);

	return b->end - begin > c->empty.ns ? b->end - c->empty.ns : begin;
}

static bool on_one_gpu(const struct nvs_timing *t, const struct wait *wait)
{
	const struct channel *a = nvs_number_get(&t->channels, wait->a.channel);
	const struct channel *b = nvs_number_get(&t->channels, wait->b.channel);

	return a->known && b->known && a->gpu == b->gpu;
}

/* Is a bracket open for less long than it was? */
static bool put_waits(struct nvs_timing *t)
{
	bool any = false;

	for (size_t i = 0; i < t->nwaits; i++) {
		const struct wait *wait = &t->waits[i];
		struct time *a = bracket_at(t, &wait->a);
		const struct time *b = a && wait->b.channel != NVS_NONE ? bracket_at(t, &wait->b)
									: NULL;
		uint64_t done;

		if (!a)
			continue;
		if (!b || !on_one_gpu(t, wait) || b->end > a->end) {
			a->waited = true;
			continue;
		}
		done = done_at(t, wait, b);
		if (done > a->begin && wait->late)
			a->waited = true;
		else if (done > a->begin && done > a->after)
			a->after = done;
		if (!wait->late && b->end > opens_at(a)) {
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

	return (*a > *b) - (*a < *b);
}

static uint64_t greatest(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t most = a > b ? a : b;

	return most > c ? most : c;
}

static int calibrate(struct channel *c)
{
	uint64_t *ns = calloc(c->empties.n + 1ul, sizeof(*ns)), n = 0;

	if (!ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->empties.n; i++)
		if (!c->empties.at[i].shared)
			ns[n++] = c->empties.at[i].end - c->empties.at[i].begin;
	if (n) {
		qsort(ns, n, sizeof(*ns), by_size);
		c->empty.count = n;
		c->empty.ns = ns[(n - 1) / 2];
		c->empty.spread = greatest(c->empty.ns - ns[n / 10],
					   ns[n - 1 - n / 10] - c->empty.ns, STEP_NS);
	}
	free(ns);
	return 0;
}

static uint64_t longest(const struct nvs_trace *trace)
{
	int64_t ns;

	if (!nvs_clock_since_start(trace, nvs_trace_session(trace)->last_time, &ns) || ns < 0)
		return LONGEST_NS;
	return (uint64_t)ns + (uint64_t)ns / 1000 + SLACK_NS;
}

int nvs_timing_settle(struct nvs_timing *t, const struct nvs_trace *trace)
{
	int r;

	t->longest = longest(trace);
	settle_channels(t, trace);
	r = see_engines(t);
	for (uint32_t i = 0; i < t->channels.count && !r; i++) {
		struct channel *c = nvs_number_get(&t->channels, i);

		if (c)
			r = calibrate(c);
	}
	nvs_sync_end(t->sync);
	if (!r && put_waits(t))
		r = see_engines(t);
	/* Of many traces none keeps what it needs no more. */
	nvs_sync_free(t->sync);
	t->sync = NULL;
	free(t->waits);
	t->waits = NULL;
	t->nwaits = t->waits_room = 0;
	nvs_gpuclock_settle(t->clock, trace);
	return r ? r : t->status;
}

/* ---- what is asked ---- */

bool nvs_timing_any(const struct nvs_timing *t)
{
	return t->any;
}

const struct nvs_timing_faults *nvs_timing_faults(const struct nvs_timing *t)
{
	return &t->faults;
}

bool nvs_timing_empty(const struct nvs_timing *t, uint32_t channel, struct nvs_empty *empty)
{
	const struct channel *c = nvs_number_get(&t->channels, channel);

	if (!c || !c->empty.count)
		return false;
	*empty = c->empty;
	return true;
}

/* An empty bracket that stands before it is no idle time. */
static uint64_t idle_before(const struct nvs_timing *t, const struct times *times, uint32_t at,
			    const struct time *empty)
{
	const struct time *now = times->at + at, *before = at ? now - 1 : NULL;
	uint64_t taken = empty ? empty->end - empty->begin : 0, begin = begin_of(now);

	if (!before || before->sequence + 1 != now->sequence || before->kind != NVS_TIMING_WORK ||
	    before->end > begin || begin - before->end > t->longest || now->waited)
		return NVS_UNKNOWN;
	return begin - before->end > taken ? begin - before->end - taken : 0;
}

static void tell_bracket(const struct nvs_timing *t, const struct channel *c, uint32_t at,
			 const struct time *empty, struct nvs_timed *timed)
{
	const struct time *time = c->times.at + at;
	uint64_t ns = time->end - begin_of(time);

	timed->begin = begin_of(time);
	timed->end = time->end;
	timed->waited = time->waited;
	timed->subtracted = c->empty.count;
	timed->ns = ns > c->empty.ns ? ns - c->empty.ns : 0;
	timed->brief = timed->subtracted && timed->ns <= c->empty.spread;
	timed->shared = time->shared == NVS_UNKNOWN || time->shared < ns ? time->shared : ns;
	timed->idle = idle_before(t, &c->times, at, empty);
}

bool nvs_timing_of(struct nvs_timing *t, uint32_t channel, uint64_t sequence,
		   struct nvs_timed *timed)
{
	struct channel *c = nvs_number_get(&t->channels, channel);
	const struct time *time, *empty;

	if (!c)
		return false;
	if (!time_of(&c->times, c->times.latest, sequence))
		c->times.latest = place_of(&c->times, sequence);
	time = time_of(&c->times, c->times.latest, sequence);
	if (!time)
		return false;
	empty = time_of(&c->empties, place_of(&c->empties, sequence), sequence);
	if (empty && empty->end > time->begin)
		empty = NULL;
	*timed = (struct nvs_timed){.channel = channel, .kind = time->kind, .sequence = sequence};
	timed->reached = empty ? empty->begin : time->begin;
	if (time->kind == NVS_TIMING_WORK)
		tell_bracket(t, c, c->times.latest, empty, timed);
	if (c->times.latest + 1 < c->times.n)
		c->times.latest++;
	return true;
}

bool nvs_timing_session(const struct nvs_timing *t, uint32_t channel, uint64_t ns, int64_t *at,
			uint64_t *give)
{
	const struct channel *c = nvs_number_get(&t->channels, channel);

	return c && c->known && nvs_gpuclock_session(t->clock, c->gpu, ns, at, give);
}
