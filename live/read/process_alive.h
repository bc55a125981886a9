/* SPDX-License-Identifier: MIT */
/* Whether the process of a live page is still the one that it was made by. */
#ifndef NVSNOOP_LIVE_READ_PROCESS_ALIVE_H
#define NVSNOOP_LIVE_READ_PROCESS_ALIVE_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/live.h"

#define NVS_LIVE_SILENT_NS 10000000000ull /* no word from a process that cannot be asked after */
#define NVS_LIVE_EXECUTED_NS 2000000000ull /* nor of the program before another one */

/* This machine, as pages name it, and how this process sees it. */
struct nvs_here {
	uint8_t boot[16];
	uint64_t pid_namespace; /* 0: not known */
	bool proc; /* /proc tells of processes */
};

void nvs_here_learn(struct nvs_here *here);
/* Can the process be asked after by its number? Else only what the page says counts. */
bool nvs_here_knows(const struct nvs_here *here, const struct nvs_live *head);
/* NOW: ns of CLOCK_MONOTONIC. */
bool nvs_alive(const struct nvs_here *here, const struct nvs_live *head, uint64_t now);
/* Does process PID act for user UID? Where it cannot be asked after, the page's owner is believed.
 */
bool nvs_acts_for(const struct nvs_here *here, const struct nvs_live *head, uint32_t uid);

#endif
