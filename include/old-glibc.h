/* SPDX-License-Identifier: MIT */
/*
 * Included ahead of everything (by the Makefile): keeps what is built on a new system running on an
 * older one. From glibc 2.38 on, strtol() and scanf() with GNU extensions mean new symbols that
 * also read binary numbers; we want the ones that have always been there.
 */
#include <features.h>
#undef __GLIBC_USE_C2X_STRTOL
#define __GLIBC_USE_C2X_STRTOL 0
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C23_STRTOL 0
