/* SPDX-License-Identifier: MIT */
/*
 * What a channel's first submission that is not done waits for, and for which channels calls wait.
 * Only what follows from the trace is said; of a process that still runs also what stands in its
 * memory.
 */
#ifndef NVSNOOP_DECODE_REPORT_HANG_HANG_H
#define NVSNOOP_DECODE_REPORT_HANG_HANG_H

#include "decode/analysis/unfinished_work.h"

enum nvs_hang_state {
	NVS_HANG_NOT_DONE, /* it has not completed, and waits for no semaphore that is known */
	NVS_HANG_WAITS, /* for a semaphore */
	NVS_HANG_EITHER, /* for a semaphore, or it runs: that is not known */
};

struct nvs_hang_channel {
	const struct nvs_outstanding *in;
	const struct nvs_undone_channel *channel;
	const struct nvs_undone *first;
	enum nvs_hang_state state;
	const struct nvs_undone_sem *sem; /* that it waits for, perhaps */
	bool has_value, live; /* live: read in the process itself */
	uint64_t value;
	struct nvs_hang_channel *by; /* whose submission would release it; NULL: nobody's */
	const struct nvs_undone *by_submission;
	bool told; /* in words */
	bool asked; /* on the way */
};

enum nvs_hang_wait {
	NVS_HANG_FOR_UNKNOWN,
	NVS_HANG_FOR_NOTHING, /* nothing that the GPU has to do */
	NVS_HANG_FOR_CHANNEL,
	NVS_HANG_FOR_ALL, /* that is outstanding */
	NVS_HANG_FOR_ROOM, /* in the channel's ring */
};

struct nvs_hang_call {
	const struct nvs_undone_call *call;
	enum nvs_hang_wait wait;
	struct nvs_hang_channel *channel;
};

/* One trace. */
struct nvs_hang {
	struct nvs_outstanding *of;
	struct nvs_hang_channel *channels; /* those with something outstanding */
	uint32_t nchannels, nunknown; /* unknown: others, of which it is not known */
	struct nvs_hang_call *calls;
	uint32_t ncalls;
	const struct nvs_undone *collective; /* the first that is outstanding */
	char *says; /* the paragraph, escaped */
	uint64_t steps; /* that looking took: a stranger's channels may be many */
};

int nvs_hang_make(struct nvs_hang *h, struct nvs_outstanding *o);
void nvs_hang_free(struct nvs_hang *h);
/* How many entries of a ring a driver leaves when it waits for room. */
bool nvs_hang_ring_full(const struct nvs_hang_channel *c);

/* hang_words.c: the paragraphs. 0 or -ENOMEM. */
int nvs_hang_say(struct nvs_hang *h);
/* Over the ranks of a job: who waits for whom; *TEXT NULL: there is nothing to say. */
int nvs_hang_say_ranks(const struct nvs_hang *hangs, uint32_t n, char **text);
/* What a submission does, in a few words. */
void nvs_hang_work(FILE *f, const struct nvs_undone *u);
const char *nvs_hang_condition(const struct nvs_undone_sem *sem); /* ">=" */

#endif
