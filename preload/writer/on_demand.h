/* SPDX-License-Identifier: MIT */
/*
 * Recording on demand (nvsnoop/request.h), in a process without a trace. The writer reads requests
 * and writes the file; the keeper switches the trap, since the writer must not wait for traps: one
 * of them may be waiting for the writer. `step` says whose turn it is.
 */
#ifndef NVSNOOP_PRELOAD_WRITER_ON_DEMAND_H
#define NVSNOOP_PRELOAD_WRITER_ON_DEMAND_H

#include "nvsnoop/request.h"
#include "preload/base/options.h"
#include "preload/base/outfile.h"

enum nvs_demand_step {
	NVS_DEMAND_NONE, /* the writer waits for a request */
	NVS_DEMAND_PREPARE, /* the keeper makes the trap ready, but records no submission yet */
	NVS_DEMAND_PREPARED, /* the writer starts the file */
	NVS_DEMAND_OPEN, /* the keeper opens the window, and closes it */
	NVS_DEMAND_CLOSED, /* the writer ends the file */
	NVS_DEMAND_END, /* the keeper makes the trap count only, as before */
};

struct nvs_demand {
	_Atomic uint32_t step; /* enum nvs_demand_step */
	_Atomic uint32_t stop; /* the window is to be closed */
	_Atomic uint64_t opened, closed; /* real time, ns; 0: not yet */

	/* Set by the writer before PREPARE. */
	struct nvs_option_values values;
	char given[NVS_RECORD_LINE];
	int64_t submissions; /* as for nvs_trap_record() */
	uint64_t at; /* CLOCK_MONOTONIC, ns */

	/* The writer's. */
	struct nvs_outfile request;
	uint64_t requests; /* of the page, when it last looked */
	uint64_t
		checked; /* mono_ns at which it last checked whether somebody waits for the trace */
	bool told_open, writing, ending;
	uint64_t frame, deadline; /* while it waits for names: number of the next frame; mono_ns */
	uint64_t raw_bytes; /* likewise */
};

struct nvs_writer;
struct nvs_recorder;

/* The writer's thread when there is no trace. */
void nvs_untraced_run(void *writer);
/* Starts the thread that names addresses, once. Called by the keeper. */
void nvs_demand_start_naming(struct nvs_recorder *session);

#endif
