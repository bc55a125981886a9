/* SPDX-License-Identifier: MIT */
/* Reads a trace frame by frame, without the decoder, for the test of recording. */
#ifndef NVSNOOP_TEST_RECORDED_H
#define NVSNOOP_TEST_RECORDED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "nvsnoop/trace.h"

static inline uint8_t *slurp(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data;

	*size = 0;
	if (!f)
		return NULL;
	fseek(f, 0, SEEK_END);
	*size = (size_t)ftell(f);
	rewind(f);
	data = malloc(*size + 1);
	if (!data || fread(data, 1, *size, f) != *size)
		abort();
	data[*size] = 0;
	fclose(f);
	return data;
}

struct contents {
	uint64_t frames, attrs, clocks, gaps, modules, threads, marks, mark_sum, marks_late;
	bool header, totals, end, whole, seekable;
	struct nvs_rec_header head;
	struct nvs_rec_totals t;
	char exe[512], driver[64];
	uint64_t gap_submissions;
};

/* The test's own records: submissions of no entries, counted by their sequence. */
static void look_at(struct contents *c, const struct nvs_rec *rec)
{
	const struct nvs_rec_attr *attr = (const void *)rec;
	const struct nvs_rec_submission *sub = (const void *)rec;

	switch (rec->type) {
	case NVS_REC_HEADER:
		memcpy(&c->head, rec, sizeof(c->head));
		c->header = c->head.magic == NVS_TRACE_MAGIC;
		break;
	case NVS_REC_ATTR:
		c->attrs++;
		if (attr->key == NVS_ATTR_EXE)
			snprintf(c->exe, sizeof(c->exe), "%.*s", (int)attr->length, attr->value);
		if (attr->key == NVS_ATTR_DRIVER)
			snprintf(c->driver, sizeof(c->driver), "%.*s", (int)attr->length,
				 attr->value);
		break;
	case NVS_REC_CLOCK:
		c->clocks++;
		break;
	case NVS_REC_MODULE:
		c->modules++;
		break;
	case NVS_REC_THREAD:
		c->threads++;
		break;
	case NVS_REC_GAP:
		c->gaps++;
		c->gap_submissions += ((const struct nvs_rec_gap *)rec)->submissions;
		break;
	case NVS_REC_SUBMISSION:
		c->marks++;
		c->marks_late += !!(rec->flags & NVS_SUB_LATE);
		c->mark_sum += sub->sequence;
		break;
	case NVS_REC_TOTALS:
		memcpy(&c->t, rec, sizeof(c->t));
		c->totals = true;
		break;
	case NVS_REC_END:
		c->end = true;
		break;
	default:
		break;
	}
}

/* Makes a record whole that may stand as a difference, by the format's description alone. */
static bool whole_record(uint32_t *rec, uint32_t **latest)
{
	uint16_t type = ((struct nvs_rec *)(void *)rec)->type & (uint16_t)~NVS_REC_DELTA;
	uint32_t **slot;

	if (type != NVS_REC_SUBMISSION && type != NVS_REC_CALL_BEGIN && type != NVS_REC_CALL)
		return !(rec[0] & NVS_REC_DELTA);
	slot = &latest[nvs_delta_slot(rec)];
	if (rec[0] & NVS_REC_DELTA) {
		if (!*slot || (uint16_t) * *slot != type || (*slot)[1] != rec[1])
			return false;
		for (uint32_t i = 2; i < rec[1] / 4; i++)
			rec[i] += i == 4 || i == 5 ? 0 : (*slot)[i];
		rec[0] &= ~(uint32_t)NVS_REC_DELTA;
	}
	*slot = rec;
	return true;
}

static bool walk(struct contents *c, uint8_t *data, size_t size)
{
	uint32_t *latest[NVS_DELTA_SLOTS] = {0};
	size_t at = 0;

	while (at + sizeof(struct nvs_rec) <= size) {
		const struct nvs_rec *rec = (const void *)(data + at);

		if (rec->size < sizeof(*rec) || rec->size % 8 || rec->size > size - at ||
		    !whole_record((uint32_t *)(void *)(data + at), latest))
			return false;
		look_at(c, rec);
		at += rec->size;
	}
	return at == size;
}

/* The footer says how many frames there are, and the entries add up to the file. */
static bool check_seek_table(const uint8_t *file, size_t size, uint64_t frames,
			     uint64_t frame_bytes)
{
	uint32_t magic, n, length, packed, sum = 0;

	if (size < 17)
		return false;
	memcpy(&magic, file + size - 4, 4);
	memcpy(&n, file + size - 9, 4);
	if (magic != 0x8f92eab1 || n != frames || file[size - 5] != 0)
		return false;
	memcpy(&magic, file + frame_bytes, 4);
	memcpy(&length, file + frame_bytes + 4, 4);
	for (uint32_t i = 0; i < n; i++) {
		memcpy(&packed, file + frame_bytes + 8 + i * 8, 4);
		sum += packed;
	}
	return magic == 0x184d2a5e && length == size - frame_bytes - 8 && sum == frame_bytes;
}

/* Frame by frame: each unpacks alone and holds whole records. */
static inline struct contents read_trace(const char *path)
{
	struct contents c = {.whole = true};
	size_t size, at = 0, unpacked, packed;
	uint8_t *file = slurp(path, &size), *out;

	if (!file)
		return (struct contents){0};
	while (at < size && file[at] == 0x28) {
		packed = ZSTD_findFrameCompressedSize(file + at, size - at);
		if (ZSTD_isError(packed)) {
			c.whole = false;
			break;
		}
		unpacked = (size_t)ZSTD_getFrameContentSize(file + at, size - at);
		c.whole &= unpacked > 0 && unpacked < 8u << 20;
		if (!c.whole)
			break;
		out = malloc(unpacked);
		c.whole &= ZSTD_decompress(out, unpacked, file + at, packed) == unpacked;
		c.whole &= walk(&c, out, unpacked);
		free(out);
		at += packed;
		c.frames++;
	}
	c.seekable = check_seek_table(file, size, c.frames, at);
	free(file);
	return c;
}

#endif
