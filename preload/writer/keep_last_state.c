/* SPDX-License-Identifier: MIT */
/*
 * The state repeated at the start of a part: records that are still of use, found by their subject.
 * It decides for each record type what becomes of a record. The program may have overwritten
 * records: sizes were checked by the merge, offsets inside records are checked here.
 */
#include <string.h>
#include "preload/base/preload.h"
#include "preload/writer/keep_last_state.h"
#include "trap/trap.h"

#define BUCKETS 1024u /* initially */
#define MAX_BUCKETS (1u << 20) /* a rehash visits all of them between two heartbeats */
#define MAX_AHEAD 256u
#define MAX_RANGES 65536u /* begun and not ended, as in a program that does not end them */

/* The subject of a record: its type and one or two numbers. */
struct state_key {
	uint32_t type;
	uint64_t a, b;
};

struct state_entry {
	struct state_entry *next, *older,
		*newer; /* in the bucket; in the order of first appearance */
	struct state_key key;
	uint32_t size; /* of the record */
	uint64_t record[]; /* struct nvs_rec and its payload */
};

/* A submission or gap that was seen before one that precedes it. */
struct ahead {
	uint32_t channel, put;
	uint64_t from, behind;
};

struct nvs_keep_state {
	struct state_entry **bucket;
	uint32_t buckets, entries;
	struct state_entry *oldest, *newest;
	uint64_t steps;
	bool damaged; /* without memory */
	struct nvs_rec_part counts;
	uint64_t events; /* of graphs */
	uint32_t open; /* submissions whose pieces are incomplete */
	uint32_t ranges;
	uint32_t nahead;
	struct ahead ahead[MAX_AHEAD];
};

struct nvs_keep_state *nvs_keep_state_new(void)
{
	struct nvs_keep_state *l = nvs_alloc(sizeof(*l));

	if (!l)
		return NULL;
	l->buckets = BUCKETS;
	l->bucket = nvs_alloc(BUCKETS * sizeof(*l->bucket));
	if (l->bucket)
		return l;
	nvs_free(l, sizeof(*l));
	return NULL;
}

void nvs_keep_state_free(struct nvs_keep_state *l)
{
	if (!l)
		return;
	for (struct state_entry *e = l->oldest, *newer; e; e = newer) {
		newer = e->newer;
		nvs_free(e, sizeof(*e) + e->size);
	}
	nvs_free(l->bucket, l->buckets * sizeof(*l->bucket));
	nvs_free(l, sizeof(*l));
}

uint64_t nvs_keep_state_steps(const struct nvs_keep_state *l)
{
	return l->steps;
}

bool nvs_keep_state_is_damaged(const struct nvs_keep_state *l)
{
	return l->damaged;
}

const struct nvs_rec_part *nvs_keep_state_counts(const struct nvs_keep_state *l)
{
	return &l->counts;
}

/* ---- entries ---- */

/* The events of one graph share a bucket and are iterated there. Other records are spread: a module
 * may have very many names. */
static struct state_entry **bucket_of(struct nvs_keep_state *l, const struct state_key *key)
{
	const uint64_t odd = 0x9e3779b97f4a7c15ull;
	uint64_t h = (key->a ^ (uint64_t)key->type << 56) * odd;

	if (key->type != NVS_REC_GRAPH)
		h = (h ^ h >> 32 ^ key->b) * odd;
	return &l->bucket[h >> 32 & (l->buckets - 1)];
}

static bool matches_key(struct nvs_keep_state *l, const struct state_entry *e,
			const struct state_key *key)
{
	l->steps++;
	return e->key.type == key->type && e->key.a == key->a && e->key.b == key->b;
}

static struct state_entry *find_entry(struct nvs_keep_state *l, const struct state_key *key)
{
	struct state_entry *e = *bucket_of(l, key);

	while (e && !matches_key(l, e, key))
		e = e->next;
	return e;
}

static void unlink_entry(struct nvs_keep_state *l, struct state_entry *e)
{
	struct state_entry **at = bucket_of(l, &e->key);

	for (; *at != e; at = &(*at)->next)
		l->steps++;
	*at = e->next;
	l->entries--;
	*(e->older ? &e->older->newer : &l->oldest) = e->newer;
	*(e->newer ? &e->newer->older : &l->newest) = e->older;
}

static void remove_entry(struct nvs_keep_state *l, struct state_entry *e)
{
	unlink_entry(l, e);
	nvs_free(e, sizeof(*e) + e->size);
}

static void remove_key(struct nvs_keep_state *l, uint32_t type, uint64_t a, uint64_t b)
{
	struct state_entry *e = find_entry(l, &(struct state_key){type, a, b});

	if (e)
		remove_entry(l, e);
}

static void put_in_bucket(struct nvs_keep_state *l, struct state_entry *e)
{
	struct state_entry **at = bucket_of(l, &e->key);

	l->steps++;
	e->next = *at;
	*at = e;
}

/* Doubles the buckets. Without memory it keeps the old ones. In each bucket the latest entry stays
 * first. */
static void grow_buckets(struct nvs_keep_state *l)
{
	struct state_entry **more = nvs_alloc(2ull * l->buckets * sizeof(*more));

	if (!more)
		return;
	nvs_free(l->bucket, l->buckets * sizeof(*l->bucket));
	l->bucket = more;
	l->buckets *= 2;
	for (struct state_entry *e = l->oldest; e; e = e->newer)
		put_in_bucket(l, e);
}

static struct state_entry *add_entry(struct nvs_keep_state *l, const struct state_key *key,
				     const void *record, uint32_t size)
{
	struct state_entry *e = nvs_alloc(sizeof(*e) + size);

	if (!e) {
		l->damaged = true;
		return NULL;
	}
	memcpy(e->record, record, size);
	e->key = *key;
	e->size = size;
	if (l->entries++ >= l->buckets && l->buckets < MAX_BUCKETS)
		grow_buckets(l);
	put_in_bucket(l, e);
	e->older = l->newest;
	*(l->newest ? &l->newest->newer : &l->oldest) = e;
	l->newest = e;
	return e;
}

/* Replaces the earlier record of the same subject. */
static void keep_record(struct nvs_keep_state *l, const struct nvs_rec *rec, uint64_t a, uint64_t b)
{
	struct state_key key = {rec->type, a, b};
	struct state_entry *e = find_entry(l, &key);

	if (e && e->size == rec->size) {
		memcpy(e->record, rec, rec->size);
		return;
	}
	if (e)
		remove_entry(l, e);
	add_entry(l, &key, rec, rec->size);
}

/* ---- chains ---- */

static struct nvs_rec_gap *chain_of(struct nvs_keep_state *l, uint32_t channel)
{
	struct state_key key = {NVS_REC_GAP, channel, 0};
	struct nvs_rec_gap gap = {
		.rec = {.type = NVS_REC_GAP, .flags = NVS_GAP_NOT_KEPT, .size = sizeof(gap)},
		.thread = NVS_NONE,
		.channel = channel,
		.reason = NVS_GAP_CHOICE,
		.entry = NVS_NONE,
	};
	struct state_entry *e = find_entry(l, &key);

	if (!e)
		e = add_entry(l, &key, &gap, sizeof(gap));
	return e ? (void *)e->record : NULL;
}

static void advance_chain(struct nvs_rec_gap *chain, uint64_t time, uint64_t behind, uint32_t put)
{
	chain->rec.time = time;
	chain->submissions = behind;
	chain->new_put = put;
}

/* Applies the entries that waited for the chain to reach them. */
static void apply_waiting(struct nvs_keep_state *l, struct nvs_rec_gap *chain)
{
	for (uint32_t i = 0; i < l->nahead;) {
		const struct ahead *a = &l->ahead[i];

		if (a->channel != chain->channel || a->from > chain->submissions) {
			i++;
			continue;
		}
		if (a->behind > chain->submissions)
			advance_chain(chain, chain->rec.time, a->behind, a->put);
		l->ahead[i] = l->ahead[--l->nahead];
		i = 0;
	}
}

static void advance_or_wait(struct nvs_keep_state *l, uint64_t time, const struct ahead *a)
{
	struct nvs_rec_gap *chain = chain_of(l, a->channel);

	if (!chain || a->behind <= chain->submissions)
		return;
	if (a->from > chain->submissions && l->nahead < MAX_AHEAD) {
		l->ahead[l->nahead++] = *a;
		return;
	}
	advance_chain(chain, time, a->behind, a->put);
	apply_waiting(l, chain);
}

static void end_chain(struct nvs_keep_state *l, uint32_t channel)
{
	remove_key(l, NVS_REC_GAP, channel, 0);
	for (uint32_t i = 0; i < l->nahead;)
		if (l->ahead[i].channel == channel)
			l->ahead[i] = l->ahead[--l->nahead];
		else
			i++;
}

/* ---- counts, as a reader computes them ---- */

/* The thread's submission in pieces is complete. */
static void close_pieces(struct nvs_keep_state *l, uint32_t thread)
{
	struct state_entry *e = find_entry(l, &(struct state_key){NVS_REC_DATA, thread, 0});

	if (!e)
		return;
	remove_entry(l, e);
	l->open--;
}

static void add_submission(struct nvs_keep_state *l, const struct nvs_rec_submission *s)
{
	uint64_t room = (s->rec.size - sizeof(*s)) / sizeof(*s->entries);
	uint32_t n = s->nentries < room ? s->nentries : (uint32_t)room;

	for (uint32_t i = 0; i < n; i++) {
		const struct nvs_gp_entry *e = &s->entries[i];

		if (e->state != NVS_SEG_HERE && e->state != NVS_SEG_SKIPPED)
			continue;
		l->counts.segments++;
		l->counts.bytes += e->bytes;
	}
	l->counts.submissions += !(s->rec.flags & NVS_SUB_CONTINUED);
	l->counts.entries += n;
	advance_or_wait(l, s->rec.time,
			&(struct ahead){s->channel, s->new_put, s->sequence, s->sequence + 1});
	close_pieces(l, s->thread);
	if (s->rec.flags & NVS_SUB_MORE)
		l->open += add_entry(l, &(struct state_key){NVS_REC_DATA, s->thread, 0}, s,
				     s->rec.size) != NULL;
}

static void add_piece(struct nvs_keep_state *l, const struct nvs_rec_data *d)
{
	struct state_entry *e = find_entry(l, &(struct state_key){NVS_REC_DATA, d->thread, 0});
	const struct nvs_rec_submission *s = e ? (const void *)e->record : NULL;
	uint64_t length = 0;

	if (s && d->entry < (s->rec.size - sizeof(*s)) / sizeof(*s->entries))
		length = (s->entries[d->entry].entry >> 42 & 0x1fffff) * 4;
	if (length && d->offset + d->bytes == length) {
		l->counts.segments++;
		l->counts.bytes += length;
	}
	if (d->rec.flags & NVS_DATA_LAST)
		close_pieces(l, d->thread);
}

static void add_gap(struct nvs_keep_state *l, const struct nvs_rec_gap *g)
{
	if (g->reason != NVS_GAP_CHOICE) {
		l->counts.gaps++;
		l->counts.lost_submissions += g->submissions;
		l->counts.lost_bytes += g->bytes;
	}
	if (g->channel != NVS_NONE && g->submissions)
		advance_or_wait(l, g->rec.time,
				&(struct ahead){g->channel, g->new_put, g->sequence,
						g->sequence + g->submissions});
}

/* ---- graphs: the events that made an executable graph what it is ---- */

static const struct nvs_rec_graph *graph_at(const struct state_entry *e)
{
	return (const void *)e->record;
}

static bool begins_event(const struct state_entry *e)
{
	return graph_at(e)->rec.type == NVS_REC_GRAPH && !graph_at(e)->first;
}

/* Returns true if event G supersedes an earlier one, which starts with OLD. */
static bool replaces_event(const struct nvs_rec_graph *g, const struct nvs_rec_graph *old)
{
	if (g->event == NVS_GRAPH_INSTANTIATED)
		return true;
	if (g->event == NVS_GRAPH_UPDATED)
		return old->event != NVS_GRAPH_INSTANTIATED;
	return old->event == g->event && old->nnodes && g->nnodes &&
	       old->nodes[0].node == g->nodes[0].node;
}

static void drop_event(struct nvs_keep_state *l, uint64_t exec, uint64_t event)
{
	struct state_entry *e;

	while ((e = find_entry(l, &(struct state_key){NVS_REC_GRAPH, exec, event})))
		remove_entry(l, e);
}

/* Adds a record to the event of EXEC that is being recorded; records of other graphs may come
 * between. */
static void add_to_event(struct nvs_keep_state *l, uint64_t exec, const struct nvs_rec *rec)
{
	struct state_entry *e = *bucket_of(l, &(struct state_key){NVS_REC_GRAPH, exec, 0});

	while (e && (e->key.type != NVS_REC_GRAPH || e->key.a != exec))
		e = e->next;
	if (e)
		add_entry(l, &(struct state_key){NVS_REC_GRAPH, exec, e->key.b}, rec, rec->size);
}

static void add_edges(struct nvs_keep_state *l, const struct nvs_rec_graph_edges *g)
{
	if (sizeof(*g) + (uint64_t)g->nedges * sizeof(*g->edges) <= g->rec.size)
		add_to_event(l, g->exec, &g->rec);
}

static void add_graph(struct nvs_keep_state *l, const struct nvs_rec_graph *g)
{
	struct state_entry *e;

	if (sizeof(*g) + (uint64_t)g->nnodes * sizeof(*g->nodes) > g->rec.size)
		return;
	if (g->first) {
		add_to_event(l, g->exec, &g->rec);
		return;
	}
	l->events++;
again:
	for (e = *bucket_of(l, &(struct state_key){NVS_REC_GRAPH, g->exec, 0}); e; e = e->next) {
		if (e->key.type != NVS_REC_GRAPH || e->key.a != g->exec || !begins_event(e) ||
		    !replaces_event(g, graph_at(e)))
			continue;
		drop_event(l, g->exec, e->key.b);
		goto again;
	}
	add_entry(l, &(struct state_key){NVS_REC_GRAPH, g->exec, l->events}, g, g->rec.size);
}

/* ---- ranges ---- */

static struct state_key range_key(uint32_t thread, uint32_t domain, uint64_t id, unsigned flags)
{
	return flags & NVS_NVTX_PUSHED
		       ? (struct state_key){NVS_REC_NVTX_BEGIN, (uint64_t)thread << 32 | domain, id}
		       : (struct state_key){NVS_REC_NVTX_BEGIN, 1ull << 63 | domain, id};
}

static void begin_range(struct nvs_keep_state *l, const struct nvs_rec_nvtx *begin)
{
	struct state_key key = range_key(begin->thread, begin->domain, begin->id, begin->rec.flags);

	if (l->ranges < MAX_RANGES)
		l->ranges += add_entry(l, &key, begin, begin->rec.size) != NULL;
}

/* Of ranges pushed with the same numbers the latest is first in its bucket. */
static void end_range(struct nvs_keep_state *l, const struct nvs_rec_nvtx_end *end)
{
	struct state_key key = range_key(end->thread, end->domain, end->id, end->rec.flags);
	struct state_entry *e = find_entry(l, &key);

	if (!e)
		return;
	remove_entry(l, e);
	l->ranges--;
}

/* ---- by type ---- */

static void add_channel_gone(struct nvs_keep_state *l, const struct nvs_rec_channel_gone *gone)
{
	if (gone->rec.flags & NVS_CHAN_GONE_WINDOW)
		return;
	/* At exit other threads may still ring the doorbell, and a part may start after this.
	 * Without the record its reader could not check the channel's end. */
	if (gone->rec.flags & NVS_CHAN_GONE_AT_EXIT) {
		keep_record(l, &gone->rec, gone->channel, 0);
		return;
	}
	remove_key(l, NVS_REC_CHANNEL, gone->channel, 0);
	remove_key(l, NVS_REC_CHANNEL_GONE, gone->channel, 0);
	end_chain(l, gone->channel);
}

/* Most records start with the number of their subject, those named here with its handle. */
static uint64_t subject_of(const struct nvs_rec *rec)
{
	bool has_handle = rec->type == NVS_REC_OBJECT || rec->type == NVS_REC_OBJECT_GONE ||
			  rec->type == NVS_REC_KERNEL;
	uint64_t subject = 0;

	memcpy(&subject, rec + 1, has_handle ? sizeof(uint64_t) : sizeof(uint32_t));
	return subject;
}

/* Returns the minimum size of a record of this type; most have at least a number or a handle. */
static uint32_t min_size(uint16_t type)
{
	static const uint16_t bytes[] = {
		[NVS_REC_SUBMISSION] = sizeof(struct nvs_rec_submission),
		[NVS_REC_DATA] = sizeof(struct nvs_rec_data),
		[NVS_REC_GAP] = sizeof(struct nvs_rec_gap),
		[NVS_REC_CALL_BEGIN] = sizeof(struct nvs_rec_call_begin),
		[NVS_REC_CALL] = sizeof(struct nvs_rec_call),
		[NVS_REC_GRAPH] = sizeof(struct nvs_rec_graph),
		[NVS_REC_GRAPH_EDGES] = sizeof(struct nvs_rec_graph_edges),
		[NVS_REC_NAME] = sizeof(struct nvs_rec_name),
		[NVS_REC_NVTX_NAME] = sizeof(struct nvs_rec_nvtx_name),
		[NVS_REC_NVTX_BEGIN] = sizeof(struct nvs_rec_nvtx),
		[NVS_REC_NVTX_END] = sizeof(struct nvs_rec_nvtx_end),
		[NVS_REC_SM_ERROR] = sizeof(struct nvs_rec_sm_error),
		[NVS_REC_FAULT_MEMORY] = sizeof(struct nvs_rec_fault_memory),
	};
	uint32_t known = type < sizeof(bytes) / sizeof(*bytes) ? bytes[type] : 0;

	return known ? known : sizeof(struct nvs_rec) + 8;
}

#define AS(type) ((const struct nvs_rec_##type *)(const void *)rec)

void nvs_keep_state_add(struct nvs_keep_state *l, const struct nvs_rec *rec)
{
	if (rec->size < min_size(rec->type))
		return;
	if (rec->time > l->counts.rec.time)
		l->counts.rec.time = rec->time;
	switch (rec->type) {
	case NVS_REC_SUBMISSION:
		add_submission(l, AS(submission));
		break;
	case NVS_REC_DATA:
		add_piece(l, AS(data));
		break;
	case NVS_REC_GAP:
		add_gap(l, AS(gap));
		break;
	case NVS_REC_ORPHAN:
		l->counts.orphans++;
		break;
	case NVS_REC_CALL_BEGIN:
		keep_record(l, rec, AS(call_begin)->thread, AS(call_begin)->depth);
		break;
	case NVS_REC_CALL:
		if (rec->flags & NVS_CALL_BEGUN)
			remove_key(l, NVS_REC_CALL_BEGIN, AS(call)->thread, AS(call)->depth);
		break;
	case NVS_REC_HEADER:
	case NVS_REC_WINDOW:
		keep_record(l, rec, 0, 0);
		break;
	case NVS_REC_CLOCK:
		/* The first point and the latest. */
		keep_record(l, rec, 0,
			    find_entry(l, &(struct state_key){NVS_REC_CLOCK, 0, 0}) != NULL);
		break;
	case NVS_REC_ATTR:
	case NVS_REC_THREAD:
	case NVS_REC_MODULE:
	case NVS_REC_STACK:
	case NVS_REC_GPU:
	case NVS_REC_CPU_MAP:
	case NVS_REC_GPU_MAP:
	case NVS_REC_CHANNEL:
	case NVS_REC_API:
	case NVS_REC_COUNTER:
	case NVS_REC_OBJECT:
	case NVS_REC_KERNEL:
	case NVS_REC_FAULT:
		keep_record(l, rec, subject_of(rec), 0);
		break;
	case NVS_REC_SM_ERROR:
		keep_record(l, rec, AS(sm_error)->channel, AS(sm_error)->first);
		break;
	case NVS_REC_FAULT_MEMORY:
		keep_record(l, rec, AS(fault_memory)->channel, AS(fault_memory)->address);
		break;
	case NVS_REC_MODULE_GONE:
		remove_key(l, NVS_REC_MODULE, subject_of(rec), 0);
		break;
	case NVS_REC_CPU_MAP_GONE:
		remove_key(l, NVS_REC_CPU_MAP, subject_of(rec), 0);
		break;
	case NVS_REC_GPU_MAP_GONE:
		remove_key(l, NVS_REC_GPU_MAP, subject_of(rec), 0);
		break;
	case NVS_REC_OBJECT_GONE:
		remove_key(l, NVS_REC_OBJECT, subject_of(rec), 0);
		break;
	case NVS_REC_NAME:
		keep_record(l, rec, AS(name)->module, AS(name)->address);
		break;
	case NVS_REC_CHANNEL_GONE:
		add_channel_gone(l, AS(channel_gone));
		break;
	case NVS_REC_REMARK:
		keep_record(l, rec, AS(remark)->kind, AS(remark)->gpu);
		break;
	case NVS_REC_GRAPH:
		add_graph(l, AS(graph));
		break;
	case NVS_REC_GRAPH_EDGES:
		add_edges(l, AS(graph_edges));
		break;
	case NVS_REC_NVTX_NAME:
		keep_record(l, rec, (uint64_t)AS(nvtx_name)->kind << 32 | AS(nvtx_name)->domain,
			    AS(nvtx_name)->number);
		break;
	case NVS_REC_NVTX_BEGIN:
		begin_range(l, AS(nvtx));
		break;
	case NVS_REC_NVTX_END:
		end_range(l, AS(nvtx_end));
		break;
	default:
		break; /* only of momentary interest */
	}
}

/* ---- writing the state ---- */

bool nvs_keep_state_is_complete(const struct nvs_keep_state *l)
{
	return !l->open && !l->nahead;
}

static bool has_buffer(uint32_t thread)
{
	for (uint32_t i = 0; i < nvs_buffer_count(); i++)
		if (nvs_buffer_at(i)->shared->thread == thread)
			return true;
	return false;
}

/* Returns true if no later record can refer to it. */
static bool is_over(struct nvs_keep_state *l, const struct state_entry *e)
{
	switch (e->key.type) {
	case NVS_REC_THREAD:
	case NVS_REC_CALL_BEGIN:
		return !has_buffer((uint32_t)e->key.a);
	case NVS_REC_NAME:
		return e->key.a != NVS_NONE &&
		       !find_entry(l, &(struct state_key){NVS_REC_MODULE, e->key.a, 0});
	default:
		return false;
	}
}

void nvs_keep_state_trim(struct nvs_keep_state *l)
{
	for (struct state_entry *e = l->oldest, *newer; e; e = newer) {
		newer = e->newer;
		if (is_over(l, e))
			remove_entry(l, e);
	}
}

/* A part had to start anyway: what is missing of the chains stays missing. */
static void give_up_waiting(struct nvs_keep_state *l)
{
	while (l->nahead) {
		struct ahead a = l->ahead[--l->nahead];
		struct nvs_rec_gap *chain = chain_of(l, a.channel);

		if (chain && a.behind > chain->submissions)
			advance_chain(chain, chain->rec.time, a.behind, a.put);
	}
}

void nvs_keep_state_write(struct nvs_keep_state *l, struct nvs_rec_part *part,
			  void (*put)(void *arg, const struct nvs_rec *rec), void *arg)
{
	const struct nvs_rec_part *c = &l->counts;
	struct state_entry *e = l->oldest, *newer;

	part->rec.time = c->rec.time;
	part->submissions = c->submissions;
	part->entries = c->entries;
	part->segments = c->segments;
	part->bytes = c->bytes;
	part->gaps = c->gaps;
	part->lost_submissions = c->lost_submissions;
	part->lost_bytes = c->lost_bytes;
	part->orphans = c->orphans;
	give_up_waiting(l);
	for (; e; e = newer) {
		newer = e->newer;
		if (e->key.type == NVS_REC_DATA)
			continue;
		if (is_over(l, e)) {
			remove_entry(l, e);
			continue;
		}
		put(arg, (const void *)e->record);
		if (e->key.type == NVS_REC_HEADER)
			put(arg, &part->rec);
	}
}
