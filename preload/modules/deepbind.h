/* SPDX-License-Identifier: MIT */
/*
 * Support for RTLD_DEEPBIND. Objects opened with it look up names in their own dependencies first,
 * so their calls of the C library bypass our hooks.
 */
#ifndef NVSNOOP_PRELOAD_MODULES_DEEPBIND_H
#define NVSNOOP_PRELOAD_MODULES_DEEPBIND_H

/* Called before such an object is opened. */
void nvs_deepbind_before_open(void);
/*
 * Redirects the slots of all objects loaded since to our hooks. On return this is done for every
 * object whose dlopen() has returned, independent of other threads.
 */
void nvs_deepbind_redirect(void);

#endif
