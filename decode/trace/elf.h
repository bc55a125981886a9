/* SPDX-License-Identifier: MIT */
/* Opens a module's file with libelf, and checks that it is the file that was loaded. */
#ifndef NVSNOOP_DECODE_TRACE_ELF_H
#define NVSNOOP_DECODE_TRACE_ELF_H

#include <libelf.h>
#include <stdbool.h>
#include "nvsnoop/decode.h"

/* Names in symbol tables point into it, so it stays open. */
struct nvs_elf_file {
	int fd;
	Elf *elf; /* NULL: not open */
};

/* PATH may come from an untrusted trace: opens only regular files, and never blocks. */
bool nvs_elf_open(struct nvs_elf_file *f, const char *path);
void nvs_elf_close(struct nvs_elf_file *f);
/* Compares build-ids. Returns true if they match or the trace has none. */
bool nvs_elf_matches(const struct nvs_elf_file *f, const struct nvs_trace_module *m);

#endif
