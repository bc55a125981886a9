/* SPDX-License-Identifier: MIT */
/* The name of the machine's processor. */
#ifndef NVSNOOP_PRELOAD_BASE_CPU_NAME_H
#define NVSNOOP_PRELOAD_BASE_CPU_NAME_H

#include <stddef.h>

/* Stores the processor's name in NAME, from TEXT, the beginning of /proc/cpuinfo: the model name,
 * or by the numbers that arm64's kernel prints in its place. "" if there is neither. */
void nvs_cpu_name(const char *text, char *name, size_t room);

#endif
