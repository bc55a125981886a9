/* SPDX-License-Identifier: MIT */
/* Bytes of the file to unpacked frames. */
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
	uint64_t size; /* of the file, 0 not known: what is appended later is not read */
	uint64_t stored; /* bytes that were read of it: what is unpacked is bounded by them */
	bool ahead_of; /* read ahead of who asks for it: these are counted when that is handed out
			*/
	uint64_t owed; /* bytes for nvs_budget_read(), */
	int64_t aside; /* and for nvs_budget_add() */
	uint64_t passed, unpacked; /* bytes read, and what came of them, since the last rewind */
	uint64_t offset; /* in the file, of buf[start] */
	uint8_t *buf;
	size_t room, start, end;
	ZSTD_DCtx *dctx;
	uint8_t *frame; /* the unpacked frame */
	size_t frame_room, frame_size;
	uint64_t frame_offset; /* in the file, of its compressed form */
	uint32_t frames; /* unpacked so far */
	/* Files that are read one after the other as if they were one; 0: there is but fd */
	uint32_t nfiles, file;
	int files[NVS_MAX_FILES];
	/* Unpacks the next frame meanwhile; NULL: not yet, or not at all */
	struct nvs_ahead *ahead;
};

/* Up to what the file has become by now. Before the first frame, or in between where there is no
 * reading ahead yet. */
void nvs_input_extend(struct nvs_input *in);
int nvs_input_open(struct nvs_input *in, const char *path, struct nvs_error *err);
/* Has the file FD, which becomes the input's, read before all else. False: there are too many. Ends
 * with nvs_input_rewind(). */
bool nvs_input_before(struct nvs_input *in, int fd);
/* What is left of a file that does not end whole is passed over; false: it was the last. */
bool nvs_input_next_file(struct nvs_input *in);
void nvs_input_close(struct nvs_input *in);
/* Has been read: what memory that took goes until it is rewound. Nothing of a pipe. */
void nvs_input_rest(struct nvs_input *in);
int nvs_input_rewind(struct nvs_input *in, struct nvs_error *err);
/*
 * The next data frame: 1, at the end of the file 0. -ENODATA: the file ends within this frame;
 * -EBADMSG: damaged or not zstd; other -errno: could not be read.
 */
int nvs_input_frame(struct nvs_input *in, struct nvs_error *err);

/* ---- frames.c ---- */
/* The next data frame, as nvs_input_frame() says: here and now. */
int nvs_frame_unpack(struct nvs_input *in, struct nvs_error *err);

/* ---- ahead.c ---- */
/* From now on a thread unpacks frames, one ahead; where it cannot be had all stays as it is. */
void nvs_ahead_start(struct nvs_input *in);
int nvs_ahead_frame(struct nvs_input *in, struct nvs_error *err);
void nvs_ahead_stop(struct nvs_input *in); /* what it read ahead is lost: before a seek */

#endif
