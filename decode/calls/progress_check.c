/* SPDX-License-Identifier: MIT */
/* Checks that each channel's progress payload counts up without holes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/numbers.h"
#include "decode/calls/progress_check.h"

#define SETTLED 8u /* consecutive releases that count up by one */
#define PATIENCE 16u /* releases to other addresses before another one may become the slot */

struct checked_channel {
	uint64_t address; /* of the slot, or of the candidate */
	uint32_t breaks; /* breaks in the channel's chain of PUTs at the last release there */
	uint32_t payload; /* of the last release there */
	uint8_t counted; /* consecutive releases, up to SETTLED; 0: no candidate */
	uint8_t elsewhere; /* releases to other addresses since */
	bool remarked;
};

struct nvs_progress_check {
	struct nvs_trace *trace;
	struct nvs_numbers channels; /* struct checked_channel */
};

struct nvs_progress_check *nvs_progress_check_new(struct nvs_trace *trace)
{
	struct nvs_progress_check *p = calloc(1, sizeof(*p));

	if (p)
		p->trace = trace;
	return p;
}

void nvs_progress_check_free(struct nvs_progress_check *p)
{
	if (p)
		nvs_numbers_free(&p->channels, free);
	free(p);
}

int nvs_progress_check_record(void *check, const struct nvs_rec *rec)
{
	struct nvs_progress_check *p = check;
	uint32_t number = rec->type == NVS_REC_GAP ? ((const struct nvs_rec_gap *)rec)->channel
			  : rec->type == NVS_REC_CHANNEL_GONE
				  ? ((const struct nvs_rec_channel_gone *)rec)->channel
				  : NVS_NONE;
	struct checked_channel *c = nvs_number_get(&p->channels, number);

	if (c)
		c->counted = 0;
	return 0;
}

static void report_skipped(struct checked_channel *c, struct nvs_trace *trace,
			   const struct nvs_submission *s, uint32_t payload)
{
	bool broken = c->breaks != s->channel->breaks;

	if (!broken && c->remarked)
		return;
	c->remarked |= !broken;
	nvs_trace_add_finding(
		trace, broken ? NVS_FINDING_PROBLEM : NVS_FINDING_REMARK,
		"channel %u: progress payload jumps from 0x%x to 0x%x in submission #%llu (slot "
		"0x%llx)%s",
		s->channel->channel, c->payload, payload, (unsigned long long)s->number,
		(unsigned long long)c->address,
		broken ? ": submissions in between are missing"
		       : ", but the channel's PUTs show none missing");
}

int nvs_progress_check_op(void *check, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_progress_check *p = check;
	uint32_t payload = (uint32_t)op->sem.payload;
	struct checked_channel *c;

	/* The slot is released by the engine or the host class, with a plain payload. */
	if (op->kind != NVS_OP_RELEASE || op->sem.op != NVS_SEM_SET || op->sem.by == NVS_BY_GRID)
		return 0;
	c = nvs_number_make(&p->channels, s->channel->channel, sizeof(*c));
	if (!c)
		return -ENOMEM;
	if (c->counted && op->sem.address != c->address && ++c->elsewhere <= PATIENCE)
		return 0;
	if (!c->counted || op->sem.address != c->address) {
		c->address = op->sem.address;
		c->counted = 1;
	} else if (payload == c->payload + 1) {
		c->counted += c->counted < SETTLED;
	} else {
		if (c->counted >= SETTLED)
			report_skipped(c, p->trace, s, payload);
		c->counted = 0;
	}
	c->elsewhere = 0;
	c->payload = payload;
	c->breaks = s->channel->breaks;
	return 0;
}
