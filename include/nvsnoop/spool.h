/* SPDX-License-Identifier: MIT */
/* The spool: the file next to a trace that holds the buffers from which its frames are made, and
 * after a kill the records that had not reached it. Included by nvsnoop/trace.h. */
#ifndef NVSNOOP_SPOOL_H
#define NVSNOOP_SPOOL_H

#include <stdint.h>

/* A structure ends in an array without a size, which is not in ISO C++. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

#ifdef __cplusplus
extern "C" {
#endif

#define NVS_SPOOL_MAGIC 0x314c4f4f5053564eull /* "NVSPOOL1" */
#define NVS_SPOOL_VERSION 1

/*
 * Offsets are in bytes from the beginning of the file:
 *
 *   0                 struct nvs_spool
 *   channel_offset    struct nvs_spool_channel [channels]
 *   done_offset       struct nvs_spool_done [channels], of the same channels
 *   buffer_offset     for each buffer: one page with struct nvs_spool_buffer, then buffer_bytes of
 *                     data
 *
 * Records between tail and head of a buffer are committed and not known to be in the trace; the
 * byte at position p is at p modulo buffer_bytes. The file grows by whole buffers; buffers is their
 * number. A spool of kind NVS_SPOOL_LATE holds, from buffer_offset to its end, plain records of
 * submissions rung after the trace was closed.
 */
enum nvs_spool_kind { NVS_SPOOL_BUFFERS = 1, NVS_SPOOL_LATE = 2 };

struct nvs_spool {
	uint64_t magic; /* NVS_SPOOL_MAGIC */
	uint32_t version;
	uint32_t kind; /* enum nvs_spool_kind */
	uint8_t session[16];
	uint32_t pid;
	uint32_t buffers; /* number of buffers so far */
	uint64_t buffer_bytes; /* power of two, multiple of the page size */
	uint64_t buffer_offset;
	uint64_t channel_offset;
	uint32_t channels;
	uint32_t ended; /* 1: the writer has ended normally */
	uint64_t heartbeat; /* incremented while the writer is alive */
	uint64_t clock_ticks[2]; /* first and latest calibration: ticks, ... Before a second one is
				  * made, [1] continues the line from load to [0] */
	uint64_t clock_mono_ns[2];
	uint64_t clock_real_ns[2];
	uint64_t lost_submissions; /* not yet recorded in a GAP record */
	uint64_t lost_bytes;
	uint64_t orphans; /* the same */
	uint64_t heard; /* ticks when the writer last worked */
	uint64_t done_offset; /* 0: none */
};

#define NVS_SPOOL_CALLS 16 /* a call nested deeper is not in the spool */

/* A call of the CUDA API that has not returned. */
struct nvs_spool_call {
	uint64_t begin; /* ticks */
	uint64_t number; /* as in CALL records */
	uint32_t api;
	uint32_t reserved;
};

/*
 * The outermost call in flight, once it has taken a few tenths of a second: its call site and
 * arguments as found by a thread of the library. Valid while number is that of the call plus 1 and
 * begin is that of the call.
 */
#define NVS_SITE_ARGS 8

struct nvs_spool_site {
	uint64_t number; /* number of the call, plus 1 */
	uint64_t begin; /* that of the call */
	uint32_t stack; /* NVS_NONE: unknown */
	uint32_t nargs; /* number of arguments, the first ones of a CALL record */
	uint32_t absent; /* bit i: args[i] is unknown */
	uint32_t reserved;
	uint64_t args[NVS_SITE_ARGS];
};

struct nvs_spool_buffer {
	uint32_t buffer;
	uint32_t thread; /* number of the owner thread, NVS_NONE: free */
	uint32_t tid; /* tid of the owner, 0: free; claimed and released by compare-and-swap */
	uint32_t generation; /* owners so far */
	uint64_t head; /* bytes committed since the start */
	uint64_t rung; /* head after the last record whose doorbell was certainly rung */
	uint64_t reserved0[4];
	uint64_t tail; /* bytes known to be in the trace; own cache line */
	uint64_t reserved1[7];
	uint32_t ncalls; /* calls in flight of the owner, outermost first; own cache line */
	uint32_t reserved2;
	struct nvs_spool_call calls[NVS_SPOOL_CALLS];
	struct nvs_spool_site site;
};

/*
 * State of a channel that the trap maintains, and that a kill leaves readable. claim: the next
 * sequence number << NVS_PUT_BITS | the last GP_PUT claimed, in one word, so that a doorbell
 * claims its entries by one compare-and-swap.
 */
#define NVS_PUT_BITS 24
#define NVS_LOST_CHANGING (1ull << 63) /* in lost: the lost fields were being changed */

struct nvs_spool_channel {
	uint64_t claim;
	uint32_t channel; /* number; NVS_NONE: slot is free */
	uint32_t lost_reason; /* enum nvs_gap_reason */
	uint64_t lost; /* submissions not recorded and not yet in a GAP record; NVS_LOST_CHANGING */
	uint64_t lost_bytes;
	uint64_t lost_from; /* sequence of the first of them */
	uint32_t lost_put; /* old_put of the first of them */
	uint32_t lost_end; /* new_put of the last of them */
	uint64_t progress_address; /* GPU address of the progress-release slot, 0: not known yet */
	uint64_t extended_base; /* address bits 56:40 of segments, from the last control entry */
};

/* The GPU's progress on a channel when the library last polled it, some ten times a second. */
struct nvs_spool_done {
	uint64_t address; /* GPU address of the progress-release slot; 0: unknown */
	uint64_t value[2]; /* the 16 bytes in it: payload, and GPU timestamp */
	uint64_t time; /* ticks of the poll */
	uint32_t channel; /* number */
	uint32_t get; /* GP_GET, NVS_NONE: unknown */
};

/* ---- the same as records, when the program ends normally ---- */

/* After a CALL_BEGIN with NVS_BEGIN_SITED, of a call in flight. */
struct nvs_call_begin_site {
	uint32_t stack; /* NVS_NONE: unknown */
	uint32_t nargs; /* number of arguments, the first ones of the API record */
	uint32_t absent;
	uint32_t reserved;
	uint64_t args[];
};

/* After a CHANNEL_GONE with NVS_CHAN_GONE_DONE: the contents of its progress-release slot. */
struct nvs_channel_done {
	uint64_t address; /* of the slot */
	uint64_t value[2]; /* the 16 bytes in it */
};

#pragma GCC diagnostic pop
#ifdef __cplusplus
}
#endif

/* Former names. */
#define nvs_spool_ring nvs_spool_buffer /* deprecated */
#define NVS_SPOOL_RINGS NVS_SPOOL_BUFFERS /* deprecated */
#define ring_offset buffer_offset /* deprecated */

#endif
