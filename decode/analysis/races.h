/* SPDX-License-Identifier: MIT */
/*
 * Pairs of accesses to the same memory that nothing orders, by call site. Order is that of the API
 * (stream_order.h); accesses are those of calls' arguments, of the commands where these do not have
 * them, and of kernels by the pointers among their parameters. What the host does with memory,
 * arrays, textures, variables of modules, and pointers in device memory are not seen.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_RACES_H
#define NVSNOOP_DECODE_ANALYSIS_RACES_H

#include "decode/analysis/copy_operands.h"
#include "decode/analysis/current_context.h"
#include "decode/calls/launch_parameters.h"
#include "decode/analysis/memory_accesses.h"
#include "decode/analysis/parameter_uses.h"
#include "decode/calls/handles.h"
#include "decode/calls/semaphore_pairs.h"
#include "decode/query/source.h"

/* Where work comes from. It begins with its key. */
struct nvs_race_site {
	struct nvs_race_site_key {
		const struct nvs_call_api *api;
		const struct nvs_kernel *kernel; /* NULL: none, or unknown */
		uint64_t exec; /* CUgraphExec of a node; 0: not a node */
		uint32_t stack, node, type; /* index and CUgraphNodeType of a node */
		uint32_t reserved;
	} key;
	uint32_t number;
};

enum nvs_race_cause {
	NVS_RACE_NO_WAIT, /* the second stream does not wait for the first */
	NVS_RACE_EARLIER, /* it waits for earlier work of the first stream only */
	NVS_RACE_DEFAULT, /* one is the default stream, the other a non-blocking one */
	NVS_RACE_UNKNOWN_WAIT, /* as NO_WAIT, but something that is not seen may order them */
	NVS_RACE_OVERLAP, /* programmatic stream serialization */
	NVS_RACE_NO_EDGE, /* nodes of a graph */
	NVS_RACE_PROGRAMMATIC_EDGE,
};

struct nvs_race_side {
	const struct nvs_race_site *site;
	enum nvs_access_kind kind;
	struct nvs_access_work work; /* its SITE is not used */
};

/* All races of a pair of sites. It begins with its key. */
struct nvs_race {
	struct nvs_race_key {
		uint32_t first, second; /* numbers of sites */
	} key;
	enum nvs_race_level level; /* the highest; what follows is the first one of it */
	uint64_t count[NVS_RACE_CERTAIN + 1]; /* by level */
	struct nvs_race_side first, second;
	enum nvs_race_cause cause;
	uint64_t address;
	struct nvs_memory_range memory;
	/* In this run: a wait in the commands of the second one's channel for a release of the
	 * first one's that came after it. Unknown if a channel is. */
	bool acquired;
};

#define NVS_MAX_RACES 65536u

struct nvs_races {
	struct nvs_source *source;
	const struct nvs_pass *pass;
	struct nvs_handles *handles;
	struct nvs_contexts contexts;
	struct nvs_copy_memory memory;
	struct nvs_memory_ranges ranges;
	struct nvs_parameters parameters;
	struct nvs_stream_order order;
	struct nvs_accesses accesses;
	struct nvs_parameter_uses uses;
	struct nvs_semaphore_pairs *pairs;
	struct nvs_rows acquires; /* the latest release of a channel that another has waited for */
	struct nvs_rows sites, races;
	struct nvs_rows graphs, execs; /* captured copies by graph; graphs that were checked */
	struct nvs_numbers threads;
	const struct nvs_call *call; /* of the current submission */
	bool wants_transfers, wants_launches; /* of it */
	const struct nvs_ordered_stream *stream; /* of the work whose accesses are being added */
	struct race_copy *captured; /* since the latest begin of a capture */
	uint32_t ncaptured, captured_room;
	uint64_t lost; /* races beyond NVS_MAX_RACES */
	/* What the trace has: */
	uint64_t works, launches, unknown_launches; /* unknown: without their parameters */
	uint64_t skipped; /* submissions whose commands were not recorded */
	uint64_t pointers, decided; /* given to kernels; those whose use their code shows */
	uint64_t graph_nodes; /* of graphs too large to be checked inside */
	bool foreign, conditional, called;
	/* At the end: accesses that were not checked for lack of memory; more streams than can be
	 * followed. */
	uint64_t dropped;
	bool crowded;
	uint64_t found[NVS_RACE_CERTAIN + 1]; /* pairs of sites by level */
};

/* Fills in READER, whose arg becomes R. Returns 0 or -ENOMEM. */
int nvs_races_begin(struct nvs_races *r, struct nvs_source *s, struct nvs_pass_reader *reader);
/* Call after the trace has been read: counts the pairs. Frees what reading needed. */
void nvs_races_end(struct nvs_races *r);
void nvs_races_free(struct nvs_races *r);

/* ---- for readers that have other things to read: what READER calls ---- */

int nvs_races_submission(void *races, const struct nvs_submission *s, const struct nvs_call *call);
int nvs_races_op(void *races, const struct nvs_submission *s, const struct nvs_op *op);
int nvs_races_call(void *races, const struct nvs_call *call);
int nvs_races_record(void *races, const struct nvs_rec *rec);

/* ---- between races.c and its parts ---- */

/* A copy or memset that was captured. */
struct race_copy {
	bool memset;
	uint64_t dst, src, bytes;
};

struct race_operand {
	enum nvs_access_kind kind;
	struct nvs_access_range range;
};

/* The same of an operation, or a pointer that a launch is given. */
struct race_pending {
	struct race_operand operand;
	uint32_t launch; /* 1 + index in LAUNCHES; 0: a transfer */
	uint32_t at; /* offset in its parameters */
};

struct race_launch {
	uint32_t grid[3], block[3];
};

/* What a thread's current call has submitted. */
struct race_thread {
	struct race_pending *pending;
	struct race_launch *launches;
	uint32_t npending, pending_room, nlaunches, launches_room;
	uint64_t submission, sequence;
	uint32_t channel; /* NVS_NONE: none */
	bool used;
};

/* race_operands.c: the memory that a copy or memset names in its arguments, at most two. Returns
 * their number, or -1 if they are not all there, so that the commands are needed. */
int nvs_race_operands(const struct nvs_call *call, struct race_operand operands[2]);

/* race_pairs.c */
const struct nvs_race_site *nvs_race_site(struct nvs_races *r, const struct nvs_race_site_key *key);
/* Returns 0 or -ENOMEM. */
int nvs_race_found(struct nvs_races *r, enum nvs_race_level level, enum nvs_race_cause cause,
		   const struct nvs_access_conflict *conflict);
int nvs_race_on_conflict(void *races, const struct nvs_access_conflict *conflict);
void nvs_race_on_acquire(void *races, const struct nvs_sync_pair *pair);

/* graph_races.c: checks the nodes of the executable graph that CALL launched, with what its
 * launches were given; WORK is that of the launch. */
int nvs_race_check_graph(struct nvs_races *r, const struct nvs_call *call,
			 const struct race_thread *t, const struct nvs_access_work *work);
/* Sets what the kernels of a graph do with what they are given, by their code. */
void nvs_race_resolve_graph(struct nvs_races *r, const struct nvs_call *call,
			    struct race_thread *t);
int nvs_race_note_capture(struct nvs_races *r, const struct nvs_call *call);
void nvs_race_graphs_free(struct nvs_races *r);

#endif
