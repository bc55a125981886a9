/* SPDX-License-Identifier: MIT */
/*
 * Mangled names and debug information, read by a child process. Names and files may be a
 * stranger's, and neither libiberty nor libdw bounds what it takes: a name of 100 bytes may ask for
 * years. The child has limits of time and memory, and may crash; its parent then does without. One
 * child serves a process, one question at a time.
 */
#ifndef NVSNOOP_DECODE_TRACE_HELPER_H
#define NVSNOOP_DECODE_TRACE_HELPER_H

#include <stdbool.h>
#include <stdint.h>

#define NVS_HELPER_NAME_MS 200 /* processor time of one question */
#define NVS_HELPER_LINE_MS 2000
#define NVS_HELPER_TOTAL_S 10 /* of all, until a trace is closed */
#define NVS_HELPER_WAIT_MS 30000 /* for one answer, by the clock */
#define NVS_HELPER_DEATHS 8
#define NVS_HELPER_MEMORY (1ull << 30) /* address space beyond what the parent has */
#define NVS_HELPER_MAX_NAME 8192 /* bytes; longer ones stay as they are */
#define NVS_HELPER_MAX_ID 64
/* Bytes that a name may become, however short it is: a template that holds the one before it twice
 * over is 3 kB long at 128 bytes. Names that go on doubling stay as they are. */
#define NVS_HELPER_MAX_TEXT 65536

struct nvs_helper_question {
	uint32_t length; /* of text */
	uint32_t id_length; /* of the build-id; 0: text is a mangled name */
	uint64_t offset; /* of a line: address in the file of which text is the path */
	uint8_t id[NVS_HELPER_MAX_ID];
	char text[NVS_HELPER_MAX_NAME];
};

/*
 * ns::f(int) for _ZN2ns1fEi, of C++ and Rust; NULL: it is not mangled, or cannot be told within
 * bounds. To be freed.
 */
char *nvs_helper_name(const char *name);
/* "file.cpp:12", of the file at PATH if it has that build-id; else NULL. To be freed. */
char *nvs_helper_line(const char *path, const uint8_t *id, uint32_t id_length, uint64_t offset);
/* Ends the child, as a trace is closed; the next question starts another, with all of its time. */
void nvs_helper_stop(void);

/* helper_child.c: answers what comes in at FD until its other end is closed. */
void nvs_helper_serve(int fd) __attribute__((noreturn));
/* helper_line.c */
/* Once, by the parent. True: it has been loaded now, and a child that runs already lacks it. */
bool nvs_helper_load_libdw(void);
/* In the child, with libdw, if it is there; "": not known. */
void nvs_helper_find_line(const struct nvs_helper_question *question, char *text, size_t room);

#endif
