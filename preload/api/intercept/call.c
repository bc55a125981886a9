/* SPDX-License-Identifier: MIT */
/* Start and end of a wrapped call. Built without vector code, since vector registers may hold the
 * call's arguments. Allocates no memory; writes the record to the thread's buffer. */
#include "preload/api/intercept/api.h"
#include "preload/signals/signals.h"
#include "preload/live/live.h"
#include "trap/arch/cpu.h"
#include "trap/buffer/calls.h"
#include "trap/buffer/process.h"
#include "trap/low/guard.h"
#include "trap/low/poison.h"

#define MAX_TEXT 1023 /* bytes kept of all strings of a call */
#define NO_STRING UINT64_MAX
/* A call that takes about 1 ms and submits nothing has its stack recorded, which takes at most a
 * few microseconds. */
#define LONG_NS 1000000u

struct nvs_api_slot nvs_api_slots[NVS_API_SLOTS];
_Atomic uint32_t nvs_api_live;
bool nvs_api_keys;

struct entered {
	void *original;
	uint64_t words;
};

/* If the call is left by a longjmp, the allocation being freed is put back. */
static __attribute__((noinline)) void
count_free(struct nvs_open_calls *c, const struct nvs_api *api, struct nvs_api_frame *frame)
{
	nvs_api_count_free(nvs_live_own, api, frame);
	if (frame->depth)
		c->open[c->depth - 1].token = frame->token;
}

struct entered nvs_api_enter(struct nvs_api_frame *frame);
void nvs_api_leave(struct nvs_api_frame *frame);
int nvs_api_personality(int version, int actions, uint64_t class, void *exception, void *context);

/* The compiler would compute the address of a variable of the thread at each access. */
static inline struct nvs_open_calls *own_calls(void)
{
	struct nvs_open_calls *c = &nvs_calls;

	__asm__("" : "+r"(c));
	return c;
}

static bool is_live(void)
{
	return atomic_load_explicit(&nvs_api_live, memory_order_acquire) && nvs_trap_is_started();
}

/* After the writer has ended only calls with submissions are recorded; the others would create a
 * late file. */
static bool is_wanted(bool told)
{
	return told || !atomic_load_explicit(&nvs_writer_signal.ended, memory_order_relaxed);
}

/* A call belongs to a recording window that it overlaps, or if it has a recorded submission. */
static bool is_in_window(bool told, bool recording)
{
	return nvs_is_recording() || told || recording;
}

/* ---- the record ---- */

/* The contents of one record. */
struct made {
	const struct nvs_api *api;
	uint64_t number, begin, end, depth;
	uint32_t result, flags, absent, bytes;
	uint32_t stack; /* with NVS_CALL_SITED */
	uint64_t args[NVS_API_MAX_KEPT];
	char text[MAX_TEXT + 1];
};

/* Copies a string of the program as far as it is readable. Returns the bytes kept in the low half,
 * its length in the high half. */
static uint64_t take_string(struct made *m, const char *s)
{
	uint32_t room = MAX_TEXT - m->bytes, n = 0;
	char *to = m->text + m->bytes;
	bool ended = false;

	if (!s)
		return NO_STRING;
	while (n < room && !ended) {
		uint32_t part = 64 - ((uintptr_t)(s + n) & 63);

		if (part > room - n)
			part = room - n;
		if (nvs_copy_guarded(to + n, s + n, part))
			break;
		for (uint32_t i = 0; i < part && !ended; i++, n++)
			ended = !to[n];
		n -= ended;
	}
	m->bytes += n;
	/* Cut off or unreadable: the rest of its length is unknown. */
	return n | (uint64_t)(ended ? n : n + 1) << 32;
}

static bool load_field(uint64_t pointer, const struct nvs_api_keep *k, uint64_t *value)
{
	uintptr_t at = (uintptr_t)pointer + k->offset;
	uint32_t half;

	if (!pointer)
		return false;
	if (k->size == 8)
		return nvs_load64_guarded((const uint64_t *)at, value);
	if (!nvs_load32_guarded((const uint32_t *)at, &half))
		return false;
	*value = k->size == 4 ? half : k->size == 2 ? half & 0xffff : half & 0xff;
	return true;
}

/* Layouts: CUlaunchConfig and CUlaunchAttribute. */
#define CONFIG_ATTRS 40
#define CONFIG_NUM_ATTRS 48
#define ATTRIBUTE_BYTES 72
#define ATTRIBUTE_VALUE 8
#define MAX_ATTRIBUTES 64

static __attribute__((noinline)) bool load_attribute(uint64_t config, const struct nvs_api_keep *k,
						     uint64_t *value)
{
	uint32_t n, id, word;
	uint64_t at;

	*value = 0;
	if (!config || !nvs_load32_guarded((const uint32_t *)(config + CONFIG_NUM_ATTRS), &n) ||
	    !nvs_load64_guarded((const uint64_t *)(config + CONFIG_ATTRS), &at))
		return false;
	for (uint32_t i = 0; at && i < n && i < MAX_ATTRIBUTES; i++, at += ATTRIBUTE_BYTES) {
		if (!nvs_load32_guarded((const uint32_t *)at, &id))
			return false;
		if (id != k->offset >> 8)
			continue;
		if (!nvs_load32_guarded(
			    (const uint32_t *)(at + ATTRIBUTE_VALUE + (k->offset & 0xff)), &word))
			return false;
		*value = word;
		break;
	}
	return true;
}

/* Reads a field of a structure that begins with its type. */
static bool load_typed(uint64_t pointer, const struct nvs_api_keep *k, uint64_t *value)
{
	uint32_t type;

	return pointer && nvs_load32_guarded((const uint32_t *)pointer, &type) &&
	       type == k->offset >> 8 &&
	       nvs_load64_guarded((const uint64_t *)(pointer + (k->offset & 0xff)), value);
}

#define MAX_ITEMS 65536 /* longer arrays are skipped */

static bool load_item(const struct nvs_api_keep *k, uint64_t at, uint64_t *value)
{
	uint64_t factor;
	uint32_t word;

	for (uint32_t i = 0; i < k->array->nguards; i++)
		if (!nvs_load32_guarded((const uint32_t *)(at + k->array->guard[i]), &word) ||
		    word != 1)
			return false;
	*value = 1;
	for (uint32_t i = 0; i < k->array->factors; i++) {
		if (!nvs_load64_guarded((const uint64_t *)(at + k->offset) + i, &factor))
			return false;
		*value *= factor;
	}
	return true;
}

static __attribute__((noinline)) bool load_array(uint64_t at, uint64_t n,
						 const struct nvs_api_keep *k, uint64_t *value)
{
	uint64_t item;

	if (!at || !n || n > MAX_ITEMS)
		return false;
	*value = k->how == NVS_KEEP_LEAST ? UINT64_MAX : 0;
	for (uint64_t i = 0; i < n; i++, at += k->array->stride) {
		if (!load_item(k, at, &item))
			return false;
		if (k->how == NVS_KEEP_SUM)
			*value += item;
		else if (k->how == NVS_KEEP_FIRST ||
			 (k->how == NVS_KEEP_LEAST ? item < *value : item > *value))
			*value = item;
		if (k->how == NVS_KEEP_FIRST)
			break;
	}
	return true;
}

static uint64_t mask_to_size(uint64_t value, unsigned size)
{
	return size == 8 ? value : value & ((1ull << size * 8) - 1);
}

/* OK: the call succeeded, so that what it returned is there. */
static inline __attribute__((always_inline)) bool load_pointed(const struct nvs_api_frame *frame,
							       const struct nvs_api_keep *k,
							       bool ok, uint64_t *value)
{
	uint64_t at = nvs_api_argument(frame, k->place);

	if (k->how == NVS_KEEP_ATTR)
		return load_attribute(at, k, value);
	if (k->how == NVS_KEEP_IN_OF || k->how == NVS_KEEP_OUT_OF)
		return (k->how == NVS_KEEP_IN_OF || ok) && load_typed(at, k, value);
	if (k->array)
		return load_array(at, nvs_api_argument(frame, k->array->count), k, value);
	return (k->how == NVS_KEEP_IN || ok) && load_field(at, k, value);
}

bool nvs_api_kept(const struct nvs_api_frame *frame, const struct nvs_api *api, int8_t which,
		  bool ok, uint64_t *value)
{
	const struct nvs_api_keep *k = api->keep + which;

	*value = 0;
	if (which < 0)
		return false;
	if (k->how != NVS_KEEP_VALUE)
		return load_pointed(frame, k, ok, value);
	*value = mask_to_size(nvs_api_argument(frame, k->place), k->size);
	return true;
}

/* GUARDED: unreadable pointers are caught. Otherwise they are read only if the call succeeded. */
static void gather_args(struct made *m, const struct nvs_api_frame *frame, bool has_result,
			bool guarded)
{
	bool ok = has_result && !m->result;

	for (unsigned i = 0; i < m->api->nkeep; i++) {
		const struct nvs_api_keep *k = &m->api->keep[i];
		uint64_t value = nvs_api_argument(frame, k->place);
		bool known = true;

		m->args[i] = 0;
		if (k->how == NVS_KEEP_VALUE && !k->is_string)
			m->args[i] = mask_to_size(value, k->size);
		else if (!guarded && !ok)
			known = false;
		else if (k->is_string)
			m->args[i] = take_string(m, (const char *)(uintptr_t)value);
		else
			known = load_pointed(frame, k, ok, &m->args[i]);
		if (!known)
			m->absent |= 1u << i;
	}
}

static uint32_t record_size(const struct made *m)
{
	uint32_t size = (uint32_t)sizeof(struct nvs_rec_call) + m->api->nkeep * 8u + m->bytes;

	return ((size + 7) & ~7u) + (m->flags & NVS_CALL_SITED ? 8 : 0);
}

static void fill_record(struct nvs_rec_call *rec, const struct made *m, uint32_t size,
			uint32_t thread)
{
	bool sited = m->flags & NVS_CALL_SITED;
	uint32_t n = m->api->nkeep;
	uint64_t *args = rec->args + sited;
	char *text = (char *)&args[n];

	rec->rec = (struct nvs_rec){
		.type = NVS_REC_CALL,
		.flags = (uint16_t)m->flags,
		.size = size,
		.time = m->end,
	};
	rec->thread = thread;
	rec->api = nvs_api_number(m->api);
	rec->number = m->number;
	/* Omit values that other records have, to save space. */
	rec->begin = m->flags & NVS_CALL_BEGUN ? 0 : m->begin;
	rec->end = m->flags & NVS_CALL_EARLY ? m->end : 0;
	rec->result = m->result;
	rec->absent = m->absent;
	rec->depth = (uint16_t)m->depth;
	rec->nargs = (uint16_t)n;
	rec->bytes = m->bytes;
	for (uint32_t i = 0; i < n; i++)
		args[i] = m->args[i];
	if (sited)
		rec->args[0] = m->stack;
	if (m->bytes) {
		*(uint64_t *)((char *)rec + size - 8) = 0;
		nvs_copy_guarded(text, m->text, m->bytes);
	}
}

/* If no submissions are recorded, it is unknown whether the call made any. */
static bool is_long(const struct made *m)
{
	const struct nvs_trap_options *o = &nvs_process->options;

	return m->end - m->begin >= (o->use_ticks ? nvs_ticks_of_ms() : LONG_NS) &&
	       nvs_records_calls();
}

/* The live page shows a call site for allocations. */
static bool is_memory(const struct nvs_api *api)
{
	return api->effect.does >= NVS_DOES_ALLOC && api->effect.does <= NVS_DOES_ALLOC_ARRAY;
}

/* The shared buffer that publishes the thread's open calls, so that they survive a kill and are
 * visible live. NULL: none. */
static struct nvs_buffer *shared_buffer(void)
{
	struct nvs_buffer *buffer = nvs_tls.buffer;

	/* In a forked child the buffers are wiped. */
	return buffer && buffer->shared ? buffer : NULL;
}

/* The thread's slot of the live page. NULL: none. */
static struct nvs_live_slot *own_slot(void)
{
	return shared_buffer() ? shared_buffer()->live : NULL;
}

/* FRAME: of a call that returned. NULL: the call was left in another way. */
static void write_record(struct made *m, const struct nvs_api_frame *frame)
{
	struct nvs_buffer *buffer = nvs_buffer_enter();
	bool begun = m->flags & NVS_CALL_BEGUN;
	bool sited = buffer && frame &&
		     (begun || !nvs_records_calls() ? buffer->live && is_memory(m->api)
						    : m->api->sited || is_long(m));
	bool unwound = false;
	uint32_t size;
	void *room;

	if (!buffer)
		return;
	if (__builtin_expect(sited, 0)) {
		m->stack = nvs_api_callsite(buffer, frame, m->end, &unwound);
		m->flags |= m->stack != NVS_NONE && !begun ? NVS_CALL_SITED : 0;
	}
	size = record_size(m);
	room = nvs_records_calls() ? nvs_buffer_reserve(buffer, size, true) : NULL;
	if (room) {
		fill_record(room, m, size, nvs_tls.thread - 1);
		nvs_buffer_commit(buffer, size);
	}
	nvs_buffer_warm(buffer);
	nvs_buffer_leave(buffer);
	if (__builtin_expect(unwound, 0))
		nvs_sigview_send_deferred();
}

/* A separate function, so that its buffer is not on the stack while write_record() unwinds on the
 * program's possibly smallest stack. */
static __attribute__((noinline)) void write_early(struct made *m)
{
	struct {
		struct nvs_rec_call rec;
		uint64_t room[NVS_API_MAX_KEPT + (MAX_TEXT + 8) / 8];
	} early;

	m->flags |= NVS_CALL_EARLY;
	fill_record(&early.rec, m, record_size(m), NVS_NONE);
	nvs_api_store_early(&early.rec.rec);
}

/* ---- the stack of open calls ---- */

/* Ends all calls whose frames are at or below SP: they were left by a longjmp. */
static __attribute__((noinline)) void abandon_calls(struct nvs_open_calls *c, uintptr_t sp)
{
	while (c->depth && c->open[c->depth - 1].sp <= sp) {
		const struct nvs_open_call *open = &c->open[c->depth - 1];
		struct made m = {
			.api = &nvs_api_table[open->api],
			.number = open->number,
			.begin = open->begin,
			.end = nvs_api_now(),
			.depth = c->depth,
			.flags = NVS_CALL_ABANDONED | (open->told ? NVS_CALL_BEGUN : 0),
		};
		bool keep = is_live() && is_wanted(open->told) &&
			    is_in_window(open->told, open->recording);

		c->depth--;
		if (own_slot()) {
			nvs_live_add(&own_slot()->left, 1);
			nvs_live_free_cancel(nvs_live_own, open->has_key ? 0 : open->token);
		}
		m.absent = (1u << m.api->nkeep) - 1;
		if (keep && nvs_records_calls())
			write_record(&m, NULL);
	}
}

static __attribute__((noinline)) uint32_t add_first_row(const struct nvs_api *api)
{
	struct nvs_live_page *page = is_live() ? nvs_live_page() : NULL;

	return page ? nvs_live_api_row(page, nvs_api_number(api), api->name, api->group) : 0;
}

void nvs_api_name_open(void)
{
	struct nvs_live_page *page = nvs_live_page();

	for (uint32_t i = 0; page && i < nvs_calls.depth && i < NVS_MAX_CALLS; i++) {
		struct nvs_open_call *open = &nvs_calls.open[i];
		const struct nvs_api *api = &nvs_api_table[open->api];

		if (!open->row)
			open->row = nvs_live_api_row(page, open->api, api->name, api->group);
	}
}

/* The buffer is created at the start of the call, since a thread's first call may never return. The
 * C library may have started the thread with all signals blocked, for example for SIGEV_THREAD. */
static __attribute__((noinline)) void show_first(void)
{
	nvs_sigview_before_driver_call();
	if (!is_live() || !is_wanted(false))
		return;
	nvs_api_name_open();
	nvs_buffer_own();
}

void nvs_api_abandon_left(void)
{
	struct nvs_buffer *shared = shared_buffer();

	abandon_calls(&nvs_calls, (uintptr_t)__builtin_frame_address(0));
	if (shared)
		nvs_calls_hide(shared, nvs_calls.depth);
}

/* Row of the live page; 0 without a page. */
static uint32_t get_row(const struct nvs_api *api, const struct nvs_buffer *buffer)
{
	/* A thread's first call. */
	if (__builtin_expect(!buffer, 0))
		return add_first_row(api);
	if (!buffer->live)
		return 0;
	return nvs_live_api_row(nvs_live_own, nvs_api_number(api), api->name, api->group);
}

/* Notes the kernel that a call launches. */
static void set_key(struct nvs_open_call *open, const struct nvs_api *api,
		    const struct nvs_api_frame *frame)
{
	uint64_t function, key;

	if (api->launched < 0)
		return;
	function = nvs_api_argument(frame, api->keep[api->launched].place);
	key = function ? nvs_api_known_key(function) : 0;
	if (!key)
		return;
	open->key = key;
	open->has_key = 1;
}

struct entered nvs_api_enter(struct nvs_api_frame *frame)
{
	const struct nvs_api_slot *slot = &nvs_api_slots[frame->index];
	const struct nvs_api *api = slot->api;
	struct nvs_open_calls *c = own_calls();
	struct nvs_buffer *shared = shared_buffer();
	uintptr_t sp = (uintptr_t)frame;
	uint32_t depth;

	if (__builtin_expect(c->depth && c->open[c->depth - 1].sp <= sp, 0))
		abandon_calls(c, sp);
	nvs_progress_warm();
	frame->number = c->next++;
	frame->begin = nvs_api_now();
	frame->depth = 0;
	frame->token = 0;
	depth = c->depth;
	if (depth < NVS_MAX_CALLS) {
		struct nvs_open_call *open = &c->open[depth];

		open->sp = sp;
		open->number = frame->number;
		open->begin = frame->begin;
		open->api = nvs_api_number(api);
		open->row = get_row(api, shared);
		open->told = 0;
		open->token = 0;
		open->has_key = 0;
		if (__builtin_expect(nvs_api_keys, 0))
			set_key(open, api, frame);
		open->recording = nvs_process && nvs_is_recording();
		atomic_signal_fence(memory_order_seq_cst);
		frame->depth = c->depth = ++depth;
		if (__builtin_expect(shared != NULL, 1))
			nvs_calls_show(shared, open, depth);
		else
			show_first();
	}
	if (__builtin_expect(api->effect.does == NVS_DOES_FREE, 0) && own_slot())
		count_free(c, api, frame);
	if (__builtin_expect(slot->before != NULL, 0))
		slot->before(frame);
	return (struct entered){slot->original, api->words};
}

/* Removes the call from the open calls, and sets two of its fields. Returns false if it was
 * abandoned, and so recorded, before. */
static bool pop_call(struct nvs_open_calls *c, const struct nvs_api_frame *frame, bool *told,
		     bool *recording)
{
	uintptr_t sp = (uintptr_t)frame;

	*told = *recording = false;
	if (!frame->depth)
		return true;
	if (c->depth && c->open[c->depth - 1].sp < sp)
		abandon_calls(c, sp - 1);
	if (!c->depth || c->open[c->depth - 1].number != frame->number)
		return false;
	c->depth--;
	*told = c->open[c->depth].told;
	*recording = c->open[c->depth].recording;
	return true;
}

/* Counts the call in the live page, whether or not the trace records it. */
static void count_call(const struct made *m, struct nvs_api_frame *frame)
{
	struct nvs_live_slot *slot = own_slot();
	struct nvs_api_returned_call done = {
		.api = m->api,
		.begin = m->begin,
		.end = m->end,
		.result = m->result,
		.stack = m->stack,
		.absent = m->absent,
		.args = m->args,
		.captured = m->flags & NVS_CALL_CAPTURED,
	};

	if (!slot)
		return;
	if (m->flags & NVS_CALL_UNWOUND) {
		nvs_live_add(&slot->left, 1);
		if (m->api->effect.does == NVS_DOES_FREE)
			nvs_live_free_cancel(nvs_live_own, frame->token);
		return;
	}
	done.row = get_row(m->api, nvs_tls.buffer);
	nvs_api_count_call(nvs_live_own, slot, &done, frame);
}

/* Without a trace most calls need no arguments. */
static bool counted_only(const struct nvs_api *api)
{
	return !nvs_records_calls() && api->effect.does == NVS_DOES_NOTHING &&
	       atomic_load_explicit(&nvs_api_captures, memory_order_relaxed) <= 0;
}

static void gather_function(struct made *m, const struct nvs_api_frame *frame)
{
	int i = m->api->launched;

	if (i >= 0)
		m->args[i] = nvs_api_argument(frame, m->api->keep[i].place);
}

static bool is_captured(const struct made *m)
{
	return m->api->stream >= 0 &&
	       atomic_load_explicit(&nvs_api_captures, memory_order_relaxed) > 0 &&
	       !(m->flags & NVS_CALL_UNWOUND) &&
	       nvs_api_is_capturing(m->api, m->args[m->api->stream]);
}

/* Fast path without a trace: reads the clock twice and adds to counters. Returns false, with
 * nothing done, if the call needs the full path. */
static bool count_untraced(struct nvs_api_frame *frame, const struct nvs_api *api, uint32_t result,
			   uint64_t end)
{
	struct nvs_buffer *buffer = shared_buffer();
	struct nvs_open_calls *c = own_calls();
	const struct nvs_open_call *open = &c->open[c->depth - 1];
	struct nvs_api_returned_call done;
	uint64_t function;

	/* The trap is started if there is a buffer. */
	if (!buffer || !buffer->live ||
	    !atomic_load_explicit(&nvs_api_live, memory_order_acquire) || !counted_only(api) ||
	    !frame->depth || c->depth != frame->depth || c->quiet)
		return false;
	/* A call that began before the page existed has no row yet. */
	done.row = open->row;
	if (open->number != frame->number || !done.row)
		return false;
	c->depth--;
	done.api = api;
	done.begin = frame->begin;
	done.end = end;
	done.result = result;
	done.captured = false;
	done.args = NULL;
	function = api->launched >= 0 ? nvs_api_argument(frame, api->keep[api->launched].place) : 0;
	nvs_api_count_plain(nvs_live_own, buffer->live, &done, function, frame);
	nvs_calls_hide(buffer, c->depth);
	return true;
}

static void record_call(struct nvs_api_frame *frame, uint32_t result, uint32_t flags, uint64_t end)
{
	const struct nvs_api_slot *slot = &nvs_api_slots[frame->index];
	const struct nvs_api *api = slot->api;
	bool on, bare, told, recording;
	struct made m;

	if (!pop_call(&nvs_calls, frame, &told, &recording) || nvs_calls.quiet)
		return;
	on = is_live();
	flags |= told ? NVS_CALL_BEGUN : 0;
	m.api = api;
	m.number = frame->number;
	m.begin = frame->begin;
	m.end = end;
	m.depth = frame->depth;
	m.result = result;
	m.flags = flags;
	m.stack = NVS_NONE;
	m.absent = m.bytes = 0;
	bare = on && counted_only(api);
	if (bare)
		gather_function(&m, frame);
	else
		gather_args(&m, frame, !(flags & NVS_CALL_UNWOUND), on);
	if (!on) {
		write_early(&m);
		return;
	}
	/* Another thread may have begun a capture since: then the stream argument was not read. */
	m.flags |= !bare && is_captured(&m) ? NVS_CALL_CAPTURED : 0;
	if (is_wanted(told)) {
		/* Kernel names are recorded outside the window too, since launches in it refer to
		 * them. */
		if (api->launched >= 0 && !result && !(flags & NVS_CALL_UNWOUND) &&
		    nvs_records_calls())
			nvs_api_kernel(m.args[api->launched]);
		if (nvs_records_calls() ? is_in_window(told, recording) : is_memory(api))
			write_record(&m, flags & NVS_CALL_UNWOUND ? NULL : frame);
	}
	count_call(&m, frame);
}

/* The record is written first: a kill in between records the call twice rather than never, and
 * readers handle that. */
static __attribute__((noinline)) void finish_call(struct nvs_api_frame *frame, uint32_t result,
						  uint32_t flags, uint64_t end)
{
	struct nvs_buffer *shared;

	record_call(frame, result, flags, end);
	shared = shared_buffer();
	if (shared)
		nvs_calls_hide(shared, nvs_calls.depth);
}

void (*nvs_api_call_failed)(uint32_t result);

/* True for errors that leave the context unusable: those of the hardware, of kernels, and unknown
 * ones. */
static bool may_be_fault(uint32_t result)
{
	switch (result) {
	case 214: /* ECC_UNCORRECTABLE */
	case 220: /* NVLINK_UNCORRECTABLE */
	case 226: /* CONTAINED */
	case 700: /* ILLEGAL_ADDRESS */
	case 702: /* LAUNCH_TIMEOUT */
	case 710: /* ASSERT */
	case 714 ... 719: /* HARDWARE_STACK_ERROR to LAUNCH_FAILED */
	case 721: /* TENSOR_MEMORY_LEAK */
	case 999: /* UNKNOWN */
		return true;
	}
	return false;
}

static __attribute__((noinline, cold)) void check_error(uint32_t result)
{
	NVS_KEEP_ERRNO();

	if (may_be_fault(result) && nvs_api_call_failed && is_live()) {
		nvs_api_call_failed(result);
		nvs_api_record_noted_code();
		if (nvs_api_get_snapshots())
			nvs_api_get_snapshots()->failed();
	}
}

void nvs_api_leave(struct nvs_api_frame *frame)
{
	const struct nvs_api_slot *slot = &nvs_api_slots[frame->index];
	const struct nvs_api_counting *counting = nvs_api_get_counting();
	uint64_t end = nvs_api_now();
	uint32_t result;

	/* Runs before the call is recorded: it restores the program's own arguments and may change
	 * the result. */
	if (__builtin_expect(counting != NULL, 0))
		counting->loaded(frame);
	result = (uint32_t)frame->result[0];
	if (!count_untraced(frame, slot->api, result, end))
		finish_call(frame, result, 0, end);
	if (__builtin_expect(counting != NULL, 0))
		counting->called(frame, slot->api, result);
	if (__builtin_expect(slot->after != NULL, 0))
		slot->after(frame, result);
	if (__builtin_expect(result != 0, 0))
		check_error(result);
}

/*
 * Called by the unwinder when an exception or a thread's end passes through a thunk; the call ends
 * in the second phase. Its frame is then the innermost, since the frames inside it were unwound
 * before.
 */
int nvs_api_personality(int version, int actions, uint64_t class, void *exception, void *context)
{
	const struct nvs_open_calls *c = &nvs_calls;
	struct nvs_api_frame *frame = c->depth ? (void *)c->open[c->depth - 1].sp : NULL;

	/* _UA_CLEANUP_PHASE. The frame of a call that was left by a longjmp may have been
	 * overwritten. */
	if ((actions & 2) && frame && frame->number == c->open[c->depth - 1].number &&
	    frame->depth == c->depth && frame->index < NVS_API_SLOTS &&
	    nvs_api_slots[frame->index].api)
		finish_call(frame, 0, NVS_CALL_UNWOUND, nvs_api_now());
	return 8; /* _URC_CONTINUE_UNWIND */
}
