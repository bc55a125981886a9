/* SPDX-License-Identifier: MIT */
/* A file for the node exporter's textfile collector: whoever reads it finds one answer, whole. */
#ifndef NVSNOOP_LIVE_EXPORTER_TEXTFILE_H
#define NVSNOOP_LIVE_EXPORTER_TEXTFILE_H

#include "live/exporter/exposition.h"

/* "-" is standard output. 0, or -1 and a message; then the file is what it was before. */
int nvs_textfile_write(const char *path, const struct nvs_expose *e, char *message, size_t room);

#endif
