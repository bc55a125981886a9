/* SPDX-License-Identifier: MIT */
/* Follows a trace: collects what calls access, and adds it in the order of the calls. See races.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/allocations.h"
#include "decode/analysis/races.h"
#include "decode/base/grow.h"
#include "decode/calls/images.h"
#include "decode/calls/pass.h"
#include "decode/query/selection.h"
#include "decode/calls/roles.h"
#include "decode/gpu/qmd.h"

#define MAX_PENDING 65536u /* accesses of one call */
#define DEPTH_OUTER 1u /* of calls that the program makes */

/* ---- submissions: what a call makes the GPU access ---- */

static struct race_thread *get_thread(struct nvs_races *r, uint32_t thread)
{
	struct race_thread *t = nvs_number_make(&r->threads, thread, sizeof(*t));

	if (t && !t->used) {
		t->used = true;
		t->channel = NVS_NONE;
	}
	return t;
}

static void forget_pending(struct race_thread *t)
{
	t->npending = t->nlaunches = 0;
	t->channel = NVS_NONE;
}

/* Arguments are preferred, so only the operations of some calls are needed. */
int nvs_races_submission(void *races, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct nvs_races *r = races;
	struct race_operand operands[2];
	uint8_t group = call ? call->api->group : NVS_CALL_GROUP_OTHER;

	r->call = call;
	r->skipped += nvs_submission_skipped(s);
	r->wants_transfers = group == NVS_CALL_GROUP_GRAPH_LAUNCH;
	if (group == NVS_CALL_GROUP_COPY || group == NVS_CALL_GROUP_MEMSET)
		r->wants_transfers = call->api->role == NVS_CALL_ROLE_COPY_BOX ||
				     call->api->role == NVS_CALL_ROLE_COPY_BATCH ||
				     (call->nargs && nvs_race_operands(call, operands) < 0);
	/* Kernels of the driver copy, too. */
	r->wants_launches = group == NVS_CALL_GROUP_LAUNCH || r->wants_transfers;
	return 0;
}

static void add_pending(struct nvs_races *r, struct race_thread *t, const struct race_pending *p)
{
	struct race_pending *own;

	if (!nvs_memory_range_at(&r->ranges, p->operand.range.from))
		return;
	own = NVS_APPEND_OPTIONAL(t->pending, t->npending, t->pending_room, 16, MAX_PENDING);
	if (own)
		*own = *p;
	else
		r->accesses.dropped++;
}

/* Lines of a copy at ADDRESS. */
static struct nvs_access_range lines_at(const struct nvs_op *op, uint64_t address, uint32_t pitch)
{
	struct nvs_access_range range = {.from = address};
	uint64_t lines = op->copy.lines ? op->copy.lines : 1;
	bool several = lines > 1 && op->flags & NVS_OP_TWO_D;

	if (!several) {
		range.to = address + (op->copy.width ? op->copy.width : op->copy.bytes);
		return range;
	}
	pitch = pitch ? pitch : (uint32_t)op->copy.width;
	range.to = address + (lines - 1) * pitch + op->copy.width;
	if (pitch > op->copy.width) {
		range.pitch = pitch;
		range.width = (uint32_t)op->copy.width;
	}
	return range;
}

static void add_transfer(struct nvs_races *r, struct race_thread *t, const struct nvs_op *op)
{
	struct race_pending p = {.launch = 0};

	if (op->kind == NVS_OP_COPY && op->copy.src &&
	    !(op->flags & (NVS_OP_PHYSICAL_SRC | NVS_OP_BLOCKLINEAR_SRC))) {
		p.operand.kind = NVS_ACCESS_READS;
		p.operand.range = lines_at(op, op->copy.src, op->copy.src_pitch);
		add_pending(r, t, &p);
	}
	if (op->flags & (NVS_OP_PHYSICAL_DST | NVS_OP_BLOCKLINEAR_DST))
		return;
	p.operand.kind = NVS_ACCESS_WRITES;
	p.operand.range = lines_at(op, op->copy.dst, op->copy.dst_pitch);
	add_pending(r, t, &p);
}

/* Pointers are aligned to 8 bytes. */
static void add_pointers(struct nvs_races *r, struct race_thread *t,
			 const struct nvs_launch_parameters *of)
{
	struct race_pending p = {.operand = {.kind = NVS_ACCESS_GIVEN}, .launch = t->nlaunches};

	for (p.at = 0; p.at + 8 <= of->size; p.at += 8) {
		memcpy(&p.operand.range.from, of->bytes + p.at, 8);
		/* Most words are numbers: below the lowest page that is ever mapped. */
		if (p.operand.range.from < 0x10000 || p.operand.range.from >> 57)
			continue;
		p.operand.range.to = p.operand.range.from + 1;
		add_pending(r, t, &p);
	}
}

static void add_launch(struct nvs_races *r, struct race_thread *t, const struct nvs_op *op)
{
	const struct nvs_qmd *qmd = nvs_pass_qmd(r->pass, op);
	struct nvs_launch_parameters of;
	struct race_launch *l;

	r->launches++;
	l = NVS_APPEND_OPTIONAL(t->launches, t->nlaunches, t->launches_room, 4, MAX_PENDING);
	if (!l) {
		r->accesses.dropped++;
		return;
	}
	*l = (struct race_launch){{0}, {0}};
	if (qmd) {
		memcpy(l->grid, qmd->grid, sizeof(l->grid));
		memcpy(l->block, qmd->block, sizeof(l->block));
	}
	if (nvs_parameters_find(&r->parameters, r->pass, op, &of))
		add_pointers(r, t, &of);
	else
		r->unknown_launches++;
}

int nvs_races_op(void *races, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_races *r = races;
	const struct nvs_sync_side who = {.submission = s->number, .channel = s->channel->channel};
	int failed = nvs_semaphore_pairs_op(r->pairs, &who, op);
	bool transfer = op->kind == NVS_OP_COPY || op->kind == NVS_OP_MEMSET;
	struct race_thread *t;

	if (!failed)
		failed = nvs_parameters_op(&r->parameters, op);
	if (failed || !r->call || (!transfer && op->kind != NVS_OP_LAUNCH))
		return failed;
	t = get_thread(r, s->thread->thread);
	if (!t)
		return -ENOMEM;
	t->submission = s->number;
	t->sequence = s->rec->sequence;
	t->channel = s->channel->channel;
	if (transfer && r->wants_transfers)
		add_transfer(r, t, op);
	else if (!transfer && r->wants_launches)
		add_launch(r, t, op);
	return 0;
}

/* ---- allocations ---- */

static bool allocated_bytes(const struct nvs_call *call, uint64_t *address, uint64_t *bytes)
{
	uint64_t height;

	if (!nvs_call_value(call, NVS_ARG_address, address) || !*address)
		return false;
	if (call->api->role != NVS_CALL_ROLE_ALLOC_PITCH)
		return nvs_call_value(call, NVS_ARG_size, bytes);
	if (!nvs_call_value(call, NVS_ARG_pPitch, bytes) ||
	    !nvs_call_value(call, NVS_ARG_Height, &height))
		return false;
	*bytes *= height;
	return true;
}

static void end_range(struct nvs_races *r, const struct nvs_call *call, uint64_t address)
{
	const struct nvs_memory_range *m = nvs_memory_range_at(&r->ranges, address);
	const struct nvs_memory_call by = {call->api, call->end, call->thread, call->stack};

	if (m)
		nvs_memory_ranges_end(&r->ranges, (uint32_t)(m - r->ranges.list) + 1, &by);
}

/* Memory that was freed in stream order stays until its addresses are used again. */
static void end_overlapping(struct nvs_races *r, const struct nvs_call *call, uint64_t from,
			    uint64_t to)
{
	const struct nvs_mapping *below, *above;

	for (;;) {
		nvs_maps_neighbours(&r->ranges.live, 0, to - 1, &below, &above);
		if (!below || below->address + below->size <= from)
			return;
		end_range(r, call, below->address);
	}
}

static void add_range(struct nvs_races *r, const struct nvs_call *call, enum nvs_alloc_kind kind)
{
	struct nvs_memory_range m = {.kind = kind,
				     .made = {call->api, call->end, call->thread, call->stack}};

	if (!allocated_bytes(call, &m.address, &m.bytes) || !m.bytes ||
	    m.address + m.bytes < m.address)
		return;
	end_overlapping(r, call, m.address, m.address + m.bytes);
	nvs_memory_ranges_add(&r->ranges, &m);
}

static const uint8_t allocates[NVS_CALL_ROLES] = {
	[NVS_CALL_ROLE_ALLOC_DEVICE] = 1 + NVS_ALLOC_DEVICE,
	[NVS_CALL_ROLE_ALLOC_PITCH] = 1 + NVS_ALLOC_DEVICE,
	[NVS_CALL_ROLE_ALLOC_ASYNC] = 1 + NVS_ALLOC_ASYNC,
	[NVS_CALL_ROLE_ALLOC_GRAPH] = 1 + NVS_ALLOC_GRAPH,
	[NVS_CALL_ROLE_ALLOC_MANAGED] = 1 + NVS_ALLOC_MANAGED,
	[NVS_CALL_ROLE_ALLOC_PINNED] = 1 + NVS_ALLOC_HOST,
	[NVS_CALL_ROLE_ALLOC_REGISTERED] = 1 + NVS_ALLOC_REGISTERED,
	[NVS_CALL_ROLE_MAP] = 1 + NVS_ALLOC_PHYSICAL,
};

static void follow_allocation(struct nvs_races *r, const struct nvs_call *call)
{
	uint64_t address, stream;

	if (allocates[call->api->role])
		add_range(r, call, allocates[call->api->role] - 1u);
	else if ((call->api->role == NVS_CALL_ROLE_FREE &&
		  !nvs_call_kind(call, NVS_KIND_STREAM, &stream)) ||
		 call->api->role == NVS_CALL_ROLE_UNMAP)
		if (nvs_call_value(call, NVS_ARG_address, &address))
			end_range(r, call, address);
}

/* ---- calls ---- */

static struct nvs_access_work describe_work(const struct nvs_races *r, const struct nvs_call *call,
					    const struct race_thread *t)
{
	const struct nvs_ordered_stream *s = r->stream;
	struct nvs_access_work work = {
		.point = {s->seq, r->order.now, s->slot},
		.stream = s->key.handle,
		.thread = call->thread,
		.time = call->begin,
		.channel = NVS_NONE,
		.context = s->context,
		.non_blocking = s->non_blocking,
		.selected = nvs_filter_call(r->source, call),
	};

	if (t && t->channel != NVS_NONE) {
		work.channel = t->channel;
		work.submission = t->submission;
		work.sequence = t->sequence;
	}
	return work;
}

static const struct nvs_kernel *kernel_of(struct nvs_races *r, const struct nvs_call *call)
{
	uint64_t handle;

	if (call->api->group != NVS_CALL_GROUP_LAUNCH ||
	    (!nvs_call_kind(call, NVS_KIND_FUNCTION, &handle) &&
	     !nvs_call_kind(call, NVS_KIND_KERNEL, &handle)))
		return NULL;
	return nvs_handles_get_kernel(r->handles, handle);
}

static int add_operand(struct nvs_races *r, uint32_t work, const struct race_operand *o)
{
	return nvs_accesses_add(&r->accesses, r->stream, work, o->kind, &o->range);
}

/* Stream-ordered allocations and frees are accesses to all of the memory. */
static int add_allocation(struct nvs_races *r, const struct nvs_call *call, uint32_t work)
{
	const struct nvs_memory_range *m;
	struct race_operand o = {.kind = NVS_ACCESS_ALLOCATES};
	uint64_t address;

	if (call->api->role == NVS_CALL_ROLE_FREE)
		o.kind = NVS_ACCESS_FREES;
	else if (call->api->role != NVS_CALL_ROLE_ALLOC_ASYNC)
		return 0;
	if (!nvs_call_value(call, NVS_ARG_address, &address))
		return 0;
	m = nvs_memory_range_at(&r->ranges, address);
	if (!m || m->address != address)
		return 0;
	o.range = (struct nvs_access_range){.from = address, .to = address + m->bytes};
	return add_operand(r, work, &o);
}

/* What kernels do with what they are given. */
static void resolve_pointers(struct nvs_races *r, const struct nvs_call *call,
			     struct race_thread *t, const struct nvs_kernel *kernel)
{
	if (!r->uses.kernels.size)
		return;
	if (call->api->group == NVS_CALL_GROUP_GRAPH_LAUNCH)
		nvs_race_resolve_graph(r, call, t);
	for (uint32_t i = 0; kernel && i < t->npending; i++)
		if (t->pending[i].launch)
			t->pending[i].operand.kind = nvs_parameter_use(&r->uses, kernel->name,
								       t->pending[i].at);
}

/* What the arguments of CALL name, what its commands access, and memory that it allocates or frees.
 */
static int add_accesses(struct nvs_races *r, const struct nvs_call *call, struct race_thread *t,
			uint32_t work)
{
	struct race_operand operands[2];
	uint8_t group = call->api->group;
	int n = group == NVS_CALL_GROUP_COPY || group == NVS_CALL_GROUP_MEMSET
			? nvs_race_operands(call, operands)
			: -1;
	int failed = add_allocation(r, call, work);

	for (int i = 0; i < n && !failed; i++)
		failed = add_operand(r, work, operands + i);
	for (uint32_t i = 0; t && n < 0 && i < t->npending && !failed; i++)
		failed = add_operand(r, work, &t->pending[i].operand);
	return failed;
}

static int follow_work(struct nvs_races *r, const struct nvs_call *call, struct race_thread *t)
{
	struct nvs_race_site_key key = {
		.api = call->api, .stack = call->stack, .kernel = kernel_of(r, call)};
	struct nvs_access_work work = describe_work(r, call, t);
	const struct nvs_race_site *site = nvs_race_site(r, &key);
	uint32_t number;
	int failed;

	if (!site)
		return -ENOMEM;
	r->works++;
	work.site = site->number;
	number = nvs_accesses_work(&r->accesses, &work);
	if (number == UINT32_MAX) {
		r->accesses.dropped++;
		return 0;
	}
	if (t)
		resolve_pointers(r, call, t, key.kernel);
	failed = add_accesses(r, call, t, number);
	nvs_accesses_release(&r->accesses, number);
	if (!failed && t && call->api->group == NVS_CALL_GROUP_GRAPH_LAUNCH)
		failed = nvs_race_check_graph(r, call, t, &work);
	return failed;
}

static int follow_call(struct nvs_races *r, const struct nvs_call *call, struct race_thread *t)
{
	struct nvs_copy_endpoints ends;
	struct nvs_ordered_stream *stream;
	bool blocking = false;
	uint64_t context;
	int failed = nvs_contexts_call(&r->contexts, call, &context);

	if (!failed && call->api->group == NVS_CALL_GROUP_COPY) {
		nvs_copy_endpoints_read(&r->memory, call, &ends);
		blocking = nvs_copy_is_blocking(call, &ends);
	}
	if (!failed)
		failed = nvs_hostmem_call(r->memory.kinds, call);
	if (!failed)
		failed = nvs_race_note_capture(r, call);
	if (!failed)
		failed = nvs_stream_order_call(&r->order, call, context, blocking, &stream);
	if (failed || call->result || !nvs_call_returned(call))
		return failed;
	r->foreign |= call->api->role == NVS_CALL_ROLE_FOREIGN_WAIT ||
		      call->api->role == NVS_CALL_ROLE_EVENT_IMPORT ||
		      call->api->role == NVS_CALL_ROLE_ALLOC_IPC;
	follow_allocation(r, call);
	if (!stream)
		return 0;
	r->stream = stream;
	return follow_work(r, call, t);
}

int nvs_races_call(void *races, const struct nvs_call *call)
{
	struct nvs_races *r = races;
	struct race_thread *t = nvs_number_get(&r->threads, call->thread);
	int failed;

	if (call->depth > DEPTH_OUTER)
		return 0;
	r->called = true;
	failed = follow_call(r, call, t);
	if (t)
		forget_pending(t);
	return failed;
}

/* Where recording stopped for a time, or something was lost, waits may be missing. */
int nvs_races_record(void *races, const struct nvs_rec *rec)
{
	struct nvs_races *r = races;
	int failed = nvs_parameter_uses_record(&r->uses, rec);

	if (failed)
		return failed;
	if (rec->type != NVS_REC_WINDOW && rec->type != NVS_REC_PART && rec->type != NVS_REC_GAP)
		return 0;
	return nvs_stream_order_forget(&r->order);
}

/* ---- the whole ---- */

int nvs_races_begin(struct nvs_races *r, struct nvs_source *s, struct nvs_pass_reader *reader)
{
	int failed = nvs_copy_memory_begin(&r->memory, s->trace);

	r->source = s;
	r->pass = s->second ? s->second : s->first;
	r->uses.trace = s->trace;
	r->pairs = nvs_semaphore_pairs_new(nvs_race_on_acquire, r);
	r->accesses.order = &r->order;
	r->accesses.ranges = &r->ranges;
	r->accesses.conflict = nvs_race_on_conflict;
	r->accesses.arg = r;
	*reader = (struct nvs_pass_reader){.submission = nvs_races_submission,
					   .op = nvs_races_op,
					   .call = nvs_races_call,
					   .record = nvs_races_record,
					   .handles = &r->handles,
					   .calls = true,
					   .arg = r};
	return failed || !r->pairs ? -ENOMEM : 0;
}

static void free_thread(void *item)
{
	struct race_thread *t = item;

	free(t->pending);
	free(t->launches);
	free(t);
}

static void free_reading(struct nvs_races *r)
{
	if (!r->pairs)
		return;
	nvs_contexts_free(&r->contexts);
	nvs_hostmem_free(r->memory.kinds);
	nvs_memory_ranges_free(&r->ranges);
	nvs_parameters_free(&r->parameters);
	nvs_parameter_uses_free(&r->uses);
	nvs_stream_order_free(&r->order);
	nvs_accesses_free(&r->accesses);
	nvs_semaphore_pairs_free(r->pairs);
	nvs_rows_free(&r->acquires, NULL);
	nvs_race_graphs_free(r);
	nvs_numbers_free(&r->threads, free_thread);
	free(r->captured);
	r->pairs = NULL;
}

void nvs_races_end(struct nvs_races *r)
{
	r->dropped = r->accesses.dropped;
	r->crowded = r->order.crowded;
	r->pointers = r->uses.pointers;
	r->decided = r->uses.decided;
	for (size_t i = 0; i < r->races.n; i++)
		r->found[((const struct nvs_race *)r->races.row[i])->level]++;
	free_reading(r);
}

void nvs_races_free(struct nvs_races *r)
{
	free_reading(r);
	nvs_rows_free(&r->sites, NULL);
	nvs_rows_free(&r->races, NULL);
}
