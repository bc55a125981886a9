/* SPDX-License-Identifier: MIT */
/* Follows each thread's stack of contexts, and the context of each stream. */
#include <errno.h>
#include <stdlib.h>
#include "decode/analysis/current_context.h"
#include "decode/calls/roles.h"

/* The stack of contexts of one thread; the top is the current one. */
struct context_stack {
	uint32_t depth;
	uint64_t context[16];
};

/* The context of a stream. */
struct home {
	uint64_t stream, context;
};

static int set_current(struct nvs_contexts *st, uint32_t thread, uint64_t context, bool push)
{
	struct context_stack *c;

	if (thread >= NVS_MAX_NUMBER)
		return 0;
	c = nvs_number_make(&st->threads, thread, sizeof(*c));
	if (!c)
		return -ENOMEM;
	if ((push || !c->depth) && c->depth < sizeof(c->context) / sizeof(*c->context))
		c->depth++;
	c->context[c->depth - 1] = context;
	return 0;
}

static uint64_t context_of_stream(const struct nvs_contexts *st, uint64_t stream)
{
	const struct home *home = nvs_rows_find(&st->homes, &stream);

	return home ? home->context : 0;
}

static int note_stream(struct nvs_contexts *st, uint64_t stream, uint64_t context)
{
	struct home *home;

	if (!st->homes.size)
		st->homes = NVS_ROWS(struct home, stream);
	home = nvs_rows_at(&st->homes, &stream);
	if (!home)
		return -ENOMEM;
	home->context = context;
	return 0;
}

int nvs_contexts_call(struct nvs_contexts *st, const struct nvs_call *call, uint64_t *context)
{
	struct context_stack *c = nvs_number_get(&st->threads, call->thread);
	uint64_t value;
	int r = 0;

	*context = c && c->depth ? c->context[c->depth - 1] : 0;
	/* A stream being created may get the handle of a destroyed one. */
	if (!nvs_call_creates_stream(call) && nvs_call_kind(call, NVS_KIND_STREAM, &value) &&
	    value > 2 && context_of_stream(st, value))
		*context = context_of_stream(st, value);
	if (call->result || !call->end)
		return 0;
	switch (call->api->role) {
	case NVS_CALL_ROLE_CONTEXT_SET:
	case NVS_CALL_ROLE_CONTEXT_CREATE:
	case NVS_CALL_ROLE_CONTEXT_PUSH:
		if (!nvs_call_value(call, NVS_ARG_context, &value))
			return 0;
		r = set_current(st, call->thread, value,
				call->api->role != NVS_CALL_ROLE_CONTEXT_SET);
		break;
	case NVS_CALL_ROLE_CONTEXT_POP:
		if (!c || !c->depth)
			return 0;
		c->depth--;
		break;
	case NVS_CALL_ROLE_STREAM_CREATE:
		return nvs_call_value(call, NVS_ARG_stream, &value)
			       ? note_stream(st, value, *context)
			       : 0;
	default:
		return 0;
	}
	c = nvs_number_get(&st->threads, call->thread);
	if (c && c->depth)
		*context = c->context[c->depth - 1];
	return r;
}

void nvs_contexts_free(struct nvs_contexts *st)
{
	nvs_rows_free(&st->homes, NULL);
	nvs_numbers_free(&st->threads, free);
}
