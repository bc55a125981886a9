/* SPDX-License-Identifier: MIT */
/* The state behind struct nvs_trace, and what its parts offer to each other. */
#ifndef NVSNOOP_DECODE_TRACE_INTERNAL_H
#define NVSNOOP_DECODE_TRACE_INTERNAL_H

#include <errno.h>
#include <string.h>
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
	struct nvs_clock_point *points; /* in order of ticks */
	uint32_t count, room;
};
int nvs_clock_add(struct nvs_trace *t, uint64_t ticks, uint64_t mono_ns, uint64_t real_ns);

/* ---- pieces.c: order within a channel, and submissions that come in pieces ---- */
struct nvs_held;
int nvs_pieces_submission(struct nvs_trace *t, const struct nvs_rec_submission *rec, size_t ndata,
			  uint32_t marks);
int nvs_pieces_data(struct nvs_trace *t, const struct nvs_rec_data *rec);
int nvs_pieces_gap(struct nvs_trace *t, const struct nvs_rec_gap *rec);
/* Hands out what is whole, whatever is missing before it; NVS_NONE: of all channels. */
int nvs_pieces_flush(struct nvs_trace *t, uint32_t channel);
int nvs_pieces_end(struct nvs_trace *t); /* and what is not */
void nvs_pieces_free(struct nvs_trace *t);

/* ---- model.c ---- */
struct nvs_chan {
	struct nvs_trace_channel pub; /* first: the two are cast into each other */
	struct nvs_held *held; /* in order of sequence */
	uint32_t nheld;
};
struct nvs_thr {
	struct nvs_trace_thread pub; /* first */
	struct nvs_held *filling; /* a submission whose pieces are still to come */
	/* By depth: number + 1 of the latest call that has */
	uint64_t returned[NVS_SPOOL_CALLS + 1];
};
int nvs_model_take(struct nvs_trace *t, const struct nvs_rec *rec); /* before it is handed out */
int nvs_model_drop(struct nvs_trace *t, const struct nvs_rec *rec); /* after */
void nvs_model_restart(struct nvs_trace *t);
void nvs_model_free(struct nvs_trace *t);
/* Makes it where it is missing; NULL: the number is absurd, or memory has run out. */
struct nvs_thr *nvs_model_thread(struct nvs_trace *t, uint32_t number);
struct nvs_chan *nvs_model_channel(struct nvs_trace *t, uint32_t number);

/* ---- verify.c ---- */
/* A submission is about to be handed out: does it carry its channel's chain on? */
void nvs_verify_submission(struct nvs_trace *t, struct nvs_chan *chan,
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

/* ---- part.c: which part of the run the trace holds ---- */
struct nvs_part {
	bool known; /* windows were told of */
	bool open, limited; /* the latest is, to a number of submissions */
	uint64_t windows;
	uint64_t first, last; /* ticks: the first was opened, the latest closed */
	uint32_t first_cause, last_cause; /* enum nvs_window_cause */
	struct nvs_rec_part cut; /* what came before is not there; rec.size 0: all is */
	char text[256];
};
/* Has the parts read that lie before this one, which is behind that with number BEFORE. False:
 * there are none. */
bool nvs_part_find(struct nvs_trace *t, uint64_t before);
void nvs_part_cut(struct nvs_trace *t, const struct nvs_rec_part *rec);
void nvs_part_window(struct nvs_trace *t, const struct nvs_rec_window *rec);
/* At the end: puts it into words. */
void nvs_part_end(struct nvs_trace *t);

/* ---- inflight.c ---- */
struct nvs_inflight_list {
	struct nvs_inflight *items;
	uint32_t count;
};
/* An API, CALL_BEGIN or CALL record. */
void nvs_inflight_record(struct nvs_trace *t, const struct nvs_rec *rec);
void nvs_inflight_restart(struct nvs_trace *t);
void nvs_inflight_free(struct nvs_trace *t);

/* ---- deliver.c ---- */
/* Gives it its number, and returns what the consumer says. */
int nvs_deliver(struct nvs_trace *t, struct nvs_submission *s);

/* ---- named.c: names of addresses that stand in the trace ---- */
struct nvs_named {
	const char *name, *exported; /* NULL: none */
	const char *line; /* "file.cpp:12", NULL: not known */
	uint64_t offset, exported_offset;
	bool is_exported; /* the name is */
};
struct nvs_named_node;
int nvs_named_take(struct nvs_trace *t, const struct nvs_rec_name *rec);
/* The address as in NAME records; NULL: the trace says nothing of it. */
const struct nvs_named *nvs_named_find(const struct nvs_trace *t, uint32_t module,
				       uint64_t address);
uint32_t nvs_named_count(const struct nvs_trace *t);
const char *nvs_named_name(const struct nvs_named *n, bool exported, uint64_t *offset);
void nvs_named_free(struct nvs_trace *t);

/* ---- perfmap.c: code that was made at run time, by the file that perf reads as well ---- */
struct nvs_perfmap;
/* NULL: none. Only of the machine that recorded the trace, and since it was begun. */
const char *nvs_perfmap_lookup(struct nvs_trace *t, uint64_t address, uint64_t *offset);
void nvs_perfmap_free(struct nvs_trace *t);

/* ---- symbols.c, callsite.c ---- */
struct nvs_symbols;
struct nvs_kept;
void nvs_symbols_free(struct nvs_trace *t);
/* A name that an address of a module (NULL: of none) bears among the exported ones (dynamic) or
 * all, by the trace or else by the module's file; NULL: none. */
const char *nvs_symbols_lookup(struct nvs_trace *t, const struct nvs_trace_module *module,
			       uint64_t pc, bool dynamic, uint64_t *offset);
/* The module's file is here, so what has no name in it has none. */
bool nvs_symbols_readable(struct nvs_trace *t, const struct nvs_trace_module *module);
const struct nvs_trace_module *nvs_symbols_module(struct nvs_trace *t, uint64_t pc, uint64_t time);
const char *nvs_symbols_file(const struct nvs_trace_module *module);
/* The module's path as it was at run time; false: it is none (the vDSO). */
bool nvs_symbols_path(char *dst, size_t room, const struct nvs_trace *t,
		      const struct nvs_trace_module *module);
/* The library that recorded the trace. */
bool nvs_symbols_own(const struct nvs_trace_module *module);
/* Is it between the driver and the program: libcuda, libcudart, libnvidia-*, our own library? */
bool nvs_module_is_between(const struct nvs_trace_module *module);
void nvs_callsites_free(struct nvs_trace *t);

struct nvs_trace {
	struct nvs_read_options options;
	char *path;
	struct nvs_input in;
	struct nvs_thr nobody; /* thread NVS_NONE */
	bool no_frames; /* killed before the first one was whole: the spool is all there is */
	/* When it was opened: then frames are all that is read, and the calls in flight */
	bool running;
	bool first_ready; /* the first frame is unpacked and not yet taken */
	uint32_t passes;
	struct nvs_session session;
	uint64_t next_frame;
	bool began; /* a frame was read that is not told again */
	uint64_t before; /* number of the part before the first that was opened, 0: none */
	uint64_t frames_end; /* in the file, of the last whole frame */
	const struct nvs_stream_consumer *consumer;
	void *arg;
	struct nvs_error *err;
	uint64_t number; /* of the next submission */
	uint32_t source; /* marks of what is being read: 0, NVS_MARK_SPOOL, NVS_MARK_LATE */
	bool end_seen;
	uint64_t held_bytes; /* in pieces.c */
	uint64_t held_count;
	struct nvs_numbers threads, channels, modules, stacks, callsites;
	struct channel_handle *handles; /* of model.c */
	struct nvs_rec_gpu *gpus;
	uint32_t ngpus;
	struct nvs_object_node *objects;
	struct family *families; /* of objects.c */
	uint32_t nobjects;
	struct nvs_maps gpu_maps, cpu_maps;
	struct nvs_clock_table clock;
	struct nvs_spool_file spools[2]; /* the spool, and what came late while it still stood */
	struct nvs_spool_file *spool; /* being merged */
	struct nvs_named_node *named; /* uthash */
	struct nvs_perfmap *perfmap;
	struct nvs_symbols *symbols;
	struct nvs_kept *kept; /* strings of callsite.c */
	struct nvs_written *written;
	struct nvs_finding_list findings;
	struct nvs_part part;
	struct nvs_numbers api_names; /* char * */
	struct nvs_inflight_list inflight;
};

#endif
