/* SPDX-License-Identifier: MIT */
/* Files of modules, by libelf: opened, and told to be what was loaded. */
#ifndef NVSNOOP_DECODE_TRACE_ELF_H
#define NVSNOOP_DECODE_TRACE_ELF_H

#include <libelf.h>
#include <stdbool.h>
#include "nvsnoop/decode.h"

/* The names in tables point into it. */
struct nvs_elf {
	int fd;
	Elf *elf; /* NULL: not open */
};

/* The path may come from a stranger: only regular files, and never waiting. */
bool nvs_elf_open(struct nvs_elf *f, const char *path);
void nvs_elf_close(struct nvs_elf *f);
/* Is it what was loaded? By build-id, where the trace has one. */
bool nvs_elf_is(const struct nvs_elf *f, const struct nvs_trace_module *m);

#endif
