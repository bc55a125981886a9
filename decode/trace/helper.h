/* SPDX-License-Identifier: MIT */
/*
 * Demangles names and reads debug information in a child process. Names and files may be untrusted,
 * and neither libiberty nor libdw bounds its time: a name of 100 bytes may take years. The child
 * has limits on time and memory and may crash, in which case the parent goes on without the answer.
 * One child serves a process, one question at a time.
 */
#ifndef NVSNOOP_DECODE_TRACE_HELPER_H
#define NVSNOOP_DECODE_TRACE_HELPER_H

#include <stdbool.h>
#include <stdint.h>

#define NVS_HELPER_NAME_MS 200 /* CPU time for one question */
#define NVS_HELPER_LINE_MS 2000
#define NVS_HELPER_TOTAL_S 10 /* CPU time for all questions, until a trace is closed */
#define NVS_HELPER_WAIT_MS 30000 /* wall-clock time for one answer */
#define NVS_HELPER_DEATHS 8
#define NVS_HELPER_MEMORY (1ull << 30) /* address space in addition to the parent's */
#define NVS_HELPER_MAX_NAME 8192 /* bytes; longer names are left mangled */
#define NVS_HELPER_MAX_ID 64
/* Maximum length of a demangled name, however short the mangled one is: nested templates may double
 * in length with each level. Longer names are left mangled. */
#define NVS_HELPER_MAX_TEXT 65536

struct nvs_helper_question {
	uint32_t length; /* of text */
	uint32_t id_length; /* of the build-id; 0: text is a mangled name */
	uint64_t offset; /* for a line: address in the file whose path is in text */
	uint8_t id[NVS_HELPER_MAX_ID];
	char text[NVS_HELPER_MAX_NAME];
};

/* Demangles C++ and Rust names: ns::f(int) for _ZN2ns1fEi. Returns NULL if NAME is not mangled or
 * exceeds the limits. The caller frees the result. */
char *nvs_helper_name(const char *name);
/* Returns "file.cpp:12" if the file at PATH has that build-id, else NULL. The caller frees the
 * result. */
char *nvs_helper_line(const char *path, const uint8_t *id, uint32_t id_length, uint64_t offset);
/* Ends the child when a trace is closed; the next question starts a new one with fresh limits. */
void nvs_helper_stop(void);

/* helper_child.c: answers questions from FD until its other end is closed. */
void nvs_helper_serve(int fd) __attribute__((noreturn));
/* helper_line.c */
/* Called by the parent. Returns true if this call loaded libdw: a running child then lacks it. */
bool nvs_helper_load_libdw(void);
/* Called in the child; uses libdw if it is loaded. TEXT is "" if the line is unknown. */
void nvs_helper_find_line(const struct nvs_helper_question *question, char *text, size_t room);

#endif
