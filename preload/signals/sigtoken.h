/* SPDX-License-Identifier: MIT */
/*
 * signalfd for SIGSEGV and SIGTRAP, which are never pending in the kernel: for each of the two a
 * real-time signal that the program does not use stands in. It is only a token that makes the
 * descriptor readable: what is pending says sigkeep.h, and read() puts it in the token's place.
 */
#ifndef NVSNOOP_PRELOAD_SIGNALS_SIGTOKEN_H
#define NVSNOOP_PRELOAD_SIGNALS_SIGTOKEN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* The number that stands in for signal 0 (SIGSEGV) or 1 (SIGTRAP) of ours; 0: none does yet. */
int nvs_sigtoken_stand_in(int slot);
/* The stand-ins of SET, which is of our two; all there are for NVS_SIGVIEW_SIGNALS. */
uint64_t nvs_sigtoken_stand_ins(uint64_t set);
/* From now on FIRST stands in for SIGSEGV and SECOND for SIGTRAP. */
void nvs_sigtoken_stand_ins_made(int first, int second);
/* A token, and not the program's own use of its number, by its code and its value. */
bool nvs_sigtoken_is(uint64_t code, uint64_t value);
/* Takes NUMBER's pending tokens away; sends one, to the thread or to the process. */
void nvs_sigtoken_drain(int number);
void nvs_sigtoken_put(int number, bool process);

#endif
