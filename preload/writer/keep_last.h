/* SPDX-License-Identifier: MIT */
/*
 * --keep-last: the trace as a row of files, its parts, the oldest of which goes when all of them
 * have the size that is to be kept. The newest bears the trace's name; that before it has ".N"
 * behind it, where the newest says N, and so on back. So at each moment the name stands for a trace
 * that can be read. At an orderly end they become one file.
 */
#ifndef NVSNOOP_PRELOAD_WRITER_KEEP_LAST_H
#define NVSNOOP_PRELOAD_WRITER_KEEP_LAST_H

#include "preload/base/outfile.h"

#define NVS_KEEP_PARTS 64u

/* A file, by what it is, and one thread's descriptor of it. */
struct nvs_keep_file {
	int fd; /* -1: none */
	uint64_t dev, ino;
};

struct nvs_keep {
	uint64_t limit; /* bytes; 0: all of it is kept, and nothing here is used */
	struct nvs_outfile *trace; /* the newest part */
	struct nvs_keep_file first; /* what all threads have open at the begin */
	_Atomic uint32_t generation; /* counts up when the newest is another file */
	uint64_t number; /* of the newest, from 0 */
	uint64_t head; /* its bytes that tell again what was known before */
	uint64_t closed_bytes; /* of all before it */
	bool cut; /* some were deleted */
	uint32_t n;
	struct nvs_keep_part {
		uint64_t name; /* N */
		uint64_t bytes, head, dev, ino;
	} closed[NVS_KEEP_PARTS]; /* the oldest first */
	/* While the next one is made: what the newest was, its name to be, and the next one's */
	struct nvs_keep_file was;
	uint64_t name;
	uint32_t next;
	bool linked, making;
};

void nvs_keep_init(struct nvs_keep *keep, struct nvs_outfile *trace, uint64_t limit);
/* Is the newest, of BYTES, to be closed? */
bool nvs_keep_due(const struct nvs_keep *keep, uint64_t bytes);
/*
 * Makes the file of the next part, to which keep->trace is written from here on, and finds a
 * name for the one before it, keep->name. 0 or -errno: all is as it was.
 */
int nvs_keep_begin(struct nvs_keep *keep);
/*
 * The next one has its HEAD bytes and takes the trace's name; the one before it has BYTES. 0 or
 * -errno: it is still to be cancelled.
 */
int nvs_keep_commit(struct nvs_keep *keep, uint64_t bytes, uint64_t head);
/* Undoes nvs_keep_begin(). */
void nvs_keep_cancel(struct nvs_keep *keep);
/* Deletes what is too old, where the newest has BYTES. */
void nvs_keep_trim(struct nvs_keep *keep, uint64_t bytes);
/*
 * keep->trace by the calling thread's own descriptor: the writer's threads have tables of their
 * own. One of them at a time.
 */
void nvs_keep_mine(struct nvs_keep *keep);
/* One file of all, where the newest has BYTES; BEAT is called now and then. Its bytes. */
uint64_t nvs_keep_join(struct nvs_keep *keep, uint64_t bytes, void (*beat)(void *arg), void *arg);

#endif
