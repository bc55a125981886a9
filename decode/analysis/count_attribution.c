/* SPDX-License-Identifier: MIT */
/*
 * Assigns instruction counts to launches. A call is delivered when it returns, possibly after a
 * reading of the counters that was taken during it. Launches, readings and synchronisations are
 * therefore collected and processed in time order at the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/base/grow.h"
#include "decode/calls/args.h"
#include "decode/calls/executable_graphs.h"
#include "decode/calls/pass.h"
#include "decode/calls/roles.h"
#include "decode/analysis/current_context.h"
#include "decode/analysis/count_attribution.h"
#include "decode/base/keyed_rows.h"

#define MAX_ITEMS (1u << 28)
#define MAX_NODES (1ull << 24) /* limit on nodes visited, over all changing graphs */
#define MAX_ADDED (1ull << 28)
#define LANES 8 /* streams that a share tracks separately */
#define NOWHERE (1ull << 63) /* ORed with a thread: its context is unknown */

/* A context, or a stream of one: launches up to tick UPTO are known to be done. */
struct launch_queue {
	uint64_t key[2]; /* context, stream; stream 0 is the context itself */
	uint64_t upto;
	struct launch_queue *context; /* NULL: this is a context */
};

struct kernel {
	const struct nvs_kernel_count *counted; /* the key */
	struct nvs_count_share share; /* being collected */
	struct {
		struct launch_queue *lane;
		uint64_t end; /* end of the latest launch there */
	} on[LANES];
	uint32_t non;
	uint64_t end; /* of the latest launch anywhere */
	bool many; /* launched on more than LANES streams */
	bool apart; /* launched in several contexts */
	uint32_t room; /* of share.calls */
	uint64_t seen; /* index + 1 of the last call in share.calls */
	uint64_t listed; /* list + 1 that has its nodes as part PLACE */
	uint32_t place;
};

/* A function, numbered in order of first sight. */
struct function {
	uint64_t key[2]; /* handle, struct nvs_kernel_count */
	uint32_t number;
};

/* The launches of one kernel by one call. */
struct launch_part {
	struct kernel *kernel;
	uint64_t blocks;
	uint32_t launches, number;
	bool shapeless, in_graph;
};

struct launch {
	uint64_t begin, end, tag;
	struct launch_queue *lane;
	uint32_t first, n; /* parts */
};

/* The launches of LANE up to UPTO are known to be done at time AT. */
struct launch_wait {
	uint64_t at, upto;
	struct launch_queue *lane;
};

struct counter_reading {
	uint64_t at;
	uint64_t after; /* end of its thread's latest call: it began later */
	uint32_t launch; /* index + 1 of the launch it followed, or 0 */
	uint32_t first, n; /* counts */
};

struct count {
	struct kernel *kernel;
	uint64_t warp, thread;
};

/* The parts of an executable graph, valid until it changes. */
struct graph_parts {
	const struct nvs_exec *exec; /* the key: handles are reused */
	uint64_t given, updates, changes;
	uint32_t first, n;
	bool known;
};

/* The latest call of a thread. */
struct latest {
	uint64_t number, end;
	uint32_t launch; /* index + 1, or 0 */
};

struct nvs_count_shares {
	struct nvs_handles **handles;
	struct nvs_kernel_counts *counts;
	struct nvs_contexts contexts;
	struct nvs_rows lanes, kernels, functions, graphs;
	struct nvs_numbers latest;
	struct launch_part *parts;
	struct launch *launches;
	struct launch_wait *waits;
	struct counter_reading *readings;
	struct count *given;
	uint32_t nparts, nlaunches, nwaits, nreadings, ngiven;
	uint32_t parts_room, launches_room, waits_room, readings_room, given_room;
	uint64_t lists, looked; /* nodes visited */
	uint64_t added; /* parts over all launches; a graph's parts count on every launch */
	bool more; /* the next record continues the latest reading */
};

/* ---- launches ---- */

static struct launch_queue *find_lane(struct nvs_count_shares *s, uint64_t context, uint64_t stream)
{
	uint64_t key[2] = {context, stream};
	struct launch_queue *lane = nvs_rows_at(&s->lanes, key);

	if (!lane || !stream || lane->context)
		return lane;
	lane->context = find_lane(s, context, 0);
	return lane->context ? lane : NULL;
}

static uint64_t stream_of(const struct nvs_call *call)
{
	uint64_t stream;

	nvs_call_stream(call, &stream);
	return stream;
}

/* Returns NULL if the kernel does not count, or if out of memory, with *R = -ENOMEM. */
static struct kernel *find_kernel(struct nvs_count_shares *s, uint64_t function, uint32_t *number,
				  int *r)
{
	const struct nvs_kernel *named = nvs_handles_get_kernel(*s->handles, function);
	const struct nvs_kernel_count *counted =
		named && *named->name ? nvs_kernel_counts_find(s->counts, named->name) : NULL;
	uint64_t key[2] = {function, (uintptr_t)counted};
	struct function *f;
	struct kernel *k;

	*r = named ? 0 : -ENOMEM;
	if (!counted || !(counted->flags & (NVS_COUNT_WARP | NVS_COUNT_THREAD)))
		return NULL;
	k = nvs_rows_at(&s->kernels, &counted);
	f = nvs_rows_at(&s->functions, key);
	if (!k || !f) {
		*r = -ENOMEM;
		return NULL;
	}
	if (!f->number)
		f->number = (uint32_t)s->functions.n;
	*number = f->number - 1;
	return k;
}

static struct launch_part *new_part(struct nvs_count_shares *s)
{
	struct launch_part *part = NVS_APPEND(s->parts, s->nparts, s->parts_room, 64, MAX_ITEMS);

	if (part)
		memset(part, 0, sizeof(*part));
	return part;
}

/* Adds a node to the list numbered LIST. Nodes of one kernel share a part. */
static int add_node(struct nvs_count_shares *s, const struct nvs_graph_node *node, uint64_t list)
{
	bool conditional = node->flags & NVS_NODE_CONDITIONAL;
	struct kernel *k;
	struct launch_part *p;
	uint32_t number;
	int r;

	if (node->type || node->flags & NVS_NODE_DISABLED)
		return 0;
	k = find_kernel(s, node->function, &number, &r);
	if (!k)
		return r;
	if (k->listed != list) {
		p = new_part(s);
		if (!p)
			return -ENOMEM;
		*p = (struct launch_part){.kernel = k, .number = number, .in_graph = true};
		k->listed = list;
		k->place = s->nparts - 1;
	}
	p = s->parts + k->place;
	/* Only the GPU knows how often a conditional node ran. */
	if (conditional || node->flags & NVS_NODE_NO_PARAMS)
		p->shapeless = true;
	else
		p->blocks += (uint64_t)node->grid[0] * node->grid[1] * node->grid[2];
	p->launches += !conditional;
	return 0;
}

static int list_nodes(struct nvs_count_shares *s, struct graph_parts *g, const struct nvs_exec *e)
{
	uint64_t list = ++s->lists;
	int r = 0;

	if (g->known && g->given == e->given && g->updates == e->updates &&
	    g->changes == e->changes)
		return 0;
	g->given = e->given;
	g->updates = e->updates;
	g->changes = e->changes;
	g->known = true;
	g->first = s->nparts;
	s->looked += e->nnodes;
	if (s->looked > MAX_NODES) {
		nvs_budget_set_exceeded();
		return -ENOMEM;
	}
	for (uint32_t i = 0; !r && i < e->nnodes; i++)
		r = add_node(s, e->nodes + i, list);
	g->n = s->nparts - g->first;
	return r;
}

static int list_graph(struct nvs_count_shares *s, const struct nvs_call *call, struct launch *l)
{
	const struct nvs_exec *e;
	struct graph_parts *g;
	uint64_t handle;
	int r;

	if (!nvs_call_kind(call, NVS_KIND_EXEC, &handle))
		return 0;
	e = nvs_handles_get_exec(*s->handles, handle);
	g = e ? nvs_rows_at(&s->graphs, &e) : NULL;
	r = g ? list_nodes(s, g, e) : -ENOMEM;
	l->first = g ? g->first : 0;
	l->n = g ? g->n : 0;
	return r;
}

/* Adds a direct launch. A captured launch, or one added as a node, only gets its function
 * numbered. */
static int list_direct(struct nvs_count_shares *s, const struct nvs_call *call, struct launch *l)
{
	uint32_t grid[3], block[3], number = 0;
	struct kernel *k = NULL;
	uint64_t function;
	struct launch_part *p;
	int r = 0;

	if ((call->api->group == NVS_CALL_GROUP_LAUNCH ||
	     call->api->group == NVS_CALL_GROUP_GRAPH) &&
	    nvs_call_kind(call, NVS_KIND_FUNCTION, &function))
		k = find_kernel(s, function, &number, &r);
	if (!k || !nvs_call_ran(call) || call->api->group != NVS_CALL_GROUP_LAUNCH)
		return r;
	p = new_part(s);
	if (!p)
		return -ENOMEM;
	*p = (struct launch_part){.kernel = k, .launches = 1, .number = number};
	if (nvs_call_shape(call, grid, block))
		p->blocks = (uint64_t)grid[0] * grid[1] * grid[2];
	else
		p->shapeless = true;
	l->first = s->nparts - 1;
	l->n = 1;
	return 0;
}

static int add_launch(struct nvs_count_shares *s, const struct nvs_call *call, uint64_t context,
		      uint64_t tag, uint32_t *index)
{
	bool graph = call->api->group == NVS_CALL_GROUP_GRAPH_LAUNCH;
	struct launch *own, l = {.begin = call->begin, .end = call->end, .tag = tag};
	int r;

	if (!s->counts->rows.n || (graph && !nvs_call_ran(call)))
		return 0;
	r = graph ? list_graph(s, call, &l) : list_direct(s, call, &l);
	if (r || !l.n)
		return r;
	l.lane = find_lane(s, context, stream_of(call));
	own = l.lane ? NVS_APPEND(s->launches, s->nlaunches, s->launches_room, 64, MAX_ITEMS)
		     : NULL;
	if (!own)
		return -ENOMEM;
	*own = l;
	*index = s->nlaunches;
	return 0;
}

static int add_wait(struct nvs_count_shares *s, const struct nvs_call *call, uint64_t context)
{
	struct launch_wait *wait;
	uint64_t value;
	struct launch_queue *lane;

	if (!s->counts->rows.n || !nvs_call_ran(call))
		return 0;
	if (call->api->role == NVS_CALL_ROLE_SYNCHRONIZE) {
		if (nvs_call_value(call, NVS_ARG_context, &value) && value)
			context = value;
		lane = find_lane(s, context,
				 nvs_call_kind(call, NVS_KIND_STREAM, &value) ? stream_of(call)
									      : 0);
	} else if (call->api->role == NVS_CALL_ROLE_COPY_DTOH &&
		   !nvs_call_kind(call, NVS_KIND_STREAM, &value)) {
		lane = find_lane(s, context, stream_of(call));
	} else {
		return 0;
	}
	wait = lane ? NVS_APPEND(s->waits, s->nwaits, s->waits_room, 64, MAX_ITEMS) : NULL;
	if (!wait)
		return -ENOMEM;
	*wait = (struct launch_wait){call->end, call->begin, lane};
	return 0;
}

int nvs_count_shares_call(struct nvs_count_shares *s, const struct nvs_call *call, uint64_t tag)
{
	struct latest *latest;
	uint64_t context;
	uint32_t index = 0;
	int r = nvs_contexts_call(&s->contexts, call, &context);

	context = context ? context : NOWHERE | call->thread;
	if (!r)
		r = add_wait(s, call, context);
	if (!r)
		r = add_launch(s, call, context, tag, &index);
	if (r || !s->counts->rows.n)
		return r;
	latest = nvs_number_make(&s->latest, call->thread, sizeof(*latest));
	if (latest)
		*latest = (struct latest){call->number, call->end, index};
	return r;
}

/* ---- readings ---- */

static int add_count(struct nvs_count_shares *s, const struct nvs_count *count)
{
	const struct nvs_kernel_count *counted = nvs_kernel_counts_at(s->counts, count->counter);
	struct count *own;
	struct kernel *k;

	if (!counted)
		return 0;
	k = nvs_rows_at(&s->kernels, &counted);
	own = k ? NVS_APPEND(s->given, s->ngiven, s->given_room, 64, MAX_ITEMS) : NULL;
	if (!own)
		return -ENOMEM;
	*own = (struct count){k, count->warp, count->thread};
	s->readings[s->nreadings - 1].n++;
	return 0;
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	const struct nvs_rec_count *count = (const void *)rec;
	struct nvs_count_shares *s = arg;
	const struct latest *latest;
	struct counter_reading *own, now = {.at = rec->time, .first = s->ngiven};
	int r = nvs_kernel_counts_record(s->counts, rec);

	if (r || rec->type != NVS_REC_COUNT)
		return r;
	if (!s->more) {
		latest = nvs_number_get(&s->latest, count->thread);
		/* A reading that failed proves no end. */
		if (latest && !(rec->flags & NVS_COUNT_UNREAD)) {
			now.after = latest->end;
			if (count->cause == NVS_COUNT_LAUNCH && latest->number == count->number)
				now.launch = latest->launch;
		}
		own = NVS_APPEND(s->readings, s->nreadings, s->readings_room, 64, MAX_ITEMS);
		if (!own)
			return -ENOMEM;
		*own = now;
	}
	s->more = rec->flags & NVS_COUNT_MORE;
	if (rec->flags & NVS_COUNT_UNREAD)
		s->readings[s->nreadings - 1].after = s->readings[s->nreadings - 1].launch = 0;
	for (uint32_t i = 0; !r && i < count->ncounts; i++)
		r = add_count(s, count->counts + i);
	return r;
}

/* ---- processing ---- */

struct reporter {
	struct nvs_count_shares *s;
	int (*tell)(void *arg, const struct nvs_count_share *share);
	void *arg;
};

/* Returns true if all launches in the share are done. */
static bool is_done(const struct kernel *k)
{
	if (k->non && !k->apart && k->end <= k->on[0].lane->context->upto)
		return true;
	for (uint32_t i = 0; i < k->non; i++)
		if (k->on[i].end > k->on[i].lane->upto &&
		    k->on[i].end > k->on[i].lane->context->upto)
			return false;
	return !k->many;
}

static int report_share(const struct reporter *t, struct kernel *k)
{
	struct nvs_count_share *share = &k->share;
	uint64_t *calls = share->calls;
	int r = 0;

	share->counted = k->counted;
	/* Conditional nodes may not have run, and a kernel without counts may be from an image
	 * that is not counted. */
	if (share->warp || share->thread || (share->launches && !k->counted->reason))
		r = t->tell(t->arg, share);
	*share = (struct nvs_count_share){.calls = calls, .reading = UINT64_MAX};
	k->non = 0;
	k->end = k->seen = 0;
	k->many = k->apart = false;
	return r;
}

static void note_lane(struct kernel *k, const struct launch *l)
{
	uint32_t i = 0;

	k->end = l->end > k->end ? l->end : k->end;
	while (i < k->non && k->on[i].lane != l->lane)
		i++;
	k->apart |= k->non && k->on[0].lane->context != l->lane->context;
	k->many |= i == LANES;
	if (i == LANES)
		return;
	if (i == k->non)
		k->on[k->non++].end = 0;
	k->on[i].lane = l->lane;
	k->on[i].end = l->end > k->on[i].end ? l->end : k->on[i].end;
}

static int add_part(const struct reporter *t, const struct launch *l, uint32_t number,
		    const struct launch_part *p)
{
	struct kernel *k = p->kernel;
	struct nvs_count_share *share = &k->share;
	uint64_t *call;
	int r = 0;

	/* All earlier launches are done and read, with no count of their own: end the share. */
	if (share->ncalls && is_done(k)) {
		share->whole = true;
		r = report_share(t, k);
	}
	if (!share->ncalls)
		share->kernel = p->number;
	if (k->seen != number + 1ull) {
		call = NVS_APPEND(share->calls, share->ncalls, k->room, 4, MAX_ITEMS);
		if (!call)
			return -ENOMEM;
		*call = l->tag;
	}
	k->seen = number + 1ull;
	share->launches += p->launches;
	share->in_graphs += p->in_graph ? p->launches : 0;
	share->blocks += p->blocks;
	share->shapeless |= p->shapeless;
	note_lane(k, l);
	return r;
}

static int add_parts(const struct reporter *t, uint32_t number)
{
	const struct launch *l = t->s->launches + number;
	int r = 0;

	t->s->added += l->n;
	if (t->s->added > MAX_ADDED) {
		nvs_budget_set_exceeded();
		return -ENOMEM;
	}
	for (uint32_t i = 0; !r && i < l->n; i++)
		r = add_part(t, l, number, t->s->parts + l->first + i);
	return r;
}

static int report_if_done(const struct reporter *t, struct kernel *k)
{
	k->share.whole = is_done(k);
	/* Counts without a known launch belong to this reading only. */
	return k->share.whole ? report_share(t, k) : 0;
}

static int read_counts(const struct reporter *t, const struct counter_reading *reading,
		       const struct launch *of)
{
	struct nvs_count_shares *s = t->s;
	int r = 0;

	for (uint32_t i = 0; i < reading->n; i++) {
		const struct count *c = s->given + reading->first + i;

		c->kernel->share.warp += c->warp;
		c->kernel->share.thread += c->thread;
		c->kernel->share.reading = (uint64_t)(reading - s->readings);
	}
	if (of && of->end > of->lane->upto)
		of->lane->upto = of->end;
	for (uint32_t i = 0; of && !r && i < of->n; i++) {
		struct kernel *k = s->parts[of->first + i].kernel;

		k->share.reading = (uint64_t)(reading - s->readings);
		r = report_if_done(t, k);
	}
	for (uint32_t i = 0; !r && i < reading->n; i++)
		r = report_if_done(t, s->given[reading->first + i].kernel);
	return r;
}

static int compare_begin(const void *pa, const void *pb)
{
	const struct launch *a = *(const struct launch *const *)pa,
			    *b = *(const struct launch *const *)pb;

	return NVS_CMP(a->begin, b->begin) ?: NVS_CMP(a, b);
}

static int compare_end(const void *pa, const void *pb)
{
	const struct launch_wait *a = pa, *b = pb;

	return NVS_CMP(a->at, b->at);
}

/* Processes launches, waits and readings in time order. ORDER has space for all launches. */
static int process_all(const struct reporter *t, const struct launch **order)
{
	struct nvs_count_shares *s = t->s;
	uint32_t launched = 0, waited = 0;
	int r = 0;

	for (uint32_t i = 0; i < s->nlaunches; i++)
		order[i] = s->launches + i;
	if (s->nlaunches)
		qsort(order, s->nlaunches, sizeof(*order), compare_begin);
	if (s->nwaits)
		qsort(s->waits, s->nwaits, sizeof(*s->waits), compare_end);
	for (uint32_t i = 0; !r && i < s->nreadings; i++) {
		const struct counter_reading *reading = s->readings + i;

		while (!r && launched < s->nlaunches && order[launched]->begin < reading->at)
			r = add_parts(t, (uint32_t)(order[launched++] - s->launches));
		for (; waited < s->nwaits && s->waits[waited].at <= reading->after; waited++)
			if (s->waits[waited].lane->upto < s->waits[waited].upto)
				s->waits[waited].lane->upto = s->waits[waited].upto;
		if (!r)
			r = read_counts(t, reading,
					reading->launch ? s->launches + reading->launch - 1 : NULL);
	}
	while (!r && launched < s->nlaunches)
		r = add_parts(t, (uint32_t)(order[launched++] - s->launches));
	for (size_t i = 0; !r && i < s->kernels.n; i++)
		r = report_if_done(t, s->kernels.row[i]);
	for (size_t i = 0; !r && i < s->kernels.n; i++)
		r = report_share(t, s->kernels.row[i]);
	return r;
}

int nvs_count_shares_end(struct nvs_count_shares *s,
			 int (*tell_share)(void *arg, const struct nvs_count_share *share),
			 void *arg)
{
	const struct reporter t = {s, tell_share, arg};
	const struct launch **order = calloc(s->nlaunches + 1ul, sizeof(*order));
	int r = order ? 0 : -ENOMEM;

	for (size_t i = 0; i < s->kernels.n; i++)
		((struct kernel *)s->kernels.row[i])->share.reading = UINT64_MAX;
	if (!r)
		r = process_all(&t, order);
	free(order);
	return r;
}

/* ---- allocation ---- */

struct nvs_count_shares *nvs_count_shares_new(struct nvs_source *source,
					      struct nvs_handles **handles,
					      struct nvs_kernel_counts *counts)
{
	struct nvs_count_shares *s = calloc(1, sizeof(*s));

	if (!s || nvs_source_add_reader(source,
					&(struct nvs_pass_reader){.record = on_record, .arg = s})) {
		free(s);
		return NULL;
	}
	s->handles = handles;
	s->counts = counts;
	s->lanes = NVS_ROWS(struct launch_queue, key);
	s->kernels = NVS_ROWS(struct kernel, counted);
	s->functions = NVS_ROWS(struct function, key);
	s->graphs = NVS_ROWS(struct graph_parts, exec);
	return s;
}

static void free_kernel(void *row)
{
	free(((struct kernel *)row)->share.calls);
}

void nvs_count_shares_free(struct nvs_count_shares *s)
{
	if (!s)
		return;
	nvs_contexts_free(&s->contexts);
	nvs_rows_free(&s->lanes, NULL);
	nvs_rows_free(&s->kernels, free_kernel);
	nvs_rows_free(&s->functions, NULL);
	nvs_rows_free(&s->graphs, NULL);
	nvs_numbers_free(&s->latest, free);
	free(s->parts);
	free(s->launches);
	free(s->waits);
	free(s->readings);
	free(s->given);
	free(s);
}
