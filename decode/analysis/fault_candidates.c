/* SPDX-License-Identifier: MIT */
/* Finds the submissions that may have caused a fault. See faults.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/calls/executable_graphs.h"
#include "decode/calls/semaphore_pairs.h"
#include "decode/analysis/faults.h"

#define MAX_WORDS 64u /* of a grid's parameters that are looked up */
#define MAX_LOOKUPS                                                                   \
	4096u /* grids whose parameters are looked up, over all candidates of a fault \
	       */
#define MAX_STEPS                                                                       \
	(1u << 27) /* ranges and nodes visited, over all faults: the trace is untrusted \
		    */
#define STRAY (4ull << 30) /* bytes from an allocation up to which a word counts as an address */
#define NEAR_CODE (1ull << 20) /* bytes behind a program's address, if its size is unknown */

static bool spend(struct nvs_faults *f, uint64_t n)
{
	f->steps += n;
	if (f->steps < MAX_STEPS)
		return true;
	nvs_budget_set_exceeded();
	return false;
}

/* ---- what has ended ---- */

enum ended { NO, YES, UNKNOWN };

/* Whether the grid that U launched last has ended. *BEGUN: its semaphore was prepared. */
static enum ended has_ended(struct nvs_faults *f, const struct nvs_unfinished *u, bool *begun)
{
	uint32_t value;

	*begun = true;
	if (!u->grid.address || !nvs_fault_read_memory(f, u->grid.address, &value))
		return UNKNOWN;
	/* The driver sets it to one less before the launch. */
	*begun = (int32_t)(value - (uint32_t)u->grid.payload) >= -1;
	return (int32_t)(value - (uint32_t)u->grid.payload) >= 0 ? YES : NO;
}

/* Returns true if U waits for a semaphore before its work. */
static bool waits(struct nvs_faults *f, const struct nvs_unfinished *u)
{
	for (uint32_t i = 0; i < u->nacquires && i < NVS_UNDONE_SEMAPHORES; i++) {
		const struct nvs_unfinished_sem *s = u->acquire + i;
		uint32_t value;

		if (!s->wide && !s->behind_work && nvs_fault_read_memory(f, s->address, &value) &&
		    !nvs_semaphore_satisfied(s->op, value, s->payload, false))
			return true;
	}
	return false;
}

static bool has_work(const struct nvs_unfinished *u)
{
	return u->launches || u->copies || u->memsets || u->unseen;
}

/* ---- candidates ---- */

static struct nvs_fault_candidate *add(struct nvs_fault *fault, const struct nvs_unfinished *u,
				       const struct nvs_unfinished_channel *c,
				       enum nvs_fault_state state)
{
	struct nvs_fault_candidate *own;

	if (fault->ncandidates == NVS_FAULT_CANDIDATES) {
		fault->unknown = true;
		return NULL;
	}
	own = fault->candidates + fault->ncandidates++;
	*own = (struct nvs_fault_candidate){.u = u, .channel = c->number, .state = state};
	return own;
}

/* Submissions that the slot has passed, whose grids may still run. Returns true if one does. */
static bool add_passed(struct nvs_faults *f, struct nvs_fault *fault,
		       const struct nvs_unfinished_channel *c)
{
	bool runs = false, begun;

	for (uint32_t i = 0; i < c->nrunning; i++) {
		const struct nvs_unfinished *u = c->running + i;
		enum ended ended = has_ended(f, u, &begun);

		if (ended == NO) {
			add(fault, u, c, NVS_FAULT_RUNNING);
			runs = true;
		} else if (ended == UNKNOWN && i + 1 == c->nrunning) {
			add(fault, u, c, NVS_FAULT_PERHAPS);
			fault->unknown = true;
			runs = true;
		} else {
			nvs_fault_note_ran(f, u->attached);
		}
	}
	return runs;
}

/* The first submission that the slot has not passed. AFTER: another one before it may still run. */
static void add_first(struct nvs_faults *f, struct nvs_fault *fault,
		      const struct nvs_unfinished_channel *c, bool after)
{
	const struct nvs_unfinished *u;
	bool begun = true;

	for (uint64_t i = 0; (u = nvs_unfinished_at(c, i)); i++) {
		if (has_work(u) && has_ended(f, u, &begun) == YES)
			continue;
		if (waits(f, u))
			return;
		if (has_work(u))
			break;
	}
	if (!u)
		return;
	if (after && (!begun || !u->launches))
		return;
	add(fault, u, c, after ? NVS_FAULT_BEHIND : NVS_FAULT_NEXT);
}

/* Returns true if the fault can have been in channel C. */
static bool is_concerned(struct nvs_faults *f, const struct nvs_fault *fault,
			 const struct nvs_unfinished_channel *c)
{
	const struct nvs_trace_channel *tc = nvs_trace_channel_at(f->work.source->trace, c->number);

	if (!tc || !tc->known)
		return c->number == fault->channel;
	if (fault->channel != NVS_NONE)
		return tc->rec.client == fault->client && tc->rec.group == fault->group;
	return !c->freed;
}

static void add_channel(struct nvs_faults *f, struct nvs_fault *fault,
			const struct nvs_unfinished_channel *c)
{
	fault->unknown |= (!c->known && c->submissions) || c->dropped || c->ended_grids || c->loose;
	add_first(f, fault, c, add_passed(f, fault, c));
}

/* Nothing is unfinished: the last launch of each channel. */
static void add_last(struct nvs_faults *f, struct nvs_fault *fault)
{
	for (size_t i = 0; i < f->work.channels.n; i++) {
		const struct nvs_unfinished_channel *c = f->work.channels.row[i];

		if (c->nrunning && is_concerned(f, fault, c))
			add(fault, c->running + c->nrunning - 1, c, NVS_FAULT_ENDED);
	}
}

/* ---- program counters ---- */

/* The program that is loaded nearest below PC, among those launched. */
static uint64_t nearest_program(struct nvs_faults *f, uint64_t pc)
{
	uint64_t found = 0;

	for (size_t i = 0; i < f->programs.n && spend(f, 1); i++) {
		uint64_t address = *(const uint64_t *)f->programs.row[i];

		if (address <= pc && address > found)
			found = address;
	}
	return found;
}

/* Returns true if the code of grid INDEX contains PC. *SIZED: because of its size. */
static bool contains(struct nvs_faults *f, const struct nvs_kernel_codes *codes,
		     const struct nvs_unfinished *u, uint32_t index, uint64_t pc, bool *sized)
{
	const struct nvs_fault_grid *g = nvs_fault_grid_at(u, index);
	const char *name = nvs_fault_kernel(f, u, index);
	const struct nvs_named_code *code = name ? nvs_kernel_codes_find(codes, name) : NULL;

	*sized = code;
	if (!g->program || pc < g->program)
		return false;
	if (code)
		return pc - g->program < code->size;
	return pc - g->program < NEAR_CODE && nearest_program(f, pc) <= g->program;
}

static void match_code(struct nvs_faults *f, const struct nvs_kernel_codes *codes,
		       const struct nvs_fault *fault, struct nvs_fault_candidate *c)
{
	const struct nvs_fault_work *work = c->u->attached;
	uint64_t last = 0;
	bool in = false, sized = false;

	for (uint32_t i = 0; work && i < work->ngrids; i++) {
		/* Graphs have many grids of few programs. */
		if (!i || work->grids[i].program != last)
			in = contains(f, codes, c->u, i, fault->pc, &sized);
		last = work->grids[i].program;
		if (!in)
			continue;
		if (!c->n++)
			c->first = i;
		c->matches = true;
		c->sized = sized;
	}
}

/* ---- parameters ---- */

static bool is_suspect(const struct nvs_memory_place *place, uint64_t value)
{
	const struct nvs_memory_range *m = place->below;

	if (place->in || place->freed)
		return place->freed;
	return (m && value - m->address - m->bytes < STRAY) ||
	       (place->above && place->above->address - value < STRAY);
}

bool nvs_fault_word_next(struct nvs_faults *f, const struct nvs_fault *fault,
			 const struct nvs_unfinished *u, uint32_t index, struct nvs_fault_word *w)
{
	const struct nvs_fault_grid *g = nvs_fault_grid_at(u, index);
	const struct nvs_fault_work *work = u->attached;
	uint64_t value;

	for (uint32_t at = w->next; g && g->size != NVS_NONE && at + 8 <= g->size; at += 4) {
		struct nvs_memory_place place;

		if (at >= 4 * MAX_WORDS)
			break;
		memcpy(&value, work->params + g->at + at, sizeof(value));
		if (value < 1u << 16)
			continue;
		if (!spend(f, f->ranges.n + 1ull))
			return false;
		nvs_memory_place_find(&f->ranges, value, fault->time, &place);
		/* Only what is in an allocation counts at odd places. */
		if (!place.in && !place.freed && (at % 8 || !is_suspect(&place, value)))
			continue;
		*w = (struct nvs_fault_word){at, at + 8, value, place};
		return true;
	}
	return false;
}

/* Looks at the parameters of each grid that can have faulted. The first suspicious one is FIRST. */
static void count_suspects(struct nvs_faults *f, const struct nvs_fault *fault,
			   struct nvs_fault_candidate *c, uint32_t *lookups)
{
	const struct nvs_fault_work *work = c->u->attached;
	bool found = c->n == 1;

	for (uint32_t i = 0; work && i < work->ngrids && *lookups < MAX_LOOKUPS; i++) {
		struct nvs_fault_word w = {0};
		uint32_t before = c->freed + c->stray;

		if (c->n && work->grids[i].program != work->grids[c->first].program)
			continue;
		while (nvs_fault_word_next(f, fault, c->u, i, &w)) {
			c->freed += w.place.freed != NULL;
			c->stray += !w.place.in && !w.place.freed;
		}
		if (!found && c->freed + c->stray > before) {
			c->first = i;
			found = true;
		}
		++*lookups;
	}
	if (!found && !c->n && work && work->ngrids > 1)
		c->first = NVS_NONE;
}

/* A kernel that has never run to its end, among others that have, stands out. */
static void find_novel(struct nvs_faults *f, struct nvs_fault_candidate *c)
{
	const struct nvs_fault_work *work = c->u->attached;
	bool others = false;
	uint32_t at = NVS_NONE;

	c->one_kernel = work && work->ngrids && !work->partial;
	for (uint32_t i = 0; work && i < work->ngrids; i++) {
		if (nvs_fault_program_ran(f, work->grids[i].program))
			others = true;
		else if (at == NVS_NONE)
			at = i;
		c->one_kernel &= work->grids[i].program == work->grids->program;
	}
	c->one_node = c->n == 1 || (!c->n && c->one_kernel && work->ngrids == 1);
	c->one_kernel |= c->matches;
	if (at == NVS_NONE || !f->ran)
		return;
	c->novel = true;
	if (c->first == NVS_NONE && others)
		c->first = at;
}

/* ---- the order ---- */

/* What was launched comes first, then what may have been, then what probably still waited. */
static int order_of_state(const struct nvs_fault_candidate *c)
{
	if (c->state == NVS_FAULT_RUNNING)
		return 0;
	if (c->state >= NVS_FAULT_BEHIND)
		return 3;
	return c->state == NVS_FAULT_NEXT && c->u->nacquires && !c->u->acquire->behind_work ? 2 : 1;
}

static int compare_candidates(const void *a, const void *b)
{
	const struct nvs_fault_candidate *x = a, *y = b;

	if (x->matches != y->matches)
		return y->matches - x->matches;
	if (order_of_state(x) != order_of_state(y))
		return NVS_CMP(order_of_state(x), order_of_state(y));
	if (!x->freed != !y->freed)
		return !x->freed - !y->freed;
	if (!x->stray != !y->stray)
		return !x->stray - !y->stray;
	if (x->novel != y->novel)
		return y->novel - x->novel;
	if (x->state == NVS_FAULT_ENDED)
		return NVS_CMP(y->u->number, x->u->number);
	return NVS_CMP(x->u->number, y->u->number);
}

/* With a program counter the only candidate whose code contains it, if that is known from the size
 * of the code, or if all candidates are one kernel's; else the only candidate. */
static void decide(struct nvs_fault *fault)
{
	uint32_t matching = 0;
	const struct nvs_fault_candidate *c = fault->candidates;

	for (uint32_t i = 0; i < fault->ncandidates; i++)
		matching += c[i].matches;
	if (!fault->ncandidates || fault->unknown || c->state == NVS_FAULT_ENDED)
		return;
	if (fault->pc)
		fault->certain = matching == 1 && (c->sized || fault->ncandidates == 1);
	else
		fault->certain = fault->ncandidates == 1 && !c->u->unseen;
}

/* SMs that stopped in other kernels: their counters do not all belong to one launch. */
static bool is_one_kernel(const struct nvs_fault *fault, const struct nvs_kernel_codes *codes,
			  struct nvs_faults *f)
{
	const struct nvs_fault_candidate *c = fault->candidates;
	bool sized;

	for (uint32_t i = 0; i < fault->nsms; i++)
		if (fault->sms[i].pc && fault->ncandidates && c->matches &&
		    !contains(f, codes, c->u, c->first, fault->sms[i].pc, &sized))
			return false;
	return true;
}

static int attribute_one(struct nvs_faults *f, struct nvs_fault *fault,
			 const struct nvs_kernel_codes *codes)
{
	uint32_t lookups = 0;

	fault->candidates = calloc(NVS_FAULT_CANDIDATES, sizeof(*fault->candidates));
	if (!fault->candidates)
		return -ENOMEM;
	for (size_t i = 0; i < f->work.channels.n; i++) {
		const struct nvs_unfinished_channel *c = f->work.channels.row[i];

		if (is_concerned(f, fault, c))
			add_channel(f, fault, c);
	}
	if (!fault->ncandidates)
		add_last(f, fault);
	for (uint32_t i = 0; i < fault->ncandidates; i++) {
		if (fault->pc)
			match_code(f, codes, fault, fault->candidates + i);
		count_suspects(f, fault, fault->candidates + i, &lookups);
		find_novel(f, fault->candidates + i);
	}
	qsort(fault->candidates, fault->ncandidates, sizeof(*fault->candidates),
	      compare_candidates);
	decide(fault);
	if (!is_one_kernel(fault, codes, f))
		fault->certain = false;
	return 0;
}

int nvs_faults_attribute(struct nvs_faults *f, const struct nvs_kernel_codes *codes)
{
	int r = 0;

	for (uint32_t i = 0; i < f->n && !r; i++)
		r = attribute_one(f, f->list + i, codes);
	return r;
}

/* ---- kernels and nodes ---- */

static bool same_shape(const struct nvs_graph_node *node, const struct nvs_fault_grid *g)
{
	return !memcmp(node->grid, g->grid, sizeof(g->grid)) &&
	       !memcmp(node->block, g->block, sizeof(g->block));
}

static bool is_kernel_node(const struct nvs_graph_node *node)
{
	return !node->type && !(node->flags & (NVS_NODE_DISABLED | NVS_NODE_NO_PARAMS));
}

/* The graph is as it was when U launched it. */
static bool is_unchanged(const struct nvs_unfinished *u)
{
	const struct nvs_fault_work *work = u->attached;

	return u->exec && work && !u->exec->partial && work->given == u->exec->given &&
	       work->updates == u->exec->updates && work->changes == u->exec->changes;
}

/* Returns the name of node I's kernel, or NULL. */
static const char *node_kernel(struct nvs_faults *f, const struct nvs_exec *exec, uint32_t i)
{
	const struct nvs_kernel *k = nvs_handles_get_kernel(f->work.handles,
							    exec->nodes[i].function);

	return k && *k->name ? k->name : NULL;
}

/* The driver launches the nodes of a graph that is one chain in their order. */
static bool is_in_order(const struct nvs_unfinished *u)
{
	const struct nvs_fault_work *work = u->attached;
	const struct nvs_exec *exec = u->exec;
	uint32_t k = 0;

	for (uint32_t i = 0; i < exec->nnodes; i++) {
		if (exec->nodes[i].type || exec->nodes[i].flags & NVS_NODE_DISABLED)
			continue;
		if (k == work->ngrids || !is_kernel_node(exec->nodes + i) ||
		    exec->nodes[i].flags & NVS_NODE_CONDITIONAL ||
		    !same_shape(exec->nodes + i, work->grids + k))
			return false;
		k++;
	}
	return k == work->ngrids && !work->partial;
}

/* Node of the kernel number INDEX, counted in order. */
static uint32_t node_in_order(const struct nvs_exec *exec, uint32_t index)
{
	for (uint32_t i = 0; i < exec->nnodes; i++)
		if (!exec->nodes[i].type && !(exec->nodes[i].flags & NVS_NODE_DISABLED) && !index--)
			return i;
	return NVS_NONE;
}

uint32_t nvs_fault_node(struct nvs_faults *f, const struct nvs_unfinished *u, uint32_t index,
			uint32_t *node)
{
	const struct nvs_fault_grid *g = nvs_fault_grid_at(u, index);
	const char *name = g ? nvs_fault_program_name(f, g->program) : NULL;
	uint32_t n = 0;

	*node = NVS_NONE;
	if (!g || !is_unchanged(u) || !spend(f, u->exec->nnodes))
		return 0;
	if (is_in_order(u)) {
		*node = node_in_order(u->exec, index);
		return *node != NVS_NONE;
	}
	for (uint32_t i = 0; i < u->exec->nnodes; i++) {
		const char *other = node_kernel(f, u->exec, i);

		if (!is_kernel_node(u->exec->nodes + i) || !same_shape(u->exec->nodes + i, g) ||
		    (name && other && strcmp(name, other)))
			continue;
		if (!n++)
			*node = i;
	}
	return n;
}

const char *nvs_fault_kernel(struct nvs_faults *f, const struct nvs_unfinished *u, uint32_t index)
{
	const struct nvs_fault_grid *g = nvs_fault_grid_at(u, index);
	const struct nvs_fault_work *work = u->attached;
	const char *name = g ? nvs_fault_program_name(f, g->program) : NULL;
	uint32_t node, n;

	if (u->kernel && (!work || index + 1 >= work->ngrids))
		return u->kernel;
	if (name || !g)
		return name;
	n = nvs_fault_node(f, u, index, &node);
	name = n ? node_kernel(f, u->exec, node) : NULL;
	/* Several nodes: only if they all have this kernel. */
	for (uint32_t i = node; n > 1 && name && i < u->exec->nnodes; i++) {
		const char *other = node_kernel(f, u->exec, i);

		if (is_kernel_node(u->exec->nodes + i) && same_shape(u->exec->nodes + i, g) &&
		    (!other || strcmp(other, name)))
			name = NULL;
	}
	if (name)
		nvs_fault_name_program(f, g->program, name);
	return name;
}

static int want_all(struct nvs_faults *f, const struct nvs_unfinished *u,
		    struct nvs_kernel_codes *codes)
{
	const struct nvs_fault_work *work = u->attached;
	uint64_t last = 0;
	int r = 0;

	for (uint32_t i = 0; work && i < work->ngrids && !r; i++) {
		const char *name;

		if (i && work->grids[i].program == last)
			continue;
		last = work->grids[i].program;
		name = nvs_fault_kernel(f, u, i);
		r = name ? nvs_kernel_codes_want(codes, name) : 0;
	}
	return r;
}

int nvs_faults_want_code(struct nvs_faults *f, struct nvs_kernel_codes *codes)
{
	const struct nvs_unfinished *u;
	bool wanted = false;
	int r = 0;

	for (uint32_t i = 0; i < f->n; i++)
		wanted |= f->list[i].pc != 0;
	for (size_t k = 0; wanted && k < f->work.channels.n && !r; k++) {
		const struct nvs_unfinished_channel *c = f->work.channels.row[k];

		for (uint32_t i = 0; i < c->nrunning && !r; i++)
			r = want_all(f, c->running + i, codes);
		for (uint64_t i = 0; i < 4 && !r && (u = nvs_unfinished_at(c, i)); i++)
			r = want_all(f, u, codes);
	}
	return r;
}
