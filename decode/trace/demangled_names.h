/* SPDX-License-Identifier: MIT */
/* Function names and source lines as written in the source. Strings live as long as the trace. */
#ifndef NVSNOOP_DECODE_TRACE_DEMANGLED_NAMES_H
#define NVSNOOP_DECODE_TRACE_DEMANGLED_NAMES_H

#include "nvsnoop/decode.h"

/* Returns NAME demangled, or NAME. */
const char *nvs_demangled_name(struct nvs_trace *t, const char *name);
/* Returns "file.cpp:12" for the instruction at PC, or "" if unknown. */
const char *nvs_source_line(struct nvs_trace *t, const struct nvs_trace_module *module,
			    uint64_t pc);
void nvs_demangled_free(struct nvs_trace *t);

#endif
