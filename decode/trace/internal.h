/* SPDX-License-Identifier: MIT */
/* The state in struct nvs_trace, and the internal functions of each file of this folder. */
#ifndef NVSNOOP_DECODE_TRACE_INTERNAL_H
#define NVSNOOP_DECODE_TRACE_INTERNAL_H

#include <errno.h>
#include <string.h>
#include "decode/base/keyed_rows.h"
#include "decode/base/numbers.h"
#include "decode/base/text.h"
#include "decode/trace/clock.h"
#include "decode/trace/input.h"
#include "decode/trace/maps.h"
#include "decode/trace/records.h"
#include "decode/trace/spool.h"
#include "decode/trace/stream.h"
#include "decode/trace/demangled_names.h"
#include "nvsnoop/decode.h"

/* ---- objects.c: live objects by (client, handle) ---- */
struct nvs_object_node;
int nvs_objects_add(struct nvs_trace *t, const struct nvs_rec_object *rec);
void nvs_objects_remove(struct nvs_trace *t, uint32_t client, uint32_t handle);
void nvs_objects_free(struct nvs_trace *t);

/* ---- clock.c ---- */
#define NVS_MAX_POINTS 4096
struct nvs_clock_table {
	struct nvs_clock_reading *points; /* sorted by ticks */
	uint32_t count, room;
	/* Results of the latest conversions: segment of points; time of the tick ORIGIN. */
	uint32_t segment;
	bool has_origin;
	uint64_t origin, origin_ns;
};
int nvs_clock_add(struct nvs_trace *t, uint64_t ticks, uint64_t mono_ns, uint64_t real_ns);

/* ---- submission_order.c: order within a channel, and submissions recorded in pieces ---- */
struct nvs_held_submission;
int nvs_order_submission(struct nvs_trace *t, const struct nvs_rec_submission *rec, size_t ndata,
			 uint32_t marks);
int nvs_order_data(struct nvs_trace *t, const struct nvs_rec_data *rec);
int nvs_order_gap(struct nvs_trace *t, const struct nvs_rec_gap *rec);
/* Delivers complete submissions even if earlier ones are missing; NVS_NONE: of all channels. */
int nvs_order_flush(struct nvs_trace *t, uint32_t channel);
int nvs_order_end(struct nvs_trace *t); /* also delivers incomplete submissions */
void nvs_order_free(struct nvs_trace *t);

/* ---- model.c ---- */
struct nvs_channel_state {
	struct nvs_trace_channel pub; /* first: the two are cast into each other */
	struct nvs_held_submission *held; /* sorted by sequence */
	uint32_t nheld;
	/* The last gap: submissions [first, end), and the number of its finding */
	struct nvs_channel_gap {
		uint64_t first, end;
		uint32_t reason, finding;
	} gap;
};
struct nvs_thread_state {
	struct nvs_trace_thread pub; /* first: the two are cast into each other */
	struct nvs_held_submission *filling; /* a submission whose pieces are incomplete */
	/* By depth: number + 1 of the latest call that has returned */
	uint64_t returned[NVS_SPOOL_CALLS + 1];
};
int nvs_model_update(struct nvs_trace *t, const struct nvs_rec *rec); /* before the record is
								       * delivered */
int nvs_model_remove(struct nvs_trace *t, const struct nvs_rec *rec); /* after the record is
								       * delivered */
void nvs_model_restart(struct nvs_trace *t);
void nvs_model_free(struct nvs_trace *t);
/* Adds the item if it is missing. Returns NULL if the number is too large or memory is short. */
struct nvs_thread_state *nvs_model_thread(struct nvs_trace *t, uint32_t number);
struct nvs_channel_state *nvs_model_channel(struct nvs_trace *t, uint32_t number);

/* ---- findings.c ---- */
void nvs_trace_change_finding(struct nvs_trace *t, uint32_t index, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- verify.c ---- */
/* Called before a submission is delivered: checks that it continues its channel's chain. */
void nvs_verify_submission(struct nvs_trace *t, struct nvs_channel_state *chan,
			   const struct nvs_rec_submission *rec);
void nvs_verify_record(struct nvs_trace *t, const struct nvs_rec *rec);
void nvs_verify_end(struct nvs_trace *t);

/* ---- findings.c ---- */
struct nvs_finding_list {
	struct nvs_finding *items;
	uint32_t count;
	uint64_t problems;
};
void nvs_findings_free(struct nvs_trace *t);

/* ---- recorded_window.c: the recorded part of the run ---- */
struct nvs_recorded_window {
	bool known; /* there are WINDOW records */
	bool open, limited; /* the latest window is open; it is limited to a number of
			     * submissions */
	uint64_t windows;
	uint64_t first, last; /* ticks: begin of the first window, end of the latest */
	uint32_t first_cause, last_cause; /* enum nvs_window_cause */
	struct nvs_rec_part cut; /* what precedes the trace was not kept; rec.size 0: nothing
				  * precedes it */
	char text[256];
};
/* Adds the files of parts that precede this one; BEFORE is the number of the previous part. Returns
 * false if there are none. */
bool nvs_recorded_window_add_files(struct nvs_trace *t, uint64_t before);
void nvs_recorded_window_set_cut(struct nvs_trace *t, const struct nvs_rec_part *rec);
void nvs_recorded_window_add(struct nvs_trace *t, const struct nvs_rec_window *rec);
/* Called at the end of a pass: formats the text. */
void nvs_recorded_window_finish(struct nvs_trace *t);

/* ---- inflight.c ---- */
struct nvs_inflight_list {
	struct nvs_inflight *items;
	uint32_t count;
};
/* Handles an API, CALL_BEGIN or CALL record. */
void nvs_inflight_record(struct nvs_trace *t, const struct nvs_rec *rec);
void nvs_inflight_restart(struct nvs_trace *t);
void nvs_inflight_free(struct nvs_trace *t);

/* ---- deliver.c ---- */
/* Numbers the submission, and returns the consumer's result. */
int nvs_submission_deliver(struct nvs_trace *t, struct nvs_submission *s);

/* ---- embedded_names.c: names of addresses from the trace ---- */
struct nvs_embedded_name {
	const char *name, *exported; /* NULL: none */
	const char *line; /* "file.cpp:12", or NULL if unknown */
	uint64_t offset, exported_offset;
	bool is_exported; /* the name is exported */
};
int nvs_embedded_names_add(struct nvs_trace *t, const struct nvs_rec_name *rec);
/* ADDRESS as in NAME records. Returns NULL if the trace has no record for it. */
const struct nvs_embedded_name *nvs_embedded_names_find(const struct nvs_trace *t, uint32_t module,
							uint64_t address);
const char *nvs_embedded_name_get(const struct nvs_embedded_name *n, bool exported,
				  uint64_t *offset);
void nvs_embedded_names_free(struct nvs_trace *t);

/* ---- perfmap.c: names of JIT code, from the file that perf uses too ---- */
struct nvs_perfmap;
/* Returns NULL if there is none. Only for traces of this machine, and files written since the start
 * of recording. */
const char *nvs_perfmap_lookup(struct nvs_trace *t, uint64_t address, uint64_t *offset);
void nvs_perfmap_free(struct nvs_trace *t);

/* ---- symbols.c, callsite.c ---- */
struct nvs_symbols;
struct nvs_kept_string;
void nvs_symbols_free(struct nvs_trace *t);
/* Returns the name of an address in a module (NULL: in none), among exported (DYNAMIC) or all
 * symbols: from the trace, else from the module's file. Returns NULL if there is none. */
const char *nvs_symbols_lookup(struct nvs_trace *t, const struct nvs_trace_module *module,
			       uint64_t pc, bool dynamic, uint64_t *offset);
/* Returns true if the module's file is readable: an address without a name then has none. */
bool nvs_symbols_has_file(struct nvs_trace *t, const struct nvs_trace_module *module);
const struct nvs_trace_module *nvs_symbols_module(struct nvs_trace *t, uint64_t pc, uint64_t time);
const char *nvs_symbols_file(const struct nvs_trace_module *module);
/* Returns the module's path at run time, or false if it has none (the vDSO). */
bool nvs_symbols_path(char *dst, size_t room, const struct nvs_trace *t,
		      const struct nvs_trace_module *module);
/* Returns true for the library that recorded the trace. */
bool nvs_symbols_is_own(const struct nvs_trace_module *module);
/* Returns true for modules between the program and the kernel driver: libcuda, libcudart,
 * libnvidia-*, libnvsnoop. */
bool nvs_module_is_between(const struct nvs_trace_module *module);
void nvs_callsites_free(struct nvs_trace *t);

struct nvs_trace {
	struct nvs_read_options options;
	char *path;
	struct nvs_input in;
	struct nvs_thread_state no_thread; /* thread NVS_NONE */
	bool no_frames; /* killed before the first frame was complete: only the spool has data */
	/* Still being recorded when opened: then only frames, and the calls in flight, are read. */
	bool running;
	bool first_ready; /* the first frame is unpacked but not processed */
	uint32_t passes;
	struct nvs_session session;
	uint64_t next_frame;
	bool began; /* a frame other than a repeated one was read */
	uint64_t before; /* number of the part before the first opened file; 0: none */
	uint64_t frames_end; /* file offset of the end of the last whole frame */
	const struct nvs_stream_consumer *consumer;
	void *arg;
	struct nvs_error *err;
	uint64_t number; /* of the next submission */
	uint32_t source; /* marks of the current source: 0, NVS_MARK_SPOOL, NVS_MARK_LATE */
	bool end_seen;
	bool goes_on; /* the process, after the trace */
	uint64_t held_bytes; /* used by submission_order.c */
	uint64_t held_count;
	struct nvs_numbers threads, channels, modules, stacks, callsites;
	struct nvs_rows handles; /* used by model.c */
	struct nvs_rec_gpu *gpus;
	uint32_t ngpus;
	struct nvs_object_node *objects;
	struct family *families; /* used by objects.c */
	uint32_t nobjects;
	struct nvs_maps gpu_maps, cpu_maps;
	struct nvs_clock_table clock;
	struct nvs_spool_file spools[2]; /* the spool, and the late spool if both exist */
	struct nvs_spool_file *spool; /* the one being merged */
	struct nvs_rows named; /* used by embedded_names.c */
	struct nvs_perfmap *perfmap;
	struct nvs_symbols *symbols;
	struct nvs_kept_string *kept; /* strings of callsite.c */
	struct nvs_demangled *written;
	struct nvs_finding_list findings;
	struct nvs_recorded_window part;
	struct nvs_numbers api_names; /* char * */
	struct nvs_inflight_list inflight;
};

#endif
