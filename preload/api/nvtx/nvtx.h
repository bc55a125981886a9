/* SPDX-License-Identifier: MIT */
/*
 * Ranges and marks of NVTX. The program's copies of NVTX (each object that was built with its
 * headers has one, libnvToolsExt is another) load what NVTX_INJECTION64_PATH names, which is this
 * library, and ask it for functions to call. As in api.h tables lie in .bss and are filled without
 * locks.
 */
#ifndef NVSNOOP_PRELOAD_API_NVTX_NVTX_H
#define NVSNOOP_PRELOAD_API_NVTX_NVTX_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/trace.h"

#define NVS_ENV_NVTX "NVTX_INJECTION64_PATH"
#define NVS_NVTX_TEXT 1023 /* bytes kept of a name */

/* ---- nvtx.c: what NVTX calls ---- */

/* Puts our functions into a copy of NVTX, which tells its tables by GET_TABLE. 1, or 0: it is to do
 * without. */
int nvs_nvtx_attach(const void *(*get_table)(uint32_t id));
/* How many copies have us. */
uint32_t nvs_nvtx_attached(void);
/* Events go to the trace; before, to the early store; after it, nowhere. */
bool nvs_nvtx_live(void);

/* ---- nvtx_names.c: domains, registered strings, categories ---- */

/* Number of what has this name, a new one if none has; of a category, NUMBER. 0: no room. */
uint32_t nvs_nvtx_name(enum nvs_nvtx_name_kind kind, uint32_t number, uint32_t domain,
		       const char *text, uint32_t length);
/* Is this number one that was given out? */
bool nvs_nvtx_is(enum nvs_nvtx_name_kind kind, uint64_t number);
/* All names so far, for a trace that begins. */
void nvs_nvtx_tell_all(void);

/* ---- nvtx_offer.c: who gets the ranges ---- */

/* Puts us into the program's environment, unless somebody is there. */
void nvs_nvtx_offer(void);
/* Tells the trace who else gets them, if so. */
void nvs_nvtx_tell_other(void);

#endif
