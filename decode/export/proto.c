/* SPDX-License-Identifier: MIT */
/* Encoder for protocol buffers: varints, fixed-size numbers and length-prefixed fields. */
#include "decode/export/proto.h"
#include <string.h>
#include "nvsnoop/decode.h"

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2 };

#define MOST_TEXT 4096u /* bytes of a text before escaping */

static uint8_t *reserve_bytes(struct nvs_proto *p, size_t n)
{
	size_t room = p->room ? p->room : 4096;
	uint8_t *data;

	while (room - p->n < n)
		room *= 2;
	if (room > p->room) {
		data = p->failed ? NULL : realloc(p->data, room);
		p->failed |= !data;
		if (!data)
			return NULL;
		p->data = data;
		p->room = room;
	}
	p->n += n;
	return p->data + p->n - n;
}

void nvs_proto_free(struct nvs_proto *p)
{
	free(p->data);
	memset(p, 0, sizeof(*p));
}

static size_t encode_varint(uint8_t dst[10], uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		dst[n++] = (uint8_t)(value | 0x80);
	dst[n++] = (uint8_t)value;
	return n;
}

void nvs_proto_put(struct nvs_proto *p, const void *data, size_t n)
{
	uint8_t *at = n ? reserve_bytes(p, n) : NULL;

	if (at)
		memcpy(at, data, n);
}

void nvs_proto_varint(struct nvs_proto *p, uint64_t value)
{
	uint8_t bytes[10];

	nvs_proto_put(p, bytes, encode_varint(bytes, value));
}

static void put_key(struct nvs_proto *p, uint32_t field, unsigned type)
{
	nvs_proto_varint(p, (uint64_t)field << 3 | type);
}

void nvs_proto_begin(struct nvs_proto *p, uint32_t field)
{
	put_key(p, field, LENGTH);
	if (p->depth == NVS_PROTO_DEPTH)
		p->failed = true;
	else
		p->open[p->depth++] = p->n;
}

void nvs_proto_end(struct nvs_proto *p)
{
	size_t at, length, n;
	uint8_t bytes[10];

	if (p->failed || !p->depth)
		return;
	at = p->open[--p->depth];
	length = p->n - at;
	n = encode_varint(bytes, length);
	if (!reserve_bytes(p, n))
		return;
	memmove(p->data + at + n, p->data + at, length);
	memcpy(p->data + at, bytes, n);
}

void nvs_proto_uint(struct nvs_proto *p, uint32_t field, uint64_t value)
{
	put_key(p, field, VARINT);
	nvs_proto_varint(p, value);
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
	char safe[4 * MOST_TEXT + 1];
	size_t n;

	nvs_escape(safe, sizeof(safe), text, length < MOST_TEXT ? length : MOST_TEXT);
	n = strlen(safe);
	put_key(p, field, LENGTH);
	nvs_proto_varint(p, n);
	nvs_proto_put(p, safe, n);
}

void nvs_proto_packed(struct nvs_proto *p, uint32_t field, const uint64_t *values, size_t n)
{
	nvs_proto_begin(p, field);
	for (size_t i = 0; i < n; i++)
		nvs_proto_varint(p, values[i]);
	nvs_proto_end(p);
}
