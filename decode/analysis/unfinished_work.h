/* SPDX-License-Identifier: MIT */
/*
 * What a trace leaves undone: for each channel the submissions that are not known to be completed,
 * with what they do, and the calls that have not returned. A submission has been passed when its
 * channel's slot has the payload of its release: what stood there is told with each later one, and
 * at the end by the library's last look. A grid that releases a semaphore of its own may run on by
 * then: the slot does not wait for it. It has ended when something that acquired that semaphore was
 * passed, or a call that waits for its stream has returned.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_UNFINISHED_WORK_H
#define NVSNOOP_DECODE_ANALYSIS_UNFINISHED_WORK_H

#include "decode/base/numbers.h"
#include "decode/calls/handles.h"
#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

#define NVS_UNDONE_SEMAPHORES 6u /* of a submission; of further ones it is known that there are */
#define NVS_UNDONE_GRIDS 16u /* that may run on in a channel which has passed them */

struct nvs_undone_sem {
	uint64_t address, payload;
	uint8_t op; /* enum nvs_semaphore_op */
	bool wide;
	bool written; /* of a release: by a transfer */
	bool behind_work; /* of an acquire: something else stands before it in the submission */
};

struct nvs_undone {
	uint64_t number, time; /* of the submission; ticks */
	uint64_t call; /* its number on the thread, plus 1; 0: none is known */
	const struct nvs_call_api *api; /* NULL: likewise */
	uint64_t slot; /* it releases payload there; 0: not known to release anything */
	uint64_t stream, collective; /* collective: 1 for the trace's first, 0: it is none */
	uint64_t copied; /* bytes */
	struct nvs_undone_sem grid; /* its last grid releases it, address 0: no grid does */
	const char *kernel; /* mangled; NULL: none, or not known */
	uint32_t thread, stack, payload, entries;
	uint32_t launches, copies, memsets;
	uint32_t nacquires, nreleases;
	bool has_stream, unseen; /* unseen: what it does is not all in the trace */
	struct nvs_undone_sem acquire[NVS_UNDONE_SEMAPHORES], release[NVS_UNDONE_SEMAPHORES];
};

struct nvs_undone_channel {
	uint32_t number; /* its key */
	uint32_t nrunning; /* perhaps */
	struct nvs_undone running[NVS_UNDONE_GRIDS]; /* in order */
	struct nvs_undone *item; /* a ring of a power of two */
	uint32_t room;
	uint64_t first, end; /* counts */
	uint64_t submissions, completed; /* completed: of those that the trace holds */
	uint64_t entries; /* of what is undone */
	bool known; /* it is known what is done, */
	bool settled; /* at the end as well */
	bool freed, dropped; /* dropped: for want of memory, from the first on */
};

/* A call that has not returned, the outermost of its thread. */
struct nvs_undone_call {
	const struct nvs_call_api *api;
	uint64_t number, begin, end; /* ticks; end: when the process was last heard of */
	uint64_t stream, event;
	uint32_t thread, stack;
	bool has_stream, has_event;
};

/* What stands in a semaphore as far as completed releases tell. */
struct nvs_undone_value {
	uint64_t address; /* its key */
	uint64_t value, submission; /* SUBMISSION: which wrote it */
	bool known;
};

/* What recorded an event last. */
struct nvs_undone_event {
	uint64_t event; /* its key */
	uint64_t submission; /* as channels count them */
	uint32_t channel;
};

struct nvs_outstanding {
	struct nvs_source *source;
	struct nvs_handles *handles;
	struct nvs_rows channels, values, events;
	struct nvs_numbers notes; /* by thread: where the submissions of its call lie */
	struct nvs_undone_call *calls;
	uint32_t ncalls, call_room;
	uint64_t collectives; /* launched */
	uint64_t done_collectives; /* the latest that is known to be done */
	const char *collective; /* name of the latest */
	bool has_calls; /* were recorded */
	bool stale; /* releases were lost: values are not known */
	uint64_t seen; /* ticks of the latest look at what is done */
};

void nvs_outstanding_begin(struct nvs_outstanding *o, struct nvs_source *s,
			   struct nvs_reader *reader);
int nvs_outstanding_end(struct nvs_outstanding *o); /* all has been read */
void nvs_outstanding_free(struct nvs_outstanding *o);

/*
 * Once, after the end: each that may run on is outstanding if RUNS says so, and done if not. In
 * order from the last of each channel. 0 or -ENOMEM.
 */
typedef bool nvs_undone_runs(void *arg, const struct nvs_undone_channel *c,
			     const struct nvs_undone *u);
int nvs_outstanding_settle(struct nvs_outstanding *o, nvs_undone_runs *runs, void *arg);

/* The INDEX-th that is not done; NULL: so many there are not. */
const struct nvs_undone *nvs_undone_at(const struct nvs_undone_channel *c, uint64_t index);
static inline uint64_t nvs_undone_count(const struct nvs_undone_channel *c)
{
	return c->end - c->first;
}

#endif
