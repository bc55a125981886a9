/* SPDX-License-Identifier: MIT */
/*
 * Messages of protocol buffers, written by hand: fields by their numbers, in a buffer that is used
 * again. A message inside another one is put in place when it ends. What did not fit for want of
 * memory leaves `failed`, and the buffer must not be used.
 *
 *	nvs_proto_begin(p, 1);
 *	nvs_proto_uint(p, 2, 7);
 *	nvs_proto_end(p);
 *	fwrite(p->data, 1, p->n, file);
 *	p->n = 0;
 */
#ifndef NVSNOOP_DECODE_EXPORT_PROTO_H
#define NVSNOOP_DECODE_EXPORT_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVS_PROTO_DEPTH 8 /* messages in each other */

struct nvs_proto {
	uint8_t *data;
	size_t n, room;
	size_t open[NVS_PROTO_DEPTH]; /* where the contents of each begin */
	uint32_t depth;
	bool failed;
};

void nvs_proto_free(struct nvs_proto *p);
void nvs_proto_begin(struct nvs_proto *p, uint32_t field);
void nvs_proto_end(struct nvs_proto *p);
void nvs_proto_uint(struct nvs_proto *p, uint32_t field, uint64_t value);
/* int32 and int64, whose negative numbers take ten bytes. */
void nvs_proto_int(struct nvs_proto *p, uint32_t field, int64_t value);
void nvs_proto_fixed64(struct nvs_proto *p, uint32_t field, uint64_t value);
void nvs_proto_double(struct nvs_proto *p, uint32_t field, double value);
/* Text out of a trace, escaped: UTF-8 without control characters. Of very long text the begin. */
void nvs_proto_text(struct nvs_proto *p, uint32_t field, const char *text, size_t length);
/* Bytes and varints as they are, for whoever makes his own fields. */
void nvs_proto_put(struct nvs_proto *p, const void *data, size_t n);
void nvs_proto_varint(struct nvs_proto *p, uint64_t value);
/* Numbers in a row, in one field. */
void nvs_proto_packed(struct nvs_proto *p, uint32_t field, const uint64_t *values, size_t n);

#endif
