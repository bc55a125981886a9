/* SPDX-License-Identifier: MIT */
/*
 * How a token that stands in for a signal of ours is told from the program's own use of its number.
 */
#ifndef NVSNOOP_PRELOAD_SIGNALS_SIGTOKEN_H
#define NVSNOOP_PRELOAD_SIGNALS_SIGTOKEN_H

#include <stdbool.h>
#include <stdint.h>

/* By its code and its value. */
bool nvs_sigtoken_is(uint64_t code, uint64_t value);

#endif
