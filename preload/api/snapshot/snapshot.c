/* SPDX-License-Identifier: MIT */
/* snapshot=: queues the copies around a launch, and records them later. See snapshot.h. */
#include <stdlib.h>
#include <string.h>
#include "preload/api/images/image.h"
#include "preload/api/snapshot/snapshot.h"
#include "preload/base/preload.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"
#include "trap/buffer/calls.h"
#include "trap/buffer/process.h"
#include "trap/low/guard.h"

#define SLOTS 64u
#define PORTABLE 1 /* CU_MEMHOSTREGISTER_PORTABLE */
#define ALIGN 256u
#define CHUNK (256u << 10)
#define MAX_ARGUMENTS 4096u

/* UNLAUNCHED: the launch failed, so that only the copies before it are queued. */
enum { FREE, FILLING, QUEUED, UNLAUNCHED, READING, GIVEN_UP };

/* A launch whose memory is copied. Its part of the page-locked memory begins with two words, which
 * the GPU sets to 1 when the copies before and after the launch are done. */
struct snapshot_slot {
	_Atomic uint32_t state;
	uint32_t thread, nth;
	uint64_t call;
	uint64_t begin, end; /* its part; END 0: none. Under nvs_lock */
	volatile uint32_t *words;
	uint8_t params[NVS_SNAPSHOT_PARAMETERS];
	struct nvs_snapshot_ranges ranges;
	struct {
		uint64_t at; /* offset in its part: the bytes before, and then those after */
		uint32_t reason; /* of both; AFTER_REASON: of the second */
		uint32_t after_reason;
	} copy[NVS_SNAPSHOT_BUFFERS];
};

struct snapshots {
	_Atomic bool failed;
	uint8_t *memory;
	uint64_t bytes;
	struct snapshot_slot slot[SLOTS];
};

static struct snapshots *get_snapshots(void)
{
	return __atomic_load_n(nvs_slot(NVS_SLOT_SNAPSHOT), __ATOMIC_ACQUIRE);
}

/* ---- memory ---- */

static void record_done(uint32_t instead);
static void record_last(void);

void nvs_snapshot_prepare(void)
{
	int (*enlist)(void *, size_t, unsigned) = nvs_api_driver_function("cuMemHostRegister_v2");
	int (*current)(uint64_t *) = nvs_api_driver_function("cuCtxGetCurrent");
	uint64_t context = 0, bytes = nvs_options()->values.snapshot_size;
	struct snapshots *s;
	void *none = NULL, *p;

	NVS_QUIET();
	if (get_snapshots() || !enlist || !current || current(&context) || !context ||
	    atomic_load(&nvs_api_captures) > 0)
		return;
	s = nvs_alloc(sizeof(*s));
	p = s ? nvs_next()->mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0)
	      : MAP_FAILED;
	if (p == MAP_FAILED) {
		nvs_free(s, sizeof(*s));
		return;
	}
	nvs_syscall(SYS_madvise, (long)p, bytes, MADV_DONTFORK, 0, 0, 0);
	s->memory = p;
	s->bytes = enlist(p, bytes, PORTABLE) ? 0 : bytes;
	if (__atomic_compare_exchange_n(nvs_slot(NVS_SLOT_SNAPSHOT), &none, s, false,
					__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		atexit(record_last);
		return;
	}
	/* Another thread was faster. The driver has our memory, so it stays. */
	nvs_free(s, sizeof(*s));
}

static struct snapshot_slot *take_slot(struct snapshots *s)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		uint32_t free = FREE;

		if (atomic_compare_exchange_strong(&s->slot[i].state, &free, FILLING))
			return s->slot + i;
	}
	return NULL;
}

static uint64_t align_up(uint64_t n)
{
	return (n + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

/* Where the bytes of range I are copied to. */
static uint8_t *copy_of(const struct snapshot_slot *slot, uint32_t i, bool after)
{
	uint64_t size = align_up(slot->ranges.range[i].size);

	return (uint8_t *)slot->words + slot->copy[i].at + (after ? size : 0);
}

/* Places the ranges one after the other. OTHERS: end of those into which no parameter points; WHY:
 * the reason of those that have no place then. Returns the size of all. */
static uint64_t lay_out(const struct snapshots *s, struct snapshot_slot *slot, uint64_t others,
			uint32_t why)
{
	uint64_t at = ALIGN;

	for (uint32_t i = 0; i < slot->ranges.n; i++) {
		const struct nvs_snapshot_range *r = slot->ranges.range + i;
		bool other = r->flags & NVS_SNAPSHOT_OTHER;
		uint64_t end = other ? others : s->bytes;
		bool fits = at < end && r->size < end && 2 * align_up(r->size) <= end - at;

		slot->copy[i].at = at;
		slot->copy[i].reason = fits    ? NVS_SNAPSHOT_TAKEN
				       : other ? why
					       : NVS_SNAPSHOT_TOO_LARGE;
		slot->copy[i].after_reason = slot->copy[i].reason;
		at += fits ? 2 * align_up(r->size) : 0;
	}
	return at;
}

/* Returns the slot whose memory BEGIN to END overlaps, or NULL. */
static const struct snapshot_slot *find_overlap(const struct snapshots *s, uint64_t begin,
						uint64_t end)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		if (begin < s->slot[i].end && s->slot[i].begin < end)
			return s->slot + i;
	return NULL;
}

/* Gives SLOT the lowest SIZE free bytes of the first LIMIT. */
static bool place(struct snapshots *s, struct snapshot_slot *slot, uint64_t size, uint64_t limit)
{
	const struct snapshot_slot *other;
	uint64_t begin = 0;

	NVS_LOCK_SCOPE();
	while ((other = find_overlap(s, begin, begin + size)) != NULL)
		begin = other->end;
	if (begin + size > limit)
		return false;
	slot->begin = begin;
	slot->end = begin + size;
	slot->words = (volatile uint32_t *)(s->memory + begin);
	slot->words[0] = slot->words[1] = 0;
	return true;
}

/* Allocations into which no parameter points get half of the memory at most, so that the next
 * launches find some. */
static bool assign_memory(struct snapshots *s, struct snapshot_slot *slot)
{
	uint64_t half = s->bytes / 2;

	return place(s, slot, lay_out(s, slot, half, NVS_SNAPSHOT_TOO_LARGE), half) ||
	       place(s, slot, lay_out(s, slot, 0, NVS_SNAPSHOT_BUSY), s->bytes);
}

static void release_slot(struct snapshot_slot *slot)
{
	{
		NVS_LOCK_SCOPE();
		slot->begin = slot->end = 0;
	}
	atomic_store(&slot->state, FREE);
}

/* ---- the launch ---- */

struct snapshot_launch {
	const struct nvs_api *api;
	struct nvs_snapshot_kernel kernel;
	uint64_t stream, params, extra;
};

/* Places of kernelParams and extra; without EXTRA it is 0. */
static void find_arguments(const struct nvs_api_frame *f, struct snapshot_launch *l)
{
	bool ex = !strncmp(l->api->name, "cuLaunchKernelEx", 16);
	bool cooperative = !strncmp(l->api->name, "cuLaunchCooperative", 19);

	nvs_api_kept(f, l->api, l->api->stream, false, &l->stream);
	l->params = nvs_api_argument(f, ex ? 2 : 9);
	l->extra = cooperative ? 0 : nvs_api_argument(f, ex ? 3 : 10);
}

/* CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE */
static uint32_t read_extra(uint64_t extra, uint8_t *to)
{
	uint64_t key = 1, value, at = 0, size = 0;

	for (uint32_t i = 0; i < 8 && key; i++, extra += 16) {
		if (!nvs_load64_guarded((const uint64_t *)extra, &key) || !key ||
		    !nvs_load64_guarded((const uint64_t *)(extra + 8), &value))
			break;
		if (key == 1)
			at = value;
		else if (key == 2 && !nvs_load64_guarded((const uint64_t *)value, &size))
			size = 0;
	}
	return at && size <= NVS_SNAPSHOT_PARAMETERS &&
			       !nvs_copy_guarded(to, (const void *)at, size)
		       ? (uint32_t)size
		       : 0;
}

/* Returns false if the sizes are unknown. */
static bool read_params(const struct snapshot_launch *l, struct snapshot_slot *slot, uint32_t *size)
{
	int (*info)(uint64_t, size_t, size_t *, size_t *) = nvs_api_driver_function(
		l->kernel.is_kernel ? "cuKernelGetParamInfo" : "cuFuncGetParamInfo");
	size_t offset, bytes;
	uint64_t at;

	*size = 0;
	memset(slot->params, 0, sizeof(slot->params));
	if (l->extra) {
		*size = read_extra(l->extra, slot->params);
		return *size;
	}
	if (!info)
		return false;
	for (uint32_t i = 0; l->params && i < MAX_ARGUMENTS; i++) {
		if (info(l->kernel.function, i, &offset, &bytes))
			break;
		if (offset >= sizeof(slot->params) || bytes > sizeof(slot->params) - offset ||
		    !nvs_load64_guarded((const uint64_t *)(l->params + 8ull * i), &at) ||
		    nvs_copy_guarded(slot->params + offset, (const void *)at, bytes))
			return false;
		*size = (uint32_t)(offset + bytes);
	}
	return true;
}

/* ---- copies ---- */

static void *stream_function(const struct nvs_api *api, const char *name, const char *per_thread)
{
	return nvs_api_driver_function(api->per_thread ? per_thread : name);
}

static bool queue_word(const struct snapshot_launch *l, volatile uint32_t *word)
{
	int (*write)(uint64_t, uint64_t, uint32_t, unsigned) =
		stream_function(l->api, "cuStreamWriteValue32_v2", "cuStreamWriteValue32_v2_ptsz");

	if (!write)
		write = stream_function(l->api, "cuStreamWriteValue32",
					"cuStreamWriteValue32_ptsz");
	return write && !write(l->stream, (uintptr_t)word, 1, 0);
}

/* Returns false if the driver refused the word after them. */
static bool queue_copies(const struct snapshot_launch *l, struct snapshot_slot *slot, bool after)
{
	int (*copy)(uint64_t, uint64_t, size_t, uint64_t) = stream_function(l->api, "cuMemcpyAsync",
									    "cuMemcpyAsync_ptsz");

	for (uint32_t i = 0; i < slot->ranges.n; i++) {
		const struct nvs_snapshot_range *r = slot->ranges.range + i;

		if (slot->copy[i].reason || (copy && !copy((uintptr_t)copy_of(slot, i, after),
							   r->address, r->size, l->stream)))
			continue;
		if (after)
			slot->copy[i].after_reason = NVS_SNAPSHOT_REFUSED;
		else
			slot->copy[i].reason = NVS_SNAPSHOT_REFUSED;
	}
	return queue_word(l, slot->words + after);
}

/* ---- records ---- */

struct snapshot_writer {
	struct nvs_rec_snapshot rec;
	uint8_t data[CHUNK + 8];
};

static void write_piece(struct snapshot_writer *w, uint32_t flags, const void *from, uint32_t bytes)
{
	w->rec.rec.type = NVS_REC_SNAPSHOT;
	w->rec.rec.flags = (uint16_t)flags;
	w->rec.rec.size = (uint32_t)(sizeof(w->rec) + bytes + 7) & ~7u;
	w->rec.bytes = bytes;
	if (bytes)
		memcpy(w->data, from, bytes);
	memset(w->data + bytes, 0, 8);
	nvs_record_write(&w->rec.rec);
}

/* Records one buffer at one moment; REASON: why it has no bytes. */
static void write_buffer(struct snapshot_writer *w, const struct nvs_snapshot_range *r,
			 uint32_t flags, const uint8_t *data, uint32_t reason)
{
	uint32_t largest = nvs_largest_record(), step = CHUNK, n;

	if (largest <= sizeof(w->rec))
		return;
	if (step > largest - sizeof(w->rec))
		step = (largest - (uint32_t)sizeof(w->rec)) & ~7u;
	w->rec.address = r->address;
	w->rec.size = r->size;
	w->rec.offset = 0;
	w->rec.reason = reason;
	flags |= r->flags;
	if (reason) {
		write_piece(w, flags | NVS_SNAPSHOT_LAST, NULL, 0);
		return;
	}
	for (; w->rec.offset < r->size; w->rec.offset += n) {
		n = r->size - w->rec.offset < step ? (uint32_t)(r->size - w->rec.offset) : step;
		write_piece(w, flags | (w->rec.offset + n == r->size ? NVS_SNAPSHOT_LAST : 0),
			    data + w->rec.offset, n);
	}
}

/* INSTEAD: why what the GPU has not finished is missing. */
static void write_slot(const struct snapshot_slot *slot, uint32_t instead)
{
	struct snapshot_writer *w = nvs_alloc(sizeof(*w));

	if (!w)
		return;
	w->rec.thread = slot->thread;
	w->rec.call = slot->call;
	w->rec.nth = slot->nth;
	for (uint32_t i = 0; i < slot->ranges.n; i++) {
		const struct nvs_snapshot_range *r = slot->ranges.range + i;
		uint32_t before = slot->copy[i].reason, after;

		after = before ? before : slot->copy[i].after_reason;
		if (r->name) {
			w->rec.address = r->address;
			w->rec.size = r->size;
			w->rec.offset = w->rec.reason = 0;
			write_piece(w, r->flags | NVS_SNAPSHOT_NAME, r->name,
				    (uint32_t)strnlen(r->name, CHUNK));
		}
		write_buffer(w, r, 0, copy_of(slot, i, false),
			     before || slot->words[0] ? before : instead);
		write_buffer(w, r, NVS_SNAPSHOT_AFTER, copy_of(slot, i, true),
			     after || slot->words[1] ? after : instead);
	}
	nvs_free(w, sizeof(*w));
}

/* Records that a launch was left out as a whole. */
static void write_reason(const struct nvs_api_frame *f, uint32_t nth, uint32_t reason)
{
	struct nvs_rec_snapshot rec = {
		.rec = {NVS_REC_SNAPSHOT, NVS_SNAPSHOT_LAST, sizeof(rec), 0},
		.thread = nvs_tls.thread - 1,
		.reason = reason,
		.call = f->number,
		.nth = nth,
	};

	nvs_record_write(&rec.rec);
}

/* ---- around a launch ---- */

/* What the end of a launch finds in its frame: a slot + 1, or a reason and the launch's number. */
#define WITH_REASON (1ull << 63)

/* True for the Nth launch of the kernel, and for later ones until one is copied. */
static bool is_wanted(const struct nvs_api *api, const struct nvs_api_frame *f,
		      struct snapshot_launch *l, uint32_t *nth)
{
	if (api->launched < 0 ||
	    !nvs_snapshot_kernel(nvs_api_argument(f, api->keep[api->launched].place), &l->kernel))
		return false;
	l->api = api;
	find_arguments(f, l);
	if (nvs_api_is_capturing(api, l->stream))
		return false; /* it is not a launch */
	*nth = atomic_fetch_add(&l->kernel.count->launches, 1) + 1;
	return *nth >= nvs_options()->values.snapshot_nth &&
	       !atomic_exchange(&l->kernel.count->done, true);
}

static uint32_t begin_snapshot(struct snapshots *s, const struct snapshot_launch *l,
			       struct snapshot_slot *slot)
{
	uint32_t size;

	slot->ranges.n = 0;
	if (!read_params(l, slot, &size))
		return NVS_SNAPSHOT_NO_PARAMETERS;
	nvs_snapshot_find_pointers(&slot->ranges, slot->params, size);
	nvs_snapshot_find_variables(&slot->ranges, l->kernel.module,
				    nvs_api_driver_function(l->kernel.of_library
								    ? "cuLibraryGetGlobal"
								    : "cuModuleGetGlobal_v2"));
	nvs_snapshot_find_others(&slot->ranges);
	if (!assign_memory(s, slot))
		return NVS_SNAPSHOT_BUSY;
	return queue_copies(l, slot, false) ? NVS_SNAPSHOT_TAKEN : NVS_SNAPSHOT_REFUSED;
}

static uint32_t try_snapshot(struct snapshots *s, const struct snapshot_launch *l,
			     struct snapshot_slot **slot)
{
	if (!s || !s->bytes)
		return NVS_SNAPSHOT_NO_MEMORY;
	if (atomic_load(&s->failed))
		return NVS_SNAPSHOT_FAILED;
	if (atomic_load(&nvs_api_captures) > 0)
		return NVS_SNAPSHOT_CAPTURING;
	/* The program may wait for the GPU without a call, or not at all. */
	record_done(0);
	*slot = take_slot(s);
	return *slot ? begin_snapshot(s, l, *slot) : NVS_SNAPSHOT_BUSY;
}

void nvs_api_before_launch(struct nvs_api_frame *f)
{
	struct snapshots *s = get_snapshots();
	uint32_t nth = 0, reason;
	struct snapshot_slot *slot = NULL;
	struct snapshot_launch l;

	NVS_QUIET();
	if (nvs_calls.quiet > 1 || !is_wanted(nvs_api_slots[f->index].api, f, &l, &nth))
		return;
	reason = try_snapshot(s, &l, &slot);
	if (!reason) {
		slot->nth = nth;
		f->token = (uint64_t)(slot - s->slot) + 1;
		return;
	}
	/* Copies that were queued may still write to their memory. */
	if (slot && reason == NVS_SNAPSHOT_REFUSED)
		atomic_store(&slot->state, GIVEN_UP);
	else if (slot)
		release_slot(slot);
	if (reason == NVS_SNAPSHOT_BUSY || reason == NVS_SNAPSHOT_CAPTURING)
		atomic_store(&l.kernel.count->done, false);
	f->token = WITH_REASON | (uint64_t)nth << 8 | reason;
}

static void end_snapshot(struct snapshots *s, struct nvs_api_frame *f, struct snapshot_slot *slot,
			 uint32_t result)
{
	struct snapshot_launch l = {.api = nvs_api_slots[f->index].api};
	uint32_t state = result ? UNLAUNCHED : QUEUED;

	slot->thread = nvs_tls.thread - 1;
	slot->call = f->number;
	if (!result && !atomic_load(&s->failed)) {
		find_arguments(f, &l);
		if (!queue_copies(&l, slot, true))
			state = GIVEN_UP;
	}
	if (state != QUEUED)
		write_slot(slot, NVS_SNAPSHOT_FAILED);
	atomic_store(&slot->state, state);
}

void nvs_api_after_launch(struct nvs_api_frame *f, uint32_t result)
{
	struct snapshots *s = get_snapshots();

	if (!f->token)
		return;
	NVS_QUIET();
	if (f->token & WITH_REASON)
		write_reason(f, (uint32_t)(f->token >> 8), f->token & 0xff);
	else if (s)
		end_snapshot(s, f, s->slot + f->token - 1, result);
}

/* ---- later ---- */

/* Records what is done. INSTEAD: nothing more will be done, and why. */
static void record_done(uint32_t instead)
{
	struct snapshots *s = get_snapshots();
	NVS_KEEP_ERRNO();

	for (uint32_t i = 0; s && i < SLOTS; i++) {
		struct snapshot_slot *slot = s->slot + i;
		uint32_t state = atomic_load(&slot->state), last = state == QUEUED;

		if ((state != QUEUED && state != UNLAUNCHED) || (!slot->words[last] && !instead) ||
		    !atomic_compare_exchange_strong(&slot->state, &state, READING))
			continue;
		/* Another thread may have released it, and a launch have taken it, in between. */
		if (!slot->words[last] && !instead) {
			atomic_store(&slot->state, state);
			continue;
		}
		atomic_thread_fence(memory_order_acquire);
		if (state == QUEUED)
			write_slot(slot, instead);
		if (instead) {
			atomic_store(&slot->state, GIVEN_UP);
			continue;
		}
		release_slot(slot);
	}
}

static void record_waited(void)
{
	record_done(0);
}

static void record_failed(void)
{
	struct snapshots *s = get_snapshots();

	if (!s)
		return;
	atomic_store(&s->failed, true);
	record_done(NVS_SNAPSHOT_FAILED);
}

/* Runs before destructors of libraries that were loaded later, such as the driver. */
static void record_last(void)
{
	record_done(NVS_SNAPSHOT_UNFINISHED);
}

static void note_load(const void *image, uint64_t handle)
{
	nvs_snapshot_note_image(image, handle);
	nvs_snapshot_prepare();
}

void nvs_snapshot_start(void)
{
	static const struct nvs_api_snapshots callbacks = {
		.follow = nvs_snapshot_follow,
		.loaded = note_load,
		.got_kernel = nvs_snapshot_got_kernel,
		.waited = record_waited,
		.failed = record_failed,
	};

	if (nvs_options()->values.snapshot[0])
		atomic_store(&nvs_api_snapshots, &callbacks);
}
