/* SPDX-License-Identifier: MIT */
/* Adds the names of its stacks' addresses to a trace, so that it can be read on other machines. */
#ifndef NVSNOOP_DECODE_TRACE_EMBED_H
#define NVSNOOP_DECODE_TRACE_EMBED_H

#include "nvsnoop/decode.h"

/* Counts of distinct addresses in all stacks. */
struct nvs_embed_counts {
	uint64_t addresses;
	uint64_t named, lines; /* that have a name, or a line, in the trace now */
	uint64_t added; /* names and lines added by this call; 0: the file is unchanged */
	uint64_t open; /* whose names could not be looked up because their file is missing */
};

/*
 * Looks up missing names on this machine. TRACE must have been read once. The file is replaced
 * atomically: other readers see either the old or the new one. TRACE keeps reading the old file,
 * and knows the names. Returns 0 or -errno.
 */
int nvs_trace_embed(struct nvs_trace *trace, struct nvs_embed_counts *done, struct nvs_error *err);

/* file_replace.c: replaces the file by its bytes up to END followed by SIZE bytes of DATA. */
int nvs_replace_fail_busy(const struct nvs_trace *trace,
			  struct nvs_error *err); /* sets the message,
						   * returns -EBUSY */
int nvs_replace_tail(struct nvs_trace *trace, uint64_t end, const void *data, size_t size,
		     struct nvs_error *err);

#endif
