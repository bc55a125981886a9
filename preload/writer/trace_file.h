/* SPDX-License-Identifier: MIT */
/*
 * The trace as a row of zstd frames: writes them, keeps the seek table.
 */
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
	uint32_t *seek; /* packed and unpacked size of each frame */
	uint64_t frames, seek_room;
	uint64_t raw_bytes; /* of records so far */
	uint64_t file_bytes; /* whole frames in the file */
	bool no_table;
	int error; /* -errno of the first write that failed; nothing is written after it */
};

void nvs_sink_free(struct nvs_sink *sink);
/*
 * Writes one frame of SIZE bytes of records: PACKED_SIZE bytes at PACKED, or -errno where it could
 * not be packed. 0 or -errno: the file ends behind the last whole frame, and sink->error is set.
 */
int nvs_sink_write(struct nvs_sink *sink, const void *packed, ssize_t packed_size, size_t size);
/* Lets writing be tried once more after an error. */
void nvs_sink_retry(struct nvs_sink *sink);
/* The seek table, in zstd's seekable format. */
int nvs_sink_seek_table(struct nvs_sink *sink);

#endif
