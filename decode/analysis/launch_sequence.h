/* SPDX-License-Identifier: MIT */
/*
 * What a rank launched, thread by thread: kernels, collectives (NCCL's kernels, by their names) and
 * graphs, in the order of the calls; and how far its collectives have come.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_LAUNCH_SEQUENCE_H
#define NVSNOOP_DECODE_ANALYSIS_LAUNCH_SEQUENCE_H

#include "decode/base/numbers.h"
#include "decode/calls/handles.h"
#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

struct nvs_step_name {
	uint64_t hash; /* its key */
	char *text; /* as its source writes it */
	bool collective;
};

struct nvs_step_thread {
	uint32_t thread; /* its key */
	uint64_t *step; /* hashes of names */
	size_t n, room;
};

#define NVS_STEPS_UNDER_WAY 256u /* collectives */

struct nvs_steps {
	struct nvs_source *source;
	struct nvs_handles *handles;
	struct nvs_rows threads; /* in the order of their first launch */
	struct nvs_rows names;
	uint64_t launches, graphs, collectives; /* collectives are launches as well */
	uint64_t dropped; /* steps, for want of memory */
	bool calls; /* were recorded: else nothing is known */
	uint64_t submitted, finished; /* names of the latest collective, 0: none */
	uint64_t nfinished; /* that are known to be */
	struct nvs_numbers notes; /* by thread: its latest submission in a call */
	struct nvs_collective {
		uint64_t name, time, stream, number; /* number: 1 for the first */
		/* Its grid releases this when it has ended, 0: nothing; and of the submission that
		 * acquires it the number + 1. */
		uint64_t grid, by;
		/* It is done when this stands in the channel's slot; of one with a grid the
		 * acquirer's. */
		uint32_t channel, payload;
		bool released; /* payload is known */
	} under_way[NVS_STEPS_UNDER_WAY];
	uint32_t nunder_way;
};

void nvs_steps_begin(struct nvs_steps *s, struct nvs_source *source, struct nvs_reader *reader);
int nvs_steps_end(struct nvs_steps *s); /* handles are needed no more */
void nvs_steps_free(struct nvs_steps *s);
/* One of NCCL's kernels, by its name. */
bool nvs_step_is_collective(const char *mangled);
/* NULL: 0. */
const struct nvs_step_name *nvs_step_name(struct nvs_steps *s, uint64_t hash);

#endif
