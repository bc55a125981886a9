/* SPDX-License-Identifier: MIT */
/*
 * The state that has to be repeated at the start of a part so that the part can be read without the
 * earlier ones. It sees every record that goes into a frame and keeps what is alive, what later
 * records may refer to, and how far each channel's chain is. Its size is that of the process's
 * state, not of the trace. Used only by the writer.
 */
#ifndef NVSNOOP_PRELOAD_WRITER_KEEP_LAST_STATE_H
#define NVSNOOP_PRELOAD_WRITER_KEEP_LAST_STATE_H

#include <stdbool.h>
#include "nvsnoop/trace.h"

struct nvs_ledger;

/* Returns NULL without memory. */
struct nvs_ledger *nvs_ledger_new(void);
void nvs_ledger_free(struct nvs_ledger *l);
/* Entries visited so far, for tests of its complexity. */
uint64_t nvs_ledger_steps(const struct nvs_ledger *l);
void nvs_ledger_take(struct nvs_ledger *l, const struct nvs_rec *rec);
/*
 * Returns true if a part may start after the records seen. Not so in the middle of a submission in
 * pieces, or between two of a channel that came in the wrong order.
 */
bool nvs_ledger_settled(const struct nvs_ledger *l);
/*
 * Passes the whole state to PUT: HEADER first, then PART, whose time and counts are filled in.
 * Submissions up to here become GAP records with reason CHOICE.
 */
void nvs_ledger_tell(struct nvs_ledger *l, struct nvs_rec_part *part,
		     void (*put)(void *arg, const struct nvs_rec *rec), void *arg);

#endif
