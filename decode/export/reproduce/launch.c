/* SPDX-License-Identifier: MIT */
/* Collects what a trace has of one launch. See launch.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/faults.h"
#include "decode/analysis/memory_ranges.h"
#include "decode/base/compare.h"
#include "decode/base/grow.h"
#include "decode/base/keyed_rows.h"
#include "decode/base/search.h"
#include "decode/calls/args.h"
#include "decode/calls/pass.h"
#include "decode/calls/roles.h"
#include "decode/export/reproduce/launch.h"
#include "decode/gpu/qmd.h"
#include "decode/query/api_names.h"

#define MAX_MEMORY 4096u
#define MAX_TAKEN (1u << 20)

struct function_module {
	uint64_t function; /* its key */
	uint64_t module;
};

const char *nvs_snapshot_reason_text(uint32_t reason)
{
	static const char *const texts[] = {
		[NVS_SNAPSHOT_TAKEN] = "the trace has no snapshot of it",
		[NVS_SNAPSHOT_TOO_LARGE] = "too large for --snapshot-size",
		[NVS_SNAPSHOT_REFUSED] = "the driver refused to copy it",
		[NVS_SNAPSHOT_FAILED] = "a call had failed, or this launch did",
		[NVS_SNAPSHOT_CAPTURING] = "a stream was capturing",
		[NVS_SNAPSHOT_NO_MEMORY] = "there was no page-locked memory to copy to",
		[NVS_SNAPSHOT_NO_PARAMETERS] = "parameters are unknown with a driver before 550",
		[NVS_SNAPSHOT_BUSY] = "earlier snapshots had used up --snapshot-size",
		[NVS_SNAPSHOT_UNFINISHED] = "the GPU had not reached it at the last wait",
	};

	return reason < sizeof(texts) / sizeof(*texts) ? texts[reason] : "unknown reason";
}

/* ---- the submission ---- */

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct nvs_launch_facts *f = arg;

	f->in_it = s->number == f->submission;
	if (f->in_it) {
		f->submitted = true;
		f->thread = s->thread->thread;
		f->call = call ? call->number : UINT64_MAX;
	}
	return nvs_arguments_submission(f->arguments, s, call);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct nvs_memory_range *x = a, *y = b;

	return NVS_CMP(x->address, y->address);
}

static int keep_ranges(struct nvs_launch_facts *f)
{
	const struct nvs_memory_ranges *r = &f->arguments->ranges;

	free(f->ranges);
	f->nranges = 0;
	f->ranges = calloc(r->n + 1ul, sizeof(*f->ranges));
	if (!f->ranges)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n; i++)
		if (r->list[i].bytes && r->list[i].live) {
			f->ranges[f->nranges] = r->list[i];
			f->ranges[f->nranges++].made.api = NULL; /* it does not live as long */
		}
	qsort(f->ranges, f->nranges, sizeof(*f->ranges), compare_ranges);
	return 0;
}

const struct nvs_memory_range *nvs_launch_facts_range(const struct nvs_launch_facts *f,
						      uint64_t address)
{
	/* Live ranges do not overlap. */
	size_t at = NVS_COUNT_BELOW(f->ranges, f->nranges, address, address);

	if (at < f->nranges && f->ranges[at].address == address)
		return f->ranges + at;
	return at && address - f->ranges[at - 1].address < f->ranges[at - 1].bytes
		       ? f->ranges + at - 1
		       : NULL;
}

static int keep_params(struct nvs_launch_facts *f, const struct nvs_op *op)
{
	struct nvs_launch_arguments of;

	f->has_params = nvs_arguments_of_op(f->arguments, op, &of);
	if (!f->has_params)
		return 0;
	free(f->params);
	f->params = malloc(of.of.size + 8ul);
	if (!f->params)
		return -ENOMEM;
	memcpy(f->params, of.of.bytes, of.of.size);
	f->nparams = of.of.size;
	return 0;
}

/* The last launch of the submission: dynamic parallelism sends one of its own before. */
static int keep_launch(struct nvs_launch_facts *f, const struct nvs_op *op)
{
	const struct nvs_qmd *qmd = nvs_pass_qmd(f->source->separate, op);
	int r;

	f->launched = true;
	f->cls = op->cls;
	if (!qmd)
		return 0;
	memcpy(f->grid, qmd->grid, sizeof(f->grid));
	memcpy(f->block, qmd->block, sizeof(f->block));
	memcpy(f->cluster, qmd->cluster, sizeof(f->cluster));
	r = keep_params(f, op);
	return r ? r : keep_ranges(f);
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_launch_facts *f = arg;
	int r = nvs_arguments_op(f->arguments, s, op);

	if (r || op->kind != NVS_OP_LAUNCH)
		return r;
	f->others |= f->submitted && !f->in_it && !f->error;
	return f->in_it ? keep_launch(f, op) : 0;
}

/* ---- calls ---- */

static int note_function(struct nvs_launch_facts *f, const struct nvs_call *call)
{
	const struct function_module *kernel = NULL;
	struct function_module *row;
	uint64_t function, module = 0, from;

	if (call->result || !nvs_call_value(call, NVS_ARG_function, &function))
		return 0;
	if (call->api->role == NVS_CALL_ROLE_KERNEL_FUNCTION &&
	    nvs_call_kind(call, NVS_KIND_KERNEL, &from))
		kernel = nvs_rows_find(&f->modules, &from);
	if (kernel)
		module = kernel->module;
	else if (!nvs_call_kind(call, NVS_KIND_MODULE, &module))
		nvs_call_kind(call, NVS_KIND_LIBRARY, &module);
	row = nvs_rows_at(&f->modules, &function);
	if (!row)
		return -ENOMEM;
	row->module = module;
	return 0;
}

static int keep_call(struct nvs_launch_facts *f, const struct nvs_call *call)
{
	const struct function_module *m;
	const struct nvs_kernel *k;
	uint64_t function;

	f->returned = true;
	if (!nvs_call_kind(call, NVS_KIND_FUNCTION, &function))
		return 0;
	k = nvs_handles_get_kernel(f->handles, function);
	m = nvs_rows_find(&f->modules, &function);
	f->module = m ? m->module : 0;
	nvs_call_value(call, NVS_ARG_sharedMemBytes, &f->shared);
	f->cooperative = !strncmp(nvs_call_name(call->api), "cuLaunchCooperative", 19);
	for (uint32_t i = 0; i < call->nargs; i++) {
		struct nvs_arg arg = nvs_call_arg_at(call, i);

		f->cooperative |= !arg.absent && arg.value && !strcmp(arg.name, "cooperative");
	}
	f->kernel = k && *k->name ? strdup(k->name) : NULL;
	return k && (!*k->name || f->kernel) ? 0 : -ENOMEM;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct nvs_launch_facts *f = arg;
	int r = nvs_arguments_call(f->arguments, call);

	if (!r && (call->api->role == NVS_CALL_ROLE_FUNCTION_NAME ||
		   call->api->role == NVS_CALL_ROLE_KERNEL_FUNCTION))
		r = note_function(f, call);
	if (!r && f->submitted && call->thread == f->thread && call->number == f->call)
		r = keep_call(f, call);
	if (f->submitted && call->end && !f->error && nvs_is_fault_result(call->result))
		f->error = call->result;
	return r;
}

/* ---- snapshots ---- */

static struct nvs_launch_memory *get_memory(struct nvs_launch_facts *f,
					    const struct nvs_rec_snapshot *rec)
{
	struct nvs_launch_memory *m;

	for (uint32_t i = 0; i < f->nmemory; i++)
		if (f->memory[i].address == rec->address && f->memory[i].size == rec->size)
			return f->memory + i;
	m = NVS_APPEND(f->memory, f->nmemory, f->room, 16, MAX_MEMORY);
	if (m)
		*m = (struct nvs_launch_memory){
			.address = rec->address, .size = rec->size, .flags = rec->rec.flags};
	return m;
}

static int keep_bytes(struct nvs_launch_memory *m, const struct nvs_rec_snapshot *rec, bool after)
{
	/* Memory grows with what is read, whatever a record says. */
	uint64_t end = rec->offset + rec->bytes;
	uint8_t *more;

	if (rec->offset != m->have[after] || end < rec->offset || end > m->size)
		return 0;
	more = rec->bytes ? realloc(m->bytes[after], end) : m->bytes[after];
	if (!more && rec->bytes)
		return -ENOMEM;
	if (rec->bytes)
		memcpy(more + rec->offset, rec->data, rec->bytes);
	m->bytes[after] = more;
	m->have[after] = end;
	return 0;
}

static int keep_snapshot(struct nvs_launch_facts *f, const struct nvs_rec_snapshot *rec)
{
	bool after = rec->rec.flags & NVS_SNAPSHOT_AFTER;
	struct nvs_launch_memory *m;

	if (!f->submitted || rec->thread != f->thread || rec->call != f->call)
		return 0;
	if (!rec->size) {
		f->reason = rec->reason;
		return 0;
	}
	m = get_memory(f, rec);
	if (!m)
		return f->nmemory < MAX_MEMORY ? -ENOMEM : 0;
	if (rec->rec.flags & NVS_SNAPSHOT_NAME) {
		free(m->name);
		m->name = strndup((const char *)rec->data, rec->bytes);
		return m->name ? 0 : -ENOMEM;
	}
	m->seen[after] = true;
	m->reason[after] = rec->reason;
	return rec->reason ? 0 : keep_bytes(m, rec, after);
}

static int note_taken(struct nvs_launch_facts *f, const struct nvs_rec_snapshot *rec)
{
	const struct nvs_launch_key key = {rec->call, rec->thread};

	if (rec->reason || !rec->bytes || !(rec->rec.flags & NVS_SNAPSHOT_AFTER) ||
	    rec->rec.flags & (NVS_SNAPSHOT_OTHER | NVS_SNAPSHOT_NAME) || f->taken.n == MAX_TAKEN)
		return 0;
	return nvs_rows_at(&f->taken, &key) ? 0 : -ENOMEM;
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	struct nvs_launch_facts *f = arg;
	int r = nvs_arguments_record(f->arguments, rec);

	if (r || rec->type != NVS_REC_SNAPSHOT)
		return r;
	r = note_taken(f, (const void *)rec);
	return r ? r : keep_snapshot(f, (const void *)rec);
}

/* With a snapshot, what was before it has ended, and it has not. */
static bool has_failed(const struct nvs_launch_facts *f)
{
	for (uint32_t i = 0; i < f->nmemory; i++)
		if (f->memory[i].bytes[0] && f->memory[i].reason[1] == NVS_SNAPSHOT_FAILED)
			return true;
	return !f->nmemory && !f->others;
}

/* Bytes of which a part is missing are none. */
static void drop_partial(struct nvs_launch_facts *f)
{
	for (uint32_t i = 0; i < f->nmemory; i++)
		for (int k = 0; k < 2; k++)
			if (f->memory[i].have[k] != f->memory[i].size) {
				free(f->memory[i].bytes[k]);
				f->memory[i].bytes[k] = NULL;
			}
}

int nvs_launch_facts_read(struct nvs_launch_facts *f, struct nvs_source *s, uint64_t submission)
{
	const struct nvs_pass_reader reader = {.submission = on_submission,
					       .op = on_op,
					       .call = on_call,
					       .record = on_record,
					       .calls = true,
					       .handles = &f->handles,
					       .arg = f};
	int r;

	f->submission = submission;
	f->source = s;
	f->modules = NVS_ROWS(struct function_module, function);
	f->taken = NVS_ROWS(struct nvs_launch_taken, key);
	f->arguments = nvs_arguments_new(s);
	r = f->arguments ? nvs_source_read(s, &reader) : -ENOMEM;
	nvs_source_read_end(s);
	nvs_arguments_free(f->arguments);
	f->arguments = NULL;
	f->handles = NULL;
	drop_partial(f);
	if (!has_failed(f))
		f->error = 0;
	return r;
}

/* ---- another launch of the kernel ---- */

static struct nvs_launch_taken *find_taken(const struct nvs_launch_facts *f, uint32_t thread,
					   uint64_t call)
{
	const struct nvs_launch_key key = {call, thread};

	return nvs_rows_find(&f->taken, &key);
}

static int enter_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct nvs_launch_facts *f = arg;

	f->current = call ? find_taken(f, s->thread->thread, call->number) : NULL;
	return 0;
}

static int place_taken(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_launch_facts *f = arg;

	if (!f->current || op->kind != NVS_OP_LAUNCH)
		return 0;
	f->current->submission = s->number;
	f->current->submitted = true;
	return 0;
}

static int compare_kernel(void *arg, const struct nvs_call *call)
{
	struct nvs_launch_facts *f = arg;
	struct nvs_launch_taken *t = find_taken(f, call->thread, call->number);
	const struct nvs_kernel *k;
	uint64_t function;

	if (!t || !nvs_call_kind(call, NVS_KIND_FUNCTION, &function))
		return 0;
	k = nvs_handles_get_kernel(f->handles, function);
	if (!k)
		return -ENOMEM;
	t->same = !strcmp(k->name, f->kernel);
	return 0;
}

int nvs_launch_facts_find_taken(struct nvs_launch_facts *f, uint64_t *submission)
{
	const struct nvs_pass_reader reader = {.submission = enter_submission,
					       .op = place_taken,
					       .call = compare_kernel,
					       .calls = true,
					       .handles = &f->handles,
					       .arg = f};
	int r;

	*submission = UINT64_MAX;
	if (!f->taken.n)
		return 0;
	r = nvs_source_read(f->source, &reader);
	nvs_source_read_end(f->source);
	f->handles = NULL;
	for (size_t i = f->taken.n; i--;) {
		const struct nvs_launch_taken *t = f->taken.row[i];

		if (t->same && t->submitted)
			*submission = t->submission;
	}
	return r;
}

void nvs_launch_facts_free(struct nvs_launch_facts *f)
{
	nvs_rows_free(&f->taken, NULL);
	for (uint32_t i = 0; i < f->nmemory; i++) {
		free(f->memory[i].name);
		free(f->memory[i].bytes[0]);
		free(f->memory[i].bytes[1]);
	}
	free(f->memory);
	free(f->kernel);
	free(f->params);
	free(f->ranges);
	free(f->code);
	free(f->layout);
	nvs_rows_free(&f->modules, NULL);
}
