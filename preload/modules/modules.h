/* SPDX-License-Identifier: MIT */
/* Loaded modules for the trap and the trace, the unwinder, and the patched store sites. */
#ifndef NVSNOOP_PRELOAD_MODULES_MODULES_H
#define NVSNOOP_PRELOAD_MODULES_MODULES_H

#include <stdbool.h>

/* ---- modules.c ---- */

/* Initialises the module list. Returns 0, or -ENOMEM: no snapshot will ever be taken. */
int nvs_modules_start(void);
/*
 * All calls of the loader are made under this lock. A fork waits for it, since the child would
 * inherit the loader's lock as held by the calling thread, and nothing would release it. The wait
 * is limited: a thread that forks while it holds the loader's lock would wait in vain.
 */
void nvs_modules_lock(void);
void nvs_modules_unlock(void);
/* Takes a new snapshot and records changes, if a module was loaded or unloaded. Under the lock. */
void nvs_modules_refresh(void);

/*
 * Called around an unload: a module may have been loaded since the last snapshot, and the next
 * library may get the same addresses. The holder of our lock may wait for the loader's, which the
 * caller may hold, so the wait is limited as for a fork. Signals are blocked, since a handler might
 * leave our lock held.
 */
void nvs_modules_poll(void);

/* ---- livesites.c ---- */

/* Names the allocation sites on the live page whose module is known. Under the lock. */
void nvs_live_name_sites(void);

/* ---- unwinder.c ---- */

/* Loads the unwinder and passes it to the trap. In the constructor, since it calls the loader. */
void nvs_unwinder_load(void);
const char *nvs_unwinder_name(void);
/* Returns true if CALLER is in the unwinder's code. nvs_unwinder_pipe() is then called in place of
 * pipe2(). */
bool nvs_unwinder_is_caller(const void *caller);
int nvs_unwinder_pipe(int fds[2], int flags);

/* ---- sites.c ---- */

/* Patches the store sites that the trap has found, if any are due. Under nvs_modules_lock(). */
bool nvs_sites_is_due(void);
void nvs_sites_patch(void);
/* Records the state of all sites, at the end. */
void nvs_sites_record(void);
/* Returns true if no sandbox forbids it. */
bool nvs_sites_may_patch(void);

#endif
