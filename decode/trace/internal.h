/* SPDX-License-Identifier: MIT */
/*
 * The decoder's inside: the state behind struct nvs_trace, and which file offers what to the
 * others.
 */
#ifndef NVSNOOP_DECODE_TRACE_INTERNAL_H
#define NVSNOOP_DECODE_TRACE_INTERNAL_H

#include <errno.h>
#include <string.h>
#include <zstd.h>
#include "nvsnoop/decode.h"

/* ---- text.c ---- */
/* Leaves the message in ERR (may be NULL) and returns CODE. */
int nvs_fail(struct nvs_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- delta.c: records that stand as differences (nvsnoop/trace.h) ---- */
/* Makes the records of an unpacked frame whole. False: one differs from none; those before it are
 * whole. */
bool nvs_delta_restore(uint8_t *frame, size_t size);

/* ---- input.c: bytes of the file to unpacked frames ---- */
struct nvs_input {
	int fd;
	const char *path;
	bool seekable;
	bool eof;
	uint64_t size; /* of the file, 0 not known: what is appended later is not read */
	uint64_t stored; /* bytes that were read of it: what is unpacked is bounded by them */
	uint64_t passed, unpacked; /* bytes read, and what came of them, since the last rewind */
	uint64_t offset; /* in the file, of buf[start] */
	uint8_t *buf;
	size_t room, start, end;
	ZSTD_DCtx *dctx;
	uint8_t *frame; /* the unpacked frame */
	size_t frame_room, frame_size;
	uint64_t frame_offset; /* in the file, of its compressed form */
	uint32_t frames; /* unpacked so far */
	struct nvs_ahead
		*ahead; /* unpacks the next frame meanwhile; NULL: not yet, or not at all */
};

/* Up to what the file has become by now. Before the first frame, or in between where there is no
 * reading ahead yet. */
void nvs_input_extend(struct nvs_input *in);
int nvs_input_open(struct nvs_input *in, const char *path, struct nvs_error *err);
void nvs_input_close(struct nvs_input *in);
int nvs_input_rewind(struct nvs_input *in, struct nvs_error *err);
/*
 * The next data frame: 1, at the end of the file 0. -ENODATA: the file ends within this frame;
 * -EBADMSG: damaged or not zstd; other -errno: could not be read.
 */
int nvs_input_frame(struct nvs_input *in, struct nvs_error *err);
/* Here and now. */
int nvs_input_unpack(struct nvs_input *in, struct nvs_error *err);

/* ---- ahead.c ---- */
/* From now on a thread unpacks frames, one ahead; where it cannot be had all stays as it is. */
void nvs_ahead_start(struct nvs_input *in);
int nvs_ahead_frame(struct nvs_input *in, struct nvs_error *err);
void nvs_ahead_stop(struct nvs_input *in); /* what it read ahead is lost: before a seek */

/* ---- check.c: is a record what it says it is? ---- */
/* Checks all sizes and counts within REC, whose head fits into ROOM bytes. NULL if it is well, else
 * what is wrong. */
const char *nvs_record_check(const struct nvs_rec *rec, size_t room);
/* Size of a type's fixed part as this reader knows it; 0: not a known type. */
uint32_t nvs_record_fixed(uint16_t type);
/* The same for a SUBMISSION alone; finds its parts. */
const char *nvs_submission_check(const struct nvs_rec_submission *rec, size_t *ndata);

/*
 * The variable part of a record of BYTES: at its end, so that fields added before it do not matter.
 */
static inline const void *nvs_tail(const struct nvs_rec *rec, uint64_t bytes)
{
	return (const uint8_t *)rec + rec->size - ((bytes + 7) & ~7ull);
}

/* ---- numbers.c: tables by number, with a bound ---- */
#define NVS_NUMBERS_PAGE 128u
struct nvs_numbers {
	void **page[NVS_MAX_NUMBER / NVS_NUMBERS_PAGE];
	uint32_t count; /* highest number + 1 */
};
static inline void *nvs_number_get(const struct nvs_numbers *table, uint32_t number)
{
	return number < NVS_MAX_NUMBER && table->page[number / NVS_NUMBERS_PAGE]
		       ? table->page[number / NVS_NUMBERS_PAGE][number % NVS_NUMBERS_PAGE]
		       : NULL;
}
int nvs_number_set(struct nvs_numbers *table, uint32_t number, void *item);
/* What stands there, or BYTES of zeroes that do from now on; NULL: no memory. */
void *nvs_number_make(struct nvs_numbers *table, uint32_t number, size_t bytes);
void nvs_numbers_free(struct nvs_numbers *table,
		      void (*item)(void *)); /* ITEM: NULL: not pointers */

/* ---- maps.c: live mappings by address ---- */
struct nvs_map_node;
struct nvs_maps {
	struct nvs_map_node *root; /* treap by (vaspace, address, map) */
	struct nvs_map_node *by_number; /* uthash */
	uint32_t random;
};
int nvs_maps_add(struct nvs_maps *maps, const struct nvs_mapping *mapping);
void nvs_maps_remove(struct nvs_maps *maps, uint32_t number);
const struct nvs_mapping *nvs_maps_find(const struct nvs_maps *maps, uint32_t vaspace,
					uint64_t address);
const struct nvs_mapping *nvs_maps_at(const struct nvs_maps *maps, uint32_t number);
void nvs_maps_free(struct nvs_maps *maps);

/* ---- objects.c: live objects by (client, handle) ---- */
struct nvs_object_node;
int nvs_objects_add(struct nvs_trace *t, const struct nvs_rec_object *rec);
void nvs_objects_remove(struct nvs_trace *t, uint32_t client, uint32_t handle);
void nvs_objects_free(struct nvs_trace *t);

/* ---- clock.c ---- */
#define NVS_MAX_POINTS 4096
struct nvs_clock_point {
	uint64_t ticks, mono_ns, real_ns;
};
struct nvs_clock_table {
	struct nvs_clock_point *points; /* in order of ticks */
	uint32_t count;
};
int nvs_clock_add(struct nvs_trace *t, uint64_t ticks, uint64_t mono_ns, uint64_t real_ns);

/* ---- spool.c: what the rings still hold ---- */
struct nvs_cursor;
#define NVS_MAX_UNCERTAIN 4096
struct nvs_spool_file {
	int fd; /* 0: none */
	char *path;
	struct {
		uint32_t channel;
		uint64_t sequence;
	} * uncertain; /* NVS_MAX_UNCERTAIN of room */
	uint32_t nuncertain;
	uint64_t size;
	struct nvs_spool head;
	struct nvs_cursor *rings; /* head.rings of them */
	struct nvs_cursor **heap;
	uint32_t heap_count;
	uint32_t flight_ring, flight_call; /* the next call in flight to be told, after all rings */
	struct nvs_rec_call_begin flight;
};
/* Looks for the spool of this session; none is no error. Notes the submissions that were perhaps
 * not rung. */
int nvs_spool_open(struct nvs_trace *t, bool any_session);
void nvs_spool_close(struct nvs_trace *t);
/* A frame says that it holds [from, to) of a ring. */
void nvs_spool_seen(struct nvs_trace *t, const struct nvs_ring_range *range);
void nvs_spool_restart(struct nvs_trace *t);
bool nvs_spool_has_rings(const struct nvs_trace *t);
/* running.c: the process that it belongs to is there, and has it. */
bool nvs_spool_running(const struct nvs_spool_file *f);
/* Starts the merge of what no frame held; then one record after the other in order of time: 1, 0 at
 * the end. */
bool nvs_spool_start(struct nvs_trace *t, uint32_t which); /* false: there is none */
int nvs_spool_next(struct nvs_trace *t, const struct nvs_rec **rec, struct nvs_error *err);
void nvs_spool_step(struct nvs_trace *t); /* done with the record that next gave */
/* Was this submission perhaps not rung any more? */
bool nvs_spool_uncertain(const struct nvs_trace *t, uint32_t channel, uint64_t sequence);
/* Gaps that a kill kept the library from writing. */
void nvs_spool_losses(struct nvs_trace *t);

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
	uint64_t returned[NVS_SPOOL_CALLS +
			  1]; /* by depth: number + 1 of the latest call that has */
};
int nvs_model_take(struct nvs_trace *t, const struct nvs_rec *rec); /* before it is handed out */
int nvs_model_drop(struct nvs_trace *t, const struct nvs_rec *rec); /* after */
void nvs_model_restart(struct nvs_trace *t);
void nvs_model_free(struct nvs_trace *t);
/* Makes it where it is missing; NULL: the number is absurd, or memory has run out. */
struct nvs_thr *nvs_model_thread(struct nvs_trace *t, uint32_t number);
struct nvs_chan *nvs_model_channel(struct nvs_trace *t, uint32_t number);

/* The latest channel that was told to have this handle. */
const struct nvs_trace_channel *nvs_trace_channel_of(const struct nvs_trace *t, uint32_t client,
						     uint32_t handle);

/* ---- verify.c ---- */
/* A submission is about to be handed out: does it carry its channel's chain on? */
void nvs_verify_submission(struct nvs_trace *t, struct nvs_chan *chan,
			   const struct nvs_rec_submission *rec);
void nvs_verify_record(struct nvs_trace *t, const struct nvs_rec *rec);
void nvs_verify_end(struct nvs_trace *t);
void nvs_findings_free(struct nvs_trace *t);

/* ---- inflight.c ---- */
struct nvs_inflight_list {
	struct nvs_inflight *items;
	uint32_t count;
};
/* An API, CALL_BEGIN or CALL record. */
void nvs_inflight_record(struct nvs_trace *t, const struct nvs_rec *rec);
void nvs_inflight_restart(struct nvs_trace *t);
void nvs_inflight_free(struct nvs_trace *t);

/* ---- stream.c ---- */
int nvs_stream_deliver(struct nvs_trace *t, struct nvs_submission *s);

/* ---- symbols.c, callsite.c ---- */
struct nvs_symbols;
struct nvs_kept;
void nvs_symbols_free(struct nvs_trace *t);
/* A name that an address of a module bears among the exported ones (dynamic) or all; NULL: none. */
const char *nvs_symbols_lookup(struct nvs_trace *t, const struct nvs_trace_module *module,
			       uint64_t pc, bool dynamic, uint64_t *offset);
const struct nvs_trace_module *nvs_symbols_module(struct nvs_trace *t, uint64_t pc, uint64_t time);
const char *nvs_symbols_file(const struct nvs_trace_module *module);
/* The library that recorded the trace. */
bool nvs_symbols_own(const struct nvs_trace_module *module);
void nvs_callsites_free(struct nvs_trace *t);

struct nvs_finding_list {
	struct nvs_finding *items;
	uint32_t count, room;
	uint64_t problems;
};

struct nvs_trace {
	struct nvs_read_options options;
	char *path;
	struct nvs_input in;
	struct nvs_thr nobody; /* thread NVS_NONE */
	bool no_frames; /* killed before the first one was whole: the spool is all there is */
	bool running; /* when it was opened: then frames are all that is read, and the calls in
			 flight */
	bool first_ready; /* the first frame is unpacked and not yet taken */
	uint32_t passes;
	struct nvs_session session;
	uint64_t next_frame;
	const struct nvs_consumer *consumer;
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
	struct nvs_symbols *symbols;
	struct nvs_kept *kept; /* strings of callsite.c */
	struct nvs_finding_list findings;
	struct nvs_numbers api_names; /* char * */
	struct nvs_inflight_list inflight;
};

#endif
