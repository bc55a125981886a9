/* SPDX-License-Identifier: MIT */
/*
 * What tests may ask the software GPU and the stand-in driver beyond the device files and the CUDA
 * API. Programs that must also run on a real GPU do not use it.
 */
#ifndef SOFTGPU_H
#define SOFTGPU_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- libsoftgpu.so (reached by name; weak, so that programs start without it) ---- */

/* Serial of a living channel in the log; 0xffffffff: none. */
uint32_t softgpu_channel_serial(uint32_t client, uint32_t handle) __attribute__((weak));
/* Where a driver tells the GP_PUT it has just rung for (needed with `poison`), with SOFTGPU_RINGING
 * from before it stores the next one. NULL: no such channel. */
#define SOFTGPU_RINGING 0x80000000u
uint32_t *softgpu_channel_rung(uint32_t client, uint32_t handle) __attribute__((weak));
/*
 * How often the channel's token was found on a doorbell page. Single-threaded use counts exactly.
 */
uint32_t softgpu_channel_bells(uint32_t client, uint32_t handle) __attribute__((weak));
/* Entries that the GPU has taken of the channel's, whoever put them. */
uint64_t softgpu_channel_fetches(uint32_t client, uint32_t handle) __attribute__((weak));
/* Wakes a GPU that rests: for whoever waits for it. Never needed for progress. */
void softgpu_kick(uint32_t gpu) __attribute__((weak));

/* ---- libcuda.so.1: what cuGetExportTable has ---- */

#define SOFTGPU_TABLE "software GPU's"
/* Its size in bytes, then functions: 1 submits N times on channel 0 and waits; it returns a
 * CUresult. */
typedef int (*softgpu_table_submit)(unsigned n);

/* ---- libcuda.so.1: waiting ---- */

/* How often the driver has begun to wait for room in a ring, or in a pushbuffer. */
enum { SOFTGPU_WAITS_RING, SOFTGPU_WAITS_PUSHBUFFER, SOFTGPU_WAITS };
uint32_t softgpu_waits(uint32_t what) __attribute__((weak));

/* ---- libcuda.so.1: raw channels ---- */

struct softgpu_channel;

/* What a doorbell is rung with: stores TOKEN at ADDRESS. */
typedef void (*softgpu_store)(volatile void *address, uint32_t token);

struct softgpu_channel_info {
	uint32_t client, handle;
	uint32_t gpu, token,
		index; /* index: place among the context's channels; 20 and up: made by a test */
	uint32_t entries, put; /* size of the ring; GP_PUT */
	volatile uint32_t *doorbell; /* in the program's mapping */
	volatile uint64_t *ring;
	volatile uint32_t *userd;
};

/* Channel INDEX (0 to 19) of the current context. */
struct softgpu_channel *softgpu_channel_at(uint32_t index);
void softgpu_channel_info(struct softgpu_channel *ch, struct softgpu_channel_info *info);
/*
 * A further channel of the current context, on a compute (false) or copy engine; ENTRIES a power of
 * two of at most 1024 (0: 1024). With own_memory its ring, USERD and pushbuffer lie in objects of
 * its own.
 */
struct softgpu_channel *softgpu_channel_create(bool copy, uint32_t entries, bool own_memory);
void softgpu_channel_destroy(struct softgpu_channel *ch);
/*
 * Of a channel with memory of its own: the driver writes to its ring through a second mapping from
 * now on, or, with MOVE, through the first one at another address.
 */
bool softgpu_channel_map_again(struct softgpu_channel *ch, bool move);

/* NULL: the driver's own store again. Applies to the whole process. */
void softgpu_set_store(softgpu_store store);
/*
 * Maps the usermode object of the current context's GPU once more (bar1: the other kind), returns
 * the doorbell's address; the driver rings there if USE. softgpu_unmap_doorbell() takes it away
 * again.
 */
volatile uint32_t *softgpu_map_doorbell(bool bar1, bool use);
void softgpu_unmap_doorbell(volatile uint32_t *doorbell);

/*
 * One doorbell for NENTRIES segments: dwords[i] words at words[i], copied into the pushbuffer. A
 * release of the channel's next progress payload is added to the last one. Returns that payload.
 */
uint32_t softgpu_submit(struct softgpu_channel *ch, uint32_t nentries, const uint32_t *const *words,
			const uint32_t *dwords);
/* Raw: puts ENTRIES as they are, and rings once. Nothing is added. */
void softgpu_submit_entries(struct softgpu_channel *ch, uint32_t nentries, const uint64_t *entries);
/* A no-op of NDWORDS words (at least 8; a release included), up to 8 MiB - 4, as one segment. */
uint32_t softgpu_submit_nop(struct softgpu_channel *ch, uint32_t ndwords, uint32_t fill);
/* Rings again with nothing new. */
void softgpu_ring(struct softgpu_channel *ch);
/* Waits for payload; 0, or the CUresult of a channel that died. */
int softgpu_wait(struct softgpu_channel *ch, uint32_t payload);
/* Payload last submitted. */
uint32_t softgpu_payload(struct softgpu_channel *ch);
/* Adds 1 to a dword of the channel's own in GPU memory, in order: returns the count submitted so
 * far. */
uint32_t softgpu_submit_count(struct softgpu_channel *ch);
/* What the GPU has counted so far. */
uint32_t softgpu_counted(struct softgpu_channel *ch);
/* The driver's lock of a channel, for tests of what happens while it is held. */
void softgpu_channel_lock(struct softgpu_channel *ch);
void softgpu_channel_unlock(struct softgpu_channel *ch);

/*
 * A system-memory object mapped for CPU and GPU at the same address: within the 40 bits that an
 * entry can name, or high, where it takes an extended base.
 */
void *softgpu_alloc(uint64_t size, bool high);
void softgpu_free(void *p);
/*
 * Takes all memory that is registered in the current context from the GPU, as a checkpoint does;
 * or, AGAIN, pins the same addresses once more, as its restoration does. False: one of them cannot
 * be.
 */
bool softgpu_repin(bool again);

#ifdef __cplusplus
}
#endif

#endif
