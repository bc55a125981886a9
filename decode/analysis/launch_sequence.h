/* SPDX-License-Identifier: MIT */
/* Launches of a rank, per thread in the order of the calls: kernels, graphs, and collectives
 * (NCCL's kernels, by name); and how many of its collectives have finished. Used by --ranks and
 * --hang. */
#ifndef NVSNOOP_DECODE_ANALYSIS_LAUNCH_SEQUENCE_H
#define NVSNOOP_DECODE_ANALYSIS_LAUNCH_SEQUENCE_H

#include "decode/base/numbers.h"
#include "decode/calls/handles.h"
#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

struct nvs_launch_name {
	uint64_t hash; /* its key */
	char *text; /* mangled, as in the trace */
	bool collective;
};

struct nvs_launch_thread {
	uint32_t thread; /* its key */
	uint64_t *step; /* hashes of names */
	size_t n, room;
};

#define NVS_STEPS_UNDER_WAY 256u /* collectives followed at once */

struct nvs_launch_sequence {
	struct nvs_source *source;
	struct nvs_handles *handles;
	struct nvs_rows threads; /* in order of their first launch */
	struct nvs_rows names;
	uint64_t launches, graphs, collectives; /* collectives also count as launches */
	uint64_t dropped; /* steps, for lack of memory */
	bool calls; /* the trace has calls; else nothing is known */
	uint64_t submitted, finished; /* hash of the latest collective's name, 0: none */
	uint64_t nfinished; /* collectives known to be finished */
	struct nvs_numbers notes; /* by thread: the latest submission of its latest call */
	struct nvs_collective {
		uint64_t name, time, stream, number; /* number: from 1 */
		/* grid: semaphore that its grid releases at its end, 0: none; by: number + 1 of the
		 * submission that acquires it. */
		uint64_t grid, by;
		/* It is done when the channel's slot has PAYLOAD; with a grid semaphore those of
		 * the acquirer. */
		uint32_t channel, payload;
		bool released; /* PAYLOAD is valid */
	} under_way[NVS_STEPS_UNDER_WAY];
	uint32_t nunder_way;
};

void nvs_launch_sequence_begin(struct nvs_launch_sequence *s, struct nvs_source *source,
			       struct nvs_pass_reader *reader);
int nvs_launch_sequence_end(struct nvs_launch_sequence *s); /* after reading: frees the handles */
void nvs_launch_sequence_free(struct nvs_launch_sequence *s);
/* Returns true for a kernel of NCCL, by its name. */
bool nvs_is_collective_kernel(const char *mangled);
/* Returns NULL for hash 0. */
const struct nvs_launch_name *nvs_launch_name_find(struct nvs_launch_sequence *s, uint64_t hash);

#endif
