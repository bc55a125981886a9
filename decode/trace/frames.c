/* SPDX-License-Identifier: MIT */
/* Reads the file as a sequence of zstd frames: skips skippable frames, and unpacks each data frame
 * into one buffer. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd_errors.h>
#include "decode/base/text.h"
#include "decode/trace/input.h"
#include "decode/trace/records.h"

#define CHUNK ((size_t)256 << 10)
#define MAX_COMPRESSED ((size_t)NVS_MAX_FRAME + (16u << 20))
#define SKIPPABLE 0x184d2a50u
/* Limits by the bytes read: the unpacked size of a frame, which exists twice, and of all frames,
 * which bounds the time. */
#define LARGEST(stored) (((uint64_t)12 << 20) + 2 * (stored))
#define MOST(stored) (((uint64_t)64 << 20) + 512 * (stored))

/* Makes reads block: there is a writer to wait for. */
static bool set_blocking(struct nvs_input *in)
{
	int flags = fcntl(in->fd, F_GETFL);

	return flags >= 0 && flags & O_NONBLOCK && !fcntl(in->fd, F_SETFL, flags & ~O_NONBLOCK);
}

/* Counts bytes only once, not again in later passes. */
static void count_read(struct nvs_input *in, uint64_t bytes)
{
	in->passed += bytes;
	if (in->passed <= in->stored)
		return;
	if (in->is_ahead)
		in->deferred_read += in->passed - in->stored;
	else
		nvs_budget_read(in->passed - in->stored);
	in->stored = in->passed;
}

/* Reads until WANT bytes are at buf[start]; fewer only at the end of the file. */
static int fill_buffer(struct nvs_input *in, size_t want, struct nvs_error *err)
{
	if (in->end - in->start >= want || in->eof)
		return 0;
	if (in->start) {
		memmove(in->buf, in->buf + in->start, in->end - in->start);
		in->end -= in->start;
		in->start = 0;
	}
	if (want + CHUNK > in->room) {
		uint8_t *p = realloc(in->buf, want + CHUNK);

		if (!p)
			return nvs_fail(err, -ENOMEM, "%s: out of memory", in->path);
		in->buf = p;
		in->room = want + CHUNK;
	}
	while (in->end < want) {
		uint64_t at = in->offset + (in->end - in->start),
			 left = in->size > at ? in->size - at : 0;
		size_t room = in->room - in->end;
		ssize_t n = read(in->fd, in->buf + in->end, in->size && left < room ? left : room);

		if (n < 0 && (errno == EINTR || (errno == EAGAIN && set_blocking(in))))
			continue;
		if (n < 0)
			return nvs_fail(err, -errno, "%s: read at offset %llu: %s", in->path,
					(unsigned long long)(in->offset + in->end),
					strerror(errno));
		if (!n) {
			in->eof = true;
			break;
		}
		in->end += (size_t)n;
		count_read(in, (uint64_t)n);
	}
	return 0;
}

static void consume_bytes(struct nvs_input *in, size_t bytes)
{
	in->start += bytes;
	in->offset += bytes;
}

static int fail_truncated(struct nvs_input *in, struct nvs_error *err)
{
	return nvs_fail(err, -ENODATA,
			"%s: ends in the middle of a frame that starts at offset %llu", in->path,
			(unsigned long long)in->frame_offset);
}

static int fail_damaged(struct nvs_input *in, const char *what, struct nvs_error *err)
{
	if (!in->frame_offset)
		return nvs_fail(err, -EBADMSG, "%s: offset 0: not an nvsnoop trace (%s)", in->path,
				what);
	return nvs_fail(err, -EBADMSG, "%s: damaged frame at offset %llu: %s", in->path,
			(unsigned long long)in->frame_offset, what);
}

static int seek_over(struct nvs_input *in, uint64_t bytes, struct nvs_error *err)
{
	if (bytes > in->size || in->offset > in->size - bytes)
		return fail_truncated(in, err);
	in->offset += bytes;
	if (lseek(in->fd, (off_t)in->offset, SEEK_SET) < 0)
		return nvs_fail(err, -errno, "%s: %s", in->path, strerror(errno));
	return 0;
}

/* Skips a skippable frame (the seek table); its contents are not needed. */
static int skip_bytes(struct nvs_input *in, uint64_t bytes, struct nvs_error *err)
{
	while (bytes) {
		size_t have = in->end - in->start;
		int r;

		/* Seek instead of reading: a sparse file may claim a huge size. */
		if (!have && in->seekable && !in->nfiles)
			return seek_over(in, bytes, err);
		r = fill_buffer(in, 1, err);

		if (r)
			return r;
		have = in->end - in->start;
		if (!have)
			return fail_truncated(in, err);
		if (have > bytes)
			have = bytes;
		consume_bytes(in, have);
		bytes -= have;
	}
	return 0;
}

/* Reads the whole compressed frame to buf[start]; returns its size in *SIZE. */
static int gather_frame(struct nvs_input *in, size_t *size, struct nvs_error *err)
{
	for (;;) {
		size_t have = in->end - in->start;
		size_t n = ZSTD_findFrameCompressedSize(in->buf + in->start, have);
		int r;

		if (!ZSTD_isError(n)) {
			*size = n;
			return 0;
		}
		if (ZSTD_getErrorCode(n) != ZSTD_error_srcSize_wrong)
			return fail_damaged(in, ZSTD_getErrorName(n), err);
		if (in->eof)
			return fail_truncated(in, err);
		if (have > MAX_COMPRESSED)
			return fail_damaged(in, "larger than the maximum frame size", err);
		r = fill_buffer(in, have + (have > CHUNK ? have : CHUNK), err);
		if (r)
			return r;
	}
}

static int make_room(struct nvs_input *in, size_t bytes, bool keep)
{
	uint8_t *p;

	if (bytes <= in->frame_room)
		return 0;
	if (!keep) {
		free(in->frame);
		in->frame = NULL;
		in->frame_room = 0;
	}
	p = realloc(in->frame, bytes);
	if (!p)
		return -ENOMEM;
	in->frame = p;
	in->frame_room = bytes;
	return 0;
}

static const char too_much[] = "unpacks to more than the limit for a file of this size";

static size_t next_room(const struct nvs_input *in, size_t room)
{
	size_t next = room ? room * 2 : CHUNK;

	return next < LARGEST(in->stored) ? next : LARGEST(in->stored);
}

/* Unpacks a frame without a stated size: memory grows with the actual output. */
static int unpack_unsized(struct nvs_input *in, size_t size, struct nvs_error *err)
{
	ZSTD_inBuffer src = {in->buf + in->start, size, 0};
	ZSTD_outBuffer dst = {in->frame, in->frame_room, 0};
	size_t r;

	ZSTD_DCtx_reset(in->dctx, ZSTD_reset_session_only);
	do {
		if (dst.pos == dst.size) {
			if (dst.size >= NVS_MAX_FRAME)
				return fail_damaged(in, "larger than the maximum frame size", err);
			if (dst.size >= LARGEST(in->stored))
				return fail_damaged(in, too_much, err);
			if (make_room(in, next_room(in, dst.size), true))
				return nvs_fail(err, -ENOMEM, "%s: out of memory", in->path);
			dst.dst = in->frame;
			dst.size = in->frame_room;
		}
		r = ZSTD_decompressStream(in->dctx, &dst, &src);
		if (ZSTD_isError(r))
			return fail_damaged(in, ZSTD_getErrorName(r), err);
		if (r && src.pos == src.size && dst.pos < dst.size)
			return fail_damaged(in, "ends too early", err);
	} while (r);
	in->frame_size = dst.pos;
	return 0;
}

static int unpack_frame(struct nvs_input *in, size_t size, struct nvs_error *err)
{
	unsigned long long content = ZSTD_getFrameContentSize(in->buf + in->start, size);
	size_t n;

	if (content == ZSTD_CONTENTSIZE_ERROR)
		return fail_damaged(in, "no frame header", err);
	if (content == ZSTD_CONTENTSIZE_UNKNOWN)
		return unpack_unsized(in, size, err);
	if (content > NVS_MAX_FRAME)
		return fail_damaged(in, "larger than the maximum frame size", err);
	if (content > LARGEST(in->stored))
		return fail_damaged(in, too_much, err);
	if (make_room(in, content ? content : 1, false))
		return nvs_fail(err, -ENOMEM, "%s: out of memory", in->path);
	n = ZSTD_decompressDCtx(in->dctx, in->frame, in->frame_room, in->buf + in->start, size);
	if (ZSTD_isError(n))
		return fail_damaged(in, ZSTD_getErrorName(n), err);
	in->frame_size = n;
	return 0;
}

/* Describes data that begins with HEAD, which is no valid frame. */
static const char *describe_magic(uint32_t head)
{
	if ((head & 0xffff) == 0x8b1f)
		return "compressed with gzip: unpack it first";
	if (head == 0x587a37fd)
		return "compressed with xz: unpack it first";
	return "no zstd frame begins here";
}

static int unpack_next(struct nvs_input *in, struct nvs_error *err)
{
	for (;;) {
		uint32_t head[2] = {0, 0};
		size_t have, size = 0;
		int r = fill_buffer(in, 8, err);

		if (r)
			return r;
		in->frame_offset = in->offset;
		have = in->end - in->start;
		if (!have)
			return 0;
		memcpy(head, in->buf + in->start, have < 8 ? have : 8);
		if (have >= 4 && (head[0] & ~15u) != SKIPPABLE && head[0] != ZSTD_MAGICNUMBER)
			return fail_damaged(in, describe_magic(head[0]), err);
		if (have < 8)
			return fail_truncated(in, err);
		if ((head[0] & ~15u) == SKIPPABLE) {
			r = skip_bytes(in, 8 + (uint64_t)head[1], err);
			if (r)
				return r;
			continue;
		}
		r = gather_frame(in, &size, err);
		if (!r)
			r = unpack_frame(in, size, err);
		if (!r && !nvs_delta_restore(in->frame, in->frame_size))
			r = fail_damaged(in, "a delta record has no base record", err);
		if (r)
			return r;
		in->unpacked += in->frame_size;
		if (in->unpacked > MOST(in->stored))
			return fail_damaged(in, too_much, err);
		consume_bytes(in, size);
		return 1;
	}
}

/* At the end of a file, even a truncated one, continues with the next file. */
int nvs_frame_unpack(struct nvs_input *in, struct nvs_error *err)
{
	int r;

	do
		r = unpack_next(in, err);
	while ((!r || r == -ENODATA) && nvs_input_next_file(in));
	return r;
}
