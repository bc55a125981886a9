/* SPDX-License-Identifier: MIT */
/* Included in files of decode whose memory does not belong to a trace: malloc() and its relatives
 * are the C library's there. */
#ifndef NVSNOOP_DECODE_BASE_UNCOUNTED_H
#define NVSNOOP_DECODE_BASE_UNCOUNTED_H

#include "decode/base/budget.h"

#undef malloc
#undef calloc
#undef realloc
#undef aligned_alloc
#undef asprintf
#undef strdup
#undef strndup
#undef free

#endif
