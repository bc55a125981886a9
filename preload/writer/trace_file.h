/* SPDX-License-Identifier: MIT */
/* The trace file: appends zstd frames and, at the end, the seek table. */
#ifndef NVSNOOP_PRELOAD_WRITER_TRACE_FILE_H
#define NVSNOOP_PRELOAD_WRITER_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "nvsnoop/trace.h"
#include "preload/base/outfile.h"

struct nvs_sink {
	struct nvs_outfile *file;
	struct {
		uint32_t packed, size;
	} * seek; /* of each frame */
	uint64_t frames, seek_room;
	uint64_t raw_bytes; /* of records so far */
	uint64_t file_bytes; /* whole frames in the file */
	bool no_table;
	int error; /* -errno of the first failed write; nothing is written after it */
};

void nvs_sink_free(struct nvs_sink *sink);
/* Writes one frame of SIZE bytes of records: PACKED_SIZE bytes at PACKED, or -errno if compression
 * failed. Returns 0, or -errno with sink->error set and the file truncated to whole frames. */
int nvs_sink_write(struct nvs_sink *sink, const void *packed, ssize_t packed_size, size_t size);
/* Writes the seek table in zstd's seekable format. */
int nvs_sink_seek_table(struct nvs_sink *sink);

#endif
