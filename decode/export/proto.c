/* SPDX-License-Identifier: MIT */
/* Encoder for protocol buffers: varints, fixed-size numbers and length-prefixed fields. */
#include "decode/export/proto.h"
#include <string.h>
#include "decode/export/export_text.h"

bool nvs_proto_grow(struct nvs_proto *p, size_t n)
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

void nvs_proto_free(struct nvs_proto *p)
{
	free(p->data);
	memset(p, 0, sizeof(*p));
}

void nvs_proto_put(struct nvs_proto *p, const void *data, size_t n)
{
	uint8_t *at = n ? nvs_proto_reserve(p, n) : NULL;

	if (!at)
		return;
	memcpy(at, data, n);
	p->n += n;
}

void nvs_proto_end(struct nvs_proto *p)
{
	size_t at, length, n;
	uint8_t bytes[NVS_VARINT_BYTES];

	if (p->failed || !p->depth || !nvs_proto_reserve(p, NVS_VARINT_BYTES))
		return;
	at = p->open[--p->depth];
	length = p->n - at;
	if (length < 0x80) {
		p->data[at - 1] = (uint8_t)length;
		return;
	}
	/* One byte was kept free for it. */
	n = nvs_proto_encode(bytes, length);
	memmove(p->data + at + n - 1, p->data + at, length);
	memcpy(p->data + at - 1, bytes, n);
	p->n += n - 1;
}

void nvs_proto_pair(struct nvs_proto *p, uint32_t field, const uint32_t fields[2],
		    const uint64_t values[2])
{
	uint8_t *at = nvs_proto_reserve(p, 2 + 2 * (1 + NVS_VARINT_BYTES)), *end;

	if (!at)
		return;
	end = at + 2;
	for (int i = 0; i < 2; i++) {
		*end++ = (uint8_t)(fields[i] << 3 | NVS_PROTO_VARINT);
		end += nvs_proto_encode(end, values[i]);
	}
	at[0] = (uint8_t)(field << 3 | NVS_PROTO_LENGTH);
	at[1] = (uint8_t)(end - at - 2);
	p->n += (size_t)(end - at);
}

void nvs_proto_fixed64(struct nvs_proto *p, uint32_t field, uint64_t value)
{
	nvs_proto_key(p, field, NVS_PROTO_FIXED64);
	nvs_proto_put(p, &value, sizeof(value));
}

void nvs_proto_text(struct nvs_proto *p, uint32_t field, const char *text, size_t length)
{
	char safe[NVS_EXPORT_TEXT_BYTES];

	text = nvs_export_text(safe, text, &length);
	nvs_proto_key(p, field, NVS_PROTO_LENGTH);
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
