/* SPDX-License-Identifier: MIT */
/* Periodic work while a session runs. */
#ifndef NVSNOOP_PRELOAD_SESSION_POLL_THREAD_H
#define NVSNOOP_PRELOAD_SESSION_POLL_THREAD_H

struct nvs_session;

/* ---- trigger.c ---- */

/* Reads the trigger file and switches recording. Called at the session's start and periodically. */
void nvs_trigger_look(struct nvs_session *session);

/* ---- keeper.c ---- */

/* Starts the keeper and waits for its first scan. */
void nvs_keeper_start(struct nvs_session *session);
/*
 * Makes the keeper scan modules and their GOT slots now, and waits a limited time for that: the
 * holder of the loader's lock may never release it.
 */
void nvs_keeper_look(struct nvs_session *session);

/* channels.c: updates GPUs and channels in the live page. */
void nvs_live_channels(void);

#endif
