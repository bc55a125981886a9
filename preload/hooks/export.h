/* SPDX-License-Identifier: MIT */
/* Exports a function. exports.map lists all of them. */
#ifndef NVSNOOP_PRELOAD_HOOKS_EXPORT_H
#define NVSNOOP_PRELOAD_HOOKS_EXPORT_H

#define EXPORT __attribute__((visibility("default")))

#endif
