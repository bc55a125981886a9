/* SPDX-License-Identifier: MIT */
/* Exports a function. exports.map lists all of them. */
#ifndef NVSNOOP_PRELOAD_HOOKS_EXPORT_H
#define NVSNOOP_PRELOAD_HOOKS_EXPORT_H

#define EXPORT __attribute__((visibility("default")))
/* Exports NAME as another name of FUNCTION, which is in the same file. The C library's headers give
 * most of them the last two attributes. */
#define EXPORT_ALIAS(name, function) \
	extern __typeof__(function) name EXPORT __attribute__((alias(#function), nothrow, leaf))

#endif
