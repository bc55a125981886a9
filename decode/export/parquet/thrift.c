/* SPDX-License-Identifier: MIT */
/* Thrift's compact protocol: a field is encoded by its distance to the previous one. */
#include "decode/export/parquet/thrift.h"
#include <string.h>
#include "decode/export/proto.h"

static void put_field(struct nvs_thrift *t, uint32_t field, uint32_t type)
{
	uint32_t *last = t->last + t->depth;
	/* the distance is always 1 to 15 here */
	uint8_t byte = (uint8_t)((field - *last) << 4 | type);

	*last = field;
	nvs_proto_put(t->to, &byte, 1);
}

void nvs_thrift_number(struct nvs_thrift *t, int64_t value)
{
	nvs_proto_varint(t->to, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

void nvs_thrift_word(struct nvs_thrift *t, const char *text)
{
	size_t n = strlen(text);

	nvs_proto_varint(t->to, n);
	nvs_proto_put(t->to, text, n);
}

void nvs_thrift_item(struct nvs_thrift *t)
{
	if (t->depth + 1 < NVS_THRIFT_DEPTH)
		t->last[++t->depth] = 0;
	else
		t->to->failed = true;
}

void nvs_thrift_begin(struct nvs_thrift *t, uint32_t field)
{
	put_field(t, field, NVS_THRIFT_STRUCT);
	nvs_thrift_item(t);
}

void nvs_thrift_end(struct nvs_thrift *t)
{
	nvs_proto_put(t->to, "", 1);
	t->depth -= t->depth > 0;
}

void nvs_thrift_int(struct nvs_thrift *t, uint32_t field, int64_t value)
{
	put_field(t, field, NVS_THRIFT_I32);
	nvs_thrift_number(t, value);
}

void nvs_thrift_int64(struct nvs_thrift *t, uint32_t field, int64_t value)
{
	put_field(t, field, NVS_THRIFT_I64);
	nvs_thrift_number(t, value);
}

void nvs_thrift_text(struct nvs_thrift *t, uint32_t field, const char *text)
{
	put_field(t, field, NVS_THRIFT_BINARY);
	nvs_thrift_word(t, text);
}

void nvs_thrift_list(struct nvs_thrift *t, uint32_t field, uint32_t type, uint32_t n)
{
	uint8_t byte = (uint8_t)((n < 15 ? n : 15) << 4 | type);

	put_field(t, field, NVS_THRIFT_LIST);
	nvs_proto_put(t->to, &byte, 1);
	if (n >= 15)
		nvs_proto_varint(t->to, n);
}
