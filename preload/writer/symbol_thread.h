/* SPDX-License-Identifier: MIT */
/*
 * Names of the addresses in recorded stacks, found by a thread of ours while the program runs, so
 * that little is left to do at its end and a trace tells them on any machine. The writer shows it
 * the records that matter as it takes them, and takes over NAME records; neither waits for the
 * other before the end.
 */
#ifndef NVSNOOP_PRELOAD_WRITER_SYMBOL_THREAD_H
#define NVSNOOP_PRELOAD_WRITER_SYMBOL_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/trace.h"

struct nvs_naming;
struct nvs_session;

/* NULL: no memory; the functions below take that as well. */
struct nvs_naming *nvs_naming_new(struct nvs_session *session);

/* ---- by the writer ---- */

/* One of the records that it takes; what is neither of a module nor a stack is passed over. NAMING:
 * a struct nvs_naming, not NULL. */
void nvs_naming_see(void *naming, const struct nvs_rec *rec);
/* Hands over what it has seen. */
void nvs_naming_push(struct nvs_naming *n);
/* A record for the trace, good until the next is asked for; NULL: none by now. */
struct nvs_rec *nvs_naming_next(struct nvs_naming *n);
/* Nothing more will be seen. Waits up to MS; true: all has been looked for. */
bool nvs_naming_finish(struct nvs_naming *n, unsigned ms);

/* ---- its thread ---- */

/* FILES: it may open some, which the program does not see. Returns after the end. */
void nvs_naming_run(struct nvs_naming *n, bool files);

#endif
