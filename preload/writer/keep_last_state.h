/* SPDX-License-Identifier: MIT */
/*
 * The ledger: what has to be told again at the begin of a part so that it can be read by itself.
 * Every record that goes into a frame is shown to it. It keeps what is alive and what later records
 * may refer to, and how far each channel's chain has come; so its size is that of the process's
 * state, not of the trace. The writer's alone.
 */
#ifndef NVSNOOP_PRELOAD_WRITER_KEEP_LAST_STATE_H
#define NVSNOOP_PRELOAD_WRITER_KEEP_LAST_STATE_H

#include <stdbool.h>
#include "nvsnoop/trace.h"

struct nvs_ledger;

/* NULL: no memory. */
struct nvs_ledger *nvs_ledger_new(void);
void nvs_ledger_free(struct nvs_ledger *l);
/* Entries it has looked at so far: tests hold this against how many there are. */
uint64_t nvs_ledger_steps(const struct nvs_ledger *l);
void nvs_ledger_take(struct nvs_ledger *l, const struct nvs_rec *rec);
/*
 * True: a part may begin behind what was taken. Not in the middle of a submission that comes in
 * pieces, or between two of a channel that came in the wrong order.
 */
bool nvs_ledger_settled(const struct nvs_ledger *l);
/*
 * Hands all of it to PUT, HEADER first and then SEGMENT, whose time and counts are filled in.
 * Submissions up to here are GAP records by choice.
 */
void nvs_ledger_tell(struct nvs_ledger *l, struct nvs_rec_part *part,
		     void (*put)(void *arg, const struct nvs_rec *rec), void *arg);

#endif
