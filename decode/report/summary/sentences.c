/* SPDX-License-Identifier: MIT */
/* The summary's sentences about a trace, and how a sentence and its command are printed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/cli/sentence.h"
#include "decode/report/summary/internal.h"
#include "decode/report/core/report.h"

#define TOP 3 /* entry points named with their time */
#define SPACE "    " /* indent of a command */

const struct nvs_session *nvs_summary_session(const struct nvs_summary_input *s)
{
	return nvs_trace_session(s->source->trace);
}

bool nvs_summary_run_time(const struct nvs_summary_input *s, int64_t *ns)
{
	return nvs_clock_since_start(s->source->trace, nvs_summary_session(s)->last_time, ns) &&
	       *ns > 0;
}

void nvs_summary_print_share(const struct nvs_sentence *t, uint64_t ns)
{
	int64_t ran;

	if (!nvs_summary_run_time(t->story, &ran))
		return;
	fprintf(t->f, " (%s of the run)", NVS_PERCENT(ns, ran));
}

/* ---- what happened ---- */

static void write_gpus(struct nvs_sentence *t)
{
	const struct nvs_trace *trace = t->story->source->trace;
	uint32_t n = nvs_trace_gpu_count(trace);
	const char *name = n ? nvs_trace_gpu_at(trace, 0)->name : "";

	if (!n)
		return;
	if (n == 1)
		fprintf(t->f, " on %s%s", *name ? "an " : "a GPU", NVS_TEXT(name, 40));
	else
		fprintf(t->f, *name ? " on %u GPUs (the first an %s)" : " on %u GPUs", n,
			NVS_TEXT(name, 40));
}

static void write_run(struct nvs_sentence *t)
{
	const struct nvs_session *s = nvs_summary_session(t->story);
	const char *driver = s->attr[NVS_ATTR_DRIVER];
	char rank[32];
	int64_t ns;

	fprintf(t->f, "%s (process\u00a0%u",
		NVS_TEXT(*t->story->command ? t->story->command : "The program", 48),
		s->header.pid);
	if (*t->story->rank) {
		snprintf(rank, sizeof(rank), "%.*s", (int)strcspn(t->story->rank, ","),
			 t->story->rank);
		fprintf(t->f, ", rank\u00a0%s", NVS_TEXT(rank, sizeof(rank)));
	}
	fputs(") ran", t->f);
	if (nvs_summary_run_time(t->story, &ns)) {
		/* The run may have continued after a damaged or unread end of the trace. */
		bool cut = s->end == NVS_END_DAMAGED || (s->end == NVS_END_CRASH && !s->spool_read);

		fprintf(t->f, " for %s%s", cut ? "at least " : "", NVS_DURATION(ns));
	}
	write_gpus(t);
	if (driver)
		fprintf(t->f, " (driver\u00a0%s)", NVS_TEXT(driver, 40));
	if (t->story->causes && t->story->causes->fault_what)
		fprintf(t->f, ", which faulted: %s", t->story->causes->fault_what);
	fputc('.', t->f);
}

static void write_end(struct nvs_sentence *t)
{
	static const char *const ends[] = {
		[NVS_END_ORDERLY] = "It exited normally",
		[NVS_END_CRASH] =
			"It was killed or crashed, or may still be running in another container",
		[NVS_END_DAMAGED] =
			"The trace is damaged or truncated, and was read up to that point",
		[NVS_END_RUNNING] = "It is still running",
	};
	const struct nvs_session *s = nvs_summary_session(t->story);
	uint64_t problems = nvs_trace_problems(t->story->source->trace);

	if (s->end >= sizeof(ends) / sizeof(*ends) || !ends[s->end])
		return;
	if (s->end == NVS_END_ORDERLY && nvs_trace_goes_on(t->story->source->trace))
		fputs("It was still running when its recording ended", t->f);
	else
		fputs(ends[s->end], t->f);
	if (problems || s->end == NVS_END_DAMAGED)
		fputc('.', t->f);
	else
		fputs(s->end == NVS_END_ORDERLY	  ? ", and the trace is whole."
		      : s->end == NVS_END_RUNNING ? "; the trace is whole so far."
						  : "; the trace is whole up to there.",
		      t->f);
}

static void write_recorded_part(struct nvs_sentence *t)
{
	const char *part = nvs_trace_part(t->story->source->trace);

	if (part)
		fprintf(t->f, "Recorded part of the run: %s.", NVS_TEXT(part, 200));
}

static void write_selection(struct nvs_sentence *t)
{
	if (nvs_filter_is_set(t->story->source->query))
		fputs("The filters select this part:", t->f);
}

static void write_launches(struct nvs_sentence *t)
{
	const struct nvs_summary_input *s = t->story;

	if (s->uncounted || s->tally->unseen)
		return;
	if (!s->tally->launches) {
		fprintf(t->f, "%s launched no kernels.", s->several ? "They" : "It");
		return;
	}
	fprintf(t->f, "%s launched %s", s->several ? "They" : "It",
		NVS_COUNT(s->tally->launches, "kernel", "kernels"));
	if (s->facts->driver_launches)
		fprintf(t->f, ", %s for copies and memsets",
			NVS_COUNT(s->facts->driver_launches, "of them", "of them"));
	fprintf(t->f, ", with %s and %s of commands.",
		NVS_COUNT(s->facts->launch_submissions, "doorbell", "doorbells"),
		NVS_BYTES(s->facts->launch_bytes));
}

static void write_work(struct nvs_sentence *t)
{
	const struct nvs_tally *y = t->story->tally;
	uint64_t copies = 0, bytes = 0;

	for (int mode = 0; mode < NVS_COPY_MODES; mode++) {
		copies += y->copies[mode];
		bytes += y->copied[mode];
	}
	if (copies)
		fprintf(t->f, "; these made %s (%s)", NVS_COUNT(copies, "copy", "copies"),
			NVS_BYTES(bytes));
	if (y->memsets)
		fprintf(t->f, "%s%s (%s)", copies ? " and " : "; these made ",
			NVS_COUNT(y->memsets, "memset", "memsets"), NVS_BYTES(y->memset_bytes));
	fputc('.', t->f);
}

static void write_doorbells(struct nvs_sentence *t)
{
	const struct nvs_summary_input *s = t->story;
	uint64_t setup = s->facts->setup_submissions;

	fprintf(t->f, "%s rang %s", s->several ? "They" : "It",
		NVS_COUNT(s->submissions, "doorbell", "doorbells"));
	if (setup)
		fprintf(t->f, " (%s for contexts and modules)",
			NVS_COUNT(setup, "of them", "of them"));
	fprintf(t->f, " and sent %s of commands", NVS_BYTES(s->bytes));
	if (s->uncounted)
		fputs("; their content is unknown (recorded with level=counts).", t->f);
	else if (s->tally->unseen)
		fputs("; their content is unknown (recorded with level=headers).", t->f);
	else
		write_work(t);
}

/* ---- host time ---- */

struct top {
	const struct nvs_session_api_stats *api[TOP];
};

static void find_top(const struct nvs_session_stats *f, struct top *top)
{
	memset(top, 0, sizeof(*top));
	for (size_t i = 0; i < f->apis.rows.n; i++) {
		const struct nvs_session_api_stats *a = f->apis.rows.row[i];
		int at = TOP;

		if (nvs_facts_is_setup(a->api.entry))
			continue;
		for (;
		     at && (!top->api[at - 1] || nvs_facts_ns(top->api[at - 1]) < nvs_facts_ns(a));
		     at--)
			if (at < TOP)
				top->api[at] = top->api[at - 1];
		if (at < TOP)
			top->api[at] = a;
	}
}

/* The top entry points that take at least 5 % each, without those for contexts and modules. */
static void write_top(struct nvs_sentence *t, const struct top *top)
{
	uint64_t all = t->story->facts->outermost[0].ns;

	for (int i = 0; i < TOP && top->api[i]; i++) {
		uint64_t ns = nvs_facts_ns(top->api[i]);

		if (!ns || ns * 20 < all)
			break;
		fprintf(t->f, "%s%s (%s) in %s", i ? ", " : ": ", NVS_DURATION(ns),
			NVS_PERCENT(ns, all), NVS_TEXT(nvs_call_name(top->api[i]->api.entry), 64));
	}
}

static void write_spent(struct nvs_sentence *t, bool summed)
{
	const struct nvs_session_stats *f = t->story->facts;
	uint64_t all = nvs_facts_all_ns(f);

	fprintf(t->f, "The host spent %s%s in %s", NVS_DURATION(all),
		summed ? ", summed over threads," : "",
		NVS_COUNT(f->calls, "driver API call", "driver API calls"));
	if (f->outermost[1].ns * 100 < all || !all)
		return;
	fprintf(t->f, ", %s of it for contexts and modules", NVS_DURATION(f->outermost[1].ns));
	if (f->outermost[0].ns)
		fprintf(t->f, "; the remaining %s", NVS_DURATION(f->outermost[0].ns));
}

static void write_total_time(struct nvs_sentence *t)
{
	if (!t->story->called)
		return;
	write_spent(t, false);
	fputc('.', t->f);
}

static void write_time(struct nvs_sentence *t)
{
	const struct nvs_session_stats *f = t->story->facts;
	uint64_t all = nvs_facts_all_ns(f);
	struct top top;
	int64_t ran;

	if (!t->story->called) {
		fputs("Host time by call is unknown: no calls were recorded (api=off, or an older "
		      "nvsnoop).",
		      t->f);
		return;
	}
	write_spent(t, nvs_summary_run_time(t->story, &ran) && all > (uint64_t)ran);
	find_top(f, &top);
	write_top(t, &top);
	fputc('.', t->f);
	fputs("--by-api -s host_us", t->more);
}

/* ---- output ---- */

/* A finished sentence, and the arguments of its command after the trace; "" for none. */
struct told {
	char *text, *more;
	bool names_api;
	uint64_t ns; /* of a finding; and its number in the list */
	int number;
};

static int make_sentence(const struct nvs_summary_input *story, void (*say)(struct nvs_sentence *),
			 struct told *told)
{
	size_t length, more_length;
	struct nvs_sentence t = {.story = story};
	bool failed;

	*told = (struct told){NULL};
	t.f = open_memstream(&told->text, &length);
	t.more = open_memstream(&told->more, &more_length);
	if (t.f && t.more)
		say(&t);
	failed = nvs_budget_end_text(t.f, &told->text);
	failed |= nvs_budget_end_text(t.more, &told->more);
	told->names_api = t.names_api;
	told->ns = t.ns;
	return failed ? -ENOMEM : 0;
}

static void free_sentence(struct told *told)
{
	free(told->text);
	free(told->more);
}

static void write_patterns(FILE *f, const char *option, const struct nvs_patterns *list,
			   bool excluding_alone)
{
	for (uint32_t i = 0; i < list->n; i++) {
		const struct nvs_pattern *p = list->list + i;

		if (excluding_alone && !p->excludes)
			continue;
		fprintf(f, " --%s=", option);
		nvs_print_option_value(f, p->text - p->excludes); /* including its ! */
	}
}

/* Repeats the filters, so that the command shows the same selection. */
static void repeat_selection(FILE *f, const struct nvs_options_report *o, bool names_api)
{
	if (o->query.range.by) {
		fputs(" --range=", f);
		nvs_print_option_value(f, o->query.range.text);
	}
	write_patterns(f, "thread", &o->query.thread, false);
	write_patterns(f, "channel", &o->query.channel, false);
	write_patterns(f, "api", &o->query.api, names_api);
	write_patterns(f, "nvtx", &o->query.nvtx, false);
}

static void print_command(struct nvs_out *out, const struct nvs_summary_input *story,
			  const struct told *told)
{
	const struct nvs_options_report *o = story->options;
	const char *trace = o->stand_in ? o->stand_in : story->source->path;

	fputs(SPACE, out->file);
	nvs_print_shell_word(out->file, o->called);
	fputc(' ', out->file);
	/* Standard input cannot be read again. */
	nvs_print_shell_word(out->file, strcmp(trace, "-") ? trace : "TRACE");
	if (o->read.spool) {
		fputs(" --spool=", out->file);
		nvs_print_shell_word(out->file, o->read.spool);
	}
	fprintf(out->file, "%s%s", o->read.no_spool ? " --no-spool" : "",
		o->read.partial ? " --partial" : "");
	repeat_selection(out->file, o, told->names_api);
	fprintf(out->file, " %s\n", told->more);
}

static int print_sentence(struct nvs_out *out, const struct nvs_summary_input *story,
			  void (*say)(struct nvs_sentence *))
{
	struct told told;
	int r = make_sentence(story, say, &told);

	if (!r && *told.text)
		nvs_print_wrapped(out, told.text, 0);
	if (!r && *told.more)
		print_command(out, story, &told);
	free_sentence(&told);
	return r;
}

#define MAX_FINDINGS 32
#define SHOWN 6 /* findings without --wide */

struct finding {
	struct told told;
	int place;
};

static int compare_findings(const void *pa, const void *pb)
{
	const struct finding *a = pa, *b = pb;

	return NVS_CMP(a->place, b->place) ?: NVS_CMP(b->told.ns, a->told.ns) ?: NVS_CMP(a->told.number, b->told.number);
}

/* Returns the number of findings, in the order in which they are printed, or -ENOMEM. */
static int make_findings(const struct nvs_summary_input *story,
			 struct finding findings[MAX_FINDINGS])
{
	int n = 0, r = 0;

	for (const struct nvs_summary_checks *u = nvs_summary_check_list;
	     u->name && !r && n < MAX_FINDINGS; u++) {
		struct finding *f = findings + n;

		r = make_sentence(story, u->find, &f->told);
		f->place = (int)u->place;
		f->told.ns = u->place == NVS_FINDING_BY_TIME ? f->told.ns : 0;
		f->told.number = (int)(u - nvs_summary_check_list);
		if (!r && *f->told.text)
			n++;
		else
			free_sentence(&f->told);
	}
	qsort(findings, (size_t)n, sizeof(*findings), compare_findings);
	for (int i = 0; i < n && r; i++)
		free_sentence(&findings[i].told);
	return r ? r : n;
}

static int print_findings(struct nvs_out *out, const struct nvs_summary_input *story)
{
	struct finding findings[MAX_FINDINGS];
	int n = make_findings(story, findings), shown, r = n < 0 ? n : 0;

	shown = n > SHOWN && !story->options->print.wide && !story->options->page ? SHOWN : n;
	if (n > 0)
		fprintf(out->file, "\n%sWorth a look:%s\n", nvs_out_style(out, NVS_STYLE_HEAD),
			nvs_out_style(out, NVS_STYLE_PLAIN));
	for (int i = 0; i < n; i++) {
		char *line = NULL;

		if (i < shown && asprintf(&line, "- %s", findings[i].told.text) < 0)
			r = -ENOMEM;
		else if (i < shown)
			nvs_print_wrapped(out, line, 2);
		if (i < shown && *findings[i].told.more)
			print_command(out, story, &findings[i].told);
		free(line);
		free_sentence(&findings[i].told);
	}
	if (n > shown)
		fprintf(out->file, "%s%d more finding%s; --wide shows all%s\n",
			nvs_out_style(out, NVS_STYLE_DIM), n - shown, n - shown == 1 ? "" : "s",
			nvs_out_style(out, NVS_STYLE_PLAIN));
	return r;
}

bool nvs_summary_is_empty(const struct nvs_summary_input *s)
{
	return nvs_filter_is_set(s->source->query) && !s->submissions && !s->facts->calls;
}

#define ABOUT_ALL 3 /* the first sentences, printed for any selection */

int nvs_summary_print(struct nvs_out *out, const struct nvs_summary_input *story)
{
	static void (*const sentences[])(struct nvs_sentence *) = {
		write_run,	write_end,	 write_recorded_part, write_selection,
		write_launches, write_doorbells, write_time,	      nvs_write_gpu_time};
	int r = 0;

	bool nothing = nvs_summary_is_empty(story) || (nvs_trace_never_on(story->source->trace) &&
						       !story->submissions && !story->facts->calls);
	size_t n = nothing ? ABOUT_ALL : sizeof(sentences) / sizeof(*sentences);

	for (size_t i = 0; i < n && !r; i++)
		r = print_sentence(out, story, sentences[i]);
	return r ? r : print_findings(out, story);
}

int nvs_summary_print_total(struct nvs_out *out, const struct nvs_summary_input *story)
{
	int r = print_sentence(out, story, write_launches);

	if (!r)
		r = print_sentence(out, story, write_doorbells);
	return r ? r : print_sentence(out, story, write_total_time);
}

char *nvs_summary_findings(const struct nvs_summary_input *story)
{
	struct finding findings[MAX_FINDINGS];
	int n = make_findings(story, findings);
	size_t size = 0;
	char *text = NULL;
	FILE *f = n < 0 ? NULL : open_memstream(&text, &size);

	for (int i = 0; i < n; i++) {
		if (f)
			fprintf(f, "%s%s", i ? ", " : "",
				nvs_summary_check_list[findings[i].told.number].name);
		free_sentence(&findings[i].told);
	}
	return nvs_budget_end_text(f, &text) ? NULL : text;
}
