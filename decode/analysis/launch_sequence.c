/* SPDX-License-Identifier: MIT */
/* Follows launches and collectives of one trace. Touches no shared state, so that traces can be
 * read in parallel; name hashes are equal in all traces. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/grow.h"
#include "decode/base/hash.h"
#include "decode/calls/executable_graphs.h"
#include "decode/calls/pass.h"
#include "decode/calls/roles.h"
#include "decode/analysis/launch_sequence.h"
#include "decode/query/selection.h"
#include "decode/calls/args.h"

struct collective_launch {
	uint64_t number; /* number of the call */
	uint64_t grid; /* as in struct nvs_collective */
	uint32_t channel, payload;
	bool released;
};

/* ---- names ---- */

const struct nvs_launch_name *nvs_launch_name_find(struct nvs_launch_sequence *s, uint64_t hash)
{
	return hash ? nvs_rows_at(&s->names, &hash) : NULL;
}

bool nvs_is_collective_kernel(const char *mangled)
{
	return strstr(mangled, "ncclDevKernel") || strstr(mangled, "ncclKernel");
}

/* Returns 0 if memory is short. */
static uint64_t add_name(struct nvs_launch_sequence *s, const char *text)
{
	uint64_t hash = nvs_hash64(text, strlen(text)) | 1;
	struct nvs_launch_name *name = nvs_rows_at(&s->names, &hash);

	if (!name)
		return 0;
	if (!name->text) {
		name->text = strdup(text);
		name->collective = nvs_is_collective_kernel(text);
	}
	return name->text ? hash : 0;
}

/* ---- steps ---- */

static int add_step(struct nvs_launch_sequence *s, uint32_t thread, uint64_t name)
{
	struct nvs_launch_thread *t = nvs_rows_at(&s->threads, &thread);
	uint64_t *step;

	if (!t || !name)
		return -ENOMEM;
	step = NVS_APPEND_OPTIONAL(t->step, t->n, t->room, 256, UINT32_MAX);
	if (step)
		*step = name;
	else
		s->dropped++;
	return 0;
}

static void drop_collective(struct nvs_launch_sequence *s, uint32_t at)
{
	memmove(s->under_way + at, s->under_way + at + 1,
		(--s->nunder_way - at) * sizeof(*s->under_way));
}

/* Counts collective AT as finished. *LATEST: the highest number finished so far. */
static void finish_collective(struct nvs_launch_sequence *s, uint32_t at, uint64_t *latest)
{
	const struct nvs_collective *c = s->under_way + at;

	s->nfinished++;
	if (c->number > *latest) {
		*latest = c->number;
		s->finished = c->name;
	}
	drop_collective(s, at);
}

static void finish_passed(struct nvs_launch_sequence *s, uint32_t channel, uint32_t payload)
{
	uint64_t latest = 0;

	for (uint32_t i = 0; i < s->nunder_way;) {
		const struct nvs_collective *c = s->under_way + i;

		if (c->channel == channel && c->released && (int32_t)(payload - c->payload) >= 0)
			finish_collective(s, i, &latest);
		else
			i++;
	}
}

/* A call has waited for its stream, or without one for the whole context. */
static void finish_waited(struct nvs_launch_sequence *s, const struct nvs_call *call)
{
	uint64_t stream = 0, latest = 0;
	bool one = nvs_call_kind(call, NVS_KIND_STREAM, &stream);

	for (uint32_t i = 0; i < s->nunder_way;) {
		const struct nvs_collective *c = s->under_way + i;

		if (c->time <= call->begin && (!one || c->stream == stream))
			finish_collective(s, i, &latest);
		else
			i++;
	}
}

static void begin_collective(struct nvs_launch_sequence *s, const struct nvs_call *call,
			     uint64_t name)
{
	const struct collective_launch *note = nvs_number_get(&s->notes, call->thread);
	struct nvs_collective *c;

	s->collectives++;
	s->submitted = name;
	if (!call->submissions || !note || note->number != call->number)
		return;
	if (s->nunder_way == NVS_STEPS_UNDER_WAY)
		drop_collective(s, 0);
	c = s->under_way + s->nunder_way++;
	*c = (struct nvs_collective){.name = name,
				     .time = call->end,
				     .number = s->collectives,
				     .channel = note->channel,
				     .grid = note->grid,
				     .payload = note->payload,
				     .released = note->released && !note->grid};
	nvs_call_kind(call, NVS_KIND_STREAM, &c->stream);
}

static int note_launch(struct nvs_launch_sequence *s, const struct nvs_call *call)
{
	const struct nvs_kernel *k;
	uint64_t function, name;
	char text[64];

	if (!nvs_call_kind(call, NVS_KIND_FUNCTION, &function))
		return 0;
	k = nvs_handles_get_kernel(s->handles, function);
	if (!k)
		return -ENOMEM;
	snprintf(text, sizeof(text), "a kernel without a name");
	name = add_name(s, *k->name ? k->name : text);
	s->launches++;
	if (name && nvs_is_collective_kernel(k->name))
		begin_collective(s, call, name);
	return add_step(s, call->thread, name);
}

static int note_graph(struct nvs_launch_sequence *s, const struct nvs_call *call)
{
	const struct nvs_exec *e;
	char text[64];
	uint64_t exec;

	if (!nvs_call_kind(call, NVS_KIND_EXEC, &exec))
		return 0;
	e = nvs_handles_get_exec(s->handles, exec);
	if (!e)
		return -ENOMEM;
	snprintf(text, sizeof(text), "a graph of %u nodes", e->nnodes);
	s->graphs++;
	return add_step(s, call->thread, add_name(s, text));
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct nvs_launch_sequence *s = arg;

	if (!nvs_call_ran(call))
		return 0;
	if (call->api->role == NVS_CALL_ROLE_SYNCHRONIZE)
		finish_waited(s, call);
	if (!nvs_filter_call(s->source, call))
		return 0;
	switch (call->api->group) {
	case NVS_CALL_GROUP_LAUNCH:
		return note_launch(s, call);
	case NVS_CALL_GROUP_GRAPH_LAUNCH:
		return note_graph(s, call);
	default:
		return 0;
	}
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	((struct nvs_launch_sequence *)arg)->calls |= rec->type == NVS_REC_API;
	return 0;
}

static int on_submission(void *arg, const struct nvs_submission *sub, const struct nvs_call *call)
{
	struct nvs_launch_sequence *s = arg;
	struct collective_launch *note;

	if (sub->rec->progress_address)
		finish_passed(s, sub->channel->channel, (uint32_t)sub->rec->progress[0]);
	if (!call)
		return 0;
	note = nvs_number_make(&s->notes, sub->thread->thread, sizeof(*note));
	if (!note)
		return 0; /* thread without a number */
	*note = (struct collective_launch){.number = call->number,
					   .channel = sub->channel->channel};
	return 0;
}

static void note_acquirer(struct nvs_launch_sequence *s, const struct nvs_submission *sub,
			  uint64_t address)
{
	for (uint32_t i = 0; i < s->nunder_way; i++)
		if (s->under_way[i].grid == address && !s->under_way[i].by)
			s->under_way[i].by = sub->number + 1;
}

static void note_payload(struct nvs_launch_sequence *s, const struct nvs_submission *sub,
			 uint32_t payload)
{
	for (uint32_t i = 0; i < s->nunder_way; i++) {
		struct nvs_collective *c = s->under_way + i;

		if (c->by != sub->number + 1)
			continue;
		c->channel = sub->channel->channel;
		c->payload = payload;
		c->released = true;
	}
}

static int on_op(void *arg, const struct nvs_submission *sub, const struct nvs_op *op)
{
	struct nvs_launch_sequence *s = arg;
	struct collective_launch *note = nvs_number_get(&s->notes, sub->thread->thread);

	if (op->kind == NVS_OP_ACQUIRE && op->sem.address)
		note_acquirer(s, sub, op->sem.address);
	if (op->kind == NVS_OP_RELEASE && sub->rec->progress_address &&
	    op->sem.address == sub->rec->progress_address)
		note_payload(s, sub, (uint32_t)op->sem.payload);
	if (op->kind == NVS_OP_RELEASE && op->sem.by == NVS_BY_GRID && note &&
	    note->channel == sub->channel->channel)
		note->grid = op->sem.address;
	if (op->kind != NVS_OP_RELEASE || !note || note->channel != sub->channel->channel ||
	    !sub->rec->progress_address || op->sem.address != sub->rec->progress_address)
		return 0;
	note->payload = (uint32_t)op->sem.payload;
	note->released = true;
	return 0;
}

/* ---- life ---- */

void nvs_launch_sequence_begin(struct nvs_launch_sequence *s, struct nvs_source *source,
			       struct nvs_pass_reader *reader)
{
	s->source = source;
	s->threads = NVS_ROWS(struct nvs_launch_thread, thread);
	s->names = NVS_ROWS(struct nvs_launch_name, hash);
	*reader = (struct nvs_pass_reader){.call = on_call,
					   .record = on_record,
					   .submission = on_submission,
					   .op = on_op,
					   .calls = true,
					   .handles = &s->handles,
					   .arg = s};
}

int nvs_launch_sequence_end(struct nvs_launch_sequence *s)
{
	nvs_numbers_free(&s->notes, free);
	return 0;
}

static void free_thread(void *row)
{
	free(((struct nvs_launch_thread *)row)->step);
}

static void free_name(void *row)
{
	free(((struct nvs_launch_name *)row)->text);
}

void nvs_launch_sequence_free(struct nvs_launch_sequence *s)
{
	nvs_launch_sequence_end(s);
	nvs_rows_free(&s->threads, free_thread);
	nvs_rows_free(&s->names, free_name);
}
