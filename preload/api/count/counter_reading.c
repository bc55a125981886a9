/* SPDX-License-Identifier: MIT */
/*
 * Decides when instruction counters are read, and reads them: after the program has waited for the
 * GPU, before a context ends, at exit, and with exact=sync after each launch. The stream that
 * copies them waits for no other, but the driver may queue it behind work that waits for this very
 * thread, so a read times out, and the next one gets the rest. Counters are never reset; a record
 * has their growth. Signals are blocked during a read, since a handler might leave it by a longjmp.
 */
#include <stdlib.h>
#include <string.h>
#include "preload/api/count/counter_reading.h"
#include "preload/base/preload.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"
#include "sass/count.h"
#include "trap/buffer/calls.h"
#include "trap/buffer/process.h"

#define MEMORY (2u << 20) /* read buffer */
#define BATCH 64 /* counts in a record */
#define PORTABLE 1 /* CU_MEMHOSTREGISTER_PORTABLE */
#define SOON_MS 100 /* timeout of a read while the program runs */
#define LAST_MS 5000 /* timeout of a final read */
#define SHARE 200 /* reads may take 1/200 of the time */
#define CREDIT 10000000u /* ticks available to reads at the start and after a pause */
/* Counters up to this far apart are copied together: copying the gap takes about as long as
 * starting another copy. */
#define GAP (8 * NVS_COUNT_BYTES)

struct nvs_counting *nvs_counting(void)
{
	return __atomic_load_n(nvs_slot(NVS_SLOT_COUNTING), __ATOMIC_ACQUIRE);
}

/* ---- records ---- */

struct count_writer {
	struct {
		struct nvs_rec_count rec;
		struct nvs_count counts[BATCH];
	} room;
	uint32_t written;
};

static void flush_record(struct count_writer *t, uint32_t flags)
{
	struct nvs_rec_count *rec = &t->room.rec;

	rec->rec.type = NVS_REC_COUNT;
	rec->rec.flags = (uint16_t)flags;
	rec->rec.size = (uint32_t)(sizeof(*rec) + rec->ncounts * sizeof(*rec->counts));
	nvs_record_write(&rec->rec);
	t->written++;
	rec->ncounts = 0;
}

static void add_count(struct count_writer *t, const struct nvs_count *count)
{
	if (t->room.rec.ncounts == BATCH)
		flush_record(t, NVS_COUNT_MORE);
	t->room.counts[t->room.rec.ncounts++] = *count;
}

/* ---- reading ---- */

static bool is_due(const struct nvs_counting *c, const struct nvs_kernel_counter *counter, bool all)
{
	if (!counter->address)
		return false;
	return all || atomic_load(&counter->launched.at) ||
	       (atomic_load(&counter->name->in_graph) && atomic_load(&c->graphs.at));
}

static bool any_due(const struct nvs_counting *c)
{
	const struct nvs_kernel_counter *at = atomic_load(&c->first);

	while (at && !is_due(c, at, false))
		at = at->next;
	return at != NULL;
}

static bool has_memory(struct nvs_counting *c)
{
	void *p;

	if (c->memory)
		return true;
	p = nvs_next()->mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	if (p == MAP_FAILED)
		return false;
	nvs_syscall(SYS_madvise, (long)p, MEMORY, MADV_DONTFORK, 0, 0, 0);
	/* If the driver refuses, copies are only slower. */
	c->driver.enlist(p, MEMORY, PORTABLE);
	c->memory = p;
	return true;
}

/* Adds the growth of the counters from FIRST up to END that were copied to the buffer. */
static void collect_counts(struct nvs_counting *c, struct nvs_kernel_counter *first,
			   const struct nvs_kernel_counter *end, struct count_writer *t)
{
	for (struct nvs_kernel_counter *counter = first; counter != end; counter = counter->next) {
		struct nvs_count count = {.counter = counter->number};
		struct nvs_count_sums sums = {0};

		if (!counter->copied)
			continue;
		nvs_count_sum(c->memory + counter->place, NVS_COUNT_SLOTS, &sums);
		count.warp = sums.warps - counter->warp;
		count.thread = sums.threads - counter->thread;
		if (sums.wrapped)
			count.flags |= NVS_COUNT_WRAPPED;
		if (sums.warps_wrapped)
			count.flags |= NVS_COUNT_WARPS_WRAPPED;
		counter->warp = sums.warps;
		counter->thread = sums.threads;
		if ((count.warp || count.thread) && !c->discard) {
			if (counter->unsure) {
				count.flags = NVS_COUNT_WRAPPED | NVS_COUNT_WARPS_WRAPPED;
				count.warp = count.thread = 0;
			}
			add_count(t, &count);
		}
		counter->unsure = false;
	}
}

/* Copies the due counters from FIRST on, up to the buffer's size; *END is the first one not copied.
 * Adjacent counters are copied together if they are certainly in one piece of memory. */
static bool copy_due(struct nvs_counting *c, struct nvs_kernel_counter *first,
		     struct nvs_kernel_counter **end, bool all, uint64_t stream)
{
	uint64_t from = 0, used = 0, bytes = 0;
	struct nvs_kernel_counter *counter = first;

	for (; counter; counter = counter->next) {
		uint64_t gap = counter->address - from - bytes;
		bool apart = !bytes || gap > GAP ||
			     counter->address / NVS_COUNTING_PIECE != from / NVS_COUNTING_PIECE;

		/* Decided once, since another thread may launch meanwhile. */
		counter->copied = is_due(c, counter, all);
		if (!counter->copied)
			continue;
		gap = apart ? 0 : gap;
		if (used + bytes + gap + NVS_COUNT_BYTES > MEMORY)
			break;
		if (apart) {
			if (bytes && c->driver.copy(c->memory + used, from, bytes, stream))
				return false;
			used += bytes;
			bytes = 0;
			from = counter->address;
		}
		counter->place = (uint32_t)(used + bytes + gap);
		bytes += gap + NVS_COUNT_BYTES;
	}
	*end = counter;
	return !bytes || !c->driver.copy(c->memory + used, from, bytes, stream);
}

/* Needs a current context. Returns false if the GPU did not finish in time. */
static bool read_all(struct nvs_counting *c, bool all, unsigned ms, struct count_writer *t)
{
	uint64_t stream = nvs_counting_stream(c), context = 0, outstanding;
	struct nvs_kernel_counter *first = atomic_load(&c->first), *end;

	if (!stream || !has_memory(c) || c->driver.get_current(&context))
		return false;
	/* A copy that timed out may still write to the buffer. */
	outstanding = atomic_load(&c->outstanding);
	if (outstanding && !nvs_counting_wait(c, outstanding, ms))
		return false;
	atomic_store(&c->outstanding, 0);
	for (; first; first = end) {
		if (!copy_due(c, first, &end, all, stream) || !nvs_counting_wait(c, stream, ms)) {
			c->outstanding_context = context;
			atomic_store(&c->outstanding, stream);
			return false;
		}
		collect_counts(c, first, end, t);
	}
	return true;
}

/* If no context is current, pushes the one of our first stream. */
static bool enter_context(struct nvs_counting *c, bool *pushed)
{
	uint64_t context = 0;

	*pushed = false;
	if (!c->driver.get_current(&context) && context)
		return true;
	for (uint32_t i = 0; i < NVS_COUNTING_CONTEXTS && !*pushed; i++) {
		context = atomic_load(&c->contexts[i].context);
		*pushed = context && !c->driver.push(context);
	}
	return *pushed;
}

/* The read at the start of a window failed: counts of kernels launched before it and not read since
 * are unknown from here on. */
static void note_missed(struct nvs_counting *c)
{
	if (!atomic_exchange(&c->missed, false))
		return;
	for (struct nvs_kernel_counter *at = atomic_load(&c->first); at; at = at->next)
		at->unsure |= is_due(c, at, false);
}

static bool read_now(struct nvs_counting *c, enum nvs_count_cause cause, uint64_t number)
{
	bool last = cause == NVS_COUNT_EXIT || cause == NVS_COUNT_CONTEXT ||
		    cause == NVS_COUNT_WINDOW;
	bool pushed, read = false;
	unsigned ms = last ? LAST_MS : SOON_MS;
	struct count_writer *t = nvs_alloc(sizeof(*t));
	uint64_t begin = nvs_api_now(), context;
	int mode;

	if (!t)
		return false;
	t->room.rec.thread = nvs_tls.thread - 1;
	t->room.rec.cause = cause;
	t->room.rec.number = number;
	nvs_counting_enter(c, &mode);
	if (enter_context(c, &pushed)) {
		/*
		 * Waits for work that the program has not waited for, at least on streams that
		 * synchronise with the legacy stream. This would invalidate a capture; at exit none
		 * is in progress.
		 */
		if (last && (cause == NVS_COUNT_EXIT || atomic_load(&nvs_api_captures) <= 0))
			nvs_counting_wait(c, 0, ms);
		read = read_all(c, cause == NVS_COUNT_EXIT || cause == NVS_COUNT_WINDOW, ms, t);
	}
	if (pushed)
		c->driver.pop(&context);
	nvs_counting_leave(c, mode);
	/* An empty record is written for a launch too, since it may have executed nothing. */
	if (!read || t->room.rec.ncounts || cause == NVS_COUNT_LAUNCH)
		flush_record(t, read ? 0 : NVS_COUNT_UNREAD);
	nvs_free(t, sizeof(*t));
	c->read_end = nvs_api_now();
	c->read_cost = c->read_end - begin;
	return read;
}

/* Limits the cost of reads that were not requested. */
static bool can_afford(struct nvs_counting *c, enum nvs_count_cause cause)
{
	uint64_t since = nvs_api_now() - c->read_end, cost;

	if (cause != NVS_COUNT_SYNC)
		return true;
	if (!c->read_end)
		c->credit = CREDIT;
	else
		c->credit += since / SHARE;
	c->credit = c->credit < CREDIT ? c->credit : CREDIT;
	/* A read that costs more than the whole credit must not prevent all later ones. */
	cost = c->read_cost < CREDIT ? c->read_cost : CREDIT;
	if (c->credit < cost) {
		c->read_end = nvs_api_now();
		return false;
	}
	c->credit -= cost;
	return true;
}

/* If another thread is reading, an unrequested read is skipped and others wait. The reader can be
 * this same thread only if a signal handler interrupted the read. */
static bool claim_reader(struct nvs_counting *c, enum nvs_count_cause cause)
{
	uint32_t own = (uint32_t)nvs_sys_gettid(), holder = 0;

	for (unsigned i = 0; i < LAST_MS * 10; i++) {
		if (atomic_compare_exchange_strong(&c->reading, &holder, own))
			return true;
		if (cause == NVS_COUNT_SYNC || holder == own)
			return false;
		holder = 0;
		nvs_sleep(100000);
	}
	return false;
}

static bool is_wanted(const struct nvs_counting *c)
{
	if (!nvs_session_is_active() || atomic_load(&nvs_writer_signal.ended))
		return false;
	return c->able && atomic_load(&c->first);
}

static bool is_outside_window(void)
{
	return nvs_options()->values.from_profiler && !atomic_load(&nvs_api_profiled);
}

static bool claim_and_read(struct nvs_counting *c, enum nvs_count_cause cause, uint64_t number,
			   bool discard)
{
	uint64_t mask = nvs_sys_block_async();
	bool read = false, claimed = claim_reader(c, cause);

	if (claimed) {
		note_missed(c);
		c->discard = discard;
		if (can_afford(c, cause))
			read = read_now(c, cause, number);
	}
	if (discard && !read)
		atomic_store(&c->missed, true);
	if (claimed) {
		note_missed(c);
		atomic_store(&c->reading, 0);
	}
	nvs_sys_sigmask(SIG_SETMASK, &mask, NULL);
	return read;
}

bool nvs_counting_read(enum nvs_count_cause cause, uint64_t number)
{
	struct nvs_counting *c = nvs_counting();
	NVS_KEEP_ERRNO();

	if (!c || !nvs_session_is_active())
		return false;
	if (atomic_load(&c->unwritten))
		nvs_counters_record(c);
	if (!is_wanted(c) || is_outside_window())
		return false;
	if (cause != NVS_COUNT_EXIT && cause != NVS_COUNT_LAUNCH && !any_due(c))
		return true;
	return claim_and_read(c, cause, number, false);
}

/* At the start of a window earlier counts are discarded; at its end its counts are read. */
static void read_at_window(const struct nvs_api_frame *frame, bool begins)
{
	struct nvs_counting *c = nvs_counting();

	if (c && !nvs_calls.quiet && is_wanted(c))
		claim_and_read(c, NVS_COUNT_WINDOW, frame->number, begins);
}

/* ---- events of the program ---- */

static uint64_t current_context(const struct nvs_counting *c)
{
	uint64_t context = 0;

	NVS_QUIET();
	return c->driver.get_current(&context) ? 0 : context;
}

static void mark_launch(const struct nvs_counting *c, struct nvs_launch_mark *m, uint64_t stream)
{
	uint64_t context = current_context(c);
	bool open = atomic_load(&m->at);

	/* Launches on several streams: waiting for one of them proves nothing. */
	if (open && atomic_load(&m->stream) != stream)
		stream = NVS_SEVERAL;
	if (open && atomic_load(&m->context) != context)
		context = NVS_SEVERAL;
	atomic_store(&m->stream, stream);
	atomic_store(&m->context, context);
	atomic_store(&m->at, nvs_api_now());
}

static void mark_launched(struct nvs_counting *c, uint64_t function, uint64_t stream)
{
	struct nvs_counted_name *name = nvs_counting_function(c, function);

	for (struct nvs_kernel_counter *at = name ? name->first : NULL; at; at = at->same)
		mark_launch(c, &at->launched, stream);
}

/* Marks launches in CONTEXT on STREAM (NVS_SEVERAL: any) before BEGIN as completed. */
static void clear_mark(struct nvs_launch_mark *m, uint64_t context, uint64_t stream, uint64_t begin)
{
	uint64_t at = atomic_load(&m->at);

	if (at && at <= begin && atomic_load(&m->context) == context &&
	    (stream == NVS_SEVERAL || atomic_load(&m->stream) == stream))
		atomic_compare_exchange_strong(&m->at, &at, 0);
}

static void clear_marks(struct nvs_counting *c, uint64_t context, uint64_t stream, uint64_t begin)
{
	for (struct nvs_kernel_counter *at = atomic_load(&c->first); at; at = at->next)
		clear_mark(&at->launched, context, stream, begin);
	clear_mark(&c->graphs, context, stream, begin);
}

static uint64_t kept_argument(const struct nvs_api_frame *frame, const struct nvs_api *api,
			      int8_t which)
{
	uint64_t value;

	nvs_api_kept(frame, api, which, true, &value);
	return value;
}

/* Stream handles as the driver numbers them: CU_STREAM_LEGACY, CU_STREAM_PER_THREAD. The latter is
 * a different stream in each thread. */
static uint64_t own_stream(uint64_t stream)
{
	return stream == 2 ? 2 | (uint64_t)nvs_tls.thread << 32 : stream;
}

static uint64_t stream_of(const struct nvs_api_frame *frame, const struct nvs_api *api)
{
	uint64_t stream = api->stream >= 0 ? kept_argument(frame, api, api->stream) : 1;

	return stream ? stream : api->per_thread ? 2 : 1;
}

/* exact=sync. Waiting for the legacy stream would invalidate any capture; waiting for another
 * stream a capture by another thread, unless this thread uses the relaxed capture mode. */
static void wait_and_read(struct nvs_counting *c, const struct nvs_api_frame *frame,
			  uint64_t stream)
{
	uint64_t begin = nvs_api_now();
	int mode, r;

	if (!c->able || (stream == 1 && atomic_load(&nvs_api_captures) > 0))
		return;
	nvs_counting_enter(c, &mode);
	r = c->driver.stream_wait(stream);
	nvs_counting_leave(c, mode);
	if (!r && nvs_counting_read(NVS_COUNT_LAUNCH, frame->number))
		clear_marks(c, current_context(c), own_stream(stream), begin);
}

static void after_call(const struct nvs_api_frame *frame, const struct nvs_api *api,
		       uint32_t result)
{
	struct nvs_counting *c = nvs_counting();
	bool graph = api->effect.does == NVS_DOES_GRAPH_LAUNCH;
	NVS_KEEP_ERRNO();
	uint64_t stream;

	if (!c || result || nvs_calls.quiet || (api->launched < 0 && !graph))
		return;
	stream = stream_of(frame, api);
	if (nvs_api_is_capturing(api, stream)) {
		if (api->launched >= 0)
			nvs_counting_in_graph(kept_argument(frame, api, api->launched));
		return;
	}
	if (graph)
		mark_launch(c, &c->graphs, own_stream(stream));
	else
		mark_launched(c, kept_argument(frame, api, api->launched), own_stream(stream));
	if (nvs_options()->values.exact && !is_outside_window())
		wait_and_read(c, frame, stream);
}

void nvs_counting_in_graph(uint64_t function)
{
	struct nvs_counting *c = nvs_counting();
	struct nvs_counted_name *name = c && function ? nvs_counting_function(c, function) : NULL;

	if (name)
		atomic_store(&name->in_graph, true);
}

/* The program has waited since FRAME's call began. Waiting for an event names no stream. */
static void after_wait(const struct nvs_api_frame *frame, enum nvs_api_wait_kind on)
{
	const struct nvs_api *api = nvs_api_slots[frame->index].api;
	struct nvs_counting *c = nvs_counting();
	bool context = on == NVS_WAITED_CONTEXT;
	uint64_t stream, where;

	if (!c || nvs_calls.quiet || nvs_options()->values.exact ||
	    !nvs_counting_read(NVS_COUNT_SYNC, frame->number) || on == NVS_WAITED_EVENT)
		return;
	/* cuCtxSynchronize_v2 has the context as its argument. */
	where = context && api->nkeep ? kept_argument(frame, api, 0) : 0;
	where = where ? where : current_context(c);
	stream = context ? NVS_SEVERAL : own_stream(stream_of(frame, api));
	clear_marks(c, where, stream, frame->begin);
}

static void context_ended(uint64_t context)
{
	struct nvs_counting *c = nvs_counting();

	/* Streams of an ended context must not be queried, and no longer write to the buffer. */
	if (c && (!context || c->outstanding_context == context))
		atomic_store(&c->outstanding, 0);
	for (uint32_t i = 0; c && i < NVS_COUNTING_CONTEXTS; i++) {
		uint64_t now = atomic_load(&c->contexts[i].context);

		if (!now || (context && now != context))
			continue;
		atomic_store(&c->contexts[i].stream, 0);
		atomic_store(&c->contexts[i].context, 0);
	}
}

static void context_ends(uint64_t context, bool certain)
{
	nvs_counting_read(NVS_COUNT_CONTEXT, 0);
	if (certain)
		context_ended(context);
}

/* ---- start and end ---- */

/* Runs before destructors of libraries that were loaded later, such as the driver. */
static void end_at_exit(void)
{
	nvs_counting_read(NVS_COUNT_EXIT, 0);
}

struct nvs_counting *nvs_counting_start(void)
{
	static const struct nvs_api_counting callbacks = {
		.loaded = nvs_load_finish,
		.called = after_call,
		.waited = after_wait,
		.unloaded = nvs_load_free_image,
		.ends = context_ends,
		.ended = context_ended,
		.window = read_at_window,
	};
	struct nvs_counting *c = nvs_counting();
	void *none = NULL;

	if (c)
		return c;
	c = nvs_alloc(sizeof(*c));
	if (!c)
		return NULL;
	c->able = nvs_counting_find_driver(&c->driver);
	if (!__atomic_compare_exchange_n(nvs_slot(NVS_SLOT_COUNTING), &none, c, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		nvs_free(c, sizeof(*c));
		return none;
	}
	atomic_store(&nvs_api_counting, &callbacks);
	atexit(end_at_exit);
	return c;
}
