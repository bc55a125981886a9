/* SPDX-License-Identifier: MIT */
/* Exports that are a folder of files: it is made, and goes again if that fails. */
#ifndef NVSNOOP_DECODE_EXPORT_OUTPUT_DIR_H
#define NVSNOOP_DECODE_EXPORT_OUTPUT_DIR_H

#include <stdio.h>
#include "decode/report/core/report.h"

/* Makes the folder that -o names, which must not be there, with what ONE does. Returns what that
 * does; for < 0 all is taken away again. */
struct nvs_run;
int nvs_folder(struct nvs_run *run, int (*one)(struct nvs_run *run));
/* A new file below it, in folders that are made where they are missing. NULL: said on stderr. */
FILE *nvs_folder_file(const struct nvs_run *run, const char *name);
/* 0, or -EIO, said on stderr. FILE may be NULL. */
int nvs_folder_close(const struct nvs_run *run, FILE *file);

#endif
