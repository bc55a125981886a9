/* SPDX-License-Identifier: MIT */
/* The table of options (keys, values, help) and the parser of NVSNOOP_OPTIONS. It depends only on
 * the C library, so that the launcher and the library check the same keys. */
#ifndef NVSNOOP_PRELOAD_BASE_OPTIONS_H
#define NVSNOOP_PRELOAD_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "decode/cli/options.h"

#define NVS_ENV_OUT "NVSNOOP_OUT" /* pattern of the trace's name, or NVS_OUT_NONE */
#define NVS_OUT_NONE "none" /* no trace, only the live page */
#define NVS_ENV_OPTIONS "NVSNOOP_OPTIONS" /* key=value,...; a comma in a value is written \, */
#define NVS_ENV_WRONG "NVSNOOP_OPTION" /* what is sometimes set in its place */
#define NVS_WRONG_TEXT NVS_ENV_WRONG " is not read: the variable is " NVS_ENV_OPTIONS
/*
 * Set by the launcher: an existing file to which each process appends lines instead of printing its
 * closing line. A process writes one line when its trace has been created (flags "started", numbers
 * 0) and one at its end; a path without a second line belongs to a process that was killed.
 *
 * Fields, separated by tabs: pid, submissions, gaps, bytes, path, flags, submissions that were only
 * counted, errno of the first failed write (0: none), submissions lost by it; and of a process that
 * faulted a word of preload/base/fault_text.h, also while it still runs. Tab, newline, other
 * control characters and backslash in a path are written as \ooo.
 * flags is "-", or words separated by commas:
 *   renamed   the name was taken
 *   unsafe    the thread buffers do not survive a kill
 *   lost      the output could not be written to its end; without an errno, a write hangs
 *   options   the option string was wrong and ignored
 *   trigger   the trigger file had invalid contents
 *   full      the trace has reached max-size
 *   stuck     keep-last could not create another part; the errno is of that, unless lost is set
 *   cut       the trace has only the last submissions
 *   newer     the driver's release is newer than all known ones
 *   unknown   calls to the driver had an unknown form
 *   failed    no trace could be created; the errno is of that
 *   bypassed  the GPU was used and the library saw nothing of it; no path
 */
#define NVS_ENV_SUMMARY "NVSNOOP_SUMMARY"
/* Set by the launcher: when it started the program, in ns of CLOCK_MONOTONIC. All processes of the
 * tree count --delay from it. Without it each program counts from its own start. */
#define NVS_ENV_START "NVSNOOP_START"

/*
 * Parts of the closing lines of the library and of the launcher. NVS_CLOSING_CUT is followed by the
 * total, NVS_CLOSING_FULL and NVS_CLOSING_STUCK follow the number of submissions that were only
 * counted.
 */
#define NVS_CLOSING_TRIGGER \
	"the trigger file had invalid contents (not start, stop or a number), which were ignored"

#define NVS_CLOSING_NEWER "; the driver is newer than all releases that nvsnoop knows"
#define NVS_CLOSING_UNKNOWN "; calls to the driver had an unknown form"
#define NVS_CLOSING_CUT ", the last of "
#define NVS_CLOSING_FULL " after --max-size was reached"
#define NVS_CLOSING_STUCK " because no further part could be created (%s)"
#define NVS_CLOSING_BYPASSED                                                           \
	"the driver's system calls did not pass through nvsnoop (dlmopen, or another " \
	"preloaded library that makes them itself)"

#define NVS_DEFAULT_OUT "nvsnoop.%e.%p.zst"
#define NVS_MIN_BUFFER_BYTES (64ull << 10)
#define NVS_MAX_BUFFER_BYTES (1ull << 30)
#define NVS_MIN_TRACE_BYTES (64ull << 10)
#define NVS_MAX_TRACE_BYTES (1ull << 50)
#define NVS_MAX_SECONDS 1000000000ull
#define NVS_MAX_SAMPLE 1000000u
#define NVS_SAMPLE_ADAPTIVE UINT32_MAX

/* The keys, which the launcher has as options. The target is struct nvs_option_values. */
extern const struct nvs_option nvs_option_table[];

struct nvs_option_values {
	bool step; /* trap=step */
	bool backtrace;
	bool api;
	bool code;
	bool live;
	bool drop; /* overflow=drop */
	bool patch, shadow;
	bool headers; /* level=headers */
	unsigned timing; /* 0 off, else enum nvs_timing_kind */
	uint32_t
		sample; /* timing=sample: one of so many is timed, or NVS_SAMPLE_ADAPTIVE; 0: all */
	unsigned count; /* 0: off, else NVS_COUNT_WARP, NVS_COUNT_THREAD or both (count.h) */
	bool count_pred_on; /* count-pred-off=skip */
	bool exact; /* exact=sync */
	uint32_t count_first, count_end; /* range of instructions of a kernel; 0, 0: all */
	char count_kernels[256]; /* glob; empty: all */
	char snapshot[256]; /* glob; empty: none */
	uint32_t snapshot_nth; /* launch of each kernel, from 1 */
	uint64_t snapshot_size; /* bytes */
	char trigger[1024]; /* path; empty: none */
	bool from_profiler; /* from=profiler */
	uint64_t delay_ns, duration_ns; /* 0: none */
	uint64_t max_size, keep_last; /* bytes; 0: no limit */
	bool spool; /* false: spool=off */
	bool overwrite;
	bool quiet;
	uint64_t buffer_bytes;
	char spool_dir[1024]; /* empty: next to the trace */
};

void nvs_option_defaults(struct nvs_option_values *values);
/* Sets one option. VALUE is NULL for a switch without a value. Returns 0, or -EINVAL with a message
 * for the user in ERROR (ERROR_SIZE bytes, may be 0). */
int nvs_option_set(struct nvs_option_values *values, const char *key, const char *value,
		   char *error, size_t error_size);
/* Parses the whole string. Returns -EINVAL at the first wrong key or value; VALUES are the defaults
 * then. */
int nvs_options_parse(struct nvs_option_values *values, const char *string, char *error,
		      size_t error_size);
/* Returns the name of an option that is set in VALUES and needs a trace, or NULL. */
const char *nvs_option_needs_trace(const struct nvs_option_values *values);
/* Appends ",key=value" to OUT, with commas in VALUE quoted and without the comma if OUT is empty.
 * Returns 0 or -ENOSPC. */
int nvs_options_append(char *out, size_t size, const char *key, const char *value);

#endif
