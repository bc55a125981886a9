/* SPDX-License-Identifier: MIT */
/*
 * The probe itself, run once more by the launcher `nvsnoop`, so that a study can see what its own
 * work looks like to the recorder. The trace lies in a temporary folder and is removed again.
 */
#ifndef NVSNOOP_PROBE_LIB_SELF_RECORDING_H
#define NVSNOOP_PROBE_LIB_SELF_RECORDING_H

#include <stdbool.h>
#include "nvsnoop/decode.h"

struct probe_recorded {
	char folder[512], path[640]; /* of the trace; "": not recorded */
	char *text; /* what it wrote to stdout */
};

/*
 * Runs this program with ARGUMENTS, those behind its name, NULL behind the last: alone, or RECORDED
 * by the launcher that lies beside it. Ends the program where that fails or the other one does.
 */
void probe_again(struct probe_recorded *r, const char *const *arguments, bool recorded);
/* Reads the trace with CONSUMER; ends the program where it cannot be read. */
void probe_recorded_read(const struct probe_recorded *r, const struct nvs_consumer *consumer,
			 void *arg);
void probe_recorded_free(struct probe_recorded *r);

#endif
