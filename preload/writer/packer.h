/* SPDX-License-Identifier: MIT */
/*
 * The writer's packers: threads that compress and write frames while the writer fills the next one.
 * Compression takes most of its time, and eight launching threads produce more than one core can
 * compress. Frames are compressed in parallel and written in order. While one core is enough the
 * writer compresses alone: threads woken for nothing would disturb the program.
 */
#ifndef NVSNOOP_PRELOAD_WRITER_PACKER_H
#define NVSNOOP_PRELOAD_WRITER_PACKER_H

#include <sys/types.h>
#include "preload/writer/merge.h"

#define NVS_PACKERS (NVS_MERGE_FRAMES - 1)

/* Memory for compressing a frame: zstd's state, the delta-encoded frame and the output. Used by one
 * thread at a time. */
struct nvs_pack_memory {
	void *workspace; /* zstd's */
	void *cctx;
	uint8_t *packed;
	uint32_t *delta, *slots;
	size_t workspace_size, packed_size, delta_size;
};

struct nvs_packer {
	struct nvs_packers *all;
	struct nvs_pack_memory pack;
	const struct nvs_zframe *frame;
	uint32_t ticket; /* the frame's position in the file */
	_Atomic uint32_t full; /* futex; 1: it has a frame */
	_Atomic uint64_t cpu_ns; /* of its thread */
};

struct nvs_packers {
	void (*begin)(void *arg); /* called first on each thread */
	/* Called for each FRAME with SIZE bytes at PACKED, or SIZE as -errno. In order, one thread
	 * at a time. */
	void (*commit)(void *arg, const struct nvs_zframe *frame, const void *packed, ssize_t size);
	void *arg;
	size_t largest;
	uint32_t running; /* threads; with 0, nvs_packers_submit() works like nvs_packers_write() */
	uint32_t tickets; /* number of tickets issued */
	_Atomic uint32_t turn; /* futex: ticket of the next frame to commit */
	_Atomic uint32_t given; /* futex: incremented when a packer becomes free */
	_Atomic uint32_t finishing;
	struct nvs_packer each[NVS_PACKERS];
};

/* Prepares ALL, whose begin, commit and arg are set, for packing frames of up to LARGEST bytes on
 * the caller's thread. Returns 0 or -ENOMEM. */
int nvs_packers_init(struct nvs_packers *all, size_t largest);
/* Starts up to N threads. */
void nvs_packers_start(struct nvs_packers *all, uint32_t n);
/* Waits for a free packer and gives it FRAME, which must stay unchanged until all->running more
 * frames were given, or nvs_packers_wait() has returned. */
void nvs_packers_submit(struct nvs_packers *all, const struct nvs_zframe *frame);
/* Packs and commits on the caller's thread, after all frames given before. */
void nvs_packers_write(struct nvs_packers *all, const struct nvs_zframe *frame);
/* Waits until all given frames are committed. */
void nvs_packers_wait(struct nvs_packers *all);
/* The same, and ends the threads. */
void nvs_packers_finish(struct nvs_packers *all);
/* Frees the memory of the first packer, after all threads have ended. */
void nvs_packers_free(struct nvs_packers *all);
uint64_t nvs_packers_cpu_ns(const struct nvs_packers *all);

/* delta.c: writes SIZE bytes of RECORDS, delta-encoded as in a frame, to TO. */
void nvs_delta_frame(uint32_t *to, const uint32_t *records, size_t size,
		     uint32_t slots[NVS_DELTA_SLOTS]);

#endif
