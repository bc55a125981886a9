/* SPDX-License-Identifier: MIT */
/* Functions of the software GPU and the stand-in driver for tests, beyond the device files and the
 * CUDA API. Programs that must also run on a real GPU do not use them. */
#ifndef SOFTGPU_H
#define SOFTGPU_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- libsoftgpu.so (weak symbols, so that programs start without it) ---- */

/* Serial in the log of a channel that exists; 0xffffffff if there is none. */
uint32_t softgpu_channel_serial(uint32_t client, uint32_t handle) __attribute__((weak));
/*
 * Address at which a driver stores the GP_PUT that it has just rung for (needed with `poison`),
 * with SOFTGPU_RINGING set before it stores the next one. Returns NULL if there is no such channel.
 */
#define SOFTGPU_RINGING 0x80000000u
uint32_t *softgpu_channel_rung(uint32_t client, uint32_t handle) __attribute__((weak));
/* Number of times the channel's token was found in a doorbell page. Exact in single-threaded use.
 *  */
uint32_t softgpu_channel_bells(uint32_t client, uint32_t handle) __attribute__((weak));
/* Number of the channel's entries that the GPU has fetched, no matter who put them. */
uint64_t softgpu_channel_fetches(uint32_t client, uint32_t handle) __attribute__((weak));
/* Wakes an idle GPU, for a caller that waits for it. Never needed for progress. */
void softgpu_kick(uint32_t gpu) __attribute__((weak));

/* ---- libcuda.so.1: cuGetExportTable ---- */

#define SOFTGPU_TABLE "software GPU's"
/* The table: its size in bytes, then functions. Function 1 submits N times on channel 0, waits, and
 * returns a CUresult. */
typedef int (*softgpu_table_submit)(unsigned n);

/* ---- libcuda.so.1: waiting ---- */

/* Number of times the driver had to wait for space in a ring or a pushbuffer. */
enum { SOFTGPU_WAITS_RING, SOFTGPU_WAITS_PUSHBUFFER, SOFTGPU_WAITS };
uint32_t softgpu_waits(uint32_t what) __attribute__((weak));

/* ---- libcuda.so.1: raw channels ---- */

struct softgpu_channel;

/* Replaces the doorbell store: must store TOKEN at ADDRESS. */
typedef void (*softgpu_store)(volatile void *address, uint32_t token);

struct softgpu_channel_info {
	uint32_t client, handle;
	uint32_t gpu, token,
		index; /* index: among the context's channels; from 20 on made by a test */
	uint32_t entries, put; /* size of the ring in entries; GP_PUT */
	volatile uint32_t *doorbell; /* in the program's mapping */
	volatile uint64_t *ring;
	volatile uint32_t *userd;
};

/* Channel INDEX (0 to 19) of the current context. */
struct softgpu_channel *softgpu_channel_at(uint32_t index);
void softgpu_channel_info(struct softgpu_channel *ch, struct softgpu_channel_info *info);
/*
 * Adds a channel to the current context, on a compute (false) or copy engine. ENTRIES is a power of
 * two up to 1024 (0: 1024). With own_memory its ring, USERD and pushbuffer are in separate objects.
 */
struct softgpu_channel *softgpu_channel_create(bool copy, uint32_t entries, bool own_memory);
void softgpu_channel_destroy(struct softgpu_channel *ch);
/* For a channel with own memory: from now on the driver writes to its ring through a second
 * mapping, or, with MOVE, through the first one at another address. */
bool softgpu_channel_map_again(struct softgpu_channel *ch, bool move);

/* Sets the doorbell store of the whole process. NULL: the driver's own. */
void softgpu_set_store(softgpu_store store);
/* Maps the usermode object of the current context's GPU again (bar1: of the other kind) and returns
 * the doorbell's address. The driver rings there if USE. softgpu_unmap_doorbell() undoes it. */
volatile uint32_t *softgpu_map_doorbell(bool bar1, bool use);
void softgpu_unmap_doorbell(volatile uint32_t *doorbell);

/*
 * Submits NENTRIES segments with one doorbell: dwords[i] words at words[i], copied to the
 * pushbuffer. Adds a release of the channel's next progress payload to the last one and returns
 * that payload.
 */
uint32_t softgpu_submit(struct softgpu_channel *ch, uint32_t nentries, const uint32_t *const *words,
			const uint32_t *dwords);
/* Puts ENTRIES unchanged and rings once. Adds nothing. */
void softgpu_submit_entries(struct softgpu_channel *ch, uint32_t nentries, const uint64_t *entries);
/* Submits a no-op of NDWORDS words (at least 8; including a release), up to 8 MiB - 4, as one
 * segment. */
uint32_t softgpu_submit_nop(struct softgpu_channel *ch, uint32_t ndwords, uint32_t fill);
/* Rings the doorbell again with nothing new. */
void softgpu_ring(struct softgpu_channel *ch);
/* Waits for PAYLOAD. Returns 0, or the CUresult of a channel that died. */
int softgpu_wait(struct softgpu_channel *ch, uint32_t payload);
/* Payload last submitted. */
uint32_t softgpu_payload(struct softgpu_channel *ch);
/* Adds 1 to the channel's own dword in GPU memory, in order. Returns the number submitted so far.
 *  */
uint32_t softgpu_submit_count(struct softgpu_channel *ch);
/* Number that the GPU has counted so far. */
uint32_t softgpu_counted(struct softgpu_channel *ch);
/* Takes the driver's lock of a channel, to test what happens while it is held. */
void softgpu_channel_lock(struct softgpu_channel *ch);
void softgpu_channel_unlock(struct softgpu_channel *ch);

/* Allocates system memory mapped for CPU and GPU at the same address: within the 40 bits of an
 * entry, or high, where an extended base is needed. */
void *softgpu_alloc(uint64_t size, bool high);
void softgpu_free(void *p);
/* Unpins all memory registered in the current context, as a checkpoint does; or, with AGAIN, pins
 * the same addresses again, as a restore does. Returns false if one of them cannot be pinned. */
bool softgpu_repin(bool again);

#ifdef __cplusplus
}
#endif

#endif
