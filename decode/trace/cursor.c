/* SPDX-License-Identifier: MIT */
/* Reads one thread buffer of a spool: a window of its bytes, and the record at a position. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "decode/trace/records.h"
#include "decode/trace/spool.h"

#define MAX_HOLE (64u << 20)
#define WINDOW ((size_t)64 << 10)

bool nvs_spool_read(int fd, void *dst, size_t bytes, uint64_t offset)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pread(fd, (uint8_t *)dst + done, bytes - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static bool read_buffer(const struct nvs_spool_file *f, const struct nvs_spool_cursor *c, void *dst,
			size_t bytes, uint64_t pos)
{
	uint64_t at = c->bytes ? pos & (c->bytes - 1) : pos;
	size_t first = bytes;

	if (c->bytes && first > c->bytes - at)
		first = c->bytes - at;
	return nvs_spool_read(f->fd, dst, first, c->base + at) &&
	       (first == bytes ||
		nvs_spool_read(f->fd, (uint8_t *)dst + first, bytes - first, c->base));
}

/* Loads [pos, pos + want) into the window, and more if available. */
static bool load_window(struct nvs_spool_file *f, struct nvs_spool_cursor *c, uint64_t pos,
			size_t want)
{
	uint64_t left = c->head.head - pos;
	size_t size = want > WINDOW ? want : WINDOW;

	if (pos >= c->buf_pos && pos - c->buf_pos <= c->buf_len &&
	    want <= c->buf_len - (pos - c->buf_pos))
		return true;
	if (want > left)
		return false;
	if (size > left)
		size = left;
	if (size > c->room) {
		free(c->buf);
		c->room = 0;
		c->buf = malloc(size);
		if (!c->buf)
			return false;
		c->room = size;
	}
	c->buf_pos = pos;
	c->buf_len = read_buffer(f, c, c->buf, size, pos) ? size : 0;
	return c->buf_len >= want;
}

const struct nvs_rec *nvs_spool_cursor_record(struct nvs_spool_file *f, struct nvs_spool_cursor *c,
					      uint64_t pos, const char **what)
{
	uint64_t left = c->head.head - pos;
	const struct nvs_rec *rec;

	*what = "its end cannot be read";
	if (!load_window(f, c, pos, sizeof(*rec)))
		return NULL;
	rec = (const void *)(c->buf + (pos - c->buf_pos));
	if (rec->size < sizeof(*rec) || rec->size % 8 || rec->size > left ||
	    (c->bytes && rec->size > c->bytes)) {
		*what = "a record of invalid size";
		return NULL;
	}
	if (!load_window(f, c, pos, rec->size))
		return NULL;
	rec = (const void *)(c->buf + (pos - c->buf_pos));
	*what = nvs_record_check(rec, rec->size);
	if (rec->type == NVS_REC_FRAME)
		*what = "a frame header inside a thread buffer";
	return *what ? NULL : rec;
}

void nvs_spool_cursor_skip_holes(struct nvs_spool_file *f, struct nvs_spool_cursor *c)
{
	static const uint64_t zero; /* no record begins with this */

	for (uint64_t end = c->pos + MAX_HOLE; c->pos < end; c->pos += 8)
		if (!load_window(f, c, c->pos, sizeof(zero)) ||
		    memcmp(c->buf + (c->pos - c->buf_pos), &zero, sizeof(zero)))
			return;
}
