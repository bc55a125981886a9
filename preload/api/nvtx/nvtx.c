/* SPDX-License-Identifier: MIT */
/*
 * Functions that NVTX calls: each range that begins or ends and each mark becomes one record.
 * Layouts and numbers are those of NVTX 3 (public headers nvToolsExt.h and nvtxTypes.h); those of
 * NVTX 2 are a subset.
 */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include "preload/api/intercept/api.h"
#include "preload/api/nvtx/nvtx.h"
#include "preload/base/preload.h"
#include "preload/live/live.h"
#include "trap/buffer/process.h"
#include "trap/low/guard.h"

#define DOMAINS 32 /* domains with a nesting depth; ranges in others have none */
#define NOT_COUNTED (-2) /* value that push and pop return without a tool */

/* nvtxEventAttributes_t. Its size field says how much of it is present. */
struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type; /* 1: ARGB */
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	union {
		uint64_t u64;
		double f64;
		uint32_t u32;
		int32_t i32;
		float f32;
	} payload;
	int32_t message_type;
	const void *message;
};

enum message { MESSAGE_NONE, MESSAGE_CHAR, MESSAGE_WIDE, MESSAGE_REGISTERED };

/* nvtxDomainHandle_t, nvtxStringHandle_t: our numbers */
typedef const void *handle;

struct nvtx_event {
	struct nvs_rec_nvtx rec;
	char text[NVS_NVTX_TEXT + 1];
};

static __thread uint32_t depths[DOMAINS];
static _Atomic uint64_t started; /* number of ids assigned */
static _Atomic uint32_t attached;

bool nvs_nvtx_live(void)
{
	return nvs_session_is_active() && nvs_trap_is_started();
}

/* ---- strings of the program, as far as they are readable ---- */

static uint32_t copy_chars(char *to, const char *s)
{
	uint32_t n = 0;

	while (s && n < NVS_NVTX_TEXT) {
		uint32_t part = 64 - ((uintptr_t)(s + n) & 63);
		const char *end;

		if (part > NVS_NVTX_TEXT - n)
			part = NVS_NVTX_TEXT - n;
		if (nvs_copy_guarded(to + n, s + n, part))
			break;
		end = memchr(to + n, 0, part);
		if (end)
			return (uint32_t)(end - to);
		n += part;
	}
	return n;
}

/* Encodes C as UTF-8. Returns the number of bytes. */
static uint32_t encode_utf8(char to[4], uint32_t c)
{
	uint32_t more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

	if (!more) {
		to[0] = (char)c;
		return 1;
	}
	for (uint32_t i = more; i; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)((0xff80u >> more & 0xff) | c);
	return more + 1;
}

static uint32_t copy_wide(char *to, const wchar_t *s)
{
	uint32_t n = 0, c;

	while (s && n + 4 <= NVS_NVTX_TEXT && nvs_load32_guarded((const uint32_t *)s++, &c) && c)
		n += encode_utf8(to + n, c < 0x110000 ? c : 0xfffd);
	return n;
}

static uint32_t take_text(char *to, enum message type, const void *s)
{
	return type == MESSAGE_CHAR   ? copy_chars(to, s)
	       : type == MESSAGE_WIDE ? copy_wide(to, s)
				      : 0;
}

/* ---- records ---- */

/* Works for both layouts: begin and end start with the same fields. */
static void write_record(struct nvs_rec *rec, uint16_t type, uint32_t flags, uint32_t size)
{
	struct nvs_rec_nvtx_end *r = (void *)rec;

	rec->type = type;
	rec->flags = (uint16_t)flags;
	rec->size = size;
	if (!nvs_nvtx_live()) {
		r->at = nvs_api_now();
		r->thread = NVS_NONE;
		nvs_api_store_early(rec);
	} else if (!atomic_load_explicit(&nvs_writer_signal.ended, memory_order_relaxed)) {
		nvs_buffer_own();
		r->thread = nvs_tls.thread - 1;
		nvs_record_write(rec);
	}
}

_Static_assert(offsetof(struct nvs_rec_nvtx, tid) == offsetof(struct nvs_rec_nvtx_end, tid),
	       "both begin with the same fields");

static void write_event(struct nvtx_event *e, uint16_t type, uint32_t flags)
{
	uint32_t n = e->rec.length;

	memset(e->text + n, 0, 8 - n % 8);
	write_record(&e->rec.rec, type, flags, (uint32_t)(sizeof(e->rec) + n + 7) & ~7u);
}

static void write_end(uint32_t domain, uint32_t flags, uint64_t id)
{
	struct nvs_rec_nvtx_end end = {.domain = domain, .id = id};

	write_record(&end.rec, NVS_REC_NVTX_END, flags, sizeof(end));
}

static uint32_t domain_of(handle domain)
{
	uint64_t n = (uintptr_t)domain;

	return !n || nvs_nvtx_is_assigned(NVS_NVTX_DOMAIN, n) ? (uint32_t)n : NVS_NONE;
}

static void set_payload(struct nvs_rec_nvtx *rec, const struct attributes *a)
{
	double real = a->payload_type == 6 ? (double)a->payload.f32 : a->payload.f64;

	switch (a->payload_type) {
	case 1:
	case 4:
		rec->payload_type = NVS_NVTX_PAYLOAD_UNSIGNED;
		rec->payload = a->payload_type == 1 ? a->payload.u64 : a->payload.u32;
		break;
	case 2:
	case 5:
		rec->payload_type = NVS_NVTX_PAYLOAD_SIGNED;
		rec->payload = a->payload_type == 2 ? a->payload.u64
						    : (uint64_t)(int64_t)a->payload.i32;
		break;
	case 3:
	case 6:
		rec->payload_type = NVS_NVTX_PAYLOAD_DOUBLE;
		memcpy(&rec->payload, &real, sizeof(real));
		break;
	}
}

/* Reads ATTRIBUTES, which may be shorter than our structure. Returns record flags. */
static uint32_t set_attributes(struct nvtx_event *e, const struct attributes *attributes)
{
	struct attributes a = {0};
	uint32_t head = 0, size;

	if (!attributes || !nvs_load32_guarded((const uint32_t *)(const void *)attributes, &head))
		return 0;
	size = head >> 16 < sizeof(a) ? head >> 16 : sizeof(a);
	nvs_copy_guarded(&a, attributes, size);
	e->rec.category = a.category;
	set_payload(&e->rec, &a);
	if (a.message_type == MESSAGE_REGISTERED &&
	    nvs_nvtx_is_assigned(NVS_NVTX_STRING, (uintptr_t)a.message))
		e->rec.string = (uint32_t)(uintptr_t)a.message;
	e->rec.length = take_text(e->text, (enum message)a.message_type, a.message);
	e->rec.color = a.color_type == 1 ? a.color : 0;
	return a.color_type == 1 ? NVS_NVTX_COLOR : 0;
}

/* The event has either a MESSAGE or ATTRIBUTES. Returns record flags. */
static uint32_t set_event(struct nvtx_event *e, uint32_t domain, enum message type,
			  const void *message, const struct attributes *attributes)
{
	memset(&e->rec, 0, sizeof(e->rec));
	e->rec.domain = domain;
	if (type == MESSAGE_NONE)
		return set_attributes(e, attributes);
	e->rec.length = take_text(e->text, type, message);
	return 0;
}

static void mark_event(uint32_t domain, enum message type, const void *message,
		       const struct attributes *a)
{
	struct nvtx_event e;
	uint32_t flags = set_event(&e, domain, type, message, a);

	write_event(&e, NVS_REC_NVTX_MARK, flags);
}

static uint64_t start_range(uint32_t domain, enum message type, const void *message,
			    const struct attributes *a)
{
	struct nvtx_event e;
	uint32_t flags = set_event(&e, domain, type, message, a);

	e.rec.id = atomic_fetch_add_explicit(&started, 1, memory_order_relaxed) + 1;
	write_event(&e, NVS_REC_NVTX_BEGIN, flags);
	return e.rec.id;
}

/* ---- the thread's current ranges, for the live page ---- */

static struct nvs_live_slot *own_slot(void)
{
	const struct nvs_buffer *buffer = nvs_nvtx_live() ? nvs_tls.buffer : NULL;

	/* In a forked child the buffers are wiped. */
	return buffer && buffer->shared ? buffer->live : NULL;
}

static void show_push(const struct nvtx_event *e)
{
	struct nvs_live_slot *slot = own_slot();
	struct nvs_live_range *range;
	uint32_t n, length;

	if (!slot)
		return;
	n = slot->nranges;
	if (n < NVS_LIVE_RANGES) {
		range = &slot->ranges[n];
		length = e->rec.length < sizeof(range->name) ? e->rec.length
							     : (uint32_t)sizeof(range->name) - 1;
		__atomic_store_n(&slot->ranges_sequence, slot->ranges_sequence + 1,
				 __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		range->begin = nvs_api_now();
		memcpy(range->name, e->text, length);
		range->name[length] = '\0';
		__atomic_store_n(&slot->ranges_sequence, slot->ranges_sequence + 1,
				 __ATOMIC_RELEASE);
	}
	__atomic_store_n(&slot->nranges, n + 1, __ATOMIC_RELEASE);
}

static void show_pop(void)
{
	struct nvs_live_slot *slot = own_slot();

	if (slot && slot->nranges)
		__atomic_store_n(&slot->nranges, slot->nranges - 1, __ATOMIC_RELEASE);
}

static int push_range(uint32_t domain, enum message type, const void *message,
		      const struct attributes *a)
{
	struct nvtx_event e;
	uint32_t flags = set_event(&e, domain, type, message, a) | NVS_NVTX_PUSHED;

	if (domain < DOMAINS) {
		e.rec.id = depths[domain]++;
		flags |= NVS_NVTX_DEPTH;
	}
	write_event(&e, NVS_REC_NVTX_BEGIN, flags);
	show_push(&e);
	return domain < DOMAINS ? (int)e.rec.id : NOT_COUNTED;
}

static int pop_range(uint32_t domain)
{
	show_pop();
	if (domain >= DOMAINS) {
		write_end(domain, NVS_NVTX_PUSHED, 0);
		return NOT_COUNTED;
	}
	if (!depths[domain]) {
		write_end(domain, NVS_NVTX_PUSHED | NVS_NVTX_DEPTH, UINT64_MAX);
		return NOT_COUNTED;
	}
	write_end(domain, NVS_NVTX_PUSHED | NVS_NVTX_DEPTH, --depths[domain]);
	return (int)depths[domain];
}

static uint32_t register_name(enum nvs_nvtx_name_kind kind, uint32_t number, uint32_t domain,
			      enum message type, const void *s)
{
	char text[NVS_NVTX_TEXT + 1];

	return nvs_nvtx_name(kind, number, domain, text, take_text(text, type, s));
}

/* ---- NVTX entry points: default domain or any domain, char or wchar_t ---- */

/* An event, by attributes and by text in char and wchar_t; by attributes in any domain. */
#define EVENT_FORMS(type, name, function)                                         \
	static type name##_ex(const struct attributes *a)                         \
	{                                                                         \
		return function(0, MESSAGE_NONE, NULL, a);                        \
	}                                                                         \
	static type name##_a(const char *s)                                       \
	{                                                                         \
		return function(0, MESSAGE_CHAR, s, NULL);                        \
	}                                                                         \
	static type name##_w(const wchar_t *s)                                    \
	{                                                                         \
		return function(0, MESSAGE_WIDE, s, NULL);                        \
	}                                                                         \
	static type domain_##name##_ex(handle domain, const struct attributes *a) \
	{                                                                         \
		return function(domain_of(domain), MESSAGE_NONE, NULL, a);        \
	}

EVENT_FORMS(void, mark, mark_event)
EVENT_FORMS(uint64_t, start, start_range)
EVENT_FORMS(int, push, push_range)

static void end_range(uint64_t id)
{
	write_end(0, 0, id);
}

static int pop_default(void)
{
	return pop_range(0);
}

static void domain_end(handle domain, uint64_t id)
{
	write_end(domain_of(domain), 0, id);
}

static int domain_pop(handle domain)
{
	return pop_range(domain_of(domain));
}

/* The functions that register a name, by text in char or wchar_t. */
#define NAME_FORMS(suffix, character, message)                                                     \
	static void category_##suffix(uint32_t category, const character *s)                       \
	{                                                                                          \
		register_name(NVS_NVTX_CATEGORY, category, 0, message, s);                         \
	}                                                                                          \
	static void domain_category_##suffix(handle domain, uint32_t category, const character *s) \
	{                                                                                          \
		register_name(NVS_NVTX_CATEGORY, category, domain_of(domain), message, s);         \
	}                                                                                          \
	static handle register_##suffix(handle domain, const character *s)                         \
	{                                                                                          \
		return (handle)(uintptr_t)register_name(NVS_NVTX_STRING, 0, domain_of(domain),     \
							message, s);                               \
	}                                                                                          \
	static handle create_##suffix(const character *s)                                          \
	{                                                                                          \
		return (handle)(uintptr_t)register_name(NVS_NVTX_DOMAIN, 0, 0, message, s);        \
	}

NAME_FORMS(a, char, MESSAGE_CHAR)
NAME_FORMS(w, wchar_t, MESSAGE_WIDE)

/* ---- injection into a copy of NVTX ---- */

typedef void (*function)(void);

/* Indexed by enum NvtxCallbackIdCore and NvtxCallbackIdCore2. Entries that are NULL keep NVTX's
 * empty functions. */
static const function core[] = {
	NULL,
	(function)mark_ex,
	(function)mark_a,
	(function)mark_w,
	(function)start_ex,
	(function)start_a,
	(function)start_w,
	(function)end_range,
	(function)push_ex,
	(function)push_a,
	(function)push_w,
	(function)pop_default,
	(function)category_a,
	(function)category_w,
};
static const function core2[] = {
	NULL,
	(function)domain_mark_ex,
	(function)domain_start_ex,
	(function)domain_end,
	(function)domain_push_ex,
	(function)domain_pop,
	NULL,
	NULL,
	(function)domain_category_a,
	(function)domain_category_w,
	(function)register_a,
	(function)register_w,
	(function)create_a,
	(function)create_w,
};

/* NvtxExportTableCallbacks */
struct callbacks {
	size_t size;
	int (*get_functions)(int module, function ***table, unsigned *entries);
};
enum { TABLE_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };

static bool fill_table(const struct callbacks *c, int module, const function *own, unsigned n)
{
	function **table = NULL;
	unsigned entries = 0;

	if (!c->get_functions(module, &table, &entries) || !table)
		return false;
	for (unsigned i = 0; i < n && i < entries; i++)
		if (own[i] && table[i])
			*table[i] = own[i];
	return true;
}

int nvs_nvtx_attach(const void *(*get_table)(uint32_t id))
{
	const char *wanted = getenv(NVS_ENV_NVTX);
	const struct callbacks *c;

	/* An empty value names the program itself, in which the loader also finds our function. */
	if (nvs_options()->disabled || !nvs_is_preloaded() || !get_table || (wanted && !*wanted))
		return 0;
	c = get_table(TABLE_CALLBACKS);
	if (!c || c->size < sizeof(*c) ||
	    !fill_table(c, MODULE_CORE, core, sizeof(core) / sizeof(*core)))
		return 0;
	/* Early versions of NVTX had no domains. */
	fill_table(c, MODULE_CORE2, core2, sizeof(core2) / sizeof(*core2));
	atomic_fetch_add(&attached, 1);
	return 1;
}

uint32_t nvs_nvtx_attached(void)
{
	return atomic_load(&attached);
}
