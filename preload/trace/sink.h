/* SPDX-License-Identifier: MIT */
/*
 * The trace as a row of zstd frames: packs records, writes them, keeps the seek table.
 */
#ifndef NVSNOOP_PRELOAD_TRACE_SINK_H
#define NVSNOOP_PRELOAD_TRACE_SINK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "nvsnoop/trace.h"
#include "preload/base/outfile.h"

#define NVS_FRAME_BYTES (1u << 20) /* of records in a frame, about */

/* What packs frames: zstd's state, the frame with its differences, and where it is put packed. One
 * thread at a time. */
struct nvs_pack {
	void *workspace; /* zstd's */
	void *cctx;
	uint8_t *packed;
	uint32_t *delta, *slots;
	size_t workspace_size, packed_size, delta_size;
};

/* delta.c: SIZE bytes of RECORDS as they stand in a frame, to TO. */
void nvs_delta_frame(uint32_t *to, const uint32_t *records, size_t size,
		     uint32_t slots[NVS_DELTA_SLOTS]);

struct nvs_sink {
	struct nvs_outfile *file;
	struct nvs_pack pack;
	uint32_t *seek; /* packed and unpacked size of each frame */
	uint64_t frames, seek_room;
	uint64_t raw_bytes; /* of records so far */
	uint64_t file_bytes; /* whole frames in the file */
	int error; /* -errno of the first write that failed; nothing is written after it */
};

/* For frames of at most LARGEST bytes of records. 0 or -ENOMEM. */
int nvs_pack_init(struct nvs_pack *pack, size_t largest);
void nvs_pack_free(struct nvs_pack *pack);
/* SIZE bytes of RECORDS to pack->packed: the bytes there, or -EINVAL. */
ssize_t nvs_pack_frame(struct nvs_pack *pack, const void *records, size_t size);

/* For frames of at most LARGEST bytes of records. 0 or -ENOMEM. */
int nvs_sink_init(struct nvs_sink *sink, struct nvs_outfile *file, size_t largest);
void nvs_sink_free(struct nvs_sink *sink);
/*
 * Writes one frame of SIZE bytes of records, the first of which is its FRAME record. 0 or -errno:
 * the file ends behind the last whole frame, and sink->error is set.
 */
int nvs_sink_frame(struct nvs_sink *sink, const void *records, size_t size);
/* The same for what a pack made of SIZE bytes: PACKED_SIZE bytes at PACKED, or -errno if it could
 * not. */
int nvs_sink_packed(struct nvs_sink *sink, const void *packed, ssize_t packed_size, size_t size);
/* Lets writing be tried once more after an error. */
void nvs_sink_retry(struct nvs_sink *sink);
/* The seek table, in zstd's seekable format. */
int nvs_sink_seek_table(struct nvs_sink *sink);

#endif
