/* SPDX-License-Identifier: MIT */
/* timing=: start and end of the thread for GPU timestamps. */
#ifndef NVSNOOP_PRELOAD_SESSION_TIMESTAMP_MEMORY_H
#define NVSNOOP_PRELOAD_SESSION_TIMESTAMP_MEMORY_H

/* Starts the thread if timing= is set. */
void nvs_timing_start(void);
/* Call before the session ends, without nvs_lock: waits for work in a context to finish. */
void nvs_timing_stop(void);

#endif
