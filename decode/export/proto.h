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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVS_PROTO_DEPTH 8 /* maximum nesting of messages */

struct nvs_proto {
	uint8_t *data;
	size_t n, room;
	size_t open[NVS_PROTO_DEPTH]; /* offset of each open message's content */
	uint32_t depth;
	bool failed;
};

void nvs_proto_free(struct nvs_proto *p);
void nvs_proto_begin(struct nvs_proto *p, uint32_t field);
void nvs_proto_end(struct nvs_proto *p);
void nvs_proto_uint(struct nvs_proto *p, uint32_t field, uint64_t value);
/* A message of two numbers. All field numbers are below 16. */
void nvs_proto_pair(struct nvs_proto *p, uint32_t field, const uint32_t fields[2],
		    const uint64_t values[2]);
/* int32 and int64; negative numbers take ten bytes. */
void nvs_proto_int(struct nvs_proto *p, uint32_t field, int64_t value);
void nvs_proto_fixed64(struct nvs_proto *p, uint32_t field, uint64_t value);
/* Untrusted text, escaped to UTF-8 without control characters; very long text is cut. */
void nvs_proto_text(struct nvs_proto *p, uint32_t field, const char *text, size_t length);
/* Raw bytes and varints, for callers that encode fields themselves. */
void nvs_proto_put(struct nvs_proto *p, const void *data, size_t n);
void nvs_proto_varint(struct nvs_proto *p, uint64_t value);
/* A packed repeated field. */
void nvs_proto_packed(struct nvs_proto *p, uint32_t field, const uint64_t *values, size_t n);

#endif
