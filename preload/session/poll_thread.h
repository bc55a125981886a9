/* SPDX-License-Identifier: MIT */
/* Periodic work while a session runs. */
#ifndef NVSNOOP_PRELOAD_SESSION_POLL_THREAD_H
#define NVSNOOP_PRELOAD_SESSION_POLL_THREAD_H

#include <stdbool.h>
#include <stdint.h>

struct nvs_recorder;
struct nvs_timing_sink;

/* ---- trigger.c ---- */

/* Reads the trigger file and switches recording. Called at the session's start and periodically. */
void nvs_trigger_poll(struct nvs_recorder *session);

/* ---- demand_window.c ---- */

/* Does what the writer waits for. */
void nvs_demand_poll(struct nvs_recorder *session);
/* Returns after how many ms to call it again, at most MOST_MS. */
unsigned nvs_demand_wait_ms(const struct nvs_recorder *session, unsigned most_ms);

/* ---- keeper.c ---- */

/* Starts the keeper and waits for its first scan. */
void nvs_keeper_start(struct nvs_recorder *session);
/* Makes the keeper scan modules and their GOT slots now, and waits a limited time for that: the
 * holder of the loader's lock may never release it. */
void nvs_keeper_scan_now(struct nvs_recorder *session);

/* channels.c: updates GPUs and channels in the live page. */
void nvs_live_update_channels(void);
/* nvs_live_gpu_sink_new() for a GPU that is in the live page from then on. Under nvs_lock. */
struct nvs_timing_sink *nvs_channel_gpu_sink_new(uint32_t gpu, bool copies);

#endif
