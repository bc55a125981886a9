/* SPDX-License-Identifier: MIT */
/*
 * One reading of a trace for several readers. What a reader is told follows from the callbacks it
 * has, and nothing is decoded that none of them asks for: without `op` and its kin the methods of
 * submissions are not looked at, without `call` calls are not put together.
 *
 *	struct nvs_reading *r = nvs_reading_new(trace);
 *	struct nvs_reader mine = { .call = on_call, .arg = me };
 *
 *	if (!r || nvs_reading_add(r, &mine) || nvs_reading_run(r, &err))
 *		...
 *	nvs_reading_free(r);
 *
 * Callbacks may be NULL. They return 0 to go on; > 0: this reader has seen enough, and the reading
 * ends early once all have; -errno: the reading fails with it.
 */
#ifndef NVSNOOP_DECODE_CALLS_PASS_H
#define NVSNOOP_DECODE_CALLS_PASS_H

#include "decode/calls/decode_submission.h"
#include "decode/calls/calls.h"

struct nvs_reader {
	/* A submission and the call it happened in, NULL where none is known. */
	int (*submission)(void *arg, const struct nvs_submission *s, const struct nvs_call *call);
	/* Then its entries, runs of data words, faults and operations, as attach.h and ops.h have
	 * them. */
	int (*entry)(void *arg, const struct nvs_submission *s, const struct nvs_segment *seg,
		     const struct nvs_gp *gp);
	int (*run)(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		   const struct nvs_class *cls);
	int (*fault)(void *arg, const struct nvs_pb_fault *fault);
	int (*op)(void *arg, const struct nvs_submission *s, const struct nvs_op *op);
	/* And it once more, now that all it does has been told. */
	int (*submitted)(void *arg, const struct nvs_submission *s, const struct nvs_call *call);
	/* A call that is over; one that never returned, at the end. */
	int (*call)(void *arg, const struct nvs_call *call);
	/* Every other record, after the calls that it ends. */
	int (*record)(void *arg, const struct nvs_rec *rec);
	/* All has been told, and what that points to is still there. */
	int (*end)(void *arg);
	/* What is to stand in nvs_op.code for a submission; of one reader in a reading, else it is
	 * the submission's number. Called behind `submission`. */
	uint64_t (*tag)(void *arg, const struct nvs_submission *s);
	void *arg;
	bool calls; /* asks for the call in `submission` and `submitted` */
	bool tallies; /* asks for the tallies of calls */
};

struct nvs_reading;
struct nvs_reading *nvs_reading_new(struct nvs_trace *trace); /* NULL: no memory */
/* Also what calls and operations handed out point to; NULL is fine. */
void nvs_reading_free(struct nvs_reading *r);
/* READER is copied. 0 or -ENOMEM. */
int nvs_reading_add(struct nvs_reading *r, const struct nvs_reader *reader);
/* Which submissions are asked for, for nvs_call.selected and what it counts of them: all, unless
 * this says otherwise, by NVS_SELECTS_*. */
void nvs_reading_select(struct nvs_reading *r,
			unsigned (*selects)(const void *arg, const struct nvs_submission *s,
					    const struct nvs_call *call),
			const void *arg);
/* Goes on to the end even when all readers have seen enough. */
void nvs_reading_whole(struct nvs_reading *r);
/* 0, or -errno with a message in ERR, or that of a reader, with none. Once only. */
int nvs_reading_run(struct nvs_reading *r, struct nvs_error *err);

/* Was there a record of this type? */
bool nvs_reading_saw(const struct nvs_reading *r, enum nvs_rec_type type);
/* May a call of this group have been made? True as well where that is not known. */
bool nvs_reading_called(const struct nvs_reading *r, enum nvs_call_group group);
/* The calls of the trace; NULL: nobody asked for them. */
const struct nvs_calls *nvs_reading_calls(const struct nvs_reading *r);
/* The descriptor of a LAUNCH while op() runs; NULL: not known. */
const struct nvs_qmd *nvs_reading_qmd(const struct nvs_reading *r, const struct nvs_op *op);

#endif
