/* SPDX-License-Identifier: MIT */
/* Prints methods as text or JSON lines, for --dump and --raw. Unknown methods are counted and
 * listed at the end. */
#ifndef NVSNOOP_DECODE_REPORT_DUMP_METHODS_H
#define NVSNOOP_DECODE_REPORT_DUMP_METHODS_H

#include "decode/gpu/ops.h"
#include "decode/report/core/report.h"
#include "decode/gpu/method_format.h"

#define NVS_DUMP_METHODS 4096u /* size of a class's method space, dwords */

/* A method of a class, looked up once and cached. */
struct nvs_known_method {
	struct nvs_method_at at; /* method NULL: unknown */
	const struct nvs_class *cls; /* NULL: unknown */
	uint8_t address; /* enum nvs_words_address */
	bool data; /* a single 32-bit field: consecutive words may be data */
	uint16_t unknown; /* index + 1 in nvs_dumper.unknown; 0: none */
	uint16_t name_end, head; /* bytes of TEXT up to the name's end, and up to the value */
	uint32_t most; /* maximum line length, bytes */
	/* Its latest line, unless it has an address; NULL: none. */
	char *line;
	uint32_t length, value; /* bytes of LINE; value in it */
	char text[]; /* start of its lines, for subchannel 0 */
};

struct nvs_unknown_method {
	uint16_t cls, method;
	uint64_t count;
};

struct nvs_dumper {
	struct nvs_out *out;
	bool json;
	bool each; /* a line for each data word, and no headers: --raw */
	bool full; /* text: zero fields, and the class that defines the method */
	struct nvs_address_formatter where;
	uint64_t submission; /* for JSON */
	struct nvs_line_buffer line; /* buffered text */
	struct nvs_known_method ***known; /* by class number, then method / 4 */
	int status; /* -errno of the first failure */
	uint64_t words, unknown_words, assumed_words;
	uint32_t nunknown;
	struct nvs_unknown_method unknown[256]; /* the first distinct ones */
	uint64_t unknown_others; /* words of any others */
	uint64_t faults;
	uint64_t passed; /* dwords skipped */
};

void nvs_dump_run(struct nvs_dumper *d, const struct nvs_ops_channel *c,
		  const struct nvs_pb_run *run, const struct nvs_class *cls);
void nvs_dump_fault(struct nvs_dumper *d, const struct nvs_pb_fault *fault);
/* Reports that DWORDS from ADDRESS on could not be decoded; nothing if 0. */
void nvs_dump_report_skipped(struct nvs_dumper *d, uint64_t address, uint64_t dwords);
/* Prints the footer: word counts and unknown methods. Returns 0, or status. */
int nvs_dump_end(struct nvs_dumper *d);

/* method_text.c */
/* Looks up METHOD (bytes) of CLS, which may be NULL. Returns NULL and sets status if out of
 * memory. */
struct nvs_known_method *nvs_dump_known(struct nvs_dumper *d, const struct nvs_class *cls,
					uint32_t method);
/* BEFORE is the value of the preceding method, if the address needs it. */
void nvs_dump_text_method(struct nvs_dumper *d, struct nvs_known_method *k,
			  const struct nvs_pb_run *run, uint32_t method, uint32_t value,
			  uint32_t before);
/* Prints the words from FROM on, which all go to one method. */
void nvs_dump_text_data(struct nvs_dumper *d, const struct nvs_pb_run *run, uint32_t from,
			const struct nvs_known_method *k);
void nvs_dump_text_header(struct nvs_dumper *d, const struct nvs_pb_run *run);
void nvs_dump_text_fault(struct nvs_dumper *d, const struct nvs_pb_fault *fault);
/* Writes the buffered text. Call before others write to OUT. */
void nvs_dump_flush(struct nvs_dumper *d);
void nvs_dump_free(struct nvs_dumper *d);

/* submission_header.c: members of a JSON object. */
void nvs_dump_json_thread(FILE *f, const struct nvs_trace_thread *t);
/* Who submitted, and to which channel: text that many submissions in a row have in common. Begins
 * as zeros; its text is freed by the caller. */
struct nvs_dump_origin {
	struct nvs_dump_origin_key {
		const char *api, *runtime_api, *site, *line; /* these stay as they are */
		uint32_t thread, tid, channel, token;
		char name[sizeof(((struct nvs_trace_thread *)NULL)->name)]; /* of the thread */
	} key;
	struct nvs_line_buffer text;
};

/* The line or JSON object that identifies the submission; the line is appended to L. RING: with
 * GP_GET and the GPFIFO's address. */
void nvs_dump_text_submission(struct nvs_line_buffer *l, struct nvs_dump_origin *o,
			      const struct nvs_out *out, const struct nvs_source *source,
			      const struct nvs_submission *s, const struct nvs_call *call,
			      bool ring);
void nvs_dump_json_submission(struct nvs_out *out, const struct nvs_source *source,
			      const struct nvs_submission *s, const struct nvs_call *call);
/* Prints a line with the memory that the CPU writes to submit. PUSHBUFFER: kinds of its
 * segments' memory. */
void nvs_dump_text_writes(struct nvs_out *out, const struct nvs_source *source,
			  const struct nvs_submission *s, uint8_t pushbuffer);
/* Prints the JSON object that identifies the trace; as text "== path ==" if there are several. */
void nvs_dump_trace_name(const struct nvs_run *run, const struct nvs_source *s);

/* gpfifo_entry.c: an entry as a line, which is appended to L, or as a JSON object. */
/* Returns the entry's own address in the GPFIFO; 0: unknown. */
uint64_t nvs_dump_entry_address(const struct nvs_submission *s, uint32_t index);
void nvs_dump_json_address(FILE *f, const char *key, uint64_t address); /* 0 is written as null */
void nvs_dump_text_entry(struct nvs_line_buffer *l, const struct nvs_segment *seg,
			 const struct nvs_gp *gp, uint64_t at);
/* IN: the memory of its segment; NULL: unknown. */
void nvs_dump_json_entry(struct nvs_out *out, const struct nvs_submission *s,
			 const struct nvs_segment *seg, const struct nvs_gp *gp, const char *in);

#endif
