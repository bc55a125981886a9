/* SPDX-License-Identifier: MIT */
/*
 * What a session's life consists of besides its trace.
 */
#ifndef NVSNOOP_PRELOAD_SESSION_SESSION_H
#define NVSNOOP_PRELOAD_SESSION_SESSION_H

struct nvs_live;

/* ---- trigger.c ---- */

/* What is to be recorded from now on: at a session's start, and again and again. */
void nvs_trigger_look(struct nvs_live *live);

/* ---- keeper.c ---- */

/* Looks around for the first time, and starts the thread that goes on. Without it what was there at
 * the start is known all the same. */
void nvs_keeper_start(struct nvs_live *live);

#endif
