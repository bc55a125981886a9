/* SPDX-License-Identifier: MIT */
/*
 * What is loaded, for the trap and the trace; the unwinder; the store sites that are patched.
 */
#ifndef NVSNOOP_PRELOAD_MODULES_MODULES_H
#define NVSNOOP_PRELOAD_MODULES_MODULES_H

#include <stdbool.h>

/* ---- modules.c ---- */

/* For what follows. 0 or -ENOMEM: no snapshot is ever taken. */
int nvs_modules_start(void);
/*
 * Below this lock is done all that asks the loader: a fork waits for it, since a child would
 * inherit the loader's lock as the asking thread holds it and never get it. Only so long: who forks
 * with the loader's lock held himself waits for nobody.
 */
void nvs_modules_lock(void);
void nvs_modules_unlock(void);
/* Under the lock: a new snapshot, and records, if something has been loaded or unloaded. */
void nvs_modules_refresh(void);

/*
 * Around an unload, and at once: what goes may have come since the last look, and the next library
 * may come to lie at the same addresses. Who holds our lock may wait for the loader's, which the
 * caller may hold: so it is waited for no longer than for a fork. No handler of the program's comes
 * meanwhile, which might leave our lock held for ever.
 */
void nvs_modules_look(void);

/* ---- livesites.c ---- */

/* Where memory was asked for has a name in the live page, as far as its module is known. Under the
 * lock. */
void nvs_live_sites_name(void);

/* ---- unwinder.c ---- */

/* Loads it and hands it to the trap: in our constructor, since it asks the loader. */
void nvs_unwinder_load(void);
const char *nvs_unwinder_name(void);
/* True: the code at CALLER is the unwinder's. What it is given for a pipe. */
bool nvs_unwinder_asks(const void *caller);
int nvs_unwinder_pipe(int fds[2], int flags);

/* ---- sites.c ---- */

/* Patches the store sites that the trap has seen, where some are due. Under nvs_modules_lock(). */
bool nvs_sites_due(void);
void nvs_sites_work(void);
/* What became of them, at the end. */
void nvs_sites_tell(void);
/* True: no sandbox forbids it by now. */
bool nvs_sites_may_patch(void);

#endif
