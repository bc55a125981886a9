/* SPDX-License-Identifier: MIT */
/* Continuity of each channel's progress payload. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/progress.h"

#define SETTLED 3u /* releases in a row that counted up by one */

struct channel {
	uint64_t address; /* of the slot, or where one is suspected */
	uint32_t payload; /* last one there */
	uint32_t counted; /* releases in a row, up to SETTLED */
	bool told; /* by the trace */
};

struct nvs_progress {
	struct channel *channels;
	uint32_t count;
};

struct nvs_progress *nvs_progress_new(void)
{
	return calloc(1, sizeof(struct nvs_progress));
}

void nvs_progress_free(struct nvs_progress *p)
{
	if (p)
		free(p->channels);
	free(p);
}

static struct channel *channel_of(struct nvs_progress *p, uint32_t number)
{
	if (number >= p->count) {
		uint32_t n = number + 64;
		struct channel *list = realloc(p->channels, n * sizeof(*list));

		if (!list)
			return NULL;
		memset(list + p->count, 0, (n - p->count) * sizeof(*list));
		p->channels = list;
		p->count = n;
	}
	return &p->channels[number];
}

void nvs_progress_gone(struct nvs_progress *p, uint32_t channel)
{
	if (channel < p->count)
		memset(&p->channels[channel], 0, sizeof(p->channels[channel]));
}

static void check(struct channel *c, struct nvs_trace *trace, const struct nvs_submission *s,
		  uint32_t payload)
{
	if (!c->counted || payload == c->payload + 1) {
		c->counted += c->counted < SETTLED;
	} else if (c->told || c->counted >= SETTLED) {
		nvs_trace_add_finding(
			trace, NVS_FINDING_PROBLEM,
			"channel %u: its progress payload goes from 0x%x to 0x%x in submission "
			"#%llu (slot 0x%llx): submissions between them are missing",
			s->channel->channel, c->payload, payload, (unsigned long long)s->number,
			(unsigned long long)c->address);
		c->counted = 1;
	} else {
		c->counted = 1; /* no such slot after all */
	}
	c->payload = payload;
}

int nvs_progress_release(struct nvs_progress *p, struct nvs_trace *trace,
			 const struct nvs_submission *s, const struct nvs_op *op)
{
	uint64_t told = s->rec->progress_address;
	struct channel *c;

	/* The slot is released by the engine or the host itself, with a plain payload. */
	if (op->sem.op != NVS_SEM_SET || op->sem.by == NVS_BY_GRID)
		return 0;
	c = channel_of(p, s->channel->channel);
	if (!c)
		return -ENOMEM;
	if (told) {
		if (c->address != told)
			memset(c, 0, sizeof(*c));
		c->address = told;
		c->told = true;
	} else if (!c->address ||
		   (!c->told && c->counted < SETTLED && c->address != op->sem.address)) {
		memset(c, 0, sizeof(*c));
		c->address = op->sem.address;
	}
	if (op->sem.address == c->address)
		check(c, trace, s, (uint32_t)op->sem.payload);
	return 0;
}
