/* SPDX-License-Identifier: MIT */
/* What the rings still hold. */
#ifndef NVSNOOP_DECODE_TRACE_SPOOL_H
#define NVSNOOP_DECODE_TRACE_SPOOL_H

#include "nvsnoop/decode.h"

struct nvs_cursor;

#define NVS_MAX_UNCERTAIN 4096
/* A submission that was perhaps not rung any more. */
struct nvs_uncertain {
	uint32_t channel;
	uint64_t sequence;
};

struct nvs_spool_file {
	int fd; /* 0: none */
	char *path;
	struct nvs_uncertain *uncertain; /* NVS_MAX_UNCERTAIN of room */
	uint32_t nuncertain;
	uint64_t size;
	struct nvs_spool head;
	struct nvs_cursor *rings; /* head.rings of them */
	struct nvs_cursor **heap;
	uint32_t heap_count;
	uint32_t flight_ring, flight_call; /* the next call in flight to be told, after all rings */
	struct {
		struct nvs_rec_call_begin rec;
		struct nvs_call_begin_site site;
		uint64_t args[NVS_SITE_ARGS];
	} flight;
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
/* Starts the merge of what no frame held. False: there is none. */
bool nvs_spool_start(struct nvs_trace *t, uint32_t which);
/* Then one record after the other in order of time: 1, 0 at the end. */
int nvs_spool_next(struct nvs_trace *t, const struct nvs_rec **rec, struct nvs_error *err);
void nvs_spool_step(struct nvs_trace *t); /* done with the record that next gave */
/* Was this submission perhaps not rung any more? */
bool nvs_spool_uncertain(const struct nvs_trace *t, uint32_t channel, uint64_t sequence);
/* How far the GPU was with each channel, at the library's last look. */
void nvs_spool_done(struct nvs_trace *t);
/* Gaps that a kill kept the library from writing. */
void nvs_spool_losses(struct nvs_trace *t);

/* ---- cursor.c ---- */

/* One ring being read, from position POS up to its head. */
struct nvs_cursor {
	struct nvs_spool_ring head;
	uint32_t number;
	uint64_t base; /* of its data in the file */
	uint64_t bytes; /* of the ring; 0: plain, position = offset from base */
	uint64_t seen; /* frames hold it up to here */
	uint64_t pos;
	uint8_t *buf; /* bytes [buf_pos, buf_pos + buf_len) */
	size_t room, buf_len;
	uint64_t buf_pos;
	uint64_t time; /* of the record at pos */
};

/* All BYTES at OFFSET of the file, or false. */
bool nvs_spool_read(int fd, void *dst, size_t bytes, uint64_t offset);
/* The record at POS, whole and checked, or NULL and why. It stands until another is asked for. */
const struct nvs_rec *nvs_cursor_record(struct nvs_spool_file *f, struct nvs_cursor *c,
					uint64_t pos, const char **what);
/*
 * Records are put into a plain spool side by side by several threads: a kill may leave zeros where
 * one of them was not written any more. Steps over them.
 */
void nvs_cursor_skip_holes(struct nvs_spool_file *f, struct nvs_cursor *c);

#endif
