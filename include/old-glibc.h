/* SPDX-License-Identifier: MIT */
/*
 * Included before everything else, by the Makefile, so that programs built on a new system run on
 * an older one. Since glibc 2.38, strtol() and scanf() with GNU extensions refer to new symbols
 * that also read binary numbers; this keeps the old symbols.
 */
#include <features.h>
#undef __GLIBC_USE_C2X_STRTOL
#define __GLIBC_USE_C2X_STRTOL 0
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C23_STRTOL 0
