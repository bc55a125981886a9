/* SPDX-License-Identifier: MIT */
/*
 * The decoder's public API: opens a trace and its spool, checks every byte, and passes what a
 * consumer asks for to its callbacks, in the order of the trace, while it maintains a model of the
 * session. calls.h (calls, launches, graphs) and ops.h (operations) are included by this header.
 */
#ifndef NVSNOOP_DECODE_H
#define NVSNOOP_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nvsnoop/calls.h"
#include "nvsnoop/ops.h"
#include "nvsnoop/trace.h"

/*
 * Reading is streaming: a frame is unpacked into one reused buffer to which the callbacks'
 * arguments point, so memory does not grow with the trace. The arguments of a callback are valid
 * until it returns; objects of the model (threads, channels, stacks, ...) until nvs_trace_close(),
 * except where stated otherwise.
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
 * Functions return 0 or -errno, with a message in ERR that names the file, the offset and what to
 * do. A trace may be used by one thread at a time; several traces may be open at once. The trace
 * may come from a stranger: everything is bounded and nothing is trusted. Strings from a trace may
 * contain any byte except NUL. The memory that the library allocates is bounded by the amount it
 * has read, for all traces of the process together: nvs_trace_short().
 *
 * Structures grow at their end. Those that a caller fills begin with their size, so that the
 * library knows which fields a program built with an older version has; for those that the library
 * returns, nvs_struct_size() gives the size. nvs_error, nvs_symbol and nvs_arg, which the library
 * fills in a caller's memory, never change.
 */
#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct nvs_trace;

struct nvs_error {
	char text[1024];
};

/* Limits of a trace; a trace that exceeds one is rejected as damaged. */
#define NVS_MAX_FRAME (256u << 20) /* bytes of a frame, unpacked */
/* Threads, modules, stacks, channels; live objects, live mappings */
#define NVS_MAX_NUMBER (1u << 20)
/* Bytes of submissions that wait for their pieces */
#define NVS_MAX_WHOLE (256u << 20)

/* ---- opening ---- */

struct nvs_read_options {
	size_t size; /* sizeof(struct nvs_read_options) */
	bool partial; /* report the whole frames before a damaged place instead of failing */
	bool no_spool; /* read only the file */
	const char *spool; /* NULL: FILE.spool, else the path in the trace */
	/* Called now and then: compressed bytes read, and their total (0: unknown). */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
};

/* Opens PATH ("-": standard input) and reads its header. On success the caller closes *TRACE.
 * OPTIONS may be NULL. */
int nvs_trace_open(struct nvs_trace **trace, const char *path,
		   const struct nvs_read_options *options, struct nvs_error *err);
void nvs_trace_close(struct nvs_trace *trace); /* NULL is allowed */

/* ---- reading ---- */

/* nvs_submission.marks */
#define NVS_MARK_SPOOL (1u << 0) /* read from the spool, not from the frames */
#define NVS_MARK_LATE (1u << 1) /* rung after the writer had ended */
/* The last of its thread at a kill, or of its channel at the end: its doorbell may not have been
 * rung */
#define NVS_MARK_UNCERTAIN (1u << 2)
#define NVS_MARK_TORN (1u << 3) /* pieces of it are missing: their segments are NVS_SEG_GAP */

struct nvs_submission {
	const struct nvs_rec_submission *rec; /* the fixed part of its record */
	uint64_t number; /* in this trace, from 0, in the order of the callbacks */
	uint32_t nentries;
	uint32_t marks; /* NVS_MARK_* */
	const struct nvs_gp_entry *entries;
	/* Bytes of the NVS_SEG_HERE segments in sequence; dword-aligned */
	const uint8_t *data;
	size_t ndata;
	struct nvs_trace_thread *thread; /* never NULL */
	struct nvs_trace_channel *channel; /* never NULL */
	uint32_t get; /* GP_GET as the recorder last saw it; NVS_NONE: not recorded */
};

/* One entry of a submission, with the bytes of its segment. */
struct nvs_segment {
	uint32_t index; /* of the entry */
	uint32_t state; /* enum nvs_segment_state */
	uint64_t entry; /* as in the GPFIFO */
	uint64_t address; /* bits 39:2 of it, without the extended base of the channel */
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

/* Bytes of commands: in the submission itself, in its later pieces, and those skipped by
 * level=headers. */
static inline uint64_t nvs_submission_bytes(const struct nvs_submission *s)
{
	uint64_t bytes = s->ndata;

	for (uint32_t i = 0; i < s->nentries; i++)
		if (s->entries[i].state == NVS_SEG_FOLLOWS ||
		    s->entries[i].state == NVS_SEG_SKIPPED)
			bytes += s->entries[i].bytes;
	return bytes;
}

/* True if segments were skipped by the user's choice, so that what they do is unknown. */
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
	const struct nvs_call *call; /* NULL: unknown, or not asked for */
	const struct nvs_grid *grid; /* of a launch whose descriptor is known, else NULL */
	/* Of a launch, as in nvs_launch; also of the kernels of graphs */
	const void *parameters;
	uint32_t parameter_bytes;
};

/* Code that a call passed to the driver, with code=on. */
struct nvs_trace_image {
	uint32_t image; /* number, one for each content; NVS_NONE: its bytes could not be read */
	uint32_t kind; /* enum nvs_code_kind */
	uint32_t flags; /* NVS_IMAGE_* */
	uint32_t thread; /* of the call; NVS_NONE: unknown */
	uint64_t call; /* its number on the thread */
	uint64_t handle; /* CUmodule, CUlibrary; for cuLinkComplete the CUlinkState */
	uint64_t time; /* ticks */
	uint64_t given, size; /* bytes passed to the driver, and bytes recorded */
	/* Its bytes, if they were recorded with this load: all of them (WHOLE), or as many as the
	 * trace has. NULL: they were recorded with another load, or not at all. */
	const uint8_t *data;
	uint64_t ndata;
	bool whole;
};

struct nvs_finding;

/* nvs_consumer.flags */
/* Provide the call in submission() and operation(). */
#define NVS_READ_CALLS (1u << 0)
/* Provide the tallies of calls, for which their submissions are decoded. */
#define NVS_READ_TALLIES (1u << 1)
/* Provide the parameters of launches, for which all submissions are decoded. */
#define NVS_READ_PARAMETERS (1u << 2)

/*
 * Callbacks may be NULL; only what a callback needs is decoded. A callback's result other than 0
 * ends the reading and is returned by nvs_trace_read(): > 0 for "seen enough", -errno for its own
 * failure.
 */
struct nvs_consumer {
	size_t size; /* sizeof(struct nvs_consumer) */
	uint32_t flags; /* NVS_READ_* */
	/* In order of sequence within a channel, otherwise in order of time. CALL: the call in
	 * which it happened, NULL: unknown, or not asked for. */
	int (*submission)(void *arg, struct nvs_trace *trace, const struct nvs_submission *s,
			  const struct nvs_call *call);
	/* The operations of a submission, after it. */
	int (*operation)(void *arg, struct nvs_trace *trace, const struct nvs_operation *op);
	/* A call that is over; a call that never returned, at the end. */
	int (*call)(void *arg, struct nvs_trace *trace, const struct nvs_call *call);
	/* A call that launches a kernel, when it does; for graphs see graph(). */
	int (*launch)(void *arg, struct nvs_trace *trace, const struct nvs_launch *launch);
	/* An executable graph that was instantiated, changed or launched. */
	int (*graph)(void *arg, struct nvs_trace *trace, const struct nvs_graph *graph);
	/* Every other record of a known type (except DATA, FRAME and PAD), checked; after the model
	 * was updated, but an end (OBJECT_GONE, ..MAP_GONE) before the model removes the object. */
	int (*record)(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec);
	/* A reason why this trace is not complete; at the end, one after the other. */
	int (*finding)(void *arg, struct nvs_trace *trace, const struct nvs_finding *finding);
	/* A load of code, when all its bytes were read. */
	int (*image)(void *arg, struct nvs_trace *trace, const struct nvs_trace_image *image);
};

/*
 * Reads the trace from its first record to its last, then the additional records of the spool. May
 * be called again if the input can be read again (not "-"). Objects, mappings and counts then start
 * from zero, while threads, modules, stacks, the clock and the life of channels stay known. So a
 * second pass knows what comes in the stream only after its use: names of threads, stacks, symbols.
 * CONSUMER and ERR may be NULL.
 */
int nvs_trace_read(struct nvs_trace *trace, const struct nvs_consumer *consumer, void *arg,
		   struct nvs_error *err);

/* True if a trace needed more memory or time than its size allows: some of it was not reported. */
bool nvs_trace_short(void);

/* Size of a structure in this library, by its name ("nvs_call"); 0: unknown name. */
size_t nvs_struct_size(const char *name);

/* ---- the session ---- */

/* How the trace ends; known after a complete read. */
enum nvs_trace_end {
	NVS_END_UNKNOWN = 0, /* not read to the end yet */
	NVS_END_ORDERLY = 1, /* it has an END record */
	/* No END: the program was killed, or is still running where that cannot be detected */
	NVS_END_CRASH = 2,
	NVS_END_DAMAGED = 3, /* read with `partial` up to a damaged place */
	/* Still being written: read up to the last whole frame at the time of opening */
	NVS_END_RUNNING = 4,
};

struct nvs_counts {
	uint64_t submissions; /* NVS_SUB_CONTINUED ones are part of the one before */
	uint64_t entries;
	uint64_t segments, bytes; /* recorded as a whole, or skipped by choice (NVS_SEG_SKIPPED) */
	uint64_t gaps; /* GAP records */
	uint64_t lost_submissions, lost_bytes; /* in GAP records */
	uint64_t skipped_submissions, skipped_bytes; /* the same, but by the user's choice */
	uint64_t orphans;
	uint64_t spooled; /* submissions read from the spool */
	uint64_t late;
	uint64_t uncertain;
	uint64_t torn;
};

#define NVS_ATTR_COUNT 32

struct nvs_session {
	const char *path; /* as opened */
	struct nvs_rec_header header;
	const char *attr[NVS_ATTR_COUNT]; /* by enum nvs_attr; NULL: not in the trace */
	uint32_t attr_length[NVS_ATTR_COUNT]; /* NVS_ATTR_COMMAND contains NULs */
	/* ticks: of the header, or of the earliest call or range that began before it */
	uint64_t first_time;
	uint64_t last_time; /* the latest time of any record */
	uint64_t first_submission, last_submission; /* ticks */
	struct nvs_counts counts;
	bool has_totals;
	struct nvs_rec_totals totals;
	struct nvs_counts at_totals; /* the counts above when TOTALS came */
	enum nvs_trace_end end;
	bool spool_read; /* a spool of this session was read */
	uint64_t frames; /* number of whole frames read */
	uint64_t file_bytes; /* size of the file; if that is unknown, bytes read of it */
	uint64_t raw_bytes; /* read so far; 0: none */
	uint64_t unknown_records;
	bool newer_driver; /* its release is newer than those the library knows */
	bool unknown_form; /* of a call to the driver: something is missing, see the findings */
};

const struct nvs_session *nvs_trace_session(const struct nvs_trace *trace);
/* The part of the run that the trace covers, as text; NULL: all of the run. After a complete read.
 *  */
const char *nvs_trace_part(const struct nvs_trace *trace);
/* True if recording was never switched on. After a complete read. */
bool nvs_trace_never_on(const struct nvs_trace *trace);
/* Returns true if the process went on when the trace ended: it was recorded on demand. */
bool nvs_trace_goes_on(const struct nvs_trace *trace);

/* Number of submissions, and of bytes of commands, in the trace, including those that were only
 * counted, with level=counts. */
static inline uint64_t nvs_session_submissions(const struct nvs_session *s)
{
	/* A gap counts a submission of more than 512 entries as several. */
	uint64_t skipped = s->has_totals ? s->totals.skipped : s->counts.skipped_submissions;

	return s->counts.submissions + (s->header.flags & NVS_HDR_COUNTS ? skipped : 0);
}

static inline uint64_t nvs_session_bytes(const struct nvs_session *s)
{
	return s->counts.bytes + (s->header.flags & NVS_HDR_COUNTS ? s->counts.skipped_bytes : 0);
}

/*
 * Convert ticks by the calibration points read so far (all of them after a first pass) to
 * nanoseconds since first_time, of CLOCK_MONOTONIC, and since 1970. Times between points are
 * interpolated, others extrapolated from the nearest two. Return false (and *ns 0) if the trace has
 * too few points. first_time is known after a first pass. Times since first_time are kept within
 * 2^62, so that two of them can be subtracted.
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
	bool known; /* a CHANNEL record was read; if not, only the fields below are valid */
	bool gone;
	struct nvs_rec_channel rec; /* the latest record */
	struct nvs_rec_channel_gone gone_rec;
	uint64_t alloc_time, free_time; /* ticks; free_time 0: not freed */
	/* Continuity: values that the next submission should have. */
	uint64_t next_sequence;
	uint32_t next_put;
	uint32_t breaks; /* number of submissions that had others */
	struct nvs_counts counts;
	uint64_t progress_address;
	/* The GPU's progress when last polled: at the channel's end, or, if the trace has no end,
	 * while the process ran; address 0: unknown. After a complete read. */
	struct nvs_channel_done done;
	uint64_t done_time; /* ticks of that poll */
	uint32_t done_get; /* GP_GET then, NVS_NONE: unknown */
};

struct nvs_trace_module {
	uint32_t module;
	uint32_t build_id_length; /* bytes */
	const char *path;
	const uint8_t *build_id;
	uint64_t bias; /* run-time address minus address in the file */
	uint64_t start, end; /* addresses covered, end excluded */
	uint64_t time; /* ticks when it was first seen */
	uint64_t gone_time; /* UINT64_MAX: until the end */
};

struct nvs_trace_stack {
	uint32_t stack;
	uint32_t nframes;
	uint64_t time;
	const uint64_t *pc; /* [0] the store itself, the others return addresses */
};

/* Live objects only: a pointer is valid until the record that frees the object was reported. */
struct nvs_trace_object {
	uint32_t client, handle, parent;
	uint32_t object_class; /* 0xc86f */
	uint32_t gpu;
	uint32_t source_client, source_handle; /* of a duplicate, else 0 */
	uint32_t params_length; /* bytes */
	const uint8_t *params; /* the allocation parameters after the call */
	uint64_t time; /* ticks */
};

struct nvs_mapping {
	uint32_t map;
	uint32_t kind; /* enum nvs_map_kind; 0 for a GPU mapping */
	uint32_t flags; /* NVS_MAP_* */
	uint32_t vaspace; /* of GPU mappings */
	uint32_t client, handle, object_class, gpu;
	uint64_t address, size, offset;
	uint64_t time;
};

/* Look-up by number, NULL if there is none. Numbers are below the count, possibly with gaps. */
struct nvs_trace_thread *nvs_trace_thread_at(const struct nvs_trace *trace, uint32_t number);
struct nvs_trace_channel *nvs_trace_channel_at(const struct nvs_trace *trace, uint32_t number);
struct nvs_trace_module *nvs_trace_module_at(const struct nvs_trace *trace, uint32_t number);
struct nvs_trace_stack *nvs_trace_stack_at(const struct nvs_trace *trace, uint32_t number);
uint32_t nvs_trace_thread_count(const struct nvs_trace *trace);
uint32_t nvs_trace_channel_count(const struct nvs_trace *trace);
uint32_t nvs_trace_module_count(const struct nvs_trace *trace);
uint32_t nvs_trace_stack_count(const struct nvs_trace *trace);
/* The latest channel that had this handle; NULL: none. */
const struct nvs_trace_channel *nvs_trace_channel_of(const struct nvs_trace *trace, uint32_t client,
						     uint32_t handle);

uint32_t nvs_trace_gpu_count(const struct nvs_trace *trace);
/* In the order in which they were first seen. */
const struct nvs_rec_gpu *nvs_trace_gpu_at(const struct nvs_trace *trace, uint32_t index);
const struct nvs_rec_gpu *nvs_trace_gpu(const struct nvs_trace *trace, uint32_t gpu);

const struct nvs_trace_object *nvs_trace_object(const struct nvs_trace *trace, uint32_t client,
						uint32_t handle);
/* Calls FN for every live object of CLIENT below PARENT, oldest first, until it returns a value
 * other than 0, which is then returned. */
int nvs_trace_children(const struct nvs_trace *trace, uint32_t client, uint32_t parent,
		       int (*fn)(void *arg, const struct nvs_trace_object *object), void *arg);

/* The live mapping that contains an address, in VASPACE or in the process-wide address space. NULL:
 * none. */
const struct nvs_mapping *nvs_trace_gpu_map(const struct nvs_trace *trace, uint32_t vaspace,
					    uint64_t address);
const struct nvs_mapping *nvs_trace_cpu_map(const struct nvs_trace *trace, uint64_t address);
/* A live CPU mapping by its number (a submission's doorbell). */
const struct nvs_mapping *nvs_trace_cpu_map_at(const struct nvs_trace *trace, uint32_t map);

/* ---- call sites ---- */

/* Symbol of an address. Strings live as long as the trace; name NULL: no symbol covers it. */
struct nvs_symbol {
	const struct nvs_trace_module *module; /* NULL: in no known module */
	const char *file; /* last component of the module's path, NULL without a module */
	const char *name; /* demangled */
	bool exported; /* from .dynsym */
	uint64_t offset; /* from the symbol's start, without a symbol from the module's */
};

/* Looks up PC itself (not pc-1), at TIME in ticks. */
void nvs_symbol_find(struct nvs_trace *trace, uint64_t pc, uint64_t time,
		     struct nvs_symbol *symbol);

/* Interpretation of a stack; computed once for each. */
struct nvs_callsite {
	/* "cuLaunchKernel"; without an entry point "libcuda.so.1 < cufftExecC2C", with the caller
	 * of libcuda; never NULL */
	const char *api;
	const char *runtime_api; /* "cudaLaunchKernel"; "" if there is none */
	/* the program's own frame, "main+0x1f", "ns::f(int)+0x1f"; "" if unknown */
	const char *site;
	const char *site_module; /* file name of its module, "" if unknown */
	bool is_public; /* api is a public entry point */
	uint32_t site_frame; /* index in the stack, NVS_NONE if unknown */
};

/* STACK may be any number, including NVS_NONE. Call it when the stack is known: in a second pass,
 * or at the end. */
const struct nvs_callsite *nvs_trace_callsite(struct nvs_trace *trace, uint32_t stack);

/*
 * "file.cpp:12" of the program's own frame, "" if unknown. Found by libdw, if that is installed, in
 * debug information with the build id of the trace. Lives as long as the trace. Uses a child
 * process, as demangling does, which ends when the trace is closed.
 */
const char *nvs_trace_callsite_line(struct nvs_trace *trace, uint32_t stack);

/* A C++ or Rust name as in the source; other names unchanged. Lives as long as the trace. */
const char *nvs_trace_demangle(struct nvs_trace *trace, const char *name);

/* One line for each file whose build id differed from the trace's, or that could not be read; NULL
 * after the last. */
const char *nvs_trace_symbol_note(const struct nvs_trace *trace, uint32_t index);

/* ---- calls that had not returned when the trace ended ---- */

struct nvs_inflight {
	uint32_t thread;
	uint32_t depth; /* 1: the outermost of its thread */
	const char *api; /* "" if unknown */
	/* Ticks; end: that of the trace, or the last sign of life of the process */
	uint64_t begin, end;
	uint64_t number; /* of the call on its thread */
	uint32_t stack; /* NVS_NONE: unknown */
};

/* After a complete read; NULL after the last. */
const struct nvs_inflight *nvs_trace_inflight(const struct nvs_trace *trace, uint32_t index);

/* ---- completeness ---- */

enum nvs_finding_kind {
	NVS_FINDING_PROBLEM = 1, /* something is missing */
	NVS_FINDING_REMARK = 2, /* something that the doorbell page cannot show, or worth knowing */
	NVS_FINDING_NOTE = 3, /* normal on such a machine, or the user's choice */
};

struct nvs_finding {
	enum nvs_finding_kind kind;
	const char *text; /* one line, control characters escaped */
	uint64_t count; /* number of occurrences */
};

/* Reasons why the trace is not complete, after a complete read. NULL after the last. At most a
 * thousand are kept; nvs_trace_problems() counts all. */
const struct nvs_finding *nvs_trace_finding(const struct nvs_trace *trace, uint32_t index);
uint64_t nvs_trace_problems(const struct nvs_trace *trace);
/* Adds a finding of the consumer's own checks. printf-like; the text is escaped here. */
void nvs_trace_add_finding(struct nvs_trace *trace, enum nvs_finding_kind kind, const char *format,
			   ...) __attribute__((format(printf, 3, 4)));

/* ---- miscellaneous ---- */

const char *nvs_gap_reason_name(uint32_t reason); /* "unmapped", "fault", ... or "?" */
/* Copies SRC with control characters and invalid UTF-8 as \xNN, truncated to fit; returns DST. */
char *nvs_escape(char *dst, size_t room, const char *src, size_t length);
/* Length of the first character of TEXT, and its code; 0: TEXT does not begin with a valid
 * character. */
size_t nvs_utf8(const char *text, size_t room, uint32_t *code);
bool nvs_printable(uint32_t code);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* Former names. */
#define nvs_submissions_told nvs_session_submissions /* deprecated */
#define nvs_bytes_told nvs_session_bytes /* deprecated */

#endif
