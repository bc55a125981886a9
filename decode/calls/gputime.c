/* SPDX-License-Identifier: MIT */
/* Times of releases, as later submissions of the channel show them, and the stretches between. One
 * file, since all of it works on the same parts of a channel. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/gputime.h"

#define MAX_CHANNELS (1u << 20)
#define MAX_PARTS (1u << 16) /* of a channel that shows no times */
#define MAX_GPUS 64u
#define DRIFT 1000 /* one clock may gain one in so many on the other */
#define PRECISION 20 /* a stretch has to be known to one in so many of it */
#define STEP_NS 1024 /* in which a GPU's clock goes, at most */
#define START_NS 5000 /* from a doorbell to the work, where nothing is in its way */
#define PATIENCE 16 /* submissions without it, before the channel's slot is doubted */
#define BYTE_NS 4 /* an engine takes no longer for one */
#define OVER_NS 10000000 /* what is not done by then, and how long that takes, waits */
#define MAX_OTHERS 1024 /* channels that are looked through for others at work */

struct part {
	struct nvs_gputime_part p;
	bool settled;
	bool released; /* the channel's own slot, for which PAYLOAD is certain */
	bool alone; /* nothing else was under way on its engine */
	uint32_t payload; /* there, when this is done */
	uint64_t ns; /* when its release was done, 0: not known */
	uint64_t undone; /* host's time when it was last seen not to be done, 0: never */
	uint64_t rung; /* host's time by which its doorbell had been rung, 0: the next one's */
};

/* Stretches that follow each other, all of one group. */
struct run {
	uint64_t bytes; /* 0: there is none */
	uint64_t least, most; /* ns */
	uint64_t end;
	uint32_t group;
};

struct channel {
	struct part *parts;
	uint32_t n, room;
	uint32_t from; /* parts before it are done with; it is the start of the next stretch */
	uint32_t timed; /* the last one with a time + 1, 0: none */
	uint32_t done; /* parts before it are known to be */
	uint32_t unsettled;
	uint32_t gpu, engine;
	uint64_t busy; /* host's time until which it may have work, UINT64_MAX: nobody knows */
	uint64_t sequence, host; /* of the last part */
	uint64_t looked; /* host's time when the slot was last seen */
	bool any;
	/* The channel's own slot: what it was released with last, and how often in a row it counted
	 * up. */
	struct {
		uint64_t address;
		uint32_t payload;
		bool certain;
		uint8_t missed; /* submissions since that released elsewhere only */
	} slot;
	struct {
		uint64_t ns;
		uint32_t payload;
	} seen; /* last */
	struct run run;
	/* A submission whose grid may run on behind its release, until who acquires it has
	 * released. */
	struct {
		uint64_t grid, sequence,
			ns; /* grid 0: there is none; ns: of the release before it */
	} open;
};

/* At the host's time HOST the GPU's was NS, or later, or earlier. */
struct bound {
	uint64_t host, ns;
	bool any;
};

struct nvs_gputime {
	nvs_gputime_found *found;
	nvs_gputime_bounded *bounded; /* NULL: nobody asks */
	void *arg;
	struct channel *channels;
	uint32_t count;
	struct {
		struct bound least, most;
	} clock[MAX_GPUS];
};

struct nvs_gputime *nvs_gputime_new(nvs_gputime_found *found, void *arg)
{
	struct nvs_gputime *g = calloc(1, sizeof(*g));

	if (g)
		*g = (struct nvs_gputime){.found = found, .arg = arg};
	return g;
}

void nvs_gputime_watch(struct nvs_gputime *g, nvs_gputime_bounded *bounded)
{
	g->bounded = bounded;
}

void nvs_gputime_free(struct nvs_gputime *g)
{
	for (uint32_t i = 0; g && i < g->count; i++)
		free(g->channels[i].parts);
	if (g)
		free(g->channels);
	free(g);
}

static struct channel *channel_of(struct nvs_gputime *g, uint32_t number)
{
	if (number >= MAX_CHANNELS)
		return NULL;
	if (number >= g->count) {
		uint32_t n = number + 64;
		struct channel *list = realloc(g->channels, n * sizeof(*list));

		if (!list)
			return NULL;
		memset(list + g->count, 0, (n - g->count) * sizeof(*list));
		g->channels = list;
		g->count = n;
	}
	return g->channels + number;
}

/* ---- clocks ---- */

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The GPU's time at the host's time HOST, at least. */
static uint64_t least_at(const struct bound *b, uint64_t host)
{
	return b->ns + (host - b->host) - apart(host, b->host) / DRIFT;
}

static uint64_t most_at(const struct bound *b, uint64_t host)
{
	return b->ns + (host - b->host) + apart(host, b->host) / DRIFT;
}

void nvs_gputime_clock(struct nvs_gputime *g, uint32_t gpu, uint64_t host, uint64_t ns)
{
	struct bound *b = gpu < MAX_GPUS ? &g->clock[gpu].least : NULL;

	if (b && (!b->any || ns >= least_at(b, host)))
		*b = (struct bound){host, ns, true};
}

/* At the host's time HOST the GPU's was NS or earlier: a release was still to be done then. */
static void clock_before(struct nvs_gputime *g, uint32_t gpu, uint64_t host, uint64_t ns)
{
	struct bound *b = gpu < MAX_GPUS ? &g->clock[gpu].most : NULL;

	if (b && (!b->any || ns <= most_at(b, host)))
		*b = (struct bound){host, ns, true};
}

/* ---- stretches ---- */

static void flush(struct nvs_gputime *g, struct channel *c)
{
	uint64_t least = c->run.least - STEP_NS, most = c->run.most + STEP_NS;

	if (c->run.bytes && c->run.least > STEP_NS &&
	    most - least <= (most + least) / 2 / PRECISION)
		g->found(g->arg, c->run.group, c->run.bytes, (most + least) / 2);
	c->run.bytes = 0;
}

static void start_over(struct nvs_gputime *g, struct channel *c)
{
	flush(g, c);
	c->n = c->from = c->timed = c->done = c->unsettled = 0;
	c->looked = 0;
	c->open.grid = 0;
	memset(&c->seen, 0, sizeof(c->seen));
}

/* The part behind FROM whose time is known, if all up to it are settled; else 0. */
static uint32_t stretch_end(const struct channel *c)
{
	for (uint32_t i = c->from + 1; i < c->timed; i++) {
		if (!c->parts[i].settled)
			return 0;
		if (c->parts[i].ns)
			return i;
	}
	return 0;
}

/* The host's time by which its doorbell had been rung. */
static uint64_t rung_by(const struct channel *c, uint32_t i)
{
	uint64_t next = i + 1 < c->n ? c->parts[i + 1].p.host : c->host, rung = c->parts[i].rung;

	return rung && rung < next ? rung : next;
}

/*
 * For how long the channel may have stood idle before a part, after the host's time *COUNTED, up to
 * which that is known of those before. False: it had nothing to do when the part was made.
 */
static bool idle_before(const struct channel *c, uint32_t i, uint64_t *counted, uint64_t *ns)
{
	uint64_t start = rung_by(c, i) + START_NS, undone = c->parts[i - 1].undone;
	uint64_t from = undone > *counted ? undone : *counted;

	if (undone < c->parts[i].p.host)
		return false;
	if (start > from) {
		*ns += start - from;
		*counted = start;
	}
	return true;
}

/*
 * How long the GPU took from FROM to LAST, between *LEAST and *MOST. *JOINED: from the end of FROM
 * on; else the first was rung when the channel had nothing to do. False: not known.
 */
static bool bound_stretch(const struct nvs_gputime *g, const struct channel *c, uint32_t last,
			  uint64_t *least, uint64_t *most, bool *joined)
{
	const struct part *a = c->parts + c->from, *b = c->parts + last;
	uint64_t idle = 0, counted = 0, lo = a->ns, hi = a->ns;

	if (!a->ns)
		return false;
	*joined = idle_before(c, c->from + 1, &counted, &idle);
	if (!*joined) {
		uint32_t gpu = a[1].p.gpu;

		if (!a[1].alone || gpu >= MAX_GPUS || !g->clock[gpu].least.any ||
		    !g->clock[gpu].most.any)
			return false;
		lo = least_at(&g->clock[gpu].least, a[1].p.host);
		lo = lo > a->ns ? lo : a->ns;
		hi = most_at(&g->clock[gpu].most, rung_by(c, c->from + 1)) + START_NS;
	}
	for (uint32_t i = c->from + 2; i <= last; i++)
		if (!idle_before(c, i, &counted, &idle))
			return false;
	/* A clock that stands, or runs backwards: a time is not what it was taken for. */
	*most = b->ns - lo;
	*least = b->ns - hi - idle;
	return lo <= hi && hi < b->ns && idle < b->ns - hi && *most - *least <= *most / PRECISION;
}

static bool is_of(const struct part *p, uint32_t group)
{
	return !p->p.waits && (p->p.idle || p->p.group == group);
}

static uint32_t group_of(const struct part *a, const struct part *b)
{
	while (++a <= b)
		if (!a->p.idle)
			return a->p.group;
	return NVS_GPUTIME_OTHER;
}

static void tell(struct nvs_gputime *g, struct channel *c, uint32_t last)
{
	const struct part *a = c->parts + c->from, *b = c->parts + last;
	uint64_t bytes = 0, least, most;
	uint32_t group = group_of(a, b);
	bool joined;

	if (group == NVS_GPUTIME_OTHER || !bound_stretch(g, c, last, &least, &most, &joined))
		return;
	for (const struct part *p = a + 1; p <= b; p++) {
		if (!is_of(p, group))
			return;
		bytes += p->p.bytes;
	}
	if (!bytes)
		return;
	if (c->run.bytes && (!joined || c->run.group != group || c->run.end != a->ns))
		flush(g, c);
	if (!c->run.bytes)
		c->run = (struct run){.group = group};
	c->run.bytes += bytes;
	c->run.least += least;
	c->run.most += most;
	c->run.end = b->ns;
	/* What is known less well by itself is not to spoil what follows. */
	if (!joined)
		flush(g, c);
}

static void tell_bound(const struct nvs_gputime *g, struct channel *c, uint32_t end)
{
	const struct part *a = c->parts + c->from, *b = c->parts + end;
	uint32_t number = (uint32_t)(c - g->channels);
	bool known = end == c->from + 1 && !b->p.continues && a->ns && b->ns > a->ns;

	if (!g->bounded)
		return;
	if (known && c->open.grid && b->p.awaits == c->open.grid)
		g->bounded(g->arg, number, c->open.sequence, b->ns - c->open.ns + STEP_NS);
	c->open.grid = known ? b->p.grid : 0;
	c->open.sequence = b->p.sequence;
	c->open.ns = a->ns;
	if (known && !b->p.grid)
		g->bounded(g->arg, number, b->p.sequence, b->ns - a->ns + STEP_NS);
}

static void drain(struct nvs_gputime *g, struct channel *c)
{
	uint32_t end;

	while ((end = stretch_end(c))) {
		tell(g, c, end);
		tell_bound(g, c, end);
		c->from = end;
	}
	if (c->from > 64 && c->from > c->n / 2) {
		c->n -= c->from;
		memmove(c->parts, c->parts + c->from, c->n * sizeof(*c->parts));
		c->timed -= c->from;
		c->done -= c->from;
		c->from = 0;
	}
}

/* ---- observations ---- */

/* The first part, from FROM on, with which the slot held PAYLOAD or a later one. */
static uint32_t part_of(const struct channel *c, uint32_t payload)
{
	uint32_t lo = c->from, hi = c->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if ((int32_t)(c->parts[mid].payload - payload) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Parts before END are done by now; when the slot was last looked at, those that release it were
 * not. */
static void see_done(struct channel *c, uint32_t end)
{
	for (; c->done < end; c->done++) {
		struct part *p = c->parts + c->done;

		p->undone = p->released ? c->looked : c->done > c->from ? p[-1].undone : 0;
	}
}

/*
 * Before the part itself is taken in. True: it is certain that a release was done at the time seen.
 */
static bool observe(struct nvs_gputime *g, struct channel *c, const struct nvs_gputime_part *p)
{
	bool newest, same;
	struct part *part;
	uint32_t at;

	if (!c->slot.certain || p->seen.address != c->slot.address || !c->n || p->seen.ns >> 63)
		return false;
	at = part_of(c, p->seen.payload);
	if (at == c->n)
		return false;
	part = c->parts + at;
	/* None of them is done yet? */
	if (part->payload != p->seen.payload) {
		c->looked = p->host;
		return false;
	}
	see_done(c, at + 1);
	c->looked = p->host;
	if (c->done == c->n)
		c->busy = 0;
	newest = p->seen.payload == c->slot.payload;
	same = c->seen.payload == p->seen.payload && c->seen.ns == p->seen.ns;
	c->seen.payload = p->seen.payload;
	c->seen.ns = p->seen.ns;
	if (!part->released || !p->seen.ns || (!newest && !same))
		return false;
	if (!part->ns && at >= c->timed) {
		part->ns = p->seen.ns;
		c->timed = at + 1;
		clock_before(g, part->p.gpu,
			     part->undone > part->p.host ? part->undone : part->p.host, part->ns);
		drain(g, c);
	}
	return true;
}

/* ---- parts ---- */

static int room_for_one(struct nvs_gputime *g, struct channel *c)
{
	uint32_t room = c->room ? 2 * c->room : 64;
	struct part *parts;

	if (c->n < c->room)
		return 0;
	if (c->n >= MAX_PARTS) {
		start_over(g, c);
		return 0;
	}
	parts = realloc(c->parts, room * sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	c->parts = parts;
	c->room = room;
	return 0;
}

/* Which of its releases is the channel's own. True: one is, for certain. */
static bool find_release(struct nvs_gputime *g, struct channel *c, const struct nvs_gputime_part *p)
{
	bool released = false;

	for (uint32_t i = 0; i < p->nreleases; i++) {
		if (!c->slot.address || p->releases[i].address != c->slot.address)
			continue;
		if (p->releases[i].payload != c->slot.payload + 1) {
			memset(&c->slot, 0, sizeof(c->slot));
			break;
		}
		c->slot.payload++;
		c->slot.certain = released = true;
		c->slot.missed = 0;
	}
	if (released || !p->nreleases || (c->slot.address && ++c->slot.missed <= PATIENCE))
		return released;
	/* What a channel releases first of all is its own slot. Any other has to count up by one
	 * first. */
	start_over(g, c);
	c->slot.address = p->releases[0].address;
	c->slot.payload = p->releases[0].payload;
	c->slot.certain = p->sequence == 0;
	c->slot.missed = 0;
	return c->slot.certain;
}

/* ---- what else the engine has to do ---- */

static void note_work(struct channel *c, const struct nvs_gputime_part *p)
{
	if (p->idle || c->busy == UINT64_MAX)
		return;
	if (p->waits || p->load > UINT32_MAX * 1024ull)
		c->busy = UINT64_MAX;
	else
		c->busy = (c->busy > p->host ? c->busy : p->host) + OVER_NS + p->load * BYTE_NS;
}

/* Whether a channel with nothing to do would have its engine for itself. */
static bool is_alone(const struct nvs_gputime *g, const struct channel *c)
{
	if (c->done < c->n || g->count > MAX_OTHERS)
		return false;
	for (const struct channel *o = g->channels; o < g->channels + g->count; o++)
		if (o != c && o->busy > c->host && o->gpu == c->gpu && o->engine == c->engine)
			return false;
	return true;
}

int nvs_gputime_add(struct nvs_gputime *g, const struct nvs_gputime_part *p)
{
	struct channel *c = channel_of(g, p->channel);
	bool certain, released, alone;

	if (!c)
		return p->channel < MAX_CHANNELS ? -ENOMEM : 0;
	/* What is missing may have taken any time. */
	if (p->host < c->host || (c->any && p->sequence != c->sequence + !p->continues))
		start_over(g, c);
	c->any = true;
	c->sequence = p->sequence;
	c->host = p->host;
	if (!p->host)
		return 0;
	c->gpu = p->gpu;
	c->engine = p->engine;
	certain = observe(g, c, p);
	released = find_release(g, c, p);
	alone = is_alone(g, c);
	if (room_for_one(g, c))
		return -ENOMEM;
	c->parts[c->n++] = (struct part){.p = *p,
					 .settled = !p->owned,
					 .released = released,
					 .alone = alone,
					 .payload = c->slot.payload};
	note_work(c, p);
	c->unsettled += p->owned;
	return certain;
}

void nvs_gputime_settle(struct nvs_gputime *g, uint32_t thread, uint64_t number, uint32_t group,
			uint64_t host)
{
	for (uint32_t k = 0; k < g->count; k++) {
		struct channel *c = g->channels + k;
		bool any = false;

		for (uint32_t i = c->n; i && c->unsettled; i--) {
			struct part *p = c->parts + i - 1;

			if (p->settled || p->p.thread != thread || p->p.number != number)
				continue;
			p->settled = any = true;
			p->p.group = group;
			p->rung = host;
			c->unsettled--;
		}
		if (any)
			drain(g, c);
	}
}

void nvs_gputime_end(struct nvs_gputime *g)
{
	for (uint32_t i = 0; i < g->count; i++)
		flush(g, g->channels + i);
}
