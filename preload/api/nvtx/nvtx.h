/* SPDX-License-Identifier: MIT */
/*
 * NVTX ranges and marks. Every copy of NVTX in the program (in each object built with its headers,
 * and in libnvToolsExt) loads the library named by NVTX_INJECTION64_PATH, which is this one, and
 * asks it for functions to call. As in api.h, tables are in .bss and filled without locks.
 */
#ifndef NVSNOOP_PRELOAD_API_NVTX_NVTX_H
#define NVSNOOP_PRELOAD_API_NVTX_NVTX_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/trace.h"

#define NVS_ENV_NVTX "NVTX_INJECTION64_PATH"
#define NVS_NVTX_TEXT 1023 /* bytes kept of a name */

/* ---- nvtx.c: functions that NVTX calls ---- */

/* Installs our functions in a copy of NVTX, whose tables GET_TABLE returns. Returns 1, or 0 if the
 * copy should work without a tool. */
int nvs_nvtx_attach(const void *(*get_table)(uint32_t id));
/* Number of copies that our functions are installed in. */
uint32_t nvs_nvtx_attached(void);
/* True while events go to the trace. Before that they go to the early store; after it they are
 * dropped. */
bool nvs_nvtx_live(void);

/* ---- nvtx_names.c: domains, registered strings, categories ---- */

/* Returns the number of the name TEXT, assigning a new one if needed; for a category, NUMBER.
 * Returns 0 if the table is full. */
uint32_t nvs_nvtx_name(enum nvs_nvtx_name_kind kind, uint32_t number, uint32_t domain,
		       const char *text, uint32_t length);
/* True if the number has been assigned. */
bool nvs_nvtx_is_assigned(enum nvs_nvtx_name_kind kind, uint64_t number);
/* Records all names so far. Called when a session starts. */
void nvs_nvtx_record_names(void);

/* ---- nvtx_offer.c: NVTX_INJECTION64_PATH ---- */

/* Adds this library to the program's environment, unless another tool is set there. */
void nvs_nvtx_set_environment(void);
/* Records which other tool gets the ranges, if any. */
void nvs_nvtx_record_other(void);

#endif
