/* SPDX-License-Identifier: MIT */
/* The spool: records that are still in thread buffers, not in frames. */
#ifndef NVSNOOP_DECODE_TRACE_SPOOL_H
#define NVSNOOP_DECODE_TRACE_SPOOL_H

#include "nvsnoop/decode.h"

struct nvs_spool_cursor;

#define NVS_MAX_UNCERTAIN 4096
/* A submission whose doorbell may not have been rung. */
struct nvs_uncertain {
	uint32_t channel;
	uint64_t sequence;
};

struct nvs_spool_file {
	int fd; /* 0: not open */
	char *path;
	struct nvs_uncertain *uncertain; /* array of NVS_MAX_UNCERTAIN */
	uint32_t nuncertain;
	uint64_t size;
	struct nvs_spool head;
	struct nvs_spool_cursor *buffers; /* head.buffers of them */
	struct nvs_spool_cursor **heap;
	uint32_t heap_count;
	uint32_t flight_buffer, flight_call; /* position of the next call in flight to report, after
					      * all buffers */
	struct {
		struct nvs_rec_call_begin rec;
		struct nvs_call_begin_site site;
		uint64_t args[NVS_SITE_ARGS];
	} flight;
};

/* Looks for the spool of this session; it is no error if there is none, unless the options name a
 * file that is no spool. Records which submissions are uncertain. */
int nvs_spool_open(struct nvs_trace *t, bool any_session, struct nvs_error *err);
void nvs_spool_close(struct nvs_trace *t);
/* Records that a frame contains [from, to) of a thread buffer. */
void nvs_spool_mark_seen(struct nvs_trace *t, const struct nvs_buffer_range *range);
void nvs_spool_restart(struct nvs_trace *t);
bool nvs_spool_has_buffers(const struct nvs_trace *t);
/* spool_in_use.c: returns true if the spool's process exists and has it mapped. */
bool nvs_spool_running(const struct nvs_spool_file *f);
/* Starts merging the records that are in no frame. Returns false if there is no spool. */
bool nvs_spool_start(struct nvs_trace *t, uint32_t which);
/* Returns the next record in time order: 1, or 0 at the end. */
int nvs_spool_next(struct nvs_trace *t, const struct nvs_rec **rec, struct nvs_error *err);
void nvs_spool_advance(
	struct nvs_trace *t); /* releases the record that nvs_spool_next() returned */
/* Returns true if the submission's doorbell may not have been rung. */
bool nvs_spool_uncertain(const struct nvs_trace *t, uint32_t channel, uint64_t sequence);
/* Reads how far the GPU was with each channel when the library last checked. */
void nvs_spool_done(struct nvs_trace *t);
/* Reports gaps that the library could not record because it was killed. */
void nvs_spool_report_losses(struct nvs_trace *t);

/* ---- cursor.c ---- */

/* Read position in a thread buffer, from POS up to its head. */
struct nvs_spool_cursor {
	struct nvs_spool_buffer head;
	uint32_t number;
	uint64_t base; /* file offset of its data */
	uint64_t bytes; /* size of the buffer; 0: a plain file, position = offset from base */
	uint64_t seen; /* end of the part that is in frames */
	uint64_t pos;
	uint8_t *buf; /* holds bytes [buf_pos, buf_pos + buf_len) */
	size_t room, buf_len;
	uint64_t buf_pos;
	uint64_t time; /* of the record at pos */
};

/* Reads exactly BYTES at OFFSET. Returns false if that fails. */
bool nvs_spool_read(int fd, void *dst, size_t bytes, uint64_t offset);
/* Returns the record at POS, complete and checked, or NULL and the reason in *WHAT. Valid until the
 * next call. */
const struct nvs_rec *nvs_spool_cursor_record(struct nvs_spool_file *f, struct nvs_spool_cursor *c,
					      uint64_t pos, const char **what);
/* Skips holes of zeros in a plain spool: several threads append to it in parallel, so a kill may
 * leave unwritten records. */
void nvs_spool_cursor_skip_holes(struct nvs_spool_file *f, struct nvs_spool_cursor *c);

#endif
