/* SPDX-License-Identifier: MIT */
/* Times of releases, as later submissions of the channel show them, and the stretches between. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/gputime.h"

#define MAX_CHANNELS (1u << 20)
#define MAX_PARTS    (1u << 16) /* of a channel that shows no times */
#define MAX_GPUS     64u
#define DRIFT	     1000 /* one clock may gain one in so many on the other */
#define PRECISION    10 /* a start has to be known to one in so many of its stretch */
#define MAX_BACK     4096u /* submissions that can be under way */

struct part {
	struct nvs_gputime_part p;
	bool settled;
	bool queued; /* behind one that was not done yet */
	uint64_t ns; /* when its release was done, 0: not known */
	uint64_t least, most; /* GPU time when it was submitted, 0: not known */
};

struct channel {
	struct part *parts;
	uint32_t n, room;
	uint32_t from; /* parts before it are done with; it is the start of the next stretch */
	uint32_t timed; /* the last one with a time + 1, 0: none */
	uint32_t unsettled;
	uint64_t sequence; /* of the last part */
	bool any;
	struct {
		uint64_t address, ns;
		uint32_t payload;
	} seen; /* last */
	bool busy; /* when that was seen */
};

struct nvs_gputime {
	nvs_gputime_found *found;
	void *arg;
	struct channel *channels;
	uint32_t count;
	struct {
		bool has_least, has_most;
		/* What the GPU's is ahead of the host's, if it has lost, or gained, DRIFT since host time 0. */
		int64_t least, most;
	} clock[MAX_GPUS];
};

struct nvs_gputime *nvs_gputime_new(nvs_gputime_found *found, void *arg)
{
	struct nvs_gputime *g = calloc(1, sizeof(*g));

	if (g) {
		g->found = found;
		g->arg = arg;
	}
	return g;
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
	if (number < g->count)
		return g->channels + number;
	if (number < MAX_CHANNELS) {
		uint32_t n = number + 64;
		struct channel *list = realloc(g->channels, n * sizeof(*list));

		if (!list)
			return NULL;
		memset(list + g->count, 0, (n - g->count) * sizeof(*list));
		g->channels = list;
		g->count = n;
		return list + number;
	}
	return NULL;
}

static void start_over(struct channel *c)
{
	c->n = c->from = c->timed = c->unsettled = 0;
	memset(&c->seen, 0, sizeof(c->seen));
	c->busy = false;
}

/* ---- stretches ---- */

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

/* When the first of a stretch that ends at NS may have begun: 0 if that is not known well enough. */
static uint64_t stretch_start(const struct part *before, const struct part *first, uint64_t ns)
{
	if (first->queued)
		return before->ns;
	if (!first->least || !first->most || first->most < first->least || first->least >= ns ||
	    (first->most - first->least) * PRECISION > ns - first->least)
		return 0;
	return before->ns > first->least ? before->ns : first->least;
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

static void tell(struct nvs_gputime *g, const struct channel *c, uint32_t last)
{
	const struct part *a = c->parts + c->from, *b = c->parts + last;
	uint64_t bytes = 0, start = stretch_start(a, a + 1, b->ns);
	uint32_t group = group_of(a, b);

	/* The GPU's clock does not stand still, nor does it run backwards: else a time is not what it
	 * was taken for. */
	if (!start || b->ns <= start || group == NVS_GPUTIME_OTHER)
		return;
	for (const struct part *p = a + 1; p <= b; p++) {
		if (!is_of(p, group) || (!p->queued && p != a + 1))
			return;
		bytes += p->p.bytes;
	}
	if (bytes)
		g->found(g->arg, group, bytes, b->ns - start);
}

static void drain(struct nvs_gputime *g, struct channel *c)
{
	uint32_t end;

	while ((end = stretch_end(c))) {
		tell(g, c, end);
		c->from = end;
	}
	if (c->from > 64 && c->from > c->n / 2) {
		c->n -= c->from;
		memmove(c->parts, c->parts + c->from, c->n * sizeof(*c->parts));
		c->timed -= c->from;
		c->from = 0;
	}
}

/* ---- clocks ---- */

void nvs_gputime_clock(struct nvs_gputime *g, uint32_t gpu, uint64_t host, uint64_t ns)
{
	int64_t least = (int64_t)(ns - host) + (int64_t)(host / DRIFT);

	if (gpu >= MAX_GPUS || (g->clock[gpu].has_least && g->clock[gpu].least >= least))
		return;
	g->clock[gpu].has_least = true;
	g->clock[gpu].least = least;
}

/* At the host's time HOST the GPU's was NS or earlier: a release was submitted then, and done at NS. */
static void clock_before(struct nvs_gputime *g, uint32_t gpu, uint64_t host, uint64_t ns)
{
	int64_t most = (int64_t)(ns - host) - (int64_t)(host / DRIFT);

	if (!host || gpu >= MAX_GPUS || (g->clock[gpu].has_most && g->clock[gpu].most <= most))
		return;
	g->clock[gpu].has_most = true;
	g->clock[gpu].most = most;
}

static void set_bounds(const struct nvs_gputime *g, struct part *p)
{
	uint64_t host = p->p.host;

	if (!host || p->p.gpu >= MAX_GPUS)
		return;
	if (g->clock[p->p.gpu].has_least)
		p->least = host + (uint64_t)g->clock[p->p.gpu].least - host / DRIFT;
	if (g->clock[p->p.gpu].has_most)
		p->most = host + (uint64_t)g->clock[p->p.gpu].most + host / DRIFT;
}

/* ---- observations ---- */

static void set_time(struct nvs_gputime *g, struct channel *c, uint32_t at, uint64_t ns)
{
	if (c->parts[at].ns || at + 1 < c->timed)
		return;
	c->parts[at].ns = ns;
	c->timed = at + 1;
	clock_before(g, c->parts[at].p.gpu, c->parts[at].p.host, ns);
	drain(g, c);
}

/* The part that released PAYLOAD, + 1; 0: none. NEWEST: of all that release there. */
static uint32_t released_by(const struct channel *c, uint64_t address, uint32_t payload, bool *newest)
{
	*newest = true;
	for (uint32_t i = c->n; i > c->from && c->n - i < MAX_BACK; i--) {
		const struct nvs_gputime_part *p = &c->parts[i - 1].p;

		if (!p->released || p->address != address)
			continue;
		if (p->payload == payload)
			return i;
		*newest = false;
	}
	return 0;
}

int nvs_gputime_observe(struct nvs_gputime *g, uint32_t channel, uint64_t address, uint32_t payload,
			uint64_t ns)
{
	struct channel *c = channel_of(g, channel);
	bool newest, same;
	uint32_t at;

	if (!c)
		return channel < MAX_CHANNELS ? -ENOMEM : 0;
	at = address && ns ? released_by(c, address, payload, &newest) : 0;
	c->busy = at && !newest;
	if (!at)
		return 0;
	same = c->seen.address == address && c->seen.payload == payload && c->seen.ns == ns;
	c->seen.address = address;
	c->seen.payload = payload;
	c->seen.ns = ns;
	if (!newest && !same)
		return 0;
	set_time(g, c, at - 1, ns);
	return 1;
}

/* ---- parts ---- */

static int room_for_one(struct channel *c)
{
	uint32_t room = c->room ? 2 * c->room : 64;
	struct part *parts;

	if (c->n < c->room)
		return 0;
	if (c->n >= MAX_PARTS) {
		start_over(c);
		return 0;
	}
	parts = realloc(c->parts, room * sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	c->parts = parts;
	c->room = room;
	return 0;
}

int nvs_gputime_add(struct nvs_gputime *g, const struct nvs_gputime_part *part)
{
	struct channel *c = channel_of(g, part->channel);

	if (!c)
		return part->channel < MAX_CHANNELS ? -ENOMEM : 0;
	/* What is missing may have taken any time. */
	if (c->any && part->sequence != c->sequence + !part->continues)
		start_over(c);
	c->any = true;
	c->sequence = part->sequence;
	if (room_for_one(c))
		return -ENOMEM;
	c->parts[c->n++] = (struct part){.p = *part, .settled = !part->owned, .queued = c->busy};
	set_bounds(g, c->parts + c->n - 1);
	c->unsettled += part->owned;
	return 0;
}

void nvs_gputime_settle(struct nvs_gputime *g, uint32_t thread, uint64_t number, uint32_t group)
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
			c->unsettled--;
		}
		if (any)
			drain(g, c);
	}
}
