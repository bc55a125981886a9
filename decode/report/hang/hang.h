/* SPDX-License-Identifier: MIT */
/* Finds what the first unfinished submission of each channel waits for, and which channels calls
 * wait for. Uses only the trace, and the memory of a process that is still running. */
#ifndef NVSNOOP_DECODE_REPORT_HANG_HANG_H
#define NVSNOOP_DECODE_REPORT_HANG_HANG_H

#include "decode/analysis/unfinished_work.h"

enum nvs_hang_state {
	NVS_HANG_NOT_DONE, /* not completed, and waits for no known semaphore */
	NVS_HANG_WAITS, /* waits for a semaphore */
	NVS_HANG_EITHER, /* running, or waiting for a semaphore: unknown */
};

struct nvs_hang_channel {
	const struct nvs_unfinished_work *in;
	const struct nvs_unfinished_channel *channel;
	const struct nvs_unfinished *first;
	enum nvs_hang_state state;
	const struct nvs_unfinished_sem *sem; /* the semaphore, if STATE is not NOT_DONE */
	bool has_value, live; /* live: read from the process */
	uint64_t value;
	struct nvs_hang_channel
		*releaser; /* channel with a submission that would release it, or NULL */
	const struct nvs_unfinished *releasing_submission;
	bool described; /* its sentence has been written */
	bool in_progress; /* its sentence is being written: detects cycles */
};

enum nvs_hang_wait {
	NVS_HANG_FOR_UNKNOWN,
	NVS_HANG_FOR_NOTHING, /* the GPU has done everything it waits for */
	NVS_HANG_FOR_CHANNEL,
	NVS_HANG_FOR_ALL, /* everything outstanding */
	NVS_HANG_FOR_SPACE, /* space in the channel's ring */
};

struct nvs_hang_call {
	const struct nvs_unfinished_call *call;
	enum nvs_hang_wait wait;
	struct nvs_hang_channel *channel;
};

/* State of one trace. */
struct nvs_hang {
	struct nvs_unfinished_work *of;
	struct nvs_hang_channel *channels; /* those with outstanding submissions */
	uint32_t nchannels, nunknown; /* nunknown: channels whose progress is unknown */
	struct nvs_hang_call *calls;
	uint32_t ncalls;
	const struct nvs_unfinished *collective; /* the first outstanding one */
	char *text; /* the text, escaped */
	uint64_t steps; /* limits the search: the trace is untrusted */
};

int nvs_hang_analyze(struct nvs_hang *h, struct nvs_unfinished_work *o);
void nvs_hang_free(struct nvs_hang *h);

/* explanation.c: formats the text. Returns 0 or -ENOMEM. */
int nvs_hang_format_text(struct nvs_hang *h);
/* Prints what the call that began first waits for: the end of a sentence about the call, and
 * sentences about the channel. */
void nvs_hang_print_oldest(FILE *f, struct nvs_hang *h);
/* Formats which ranks wait for which. *TEXT is NULL if there is nothing to report. */
int nvs_hang_format_ranks(const struct nvs_hang *hangs, uint32_t n, char **text);
/* Describes the work of a submission in a few words. */
void nvs_hang_print_work(FILE *f, const struct nvs_unfinished *u);
const char *nvs_hang_condition(const struct nvs_unfinished_sem *sem); /* ">=" */

#endif
