/* SPDX-License-Identifier: MIT */
/* Files for fuzz targets, in memory; and traces made of their plain streams. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>
#include "nvsnoop/trace.h"
#include "tests/fuzz/fuzz.h"

#define SKIPPABLE 0x184d2a50u

static struct {
	int fd;
	char name[32];
} files[FUZZ_SLOTS];

/* The file of SLOT, empty. */
static int fresh(enum fuzz_slot slot)
{
	if (!files[slot].fd) {
		files[slot].fd = memfd_create("fuzz", 0);
		snprintf(files[slot].name, sizeof(files[slot].name), "/proc/self/fd/%d",
			 files[slot].fd);
	}
	if (files[slot].fd <= 0 || ftruncate(files[slot].fd, 0) ||
	    lseek(files[slot].fd, 0, SEEK_SET))
		abort();
	return files[slot].fd;
}

static void put(int fd, const void *data, size_t size)
{
	const uint8_t *p = data;

	while (size) {
		ssize_t n = write(fd, p, size);

		if (n <= 0)
			abort();
		p += n;
		size -= (size_t)n;
	}
}

const char *fuzz_file(enum fuzz_slot slot, const void *data, size_t size)
{
	put(fresh(slot), data, size);
	return files[slot].name;
}

/* Bytes up to the next FRAME record, as far as sizes can be followed; else all of them. */
static size_t frame_length(const uint8_t *data, size_t size)
{
	size_t at = 0;

	while (size - at >= sizeof(struct nvs_rec)) {
		struct nvs_rec rec;

		memcpy(&rec, data + at, sizeof(rec));
		if (at && rec.type == NVS_REC_FRAME)
			return at;
		if (rec.size < sizeof(rec) || rec.size > size - at)
			break;
		at += rec.size;
	}
	return size;
}

static void pack(int fd, const uint8_t *data, size_t size)
{
	static uint8_t *room;
	static size_t room_size;
	static ZSTD_CCtx *context;
	size_t n = ZSTD_compressBound(size);

	if (n > room_size)
		room = realloc(room, room_size = n);
	if (!context)
		context = ZSTD_createCCtx();
	if (!room || !context)
		abort();
	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, -5);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	n = ZSTD_compress2(context, room, room_size, data, size);
	if (ZSTD_isError(n))
		abort();
	put(fd, room, n);
}

const char *fuzz_trace_file(const uint8_t *data, size_t size)
{
	uint32_t magic = 0;
	int fd;

	if (size >= 4)
		memcpy(&magic, data, 4);
	if (magic == ZSTD_MAGICNUMBER || (magic & ~15u) == SKIPPABLE)
		return fuzz_file(FUZZ_TRACE, data, size);
	fd = fresh(FUZZ_TRACE);
	while (size) {
		size_t n = frame_length(data, size);

		pack(fd, data, n);
		data += n;
		size -= n;
	}
	return files[FUZZ_TRACE].name;
}
