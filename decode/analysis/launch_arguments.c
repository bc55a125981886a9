/* SPDX-License-Identifier: MIT */
/* See launch_arguments.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/launch_arguments.h"
#include "decode/base/digits.h"
#include "decode/calls/args.h"
#include "decode/calls/handles.h"
#include "decode/calls/pass.h"
#include "decode/gpu/qmd.h"

struct program_kernel {
	uint64_t address; /* its key */
	char *kernel; /* mangled */
};

struct nvs_arguments *nvs_arguments_new(const struct nvs_source *s)
{
	struct nvs_arguments *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->source = s;
	nvs_allocs_begin(&a->allocs, s);
	a->allocs.ranges = &a->ranges;
	return a;
}

int nvs_arguments_add(struct nvs_arguments *a, struct nvs_source *s)
{
	const struct nvs_pass_reader reader = {.submission = nvs_arguments_submission,
					       .op = nvs_arguments_op,
					       .call = nvs_arguments_call,
					       .record = nvs_arguments_record,
					       .calls = true,
					       .arg = a};

	return nvs_source_add_reader(s, &reader);
}

static const struct nvs_pass *pass_of(const struct nvs_source *s)
{
	return s->separate ?: s->second ?: s->first;
}

int nvs_arguments_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	((struct nvs_arguments *)arg)->call = call;
	return 0;
}

int nvs_arguments_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_arguments *a = arg;
	struct nvs_launch_parameters of;
	int r = nvs_parameters_op(&a->parameters, op);

	if (r || op->kind != NVS_OP_LAUNCH || !a->call ||
	    !nvs_parameters_find(&a->parameters, pass_of(a->source), op, &of))
		return r;
	return nvs_call_parameters_note(&a->calls, s->thread->thread, a->call->number, &of);
}

int nvs_arguments_call(void *arg, const struct nvs_call *call)
{
	return nvs_allocs_call(&((struct nvs_arguments *)arg)->allocs, call);
}

int nvs_arguments_record(void *arg, const struct nvs_rec *rec)
{
	struct nvs_arguments *a = arg;
	int r = nvs_allocs_record(&a->allocs, rec);

	return r ? r : nvs_parameter_layouts_record(&a->layouts, rec);
}

static void free_program(void *row)
{
	free(((struct program_kernel *)row)->kernel);
}

void nvs_arguments_free(struct nvs_arguments *a)
{
	if (!a)
		return;
	nvs_parameters_free(&a->parameters);
	nvs_call_parameters_free(&a->calls);
	nvs_memory_ranges_free(&a->ranges);
	nvs_allocs_free(&a->allocs);
	nvs_parameter_layouts_free(&a->layouts);
	nvs_rows_free(&a->programs, free_program);
	free(a);
}

/* ---- kernels by program address ---- */

struct learning {
	struct nvs_arguments *a;
	struct nvs_source *source;
	struct nvs_handles *handles;
	const struct nvs_call *call; /* of the current submission */
	struct nvs_numbers latest; /* by thread: struct latest_launch */
};

struct latest_launch {
	uint64_t call, program;
};

static int note_call(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	((struct learning *)arg)->call = call;
	return 0;
}

static int note_program(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct learning *l = arg;
	const struct nvs_qmd *qmd = op->kind == NVS_OP_LAUNCH
					    ? nvs_pass_qmd(l->source->separate, op)
					    : NULL;
	struct latest_launch *latest;

	if (!qmd || !qmd->program || !l->call || s->thread->thread >= NVS_MAX_NUMBER)
		return 0;
	latest = nvs_number_make(&l->latest, s->thread->thread, sizeof(*latest));
	if (!latest)
		return -ENOMEM;
	*latest = (struct latest_launch){l->call->number + 1, qmd->program};
	return 0;
}

static int name_program(void *arg, const struct nvs_call *call)
{
	struct learning *l = arg;
	const struct latest_launch *latest = nvs_number_get(&l->latest, call->thread);
	const struct nvs_kernel *k;
	struct program_kernel *row;
	uint64_t function;

	if (!latest || latest->call != call->number + 1 ||
	    nvs_call_group(call) != NVS_CALL_GROUP_LAUNCH ||
	    !nvs_call_kind(call, NVS_KIND_FUNCTION, &function))
		return 0;
	k = nvs_handles_get_kernel(l->handles, function);
	if (!k || !*k->name || !nvs_budget_allows(sizeof(*row) + strlen(k->name)))
		return k ? 0 : -ENOMEM;
	row = nvs_rows_at(&l->a->programs, &latest->program);
	if (row && !row->kernel)
		row->kernel = strdup(k->name);
	return row && row->kernel ? 0 : -ENOMEM;
}

int nvs_arguments_learn(struct nvs_arguments *a, struct nvs_source *s)
{
	struct learning *l = calloc(1, sizeof(*l));
	const struct nvs_pass_reader reader = {.submission = note_call,
					       .op = note_program,
					       .call = name_program,
					       .calls = true,
					       .handles = l ? &l->handles : NULL,
					       .arg = l};
	const char *options = nvs_trace_session(s->trace)->attr[NVS_ATTR_OPTIONS];
	int r = 0;

	if (!l)
		return -ENOMEM;
	l->a = a;
	l->source = s;
	a->programs = NVS_ROWS(struct program_kernel, address);
	if (options && strstr(options, "code=on")) {
		r = nvs_source_read(s, &reader);
		nvs_source_read_end(s);
	}
	nvs_numbers_free(&l->latest, free);
	free(l);
	return r;
}

/* ---- one launch ---- */

static void set_layout(const struct nvs_arguments *a, const char *kernel,
		       struct nvs_launch_arguments *of)
{
	const struct nvs_parameter_layout *layout =
		kernel && *kernel ? nvs_parameter_layouts_find(&a->layouts, kernel) : NULL;

	of->ranges = &a->ranges;
	/* Uploads may be longer, for alignment. */
	if (layout && layout->bytes <= of->of.size) {
		of->layout = layout;
		of->of.size = layout->bytes;
	}
}

bool nvs_arguments_of_op(struct nvs_arguments *a, const struct nvs_op *op,
			 struct nvs_launch_arguments *of)
{
	const struct nvs_pass *pass = pass_of(a->source);
	const struct nvs_qmd *qmd = nvs_pass_qmd(pass, op);
	const struct program_kernel *program = NULL;

	*of = (struct nvs_launch_arguments){.at = 0};
	if (!qmd || !nvs_parameters_find(&a->parameters, pass, op, &of->of))
		return false;
	if (a->programs.size)
		program = nvs_rows_find(&a->programs, &qmd->program);
	set_layout(a, program ? program->kernel : NULL, of);
	return true;
}

bool nvs_arguments_of_call(const struct nvs_arguments *a, const struct nvs_call *call,
			   const char *kernel, struct nvs_launch_arguments *of)
{
	*of = (struct nvs_launch_arguments){.at = 0};
	if (!nvs_call_parameters_find(&a->calls, call, &of->of))
		return false;
	set_layout(a, kernel, of);
	return true;
}

/* Reads the word at AT, of 8 bytes if it is an address, else of up to MAX bytes. */
static void read_word(const struct nvs_launch_arguments *of, uint32_t end, uint32_t max,
		      struct nvs_launch_argument *one)
{
	uint32_t left = end - one->at;

	one->value = 0;
	one->bytes = left < max ? left : max;
	if (left >= 8) {
		memcpy(&one->value, of->of.bytes + one->at, 8);
		one->range = nvs_memory_range_at(of->ranges, one->value);
		one->nowhere = of->ranges->n && !one->range && one->at % 8 == 0 &&
			       nvs_looks_like_address(one->value);
		if (one->range || one->nowhere)
			one->bytes = 8;
		one->value = 0;
	}
	memcpy(&one->value, of->of.bytes + one->at, one->bytes);
}

bool nvs_arguments_next(struct nvs_launch_arguments *of, struct nvs_launch_argument *one)
{
	const struct nvs_kernel_parameter *p = NULL;

	*one = (struct nvs_launch_argument){.number = NVS_NONE, .at = of->at};
	if (!of->layout) {
		if (of->at >= of->of.size)
			return false;
		one->first = !of->at;
		read_word(of, of->of.size, 4, one);
		of->at += one->bytes;
		return true;
	}
	if (of->number < of->layout->n)
		p = of->layout->list + of->number;
	if (p && of->at >= p->offset + p->size)
		p = ++of->number < of->layout->n ? p + 1 : NULL;
	if (!p)
		return false;
	one->at = of->at > p->offset ? of->at : p->offset;
	one->number = p->number;
	one->first = one->at == p->offset;
	read_word(of, p->offset + p->size, p->size <= 8 ? 8 : 4, one);
	of->at = one->at + one->bytes;
	return true;
}

/* ---- text ---- */

struct line {
	char *text;
	size_t room, n;
};

__attribute__((format(printf, 2, 3))) static void append(struct line *l, const char *form, ...)
{
	va_list list;
	int n;

	va_start(list, form);
	n = vsnprintf(l->text + l->n, l->room - l->n, form, list);
	va_end(list);
	l->n = l->n + (size_t)n < l->room ? l->n + (size_t)n : l->room - 1;
}

static void append_argument(struct line *l, const struct nvs_launch_argument *one)
{
	unsigned long long value = one->value;
	char bytes[32];

	append(l, value < 65536 ? "%llu" : "0x%llx", value);
	if (one->range) {
		snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)one->range->bytes);
		nvs_group_digits(bytes, sizeof(bytes));
		append(l, " (%s bytes", bytes);
		if (value > one->range->address)
			append(l, " +0x%llx", value - (unsigned long long)one->range->address);
		append(l, ")");
	} else if (one->nowhere) {
		append(l, " (no allocation)");
	}
}

void nvs_arguments_text(const struct nvs_launch_arguments *of, char *text, size_t room)
{
	struct nvs_launch_arguments copy;
	struct nvs_launch_argument one;
	struct line l = {text, room, 0};
	bool inside = false;

	snprintf(text, room, "%s", of ? "" : "-");
	for (copy = of ? *of : (struct nvs_launch_arguments){.at = 0};
	     of && nvs_arguments_next(&copy, &one) && l.n + 1 < room;) {
		if (inside && one.first)
			append(&l, "}");
		inside = inside && !one.first;
		if (l.n)
			append(&l, ", ");
		if (copy.layout && one.first && one.bytes < copy.layout->list[copy.number].size) {
			append(&l, "{");
			inside = true;
		}
		append_argument(&l, &one);
	}
	if (inside)
		append(&l, "}");
}
