/* SPDX-License-Identifier: MIT */
/*
 * The options' one table: keys, values, help, and the parser of NVSNOOP_OPTIONS. It depends on
 * nothing but the C library, so that the launcher offers and checks the same keys.
 */
#ifndef NVSNOOP_PRELOAD_BASE_OPTIONS_H
#define NVSNOOP_PRELOAD_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVS_ENV_OUT "NVSNOOP_OUT" /* pattern of the trace's name, or: */
#define NVS_OUT_NONE "none" /* no trace, but the live page */
#define NVS_ENV_OPTIONS "NVSNOOP_OPTIONS" /* key=value,...; a comma in a value is written \, */
/*
 * Set by the launcher: an existing file to which each process appends lines instead of printing its
 * closing line: pid, submissions, gaps, bytes, path, flags, submissions only counted, errno of the
 * first write that failed (0: none), submissions lost by that, separated by tabs. A process writes
 * one line when its trace has been made (flags "started", numbers 0) and one at its end; a path
 * with no second line belongs to a process that was killed. flags: "-", or words separated by
 * commas: renamed (the name was taken), unsafe (the buffers outlive no kill), lost (the output
 * could not be written to the end, or, without an errno, writing hangs), options (the option string
 * was wrong and ignored), trigger (the trigger file was not obeyed), full (it has its max-size),
 * stuck (keep-last could make no further part: the errno is of that, unless lost), cut (it holds
 * the last of the submissions), newer (the driver's release is newer than all that are known),
 * failed (no trace could be made: the errno is of that), bypassed (the GPU was used and nothing of
 * it was seen; no path). Tab, newline, other control characters and backslash in a path are written
 * as \ooo.
 */
#define NVS_ENV_SUMMARY "NVSNOOP_SUMMARY"
/*
 * Set by the launcher: when it started the program, in ns of CLOCK_MONOTONIC, from which a delay
 * counts in every process of the tree. Without it each program counts from its own start.
 */
#define NVS_ENV_START "NVSNOOP_START"

/* What a closing line says of a trigger file with rubbish in it. */
#define NVS_TRIGGER_WRONG \
	"the trigger file said neither start, stop nor a number, and was not obeyed then"

/* Of one that keeps the last, ahead of the number of all; and of one that has its max-size, behind
 * what was only counted. */
#define NVS_SAID_NEWER "; the driver's release is newer than all that nvsnoop knows"
#define NVS_SAID_CUT ", the last of "
#define NVS_SAID_FULL " since --max-size was reached"
/* Of one that keeps the last and cannot: why. */
#define NVS_SAID_STUCK " since no further part could be made (%s)"
/* Of a process that has used the GPU without being seen. */
#define NVS_SAID_BYPASSED                                                              \
	"the driver's system calls did not pass through nvsnoop (dlmopen, or another " \
	"preloaded library that makes them itself)"

#define NVS_DEFAULT_OUT "nvsnoop.%e.%p.zst"
#define NVS_MIN_RING_BYTES (64ull << 10)
#define NVS_MAX_RING_BYTES (1ull << 30)
#define NVS_DEFAULT_RING_BYTES (1ull << 20)
#define NVS_MIN_TRACE_BYTES (64ull << 10)
#define NVS_MAX_TRACE_BYTES (1ull << 50)
#define NVS_MAX_SECONDS 1000000000ull

struct nvs_option {
	const char *key;
	const char *value; /* syntax for --help: "emulate|step", "SIZE"; NULL: a switch */
	const char *help; /* one line, no full stop */
	const char *standard; /* default as it would be written; NULL: off */
	const char *rule; /* how a value must be, where its syntax does not say it; NULL */
	bool inner; /* for tests, and where something is wrong: stands last in --help */
};

/* Ends with a NULL key. */
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
	unsigned count; /* 0: off, else NVS_COUNT_WARP, NVS_COUNT_THREAD or both (count.h) */
	bool count_pred_on; /* count-pred-off=skip */
	bool exact; /* exact=sync */
	uint32_t count_first, count_end; /* of a kernel's instructions; 0, 0: all */
	char count_kernels[256]; /* glob; empty: all */
	char trigger[1024]; /* path; empty: none */
	bool from_profiler; /* from=profiler */
	uint64_t delay_ns, duration_ns; /* 0: none */
	uint64_t max_size, keep_last; /* bytes; 0: no limit */
	bool spool; /* false: spool=off */
	bool overwrite;
	bool quiet;
	uint64_t ring_bytes;
	char spool_dir[1024]; /* empty: beside the trace */
};

void nvs_option_defaults(struct nvs_option_values *values);
/*
 * Sets one option; VALUE NULL: a switch without value. 0 or -EINVAL with a message for people in
 * ERROR (size ERROR_SIZE, may be 0).
 */
int nvs_option_set(struct nvs_option_values *values, const char *key, const char *value,
		   char *error, size_t error_size);
/* The whole string. -EINVAL at the first wrong key or value: values hold the defaults then. */
int nvs_options_parse(struct nvs_option_values *values, const char *string, char *error,
		      size_t error_size);
/* An option that VALUES hold and that is about a trace alone; NULL: there is none. */
const char *nvs_option_needs_trace(const struct nvs_option_values *values);
/*
 * Appends ",key=value" (without the comma at the start of OUT, quoting commas) to the string in
 * OUT. 0 or -ENOSPC.
 */
int nvs_options_append(char *out, size_t size, const char *key, const char *value);

#endif
