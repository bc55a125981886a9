/* SPDX-License-Identifier: MIT */
/*
 * The writer's packers: threads that pack and write frames while the writer fills the next, since
 * packing takes most of its time, and eight threads that launch make more than one core packs.
 * Frames are packed side by side and written in order. While one core is enough the writer packs
 * alone: threads that are woken for nothing are in the program's way.
 */
#ifndef NVSNOOP_PRELOAD_TRACE_PACKER_H
#define NVSNOOP_PRELOAD_TRACE_PACKER_H

#include "preload/trace/merge.h"
#include "preload/trace/sink.h"

#define NVS_PACKERS 2u

/* Writes FRAME, whose packed form is PACKED (PACKED_SIZE: bytes, or -errno). In order, by one
 * thread at a time. */
typedef void (*nvs_packer_write)(void *arg, const void *frame, size_t size,
				 const struct nvs_merge_counts *counts, const void *packed,
				 ssize_t packed_size);

struct nvs_packer {
	struct nvs_packers *all;
	struct nvs_pack own, *pack;
	const void *frame;
	size_t size;
	struct nvs_merge_counts counts;
	uint32_t ticket; /* the frame's place in the file */
	_Atomic uint32_t full; /* futex: it has a frame */
	_Atomic uint64_t cpu_ns; /* of its thread */
};

struct nvs_packers {
	void (*begin)(void *arg); /* first on each thread */
	nvs_packer_write write;
	void *arg;
	uint32_t running; /* threads; with none, nvs_packers_give() is nvs_packers_write() */
	uint32_t tickets; /* given out */
	_Atomic uint32_t turn; /* futex: the ticket whose frame is written next */
	_Atomic uint32_t given; /* futex: counts up when one becomes free */
	_Atomic uint32_t finishing;
	struct nvs_packer each[NVS_PACKERS];
};

/* Begins ALL, whose begin, write and arg are set, for frames of at most LARGEST bytes; PACK is the
 * first one's. */
void nvs_packers_start(struct nvs_packers *all, struct nvs_pack *pack, size_t largest);
/*
 * Waits until a packer is free. FRAME stays as it is until all->running frames more were given, or
 * nvs_packers_wait() has returned.
 */
void nvs_packers_give(struct nvs_packers *all, const void *frame, size_t size,
		      const struct nvs_merge_counts *counts);
/* Packs and writes on the caller's thread, after all that was given before. */
void nvs_packers_write(struct nvs_packers *all, const void *frame, size_t size,
		       const struct nvs_merge_counts *counts);
/* Until all that was given is written. */
void nvs_packers_wait(struct nvs_packers *all);
/* The same, and ends the threads. */
void nvs_packers_finish(struct nvs_packers *all);
uint64_t nvs_packers_cpu_ns(const struct nvs_packers *all);

#endif
