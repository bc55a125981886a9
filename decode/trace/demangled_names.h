/* SPDX-License-Identifier: MIT */
/* Functions and lines as their source writes them. Strings live as long as the trace. */
#ifndef NVSNOOP_DECODE_TRACE_DEMANGLED_NAMES_H
#define NVSNOOP_DECODE_TRACE_DEMANGLED_NAMES_H

#include "nvsnoop/decode.h"

/* NAME demangled, or itself. */
const char *nvs_written_name(struct nvs_trace *t, const char *name);
/* "file.cpp:12" of the instruction at PC, "" where not known. */
const char *nvs_written_line(struct nvs_trace *t, const struct nvs_trace_module *module,
			     uint64_t pc);
void nvs_written_free(struct nvs_trace *t);

#endif
