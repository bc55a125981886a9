/* SPDX-License-Identifier: MIT */
/* Formats the text of --fault: which kernel, which instruction, which address and whose memory,
 * then what is certain and what is not. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/memory_ranges.h"
#include "decode/analysis/unfinished_work.h"
#include "decode/calls/roles.h"
#include "decode/cli/fault_names.h"
#include "decode/cli/sentence.h"
#include "decode/report/core/trace_columns.h"
#include "decode/report/fault/fault.h"

#define NAME_WIDTH 60
#define MAX_WORDS 4u /* parameters described per candidate */
#define FAR (1ull << 40) /* bytes: no distance is given beyond that */
typedef unsigned long long ull; /* for printing */

/* ---- names ---- */

/* Without its arguments. */
static void print_kernel(FILE *f, const char *mangled)
{
	char *name = nvs_demangle(mangled), *end = name ? strchr(name, '(') : NULL;

	if (end && end > name)
		*end = 0;
	fputs(NVS_TEXT(name ? name : mangled, NAME_WIDTH), f);
	free(name);
}

static void print_site(FILE *f, const struct nvs_fault_trace *t, uint32_t stack)
{
	struct nvs_trace *trace = t->faults.work.source->trace;
	const struct nvs_callsite *site = nvs_trace_callsite(trace, stack);
	const char *line = nvs_trace_callsite_line(trace, stack);

	if (*site->site) {
		fputs(" at ", f);
		fputs(NVS_TEXT(site->site, NAME_WIDTH), f);
	}
	if (*line) {
		fputs(" (", f);
		fputs(NVS_TEXT(line, NAME_WIDTH), f);
		fputc(')', f);
	}
}

static void print_api(FILE *f, const struct nvs_fault_trace *t, const struct nvs_call_api *api,
		      uint32_t stack)
{
	const struct nvs_callsite *site = nvs_trace_callsite(t->faults.work.source->trace, stack);

	fputs(NVS_TEXT(api && *api->name ? nvs_call_name(api) : site->api, NAME_WIDTH), f);
	print_site(f, t, stack);
}

static const char *error_of(const struct nvs_fault *fault)
{
	return fault->call.api ? nvs_call_error(fault->call.result) : NULL;
}

void nvs_fault_print_what(FILE *f, const struct nvs_fault *fault)
{
	const struct nvs_fault_name *name = fault->notified ? nvs_fault_name(fault->number) : NULL;
	const char *warp = fault->pc ? nvs_warp_error_name(fault->sms->warp_esr) : NULL;

	if (warp)
		fputs(warp, f);
	else if (fault->call.api && fault->call.result == 710)
		fputs("assertion", f);
	else if (name)
		fputs(name->name, f);
	else if (error_of(fault))
		fputs(error_of(fault), f);
	else
		fputs("error", f);
	if (fault->notified)
		fprintf(f, " (Xid\u00a0%u%s%s)", fault->number, warp && name ? ", " : "",
			warp && name ? name->name : "");
}

static void print_nodes(FILE *f, struct nvs_fault_trace *t, const struct nvs_fault_candidate *c)
{
	uint32_t node, n = nvs_fault_node(&t->faults, c->u, c->first, &node);

	if (!c->one_node && n == 1 && (c->n <= 1 || c->freed || c->stray))
		fputs("probably ", f);
	if (c->n > 1 && !c->freed && !c->stray)
		fprintf(f, "one of %u nodes of ", c->n);
	else if (n == 1)
		fprintf(f, "node %u of ", node);
	else if (n)
		fprintf(f, "one of %u nodes of ", n);
	else
		fputs("a node of ", f);
	fprintf(f, "graph %u", c->u->exec->index);
}

void nvs_fault_print_work(FILE *f, struct nvs_fault_trace *t, const struct nvs_fault *fault,
			  const struct nvs_fault_candidate *c)
{
	const struct nvs_unfinished *u = c->u;
	uint32_t shown = c->first == NVS_NONE && c->one_kernel ? 0 : c->first;
	const char *kernel = nvs_fault_kernel(&t->faults, u, shown);

	if (u->launches && (shown != NVS_NONE || u->kernel)) {
		fputs("kernel ", f);
		if (kernel)
			print_kernel(f, kernel);
		else
			fputs("without a name", f);
		if (u->exec) {
			fputs(", ", f);
			print_nodes(f, t, c);
		}
	} else if (u->launches) {
		fputs(NVS_COUNT(u->launches, "kernel", "kernels"), f);
		if (u->exec)
			fprintf(f, " of graph %u", u->exec->index);
	} else if (u->copies) {
		fputs("a copy of ", f);
		fputs(NVS_BYTES(u->copied), f);
	} else if (u->memsets) {
		fputs("a memset", f);
	} else {
		fputs("unknown work", f);
	}
}

/* ---- memory ---- */

static void print_made(FILE *f, const struct nvs_fault_trace *t, const struct nvs_memory_call *made)
{
	if (made->api) {
		fputs("allocated by ", f);
		print_api(f, t, made->api, made->stack);
	} else {
		fputs("allocated before the trace", f);
		print_site(f, t, made->stack);
	}
}

static void print_range(FILE *f, const struct nvs_fault_trace *t, const struct nvs_memory_range *m)
{
	fputs(NVS_BYTES(m->bytes), f);
	fputc(' ', f);
	print_made(f, t, &m->made);
}

static void print_freed(FILE *f, const struct nvs_fault_trace *t, const struct nvs_memory_range *m,
			uint64_t launched)
{
	const struct nvs_trace *trace = t->faults.work.source->trace;
	bool before = m->freed.time <= launched;

	fputs(NVS_BYTES(m->bytes), f);
	fputs(" that had been freed ", f);
	fputs(NVS_DURATION(before ? nvs_call_ns(trace, m->freed.time, launched)
				  : nvs_call_ns(trace, launched, m->freed.time)),
	      f);
	fputs(before ? " before the launch" : " after the launch", f);
	if (m->freed.api) {
		fputs(" by ", f);
		print_api(f, t, m->freed.api, m->freed.stack);
	}
	fputs("; ", f);
	print_made(f, t, &m->made);
}

/* Small distances exactly. */
static void print_distance(FILE *f, uint64_t bytes)
{
	char text[32];

	if (bytes < 1u << 20)
		fprintf(f, "%s %s", nvs_format_grouped(text, bytes), bytes == 1 ? "byte" : "bytes");
	else
		fputs(NVS_BYTES(bytes), f);
}

static void print_none(FILE *f, const struct nvs_fault_trace *t,
		       const struct nvs_memory_place *place, uint64_t address)
{
	const struct nvs_memory_range *below = place->below, *above = place->above;
	uint64_t behind = below ? address - below->address - below->bytes : UINT64_MAX;
	uint64_t before = above ? above->address - address : UINT64_MAX;

	if (behind > FAR && before > FAR) {
		fputs("in no allocation", f);
		return;
	}
	if (behind <= before) {
		print_distance(f, behind);
		fputs(" behind the end of ", f);
		print_range(f, t, below);
	} else {
		print_distance(f, before);
		fputs(" before the beginning of ", f);
		print_range(f, t, above);
	}
}

void nvs_fault_print_place(FILE *f, const struct nvs_fault_trace *t,
			   const struct nvs_memory_place *place, uint64_t address,
			   uint64_t launched)
{
	const struct nvs_memory_range *m = place->in ? place->in : place->freed;

	if (!address) {
		fputs("a null pointer", f);
		return;
	}
	if (!m) {
		print_none(f, t, place, address);
		return;
	}
	if (address != m->address) {
		print_distance(f, address - m->address);
		fputs(" into ", f);
	} else {
		fputs("the beginning of ", f);
	}
	if (place->in)
		print_range(f, t, m);
	else
		print_freed(f, t, m, launched);
}

void nvs_fault_print_words(FILE *f, struct nvs_fault_trace *t, const struct nvs_fault *fault,
			   const struct nvs_fault_candidate *c)
{
	uint32_t index = c->first, listed = 0;

	if (index == NVS_NONE)
		return;
	/* Suspicious ones first. */
	for (int pass = 0; pass < 2; pass++) {
		struct nvs_fault_word w = {0};

		while (listed < MAX_WORDS &&
		       nvs_fault_word_next(&t->faults, fault, c->u, index, &w)) {
			if ((w.place.in != NULL) != (pass == 1))
				continue;
			fprintf(f, "%s%#llx (at +%u) is ", listed++ ? "; " : "", (ull)w.value,
				w.at);
			nvs_fault_print_place(f, t, &w.place, w.value, c->u->time);
		}
	}
}

/* ---- the headline ---- */

static void print_instruction(FILE *f, const struct nvs_fault_instruction *insn)
{
	fprintf(f, ", at %s%s+%#llx", insn->name, *insn->name ? " " : "", (ull)insn->offset);
	if (insn->line.line) {
		fputs(" (", f);
		fputs(NVS_TEXT(insn->line.file, NAME_WIDTH), f);
		fprintf(f, ":%u)", insn->line.line);
	}
}

/* Of a graph: which kernel it was is not certain. */
static void print_one_of(FILE *f, const struct nvs_fault_candidate *c, const char *work)
{
	fputs("One of ", f);
	fputs(NVS_COUNT(c->u->launches, "kernel", "kernels"), f);
	if (c->u->exec)
		fprintf(f, " of graph %u", c->u->exec->index);
	fputs(" faulted", f);
	if (c->first != NVS_NONE)
		fprintf(f, ", perhaps %s", work);
}

/* "Kernel x faulted: ...", or that it is one of several. */
static void print_head(FILE *f, struct nvs_fault_trace *t, const struct nvs_fault *fault)
{
	const struct nvs_fault_candidate *c = fault->candidates;
	struct nvs_fault_instruction insn = {0};
	char *work = NULL;
	size_t n;
	FILE *w = open_memstream(&work, &n);

	if (!w)
		return;
	if (fault->ncandidates)
		nvs_fault_print_work(w, t, fault, c);
	fclose(w);
	if (!fault->ncandidates || !work) {
		fputs("A fault of the GPU", f);
	} else if (fault->certain && c->u->launches && !c->one_kernel) {
		print_one_of(f, c, work);
	} else if (fault->certain) {
		fprintf(f, "%c%s%s faulted", *work - ('a' <= *work && *work <= 'z' ? 32 : 0),
			work + 1, strchr(work, ',') ? "," : "");
	} else {
		fprintf(f, "Probably %s%s faulted", work, strchr(work, ',') ? "," : "");
	}
	free(work);
	fputs(": ", f);
	nvs_fault_print_what(f, fault);
	if (fault->ncandidates)
		nvs_fault_find_instruction(t, fault, c, &insn);
	if (insn.known)
		print_instruction(f, &insn);
	if (fault->address)
		fprintf(f, ", address %#llx", (ull)fault->address);
	fputc('.', f);
}

static void print_address(FILE *f, struct nvs_fault_trace *t, const struct nvs_fault *fault)
{
	struct nvs_fault_instruction insn = {0};
	struct nvs_memory_place place;

	if (!fault->address)
		return;
	if (fault->ncandidates)
		nvs_fault_find_instruction(t, fault, fault->candidates, &insn);
	if (!strncmp(insn.name, "LDL", 3) || !strncmp(insn.name, "STL", 3) ||
	    !strncmp(insn.name, "LDS", 3) || !strncmp(insn.name, "STS", 3)) {
		fprintf(f, " The instruction accesses %s memory.",
			insn.name[2] == 'L' ? "local" : "shared");
		return;
	}
	nvs_memory_place_find(&t->faults.ranges, fault->address, fault->time, &place);
	fputs(" The address is ", f);
	nvs_fault_print_place(f, t, &place, fault->address,
			      fault->ncandidates ? fault->candidates->u->time : fault->time);
	fputc('.', f);
}

/* ---- the candidates ---- */

static void print_launch(FILE *f, const struct nvs_fault_trace *t, const struct nvs_fault *fault)
{
	const struct nvs_fault_candidate *c = fault->candidates;
	const struct nvs_unfinished *u = c->u;
	const struct nvs_fault_grid *g = nvs_fault_grid_at(u, c->first);
	char text[32];

	fprintf(f, " It is in submission %s, by ", nvs_format_grouped(text, u->number));
	print_api(f, t, u->api, u->stack);
	fprintf(f, ", on channel %u", c->channel);
	if (u->has_stream && u->stream > 2)
		fprintf(f, ", stream %#llx", (ull)u->stream);
	if (g && g->grid[0])
		fprintf(f, ", with %ux%ux%u blocks of %ux%ux%u threads", g->grid[0], g->grid[1],
			g->grid[2], g->block[0], g->block[1], g->block[2]);
	fputc('.', f);
	if (c->novel && !c->freed && c->first != NVS_NONE && !fault->pc)
		fputs(" This kernel had not run to its end before.", f);
}

static void print_words(FILE *f, struct nvs_fault_trace *t, const struct nvs_fault *fault)
{
	char *words = NULL;
	size_t n;
	FILE *w = open_memstream(&words, &n);

	if (!w)
		return;
	nvs_fault_print_words(w, t, fault, fault->candidates);
	if (!fclose(w) && words && *words)
		fprintf(f, " Of its parameters, %s.", words);
	free(words);
}

static const char *state_sentence(const struct nvs_fault *fault)
{
	switch (fault->candidates->state) {
	case NVS_FAULT_RUNNING:
		return "it had been launched and had not ended";
	case NVS_FAULT_NEXT:
		return "everything before it on its channel had ended";
	case NVS_FAULT_PERHAPS:
		return "it is the last one launched on its channel, which may have ended";
	case NVS_FAULT_ENDED:
		return "nothing was unfinished, and it is the last launch on its channel";
	default:
		return "it follows another launch that had not ended";
	}
}

static void print_certainty(FILE *f, const struct nvs_fault *fault)
{
	uint32_t matching = 0;

	for (uint32_t i = 0; i < fault->ncandidates; i++)
		matching += fault->candidates[i].matches;
	if (fault->certain) {
		fprintf(f, " %s certain: %s%s.",
			fault->candidates->one_kernel || !fault->candidates->u->launches
				? "This is"
				: "That it was one of these is",
			fault->pc ? "of the unfinished launches only its code contains the program "
				    "counter; "
				  : "no other work was in progress on these channels; ",
			state_sentence(fault));
		return;
	}
	if (!fault->ncandidates) {
		fputs(" No unfinished work is known on its channels.", f);
		return;
	}
	fputs(" This is not certain: ", f);
	if (fault->pc && !matching)
		fputs("no unfinished launch has code at the program counter; ", f);
	if (fault->ncandidates > 1) {
		fputs(NVS_COUNT(fault->ncandidates, "launch", "launches"), f);
		fputs(fault->candidates->state == NVS_FAULT_ENDED
			      ? " were the last on their channels, and had ended; the table"
			      : " can have been in progress; the table",
		      f);
		fputs(" lists them, the most likely first", f);
	} else {
		fputs(state_sentence(fault), f);
	}
	if (fault->unknown && fault->ncandidates > 1)
		fputs("; it is unknown whether others had ended", f);
	fputc('.', f);
}

/* ---- what was seen ---- */

static void print_notifier(FILE *f, const struct nvs_fault *fault)
{
	const struct nvs_fault_name *name = nvs_fault_name(fault->number);

	if (!fault->notified) {
		if (fault->call.api && fault->call.result == 710)
			fputs(" A kernel's assertion failed; the driver reports no more.", f);
		return;
	}
	fprintf(f, " The driver ended ");
	fputs(NVS_COUNT(fault->nchannels, "channel", "channels"), f);
	fprintf(f, " with error %u", fault->number);
	if (name && name->meaning)
		fprintf(f, ": %s", name->meaning);
	fputc('.', f);
	if (!fault->pc && !fault->address)
		fputs(" It reported neither an instruction nor an address.", f);
}

static void print_call(FILE *f, const struct nvs_fault_trace *t, const struct nvs_fault *fault)
{
	const char *error = error_of(fault);

	if (!fault->call.api)
		return;
	fputs(" The first call that failed was ", f);
	print_api(f, t, fault->call.api, fault->call.stack);
	if (error)
		fprintf(f, ", with %s", error);
	fputc('.', f);
}

int nvs_fault_format_head(struct nvs_fault_trace *t, const struct nvs_fault *fault, char **text)
{
	size_t n;
	FILE *f = open_memstream(text, &n);

	if (!f)
		return -ENOMEM;
	print_head(f, t, fault);
	print_address(f, t, fault);
	if (fclose(f) || !*text)
		return -ENOMEM;
	nvs_budget_adopt(*text);
	return 0;
}

int nvs_fault_format_text(struct nvs_fault_trace *t, const struct nvs_fault *fault, char **text)
{
	size_t n;
	FILE *f = open_memstream(text, &n);

	if (!f)
		return -ENOMEM;
	print_head(f, t, fault);
	print_address(f, t, fault);
	if (fault->ncandidates) {
		print_words(f, t, fault);
		print_launch(f, t, fault);
	}
	print_certainty(f, fault);
	print_notifier(f, fault);
	print_call(f, t, fault);
	if (fclose(f) || !*text)
		return -ENOMEM;
	nvs_budget_adopt(*text);
	return 0;
}

/* ---- over ranks ---- */

static void print_rank(FILE *f, const struct nvs_source *s)
{
	struct nvs_value rank = {0};

	nvs_source_number(s, NVS_ATTR_RANK, &rank);
	if (rank.kind == NVS_VALUE_COUNT)
		fprintf(f, "Rank %llu", (ull)rank.count);
	else
		fputs(NVS_TEXT(s->path, NAME_WIDTH), f);
}

int nvs_fault_format_ranks(const struct nvs_run *run, char **text)
{
	const struct nvs_fault_trace *all = run->each, *first = NULL;
	uint64_t at, earliest = UINT64_MAX;
	uint32_t faulted = 0;
	size_t n;
	FILE *f;

	*text = NULL;
	for (uint32_t i = 0; i < run->n; i++) {
		if (!all[i].faults.n)
			continue;
		faulted++;
		if (nvs_clock_real(run->sources[i].trace, all[i].faults.list->time, &at) &&
		    at < earliest) {
			earliest = at;
			first = all + i;
		}
	}
	if (run->n < 2 || !first)
		return 0;
	f = open_memstream(text, &n);
	if (!f)
		return -ENOMEM;
	print_rank(f, first->faults.work.source);
	fprintf(f,
		faulted > 1 ? " faulted first, of %u that did: "
			    : " is the only one that faulted: ",
		faulted);
	nvs_fault_print_what(f, first->faults.list);
	fputc('.', f);
	if (fclose(f) || !*text)
		return -ENOMEM;
	nvs_budget_adopt(*text);
	return 0;
}
