/* SPDX-License-Identifier: MIT */
/*
 * --diff, inside: commands as what they stand for, so that two runs of one program are the same
 * though their addresses, handles and counters are not; and which submission of one trace stands
 * opposite which of the other.
 */
#ifndef NVSNOOP_DECODE_REPORT_DIFF_DIFF_H
#define NVSNOOP_DECODE_REPORT_DIFF_DIFF_H

#include "decode/gpu/ops.h"
#include "decode/analysis/copy_operands.h"
#include "decode/report/core/report.h"
#include "decode/query/durations.h"

/* ---- diff_words.c: commands, word by word ---- */

enum nvs_diff_kind {
	NVS_DIFF_HEADER,
	NVS_DIFF_METHOD,
	NVS_DIFF_DATA, /* that goes through a method to memory or a macro: how many dwords */
	NVS_DIFF_LAUNCH, /* what the data of a launch descriptor amounts to */
	NVS_DIFF_COPY, /* what a macro copies or sets */
	NVS_DIFF_FIELD, /* of data: diff_data.c */
};

struct nvs_diff_word {
	uint64_t id; /* what is judged: the same in the other trace, or another */
	uint8_t kind, form, subch;
	bool wait; /* of an acquire: there or not as the GPU was late or not */
	bool driver; /* FIELD: what only the driver knows */
	bool execute; /* METHOD: what the ones before it were for happens */
	bool apart; /* its value is not judged: an address, or what counts up */
	uint16_t cls, method; /* cls 0: not known */
	uint32_t value, count;
	const struct nvs_grid *grid; /* LAUNCH: until the callback returns; NULL: not known */
	const char *text, *name; /* FIELD: the line; the field, which VALUE is of, NULL: none */
};

struct nvs_diff_words {
	int (*word)(void *arg, const struct nvs_diff_word *w);
	void *arg;
	uint8_t **sorts; /* of the methods of each class, as far as they were met */
	struct nvs_diff_word held[16]; /* of a semaphore that may become an acquire */
	uint32_t nheld;
	int status; /* -errno of the first failure */
};

/* For a reader's run() and op(), and behind its submission. 0 or -errno. */
int nvs_diff_run(struct nvs_diff_words *w, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		 const struct nvs_class *cls);
int nvs_diff_op(struct nvs_diff_words *w, const struct nvs_op *op, const struct nvs_qmd *qmd);
int nvs_diff_end(struct nvs_diff_words *w);
void nvs_diff_words_free(struct nvs_diff_words *w);
/* Bytes of commands that it takes. */
uint32_t nvs_diff_word_bytes(const struct nvs_diff_word *w);

/* ---- diff_text.c ---- */

struct nvs_line;
/* A line's text. GRID: of a LAUNCH, NULL: not known. */
void nvs_diff_word_put(struct nvs_line *l, const struct nvs_diff_word *w,
		       const struct nvs_grid *grid);

/* ---- diff_data.c: data of one submission, by what they are for ---- */

struct nvs_diff_data;
struct nvs_diff_data *nvs_diff_data_new(void); /* NULL: no memory */
void nvs_diff_data_free(struct nvs_diff_data *d); /* with the texts of its lines */
/* For a reader's run() and op(). WORD: number of the DATA word that the run made. 0 or -errno. */
int nvs_diff_data_run(struct nvs_diff_data *d, const struct nvs_pb_run *run,
		      const struct nvs_class *cls, uint32_t word);
int nvs_diff_data_op(struct nvs_diff_data *d, const struct nvs_op *op, const struct nvs_qmd *qmd);
/* Puts FIELD words behind the DATA words of *LIST, which becomes another. */
int nvs_diff_data_lines(struct nvs_diff_data *d, const struct nvs_source *s, uint32_t vaspace,
			struct nvs_diff_word **list, uint32_t *n);

/* ---- diff_match.c: who stands opposite whom ---- */

struct nvs_diff_submission {
	uint64_t id; /* what it does */
	uint32_t who; /* API, kernel, graph and call site that it belongs to, by number */
	uint32_t kin; /* the same without the call site */
	uint32_t thread; /* number in its trace */
	uint32_t before; /* + 1: of the same call, 0: none */
	uint32_t mate; /* number in the other trace, or NVS_ALIGN_NONE */
	uint32_t number;
	uint8_t how; /* enum nvs_diff_how, of one with a mate */
	/* A small copy and no more: 1 + mode, by which the driver had it done; else 0. ID is what
	 * is copied then, and EXACT what the submission does. */
	uint8_t sent;
	uint32_t first; /* not 0: of its channel, and waits for nothing */
	uint32_t methods;
	uint64_t exact, bytes, copied;
};

/* TIMED: the same small copy, sent another way. The driver chooses by what is in flight. */
enum nvs_diff_how { NVS_DIFF_SAME, NVS_DIFF_MOVED, NVS_DIFF_CHANGED, NVS_DIFF_TIMED };

struct nvs_diff_side {
	struct nvs_source *source;
	struct nvs_diff_submission *list;
	uint32_t n, room;
};

/* Finds mates. *UNORDERED: threads with more differences than order is looked at for. */
int nvs_diff_match(struct nvs_diff_side side[2], uint32_t *unordered);

/* ---- diff_sent.c: small copies that the driver sends in one way or another ---- */

struct nvs_tally;
/* 1 + mode of a small copy that is all it does; else 0. */
uint8_t nvs_diff_sent_as(const struct nvs_tally *t);
/* One of them inline: by what is in flight. Which of the others it is goes by the size. */
static inline bool nvs_diff_otherwise(uint8_t a, uint8_t b)
{
	return a != b && (a == 1 + NVS_COPY_INLINE || b == 1 + NVS_COPY_INLINE);
}
/* Of such a one of COPIED bytes by CALL, what is copied, the same in both traces; 0: it may be
 * judged by how it was sent. */
uint64_t nvs_diff_what_is_copied(const struct nvs_copy_memory *m, const struct nvs_call *call,
				 uint64_t copied);
/* Another driver may have another mind. */
bool nvs_diff_another_driver(const struct nvs_source *a, const struct nvs_source *b);

/* ---- diff_pair.c: two submissions, method by method ---- */

struct nvs_diff_state;
struct nvs_diff_tally;
struct nvs_diff_pair;
struct nvs_handles;
int nvs_diff_pair_begin(struct nvs_run *run, struct nvs_source *s, void *each,
			struct nvs_reader *reader);
int nvs_diff_pair_print(struct nvs_run *run);
void nvs_diff_pair_free(struct nvs_diff_pair *pair);

/* Of each trace. */
struct nvs_diff_each {
	struct nvs_source *source;
	struct nvs_diff_state *state; /* of the run: diff.c */
	struct nvs_diff_side *side;
	struct nvs_diff_words words;
	struct nvs_handles *handles;
	struct nvs_copy_memory memory;
	struct nvs_rows open; /* calls in flight, by thread and depth */
	struct nvs_diff_tally *tally;
	struct nvs_diff_tally
		*now; /* the same, of the submission in progress; NULL: not selected */
	struct nvs_diff_pair *pair;
};

#endif
