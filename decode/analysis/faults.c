/* SPDX-License-Identifier: MIT */
/* Collects faults while a trace is read, with the grids of unfinished submissions. See faults.h;
 * fault_candidates.c attributes them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/base/grow.h"
#include "decode/calls/args.h"
#include "decode/calls/pass.h"
#include "decode/gpu/qmd.h"
#include "decode/analysis/faults.h"

#define MAX_GRIDS (1u << 20) /* per submission */
#define MAX_PAGES 256u /* of semaphores */
#define BLOCK_PAGES 64u /* that the recorder writes of one block of 2 MiB */

struct fault_program {
	uint64_t address; /* its key */
	const char *kernel; /* mangled; NULL: unknown, or several */
	bool several;
	bool ran; /* a launch of it has ended */
};

struct fault_page {
	uint64_t address; /* its key */
	uint8_t bytes[4096];
};

bool nvs_is_fault_result(uint32_t result)
{
	switch (result) {
	case 214: /* ECC_UNCORRECTABLE */
	case 220: /* NVLINK_UNCORRECTABLE */
	case 226: /* CONTAINED */
	case 700: /* ILLEGAL_ADDRESS */
	case 702: /* LAUNCH_TIMEOUT */
	case 710: /* ASSERT */
	case 714: /* HARDWARE_STACK_ERROR */
	case 715: /* ILLEGAL_INSTRUCTION */
	case 716: /* MISALIGNED_ADDRESS */
	case 717: /* INVALID_ADDRESS_SPACE */
	case 718: /* INVALID_PC */
	case 719: /* LAUNCH_FAILED */
		return true;
	}
	return false;
}

/* ---- submissions ---- */

static struct fault_program *get_program(struct nvs_faults *f, uint64_t address)
{
	struct fault_program *p = address ? nvs_rows_find(&f->programs, &address) : NULL;

	if (!p && address && nvs_budget_allows(sizeof(*p)))
		p = nvs_rows_at(&f->programs, &address);
	return p;
}

void nvs_fault_note_ran(struct nvs_faults *f, const struct nvs_fault_work *work)
{
	for (uint32_t i = 0; work && i < work->ngrids; i++) {
		struct fault_program *p = get_program(f, work->grids[i].program);

		if (p)
			f->ran = p->ran = true;
	}
}

/* The submission has ended. */
static void free_work(void *attached)
{
	struct nvs_fault_work *work = attached;

	nvs_fault_note_ran(work->owner, work);
	free(work->grids);
	free(work->params);
	free(work);
}

static struct nvs_fault_work *get_work(struct nvs_faults *f, struct nvs_unfinished *u)
{
	struct nvs_fault_work *work = u->attached;

	if (!work && nvs_budget_allows(sizeof(*work)))
		work = u->attached = calloc(1, sizeof(*work));
	if (work)
		work->owner = f;
	return work;
}

static void keep_params(struct nvs_fault_work *work, struct nvs_fault_grid *g,
			const struct nvs_launch_parameters *of)
{
	uint32_t room = work->params_room ? 2 * work->params_room : 256;
	uint8_t *more = work->params;

	while (room < work->nparams + of->size)
		room *= 2;
	if (work->params_room < work->nparams + of->size) {
		more = nvs_budget_allows(room) ? realloc(work->params, room) : NULL;
		if (!more)
			return;
		work->params = more;
		work->params_room = room;
	}
	if (of->size)
		memcpy(more + work->nparams, of->bytes, of->size);
	g->at = work->nparams;
	g->size = of->size;
	work->nparams += of->size;
}

static void keep_grid(struct nvs_faults *f, struct nvs_fault_work *work, const struct nvs_op *op)
{
	const struct nvs_source *source = f->work.source;
	const struct nvs_pass *pass = source->separate ? source->separate : source->first;
	const struct nvs_qmd *qmd = nvs_pass_qmd(pass, op);
	struct nvs_fault_grid *g = NVS_APPEND_OPTIONAL(work->grids, work->ngrids, work->room, 4,
						       MAX_GRIDS);
	struct nvs_launch_parameters of;

	work->partial |= !g;
	if (!g)
		return;
	*g = (struct nvs_fault_grid){.size = NVS_NONE, .cls = op->cls};
	f->cls = op->cls ? op->cls : f->cls;
	if (qmd) {
		g->program = qmd->program;
		memcpy(g->grid, qmd->grid, sizeof(g->grid));
		memcpy(g->block, qmd->block, sizeof(g->block));
	}
	if (nvs_parameters_find(&f->parameters, pass, op, &of) &&
	    work->nparams + of.size < INT32_MAX)
		keep_params(work, g, &of);
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_faults *f = arg;
	int r = nvs_parameters_op(&f->parameters, op);
	struct nvs_fault_work *work;
	struct nvs_unfinished *u;

	if (!r)
		r = f->inner.op(arg, s, op);
	if (r ||
	    (op->kind != NVS_OP_LAUNCH && op->kind != NVS_OP_COPY && op->kind != NVS_OP_MEMSET))
		return r;
	u = nvs_unfinished_latest(&f->work, s->channel->channel);
	work = u ? get_work(f, u) : NULL;
	if (!work)
		return 0;
	if (op->kind == NVS_OP_LAUNCH) {
		keep_grid(f, work, op);
	} else if (!work->bytes) {
		work->from = op->copy.src;
		work->to = op->copy.dst;
		work->bytes = op->copy.bytes;
	}
	return 0;
}

/* ---- calls ---- */

void nvs_fault_name_program(struct nvs_faults *f, uint64_t address, const char *kernel)
{
	struct fault_program *p = get_program(f, address);

	if (!p)
		return;
	/* Code may be unloaded, and other code loaded in its place. */
	p->several |= p->kernel && strcmp(p->kernel, kernel);
	p->kernel = kernel;
}

static void note_launch(struct nvs_faults *f, const struct nvs_unfinished *u)
{
	struct nvs_fault_work *work = u->attached;

	if (u->kernel && work && work->ngrids)
		/* With dynamic parallelism the launch itself is the last one. */
		nvs_fault_name_program(f, work->grids[work->ngrids - 1].program, u->kernel);
	if (u->exec && work) {
		work->given = u->exec->given;
		work->updates = u->exec->updates;
		work->changes = u->exec->changes;
	}
}

static void note_failure(struct nvs_faults *f, const struct nvs_call *call)
{
	if (!nvs_is_fault_result(call->result) ||
	    call->flags & (NVS_CALL_UNWOUND | NVS_CALL_ABANDONED))
		return;
	f->work.failed = true;
	if (f->ncalls < NVS_FAULT_CALLS)
		f->calls[f->ncalls++] = (struct nvs_fault_call){call->api, call->end, call->result,
								call->thread, call->stack};
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct nvs_faults *f = arg;
	int r = nvs_allocs_call(&f->allocs, call);

	if (call->end)
		note_failure(f, call);
	if (!r)
		r = f->inner.call(arg, call);
	if (r || !call->submissions)
		return r;
	for (size_t i = 0; i < f->work.channels.n; i++) {
		const struct nvs_unfinished_channel *c = f->work.channels.row[i];
		const struct nvs_unfinished *u = nvs_queue_last(&c->items);

		if (u && u->call == call->number + 1 && u->thread == call->thread)
			note_launch(f, u);
	}
	return 0;
}

/* ---- records ---- */

static struct nvs_fault *add_fault(struct nvs_faults *f)
{
	struct nvs_fault *fault = NVS_APPEND(f->list, f->n, f->room, 4, NVS_MAX_FAULTS);

	if (fault)
		*fault = (struct nvs_fault){.channel = NVS_NONE, .gpu = NVS_NONE};
	return fault;
}

/* Returns the fault of the channel's group, or NULL. */
static struct nvs_fault *find_fault(struct nvs_faults *f, uint32_t client, uint32_t group)
{
	for (uint32_t i = f->n; i--;)
		if (f->list[i].channel != NVS_NONE && f->list[i].client == client &&
		    f->list[i].group == group)
			return f->list + i;
	return NULL;
}

static int note_fault(struct nvs_faults *f, const struct nvs_rec_fault *rec)
{
	const struct nvs_trace_channel *c = nvs_trace_channel_at(f->work.source->trace,
								 rec->channel);
	uint32_t client = c && c->known ? c->rec.client : NVS_NONE;
	uint32_t group = c && c->known ? c->rec.group : rec->channel;
	struct nvs_fault *fault = find_fault(f, client, group);

	if (!fault) {
		fault = add_fault(f);
		if (!fault)
			return f->n == NVS_MAX_FAULTS ? 0 : -ENOMEM;
		fault->client = client;
		fault->group = group;
		fault->channel = rec->channel;
		fault->gpu = c && c->known ? c->rec.gpu : NVS_NONE;
		fault->time = rec->rec.time;
	}
	if (!fault->notified) {
		fault->notified = true;
		fault->number = rec->number;
		fault->gpu_ns = rec->gpu_ns;
	}
	fault->nchannels++;
	if (rec->gpu_ns && rec->gpu_ns < fault->gpu_ns)
		fault->gpu_ns = rec->gpu_ns;
	return 0;
}

/* Error states may come before or after the notifiers: the record is matched by its group, or, if
 * the channel is unknown, with the latest fault of its GPU. */
static struct nvs_fault *fault_of_states(struct nvs_faults *f, const struct nvs_rec_sm_error *rec)
{
	const struct nvs_trace_channel *c = nvs_trace_channel_at(f->work.source->trace,
								 rec->channel);
	struct nvs_fault *fault = NULL;

	if (c && c->known)
		fault = find_fault(f, c->rec.client, c->rec.group);
	for (uint32_t i = f->n; i-- && !fault && !(c && c->known);)
		if (f->list[i].gpu == rec->gpu || f->list[i].gpu == NVS_NONE)
			fault = f->list + i;
	if (fault || (!rec->nsms && !rec->mmu_valid))
		return fault;
	fault = add_fault(f);
	if (fault && c && c->known) {
		fault->client = c->rec.client;
		fault->group = c->rec.group;
		fault->channel = rec->channel;
	}
	if (fault) {
		fault->gpu = rec->gpu;
		fault->time = rec->rec.time;
	}
	return fault;
}

/* The driver asks once for each channel: the same states come several times. */
static void note_state(struct nvs_fault *fault, const struct nvs_sm_error *sm)
{
	for (uint32_t i = 0; i < fault->nsms; i++)
		if (fault->sms[i].sm == sm->sm) {
			if (sm->pc || sm->address)
				fault->sms[i] = *sm;
			return;
		}
	if (fault->nsms < NVS_FAULT_SMS)
		fault->sms[fault->nsms++] = *sm;
}

static int note_states(struct nvs_faults *f, const struct nvs_rec_sm_error *rec)
{
	struct nvs_fault *fault = fault_of_states(f, rec);

	if (!fault)
		return 0;
	fault->asked = true;
	if (rec->mmu_valid) {
		fault->mmu = true;
		fault->mmu_info = rec->mmu_fault;
	}
	if (!fault->sms && rec->nsms)
		fault->sms = calloc(NVS_FAULT_SMS, sizeof(*fault->sms));
	if (!fault->sms && rec->nsms)
		return -ENOMEM;
	for (uint32_t i = 0; i < rec->nsms; i++)
		note_state(fault, rec->sms + i);
	return 0;
}

static int note_memory(struct nvs_faults *f, const struct nvs_rec_fault_memory *rec)
{
	struct fault_page *p = nvs_rows_find(&f->pages, &rec->address);

	if (!p && f->pages.n < MAX_PAGES)
		p = nvs_rows_at(&f->pages, &rec->address);
	if (p)
		memcpy(p->bytes, rec->data,
		       rec->bytes < sizeof(p->bytes) ? rec->bytes : sizeof(p->bytes));
	return p || f->pages.n == MAX_PAGES ? 0 : -ENOMEM;
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	struct nvs_faults *f = arg;
	int r = f->inner.record(arg, rec);

	if (r)
		return r;
	switch (rec->type) {
	case NVS_REC_ALLOCATION:
		return nvs_allocs_record(&f->allocs, rec);
	case NVS_REC_FAULT:
		return note_fault(f, (const void *)rec);
	case NVS_REC_SM_ERROR:
		return note_states(f, (const void *)rec);
	case NVS_REC_FAULT_MEMORY:
		return note_memory(f, (const void *)rec);
	}
	return 0;
}

/* ---- begin and end ---- */

void nvs_faults_begin(struct nvs_faults *f, struct nvs_source *s, struct nvs_pass_reader *reader)
{
	nvs_unfinished_work_begin(&f->work, s, reader);
	f->work.keeps_freed = true;
	f->work.detach = free_work;
	f->inner = *reader;
	f->programs = NVS_ROWS(struct fault_program, address);
	f->pages = NVS_ROWS(struct fault_page, address);
	nvs_allocs_begin(&f->allocs, s);
	f->allocs.ranges = &f->ranges;
	reader->op = on_op;
	reader->call = on_call;
	reader->record = on_record;
}

/* Gives each fault the first call that failed when it was seen, or later. */
static void find_calls(struct nvs_faults *f)
{
	for (uint32_t i = 0; i < f->n; i++) {
		const struct nvs_fault_call *found = NULL;

		for (uint32_t k = 0; k < f->ncalls; k++)
			if (!found ||
			    (found->end < f->list[i].time && f->calls[k].end > found->end))
				found = f->calls + k;
		if (found)
			f->list[i].call = *found;
	}
}

static int compare_states(const void *a, const void *b)
{
	const struct nvs_sm_error *x = a, *y = b;

	if (!x->pc != !y->pc)
		return !x->pc - !y->pc;
	return NVS_CMP(x->sm, y->sm);
}

static void sort_states(struct nvs_fault *fault)
{
	if (!fault->nsms)
		return;
	qsort(fault->sms, fault->nsms, sizeof(*fault->sms), compare_states);
	fault->pc = fault->sms->pc;
	for (uint32_t i = 0; i < fault->nsms && !fault->address; i++)
		fault->address = fault->sms[i].address;
}

static int compare_times(const void *a, const void *b)
{
	const struct nvs_fault *x = a, *y = b;

	return NVS_CMP(x->time, y->time);
}

int nvs_faults_end(struct nvs_faults *f)
{
	struct nvs_fault *fault;
	int r = nvs_unfinished_work_end(&f->work);

	if (r)
		return r;
	find_calls(f);
	/* No notifier, but a call failed: an assertion. */
	if (!f->n && f->ncalls) {
		fault = add_fault(f);
		if (!fault)
			return -ENOMEM;
		fault->call = *f->calls;
		fault->time = f->calls->end;
	}
	for (uint32_t i = 0; i < f->n; i++)
		sort_states(f->list + i);
	if (f->n)
		qsort(f->list, f->n, sizeof(*f->list), compare_times);
	return 0;
}

void nvs_faults_free(struct nvs_faults *f)
{
	for (uint32_t i = 0; i < f->n; i++) {
		free(f->list[i].sms);
		free(f->list[i].candidates);
	}
	free(f->list);
	nvs_unfinished_work_free(&f->work);
	nvs_parameters_free(&f->parameters);
	nvs_memory_ranges_free(&f->ranges);
	nvs_allocs_free(&f->allocs);
	nvs_rows_free(&f->programs, NULL);
	nvs_rows_free(&f->pages, NULL);
}

/* ---- what was collected ---- */

const struct nvs_fault_grid *nvs_fault_grid_at(const struct nvs_unfinished *u, uint32_t index)
{
	const struct nvs_fault_work *work = u->attached;

	return work && index < work->ngrids ? work->grids + index : NULL;
}

/* Returns true if another page of the same 2 MiB was recorded, so that one that was not had only
 * zeros. */
static bool is_zero_page(const struct nvs_faults *f, uint64_t base)
{
	uint32_t n = 0;

	for (size_t i = 0; i < f->pages.n; i++)
		n += ((const struct fault_page *)f->pages.row[i])->address >> 21 == base >> 21;
	return n && n < BLOCK_PAGES;
}

bool nvs_fault_read_memory(const struct nvs_faults *f, uint64_t address, uint32_t *value)
{
	uint64_t base = address & ~4095ull;
	const struct fault_page *p = nvs_rows_find(&f->pages, &base);

	*value = 0;
	/* Pages of zeros are not recorded. */
	if (!f->pages.n || address % 4)
		return false;
	if (p)
		memcpy(value, p->bytes + address % 4096, sizeof(*value));
	return p || is_zero_page(f, base);
}

const char *nvs_fault_program_name(const struct nvs_faults *f, uint64_t address)
{
	const struct fault_program *p = address ? nvs_rows_find(&f->programs, &address) : NULL;

	return p && !p->several ? p->kernel : NULL;
}

bool nvs_fault_program_ran(const struct nvs_faults *f, uint64_t address)
{
	const struct fault_program *p = address ? nvs_rows_find(&f->programs, &address) : NULL;

	return p && p->ran;
}
