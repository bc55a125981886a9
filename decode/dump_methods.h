/* SPDX-License-Identifier: MIT */
/* Methods as text or JSON lines, for --dump and --raw; what is unknown is counted and listed at the
 * end. */
#ifndef NVSNOOP_DECODE_DUMP_METHODS_H
#define NVSNOOP_DECODE_DUMP_METHODS_H

#include "decode/ops.h"
#include "decode/report.h"
#include "decode/words.h"

#define NVS_DUMP_SCHEMA 1 /* of the JSON lines of --dump and --ops: decode/SCHEMA.md */

struct nvs_unknown {
	uint16_t cls, method;
	uint64_t count;
};

struct nvs_dumper {
	struct nvs_out *out;
	bool json;
	bool each; /* one line for every data word, headers left out: --raw */
	struct nvs_where where;
	uint64_t submission; /* for JSON */
	struct nvs_line line;
	uint64_t words, unknown_words, assumed_words;
	uint32_t nunknown;
	struct nvs_unknown unknown[256]; /* the first kinds met */
	uint64_t unknown_others; /* words of further kinds */
	uint64_t faults;
};

void nvs_dump_run(struct nvs_dumper *d, const struct nvs_ops_channel *c,
		  const struct nvs_pb_run *run, const struct nvs_class *cls);
void nvs_dump_fault(struct nvs_dumper *d, const struct nvs_pb_fault *fault);
/* The footer: how many words, which methods were unknown. */
void nvs_dump_end(struct nvs_dumper *d);
void nvs_dump_free(struct nvs_dumper *d);

/* dump_head.c: the line (or JSON object) that says which submission it is, and one for an entry. */
void nvs_dump_text_submission(struct nvs_out *out, const struct nvs_source *source,
			      const struct nvs_submission *s);
void nvs_dump_json_submission(struct nvs_out *out, const struct nvs_source *source,
			      const struct nvs_submission *s);
void nvs_dump_text_entry(struct nvs_out *out, const struct nvs_segment *seg,
			 const struct nvs_gp *gp);
void nvs_dump_json_entry(struct nvs_out *out, const struct nvs_submission *s,
			 const struct nvs_segment *seg, const struct nvs_gp *gp);
/* "== path ==" where several traces are reported, as text. */
void nvs_dump_trace_name(struct nvs_out *out, const struct nvs_source *s, uint32_t n);

#endif
