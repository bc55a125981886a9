/* SPDX-License-Identifier: MIT */
/* Thrift's compact protocol, as far as Parquet needs it: structs, lists, numbers and text, written
 * into a buffer. The outermost struct is open from the start; nvs_thrift_end() ends it.
 * nvs_thrift_item() begins a struct in a list. */
#ifndef NVSNOOP_DECODE_EXPORT_PARQUET_THRIFT_H
#define NVSNOOP_DECODE_EXPORT_PARQUET_THRIFT_H

#include <stdint.h>

#define NVS_THRIFT_DEPTH 8 /* maximum nesting of structs */

enum {
	NVS_THRIFT_I32 = 5,
	NVS_THRIFT_I64 = 6,
	NVS_THRIFT_BINARY = 8,
	NVS_THRIFT_LIST = 9,
	NVS_THRIFT_STRUCT = 12
};

struct nvs_proto;
struct nvs_thrift {
	struct nvs_proto *to;
	uint32_t depth;
	uint32_t last[NVS_THRIFT_DEPTH]; /* latest field of each open struct */
};

void nvs_thrift_begin(struct nvs_thrift *t, uint32_t field);
void nvs_thrift_end(struct nvs_thrift *t);
void nvs_thrift_int(struct nvs_thrift *t, uint32_t field, int64_t value); /* 32 bits */
void nvs_thrift_int64(struct nvs_thrift *t, uint32_t field, int64_t value);
void nvs_thrift_text(struct nvs_thrift *t, uint32_t field, const char *text);
/* A list of N elements of TYPE, which follow: by the next three functions. */
void nvs_thrift_list(struct nvs_thrift *t, uint32_t field, uint32_t type, uint32_t n);
void nvs_thrift_item(struct nvs_thrift *t);
void nvs_thrift_number(struct nvs_thrift *t, int64_t value);
void nvs_thrift_word(struct nvs_thrift *t, const char *text);

#endif
