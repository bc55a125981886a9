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

struct nvs_keep_state;

/* Returns NULL without memory. */
struct nvs_keep_state *nvs_keep_state_new(void);
void nvs_keep_state_free(struct nvs_keep_state *l);
/* Entries visited so far, for tests of its complexity. */
uint64_t nvs_keep_state_steps(const struct nvs_keep_state *l);
/* Returns true if a record was lost for lack of memory. */
bool nvs_keep_state_is_damaged(const struct nvs_keep_state *l);
/* Returns the counts of the records seen, as a reader of them computes them. */
const struct nvs_rec_part *nvs_keep_state_counts(const struct nvs_keep_state *l);
/* Forgets what no later record can refer to. Called from time to time if no part is started. */
void nvs_keep_state_trim(struct nvs_keep_state *l);
void nvs_keep_state_add(struct nvs_keep_state *l, const struct nvs_rec *rec);
/* Returns true if a part may start after the records seen. Not so in the middle of a submission in
 * pieces, or between two of a channel that came in the wrong order. */
bool nvs_keep_state_is_complete(const struct nvs_keep_state *l);
/* Passes the whole state to PUT: HEADER first, then PART, whose time and counts are filled in.
 * Submissions up to here become GAP records with reason CHOICE. */
void nvs_keep_state_write(struct nvs_keep_state *l, struct nvs_rec_part *part,
			  void (*put)(void *arg, const struct nvs_rec *rec), void *arg);

#endif
