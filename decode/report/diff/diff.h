/* SPDX-License-Identifier: MIT */
/* --diff, internal: commands in a form that is equal in two runs of one program although
 * addresses, handles and counters differ; and matching the submissions of two traces. */
#ifndef NVSNOOP_DECODE_REPORT_DIFF_DIFF_H
#define NVSNOOP_DECODE_REPORT_DIFF_DIFF_H

#include "decode/gpu/ops.h"
#include "decode/analysis/copy_operands.h"
#include "decode/report/core/report.h"
#include "decode/query/durations.h"

/* ---- canonical_commands.c: commands, word by word ---- */

enum nvs_diff_kind {
	NVS_DIFF_HEADER,
	NVS_DIFF_METHOD,
	NVS_DIFF_DATA, /* data written through a method to memory or a macro; COUNT dwords */
	NVS_DIFF_LAUNCH, /* a launch descriptor, decoded */
	NVS_DIFF_COPY, /* a macro's copy or memset */
	NVS_DIFF_FIELD, /* decoded data: pair_data.c */
};

struct nvs_diff_word {
	uint64_t id; /* compared with the other trace */
	uint8_t kind, form, subch;
	bool wait; /* of an acquire, which depends on the GPU being late */
	bool driver; /* FIELD: a constant of the driver */
	bool execute; /* METHOD: triggers the operation set up by earlier methods */
	bool not_compared; /* value not compared: an address or a counter */
	uint16_t cls, method; /* cls 0: unknown */
	uint32_t value, count;
	const struct nvs_grid *grid; /* LAUNCH: valid during the callback; NULL: unknown */
	const char *text, *name; /* FIELD: the line, and the field's name or NULL */
};

struct nvs_diff_words {
	int (*word)(void *arg, const struct nvs_diff_word *w);
	void *arg;
	uint8_t **sorts; /* how methods are compared, by class; computed on demand */
	struct nvs_diff_word held[16]; /* words of a semaphore that may turn out an acquire */
	uint32_t nheld;
	int status; /* -errno of the first failure */
};

/* Call from a reader's run(), op() and submitted(). Return 0 or -errno. */
int nvs_diff_words_run(struct nvs_diff_words *w, struct nvs_ops_channel *c,
		       const struct nvs_pb_run *run, const struct nvs_class *cls);
int nvs_diff_words_op(struct nvs_diff_words *w, const struct nvs_op *op, const struct nvs_qmd *qmd);
int nvs_diff_words_end(struct nvs_diff_words *w);
void nvs_diff_words_free(struct nvs_diff_words *w);
/* Returns the size of its command, in bytes. */
uint32_t nvs_diff_word_bytes(const struct nvs_diff_word *w);

/* ---- pair_text.c ---- */

struct nvs_line_buffer;
/* Appends the text of a word. GRID is of a LAUNCH word, or NULL if unknown. */
void nvs_diff_word_put(struct nvs_line_buffer *l, const struct nvs_diff_word *w,
		       const struct nvs_grid *grid);

/* ---- pair_data.c: decodes the inline data of one submission ---- */

struct nvs_diff_data;
struct nvs_diff_data *nvs_diff_data_new(void); /* NULL if out of memory */
void nvs_diff_data_free(struct nvs_diff_data *d); /* frees the texts of its lines, too */
/* Call from a reader's run() and op(). WORD is the index of the DATA word that the run produced.
 * Return 0 or -errno. */
int nvs_diff_data_run(struct nvs_diff_data *d, const struct nvs_pb_run *run,
		      const struct nvs_class *cls, uint32_t word);
int nvs_diff_data_op(struct nvs_diff_data *d, const struct nvs_op *op, const struct nvs_qmd *qmd);
/* Inserts FIELD words after the DATA words of *LIST, which is replaced. */
int nvs_diff_data_lines(struct nvs_diff_data *d, const struct nvs_source *s, uint32_t vaspace,
			struct nvs_diff_word **list, uint32_t *n);

/* ---- match_submissions.c: matches submissions of two traces ---- */

struct nvs_diff_submission {
	uint64_t id; /* hash of what it does */
	uint32_t group; /* number of its API, kernel, graph and call site */
	uint32_t loose_group; /* the same without the call site */
	uint32_t thread; /* number in its trace */
	uint32_t before; /* index + 1 of the previous one of the call, 0: none */
	uint32_t mate; /* index in the other trace, or NVS_ALIGN_NONE */
	uint32_t number;
	uint8_t how; /* enum nvs_diff_how, if it has a mate */
	/* 1 + mode if this is only a small copy, else 0. Then ID identifies the data copied, and
	 * EXACT what the submission does. */
	uint8_t copy_mode;
	uint32_t first; /* not 0: the first of its channel, and waits for nothing */
	uint32_t methods;
	uint64_t exact, bytes, copied;
};

/* TIMED: the same small copy, sent in another way. The driver chooses by the load. */
enum nvs_diff_how { NVS_DIFF_SAME, NVS_DIFF_MOVED, NVS_DIFF_CHANGED, NVS_DIFF_TIMED };

struct nvs_diff_side {
	struct nvs_source *source;
	struct nvs_diff_submission *list;
	uint32_t n, room;
};

/* Matches the submissions. *UNORDERED is the number of threads with more differences than are
 * aligned in order. */
int nvs_diff_match_submissions(struct nvs_diff_side side[2], uint32_t *unordered);

/* ---- small_copies.c: small copies, which the driver can send in several ways ---- */

struct nvs_tally;
/* Returns 1 + mode if the submission is only a small copy, else 0. */
uint8_t nvs_diff_copy_mode(const struct nvs_tally *t);
/* Returns true if the mode may differ by chance: one of the two is inline, which depends on the
 * load. The choice among the other modes depends on the size. */
static inline bool nvs_copy_mode_may_differ(uint8_t a, uint8_t b)
{
	return a != b && (a == 1 + NVS_COPY_INLINE || b == 1 + NVS_COPY_INLINE);
}
/* Returns an identifier, equal in both traces, of the data that a small copy of COPIED bytes
 * copies; 0: compare the way it was sent. */
uint64_t nvs_diff_copied_data_id(const struct nvs_copy_memory *m, const struct nvs_call *call,
				 uint64_t copied);
/* Another driver version may choose otherwise. */
bool nvs_diff_has_other_driver(const struct nvs_source *a, const struct nvs_source *b);

/* ---- pair.c: two submissions, method by method ---- */

struct nvs_diff_state;
struct nvs_diff_tally;
struct nvs_diff_pair;
struct nvs_handles;
int nvs_diff_pair_begin(struct nvs_run *run, struct nvs_source *s, void *each,
			struct nvs_pass_reader *reader);
int nvs_diff_pair_print(struct nvs_run *run);
void nvs_diff_pair_free(struct nvs_diff_pair *pair);

/* State of one trace. */
struct nvs_diff_each {
	struct nvs_source *source;
	struct nvs_diff_state *state; /* of the run: diff.c */
	struct nvs_diff_side *side;
	struct nvs_diff_words words;
	struct nvs_handles *handles;
	struct nvs_copy_memory memory;
	struct nvs_rows open; /* in progress, by thread and depth */
	struct nvs_diff_tally *tally;
	struct nvs_diff_tally *now; /* = tally during a selected submission, else NULL */
	struct nvs_diff_pair *pair;
};

#endif
