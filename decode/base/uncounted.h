/* SPDX-License-Identifier: MIT */
/* For a file of decode whose memory is not a trace's: there malloc() and its kin are the C
 * library's. */
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
