/* SPDX-License-Identifier: MIT */
/*
 * How a function is exported; exports.map names them all.
 */
#ifndef NVSNOOP_PRELOAD_HOOKS_EXPORT_H
#define NVSNOOP_PRELOAD_HOOKS_EXPORT_H

#define EXPORT __attribute__((visibility("default")))

#endif
