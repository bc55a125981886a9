/* SPDX-License-Identifier: MIT */
/* timing=: what the session does for it. */
#ifndef NVSNOOP_PRELOAD_SESSION_TIMESTAMP_MEMORY_H
#define NVSNOOP_PRELOAD_SESSION_TIMESTAMP_MEMORY_H

struct nvs_session;
/* Where timing= asks for it. */
void nvs_timing_start(struct nvs_session *session);
/* Before the session's end, not under nvs_lock: waits for what is being made in a context. */
void nvs_timing_stop(void);

#endif
