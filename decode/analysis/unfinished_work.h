/* SPDX-License-Identifier: MIT */
/* Unfinished work at the end of a trace: for each channel the submissions that are not known to be
 * completed, with their operations, and the calls that have not returned. A submission is passed
 * when its channel's progress slot has the payload of its release; each later submission records
 * the slot, and the library reads it last at the end. A grid that releases its own semaphore may
 * still run by then, as the slot does not wait for it. It has ended when something that acquired
 * the semaphore was passed, or a call that waits for its stream has returned. */
#ifndef NVSNOOP_DECODE_ANALYSIS_UNFINISHED_WORK_H
#define NVSNOOP_DECODE_ANALYSIS_UNFINISHED_WORK_H

#include "decode/base/numbers.h"
#include "decode/base/queue.h"
#include "decode/calls/handles.h"
#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

#define NVS_UNDONE_SEMAPHORES 6u /* kept per submission; further ones are only counted */
#define NVS_UNDONE_GRIDS \
	16u /* kept per channel: grids that may still run after their submission was passed */

struct nvs_unfinished_sem {
	uint64_t address, payload;
	uint8_t op; /* enum nvs_semaphore_op */
	bool wide;
	bool written; /* of a release: written by a copy or an upload */
	bool behind_work; /* of an acquire: the submission has work before it */
};

struct nvs_unfinished {
	uint64_t number, time; /* number of the submission; ticks */
	uint64_t call; /* number on its thread, plus 1; 0: unknown */
	const struct nvs_call_api *api; /* NULL: unknown */
	uint64_t slot; /* address at which it releases PAYLOAD; 0: no release known */
	uint64_t stream,
		collective; /* collective: counted from 1 in the trace, 0: not a collective */
	uint64_t copied; /* bytes */
	struct nvs_unfinished_sem grid; /* semaphore that its last grid releases; address 0: none */
	const char *kernel; /* mangled; NULL: none, or unknown */
	uint32_t thread, stack, payload, entries;
	uint32_t launches, copies, memsets;
	uint32_t nacquires, nreleases;
	bool has_stream, unseen; /* unseen: the trace does not have all of its commands */
	const struct nvs_exec *exec; /* the graph that it launched; NULL: none, or unknown */
	void *attached; /* by the report: freed by nvs_unfinished_work.detach */
	struct nvs_unfinished_sem acquire[NVS_UNDONE_SEMAPHORES], release[NVS_UNDONE_SEMAPHORES];
};

struct nvs_unfinished_channel {
	uint32_t number; /* its key */
	uint32_t nrunning; /* grids in RUNNING */
	struct nvs_unfinished running[NVS_UNDONE_GRIDS]; /* oldest first */
	struct nvs_queue items; /* struct nvs_unfinished */
	uint64_t submissions, completed; /* completed: only those in the trace */
	uint64_t entries; /* GPFIFO entries of unfinished submissions */
	bool known; /* progress of the channel was seen */
	bool settled; /* also at the end of the trace */
	bool freed, dropped; /* dropped: the oldest were dropped for lack of memory */
	bool faulted; /* it has a FAULT record: what is unfinished now stays so */
	bool ended_grids; /* grids were taken for ended because there are too many */
	bool loose; /* the latest grid that was passed releases no semaphore: it may still run */
};

/* The outermost call of a thread that has not returned. */
struct nvs_unfinished_call {
	const struct nvs_call_api *api;
	uint64_t number, begin, end; /* ticks; end: the latest time the process was seen */
	uint64_t stream, event;
	uint32_t thread, stack;
	bool has_stream, has_event;
};

/* Value of a semaphore, from completed releases. */
struct nvs_unfinished_value {
	uint64_t address; /* its key */
	uint64_t value, submission; /* SUBMISSION: that wrote it */
	bool known;
};

/* The latest submission that recorded an event. */
struct nvs_unfinished_event {
	uint64_t event; /* its key */
	uint64_t submission; /* running count in nvs_unfinished_channel.items */
	uint32_t channel;
};

struct nvs_unfinished_work {
	struct nvs_source *source;
	struct nvs_handles *handles;
	struct nvs_rows channels, values, events;
	struct nvs_numbers notes; /* by thread: the submissions of its latest call */
	struct nvs_unfinished_call *calls;
	uint32_t ncalls, call_room;
	uint64_t collectives; /* launched */
	uint64_t done_collectives; /* number of the latest one known to be done */
	const char *collective; /* name of the latest one launched */
	bool has_calls; /* the trace has calls */
	bool stale; /* releases were lost: values are unknown */
	uint64_t seen; /* ticks of the latest reading of a progress slot */
	uint32_t faults; /* FAULT records */
	uint32_t fault_number; /* of the first one, and when it was seen */
	uint64_t fault_time;
	/* For reports on faults: keeps the work of freed channels, from a fault on. */
	bool keeps_freed;
	bool failed; /* set by the report: a call returned an error that ends its context */
	void (*detach)(void *attached); /* NULL: nothing is attached */
};

void nvs_unfinished_work_begin(struct nvs_unfinished_work *o, struct nvs_source *s,
			       struct nvs_pass_reader *reader);
int nvs_unfinished_work_end(struct nvs_unfinished_work *o); /* after the trace has been read */
void nvs_unfinished_work_free(struct nvs_unfinished_work *o);

/* Called once, after nvs_unfinished_work_end(): a grid that may still run counts as unfinished if
 * RUNS returns true, else as done. Goes from the latest of each channel backwards. Returns 0 or
 * -ENOMEM.
 */
typedef bool nvs_unfinished_runs_fn(void *arg, const struct nvs_unfinished_channel *c,
				    const struct nvs_unfinished *u);
int nvs_unfinished_work_decide(struct nvs_unfinished_work *o, nvs_unfinished_runs_fn *runs,
			       void *arg);

/* The unfinished submission number INDEX; returns NULL after the last. */
const struct nvs_unfinished *nvs_unfinished_at(const struct nvs_unfinished_channel *c,
					       uint64_t index);
/* The latest submission of CHANNEL while its operations are delivered; NULL: none. */
struct nvs_unfinished *nvs_unfinished_latest(const struct nvs_unfinished_work *o, uint32_t channel);
static inline uint64_t nvs_unfinished_count(const struct nvs_unfinished_channel *c)
{
	return nvs_queue_count(&c->items);
}

#endif
