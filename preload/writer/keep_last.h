/* SPDX-License-Identifier: MIT */
/*
 * --keep-last: the trace is a chain of files, the parts; the oldest is deleted when all together
 * exceed the size to keep. The newest has the trace's name. Each part records the number N of the
 * one before it, whose name ends in ".N". So the name refers to a readable trace at any time. At a
 * normal exit the parts are joined into one file.
 */
#ifndef NVSNOOP_PRELOAD_WRITER_KEEP_LAST_H
#define NVSNOOP_PRELOAD_WRITER_KEEP_LAST_H

#include "preload/base/outfile.h"

#define NVS_KEEP_PARTS 64u

/* A file's identity, and one thread's descriptor of it. */
struct nvs_keep_file {
	int fd; /* -1: none */
	uint64_t dev, ino;
};

struct nvs_keep {
	uint64_t limit; /* bytes; 0: the whole trace is kept, nothing here is used */
	struct nvs_outfile *trace; /* the newest part */
	struct nvs_keep_file first; /* the file that all threads have open at the start */
	_Atomic uint32_t generation; /* incremented when another file becomes the newest */
	uint64_t number; /* of the newest, from 0 */
	uint64_t head; /* its bytes that repeat the state from before it */
	uint64_t closed_bytes; /* of all parts before it */
	bool cut; /* some were deleted */
	uint32_t n;
	struct nvs_keep_part {
		uint64_t name; /* N of its name */
		uint64_t bytes, head, dev, ino;
	} closed[NVS_KEEP_PARTS]; /* oldest first */
	/* While the next part is created: the identity and name of the current one, and the next
	 * one's suffix. */
	struct nvs_keep_file was;
	uint64_t name;
	uint32_t next;
	bool linked, making;
};

void nvs_keep_init(struct nvs_keep *keep, struct nvs_outfile *trace, uint64_t limit);
/* Returns true if the newest part, which has BYTES, should be closed. */
bool nvs_keep_is_due(const struct nvs_keep *keep, uint64_t bytes);
/* Creates the file of the next part, to which keep->trace refers from now on, and chooses a name
 * for the part before it, keep->name. Returns 0, or -errno with nothing changed. */
int nvs_keep_begin(struct nvs_keep *keep);
/* Gives the trace's name to the next part, which has HEAD bytes; the one before it has BYTES.
 * Returns 0, or -errno: the caller then calls nvs_keep_cancel(). */
int nvs_keep_commit(struct nvs_keep *keep, uint64_t bytes, uint64_t head);
/* Undoes nvs_keep_begin(). */
void nvs_keep_cancel(struct nvs_keep *keep);
/* Deletes parts that are too old; the newest has BYTES. */
void nvs_keep_trim(struct nvs_keep *keep, uint64_t bytes);
/* Makes keep->trace use the calling thread's own descriptor, since the writer's threads have
 * separate descriptor tables. One thread at a time. */
void nvs_keep_use_own_fd(struct nvs_keep *keep);
/* Joins all parts into one file; the newest has BYTES. Calls BEAT regularly. Returns the file's
 * size. */
uint64_t nvs_keep_join(struct nvs_keep *keep, uint64_t bytes, void (*beat)(void *arg), void *arg);

#endif
