/* SPDX-License-Identifier: MIT */
/*
 * Names of the addresses in recorded stacks. A thread of the library finds them while the program
 * runs, so that little is left to do at exit and the trace is readable on any machine. The writer
 * passes it module and stack records and takes NAME records back. Neither waits for the other
 * before the end.
 */
#ifndef NVSNOOP_PRELOAD_WRITER_SYMBOL_THREAD_H
#define NVSNOOP_PRELOAD_WRITER_SYMBOL_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/trace.h"

struct nvs_naming;
struct nvs_recorder;

/* Returns NULL without memory; the functions below accept NULL. */
struct nvs_naming *nvs_naming_new(struct nvs_recorder *session);

/* ---- called by the writer ---- */

/* Passes a record; all but module and stack records are ignored. NAMING: a struct nvs_naming, not
 * NULL. */
void nvs_naming_add_record(void *naming, const struct nvs_rec *rec);
/* Hands the records passed so far to the thread. */
void nvs_naming_hand_over(struct nvs_naming *n);
/* Returns a record for the trace, valid until the next call, or NULL if there is none now. */
struct nvs_rec *nvs_naming_next_record(struct nvs_naming *n);
/* No more records follow. Waits up to MS. Returns true if all names were searched. */
bool nvs_naming_finish(struct nvs_naming *n, unsigned ms);

/* All addresses passed so far are to be named now; more may follow. The second function returns
 * true when their records can be taken. */
void nvs_naming_ask(struct nvs_naming *n);
bool nvs_naming_has_answered(const struct nvs_naming *n);
/* There is no thread. */
void nvs_naming_give_up(struct nvs_naming *n);

/* ---- the thread ---- */

/* The thread's main loop; returns after nvs_naming_finish(). FILES: it may open files, in a
 * descriptor table that the program does not share. */
void nvs_naming_run(struct nvs_naming *n, bool files);

#endif
