/* SPDX-License-Identifier: MIT */
/* Support for RTLD_DEEPBIND. Objects opened with it look up names in their own dependencies first,
 * so their calls of the C library bypass our hooks. */
#ifndef NVSNOOP_PRELOAD_MODULES_DEEPBIND_H
#define NVSNOOP_PRELOAD_MODULES_DEEPBIND_H

#include <stdint.h>

/* Called before such an object is opened. */
void nvs_deepbind_before_open(void);
/* Redirects the slots of all objects loaded since to our hooks. On return this is done for every
 * object whose dlopen() has returned, independent of other threads. */
void nvs_deepbind_redirect(void);
/* The loader's counts of loads and unloads so far: a change means that objects have changed. */
void nvs_loader_counts(uint64_t *loads, uint64_t *unloads);

#endif
