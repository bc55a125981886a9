/* SPDX-License-Identifier: MIT */
/* Methods as text or JSON lines, for --dump and --raw; what is unknown is counted and listed at the
 * end. */
#ifndef NVSNOOP_DECODE_REPORT_DUMP_METHODS_H
#define NVSNOOP_DECODE_REPORT_DUMP_METHODS_H

#include "decode/gpu/ops.h"
#include "decode/report/core/report.h"
#include "decode/gpu/method_format.h"

#define NVS_DUMP_METHODS 4096u /* dwords of a class's method space */

/* A method of a class, looked up once. */
struct nvs_known {
	struct nvs_method_at at; /* method NULL: unknown */
	const struct nvs_class *cls; /* NULL: not known */
	uint8_t address; /* enum nvs_words_address */
	bool data; /* one field of 32 bits: words in a row may be data */
	uint16_t unknown; /* place in nvs_dumper.unknown + 1; 0: none */
	uint16_t name_end, head; /* bytes of text: up to the name's end, up to the value */
	uint32_t most; /* bytes of a line */
	char text[]; /* how its lines begin, of subchannel 0 */
};

struct nvs_unknown {
	uint16_t cls, method;
	uint64_t count;
};

struct nvs_dumper {
	struct nvs_out *out;
	bool json;
	bool each; /* one line for every data word, headers left out: --raw */
	bool full; /* text: fields that are 0, and the class whose header has the method */
	struct nvs_where where;
	uint64_t submission; /* for JSON */
	struct nvs_line line; /* text that is not written yet */
	struct nvs_known ***known; /* by number of the class, by method / 4 */
	int status; /* -errno of the first failure */
	uint64_t words, unknown_words, assumed_words;
	uint32_t nunknown;
	struct nvs_unknown unknown[256]; /* the first kinds met */
	uint64_t unknown_others; /* words of further kinds */
	uint64_t faults;
	uint64_t passed; /* dwords that were passed over */
};

void nvs_dump_run(struct nvs_dumper *d, const struct nvs_ops_channel *c,
		  const struct nvs_pb_run *run, const struct nvs_class *cls);
void nvs_dump_fault(struct nvs_dumper *d, const struct nvs_pb_fault *fault);
/* DWORDS from ADDRESS on could not be told; none: nothing is said. */
void nvs_dump_passed(struct nvs_dumper *d, uint64_t address, uint64_t dwords);
/* The footer: how many words, which methods were unknown. 0, or status. */
int nvs_dump_end(struct nvs_dumper *d);

/* dump_text.c */
/* METHOD (bytes) of CLS, which may be NULL; NULL: no memory, and status says so. */
struct nvs_known *nvs_dump_known(struct nvs_dumper *d, const struct nvs_class *cls,
				 uint32_t method);
/* BEFORE: value of the method before it, where its address needs that. */
void nvs_dump_text_method(struct nvs_dumper *d, const struct nvs_known *k,
			  const struct nvs_pb_run *run, uint32_t method, uint32_t value,
			  uint32_t before);
/* Words from FROM on that all go to one method. */
void nvs_dump_text_data(struct nvs_dumper *d, const struct nvs_pb_run *run, uint32_t from,
			const struct nvs_known *k);
void nvs_dump_text_header(struct nvs_dumper *d, const struct nvs_pb_run *run);
void nvs_dump_text_fault(struct nvs_dumper *d, const struct nvs_pb_fault *fault);
/* Writes what is held back: before anybody else writes to OUT. */
void nvs_dump_flush(struct nvs_dumper *d);
void nvs_dump_free(struct nvs_dumper *d);

/* dump_head.c: members of a JSON object. */
void nvs_dump_json_thread(FILE *f, const struct nvs_trace_thread *t);
/* The line (or JSON object) that says which submission it is, RING: with GP_GET and the GPFIFO's
 * base. */
void nvs_dump_text_submission(struct nvs_out *out, const struct nvs_source *source,
			      const struct nvs_submission *s, const struct nvs_call *call,
			      bool ring);
void nvs_dump_json_submission(struct nvs_out *out, const struct nvs_source *source,
			      const struct nvs_submission *s, const struct nvs_call *call);
/* What the CPU writes to submit, and in whose memory each of it lies, PUSHBUFFER of its segments: a
 * line. */
void nvs_dump_text_writes(struct nvs_out *out, const struct nvs_source *source,
			  const struct nvs_submission *s, uint8_t pushbuffer);
/* The JSON object that says which trace it is; "== path ==" as text, where there are several. */
void nvs_dump_trace_name(const struct nvs_run *run, const struct nvs_source *s);

/* dump_entry.c: a line, or JSON object, for an entry. */
/* Its own address in the GPFIFO; 0: not known. */
uint64_t nvs_dump_entry_address(const struct nvs_submission *s, uint32_t index);
void nvs_dump_json_address(FILE *f, const char *key, uint64_t address); /* 0: null */
void nvs_dump_text_entry(struct nvs_out *out, const struct nvs_segment *seg,
			 const struct nvs_gp *gp, uint64_t at);
/* IN: whose memory its segment lies in, NULL: not known. */
void nvs_dump_json_entry(struct nvs_out *out, const struct nvs_submission *s,
			 const struct nvs_segment *seg, const struct nvs_gp *gp, const char *in);

#endif
