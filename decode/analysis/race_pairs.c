/* SPDX-License-Identifier: MIT */
/* The pairs of call sites between which races were found. */
#include <errno.h>
#include "decode/analysis/races.h"
#include "decode/calls/roles.h"

/* The latest submission of a channel for whose release another channel has waited. */
struct channel_acquire {
	struct {
		uint32_t waits, releases; /* channels */
	} key;
	uint64_t submission;
};

const struct nvs_race_site *nvs_race_site(struct nvs_races *r, const struct nvs_race_site_key *key)
{
	size_t n = r->sites.n;
	struct nvs_race_site *site;

	if (!r->sites.size)
		r->sites = NVS_ROWS(struct nvs_race_site, key);
	site = nvs_rows_at(&r->sites, key);
	if (site && r->sites.n > n)
		site->number = (uint32_t)n;
	return site;
}

void nvs_race_on_acquire(void *races, const struct nvs_sync_pair *pair)
{
	struct nvs_races *r = races;
	struct channel_acquire *a, key = {0};

	if (!pair->found || pair->later)
		return;
	if (!r->acquires.size)
		r->acquires = NVS_ROWS(struct channel_acquire, key);
	key.key.waits = pair->acquire.channel;
	key.key.releases = pair->release.channel;
	a = nvs_rows_at(&r->acquires, &key.key);
	if (a && a->submission < pair->release.submission)
		a->submission = pair->release.submission;
}

static bool has_acquired(const struct nvs_races *r, const struct nvs_access_work *first,
			 const struct nvs_access_work *second)
{
	const struct channel_acquire *a, key = {.key = {second->channel, first->channel}};

	if (first->channel == NVS_NONE || second->channel == NVS_NONE || !r->acquires.size)
		return false;
	a = nvs_rows_find(&r->acquires, &key.key);
	return a && a->submission >= first->submission;
}

static struct nvs_race_side side_of(const struct nvs_races *r, const struct nvs_access_work *work,
				    enum nvs_access_kind kind)
{
	return (struct nvs_race_side){r->sites.row[work->site], kind, *work};
}

int nvs_race_found(struct nvs_races *r, enum nvs_race_level level, enum nvs_race_cause cause,
		   const struct nvs_access_conflict *c)
{
	const struct nvs_race_key key = {c->first->site, c->second->site};
	struct nvs_race *race;

	if (!c->first->selected && !c->second->selected)
		return 0;
	if (!r->races.size)
		r->races = NVS_ROWS(struct nvs_race, key);
	race = nvs_rows_find(&r->races, &key);
	if (!race && r->races.n >= NVS_MAX_RACES) {
		r->lost++;
		return 0;
	}
	race = race ? race : nvs_rows_at(&r->races, &key);
	if (!race)
		return -ENOMEM;
	race->count[level]++;
	if (race->level >= level)
		return 0;
	race->level = level;
	race->cause = cause;
	race->first = side_of(r, c->first, c->first_kind);
	race->second = side_of(r, c->second, c->second_kind);
	race->address = c->address;
	race->memory = *c->memory;
	race->acquired = has_acquired(r, c->first, c->second);
	return 0;
}

static enum nvs_race_cause find_cause(const struct nvs_races *r,
				      const struct nvs_access_conflict *c)
{
	const struct nvs_access_work *a = c->first, *b = c->second;

	if (c->order == NVS_ORDER_OVERLAPS)
		return NVS_RACE_OVERLAP;
	if (c->order == NVS_ORDER_UNKNOWN)
		return NVS_RACE_UNKNOWN_WAIT;
	if (a->context == b->context && ((a->stream == NVS_STREAM_LEGACY && b->non_blocking) ||
					 (b->stream == NVS_STREAM_LEGACY && a->non_blocking)))
		return NVS_RACE_DEFAULT;
	return nvs_order_seen(r->stream, a->point.slot) ? NVS_RACE_EARLIER : NVS_RACE_NO_WAIT;
}

/* Whether the second kernel waits, by its code, before it uses what the first one does. */
static bool waits_by_code(struct nvs_races *r, const struct nvs_access_work *work, bool *known)
{
	const struct nvs_race_site *site = r->sites.row[work->site];

	*known = false;
	return site->key.kernel && nvs_kernel_waits(&r->uses, site->key.kernel->name, known);
}

int nvs_race_on_conflict(void *races, const struct nvs_access_conflict *c)
{
	struct nvs_races *r = races;
	enum nvs_race_level level = nvs_access_conflict(c->first_kind, c->second_kind);
	bool known = false;

	if (c->order == NVS_ORDER_OVERLAPS && waits_by_code(r, c->second, &known))
		return 0;
	if (c->order != NVS_UNORDERED && !known)
		level = NVS_RACE_POSSIBLE;
	return nvs_race_found(r, level, find_cause(r, c), c);
}
