/* SPDX-License-Identifier: MIT */
/* Encoder for protocol buffers: fields by number, into a reusable buffer. The length of a nested
 *message is inserted when it ends. If memory is short, `failed` is set and the buffer must not be
 *used.
 *
 *	nvs_proto_begin(p, 1);
 *	nvs_proto_uint(p, 2, 7);
 *	nvs_proto_end(p);
 *	fwrite(p->data, 1, p->n, file);
 *	p->n = 0;
 */
#ifndef NVSNOOP_DECODE_EXPORT_PROTO_H
#define NVSNOOP_DECODE_EXPORT_PROTO_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NVS_PROTO_DEPTH 8 /* maximum nesting of messages */

struct nvs_proto {
	uint8_t *data;
	size_t n, room;
	size_t open[NVS_PROTO_DEPTH]; /* offset of each open message's content */
	uint32_t depth;
	bool failed;
};

bool nvs_proto_grow(struct nvs_proto *p, size_t n);
void nvs_proto_free(struct nvs_proto *p);

/* ---- numbers: inline, so that the keys of constant fields are constants ---- */

enum nvs_proto_type { NVS_PROTO_VARINT = 0, NVS_PROTO_FIXED64 = 1, NVS_PROTO_LENGTH = 2 };

#define NVS_VARINT_BYTES 10 /* at most */

/* Room for N bytes at the end; the caller adds to p->n what it uses. NULL if memory is short. */
static inline uint8_t *nvs_proto_reserve(struct nvs_proto *p, size_t n)
{
	return p->room - p->n >= n || nvs_proto_grow(p, n) ? p->data + p->n : NULL;
}

/* Seven bits of VALUE in each of eight bytes, the lowest first. */
static inline uint64_t nvs_proto_spread(uint64_t value)
{
	value = (value & 0x0fffffff) | (value & 0x00fffffff0000000) << 4;
	value = (value & 0x00003fff00003fff) | (value & 0x0fffc0000fffc000) << 2;
	return (value & 0x007f007f007f007f) | (value & 0x3f803f803f803f80) << 1;
}

/* Writes up to NVS_VARINT_BYTES bytes, whatever the length that it returns. */
static inline size_t nvs_proto_encode(uint8_t dst[NVS_VARINT_BYTES], uint64_t value)
{
	uint64_t low;
	size_t n;

	if (value < 0x80) {
		*dst = (uint8_t)value;
		return 1;
	}
	n = (70 - (size_t)__builtin_clzll(value)) / 7;
	low = htole64(nvs_proto_spread(value) | 0x8080808080808080);
	memcpy(dst, &low, sizeof(low));
	dst[8] = (uint8_t)(value >> 56 | 0x80);
	dst[9] = (uint8_t)(value >> 63);
	dst[n - 1] &= 0x7f;
	return n;
}

static inline void nvs_proto_varint(struct nvs_proto *p, uint64_t value)
{
	uint8_t *at = nvs_proto_reserve(p, NVS_VARINT_BYTES);

	if (at)
		p->n += nvs_proto_encode(at, value);
}

static inline void nvs_proto_key(struct nvs_proto *p, uint32_t field, enum nvs_proto_type type)
{
	nvs_proto_varint(p, (uint64_t)field << 3 | type);
}

static inline void nvs_proto_uint(struct nvs_proto *p, uint32_t field, uint64_t value)
{
	uint8_t *at = nvs_proto_reserve(p, 2 * NVS_VARINT_BYTES);
	size_t n;

	if (!at)
		return;
	n = nvs_proto_encode(at, (uint64_t)field << 3 | NVS_PROTO_VARINT);
	p->n += n + nvs_proto_encode(at + n, value);
}

/* int32 and int64; negative numbers take ten bytes. */
static inline void nvs_proto_int(struct nvs_proto *p, uint32_t field, int64_t value)
{
	nvs_proto_uint(p, field, (uint64_t)value);
}

/* ---- messages and text ---- */

static inline void nvs_proto_begin(struct nvs_proto *p, uint32_t field)
{
	nvs_proto_key(p, field, NVS_PROTO_LENGTH);
	if (p->depth == NVS_PROTO_DEPTH || !nvs_proto_reserve(p, 1))
		p->failed = true;
	else
		p->open[p->depth++] = ++p->n;
}

void nvs_proto_end(struct nvs_proto *p);
/* A message of two numbers. All field numbers are below 16. */
void nvs_proto_pair(struct nvs_proto *p, uint32_t field, const uint32_t fields[2],
		    const uint64_t values[2]);
void nvs_proto_fixed64(struct nvs_proto *p, uint32_t field, uint64_t value);
/* Untrusted text, escaped to UTF-8 without control characters; very long text is cut. */
void nvs_proto_text(struct nvs_proto *p, uint32_t field, const char *text, size_t length);
/* Raw bytes, for callers that encode fields themselves. */
void nvs_proto_put(struct nvs_proto *p, const void *data, size_t n);
/* A packed repeated field. */
void nvs_proto_packed(struct nvs_proto *p, uint32_t field, const uint64_t *values, size_t n);

#endif
