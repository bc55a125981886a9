/* SPDX-License-Identifier: MIT */
/* Reads a trace file and unpacks its frames. */
#ifndef NVSNOOP_DECODE_TRACE_INPUT_H
#define NVSNOOP_DECODE_TRACE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>
#include "nvsnoop/decode.h"

#define NVS_MAX_FILES 66u

struct nvs_input {
	int fd;
	const char *path;
	bool seekable;
	bool eof;
	uint64_t size; /* of the file; 0: unknown. Data appended later is not read */
	uint64_t stored; /* bytes read from it; the unpacked size is limited by this */
	bool is_ahead; /* belongs to the read-ahead thread: budget changes are deferred */
	uint64_t deferred_read; /* deferred bytes for nvs_budget_read() */
	int64_t aside; /* deferred bytes for nvs_budget_add() */
	uint64_t passed, unpacked; /* bytes read and bytes unpacked since the last rewind */
	uint64_t offset; /* in the file, of buf[start] */
	uint8_t *buf;
	size_t room, start, end;
	ZSTD_DCtx *dctx;
	uint8_t *frame; /* the unpacked frame */
	size_t frame_room, frame_size;
	uint64_t frame_offset; /* in the file, of its compressed form */
	uint32_t frames; /* unpacked so far */
	/* Files that are read in sequence as one; 0: only fd */
	uint32_t nfiles, file;
	int files[NVS_MAX_FILES];
	/* The thread that unpacks the next frame; NULL if there is none */
	struct nvs_read_ahead *ahead;
};

/* Updates the size to the file's current size. Call before the first frame, or between frames while
 * there is no read-ahead. */
void nvs_input_extend(struct nvs_input *in);
int nvs_input_open(struct nvs_input *in, const char *path, struct nvs_error *err);
/* Inserts the file FD before all others and takes ownership. Returns false if there are too many
 * files. Call nvs_input_rewind() after the last insertion. */
bool nvs_input_prepend(struct nvs_input *in, int fd);
/* Skips the rest of a file that ends in the middle of a frame. Returns false if it was the last
 * file. */
bool nvs_input_next_file(struct nvs_input *in);
void nvs_input_close(struct nvs_input *in);
/* Frees buffers after a pass; a rewind allocates them again. Does nothing for a pipe. */
void nvs_input_release(struct nvs_input *in);
int nvs_input_rewind(struct nvs_input *in, struct nvs_error *err);
/* Reads the next data frame. Returns 1, or 0 at the end of the file; -ENODATA if the file ends
 * within this frame; -EBADMSG if it is damaged or not zstd; another -errno if reading failed. */
int nvs_input_frame(struct nvs_input *in, struct nvs_error *err);

/* ---- frames.c ---- */
/* Does the same synchronously. */
int nvs_frame_unpack(struct nvs_input *in, struct nvs_error *err);

/* ---- frame_prefetch.c ---- */
/* Starts a thread that unpacks one frame ahead. Without a thread everything works as before. */
void nvs_read_ahead_start(struct nvs_input *in);
int nvs_read_ahead_frame(struct nvs_input *in, struct nvs_error *err);
void nvs_read_ahead_stop(struct nvs_input *in); /* discards frames read ahead; call before a seek */

#endif
