/* SPDX-License-Identifier: MIT */
/* Encoder for protocol buffers: varints, fixed-size numbers and length-prefixed fields. */
#include "decode/export/proto.h"
#include <endian.h>
#include <string.h>
#include "decode/export/export_text.h"

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2 };

#define VARINT_BYTES 10 /* at most */

static bool grow(struct nvs_proto *p, size_t n)
{
	size_t room = p->room ? p->room : 4096;
	uint8_t *data;

	while (room - p->n < n)
		room *= 2;
	data = p->failed ? NULL : realloc(p->data, room);
	p->failed |= !data;
	if (!data)
		return false;
	p->data = data;
	p->room = room;
	return true;
}

/* Room for N bytes at the end; the caller adds to p->n what it uses. */
static inline uint8_t *reserve_bytes(struct nvs_proto *p, size_t n)
{
	return p->room - p->n >= n || grow(p, n) ? p->data + p->n : NULL;
}

void nvs_proto_free(struct nvs_proto *p)
{
	free(p->data);
	memset(p, 0, sizeof(*p));
}

/* Seven bits of VALUE in each of eight bytes, the lowest first. */
static inline uint64_t spread_sevens(uint64_t value)
{
	value = (value & 0x0fffffff) | (value & 0x00fffffff0000000) << 4;
	value = (value & 0x00003fff00003fff) | (value & 0x0fffc0000fffc000) << 2;
	return (value & 0x007f007f007f007f) | (value & 0x3f803f803f803f80) << 1;
}

/* Writes VARINT_BYTES bytes, whatever the length that it returns. */
static inline size_t encode_varint(uint8_t dst[VARINT_BYTES], uint64_t value)
{
	uint64_t low;
	size_t n;

	if (value < 0x80) {
		*dst = (uint8_t)value;
		return 1;
	}
	n = (70 - (size_t)__builtin_clzll(value)) / 7;
	low = htole64(spread_sevens(value) | 0x8080808080808080);
	memcpy(dst, &low, sizeof(low));
	dst[8] = (uint8_t)(value >> 56 | 0x80);
	dst[9] = (uint8_t)(value >> 63);
	dst[n - 1] &= 0x7f;
	return n;
}

void nvs_proto_put(struct nvs_proto *p, const void *data, size_t n)
{
	uint8_t *at = n ? reserve_bytes(p, n) : NULL;

	if (!at)
		return;
	memcpy(at, data, n);
	p->n += n;
}

void nvs_proto_varint(struct nvs_proto *p, uint64_t value)
{
	uint8_t *at = reserve_bytes(p, VARINT_BYTES);

	if (at)
		p->n += encode_varint(at, value);
}

static void put_key(struct nvs_proto *p, uint32_t field, unsigned type)
{
	nvs_proto_varint(p, (uint64_t)field << 3 | type);
}

void nvs_proto_begin(struct nvs_proto *p, uint32_t field)
{
	put_key(p, field, LENGTH);
	if (p->depth == NVS_PROTO_DEPTH || !reserve_bytes(p, 1))
		p->failed = true;
	else
		p->open[p->depth++] = ++p->n;
}

void nvs_proto_end(struct nvs_proto *p)
{
	size_t at, length, n;
	uint8_t bytes[VARINT_BYTES];

	if (p->failed || !p->depth || !reserve_bytes(p, VARINT_BYTES))
		return;
	at = p->open[--p->depth];
	length = p->n - at;
	if (length < 0x80) {
		p->data[at - 1] = (uint8_t)length;
		return;
	}
	/* One byte was kept free for it. */
	n = encode_varint(bytes, length);
	memmove(p->data + at + n - 1, p->data + at, length);
	memcpy(p->data + at - 1, bytes, n);
	p->n += n - 1;
}

void nvs_proto_uint(struct nvs_proto *p, uint32_t field, uint64_t value)
{
	uint8_t *at = reserve_bytes(p, 2 * VARINT_BYTES);
	size_t n;

	if (!at)
		return;
	n = encode_varint(at, (uint64_t)field << 3 | VARINT);
	p->n += n + encode_varint(at + n, value);
}

void nvs_proto_pair(struct nvs_proto *p, uint32_t field, const uint32_t fields[2],
		    const uint64_t values[2])
{
	uint8_t *at = reserve_bytes(p, 2 + 2 * (1 + VARINT_BYTES)), *end;

	if (!at)
		return;
	end = at + 2;
	for (int i = 0; i < 2; i++) {
		*end++ = (uint8_t)(fields[i] << 3 | VARINT);
		end += encode_varint(end, values[i]);
	}
	at[0] = (uint8_t)(field << 3 | LENGTH);
	at[1] = (uint8_t)(end - at - 2);
	p->n += (size_t)(end - at);
}

void nvs_proto_int(struct nvs_proto *p, uint32_t field, int64_t value)
{
	nvs_proto_uint(p, field, (uint64_t)value);
}

void nvs_proto_fixed64(struct nvs_proto *p, uint32_t field, uint64_t value)
{
	put_key(p, field, FIXED64);
	nvs_proto_put(p, &value, sizeof(value));
}

void nvs_proto_text(struct nvs_proto *p, uint32_t field, const char *text, size_t length)
{
	char safe[NVS_EXPORT_TEXT_BYTES];

	text = nvs_export_text(safe, text, &length);
	put_key(p, field, LENGTH);
	nvs_proto_varint(p, length);
	nvs_proto_put(p, text, length);
}

void nvs_proto_packed(struct nvs_proto *p, uint32_t field, const uint64_t *values, size_t n)
{
	nvs_proto_begin(p, field);
	for (size_t i = 0; i < n; i++)
		nvs_proto_varint(p, values[i]);
	nvs_proto_end(p);
}
