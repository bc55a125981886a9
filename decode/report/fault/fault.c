/* SPDX-License-Identifier: MIT */
/* --fault: which kernel faulted, at which instruction and address, and whose memory that is. Prints
 * sentences for each fault, then a table of the launches that may have caused it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/kernel_code.h"
#include "decode/analysis/unfinished_work.h"
#include "decode/cli/fault_names.h"
#include "decode/cli/sentence.h"
#include "decode/report/core/trace_columns.h"
#include "decode/report/fault/fault.h"
#include "decode/trace/stream.h"
#include "sass/sass.h"

struct fault_row {
	const struct nvs_source *source;
	struct nvs_fault_trace *trace;
	const struct nvs_fault *fault;
	uint32_t number; /* of the fault, from 1 */
	const struct nvs_fault_candidate *candidate; /* a launch */
	const struct nvs_sm_error *sm; /* an SM; if neither, the fault */
	struct nvs_fault_instruction insn;
	char *text, *work, *words, *shape, *line; /* owned */
};

/* ---- the instruction ---- */

static void name_instruction(const struct nvs_named_code *code, uint64_t offset,
			     struct nvs_fault_instruction *insn)
{
	enum nvs_sass_form form = nvs_sass_form(code->cubin->arch);
	struct nvs_sass_insn one;
	const char *name;

	if (form < NVS_SASS_VOLTA ||
	    !nvs_sass_insn(form, code->bytes, code->size, offset / 16, &one))
		return;
	name = nvs_sass_insn_name(&one);
	if (name)
		snprintf(insn->name, sizeof(insn->name), "%s", name);
	else
		snprintf(insn->name, sizeof(insn->name), "%016" PRIx64 " %016" PRIx64, one.lo,
			 one.hi);
}

void nvs_fault_find_instruction(struct nvs_fault_trace *t, const struct nvs_fault *fault,
				const struct nvs_fault_candidate *c,
				struct nvs_fault_instruction *insn)
{
	const struct nvs_fault_grid *g = nvs_fault_grid_at(c->u, c->first);
	const char *kernel = nvs_fault_kernel(&t->faults, c->u, c->first);
	const struct nvs_named_code *code = kernel ? nvs_kernel_codes_find(&t->codes, kernel)
						   : NULL;

	*insn = (struct nvs_fault_instruction){0};
	if (!c->matches || !g)
		return;
	insn->known = true;
	insn->offset = fault->pc - g->program;
	if (!code)
		return;
	name_instruction(code, insn->offset, insn);
	nvs_cubin_line(code->cubin, code->section, code->offset + insn->offset, &insn->line);
}

/* ---- columns ---- */

static bool is_fault(const struct fault_row *r)
{
	return !r->candidate && !r->sm;
}

/* Of a fault, and of its first candidate. */
static bool is_first(const struct fault_row *r)
{
	return !r->sm && (!r->candidate || r->candidate == r->fault->candidates);
}

static uint32_t get_channel(const struct fault_row *r)
{
	return r->candidate ? r->candidate->channel : is_fault(r) ? r->fault->channel : NVS_NONE;
}

static const struct nvs_unfinished *get_work(const struct fault_row *r)
{
	return r->candidate ? r->candidate->u : NULL;
}

static const struct nvs_callsite *get_site(const struct fault_row *r)
{
	uint32_t stack = r->candidate ? r->candidate->u->stack
			 : r->sm      ? NVS_NONE
				      : r->fault->call.stack;

	return nvs_trace_callsite(r->source->trace,
				  r->candidate || r->fault->call.api ? stack : NVS_NONE);
}

static const char *get_api(const struct fault_row *r)
{
	if (r->candidate)
		return nvs_api_name(get_site(r), get_work(r)->api);
	return r->sm || !r->fault->call.api ? "" : nvs_call_name(r->fault->call.api);
}

static const char *get_error(const struct fault_row *r)
{
	return is_fault(r) && r->fault->call.api ? nvs_call_error(r->fault->call.result) : "";
}

static const char *get_fault_name(const struct fault_row *r)
{
	const struct nvs_fault_name *name = is_fault(r) && r->fault->notified
						    ? nvs_fault_name(r->fault->number)
						    : NULL;
	const char *warp = r->sm ? nvs_warp_error_name(r->sm->warp_esr) : NULL;

	return warp ? warp : name ? name->name : "";
}

static const char *get_state(const struct fault_row *r)
{
	static const char *const states[] = {"running", "next", "perhaps", "behind", "ended"};

	return r->candidate ? states[r->candidate->state] : "";
}

static const char *get_kernel(const struct fault_row *r)
{
	const struct nvs_fault_candidate *c = r->candidate;

	if (!c || !c->u->launches)
		return NULL;
	return nvs_fault_kernel(&r->trace->faults, c->u,
				c->first == NVS_NONE && c->one_kernel ? 0 : c->first);
}

static bool is_kernel_certain(const struct fault_row *r)
{
	const struct nvs_fault_candidate *c = r->fault->candidates;

	return r->fault->certain && is_first(r) && c->u->launches && c->one_kernel;
}

static const char *get_kernel_name(const struct fault_row *r)
{
	const char *kernel = get_kernel(r);

	return kernel ? nvs_trace_demangle(r->source->trace, kernel) : "";
}

static bool get_node(const struct fault_row *r, uint32_t *node)
{
	const struct nvs_fault_candidate *c = r->candidate;

	return c && c->u->exec && (c->n <= 1 || c->freed || c->stray) &&
	       nvs_fault_node(&r->trace->faults, c->u, c->first, node) == 1;
}

static void put_node(const struct fault_row *r, struct nvs_value *v)
{
	uint32_t node = 0;
	bool known = get_node(r, &node);

	nvs_value_known(v, known, node);
}

static void put_stream(const struct fault_row *r, struct nvs_value *v)
{
	const struct nvs_unfinished *u = get_work(r);

	if (u && u->has_stream)
		nvs_stream_value(u->stream, v);
}

static uint64_t get_pc(const struct fault_row *r)
{
	return r->sm ? r->sm->pc : is_fault(r) ? r->fault->pc : 0;
}

static uint64_t get_address(const struct fault_row *r)
{
	return r->sm ? r->sm->address : is_fault(r) ? r->fault->address : 0;
}

#define OF_LAUNCHES(COL)                                                                         \
	COL(truth, certain, "certain", 0, 0, r->fault->certain &&is_first(r), "yes")             \
	COL(truth, certain_kernel, "kernel", DETAIL, 0, is_kernel_certain(r), "yes")             \
	COL(truth, certain_node, "node", DETAIL, 0,                                              \
	    is_kernel_certain(r) && r->fault->candidates->one_node, "yes")                       \
	COL(guarded, submission, "subm.", 0, 0, r->candidate, get_work(r)->number)               \
	COL(known, channel, "chan", 0, 0, get_channel(r) != NVS_NONE, get_channel(r))            \
	COL(by, stream, "stream", IF_KNOWN, 2, put_stream, r)                                    \
	COL(text, state, "state", 0, 0, get_state(r))                                            \
	COL(guarded, graph, "graph", IF_KNOWN, 0, r->candidate &&get_work(r)->exec,              \
	    get_work(r)->exec->index)                                                            \
	COL(by, node, "node", IF_KNOWN, 0, put_node, r)                                          \
	COL(text, grid_block, "grid / block", IF_KNOWN, 1, r->shape)                             \
	COL(hex, code_offset, "at", IF_KNOWN, 0, r->insn.known, r->insn.offset)                  \
	COL(text, instruction, "insn", IF_KNOWN, 0, r->insn.name)                                \
	COL(text, code_line, "in", IF_KNOWN, 0, r->line)                                         \
	COL(text, does, "does", NAME, 0, r->work)                                                \
	COL(guarded, freed_pointers, "to freed", IF_ANY, 0, r->candidate, r->candidate->freed)   \
	COL(guarded, stray_pointers, "to nothing", IF_ANY, 0, r->candidate, r->candidate->stray) \
	COL(text, pointers, "pointers", DETAIL, 0, r->words)                                     \
	COL(text, api, "api", NAME, 2, get_api(r))                                               \
	COL(text, callsite, "callsite", NAME, 1, get_site(r)->site)

#define LAUNCH_COLUMNS(COL)                                     \
	COL(count, fault_index, "fault", SEVERAL, 0, r->number) \
	OF_LAUNCHES(COL)                                        \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(launch_columns, struct fault_row, LAUNCH_COLUMNS)

#define COLUMNS(COL)                                                                               \
	COL(text, kind, "kind", 0, 0, r->candidate ? "launch" : r->sm ? "sm" : "fault")            \
	COL(same, fault_index, "fault", 0, 0)                                                      \
	COL(text, says, "says", NAME, 0, r->text)                                                  \
	COL(known, fault_number, "number", 0, 0, is_fault(r) && r->fault->notified,                \
	    r->fault->number)                                                                      \
	COL(text, fault_name, "name", NAME, 0, get_fault_name(r))                                  \
	COL(text, error, "error", NAME, 0, get_error(r))                                           \
	COL(by, time_ns, "seconds", 0, 0, nvs_source_time, r->source, is_fault(r), r->fault->time) \
	COL(known, fault_gpu_ns, "GPU time", 0, 0, is_fault(r) && r->fault->gpu_ns,                \
	    r->fault->gpu_ns)                                                                      \
	COL(known, gpu, "gpu", 0, 0, r->fault->gpu != NVS_NONE, r->fault->gpu)                     \
	COL(known, channels, "channels", 0, 0, is_fault(r) && r->fault->notified,                  \
	    r->fault->nchannels)                                                                   \
	COL(known, candidates, "launches", 0, 0, is_fault(r), r->fault->ncandidates)               \
	COL(guarded, sm, "SM", 0, 0, r->sm, r->sm->sm)                                             \
	COL(guarded, warp_error, "ESR", 0, 0, r->sm, r->sm->warp_esr)                              \
	COL(guarded, global_error, "global ESR", 0, 0, r->sm, r->sm->global_esr)                   \
	COL(known, mmu_fault_info, "MMU", 0, 0, is_fault(r) && r->fault->mmu, r->fault->mmu_info)  \
	COL(hex, program_counter, "PC", 0, 0, get_pc(r), get_pc(r))                                \
	COL(hex, address, "address", 0, 0, get_address(r), get_address(r))                         \
	OF_LAUNCHES(COL##_SAME)                                                                    \
	COL(text, kernel, "kernel", NAME, 0, get_kernel_name(r))                                   \
	COL(text, mangled, "mangled", NAME, 0, get_kernel(r))                                      \
	COL(text, module, "module", NAME, 0, get_site(r)->site_module)                             \
	NVS_SOURCE_COLUMNS(COL##_SAME, r->source)
NVS_COLUMNS(columns, struct fault_row, COLUMNS)

/* ---- rows ---- */

struct fault_rows {
	struct fault_row *list;
	size_t n, nlaunches; /* faults, launches and SMs, in this order */
	size_t nfaults;
};

static int format(char **text, struct fault_row *r,
		  void (*print)(FILE *f, struct nvs_fault_trace *t, const struct nvs_fault *fault,
				const struct nvs_fault_candidate *c))
{
	size_t n;
	FILE *f = open_memstream(text, &n);

	if (!f)
		return -ENOMEM;
	print(f, r->trace, r->fault, r->candidate);
	if (fclose(f) || !*text)
		return -ENOMEM;
	nvs_budget_adopt(*text);
	return 0;
}

static int format_details(struct fault_row *r)
{
	const struct nvs_fault_grid *g = nvs_fault_grid_at(r->candidate->u, r->candidate->first);
	int n = 0;

	nvs_fault_find_instruction(r->trace, r->fault, r->candidate, &r->insn);
	if (r->insn.line.line)
		n = asprintf(&r->line, "%s:%u", r->insn.line.file, r->insn.line.line);
	if (n >= 0 && g && g->grid[0])
		n = asprintf(&r->shape, "%ux%ux%u/%ux%ux%u", g->grid[0], g->grid[1], g->grid[2],
			     g->block[0], g->block[1], g->block[2]);
	return n < 0 ? -ENOMEM : 0;
}

static int add_fault(struct fault_rows *rows, const struct fault_row *like)
{
	struct fault_row *r = rows->list + rows->n++;

	*r = *like;
	rows->nfaults++;
	return nvs_fault_format_text(r->trace, r->fault, &r->text);
}

static int add_launches(struct fault_rows *rows, const struct fault_row *like)
{
	int r = 0;

	for (uint32_t i = 0; i < like->fault->ncandidates && !r; i++) {
		struct fault_row *row = rows->list + rows->n;

		*row = *like;
		row->candidate = like->fault->candidates + i;
		if (!nvs_filter_channel(row->source, row->candidate->channel))
			continue;
		rows->n++;
		rows->nlaunches++;
		r = format(&row->work, row, nvs_fault_print_work);
		if (!r)
			r = format(&row->words, row, nvs_fault_print_words);
		if (!r)
			r = format_details(row);
	}
	return r;
}

static int add_sms(struct fault_rows *rows, const struct fault_row *like)
{
	for (uint32_t i = 0; i < like->fault->nsms; i++) {
		rows->list[rows->n] = *like;
		rows->list[rows->n++].sm = like->fault->sms + i;
	}
	return 0;
}

static int add_all(struct nvs_run *run, struct fault_rows *rows,
		   int (*add)(struct fault_rows *rows, const struct fault_row *like))
{
	struct nvs_fault_trace *all = run->each;
	int r = 0;

	for (uint32_t i = 0; i < run->n; i++)
		for (uint32_t k = 0; k < all[i].faults.n && !r; k++) {
			const struct fault_row like = {.source = run->sources + i,
						       .trace = all + i,
						       .fault = all[i].faults.list + k,
						       .number = k + 1};

			r = add(rows, &like);
		}
	return r;
}

static int make_rows(struct nvs_run *run, struct fault_rows *rows)
{
	const struct nvs_fault_trace *all = run->each;
	size_t room = 1;
	int r;

	for (uint32_t i = 0; i < run->n; i++)
		for (uint32_t k = 0; k < all[i].faults.n; k++)
			room += 1ul + all[i].faults.list[k].ncandidates +
				all[i].faults.list[k].nsms;
	rows->list = calloc(room, sizeof(*rows->list));
	if (!rows->list)
		return -ENOMEM;
	r = add_all(run, rows, add_fault);
	if (!r)
		r = add_all(run, rows, add_launches);
	return r ? r : add_all(run, rows, add_sms);
}

static void free_rows(struct fault_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		free(rows->list[i].text);
		free(rows->list[i].work);
		free(rows->list[i].words);
		free(rows->list[i].shape);
		free(rows->list[i].line);
	}
	free(rows->list);
}

/* ---- printing ---- */

static int print_text(struct nvs_run *run, const struct fault_rows *rows)
{
	struct nvs_table launches = NVS_RUN_TABLE(run, launch_columns, NULL);
	struct nvs_print_options options = run->options->print;
	char *ranks = NULL;
	int r = nvs_fault_format_ranks(run, &ranks);

	if (ranks)
		nvs_print_wrapped(run->out, ranks, 0);
	for (size_t i = 0; i < rows->nfaults && !r; i++) {
		fputs(i || ranks ? "\n" : "", run->out->file);
		if (run->n > 1) {
			fputs(NVS_TEXT(rows->list[i].source->path, 200), run->out->file);
			fputs(":\n", run->out->file);
		}
		nvs_print_wrapped(run->out, rows->list[i].text, 0);
	}
	free(ranks);
	if (r || !rows->nlaunches)
		return r;
	launches.several = run->n > 1 || rows->nfaults > 1;
	options.sort = nvs_table_applicable(&launches, options.sort);
	fputc('\n', run->out->file);
	return nvs_table_print_array(run->out, &launches, rows->list + rows->nfaults,
				     rows->nlaunches, sizeof(*rows->list), &options);
}

static int print_rows(struct nvs_run *run, const struct fault_rows *rows)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);

	return nvs_table_print_array(run->out, &table, rows->list, rows->n, sizeof(*rows->list),
				     &run->options->print);
}

int nvs_fault_attribute(struct nvs_fault_trace *t)
{
	struct nvs_source *s = t->faults.work.source;
	int r = nvs_faults_want_code(&t->faults, &t->codes);

	if (!r && t->codes.rows.n && nvs_trace_is_rereadable(s->trace))
		r = nvs_kernel_codes_read(&t->codes, s, t->faults.cls);
	return r ? r : nvs_faults_attribute(&t->faults, &t->codes);
}

static int print_faults(struct nvs_run *run)
{
	struct nvs_fault_trace *all = run->each;
	struct fault_rows rows = {0};
	int r = 0;

	for (uint32_t i = 0; i < run->n && !r; i++)
		r = nvs_fault_attribute(all + i);
	if (!r)
		r = make_rows(run, &rows);
	run->said = true;
	if (!r && run->options->print.format != NVS_FORMAT_TEXT)
		r = print_rows(run, &rows);
	else if (!r && !rows.nfaults)
		fputs(run->n > 1 ? "No fault of a GPU was recorded in these traces.\n"
				 : "No fault of a GPU was recorded.\n",
		      run->out->file);
	else if (!r)
		r = print_text(run, &rows);
	free_rows(&rows);
	return r;
}

/* ---- the report ---- */

static int begin_trace(struct nvs_run *run, struct nvs_source *s, void *each,
		       struct nvs_pass_reader *reader)
{
	struct nvs_fault_trace *t = each;

	nvs_faults_begin(&t->faults, s, reader);
	return 0;
}

static int end_trace(struct nvs_run *run, struct nvs_source *s, void *each)
{
	struct nvs_fault_trace *t = each;

	return nvs_faults_end(&t->faults);
}

static void free_each(struct nvs_run *run)
{
	struct nvs_fault_trace *all = run->each;

	for (uint32_t i = 0; i < run->n; i++) {
		nvs_faults_free(&all[i].faults);
		nvs_kernel_codes_free(&all[i].codes);
	}
}

NVS_REPORT(fault, .name = "fault", .group = NVS_STUCK, .place = 95,
	   .help = "which kernel faulted, at which instruction and address, and whose "
		   "memory that is",
	   .man = "For each fault of a GPU sentences: the kernel, its instruction and source "
		  "line, if the driver reported a program counter and the code was recorded "
		  "with\n.BR code=on ;\nthe address, and the allocation that it is in, or the "
		  "nearest one, with call sites; the submission, and what its parameters point "
		  "to; whether this is certain. Then a table of all launches that can have "
		  "been in progress, the most likely first. A launch is called certain only "
		  "if no other can have caused the fault. For the ranks of a job, one trace "
		  "each, also the rank that faulted first. Without a fault it prints one "
		  "sentence.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_WHOLE | NVS_NEED_APART, .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(columns), .each = sizeof(struct nvs_fault_trace),
	   .begin = begin_trace, .end = end_trace, .print = print_faults, .free = free_each);
