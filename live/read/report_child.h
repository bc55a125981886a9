/* SPDX-License-Identifier: MIT */
/* Runs nvsnoop-report. */
#ifndef NVSNOOP_LIVE_READ_REPORT_CHILD_H
#define NVSNOOP_LIVE_READ_REPORT_CHILD_H

#include <sys/types.h>

/* Starts nvsnoop-report: the one next to this program, or the one in PATH. ARGV[0] is its name.
 * Its standard output is OUT and its standard error is ERRORS, unless they are -1. Returns 0 or an
 * errno. */
int nvs_report_start(pid_t *pid, char **argv, int out, int errors);

#endif
