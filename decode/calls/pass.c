/* SPDX-License-Identifier: MIT */
/* Runs a pass over a trace, and calls the readers' callbacks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/numbers.h"
#include "decode/calls/pass.h"
#include "decode/calls/roles.h"
#include "decode/gpu/class.h"
#include "decode/gpu/pb.h"
#include "decode/gpu/qmd.h"
#include "decode/trace/records.h"
#include "decode/trace/stream.h"

/* The callbacks of readers. */
enum { SUBMISSION, ENTRY, RUN, FAULT, OP, SUBMITTED, CALL, RECORD, NODE_CHANGE, TOLD };

struct nvs_pass {
	struct nvs_trace *trace;
	struct nvs_pass_reader *readers;
	bool *done; /* for each reader: needs nothing more */
	uint32_t n, ndone;
	uint32_t *readers_of[TOLD],
		nreaders_of[TOLD]; /* for each callback, the readers that have it */
	const struct nvs_pass_reader
		*only; /* the only reader of operations, if there is just one */
	const bool *only_done;
	bool whole;
	struct nvs_calls_sink selection;
	struct nvs_calls *calls; /* NULL: not needed, like the next */
	struct nvs_submission_decoder *follow;
	struct nvs_handles *handles;
	bool tallies;
	const struct nvs_call *now; /* of the current submission */
	uint64_t seen; /* bit mask of record types */
	uint64_t called; /* bit mask of call groups; all bits if unknown */
	struct nvs_numbers groups; /* 1 + group of each known entry point */
	int status; /* of the first reader that failed */
};

struct nvs_pass *nvs_pass_new(struct nvs_trace *trace)
{
	struct nvs_pass *r = calloc(1, sizeof(*r));

	if (r)
		r->trace = trace;
	return r;
}

void nvs_pass_free(struct nvs_pass *r)
{
	if (!r)
		return;
	nvs_calls_free(r->calls);
	nvs_submission_decoder_free(r->follow);
	nvs_handles_free(r->handles);
	nvs_numbers_free(&r->groups, NULL);
	free(r->readers_of[0]);
	free(r->readers);
	free(r->done);
	free(r);
}

int nvs_pass_add(struct nvs_pass *r, const struct nvs_pass_reader *reader)
{
	struct nvs_pass_reader *more = realloc(r->readers, (r->n + 1ul) * sizeof(*more));
	bool *done = realloc(r->done, r->n + 1ul);

	r->readers = more ? more : r->readers;
	r->done = done ? done : r->done;
	if (!more || !done)
		return -ENOMEM;
	more[r->n] = *reader;
	done[r->n++] = false;
	if (!reader->handles)
		return 0;
	if (!r->handles)
		r->handles = nvs_handles_new();
	*reader->handles = r->handles;
	return r->handles ? 0 : -ENOMEM;
}

void nvs_pass_select(struct nvs_pass *r,
		     unsigned (*selects)(const void *arg, const struct nvs_submission *s,
					 const struct nvs_call *call),
		     const void *arg)
{
	r->selection.selects = selects;
	r->selection.select_arg = arg;
}

void nvs_pass_read_all(struct nvs_pass *r)
{
	r->whole = true;
}

bool nvs_pass_has_record(const struct nvs_pass *r, enum nvs_rec_type type)
{
	return r->seen >> type & 1;
}

bool nvs_pass_has_call(const struct nvs_pass *r, enum nvs_call_group group)
{
	return r->called >> group & 1;
}

const struct nvs_calls *nvs_pass_calls(const struct nvs_pass *r)
{
	return r->calls;
}

const struct nvs_qmd *nvs_pass_qmd(const struct nvs_pass *r, const struct nvs_op *op)
{
	return r->follow ? nvs_decode_qmd(r->follow, op) : NULL;
}

bool nvs_pass_read_memory(const struct nvs_pass *r, uint64_t address, void *bytes, size_t n)
{
	return r->follow && nvs_decode_read_memory(r->follow, address, bytes, n);
}

/* ---- calling the readers ---- */

/* Handles the return value of reader I. */
static void handle_result(struct nvs_pass *r, uint32_t i, int said)
{
	if (said < 0 && !r->status)
		r->status = said;
	if (said > 0) {
		r->done[i] = true;
		r->ndone++;
	}
}

#define TELL(r, what, callback, ...)                                                        \
	for (uint32_t ear_ = 0; ear_ < (r)->nreaders_of[what] && !(r)->status; ear_++) {    \
		uint32_t i_ = (r)->readers_of[what][ear_];                                  \
		int said_ = (r)->done[i_] ? 0                                               \
					  : (r)->readers[i_].callback((r)->readers[i_].arg, \
								      __VA_ARGS__);         \
                                                                                            \
		if (said_)                                                                  \
			handle_result(r, i_, said_);                                        \
	}

/* Return value for the trace reader: 0 continues. */
static int get_verdict(const struct nvs_pass *r)
{
	return r->status ? r->status : r->n && r->ndone == r->n && !r->whole;
}

static void on_entry(void *arg, const struct nvs_submission *s, const struct nvs_segment *seg,
		     const struct nvs_gp *gp)
{
	struct nvs_pass *r = arg;

	TELL(r, ENTRY, entry, s, seg, gp);
}

static void on_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		   const struct nvs_class *cls)
{
	struct nvs_pass *r = arg;

	TELL(r, RUN, run, c, run, cls);
}

static void on_fault(void *arg, const struct nvs_pb_fault *fault)
{
	struct nvs_pass *r = arg;

	TELL(r, FAULT, fault, fault);
}

static void on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_pass *r = arg;

	if (r->tallies && r->now)
		nvs_calls_op(r->calls, op);
	TELL(r, OP, op, s, op);
}

/* The same for a single reader: operations are by far the most frequent callback. */
static void on_op_of_one(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_pass *r = arg;
	const struct nvs_pass_reader *only = r->only;
	int said = r->status || *r->only_done ? 0 : only->op(only->arg, s, op);

	if (said)
		handle_result(r, (uint32_t)(only - r->readers), said);
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct nvs_pass *r = arg;

	if (r->handles && !r->status)
		r->status = nvs_handles_call(r->handles, call);
	TELL(r, CALL, call, call);
	return r->status;
}

static void on_node_change(void *arg, struct nvs_exec *exec, uint32_t index)
{
	struct nvs_pass *r = arg;

	TELL(r, NODE_CHANGE, node_change, exec, index);
}

static int on_call_of(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	((struct nvs_pass *)arg)->now = call;
	return 0;
}

/* Returns true if any reader still needs what is in submissions. */
static bool needs_commands(const struct nvs_pass *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		const struct nvs_pass_reader *x = r->readers + i;

		if ((x->entry || x->run || x->fault || x->op || x->tallies) &&
		    !(x->past_commands && *x->past_commands))
			return true;
	}
	return false;
}

static int decode_submission(struct nvs_pass *r, const struct nvs_submission *s)
{
	uint64_t tag = s->number;

	for (uint32_t i = 0; i < r->n; i++)
		if (r->readers[i].tag)
			tag = r->readers[i].tag(r->readers[i].arg, s);
	return nvs_decode_submission(r->follow, s, tag);
}

static int on_submission(void *arg, struct nvs_trace *trace, const struct nvs_submission *s)
{
	struct nvs_pass *r = arg;
	int failed = r->calls ? nvs_calls_submission(r->calls, s) : 0;

	if (failed)
		return failed;
	TELL(r, SUBMISSION, submission, s, r->now);
	if (r->follow && !r->status && needs_commands(r))
		failed = decode_submission(r, s);
	if (failed)
		return failed;
	TELL(r, SUBMITTED, submitted, s, r->now);
	return get_verdict(r);
}

/* The group's name follows the entry point's; it has no NUL if the record ends there. */
static void note_api(struct nvs_pass *r, const struct nvs_rec_api *rec)
{
	const char *text = nvs_record_tail(&rec->rec, rec->length);
	size_t name = strnlen(text, rec->length), left = rec->length - name;
	char group[32] = "";
	uintptr_t number;

	if (left)
		snprintf(group, sizeof(group), "%.*s", (int)(left - 1), text + name + 1);
	number = 1 + (uintptr_t)nvs_call_group_find(group);
	/* A repeated record: keep the first. If memory is short, its calls count as any group. */
	if (!nvs_number_get(&r->groups, rec->api))
		nvs_number_set(&r->groups, rec->api, (void *)number);
}

/* A call of an unknown entry point counts as any group. */
static void note_call(struct nvs_pass *r, uint32_t api)
{
	uintptr_t number = (uintptr_t)nvs_number_get(&r->groups, api);

	r->called |= number ? 1ull << (number - 1) : ~0ull;
}

static void note_record(struct nvs_pass *r, const struct nvs_rec *rec)
{
	r->seen |= rec->type < 64 ? 1ull << rec->type : 0;
	if (rec->type == NVS_REC_API)
		note_api(r, (const void *)rec);
	else if (rec->type == NVS_REC_CALL)
		note_call(r, ((const struct nvs_rec_call *)rec)->api);
	else if (rec->type == NVS_REC_CALL_BEGIN)
		note_call(r, ((const struct nvs_rec_call_begin *)rec)->api);
}

static int on_record(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec)
{
	struct nvs_pass *r = arg;
	int failed = r->calls ? nvs_calls_record(r->calls, rec) : 0;

	note_record(r, rec);
	if (!failed && r->follow)
		failed = nvs_decode_record(r->follow, rec);
	if (!failed && r->handles)
		failed = nvs_handles_record(r->handles, rec);
	if (failed)
		return failed;
	TELL(r, RECORD, record, rec);
	return get_verdict(r);
}

/* ---- what is wanted ---- */

static bool has_callback(const struct nvs_pass_reader *x, uint32_t what)
{
	const bool to[TOLD] = {
		[SUBMISSION] = x->submission,
		[ENTRY] = x->entry,
		[RUN] = x->run,
		[FAULT] = x->fault,
		[OP] = x->op,
		[SUBMITTED] = x->submitted,
		[CALL] = x->call,
		[RECORD] = x->record,
		[NODE_CHANGE] = x->node_change,
	};

	return to[what];
}

/* One allocation for all lists. */
static int prepare_lists(struct nvs_pass *r)
{
	uint32_t *room = calloc(TOLD * (r->n + 1ul), sizeof(*room));

	if (!room)
		return -ENOMEM;
	for (uint32_t what = 0; what < TOLD; what++) {
		r->readers_of[what] = room + what * r->n;
		for (uint32_t i = 0; i < r->n; i++)
			if (has_callback(r->readers + i, what))
				r->readers_of[what][r->nreaders_of[what]++] = i;
	}
	return 0;
}

static int prepare_decoders(struct nvs_pass *r)
{
	struct nvs_submission_sink ops = {.arg = r};
	struct nvs_calls_sink calls = r->selection;
	bool wants_calls = r->nreaders_of[CALL] || r->handles;

	for (uint32_t i = 0; i < r->n; i++) {
		wants_calls |= r->readers[i].calls || r->readers[i].tallies;
		r->tallies |= r->readers[i].tallies;
	}
	calls.arg = r;
	calls.submission = on_call_of;
	calls.call = r->nreaders_of[CALL] || r->handles ? on_call : NULL;
	if (r->nreaders_of[NODE_CHANGE])
		nvs_handles_watch(r->handles, on_node_change, r);
	ops.entry = r->nreaders_of[ENTRY] ? on_entry : NULL;
	ops.run = r->nreaders_of[RUN] ? on_run : NULL;
	ops.fault = r->nreaders_of[FAULT] ? on_fault : NULL;
	r->only = r->readers + (r->nreaders_of[OP] ? *r->readers_of[OP] : 0);
	r->only_done = r->done + (r->only - r->readers);
	ops.op = r->tallies || r->nreaders_of[OP] > 1 ? on_op
		 : r->nreaders_of[OP]		      ? on_op_of_one
						      : NULL;
	if (wants_calls && !(r->calls = nvs_calls_new(r->trace, &calls)))
		return -ENOMEM;
	if ((ops.entry || ops.run || ops.fault || ops.op) &&
	    !(r->follow = nvs_submission_decoder_new(r->trace, &ops)))
		return -ENOMEM;
	return 0;
}

int nvs_pass_run(struct nvs_pass *r, struct nvs_error *err)
{
	static const struct nvs_stream_consumer consumer = {
		.flags = NVS_READ_WHOLE, .submission = on_submission, .record = on_record};
	int failed = prepare_lists(r);

	err->text[0] = '\0';
	if (!failed)
		failed = prepare_decoders(r);
	if (!failed)
		failed = nvs_stream_read(r->trace, &consumer, r, err);
	if (failed)
		r->called = ~0ull; /* what was not read is unknown */
	if (!failed && r->calls)
		failed = nvs_calls_finish(r->calls);
	for (uint32_t i = 0; i < r->n && !failed; i++)
		if (r->readers[i].end)
			failed = r->readers[i].end(r->readers[i].arg);
	nvs_submission_decoder_free(r->follow);
	r->follow = NULL;
	return failed < 0 ? failed : 0;
}
