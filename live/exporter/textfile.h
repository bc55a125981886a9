/* SPDX-License-Identifier: MIT */
/* Writes a file for the node exporter's textfile collector. The file is replaced atomically. */
#ifndef NVSNOOP_LIVE_EXPORTER_TEXTFILE_H
#define NVSNOOP_LIVE_EXPORTER_TEXTFILE_H

#include "live/exporter/exposition.h"

/* PATH "-" is standard output. Returns 0, or -1 with a message; the file is unchanged then. */
int nvs_textfile_write(const char *path, const struct nvs_exposition *e, char *message,
		       size_t room);

#endif
