/* SPDX-License-Identifier: MIT */
/*
 * Checks the output of reports strictly by RFC 8259 (JSON), RFC 4180 (CSV) and RFC 3629 (UTF-8),
 * without the tolerance of real parsers. Each function returns NULL if TEXT is valid, otherwise
 * the error; *AT is its position.
 */
#ifndef NVSNOOP_TESTS_STRICT_H
#define NVSNOOP_TESTS_STRICT_H

#include <stddef.h>

const char *strict_utf8(const char *text, size_t size, size_t *at);
/* One value, in UTF-8; no key twice in an object. */
const char *strict_json(const char *text, size_t size, size_t *at);
/* Lines of one object each, the last one ended as well. */
const char *strict_json_lines(const char *text, size_t size, size_t *at);
/* keys.c: from now on, keys and the types of their values are held against PAGE. 0, or -1: that has
 * none. */
int strict_keys(const char *page);
const char *strict_key(const char *key, size_t length, const char *value, size_t n);
/* Records of as many fields each, ended by CR LF. */
const char *strict_csv(const char *text, size_t size, size_t *at);

#endif
