/* SPDX-License-Identifier: MIT */
/* Error messages. */
#ifndef NVSNOOP_DECODE_BASE_TEXT_H
#define NVSNOOP_DECODE_BASE_TEXT_H

#include "nvsnoop/decode.h"

/* Writes the message to ERR, which may be NULL, and returns CODE. */
int nvs_fail(struct nvs_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
