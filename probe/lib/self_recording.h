/* SPDX-License-Identifier: MIT */
/* Runs this program again under `nvsnoop`, so that a study can see how its own work is recorded.
 * The trace is in a temporary folder, which is removed afterwards. */
#ifndef NVSNOOP_PROBE_LIB_SELF_RECORDING_H
#define NVSNOOP_PROBE_LIB_SELF_RECORDING_H

#include <stdbool.h>
#include "nvsnoop/decode.h"

struct probe_child_run {
	char folder[512], path[640]; /* of the trace; "" if not recorded */
	char *text; /* its standard output */
};

/* Runs this program with ARGUMENTS, a NULL-terminated list without the program's name; under the
 * launcher in the same folder if RECORDED. Exits if that run fails. */
void probe_run_child(struct probe_child_run *r, const char *const *arguments, bool recorded);
/* Reads the trace with CONSUMER. Exits if it cannot be read. */
void probe_child_read_trace(const struct probe_child_run *r, const struct nvs_consumer *consumer,
			    void *arg);
void probe_child_free(struct probe_child_run *r);

#endif
