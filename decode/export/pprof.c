/* SPDX-License-Identifier: MIT */
/* --export=pprof: stacks as a pprof profile (perftools.profiles.Profile, gzip) with all weights. A
 * frame is a function and a location with its name, written when a stack first has it. */
#include <errno.h>
#include <libdeflate.h>
#include "decode/base/hash.h"
#include "decode/calls/pass.h"
#include "decode/export/proto.h"
#include "decode/cli/output.h"
#include "decode/query/source.h"
#include "decode/report/core/report.h"
#include "decode/analysis/gpu_work.h"
#include "decode/analysis/stack_tree.h"
#include "decode/report/core/stack_columns.h"
#include "decode/cli/table.h"
#include "decode/base/keyed_rows.h"

/* Field numbers, by message. */
enum {
	PROFILE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_DEFAULT = 14,
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2, SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2 };

/* Indexed by enum nvs_measure. */
static const struct {
	const char *type, *unit;
} types[NVS_MEASURES] = {
	[NVS_BY_SUBMISSIONS] = {"submissions", "count"},
	[NVS_BY_BYTES] = {"command_bytes", "bytes"},
	[NVS_BY_CALLS] = {"calls", "count"},
	[NVS_BY_TIME] = {"host_time", "nanoseconds"},
	[NVS_BY_GPU_TIME] = {"gpu_time", "nanoseconds"},
};

/* Name of a frame: its function and location have the same number. */
struct frame_name {
	uint64_t key; /* hash */
	uint64_t number;
};

struct pprof_writer {
	struct nvs_proto proto;
	struct nvs_rows names;
	uint64_t strings; /* strings written so far */
	struct nvs_out *out;
};

#define MEMBER_BYTES (1u << 20) /* of the profile, in one member of the file */

/* Compresses the buffer and writes it as a member of the gzip file. */
static int write_member(struct pprof_writer *w)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
	size_t room = c ? libdeflate_gzip_compress_bound(c, w->proto.n) : 0;
	void *packed = room && !w->proto.failed ? malloc(room) : NULL;

	if (packed) {
		room = libdeflate_gzip_compress(c, w->proto.data, w->proto.n, packed, room);
		fwrite(packed, 1, room, w->out->file);
	}
	w->proto.n = 0;
	free(packed);
	libdeflate_free_compressor(c);
	return packed ? 0 : -ENOMEM;
}

static uint64_t add_string(struct pprof_writer *w, const char *text)
{
	nvs_proto_text(&w->proto, PROFILE_STRING, text, strlen(text));
	return w->strings++;
}

/* Returns 0 if memory is short. */
static uint64_t location_of(struct pprof_writer *w, const char *text)
{
	uint64_t key = nvs_hash64(text, strlen(text)), string;
	struct frame_name *name = nvs_rows_at(&w->names, &key);
	struct nvs_proto *p = &w->proto;

	if (!name || name->number)
		return name ? name->number : 0;
	name->number = w->names.n;
	string = add_string(w, text);
	nvs_proto_begin(p, PROFILE_FUNCTION);
	nvs_proto_uint(p, FUNCTION_ID, name->number);
	nvs_proto_uint(p, FUNCTION_NAME, string);
	nvs_proto_end(p);
	nvs_proto_begin(p, PROFILE_LOCATION);
	nvs_proto_uint(p, LOCATION_ID, name->number);
	nvs_proto_begin(p, LOCATION_LINE);
	nvs_proto_uint(p, LINE_FUNCTION, name->number);
	nvs_proto_end(p);
	nvs_proto_end(p);
	return name->number;
}

/* KNOWN: weights that are written. */
static int add_sample(struct pprof_writer *w, const struct nvs_stacks *t,
		      const struct nvs_stack_frame *frame, const bool known[NVS_MEASURES])
{
	uint64_t locations[NVS_STACKS_DEPTH], values[NVS_MEASURES];
	size_t n = 0, nvalues = 0;

	for (const struct nvs_stack_frame *f = frame; f && n < NVS_STACKS_DEPTH;
	     f = nvs_stack_frame_at(t, f->key.parent)) {
		locations[n] = location_of(w, f->name);
		if (!locations[n++])
			return -ENOMEM;
	}
	for (int i = 0; i < NVS_MEASURES; i++)
		if (known[i])
			values[nvalues++] = nvs_weight_measure(&frame->weight, (enum nvs_measure)i);
	nvs_proto_begin(&w->proto, PROFILE_SAMPLE);
	nvs_proto_packed(&w->proto, SAMPLE_LOCATIONS, locations, n);
	nvs_proto_packed(&w->proto, SAMPLE_VALUES, values, nvalues);
	nvs_proto_end(&w->proto);
	return w->proto.n < MEMBER_BYTES ? 0 : write_member(w);
}

static void add_types(struct pprof_writer *w, const bool known[NVS_MEASURES], enum nvs_measure by)
{
	struct nvs_proto *p = &w->proto;

	add_string(w, ""); /* string 0 must be empty */
	for (int i = 0; i < NVS_MEASURES; i++) {
		uint64_t type, unit;

		if (!known[i])
			continue;
		type = add_string(w, types[i].type);
		unit = add_string(w, types[i].unit);
		nvs_proto_begin(p, PROFILE_TYPE);
		nvs_proto_uint(p, TYPE_TYPE, type);
		nvs_proto_uint(p, TYPE_UNIT, unit);
		nvs_proto_end(p);
		if (i == (int)by)
			nvs_proto_uint(p, PROFILE_DEFAULT, type);
	}
}

static void add_times(struct pprof_writer *w, const struct nvs_source *s)
{
	const struct nvs_session *session = nvs_trace_session(s->trace);
	uint64_t start = session->first_time, first;
	int64_t begin, end;

	/* The trace of a process that goes on covers a part of its run. */
	if (nvs_trace_goes_on(s->trace) && session->first_submission)
		start = session->first_submission;
	if (!nvs_clock_real(s->trace, start, &first) ||
	    !nvs_clock_since_start(s->trace, start, &begin) ||
	    !nvs_clock_since_start(s->trace, session->last_time, &end))
		return;
	nvs_proto_uint(&w->proto, PROFILE_TIME, first);
	nvs_proto_uint(&w->proto, PROFILE_DURATION, end > begin ? (uint64_t)(end - begin) : 0);
}

/* An unknown weight would read as 0: a weight that is unknown for any stack is left out. */
static void find_known(const struct nvs_stacks_list *list, bool known[NVS_MEASURES])
{
	for (int i = 0; i < NVS_MEASURES; i++)
		known[i] = i < NVS_BY_TIME;
	for (size_t i = 0; i < list->shown; i++) {
		known[NVS_BY_TIME] |= list->frame[i]->weight.timed;
		known[NVS_BY_GPU_TIME] |= list->frame[i]->weight.gpu_timed;
		if (list->frame[i]->weight.uncounted)
			known[NVS_BY_SUBMISSIONS] = known[NVS_BY_BYTES] = false;
	}
}

static int write_profile(struct nvs_run *run, const struct nvs_stacks_list *list,
			 enum nvs_measure by)
{
	struct pprof_writer w = {.out = run->out, .names = NVS_ROWS(struct frame_name, key)};
	bool known[NVS_MEASURES];
	int r = 0;

	find_known(list, known);
	/* A short window may have none. */
	known[NVS_BY_GPU_TIME] |= run->n == 1 && nvs_trace_has_timing_work(run->sources);
	add_types(&w, known, by);
	if (run->n == 1)
		add_times(&w, run->sources);
	for (size_t i = 0; i < list->shown && !r; i++)
		r = add_sample(&w, run->state, list->frame[i], known);
	if (!r)
		r = write_member(&w);
	nvs_proto_free(&w.proto);
	nvs_rows_free(&w.names, NULL);
	return r;
}

static int begin(struct nvs_run *run, struct nvs_source *s, void *each,
		 struct nvs_pass_reader *reader)
{
	struct nvs_stacks *t = run->state;

	t->how |= NVS_STACKS_KERNELS | (run->n > 1 ? NVS_STACKS_PROCESS : 0);
	return nvs_run_stacks_begin(run, s, each, reader);
}

static int print(struct nvs_run *run)
{
	struct nvs_stacks_list list = {0};
	enum nvs_measure by;
	int r = nvs_measure_parse(run, &by);

	if (!r)
		r = nvs_run_stacks_list(run, by, &list);
	if (!r)
		r = write_profile(run, &list, by);
	run->out->told += list.n;
	free(list.frame);
	return r;
}

NVS_REPORT(export_pprof, .name = "export=pprof", .group = NVS_EXPORTS, .place = 340,
	   .help = "a profile for pprof: stacks by submissions, bytes, "
		   "calls, host and GPU time",
	   .man = "A profile for pprof\n.RB ( \"go tool pprof\" ):\nstacks with their submissions, "
		  "bytes of commands, calls, the host time of calls, excluding nested calls, and "
		  "with timing=work the GPU time of submissions. "
		  "Its default sample type is\nthat of\n.BR \\-s .",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CELLS | NVS_NEED_TIMED,
	   .prints = NVS_PRINTS_TEXT | NVS_PRINTS_BINARY, NVS_REPORT_COLUMNS(nvs_measure_columns),
	   .state = sizeof(struct nvs_stacks), .each = sizeof(struct nvs_stacks_each),
	   .begin = begin, .print = print, .free = nvs_run_stacks_free);
