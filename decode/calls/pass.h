/* SPDX-License-Identifier: MIT */
/*
 * One pass over a trace for several readers. The callbacks that a reader sets determine what it
 * gets, and nothing is decoded that no reader asks for: without `op`, `run` and the like no methods
 * are decoded, without `call` no calls are assembled.
 *
 * 	struct nvs_pass *r = nvs_pass_new(trace);
 * 	struct nvs_pass_reader mine = { .call = on_call, .arg = me };
 *
 * 	if (!r || nvs_pass_add(r, &mine) || nvs_pass_run(r, &err))
 * 		...
 * 	nvs_pass_free(r);
 *
 * Callbacks may be NULL. They return 0 to continue; > 0 if this reader needs nothing more, and the
 * pass ends early once all readers have returned that; -errno to fail the pass.
 */
#ifndef NVSNOOP_DECODE_CALLS_PASS_H
#define NVSNOOP_DECODE_CALLS_PASS_H

#include "decode/calls/decode_submission.h"
#include "decode/calls/calls.h"
#include "decode/calls/handles.h"

struct nvs_pass_reader {
	/* A submission and the call it happened in, or NULL if that is unknown. */
	int (*submission)(void *arg, const struct nvs_submission *s, const struct nvs_call *call);
	/* Its entries, runs of data words, faults and operations, as in decode_submission.h and
	 * ops.h. */
	int (*entry)(void *arg, const struct nvs_submission *s, const struct nvs_segment *seg,
		     const struct nvs_gp *gp);
	int (*run)(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		   const struct nvs_class *cls);
	int (*fault)(void *arg, const struct nvs_pb_fault *fault);
	int (*op)(void *arg, const struct nvs_submission *s, const struct nvs_op *op);
	/* The same submission again, after its operations. */
	int (*submitted)(void *arg, const struct nvs_submission *s, const struct nvs_call *call);
	/* A call that has returned; calls that never returned come at the end. */
	int (*call)(void *arg, const struct nvs_call *call);
	/* Every other record, after the calls that it ends. */
	int (*record)(void *arg, const struct nvs_rec *rec);
	/* The end of the pass; pointers handed out are still valid. */
	int (*end)(void *arg);
	/* Before node INDEX of EXEC changes; NVS_NONE: any node may. Requires HANDLES. */
	int (*node_change)(void *arg, struct nvs_exec *exec, uint32_t index);
	/* Returns the value of nvs_op.code for a submission, by default its number. Only one reader
	 * in a pass may set it. Called after `submission`. */
	uint64_t (*tag)(void *arg, const struct nvs_submission *s);
	void *arg;
	bool calls; /* needs the call in `submission` and `submitted` */
	bool tallies; /* needs the tallies of calls */
	/* If not NULL: once this is true, it needs no entries, runs, faults and operations. */
	const bool *past_commands;
	/* Set when the reader is added, if not NULL: the handles in calls, which the pass resolves
	 * before `call` and `record`, once for all readers. Freed with the pass. */
	struct nvs_handles **handles;
};

struct nvs_pass;
struct nvs_pass *nvs_pass_new(struct nvs_trace *trace); /* NULL if memory is short */
/* Frees all that calls and operations point to as well; NULL is allowed. */
void nvs_pass_free(struct nvs_pass *r);
/* Copies READER. Returns 0 or -ENOMEM. */
int nvs_pass_add(struct nvs_pass *r, const struct nvs_pass_reader *reader);
/* Sets which submissions are selected, for nvs_call.selected and its counts; SELECTS returns
 * NVS_SELECTS_*. Without it, all are. */
void nvs_pass_select(struct nvs_pass *r,
		     unsigned (*selects)(const void *arg, const struct nvs_submission *s,
					 const struct nvs_call *call),
		     const void *arg);
/* Continues to the end even if all readers need nothing more. */
void nvs_pass_read_all(struct nvs_pass *r);
/* Runs the pass; call only once. Returns 0, -errno with a message in ERR, or a reader's error
 * without a message. */
int nvs_pass_run(struct nvs_pass *r, struct nvs_error *err);

/* Returns true if there was a record of this type. */
bool nvs_pass_has_record(const struct nvs_pass *r, enum nvs_rec_type type);
/* Returns true if a call of this group was made, or if that is unknown. */
bool nvs_pass_has_call(const struct nvs_pass *r, enum nvs_call_group group);
/* Returns the trace's calls, or NULL if no reader needs them. */
const struct nvs_calls *nvs_pass_calls(const struct nvs_pass *r);
/* Returns the descriptor of a LAUNCH, or NULL if it is unknown. Valid while op() runs. */
const struct nvs_qmd *nvs_pass_qmd(const struct nvs_pass *r, const struct nvs_op *op);
/* Copies N bytes of GPU memory as the commands up to the end of this submission have left it.
 * Returns false unless all of them are known. For use in op() and submitted(). */
bool nvs_pass_read_memory(const struct nvs_pass *r, uint64_t address, void *bytes, size_t n);

#endif
