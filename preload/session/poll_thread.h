/* SPDX-License-Identifier: MIT */
/*
 * What is looked at again and again while a session runs.
 */
#ifndef NVSNOOP_PRELOAD_SESSION_POLL_THREAD_H
#define NVSNOOP_PRELOAD_SESSION_POLL_THREAD_H

struct nvs_session;

/* ---- trigger.c ---- */

/* What is to be recorded from now on: at a session's start, and again and again. */
void nvs_trigger_look(struct nvs_session *session);

/* ---- keeper.c ---- */

/* Starts the thread, and has it look for the first time. */
void nvs_keeper_start(struct nvs_session *session);
/* Has it look now for modules and for slots of theirs that lead to libcuda, and waits for that, but
 * not for long: who has the loader's lock may never give it back. */
void nvs_keeper_look(struct nvs_session *session);

/* channels.c: GPUs and channels as they are now, for the live page. */
void nvs_live_channels(void);

#endif
