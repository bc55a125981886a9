/* SPDX-License-Identifier: MIT */
/* Collects what the summary's findings are about, with the analyses of the reports that show more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/kernel_code.h"
#include "decode/base/compare.h"
#include "decode/base/grow.h"
#include "decode/calls/bracket_times.h"
#include "decode/calls/hostmem.h"
#include "decode/calls/ring_occupancy.h"
#include "decode/query/durations.h"
#include "decode/report/fault/fault.h"
#include "decode/report/hang/hang.h"
#include "decode/report/summary/causes.h"
#include "decode/trace/stream.h"

#define LARGE_COPY (64u << 10) /* bytes: smaller copies gain nothing from pinned memory */

/* ---- while reading ---- */

static int count_copy(struct nvs_causes *c, const struct nvs_call *call)
{
	struct nvs_copied *copied;
	struct nvs_copy_endpoints e;

	if (call->result || !nvs_call_returned(call) || call->flags & NVS_CALL_CAPTURED ||
	    !nvs_filter_call(c->source, call))
		return 0;
	nvs_copy_endpoints_read(&c->memory, call, &e);
	if (!e.known || !e.directed || e.from_host == e.to_host)
		return 0;
	if (e.bytes >= LARGE_COPY)
		copied = e.memory == NVS_MEMORY_PAGEABLE ? &c->pageable : NULL;
	else
		copied = e.from_host ? &c->small : NULL;
	if (!copied)
		return 0;
	copied->bytes += e.bytes;
	return nvs_duration_sum_add_later(c->source->waiting, &copied->time, call);
}

/* Calls that neither allocate, free nor change the context. */
static bool is_work(const struct nvs_call *call)
{
	switch (call->api->group) {
	case NVS_CALL_GROUP_LAUNCH:
	case NVS_CALL_GROUP_COPY:
	case NVS_CALL_GROUP_MEMSET:
	case NVS_CALL_GROUP_EVENT:
	case NVS_CALL_GROUP_SYNC:
		return true;
	default:
		return false;
	}
}

static void cover_call(struct nvs_causes *c, const struct nvs_call *call)
{
	uint64_t end = call->end ? call->end : nvs_trace_session(c->source->trace)->last_time;
	struct nvs_timed_call *timed;

	nvs_covered_add(&c->calls, call->begin, end);
	if (!c->works)
		return;
	timed = NVS_APPEND_OPTIONAL(c->timed, c->ntimed, c->timed_room, 256, UINT32_MAX);
	if (timed)
		*timed = (struct nvs_timed_call){call->begin, end, call->api};
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct nvs_causes *c = arg;
	int r = 0;

	c->faulted |= call->end && nvs_is_fault_result(call->result);
	if (call->depth == 1)
		cover_call(c, call);
	if (call->api->group == NVS_CALL_GROUP_COPY)
		r = count_copy(c, call);
	if (r || is_work(call))
		return r;
	r = nvs_hostmem_call(c->memory.kinds, call);
	return r ? r : nvs_allocs_call(&c->allocs, call);
}

static int begin_races(struct nvs_causes *c, struct nvs_source *s)
{
	struct nvs_pass_reader reader;
	int r = nvs_races_begin(&c->races, s, &reader);

	return r ? r : nvs_source_add_reader(s, &reader);
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	return nvs_allocs_record(&((struct nvs_causes *)arg)->allocs, rec);
}

int nvs_causes_begin(struct nvs_causes *c, struct nvs_source *s)
{
	const struct nvs_pass_reader reader = {
		.call = on_call, .record = on_record, .tallies = true, .arg = c};
	int r = nvs_stalls_begin(&c->stalls, s);

	c->source = s;
	nvs_allocs_begin(&c->allocs, s);
	/* How busy a GPU was does not follow from a sample. */
	if (!r && nvs_trace_has_timing_work(s) && !nvs_trace_is_sampled(s)) {
		c->works = nvs_work_list_new(s, &c->handles);
		r = c->works ? nvs_work_list_read(c->works) : -ENOMEM;
	}
	if (!r)
		r = nvs_copy_memory_begin(&c->memory, s->trace);
	if (!r)
		r = begin_races(c, s);
	return r ? r : nvs_source_add_reader(s, &reader);
}

/* ---- the GPU ---- */

struct busy_time {
	uint64_t from, to; /* the GPU's clock, ns */
	const struct nvs_work *work;
};

static int compare_busy(const void *pa, const void *pb)
{
	const struct busy_time *a = pa, *b = pb;

	return NVS_CMP(a->work->gpu, b->work->gpu) ?: NVS_CMP(a->from, b->from) ?: NVS_CMP(a->to, b->to);
}

/* Sums up the N times of one GPU, and keeps it if it is the busiest so far. */
static void use_gpu(struct nvs_causes *c, const struct busy_time *busy, size_t n)
{
	const struct nvs_bracket_times *timing = nvs_work_list_timing(c->works);
	struct nvs_gpu_use use = {.gpu = busy->work->gpu, .gpus = c->gpu.gpus + 1};
	struct nvs_covered covered = {.n = 0};
	struct nvs_covered_piece all;
	uint64_t give;

	c->gpu.gpus++;
	for (size_t i = 0; i < n; i++) {
		const struct nvs_work *w = busy[i].work;

		nvs_covered_add(&covered, busy[i].from, busy[i].to);
		if ((w->what == NVS_WORK_OF_KERNEL || w->what == NVS_WORK_OF_GRAPH) &&
		    (!use.longest || w->ns > use.longest->ns))
			use.longest = w;
	}
	all = nvs_covered_total(&covered);
	use.busy = all.covered;
	use.span = all.to - all.from;
	if (!nvs_bracket_times_to_session(timing, busy->work->channel, all.gap_from, &use.from,
					  &give) ||
	    !nvs_bracket_times_to_session(timing, busy->work->channel, all.gap_to, &use.to, &give))
		use.from = use.to = 0;
	if (use.busy > c->gpu.busy)
		c->gpu = use;
}

struct api_in_gap {
	uint32_t api; /* its key */
	uint64_t ns;
};

/* Finds what the host did while the GPU was idle for longest. */
static int find_host_in_gap(struct nvs_causes *c)
{
	struct nvs_rows apis = NVS_ROWS(struct api_in_gap, api);
	struct nvs_covered covered = {.n = 0};
	struct nvs_gpu_use *use = &c->gpu;
	int r = 0;

	for (size_t i = 0; i < c->ntimed && use->to > use->from && !r; i++) {
		const struct nvs_timed_call *call = c->timed + i;
		struct api_in_gap *in;
		int64_t begin, end;

		if (!nvs_clock_since_start(c->source->trace, call->begin, &begin) ||
		    !nvs_clock_since_start(c->source->trace, call->end, &end))
			continue;
		begin = begin > use->from ? begin : use->from;
		end = end < use->to ? end : use->to;
		if (begin >= end)
			continue;
		nvs_covered_add(&covered, (uint64_t)begin, (uint64_t)end);
		in = nvs_rows_at(&apis, &call->api->number);
		r = in ? 0 : -ENOMEM;
		if (!in)
			continue;
		in->ns += (uint64_t)(end - begin);
		if (in->ns > use->api_ns) {
			use->api_ns = in->ns;
			snprintf(use->api, sizeof(use->api), "%s", nvs_call_name(call->api));
		}
	}
	use->outside = (uint64_t)(use->to - use->from) - nvs_covered_total(&covered).covered;
	nvs_rows_free(&apis, NULL);
	return r;
}

static int find_gpu_use(struct nvs_causes *c)
{
	size_t works, n = 0;
	const struct nvs_work *list = nvs_work_list_items(c->works, &works);
	struct busy_time *busy = malloc((works + 1) * sizeof(*busy));

	if (!busy)
		return -ENOMEM;
	for (size_t i = 0; i < works; i++)
		if (list[i].flags & NVS_WORK_TIMED && list[i].kind != NVS_WORK_OTHER && list[i].ns)
			busy[n++] = (struct busy_time){list[i].begin, list[i].begin + list[i].ns,
						       list + i};
	if (n)
		qsort(busy, n, sizeof(*busy), compare_busy);
	for (size_t i = 0, next = 0; i < n; i = next) {
		while (next < n && busy[next].work->gpu == busy[i].work->gpu)
			next++;
		use_gpu(c, busy + i, next - i);
	}
	free(busy);
	return find_host_in_gap(c);
}

/* ---- after reading ---- */

int nvs_causes_end(struct nvs_causes *c)
{
	int r = nvs_allocs_end(&c->allocs);

	nvs_races_end(&c->races);
	nvs_stalls_finish(&c->stalls);
	if (!r && c->works)
		r = nvs_work_list_finish(c->works);
	return r || !c->works ? r : find_gpu_use(c);
}

/* ---- a second look ---- */

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct nvs_causes *c = arg;
	struct nvs_occupancy fill;
	int r = nvs_ring_occupancy_submission(c->pending, s, &fill);

	if (!r)
		nvs_stalls_submission(&c->stalls, s, &fill);
	return r;
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	if (op->kind == NVS_OP_RELEASE)
		nvs_ring_occupancy_release(((struct nvs_causes *)arg)->pending, s, op);
	return 0;
}

/* Returns true if waits took long whose cause is unknown, or memory that another thread may have
 * allocated. */
static bool has_unexplained(const struct nvs_causes *c)
{
	uint32_t doubtful = nvs_trace_thread_count(c->source->trace) > 1 ? NVS_STALL_MEMORY : 0;
	const struct nvs_session *s = nvs_trace_session(c->source->trace);
	uint64_t ns = 0;

	for (size_t i = 0; i < c->stalls.n; i++)
		ns += c->stalls.wait[i].causes & ~doubtful ? 0 : c->stalls.wait[i].ns;
	return ns &&
	       ns >= nvs_call_ns(c->source->trace, s->first_time, s->last_time) / NVS_CAUSE_PART;
}

static int explain_waits(struct nvs_causes *c)
{
	struct nvs_pass_reader reader = {.submission = on_submission, .op = on_op, .arg = c};
	int r;

	c->pending = nvs_ring_occupancy_new();
	r = c->pending ? nvs_source_read(c->source, &reader) : -ENOMEM;
	nvs_stalls_settle(&c->stalls);
	return r || !has_unexplained(c) ? r : nvs_stalls_find_others(&c->stalls);
}

#define HUNG 1000000000 /* ns: shorter calls of a running program are not reported */

const struct nvs_inflight *nvs_open_call(const struct nvs_trace *trace, uint32_t *n, int64_t *ns)
{
	bool running = nvs_trace_session(trace)->end == NVS_END_RUNNING;
	const struct nvs_inflight *f = NULL, *other;
	int64_t begin, end;

	for (*n = 0; (other = nvs_trace_inflight(trace, *n)); ++*n)
		f = !f || other->begin < f->begin ? other : f;
	*ns = -1;
	if (f && nvs_clock_since_start(trace, f->begin, &begin) &&
	    nvs_clock_since_start(trace, f->end, &end) && end >= begin)
		*ns = end - begin;
	return running && *ns < HUNG ? NULL : f;
}

static int explain_hang(struct nvs_causes *c)
{
	struct nvs_unfinished_work work = {NULL};
	struct nvs_pass_reader reader = {NULL};
	struct nvs_hang hang = {NULL};
	size_t n;
	FILE *f = NULL;
	int r;

	nvs_unfinished_work_begin(&work, c->source, &reader);
	reader.arg = &work;
	r = nvs_source_read(c->source, &reader);
	if (!r)
		r = nvs_unfinished_work_end(&work);
	if (!r)
		r = nvs_hang_analyze(&hang, &work);
	if (!r && hang.ncalls) {
		f = open_memstream(&c->hang, &n);
		if (f)
			nvs_hang_print_oldest(f, &hang);
		r = nvs_budget_end_text(f, &c->hang);
	}
	nvs_hang_free(&hang);
	nvs_unfinished_work_free(&work);
	return r;
}

static int format_fault(struct nvs_causes *c, struct nvs_fault_trace *t)
{
	size_t n;
	FILE *f;
	int r = nvs_fault_attribute(t);

	if (r || !t->faults.n)
		return r;
	f = open_memstream(&c->fault_what, &n);
	if (!f)
		return -ENOMEM;
	nvs_fault_print_what(f, t->faults.list);
	if (fclose(f) || !c->fault_what)
		return -ENOMEM;
	nvs_budget_adopt(c->fault_what);
	return nvs_fault_format_head(t, t->faults.list, &c->fault);
}

static int explain_fault(struct nvs_causes *c)
{
	struct nvs_fault_trace *t = calloc(1, sizeof(*t));
	struct nvs_pass_reader reader = {NULL};
	int r;

	if (!t)
		return -ENOMEM;
	nvs_faults_begin(&t->faults, c->source, &reader);
	reader.arg = t;
	r = nvs_source_read(c->source, &reader);
	if (!r)
		r = nvs_faults_end(&t->faults);
	if (!r)
		r = format_fault(c, t);
	nvs_faults_free(&t->faults);
	nvs_kernel_codes_free(&t->codes);
	free(t);
	return r;
}

int nvs_causes_explain(struct nvs_causes *c, uint32_t needs)
{
	struct nvs_source *s = c->source;
	uint32_t later = s->later, n;
	int64_t ns;
	int r = 0;

	if (c->explained || !nvs_trace_is_rereadable(s->trace))
		return 0;
	c->explained = true;
	s->later |= needs;
	if (has_unexplained(c))
		r = explain_waits(c);
	if (!r && nvs_open_call(s->trace, &n, &ns))
		r = explain_hang(c);
	if (!r && (c->faulted || nvs_pass_has_record(s->first, NVS_REC_FAULT)))
		r = explain_fault(c);
	s->later = later;
	return r;
}

void nvs_causes_free(struct nvs_causes *c)
{
	nvs_races_free(&c->races);
	nvs_ring_occupancy_free(c->pending);
	nvs_stalls_free(&c->stalls);
	nvs_hostmem_free(c->memory.kinds);
	nvs_allocs_free(&c->allocs);
	nvs_work_list_free(c->works);
	free(c->timed);
	free(c->hang);
	free(c->fault);
	free(c->fault_what);
}
