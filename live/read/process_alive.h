/* SPDX-License-Identifier: MIT */
/* Checks whether the process that made a live page still runs. */
#ifndef NVSNOOP_LIVE_READ_PROCESS_ALIVE_H
#define NVSNOOP_LIVE_READ_PROCESS_ALIVE_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/live.h"

#define NVS_LIVE_SILENT_NS \
	10000000000ull /* a process outside our /proc counts as ended after this silence */
#define NVS_LIVE_EXECUTED_NS 2000000000ull /* the same after the program called exec() */

/* Identifies this machine and PID namespace, to compare with the head of a page. */
struct nvs_machine_id {
	uint8_t boot[16];
	uint64_t pid_namespace; /* 0 if unknown */
	bool proc; /* /proc is mounted and readable */
};

/* From /proc/PID/stat. */
struct nvs_process_stat {
	char state;
	uint32_t parent;
	uint64_t start_time; /* in clock ticks since the machine started */
};

/* Returns false if it cannot be read. What was not read is 0. */
bool nvs_process_stat_read(struct nvs_process_stat *to, uint32_t pid);

void nvs_machine_id_read(struct nvs_machine_id *here);
/* Returns true if the page's PID can be looked up in our /proc. Otherwise only the page's own state
 * and times count. */
bool nvs_can_look_up_pid(const struct nvs_machine_id *here, const struct nvs_live *head);
/* NOW is in ns of CLOCK_MONOTONIC. */
bool nvs_process_alive(const struct nvs_machine_id *here, const struct nvs_live *head,
		       uint64_t now);
/* Returns true if one of the process' user IDs is UID. Where the process cannot be looked up, the
 * owner of the page is trusted. */
bool nvs_process_has_uid(const struct nvs_machine_id *here, const struct nvs_live *head,
			 uint32_t uid);

#endif
