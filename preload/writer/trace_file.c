/* SPDX-License-Identifier: MIT */
/* The trace file: appends zstd frames and, at the end, the seek table. */
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "preload/writer/trace_file.h"

#define SKIPPABLE_MAGIC 0x184d2a5eu
#define SEEKABLE_MAGIC 0x8f92eab1u

struct seek_footer {
	uint32_t frames;
	uint8_t descriptor; /* bit 7: entries carry checksums; ours do not, the frames do */
	uint32_t magic;
} __attribute__((packed));

void nvs_sink_free(struct nvs_sink *sink)
{
	nvs_free(sink->seek, sink->seek_room * 8);
	*sink = (struct nvs_sink){.file = sink->file};
}

/* Without memory for its entry the frame is still written; the table is then omitted. */
static void add_seek_entry(struct nvs_sink *sink, size_t packed, size_t size)
{
	if (NVS_GROW(sink->seek, sink->frames, sink->seek_room, 1024)) {
		sink->seek[sink->frames].packed = (uint32_t)packed;
		sink->seek[sink->frames].size = (uint32_t)size;
	}
	sink->frames++;
}

/* Truncates the file to whole frames after a failure. Returns ERR. */
static int fail_write(struct nvs_sink *sink, int err)
{
	int fd = nvs_outfile_fd(sink->file);

	if (fd >= 0)
		nvs_sys_ftruncate(fd, sink->file_bytes);
	sink->error = err;
	return err;
}

int nvs_sink_write(struct nvs_sink *sink, const void *packed, ssize_t packed_size, size_t size)
{
	int err;

	if (sink->error)
		return sink->error;
	if (packed_size < 0)
		return fail_write(sink, (int)packed_size);
	err = nvs_outfile_append(sink->file, packed, (size_t)packed_size);
	if (err)
		return fail_write(sink, err);
	if (!sink->no_table)
		add_seek_entry(sink, (size_t)packed_size, size);
	sink->raw_bytes += size;
	sink->file_bytes += (size_t)packed_size;
	return 0;
}

int nvs_sink_seek_table(struct nvs_sink *sink)
{
	uint64_t bytes = sink->frames * 8;
	uint32_t head[2] = {SKIPPABLE_MAGIC, (uint32_t)(bytes + sizeof(struct seek_footer))};
	struct seek_footer footer = {(uint32_t)sink->frames, 0, SEEKABLE_MAGIC};
	int err = sink->error;

	if (sink->no_table || sink->frames > sink->seek_room || bytes > UINT32_MAX - sizeof(footer))
		return 0;
	if (!err)
		err = nvs_outfile_append(sink->file, head, sizeof(head));
	if (!err)
		err = nvs_outfile_append(sink->file, sink->seek, bytes);
	if (!err)
		err = nvs_outfile_append(sink->file, &footer, sizeof(footer));
	if (err)
		return fail_write(sink, err);
	sink->file_bytes += sizeof(head) + bytes + sizeof(footer);
	return 0;
}
