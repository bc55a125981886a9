/* SPDX-License-Identifier: MIT */
/* Puts into a trace what its stacks' addresses are called, so that it needs no other file. */
#ifndef NVSNOOP_DECODE_TRACE_EMBED_H
#define NVSNOOP_DECODE_TRACE_EMBED_H

#include "nvsnoop/decode.h"

/* Of the different addresses in all stacks. */
struct nvs_embedded {
	uint64_t addresses;
	uint64_t named, lines; /* that have a name, or a line, in the trace now */
	uint64_t added; /* of both, by this call; 0: the file has not been touched */
	uint64_t open; /* whose names could not be looked for: their file is not here */
};

/*
 * Names that the trace lacks are looked for on this machine. TRACE has been read once. The file is
 * replaced as a whole: whoever reads it sees the one of before or the new one. TRACE goes on with
 * the one of before, and knows the names. 0 or -errno.
 */
int nvs_trace_embed(struct nvs_trace *trace, struct nvs_embedded *done, struct nvs_error *err);

/* replace.c: the file, up to byte END of it, and behind that SIZE bytes of DATA, take its place. */
int nvs_replace_busy(const struct nvs_trace *trace, struct nvs_error *err); /* says so */
int nvs_replace_tail(struct nvs_trace *trace, uint64_t end, const void *data, size_t size,
		     struct nvs_error *err);

#endif
