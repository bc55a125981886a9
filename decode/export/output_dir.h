/* SPDX-License-Identifier: MIT */
/* Exports into a directory of files. */
#ifndef NVSNOOP_DECODE_EXPORT_OUTPUT_DIR_H
#define NVSNOOP_DECODE_EXPORT_OUTPUT_DIR_H

#include <stdio.h>
#include "decode/report/core/report.h"

/* Creates the directory of -o, which must not exist, and calls ONE. Returns its result; removes the
 * directory if that is negative. */
struct nvs_run;
int nvs_output_dir_run(struct nvs_run *run, int (*one)(struct nvs_run *run));
/* Creates file NAME in it, with missing directories. Returns NULL after a message on stderr. */
FILE *nvs_output_dir_file(const struct nvs_run *run, const char *name);
/* Returns 0, or -EIO after a message on stderr. FILE may be NULL. */
int nvs_output_dir_close(const struct nvs_run *run, FILE *file);

#endif
