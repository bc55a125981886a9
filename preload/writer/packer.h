/* SPDX-License-Identifier: MIT */
/*
 * The writer's packers: threads that pack and write frames while the writer fills the next, since
 * packing takes most of its time, and eight threads that launch make more than one core packs.
 * Frames are packed side by side and written in order. While one core is enough the writer packs
 * alone: threads that are woken for nothing are in the program's way.
 */
#ifndef NVSNOOP_PRELOAD_WRITER_PACKER_H
#define NVSNOOP_PRELOAD_WRITER_PACKER_H

#include <sys/types.h>
#include "preload/writer/merge.h"

#define NVS_PACKERS (NVS_MERGE_FRAMES - 1)

/* zstd's state, the frame with its differences, and where it is put packed. One thread at a time.
 */
struct nvs_pack {
	void *workspace; /* zstd's */
	void *cctx;
	uint8_t *packed;
	uint32_t *delta, *slots;
	size_t workspace_size, packed_size, delta_size;
};

struct nvs_packer {
	struct nvs_packers *all;
	struct nvs_pack pack;
	const struct nvs_frame *frame;
	uint32_t ticket; /* the frame's place in the file */
	_Atomic uint32_t full; /* futex: it has a frame */
	_Atomic uint64_t cpu_ns; /* of its thread */
};

struct nvs_packers {
	void (*begin)(void *arg); /* first on each thread */
	/* For FRAME, packed: SIZE bytes at PACKED, or -errno. In order, by one thread at a time. */
	void (*commit)(void *arg, const struct nvs_frame *frame, const void *packed, ssize_t size);
	void *arg;
	size_t largest;
	uint32_t running; /* threads; with none, nvs_packers_give() is nvs_packers_write() */
	uint32_t tickets; /* given out */
	_Atomic uint32_t turn; /* futex: the ticket whose frame is committed next */
	_Atomic uint32_t given; /* futex: counts up when one becomes free */
	_Atomic uint32_t finishing;
	struct nvs_packer each[NVS_PACKERS];
};

/*
 * Makes ALL, whose begin, commit and arg are set, ready to pack frames of at most LARGEST bytes on
 * the caller's thread. 0 or -ENOMEM.
 */
int nvs_packers_init(struct nvs_packers *all, size_t largest);
/* Starts at most N threads. */
void nvs_packers_start(struct nvs_packers *all, uint32_t n);
/*
 * Waits until a packer is free. FRAME stays as it is until all->running frames more were given, or
 * nvs_packers_wait() has returned.
 */
void nvs_packers_give(struct nvs_packers *all, const struct nvs_frame *frame);
/* Packs and commits on the caller's thread, after all that was given before. */
void nvs_packers_write(struct nvs_packers *all, const struct nvs_frame *frame);
/* Until all that was given is committed. */
void nvs_packers_wait(struct nvs_packers *all);
/* The same, and ends the threads. */
void nvs_packers_finish(struct nvs_packers *all);
/* The memory of the first, on whose threads nothing runs any more. */
void nvs_packers_free(struct nvs_packers *all);
uint64_t nvs_packers_cpu_ns(const struct nvs_packers *all);

/* delta.c: SIZE bytes of RECORDS as they stand in a frame, to TO. */
void nvs_delta_frame(uint32_t *to, const uint32_t *records, size_t size,
		     uint32_t slots[NVS_DELTA_SLOTS]);

#endif
