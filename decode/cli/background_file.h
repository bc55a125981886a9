/* SPDX-License-Identifier: MIT */
/* A stream into a file that another thread writes, so that a report is not held up by the kernel's
 * copying. */
#ifndef NVSNOOP_DECODE_CLI_BACKGROUND_FILE_H
#define NVSNOOP_DECODE_CLI_BACKGROUND_FILE_H

#include <stdio.h>

/* FD is closed with the stream. A failed write is reported by a later one, or by fclose(), with its
 * errno. Short output is written at once, without a thread. Returns NULL, and leaves FD open, if
 * memory is short. */
FILE *nvs_background_file(int fd);

#endif
