/* SPDX-License-Identifier: MIT */
/*
 * Objects opened with RTLD_DEEPBIND look for names among their own dependencies first: there they
 * find the C library, and whatever they call of it goes past our hooks.
 */
#ifndef NVSNOOP_PRELOAD_MODULES_DEEPBIND_H
#define NVSNOOP_PRELOAD_MODULES_DEEPBIND_H

/* Such an object is about to be opened. */
void nvs_deepbind_opening(void);
/* Leads the slots of all that have come since to our hooks. On return it has been done for each
 * object whose dlopen() has returned, whatever other threads do. */
void nvs_deepbind_look(void);

#endif
