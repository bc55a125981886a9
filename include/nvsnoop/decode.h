/* SPDX-License-Identifier: MIT */
/*
 * The decoder's public API: opens a trace with the spool beside it, checks every byte, and hands
 * out what a consumer asks for, in the order of the trace, while a model of the session is kept up.
 * calls.h has calls, launches and graphs, ops.h operations; both come with this header. It is long,
 * since it is the manual of all that is left.
 *
 * Reading is streaming: a frame is unpacked into one reused buffer and what callbacks see points
 * into it, so memory does not grow with the trace. What a callback is given is valid until it
 * returns; what the model hands out (threads, channels, stacks, ...) until nvs_trace_close(),
 * except where said otherwise.
 *
 *	struct nvs_consumer c = {0};
 *	struct nvs_error err;
 *	struct nvs_trace *t;
 *
 *	c.size = sizeof(c);
 *	c.launch = on_launch;
 *	if (nvs_trace_open(&t, "trace.zst", NULL, &err) || nvs_trace_read(t, &c, arg, &err))
 *		fprintf(stderr, "%s\n", err.text);
 *	nvs_trace_close(t);
 *
 * Functions return 0 or -errno and leave one message in ERR that names the file, the offset and
 * what to do. Not thread-safe per trace; several traces may be open at once. The trace may come
 * from a stranger: everything is bounded, nothing is believed. Strings out of a trace may hold any
 * byte but NUL. What the library may allocate is bounded by what it has read, for all traces of the
 * process together: nvs_trace_short().
 *
 * Structures grow at their end. Those that a caller fills begin with their size, so that a library
 * knows what a program that was built before does not ask for; of those that are handed out,
 * nvs_struct_size() tells how much there is. nvs_error, nvs_symbol and nvs_arg, which the
 * library fills in a caller's memory, stay as they are.
 */
#ifndef NVSNOOP_DECODE_H
#define NVSNOOP_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nvsnoop/calls.h"
#include "nvsnoop/ops.h"
#include "nvsnoop/trace.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct nvs_trace;

struct nvs_error {
	char text[1024];
};

/* What one trace may hold at most; more is refused as damage. */
#define NVS_MAX_FRAME (256u << 20) /* bytes of a frame, unpacked */
/* Threads, modules, stacks, channels; live objects, live mappings */
#define NVS_MAX_NUMBER (1u << 20)
/* Bytes of submissions held while they wait for their pieces */
#define NVS_MAX_WHOLE (256u << 20)

/* ---- opening ---- */

struct nvs_read_options {
	size_t size; /* sizeof(struct nvs_read_options) */
	bool partial; /* report the whole frames before a damage instead of failing */
	bool no_spool; /* the file alone */
	const char *spool; /* NULL: FILE.spool, else the path the trace names */
	/* Now and then: compressed bytes read, of how many (0: not known). */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
};

/*
 * Opens PATH ("-": standard input) and reads its header. On success *TRACE is to be closed. OPTIONS
 * may be NULL.
 */
int nvs_trace_open(struct nvs_trace **trace, const char *path,
		   const struct nvs_read_options *options, struct nvs_error *err);
void nvs_trace_close(struct nvs_trace *trace); /* NULL is fine */

/* ---- reading ---- */

/* nvs_submission.marks */
#define NVS_MARK_SPOOL (1u << 0) /* came out of the spool, not the frames */
#define NVS_MARK_LATE (1u << 1) /* rung after the writer had ended */
/* The last of its thread at a kill, or of its channel at the end: perhaps not rung any more */
#define NVS_MARK_UNCERTAIN (1u << 2)
#define NVS_MARK_TORN (1u << 3) /* pieces of it never came: its segments are NVS_SEG_GAP */

struct nvs_submission {
	const struct nvs_rec_submission *rec; /* its fixed part */
	uint64_t number; /* in this trace, from 0, in the order handed out */
	uint32_t nentries;
	uint32_t marks; /* NVS_MARK_* */
	const struct nvs_gp_entry *entries;
	/* Bytes of the NVS_SEG_HERE segments, one after the other; dword-aligned */
	const uint8_t *data;
	size_t ndata;
	struct nvs_trace_thread *thread; /* never NULL */
	struct nvs_trace_channel *channel; /* never NULL */
	uint32_t get; /* GP_GET as the recorder last saw it; NVS_NONE: not recorded */
};

/* One entry of a submission with its bytes. */
struct nvs_segment {
	uint32_t index; /* of the entry */
	uint32_t state; /* enum nvs_segment_state */
	uint64_t entry; /* as in the GPFIFO */
	uint64_t address; /* bits 39:2 of it; the extended base of the channel is not added */
	uint32_t dwords; /* the entry's length; 0: a control entry */
	uint32_t bytes; /* at data, 0 unless NVS_SEG_HERE (then 4 * dwords) */
	const uint32_t *data;
};

struct nvs_segment_iter {
	const struct nvs_submission *submission;
	uint32_t next;
	size_t offset;
};

static inline struct nvs_segment_iter nvs_segments(const struct nvs_submission *s)
{
	struct nvs_segment_iter it = {s, 0, 0};

	return it;
}

static inline bool nvs_segment_next(struct nvs_segment_iter *it, struct nvs_segment *seg)
{
	const struct nvs_submission *s = it->submission;
	const struct nvs_gp_entry *e;

	if (it->next >= s->nentries)
		return false;
	e = &s->entries[it->next];
	seg->index = it->next++;
	seg->state = e->state;
	seg->entry = e->entry;
	seg->dwords = (uint32_t)(e->entry >> 42) & 0x1fffff;
	seg->address = e->entry & 0xfffffffffcull;
	seg->bytes = e->state == NVS_SEG_HERE ? e->bytes : 0;
	seg->data = seg->bytes ? (const uint32_t *)(const void *)(s->data + it->offset) : NULL;
	it->offset += seg->bytes;
	return true;
}

/* Bytes of commands: what is here, what follows in pieces, and what level=headers left out. */
static inline uint64_t nvs_submission_bytes(const struct nvs_submission *s)
{
	uint64_t bytes = s->ndata;

	for (uint32_t i = 0; i < s->nentries; i++)
		if (s->entries[i].state == NVS_SEG_FOLLOWS ||
		    s->entries[i].state == NVS_SEG_SKIPPED)
			bytes += s->entries[i].bytes;
	return bytes;
}

/* Were some of its segments left out by choice, so that what they do is not known? */
static inline bool nvs_submission_skipped(const struct nvs_submission *s)
{
	for (uint32_t i = 0; i < s->nentries; i++)
		if (s->entries[i].state == NVS_SEG_SKIPPED)
			return true;
	return false;
}

/* One operation, and what it belongs to. */
struct nvs_operation {
	const struct nvs_op *op;
	const struct nvs_submission *submission;
	const struct nvs_call *call; /* NULL: none is known, or not asked for */
	const struct nvs_grid *grid; /* of a launch whose descriptor is known, else NULL */
};

/* Code that a call gave to the driver, with code=on. */
struct nvs_trace_image {
	uint32_t image; /* number, one a content; NVS_NONE: its bytes could not be had */
	uint32_t kind; /* enum nvs_code_kind */
	uint32_t flags; /* NVS_IMAGE_* */
	uint32_t thread; /* of the call; NVS_NONE: not known */
	uint64_t call; /* its number on the thread */
	uint64_t handle; /* CUmodule, CUlibrary; of cuLinkComplete the CUlinkState */
	uint64_t time; /* ticks */
	uint64_t given, size; /* bytes, as the driver was given it, and as kept */
	/* Its bytes, where this load is the one that they were told with: then WHOLE, or as many as
	 * the trace holds. NULL: another load has them, or none. */
	const uint8_t *data;
	uint64_t ndata;
	bool whole;
};

struct nvs_finding;

/* nvs_consumer.flags */
/* Asks for the call in submission() and operation(). */
#define NVS_READ_CALLS (1u << 0)
/* Asks for the tallies of calls: what their submissions do is looked at. */
#define NVS_READ_TALLIES (1u << 1)

/*
 * Callbacks may be NULL: nothing is decoded that none of them asks for. What they return ends the
 * reading unless it is 0, and is what nvs_trace_read() returns: > 0 for "seen enough", -errno for a
 * failure of theirs.
 */
struct nvs_consumer {
	size_t size; /* sizeof(struct nvs_consumer) */
	uint32_t flags; /* NVS_READ_* */
	/* In order of sequence within a channel, in order of time otherwise. CALL: the one it
	 * happened in, NULL: none is known, or not asked for. */
	int (*submission)(void *arg, struct nvs_trace *trace, const struct nvs_submission *s,
			  const struct nvs_call *call);
	/* What a submission does, behind it. */
	int (*operation)(void *arg, struct nvs_trace *trace, const struct nvs_operation *op);
	/* A call that is over; one that never returned, at the end. */
	int (*call)(void *arg, struct nvs_trace *trace, const struct nvs_call *call);
	/* A call that launches a kernel, as it does; of graphs, see graph(). */
	int (*launch)(void *arg, struct nvs_trace *trace, const struct nvs_launch *launch);
	/* An executable graph that has been made, changed or launched. */
	int (*graph)(void *arg, struct nvs_trace *trace, const struct nvs_graph *graph);
	/*
	 * Every other record of a known type (not DATA, FRAME and PAD), checked, and after the
	 * model has taken it in; what goes (OBJECT_GONE, ..MAP_GONE) before the model drops it.
	 */
	int (*record)(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec);
	/* What stands between this trace and "whole"; at the end, one after the other. */
	int (*finding)(void *arg, struct nvs_trace *trace, const struct nvs_finding *finding);
	/* A load of code, when its bytes are there. */
	int (*image)(void *arg, struct nvs_trace *trace, const struct nvs_trace_image *image);
};

/*
 * Reads the trace from its first record to its last, then what the spool adds. May be called again
 * where the input can be read again (not "-"): objects and mappings start anew then, as do the
 * counts, while threads, modules, stacks, the clock and the channels' life stay known. So a second
 * pass knows what came after its use in the stream: names of threads, stacks, symbols. CONSUMER and
 * ERR may be NULL.
 */
int nvs_trace_read(struct nvs_trace *trace, const struct nvs_consumer *consumer, void *arg,
		   struct nvs_error *err);

/* Was memory or time asked for that a trace of this size may not take? Then not all was told. */
bool nvs_trace_short(void);

/* Bytes of a structure as this library has it, by its name ("nvs_call"); 0: no such one. */
size_t nvs_struct_size(const char *name);

/* ---- the session ---- */

/* How the trace ends, known after a whole read. */
enum nvs_trace_end {
	NVS_END_UNKNOWN = 0, /* not read to the end yet */
	NVS_END_ORDERLY = 1, /* END was seen */
	/* No END: the program was killed, or runs on where that cannot be seen */
	NVS_END_CRASH = 2,
	NVS_END_DAMAGED = 3, /* read with partial up to a damage */
	/* It is still being written: read up to its last whole frame at opening */
	NVS_END_RUNNING = 4,
};

struct nvs_counts {
	uint64_t submissions; /* NVS_SUB_CONTINUED ones are part of the one before */
	uint64_t entries;
	uint64_t segments, bytes; /* recorded whole, or left out by choice (NVS_SEG_SKIPPED) */
	uint64_t gaps; /* GAP records */
	uint64_t lost_submissions, lost_bytes; /* as these say */
	uint64_t skipped_submissions, skipped_bytes; /* likewise, but by the user's choice */
	uint64_t orphans;
	uint64_t spooled; /* submissions that came out of the spool */
	uint64_t late;
	uint64_t uncertain;
	uint64_t torn;
};

#define NVS_ATTR_COUNT 32

struct nvs_session {
	const char *path; /* as opened */
	struct nvs_rec_header header;
	const char *attr[NVS_ATTR_COUNT]; /* by enum nvs_attr; NULL: not given */
	uint32_t attr_length[NVS_ATTR_COUNT]; /* NVS_ATTR_COMMAND holds NULs */
	uint64_t first_time; /* ticks: the header's, or of the earliest call or range that began
				before it */
	uint64_t last_time; /* the latest of any record */
	uint64_t first_submission, last_submission; /* ticks */
	struct nvs_counts counts;
	bool has_totals;
	struct nvs_rec_totals totals;
	struct nvs_counts at_totals; /* our own counts when TOTALS came */
	enum nvs_trace_end end;
	bool spool_read; /* a spool of this session was there */
	uint64_t frames; /* whole ones read */
	uint64_t file_bytes; /* size of the file; where that is not known, what was read of it */
	uint64_t raw_bytes; /* read so far; 0: none */
	uint64_t unknown_records;
	bool newer_driver; /* its release is newer than all that the library knew */
};

const struct nvs_session *nvs_trace_session(const struct nvs_trace *trace);
/* Which part of the run the trace holds where that is not all of it, in words, after a whole read;
 * NULL: all. */
const char *nvs_trace_part(const struct nvs_trace *trace);
/* It holds none of it: what switches recording on never came. After a whole read. */
bool nvs_trace_never_on(const struct nvs_trace *trace);

/* Submissions and bytes of commands that the trace tells of: with level=counts those that were only
 * counted. */
static inline uint64_t nvs_submissions_told(const struct nvs_session *s)
{
	/* A gap counts one of more than 512 entries as several. */
	uint64_t skipped = s->has_totals ? s->totals.skipped : s->counts.skipped_submissions;

	return s->counts.submissions + (s->header.flags & NVS_HDR_COUNTS ? skipped : 0);
}

static inline uint64_t nvs_bytes_told(const struct nvs_session *s)
{
	return s->counts.bytes + (s->header.flags & NVS_HDR_COUNTS ? s->counts.skipped_bytes : 0);
}

/*
 * Ticks to nanoseconds, by the calibration points read so far (a first pass makes them all known):
 * since first_time, which a first pass makes known, of CLOCK_MONOTONIC, and since 1970. Between
 * points linear, outside by the nearest two. False (and *ns 0) where the trace holds too few points
 * to tell. Times since first_time are kept within 2^62, so that two of them can be subtracted.
 */
bool nvs_clock_since_start(const struct nvs_trace *trace, uint64_t ticks, int64_t *ns);
bool nvs_clock_mono(const struct nvs_trace *trace, uint64_t ticks, uint64_t *ns);
bool nvs_clock_real(const struct nvs_trace *trace, uint64_t ticks, uint64_t *ns);

/* ---- the model ---- */

struct nvs_trace_thread {
	uint32_t thread; /* number */
	uint32_t tid; /* 0: no THREAD record yet */
	char name[17];
	uint64_t submissions;
};

struct nvs_trace_channel {
	uint32_t channel; /* number */
	bool known; /* a CHANNEL record was seen; else only the numbers below count */
	bool gone;
	struct nvs_rec_channel rec; /* the latest */
	struct nvs_rec_channel_gone gone_rec;
	uint64_t alloc_time, free_time; /* ticks; free_time 0: not freed */
	/* Chain: what the next submission has to carry on. */
	uint64_t next_sequence;
	uint32_t next_put;
	uint32_t breaks; /* submissions that did not */
	struct nvs_counts counts;
	uint64_t progress_address;
	/* How far the GPU was when that was last looked at: at the channel's end, or while a
	 * process runs that was not to end; address 0: not known. After a whole read. */
	struct nvs_channel_done done;
	uint64_t done_time; /* ticks of that look */
	uint32_t done_get; /* GP_GET then, NVS_NONE: not known */
};

struct nvs_trace_module {
	uint32_t module;
	uint32_t build_id_length; /* bytes */
	const char *path;
	const uint8_t *build_id;
	uint64_t bias; /* run-time address minus address in the file */
	uint64_t start, end; /* addresses covered, end excluded */
	uint64_t time; /* ticks when it was noticed */
	uint64_t gone_time; /* UINT64_MAX: until the end */
};

struct nvs_trace_stack {
	uint32_t stack;
	uint32_t nframes;
	uint64_t time;
	const uint64_t *pc; /* [0] the store itself, then return addresses */
};

/* Live only: pointers are good until the record that frees it has been handed out. */
struct nvs_trace_object {
	uint32_t client, handle, parent;
	uint32_t object_class; /* 0xc86f */
	uint32_t gpu;
	uint32_t source_client, source_handle; /* for a duplicate, else 0 */
	uint32_t params_length; /* bytes */
	const uint8_t *params; /* the allocation parameters as they stood after the call */
	uint64_t time; /* ticks */
};

struct nvs_mapping {
	uint32_t map;
	uint32_t kind; /* enum nvs_map_kind; 0 for a GPU mapping */
	uint32_t flags; /* NVS_MAP_* */
	uint32_t vaspace; /* GPU mappings */
	uint32_t client, handle, object_class, gpu;
	uint64_t address, size, offset;
	uint64_t time;
};

/* By number; NULL where there is none. Numbers run from 0 to the count, with holes perhaps. */
struct nvs_trace_thread *nvs_trace_thread_at(const struct nvs_trace *trace, uint32_t number);
struct nvs_trace_channel *nvs_trace_channel_at(const struct nvs_trace *trace, uint32_t number);
struct nvs_trace_module *nvs_trace_module_at(const struct nvs_trace *trace, uint32_t number);
struct nvs_trace_stack *nvs_trace_stack_at(const struct nvs_trace *trace, uint32_t number);
uint32_t nvs_trace_thread_count(const struct nvs_trace *trace);
uint32_t nvs_trace_channel_count(const struct nvs_trace *trace);
uint32_t nvs_trace_module_count(const struct nvs_trace *trace);
uint32_t nvs_trace_stack_count(const struct nvs_trace *trace);
/* The latest channel that was told to have this handle; NULL: none. */
const struct nvs_trace_channel *nvs_trace_channel_of(const struct nvs_trace *trace, uint32_t client,
						     uint32_t handle);

uint32_t nvs_trace_gpu_count(const struct nvs_trace *trace);
/* In the order first seen. */
const struct nvs_rec_gpu *nvs_trace_gpu_at(const struct nvs_trace *trace, uint32_t index);
const struct nvs_rec_gpu *nvs_trace_gpu(const struct nvs_trace *trace, uint32_t gpu);

const struct nvs_trace_object *nvs_trace_object(const struct nvs_trace *trace, uint32_t client,
						uint32_t handle);
/* Every live object of CLIENT below PARENT, oldest first; fn's first nonzero ends it and is
 * returned. */
int nvs_trace_children(const struct nvs_trace *trace, uint32_t client, uint32_t parent,
		       int (*fn)(void *arg, const struct nvs_trace_object *object), void *arg);

/* The live mapping an address lies in: of VASPACE or the process-wide one; NULL: none. */
const struct nvs_mapping *nvs_trace_gpu_map(const struct nvs_trace *trace, uint32_t vaspace,
					    uint64_t address);
const struct nvs_mapping *nvs_trace_cpu_map(const struct nvs_trace *trace, uint64_t address);
/* A live CPU mapping by its number (a submission's doorbell). */
const struct nvs_mapping *nvs_trace_cpu_map_at(const struct nvs_trace *trace, uint32_t map);

/* ---- call sites ---- */

/* Where an address lies. Strings live as long as the trace; name NULL: no symbol covers it. */
struct nvs_symbol {
	const struct nvs_trace_module *module; /* NULL: in none that is known */
	const char *file; /* last part of the module's path, NULL without one */
	const char *name; /* demangled */
	bool exported; /* from .dynsym */
	uint64_t offset; /* from the symbol's start, else from the module's */
};

/* PC as it is (not pc-1), at TIME in ticks. */
void nvs_symbol_find(struct nvs_trace *trace, uint64_t pc, uint64_t time,
		     struct nvs_symbol *symbol);

/* What a stack says about its submission; made once a stack. */
struct nvs_callsite {
	/* "cuLaunchKernel"; without an entry point "libcuda.so.1 < cufftExecC2C", by who called
	 * libcuda; never NULL */
	const char *api;
	const char *runtime_api; /* "cudaLaunchKernel"; "" where there is none */
	const char *site; /* the program's own frame, "main+0x1f", "ns::f(int)+0x1f"; "" where not
			   * known */
	const char *site_module; /* file name of its module, "" where not known */
	bool is_public; /* api is a public entry point */
	uint32_t site_frame; /* index in the stack, NVS_NONE where not known */
};

/* STACK may be any number, NVS_NONE too. Call it once the stack is known: in a second pass, or at
 * the end. */
const struct nvs_callsite *nvs_trace_callsite(struct nvs_trace *trace, uint32_t stack);

/*
 * "file.cpp:12" of the program's own frame; "" where not known: by libdw, where that is installed,
 * from debug information with the build-id of the trace. Lives as long as the trace. Asks a child
 * process, as demangling does, which is gone when the trace is closed.
 */
const char *nvs_trace_callsite_line(struct nvs_trace *trace, uint32_t stack);

/* A C++ or Rust name as its source writes it; any other as it is. Lives as long as the trace. */
const char *nvs_trace_demangle(struct nvs_trace *trace, const char *name);

/* Files whose build-id differed from the trace's, or that could not be read: one line each; NULL at
 * the end. */
const char *nvs_trace_symbol_note(const struct nvs_trace *trace, uint32_t index);

/* ---- calls that had not returned when the trace ended ---- */

struct nvs_inflight {
	uint32_t thread;
	uint32_t depth; /* 1: the outermost of its thread */
	const char *api; /* "" where the trace does not say */
	/* Ticks; end: of the trace, or the last that was heard of the process */
	uint64_t begin, end;
	uint64_t number; /* of the call on its thread */
	uint32_t stack; /* NVS_NONE: not known */
};

/* After a whole read; NULL behind the last. */
const struct nvs_inflight *nvs_trace_inflight(const struct nvs_trace *trace, uint32_t index);

/* ---- is it whole? ---- */

enum nvs_finding_kind {
	NVS_FINDING_PROBLEM = 1, /* something is missing */
	NVS_FINDING_REMARK = 2, /* something the page cannot show, or worth knowing */
	NVS_FINDING_NOTE = 3, /* as it always is on such a machine, or as the user chose */
};

struct nvs_finding {
	enum nvs_finding_kind kind;
	const char *text; /* one line, control characters escaped */
	uint64_t count; /* how often */
};

/*
 * After a whole read: what stands between this trace and "whole". NULL behind the last. At most a
 * thousand lines are kept; nvs_trace_problems() counts all.
 */
const struct nvs_finding *nvs_trace_finding(const struct nvs_trace *trace, uint32_t index);
uint64_t nvs_trace_problems(const struct nvs_trace *trace);
/* For further checks of a consumer's own. printf-like; the text is escaped here. */
void nvs_trace_add_finding(struct nvs_trace *trace, enum nvs_finding_kind kind, const char *format,
			   ...) __attribute__((format(printf, 3, 4)));

/* ---- odds and ends ---- */

const char *nvs_gap_reason_name(uint32_t reason); /* "unmapped", "fault", ... or "?" */
/* SRC with control characters and invalid UTF-8 as \xNN, cut to fit; returns DST. */
char *nvs_escape(char *dst, size_t room, const char *src, size_t length);
/* Length of the character that TEXT begins with, and which it is; 0: it begins with none. */
size_t nvs_utf8(const char *text, size_t room, uint32_t *code);
bool nvs_printable(uint32_t code);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
