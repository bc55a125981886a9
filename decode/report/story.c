/* SPDX-License-Identifier: MIT */
/*
 * Sentences about a trace. What counts as unusual is chosen so that ordinary programs have none of
 * it: each threshold stands with its finding.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report/prose.h"
#include "decode/report/story.h"

#define TOP 3 /* entry points that are named with their time */
#define SPACE "    " /* before a command */

/* A sentence in the making, and the command that shows more: what stands behind the trace's name.
 */
struct telling {
	const struct nvs_story *story;
	FILE *f, *more;
	bool names_api; /* the command does */
};

static const struct nvs_session *session_of(const struct nvs_story *s)
{
	return nvs_trace_session(s->source->trace);
}

static bool ran_ns(const struct nvs_story *s, int64_t *ns)
{
	return nvs_clock_since_start(s->source->trace, session_of(s)->last_time, ns) && *ns > 0;
}

/* ---- what happened ---- */

static void say_gpus(struct telling *t)
{
	const struct nvs_trace *trace = t->story->source->trace;
	uint32_t n = nvs_trace_gpu_count(trace);
	const char *name = n ? nvs_trace_gpu_at(trace, 0)->name : "";

	if (!n)
		return;
	if (n == 1)
		fputs(*name ? " on an " : " on a GPU", t->f);
	else
		fprintf(t->f, " on %u GPUs%s", n, *name ? " (the first an " : "");
	nvs_say_text(t->f, name, 40);
	fputs(n > 1 && *name ? ")" : "", t->f);
}

static void say_run(struct telling *t)
{
	const struct nvs_session *s = session_of(t->story);
	const char *driver = s->attr[NVS_ATTR_DRIVER];
	char rank[32];
	int64_t ns;

	nvs_say_text(t->f, *t->story->command ? t->story->command : "The program", 48);
	fprintf(t->f, " (process\u00a0%u", s->header.pid);
	if (*t->story->rank) {
		snprintf(rank, sizeof(rank), "%.*s", (int)strcspn(t->story->rank, ","),
			 t->story->rank);
		fputs(", rank\u00a0", t->f);
		nvs_say_text(t->f, rank, sizeof(rank));
	}
	fputs(") ran", t->f);
	if (ran_ns(t->story, &ns)) {
		fputs(" for ", t->f);
		nvs_say_ns(t->f, (double)ns, 3);
	}
	say_gpus(t);
	if (driver) {
		fputs(" (driver\u00a0", t->f);
		nvs_say_text(t->f, driver, 40);
		fputc(')', t->f);
	}
	fputc('.', t->f);
}

static void say_end(struct telling *t)
{
	static const char *const ends[] = {
		[NVS_END_ORDERLY] = "It ended in order",
		[NVS_END_CRASH] = "It was killed or crashed, or runs on where that cannot be seen",
		[NVS_END_DAMAGED] = "The trace is damaged, and read up to there",
		[NVS_END_RUNNING] = "It is still running",
	};
	const struct nvs_session *s = session_of(t->story);
	uint64_t problems = nvs_trace_problems(t->story->source->trace);

	if (s->end >= sizeof(ends) / sizeof(*ends) || !ends[s->end])
		return;
	fputs(ends[s->end], t->f);
	if (problems || s->end == NVS_END_DAMAGED)
		fputc('.', t->f);
	else
		fputs(s->end == NVS_END_ORDERLY	  ? ", and the trace is whole."
		      : s->end == NVS_END_RUNNING ? "; the trace is whole so far."
						  : "; the trace is whole up to there.",
		      t->f);
}

static void say_part_of_run(struct telling *t)
{
	const char *part = nvs_trace_part(t->story->source->trace);

	if (!part)
		return;
	fputs("Of the run this was recorded: ", t->f);
	nvs_say_text(t->f, part, 200);
	fputc('.', t->f);
}

static void say_selection(struct telling *t)
{
	if (nvs_filter_asked(t->story->source->options))
		fputs("Of all that, this is what the command line selects:", t->f);
}

static void say_launches(struct telling *t)
{
	const struct nvs_story *s = t->story;

	if (s->uncounted || s->tally->unseen)
		return;
	if (!s->tally->launches) {
		fprintf(t->f, "%s launched no kernel.", s->several ? "They" : "It");
		return;
	}
	fputs(s->several ? "They launched " : "It launched ", t->f);
	nvs_say_count(t->f, s->tally->launches, "kernel", "kernels");
	if (s->facts->driver_launches) {
		fputs(", ", t->f);
		nvs_say_count(t->f, s->facts->driver_launches, "of them", "of them");
		fputs(" for copies and memsets", t->f);
	}
	fputs(", by ", t->f);
	nvs_say_count(t->f, s->facts->launch_submissions, "doorbell", "doorbells");
	fputs(" and ", t->f);
	nvs_say_bytes(t->f, s->facts->launch_bytes);
	fputs(" of commands.", t->f);
}

static void say_work(struct telling *t)
{
	const struct nvs_tally *y = t->story->tally;
	uint64_t copies = 0, bytes = 0;

	for (int mode = 0; mode < NVS_COPY_MODES; mode++) {
		copies += y->copies[mode];
		bytes += y->copied[mode];
	}
	if (copies) {
		fputs(", also for ", t->f);
		nvs_say_count(t->f, copies, "copy (", "copies (");
		nvs_say_bytes(t->f, bytes);
		fputc(')', t->f);
	}
	if (y->memsets) {
		fputs(copies ? " and " : ", also for ", t->f);
		nvs_say_count(t->f, y->memsets, "memset (", "memsets (");
		nvs_say_bytes(t->f, y->memset_bytes);
		fputc(')', t->f);
	}
	fputc('.', t->f);
}

static void say_doorbells(struct telling *t)
{
	const struct nvs_story *s = t->story;
	uint64_t setup = s->facts->setup_submissions;

	fputs(s->several ? "In all they rang " : "In all it rang ", t->f);
	nvs_say_count(t->f, s->submissions, "doorbell", "doorbells");
	if (setup) {
		fputs(" (", t->f);
		nvs_say_count(t->f, setup, "of them", "of them");
		fputs(" for contexts and modules)", t->f);
	}
	fputs(" and sent ", t->f);
	nvs_say_bytes(t->f, s->bytes);
	fputs(" of commands", t->f);
	if (s->uncounted)
		fputs("; what they did is not known (recorded with level=counts).", t->f);
	else if (s->tally->unseen)
		fputs("; what they did is not known (recorded with level=headers).", t->f);
	else
		say_work(t);
}

/* ---- what took the host's time ---- */

struct top {
	const struct nvs_facts_api *api[TOP];
};

static void find_top(const struct nvs_facts *f, struct top *top)
{
	memset(top, 0, sizeof(*top));
	for (size_t i = 0; i < f->apis.n; i++) {
		const struct nvs_facts_api *a = f->apis.row[i];
		int at = TOP;

		if (nvs_facts_is_setup(a->entry))
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

/* Of what is not for contexts and modules, the rows that take a twentieth and more. */
static void say_top(struct telling *t, const struct top *top)
{
	uint64_t all = t->story->facts->outermost[0].ns;

	for (int i = 0; i < TOP && top->api[i]; i++) {
		uint64_t ns = nvs_facts_ns(top->api[i]);

		if (!ns || ns * 20 < all)
			break;
		fputs(i ? ", " : ": ", t->f);
		nvs_say_ns(t->f, (double)ns, 3);
		fputs(" (", t->f);
		nvs_say_share(t->f, (double)ns, (double)all);
		fputs(") in ", t->f);
		nvs_say_text(t->f, nvs_call_name(top->api[i]->entry), 64);
	}
}

static void say_spent(struct telling *t, bool summed)
{
	const struct nvs_facts *f = t->story->facts;
	uint64_t all = nvs_facts_all_ns(f);

	fputs("The host spent ", t->f);
	nvs_say_ns(t->f, (double)all, 3);
	fputs(summed ? ", summed over threads, in " : " in ", t->f);
	nvs_say_count(t->f, f->calls, "call of the driver API", "calls of the driver API");
	if (f->outermost[1].ns * 100 < all || !all)
		return;
	fputs(", ", t->f);
	nvs_say_ns(t->f, (double)f->outermost[1].ns, 3);
	fputs(" of it for contexts and modules", t->f);
	if (f->outermost[0].ns) {
		fputs("; the other ", t->f);
		nvs_say_ns(t->f, (double)f->outermost[0].ns, 3);
	}
}

static void say_total_time(struct telling *t)
{
	if (!t->story->called)
		return;
	say_spent(t, false);
	fputc('.', t->f);
}

static void say_time(struct telling *t)
{
	const struct nvs_facts *f = t->story->facts;
	uint64_t all = nvs_facts_all_ns(f);
	struct top top;
	int64_t ran;

	if (!t->story->called) {
		fputs("Which calls took the host's time is not known: none were recorded "
		      "(api=off, or an older nvsnoop).",
		      t->f);
		return;
	}
	say_spent(t, ran_ns(t->story, &ran) && all > (uint64_t)ran);
	find_top(f, &top);
	say_top(t, &top);
	fputc('.', t->f);
	fputs("--by-api -s host_us", t->more);
}

/* ---- what is unusual: each says so, or nothing ---- */

static void find_problems(struct telling *t)
{
	const struct nvs_session *s = session_of(t->story);
	uint64_t problems = nvs_trace_problems(t->story->source->trace);

	if (!problems)
		return;
	fputs("The trace is NOT whole: ", t->f);
	nvs_say_count(t->f, problems, "problem", "problems");
	if (s->counts.gaps) {
		fputs(", ", t->f);
		nvs_say_count(t->f, s->counts.gaps, "gap", "gaps");
	}
	if (s->counts.lost_submissions) {
		fputs(", ", t->f);
		nvs_say_count(t->f, s->counts.lost_submissions, "submission lost",
			      "submissions lost");
	}
	fputc('.', t->f);
	fputs("--verify", t->more);
}

#define HUNG 1000000000 /* ns: of a program that goes on, no call is worth a word before */

static void find_in_flight(struct telling *t)
{
	const struct nvs_trace *trace = t->story->source->trace;
	bool running = session_of(t->story)->end == NVS_END_RUNNING, timed;
	const struct nvs_inflight *f = NULL, *other;
	int64_t begin, end;
	uint32_t n = 0;

	/* The one that began first. */
	for (; (other = nvs_trace_inflight(trace, n)); n++)
		f = !f || other->begin < f->begin ? other : f;
	timed = f && nvs_clock_since_start(trace, f->begin, &begin) &&
		nvs_clock_since_start(trace, f->end, &end);
	if (!f || (running && (!timed || end - begin < HUNG)))
		return;
	fprintf(t->f, running ? "Thread %u has been in " : "When it ended, thread %u had been in ",
		f->thread);
	nvs_say_text(t->f, *f->api ? f->api : "[unknown]", 64);
	if (timed) {
		fputs(" for ", t->f);
		nvs_say_ns(t->f, (double)(end - begin), 3);
	}
	if (n > 1) {
		fputs(", and ", t->f);
		nvs_say_count(t->f, n - 1, "call more", "calls more");
		fputs(" had not returned", t->f);
	}
	fputc('.', t->f);
	fputs("--verify", t->more);
}

/* An answer to "is there one?", or "it is so already": programs and libraries ask so, and go on.
 * And at its exit the CUDA runtime takes down what the driver has taken down before. */
static bool is_answer(const struct nvs_facts_error *e)
{
	switch (e->key.result) {
	case 4: /* DEINITIALIZED */
	case 500: /* NOT_FOUND */
		return nvs_facts_is_setup(e->entry);
	case 600: /* NOT_READY */
	case 704: /* PEER_ACCESS_ALREADY_ENABLED */
	case 708: /* PRIMARY_CONTEXT_ACTIVE */
	case 712: /* HOST_MEMORY_ALREADY_REGISTERED */
		return true;
	default:
		return false;
	}
}

#define MOST_NAMED 3 /* failures */

static void find_failures(struct telling *t)
{
	const struct nvs_facts *f = t->story->facts;
	const struct nvs_facts_error *most[MOST_NAMED] = {NULL};
	uint64_t failed = 0, named = 0;

	for (size_t i = 0; i < f->errors.n; i++) {
		const struct nvs_facts_error *e = f->errors.row[i];
		int at = MOST_NAMED;

		if (is_answer(e))
			continue;
		failed += e->count;
		for (; at && (!most[at - 1] || most[at - 1]->count < e->count); at--)
			if (at < MOST_NAMED)
				most[at] = most[at - 1];
		if (at < MOST_NAMED)
			most[at] = e;
	}
	if (!failed)
		return;
	nvs_say_count(t->f, failed, "call failed", "calls failed");
	for (int i = 0; i < MOST_NAMED && most[i]; i++) {
		const char *name = nvs_call_error(most[i]->key.result);

		fputs(i ? ", " : ": ", t->f);
		nvs_say_text(t->f, nvs_call_name(most[i]->entry), 64);
		if (name)
			fprintf(t->f, " with %s", name);
		else
			fprintf(t->f, " with error %u", most[i]->key.result);
		if (most[i]->count > 1) {
			fputs(" (", t->f);
			nvs_say_count(t->f, most[i]->count, "time", "times");
			fputc(')', t->f);
		}
		named += most[i]->count;
	}
	fputs(named < failed ? ", and others." : ".", t->f);
	fputs("--by-api -s failed", t->more);
}

#define MADE_AGAIN 10u /* graphs: fewer are no habit */

/* Making a graph costs as much as launching it many times, so it is made to be launched often. */
static void find_graphs(struct telling *t)
{
	const struct nvs_facts *f = t->story->facts;

	if (f->instantiated < MADE_AGAIN || f->graph_launches > 2 * f->instantiated)
		return;
	fputs("Graphs were instantiated ", t->f);
	nvs_say_count(t->f, f->instantiated, "time", "times");
	fputs(" and launched ", t->f);
	nvs_say_count(t->f, f->graph_launches, "time", "times");
	fputs("; to instantiate them took ", t->f);
	nvs_say_ns(t->f, (double)f->instantiating.ns, 3);
	fputs(" (", t->f);
	nvs_say_share(t->f, (double)f->instantiating.ns, (double)nvs_facts_all_ns(f));
	fputs(" of the time in calls). One that is kept can be launched again, or updated by "
	      "cuGraphExecUpdate.",
	      t->f);
	fputs("--graphs", t->more);
}

/* Where the command line selects by what lies above the entry point, its name would add to that. */
static void show_longest(struct telling *t, const struct nvs_facts_api *a)
{
	fputs("--timeline", t->more);
	t->names_api = nvs_filter_api(t->story->source, a->entry->name, 0);
	if (t->names_api) {
		fputs(" --api=", t->more);
		nvs_say_value(t->more, a->entry->name);
	}
	fputs(" -s host_us -n 5", t->more);
}

#define LOADED_NS 10000000 /* less is no matter */

/* Told where it takes a fifth of the time in launches, and 10 ms. */
static void find_loading(struct telling *t)
{
	const struct nvs_facts_api *most = NULL;
	const struct nvs_facts *f = t->story->facts;

	for (size_t i = 0; i < f->apis.n; i++) {
		const struct nvs_facts_api *a = f->apis.row[i];

		if (!most || a->loading.total.ns > most->loading.total.ns)
			most = a;
	}
	if (!most || most->loading.total.ns < LOADED_NS ||
	    most->loading.total.ns * 5 < nvs_facts_ns(most))
		return;
	nvs_say_count(t->f, most->loading.total.count, "call of ", "calls of ");
	nvs_say_text(t->f, nvs_call_name(most->entry), 64);
	fputs(" loaded the kernel's code first, which took ", t->f);
	nvs_say_ns(t->f, (double)most->loading.total.ns, 3);
	fputs(" (", t->f);
	nvs_say_share(t->f, (double)most->loading.total.ns, (double)nvs_facts_ns(most));
	fputs(" of its time). CUDA_MODULE_LOADING=EAGER would load all code at the start.", t->f);
	show_longest(t, most);
}

#define MANY_CALLS 20u /* of fewer there is no usual time */
#define TIMES_MEDIAN 100u
#define LONG_NS 5000000 /* less may be the system's doing */

/* Calls that wait, copy or set something up take what that takes. */
static bool has_usual_time(const struct nvs_facts_api *a)
{
	switch (a->entry->group) {
	case NVS_CALL_GROUP_SYNC:
	case NVS_CALL_GROUP_COPY:
	case NVS_CALL_GROUP_MEMSET:
	case NVS_CALL_GROUP_GRAPH:
		return false;
	default:
		return !nvs_facts_is_setup(a->entry) && a->times.total.count >= MANY_CALLS;
	}
}

/* One call that took a hundred times the median of its kind, 5 ms, and a hundredth of all time
 * in calls. */
static void find_outlier(struct telling *t)
{
	const struct nvs_facts *f = t->story->facts;
	const struct nvs_facts_api *most = NULL;
	uint64_t median = 0;
	int64_t at;

	for (size_t i = 0; i < f->apis.n; i++) {
		const struct nvs_facts_api *a = f->apis.row[i];
		uint64_t usual = nvs_times_quantile(&a->times, 0.5);

		if (!has_usual_time(a) || a->times.max < LONG_NS || !usual ||
		    a->times.max / TIMES_MEDIAN < usual ||
		    a->times.max * 100 < nvs_facts_all_ns(f) ||
		    (most && a->times.max <= most->times.max))
			continue;
		most = a;
		median = usual;
	}
	if (!most)
		return;
	fputs("One call of ", t->f);
	nvs_say_text(t->f, nvs_call_name(most->entry), 64);
	fputs(" took ", t->f);
	nvs_say_ns(t->f, (double)most->times.max, 3);
	fputs("; the median of ", t->f);
	nvs_say_count(t->f, most->times.total.count, "call is ", "calls is ");
	nvs_say_ns(t->f, (double)median, 2); /* it is known to 3 % */
	if (nvs_clock_since_start(t->story->source->trace, most->begin, &at) && at > 0) {
		fputs(". It began ", t->f);
		nvs_say_ns(t->f, (double)at, 3);
		fputs(" after the start", t->f);
	}
	fputc('.', t->f);
	show_longest(t, most);
}

#define WAITED_NS 1000000

/* Told where it took a twentieth of the run, and a millisecond. */
static void find_waits(struct telling *t)
{
	const struct nvs_session *s = session_of(t->story);
	int64_t ran;

	if (!s->has_totals || s->totals.wait_ns < WAITED_NS || !ran_ns(t->story, &ran) ||
	    s->totals.wait_ns < (uint64_t)ran / 20)
		return;
	fputs("The program waited ", t->f);
	nvs_say_ns(t->f, (double)s->totals.wait_ns, 3);
	fputs(" for nvsnoop to write what was recorded, ", t->f);
	nvs_say_count(t->f, s->totals.waits, "time", "times");
	fputs(". Recorded with --buffer=16M it may wait less.", t->f);
	fputs("--wide", t->more);
}

static bool ranges_elsewhere(const struct nvs_story *story)
{
	return session_of(story)->attr[NVS_ATTR_NVTX];
}

static void find_ranges_elsewhere(struct telling *t)
{
	if (!ranges_elsewhere(t->story))
		return;
	fputs("Ranges of NVTX are not in the trace. They went to another tool, ", t->f);
	nvs_say_text(t->f, session_of(t->story)->attr[NVS_ATTR_NVTX], 200);
	fputs(", which NVTX_INJECTION64_PATH named.", t->f);
	fputs("--verify", t->more);
}

/* Who names his parts wants to see them. */
static void find_ranges(struct telling *t)
{
	if (!nvs_reading_saw(t->story->source->first, NVS_REC_NVTX_BEGIN))
		return;
	fputs("The program has named parts of its run by ranges of NVTX.", t->f);
	fputs("--by-nvtx", t->more);
}

static void find_remarks(struct telling *t)
{
	const struct nvs_trace *trace = t->story->source->trace;
	const struct nvs_finding *f;
	uint64_t n = 0;

	for (uint32_t i = 0; (f = nvs_trace_finding(trace, i)); i++)
		n += f->kind == NVS_FINDING_REMARK;
	n -= n && ranges_elsewhere(t->story); /* told already, as those in flight */
	for (uint32_t i = 0; n && nvs_trace_inflight(trace, i); i++)
		n--; /* told already */
	if (!n)
		return;
	fputs(n == 1 ? "There is " : "There are ", t->f);
	nvs_say_count(t->f, n, "remark", "remarks");
	fputs(" on what the trace may not show.", t->f);
	fputs("--verify", t->more);
}

static const struct {
	const char *name;
	void (*find)(struct telling *t);
} findings[] = {
	{"not_whole", find_problems},	   {"in_flight", find_in_flight},
	{"failures", find_failures},	   {"graphs_made_again", find_graphs},
	{"code_loaded", find_loading},	   {"long_call", find_outlier},
	{"waited_for_writer", find_waits}, {"ranges_elsewhere", find_ranges_elsewhere},
	{"ranges", find_ranges},	   {"remarks", find_remarks},
};

#define FINDINGS (sizeof(findings) / sizeof(*findings))

/* ---- from the sentences to the output ---- */

/* The sentence that SAY makes, and what its command has behind the trace: "" for none. To be freed.
 */
struct told {
	char *text, *more;
	bool names_api;
};

static int tell(const struct nvs_story *story, void (*say)(struct telling *), struct told *told)
{
	size_t length, more_length;
	struct telling t = {.story = story};
	bool failed;

	*told = (struct told){NULL, NULL, false};
	t.f = open_memstream(&told->text, &length);
	t.more = open_memstream(&told->more, &more_length);
	if (t.f && t.more)
		say(&t);
	failed = !t.f || !t.more;
	failed |= t.f && fclose(t.f);
	failed |= t.more && fclose(t.more);
	told->names_api = t.names_api;
	told->text = nvs_budget_adopt(told->text);
	told->more = nvs_budget_adopt(told->more);
	return failed ? -ENOMEM : 0;
}

static void forget(struct told *told)
{
	free(told->text);
	free(told->more);
}

static void say_patterns(FILE *f, const char *option, const struct nvs_patterns *list,
			 bool excluding_alone)
{
	for (uint32_t i = 0; i < list->n; i++) {
		const struct nvs_pattern *p = list->list + i;

		if (excluding_alone && !p->excludes)
			continue;
		fprintf(f, " --%s=", option);
		nvs_say_value(f, p->text - p->excludes); /* with its ! */
	}
}

/* So that what is shown is about the same. */
static void repeat_selection(FILE *f, const struct nvs_options_report *o, bool names_api)
{
	if (o->range.by) {
		fputs(" --range=", f);
		nvs_say_value(f, o->range.text);
	}
	say_patterns(f, "thread", &o->thread, false);
	say_patterns(f, "channel", &o->channel, false);
	say_patterns(f, "api", &o->api, names_api);
	say_patterns(f, "nvtx", &o->nvtx, false);
}

static void print_command(struct nvs_out *out, const struct nvs_story *story,
			  const struct told *told)
{
	const struct nvs_options_report *o = story->source->options;
	const char *trace = o->stand_in ? o->stand_in : story->source->path;

	fputs(SPACE, out->file);
	nvs_say_word(out->file, o->called);
	fputc(' ', out->file);
	/* Standard input has been read. */
	nvs_say_word(out->file, strcmp(trace, "-") ? trace : "TRACE");
	if (o->read.spool) {
		fputs(" --spool=", out->file);
		nvs_say_word(out->file, o->read.spool);
	}
	fprintf(out->file, "%s%s", o->read.no_spool ? " --no-spool" : "",
		o->read.partial ? " --partial" : "");
	repeat_selection(out->file, o, told->names_api);
	fprintf(out->file, " %s\n", told->more);
}

static int print_sentence(struct nvs_out *out, const struct nvs_story *story,
			  void (*say)(struct telling *))
{
	struct told told;
	int r = tell(story, say, &told);

	if (!r && *told.text)
		nvs_print_wrapped(out, told.text, 0);
	if (!r && *told.more)
		print_command(out, story, &told);
	forget(&told);
	return r;
}

static int print_findings(struct nvs_out *out, const struct nvs_story *story)
{
	bool any = false;
	int r = 0;

	for (size_t i = 0; i < FINDINGS && !r; i++) {
		struct told told;
		char *line = NULL;

		r = tell(story, findings[i].find, &told);
		if (!r && *told.text && asprintf(&line, "- %s", told.text) < 0)
			r = -ENOMEM;
		if (!r && line) {
			if (!any)
				fprintf(out->file, "\n%sWorth a look:%s\n",
					nvs_out_style(out, NVS_STYLE_HEAD),
					nvs_out_style(out, NVS_STYLE_PLAIN));
			nvs_print_wrapped(out, line, 2);
			print_command(out, story, &told);
			any = true;
		}
		free(line);
		forget(&told);
	}
	return r;
}

#define ABOUT_ALL 3 /* sentences, whatever is selected and recorded */

int nvs_story_print(struct nvs_out *out, const struct nvs_story *story)
{
	static void (*const sentences[])(struct telling *) = {
		say_run,      say_end,	     say_part_of_run, say_selection,
		say_launches, say_doorbells, say_time};
	int r = 0;

	bool nothing = (nvs_filter_asked(story->source->options) ||
			nvs_trace_never_on(story->source->trace)) &&
		       !story->submissions && !story->facts->calls;
	size_t n = nothing ? ABOUT_ALL : sizeof(sentences) / sizeof(*sentences);

	for (size_t i = 0; i < n && !r; i++)
		r = print_sentence(out, story, sentences[i]);
	return r ? r : print_findings(out, story);
}

int nvs_story_print_total(struct nvs_out *out, const struct nvs_story *story)
{
	int r = print_sentence(out, story, say_launches);

	if (!r)
		r = print_sentence(out, story, say_doorbells);
	return r ? r : print_sentence(out, story, say_total_time);
}

char *nvs_story_findings(const struct nvs_story *story)
{
	char *text = strdup(""), *more;

	for (size_t i = 0; i < FINDINGS && text; i++) {
		struct told told;

		if (!tell(story, findings[i].find, &told) && *told.text) {
			more = NULL;
			if (asprintf(&more, "%s%s%s", text, *text ? ", " : "", findings[i].name) <
			    0)
				more = NULL;
			free(text);
			text = more;
		}
		forget(&told);
	}
	return text;
}
