/* SPDX-License-Identifier: MIT */
/* --memcpy: copies by direction, kind of host memory, how the bytes moved, and size class. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/gputime.h"
#include "decode/calls/hostmem.h"
#include "decode/base/numbers.h"
#include "decode/report/calls.h"

enum direction { HTOD, DTOH, DTOD, HTOH, ARRAY, BATCH, UNKNOWN, DIRECTIONS };
enum mode { NOTHING, ENGINE, INLINE, MACRO, KERNEL, MIXED, RECORDED, UNSEEN, MODES };

static const char *const directions[] = {"HtoD", "DtoH", "DtoD", "HtoH", "array", "batch", "?"};
static const char *const modes[] = {"none",   "engine", "inline",   "macro",
				    "kernel", "mixed",	"captured", ""};

#define NO_CLASS 64u /* sizes are not known */

struct row {
	enum direction direction;
	enum nvs_memory memory;
	enum mode mode;
	uint32_t class; /* sizes up to 2^class */
	uint64_t calls, failed, bytes, least, most, batched;
	uint64_t submissions, entries, command_bytes;
	bool uncounted; /* these are not known */
	struct nvs_times times;
	uint64_t gpu_timed, gpu_bytes,
		gpu_ns; /* stretches of nothing else, by the GPU's clock, to 5 % */
};

struct state {
	struct nvs_source *source;
	struct nvs_hostmem *memory;
	struct nvs_gputime *times;
	struct nvs_gputime_part part; /* of the submission in progress */
	bool busy; /* it does more than to release */
	struct nvs_numbers threads; /* struct thread */
	struct thread {
		uint64_t ticks; /* of its last submission */
		uint64_t gpu_ns; /* GPU's time of a release seen then, until a call tells how late
				    that was */
		uint32_t gpu;
	} nobody; /* thread NVS_NONE */
	struct row **rows;
	size_t *nrows;
	uint32_t (*row_of)[DIRECTIONS][NVS_MEMORY_DEVICE + 1][MODES]
			  [NO_CLASS + 1]; /* index + 1 in rows */
};

/* What a call copies; memory types as CUmemorytype. */
struct ends {
	uint64_t from, to, bytes, copies, batched;
	bool from_host, to_host, array;
	bool known; /* bytes */
	bool directed;
};

/* Outside of a trigger's windows allocations are not recorded. */
static enum nvs_memory kind_at(const struct state *st, uint64_t address)
{
	enum nvs_memory kind = nvs_hostmem_kind(st->memory, address);
	bool all = !(nvs_trace_session(st->source->trace)->header.flags & NVS_HDR_TRIGGER);

	return kind == NVS_MEMORY_PAGEABLE && !all ? NVS_MEMORY_UNKNOWN : kind;
}

/* A pointer of which the call does not say where it points. False: nobody does. */
static bool is_host(const struct state *st, uint64_t address, bool *host)
{
	enum nvs_memory kind = kind_at(st, address);

	*host = kind < NVS_MEMORY_MANAGED;
	return kind != NVS_MEMORY_UNKNOWN;
}

/* Copies whose name says where from and where to. */
static const struct {
	bool directed, from_host, to_host, array;
} named[] = {
	[NVS_CALL_ROLE_COPY_ATOA] = {true, false, false, true},
	[NVS_CALL_ROLE_COPY_ATOD] = {true, false, false, true},
	[NVS_CALL_ROLE_COPY_ATOH] = {true, false, true, true},
	[NVS_CALL_ROLE_COPY_DTOA] = {true, false, false, true},
	[NVS_CALL_ROLE_COPY_DTOD] = {true, false, false, false},
	[NVS_CALL_ROLE_COPY_DTOH] = {true, false, true, false},
	[NVS_CALL_ROLE_COPY_HTOA] = {true, true, false, true},
	[NVS_CALL_ROLE_COPY_HTOD] = {true, true, false, false},
	[NVS_CALL_ROLES - 1] = {false},
};

static void plain(const struct state *st, const struct nvs_call *call, struct ends *e)
{
	uint8_t role = call->api->role;

	if (named[role].directed) {
		e->directed = true;
		e->from_host = named[role].from_host;
		e->to_host = named[role].to_host;
		e->array = named[role].array;
		nvs_call_value(call, e->from_host ? NVS_ARG_srcHost : NVS_ARG_srcDevice, &e->from);
		nvs_call_value(call, e->to_host ? NVS_ARG_dstHost : NVS_ARG_dstDevice, &e->to);
	} else if ((nvs_call_value(call, NVS_ARG_src, &e->from) &&
		    nvs_call_value(call, NVS_ARG_dst, &e->to)) ||
		   (nvs_call_value(call, NVS_ARG_srcDevice, &e->from) &&
		    nvs_call_value(call, NVS_ARG_dstDevice, &e->to))) {
		e->directed = is_host(st, e->from, &e->from_host);
		e->directed &= is_host(st, e->to, &e->to_host);
	}
}

/* A copy of a rectangle or a box: a structure says where from and where to. */
static void boxed(const struct state *st, const struct nvs_call *call, struct ends *e)
{
	uint64_t type;

	if (nvs_call_value(call, NVS_ARG_srcType, &type)) {
		/* CUmemcpy3DOperandType: 1 is a pointer, to wherever. */
		e->array = type != 1 || !nvs_call_value(call, NVS_ARG_dstType, &type) || type != 1;
		plain(st, call, e);
		return;
	}
	if (nvs_call_value(call, NVS_ARG_srcMemoryType, &type)) {
		e->directed = true;
		nvs_call_value(call, type == 1 ? NVS_ARG_srcHost : NVS_ARG_srcDevice, &e->from);
		e->from_host = type == 1;
		if (type == 4)
			e->directed = is_host(st, e->from, &e->from_host);
		e->array |= type == 3;
	}
	if (nvs_call_value(call, NVS_ARG_dstMemoryType, &type)) {
		nvs_call_value(call, type == 1 ? NVS_ARG_dstHost : NVS_ARG_dstDevice, &e->to);
		e->to_host = type == 1;
		if (type == 4)
			e->directed &= is_host(st, e->to, &e->to_host);
		e->array |= type == 3;
	}
}

static enum mode mode_of(const struct nvs_call *call)
{
	uint64_t engine = call->tally.copies[NVS_COPY_ENGINE],
		 in = call->tally.copies[NVS_COPY_INLINE];
	uint64_t macro = call->tally.copies[NVS_COPY_MACRO];

	if (call->flags & NVS_CALL_CAPTURED)
		return RECORDED;
	if (call->tally.unseen)
		return UNSEEN;
	if (!engine && !in && !macro)
		return call->tally.launches ? KERNEL : NOTHING;
	if (engine && !in && !macro)
		return ENGINE;
	if (in && !engine && !macro)
		return INLINE;
	return macro && !engine && !in ? MACRO : MIXED;
}

static uint32_t class_of(uint64_t bytes)
{
	return bytes <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(bytes - 1);
}

static struct row *find(struct state *st, const struct row *like)
{
	uint32_t *at = &(*st->row_of)[like->direction][like->memory][like->mode][like->class];
	struct row *more;

	if (*at)
		return *st->rows + *at - 1;
	more = realloc(*st->rows, (*st->nrows + 1) * sizeof(*more));
	if (!more)
		return NULL;
	*st->rows = more;
	more[*st->nrows] = *like;
	more[*st->nrows].least = UINT64_MAX;
	*at = (uint32_t)++ * st->nrows;
	return more + *at - 1;
}

static void describe(const struct state *st, const struct nvs_call *call, struct ends *e,
		     struct row *like)
{
	bool many = call->api->role == NVS_CALL_ROLE_COPY_BATCH;

	e->known = nvs_call_copied(call, &e->bytes, &e->copies);
	if (many)
		e->batched = e->copies;
	else if (call->api->role == NVS_CALL_ROLE_COPY_BOX)
		boxed(st, call, e);
	else
		plain(st, call, e);
	like->direction = many		 ? BATCH
			  : e->array	 ? ARRAY
			  : !e->directed ? UNKNOWN
			  : e->from_host ? (e->to_host ? HTOH : HTOD)
			  : e->to_host	 ? DTOH
					 : DTOD;
	like->memory = e->from_host ? kind_at(st, e->from)
		       : e->to_host ? kind_at(st, e->to)
				    : NVS_MEMORY_DEVICE;
	like->mode = mode_of(call);
	/* Of a batch it is the mean size that counts. */
	like->class = e->known && e->copies ? class_of(e->bytes / e->copies) : NO_CLASS;
}

static void see_sizes(struct row *row, const struct nvs_call *call, const struct ends *e)
{
	uint64_t least = e->bytes, most = e->bytes;

	if (e->copies != 1 && (!nvs_call_value(call, NVS_ARG_least, &least) ||
			       !nvs_call_value(call, NVS_ARG_most, &most)))
		return;
	if (!e->known)
		return;
	row->least = least < row->least ? least : row->least;
	row->most = most > row->most ? most : row->most;
}

/* *GROUP: the row, if its time on the GPU may be told. */
static int copy(struct state *st, const struct nvs_call *call, uint32_t *group)
{
	struct row like, *row;
	struct ends e = {0};

	memset(&like, 0, sizeof(like));
	describe(st, call, &e, &like);
	row = find(st, &like);
	if (!row)
		return -ENOMEM;
	if (call->result || !call->end) {
		row->failed++;
		return 0;
	}
	if (row->mode == ENGINE)
		*group = (uint32_t)(row - *st->rows);
	row->calls++;
	row->batched += e.batched;
	row->bytes += e.bytes;
	see_sizes(row, call, &e);
	row->uncounted |= call->uncounted;
	row->submissions += call->submissions;
	row->entries += call->entries;
	row->command_bytes += call->bytes;
	return nvs_times_add(&row->times, nvs_call_ns(st->source->trace, call->begin, call->end));
}

/* ---- the two clocks ---- */

/* NULL: nothing is known of it. */
static struct thread *thread_at(struct state *st, uint32_t number)
{
	return number == NVS_NONE ? &st->nobody : nvs_number_get(&st->threads, number);
}

static struct thread *make_thread(struct state *st, uint32_t number)
{
	return number == NVS_NONE ? &st->nobody
				  : nvs_number_make(&st->threads, number, sizeof(struct thread));
}

static bool host_ns(const struct state *st, uint64_t ticks, uint64_t *ns)
{
	int64_t since;
	bool known = nvs_clock_since_start(st->source->trace, ticks, &since) && since > 0;

	*ns = known ? (uint64_t)since : 0;
	return known;
}

/* What a submission saw to be done was so at the end of its call, at the latest. */
static void compare_clocks(struct state *st, const struct nvs_call *call)
{
	struct thread *t = thread_at(st, call->thread);
	uint64_t ns;

	if (!t || !t->gpu_ns || !call->end || call->end < t->ticks)
		return;
	if (host_ns(st, call->end, &ns))
		nvs_gputime_clock(st->times, t->gpu, ns, t->gpu_ns);
	t->gpu_ns = 0;
}

static bool is_copy(const struct nvs_call *call)
{
	return call->api->group == NVS_CALL_GROUP_COPY;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct state *st = arg;
	uint32_t group = NVS_GPUTIME_OTHER;
	uint64_t end = 0;
	int r = nvs_hostmem_call(st->memory, call);

	compare_clocks(st, call);
	if (r)
		return r;
	if (is_copy(call) && nvs_filter_call(st->source, call))
		r = copy(st, call, &group);
	if (call->submissions) {
		host_ns(st, call->end, &end);
		nvs_gputime_settle(st->times, call->thread, call->number, group, end);
	}
	return r;
}

/* ---- the GPU's time ---- */

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct state *st = arg;
	struct nvs_gputime_part *p = &st->part;

	if (op->kind == NVS_OP_COPY && op->copy.mode == NVS_COPY_ENGINE)
		p->bytes += op->copy.bytes;
	if (op->kind == NVS_OP_LAUNCH || op->kind == NVS_OP_TRIGGER ||
	    (op->kind <= NVS_OP_UPLOAD &&
	     __builtin_add_overflow(p->load, op->copy.bytes, &p->load)))
		p->load = UINT64_MAX;
	p->waits |= op->kind == NVS_OP_ACQUIRE;
	st->busy |= op->kind <= NVS_OP_TRIGGER && op->kind != NVS_OP_CODE;
	if (op->kind != NVS_OP_RELEASE || !(op->flags & NVS_OP_TIMESTAMP) ||
	    op->sem.op != NVS_SEM_SET || op->sem.by == NVS_BY_GRID ||
	    p->nreleases == NVS_GPUTIME_RELEASES)
		return 0;
	p->releases[p->nreleases].address = op->sem.address;
	p->releases[p->nreleases++].payload = (uint32_t)op->sem.payload;
	return 0;
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	const struct nvs_rec_submission *rec = s->rec;
	uint32_t gpu = s->channel->known ? s->channel->rec.gpu : NVS_NONE;
	struct state *st = arg;
	struct nvs_gputime_part part = st->part;
	struct thread *t = make_thread(st, s->thread->thread);
	int r;

	memset(&st->part, 0, sizeof(st->part));
	if (!t)
		return -ENOMEM;
	part.channel = rec->channel;
	part.sequence = rec->sequence;
	part.continues = rec->rec.flags & NVS_SUB_CONTINUED;
	part.owned = call;
	part.thread = call ? call->thread : NVS_NONE;
	part.number = call ? call->number : 0;
	part.group = NVS_GPUTIME_OTHER;
	part.gpu = gpu;
	part.engine = s->channel->rec.engine;
	part.seen.address = rec->progress_address;
	part.seen.payload = (uint32_t)rec->progress[0];
	part.seen.ns = rec->progress[1];
	part.idle = part.nreleases && !st->busy;
	host_ns(st, rec->rec.time, &part.host);
	st->busy = false;
	t->ticks = rec->rec.time;
	r = nvs_gputime_add(st->times, &part);
	if (r > 0) {
		t->gpu_ns = rec->progress[1];
		t->gpu = gpu;
	}
	return r < 0 ? r : 0;
}

static void on_stretch(void *arg, uint32_t group, uint64_t bytes, uint64_t ns)
{
	struct row *row = *((struct state *)arg)->rows + group;

	row->gpu_timed++;
	row->gpu_bytes += bytes;
	row->gpu_ns += ns;
}

/* ---- columns ---- */

static double each(uint64_t n, uint64_t of)
{
	return of ? (double)n / (double)of : 0;
}

NVS_GET_TEXT(struct row, direction, directions[r->direction])
NVS_GET_TEXT(struct row, memory,
	     r->direction == DTOD || r->direction >= BATCH ? "" : nvs_memory_name(r->memory))
NVS_GET_TEXT(struct row, mode, modes[r->mode])
NVS_GET_COUNT(struct row, calls, r->calls)
NVS_GET_COUNT(struct row, failed, r->failed)
NVS_GET_COUNT(struct row, batched, r->batched)
NVS_GET_KNOWN(struct row, bytes, r->class != NO_CLASS || !r->calls, r->bytes)
NVS_GET_REAL(struct row, doorbells, r->calls && !r->uncounted, each(r->submissions, r->calls))
NVS_GET_REAL(struct row, entries, r->calls && !r->uncounted, each(r->entries, r->calls))
NVS_GET_REAL(struct row, commands, r->calls && !r->uncounted, each(r->command_bytes, r->calls))
NVS_GET_REAL(struct row, mean, r->calls, each(r->times.sum, r->calls) / 1000)
NVS_GET_REAL(struct row, p50, r->calls, (double)nvs_times_quantile(&r->times, 0.5) / 1000)
NVS_GET_REAL(struct row, rate, r->times.sum && r->class != NO_CLASS,
	     (double)r->bytes / (double)(r->times.sum ? r->times.sum : 1))

NVS_GET_COUNT(struct row, gpu_timed, r->gpu_timed)
NVS_GET_COUNT(struct row, gpu_bytes, r->gpu_bytes)
NVS_GET_REAL(struct row, gpu_us, r->gpu_timed, (double)r->gpu_ns / 1000)
NVS_GET_REAL(struct row, gpu_rate, r->gpu_timed, each(r->gpu_bytes, r->gpu_ns))

static void get_upto(const void *row, struct nvs_value *v)
{
	const struct row *r = row;

	nvs_put_known(v, r->class != NO_CLASS, 1ull << (r->class < 63 ? r->class : 63));
}

static void get_least(const void *row, struct nvs_value *v)
{
	const struct row *r = row;

	nvs_put_known(v, r->least <= r->most, r->least);
}

static void get_most(const void *row, struct nvs_value *v)
{
	const struct row *r = row;

	nvs_put_known(v, r->least <= r->most, r->most);
}

static const struct nvs_column columns[] = {
	{"direction", "copy", get_direction, 0},
	{"memory", "memory", get_memory, 0},
	{"mode", "mode", get_mode, 0},
	{"size_class", "up to", get_upto, 0},
	{"calls", "calls", get_calls, 0},
	{"batched", "batched", get_batched, NVS_COLUMN_IF_ANY, 3},
	{"failed", "failed", get_failed, NVS_COLUMN_IF_ANY, 4},
	{"smallest", "smallest", get_least, 0, 3},
	{"largest", "largest", get_most, 0, 3},
	{"bytes", "bytes", get_bytes, 0},
	{"doorbells_per_call", "doorbells", get_doorbells, 0, 2},
	{"entries_per_call", "entries", get_entries, NVS_COLUMN_DETAIL},
	{"command_bytes_per_call", "cmd bytes/call", get_commands, 0, 2},
	{"host_us_mean", "us/call", get_mean, 0, 1},
	{"host_us_p50", "host us p50", get_p50, NVS_COLUMN_DETAIL},
	{"host_gb_per_s", "host GB/s", get_rate, 0, 1},
	{"gpu_gb_per_s", "GPU GB/s", get_gpu_rate, NVS_COLUMN_IF_ANY, 1},
	{"gpu_timed", "timed", get_gpu_timed, NVS_COLUMN_DETAIL},
	{"gpu_bytes", "timed bytes", get_gpu_bytes, NVS_COLUMN_DETAIL},
	{"gpu_us", "GPU us", get_gpu_us, NVS_COLUMN_DETAIL},
};

static int compare(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	if (a->direction != b->direction)
		return a->direction < b->direction ? -1 : 1;
	if (a->memory != b->memory)
		return a->memory < b->memory ? -1 : 1;
	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	return a->mode < b->mode ? -1 : a->mode > b->mode;
}

/* The size at which a copy of one kind changes its way, as far as this trace shows it. */
static void print_changes(struct nvs_out *out, const struct row *rows, size_t n)
{
	for (enum direction d = HTOD; d < DIRECTIONS; d++)
		for (int m = NVS_MEMORY_PAGEABLE; m <= NVS_MEMORY_DEVICE; m++) {
			uint64_t largest = 0, smallest = UINT64_MAX;

			for (size_t i = 0; i < n; i++) {
				if (rows[i].direction != d || (int)rows[i].memory != m ||
				    !rows[i].calls || d >= BATCH)
					continue;
				if (rows[i].mode == INLINE && rows[i].most > largest)
					largest = rows[i].most;
				if (rows[i].mode == ENGINE && rows[i].least < smallest)
					smallest = rows[i].least;
			}
			if (largest && smallest != UINT64_MAX)
				fprintf(out->file,
					"%s %s: inline up to %llu bytes, by engine from %llu%s\n",
					directions[d], nvs_memory_name((enum nvs_memory)m),
					(unsigned long long)largest, (unsigned long long)smallest,
					smallest <= largest ? "; either between them" : "");
		}
}

int nvs_report_memcpy(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		      const struct nvs_options_report *o)
{
	struct nvs_table table = {.report = "memcpy",
				  .columns = columns,
				  .ncolumns = sizeof(columns) / sizeof(*columns),
				  .several = n > 1};
	struct row *rows = NULL;
	uint32_t(*row_of)[DIRECTIONS][NVS_MEMORY_DEVICE + 1][MODES][NO_CLASS + 1] =
		calloc(1, sizeof(*row_of));
	size_t nrows = 0;
	int r = row_of ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !r; i++) {
		struct state st = {.source = s + i,
				   .memory = nvs_hostmem_new(),
				   .rows = &rows,
				   .nrows = &nrows,
				   .row_of = row_of};
		struct nvs_reader reader = {.call = on_call,
					    .submitted = on_submission,
					    .op = on_op,
					    .tallies = true,
					    .arg = &st};

		st.times = nvs_gputime_new(on_stretch, &st);
		r = st.memory && st.times ? nvs_report_read_calls(s + i, &reader) : -ENOMEM;
		if (!r)
			nvs_gputime_end(st.times);
		nvs_hostmem_free(st.memory);
		nvs_gputime_free(st.times);
		nvs_numbers_free(&st.threads, free);
	}
	if (!r) {
		if (nrows)
			qsort(rows, nrows, sizeof(*rows), compare);
		r = nvs_report_rows(out, &table, rows, nrows, sizeof(*rows), o);
	}
	if (!r && o->format == NVS_FORMAT_TEXT)
		print_changes(out, rows, nrows);
	for (size_t i = 0; i < nrows; i++)
		nvs_times_free(&rows[i].times);
	free(rows);
	free(row_of);
	return r;
}
