/* SPDX-License-Identifier: MIT */
/*
 * The spool: the file beside a trace that holds the buffers from which its frames are made, and so
 * after a kill what had not reached it. Comes with nvsnoop/trace.h.
 */
#ifndef NVSNOOP_SPOOL_H
#define NVSNOOP_SPOOL_H

#include <stdint.h>

/* A structure ends in an array without a size, which ISO C++ does not know. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

#ifdef __cplusplus
extern "C" {
#endif

#define NVS_SPOOL_MAGIC 0x314c4f4f5053564eull /* "NVSPOOL1" */
#define NVS_SPOOL_VERSION 1

/*
 * Offsets are in bytes from its start:
 *   0                 struct nvs_spool
 *   channel_offset    struct nvs_spool_channel [channels]
 *   done_offset       struct nvs_spool_done [channels], likewise
 *   ring_offset       per ring: one page with struct nvs_spool_ring, then ring_bytes of data
 * Records between tail and head of a ring are committed and not known to be in the trace; the byte
 * at position p stands at p modulo ring_bytes. The file grows by whole rings; rings counts them.
 * A spool of kind NVS_SPOOL_LATE holds, from ring_offset to its end, plain records of submissions
 * rung after the trace had been ended.
 */
enum nvs_spool_kind { NVS_SPOOL_RINGS = 1, NVS_SPOOL_LATE = 2 };

struct nvs_spool {
	uint64_t magic; /* NVS_SPOOL_MAGIC */
	uint32_t version;
	uint32_t kind; /* enum nvs_spool_kind */
	uint8_t session[16];
	uint32_t pid;
	uint32_t rings; /* made so far */
	uint64_t ring_bytes; /* power of two, multiple of the page size */
	uint64_t ring_offset;
	uint64_t channel_offset;
	uint32_t channels;
	uint32_t ended; /* 1: the writer has ended in order */
	uint64_t heartbeat; /* counts up while the writer lives */
	uint64_t clock_ticks[2]; /* first and latest calibration: ticks, ... */
	uint64_t clock_mono_ns[2];
	uint64_t clock_real_ns[2];
	uint64_t lost_submissions; /* not (yet) told by a GAP record */
	uint64_t lost_bytes;
	uint64_t orphans; /* likewise */
	uint64_t heard; /* ticks when the writer was last at work */
	uint64_t done_offset; /* 0: none */
};

#define NVS_SPOOL_CALLS 16 /* nested deeper, a call is not in the spool */

/* A call of the CUDA API that has not returned. */
struct nvs_spool_call {
	uint64_t begin; /* ticks */
	uint64_t number; /* as in CALL records */
	uint32_t api;
	uint32_t reserved;
};

/*
 * Of the outermost one, when it has been in flight for some tenths of a second: where it was called
 * from and with what, as a thread of the library's found them. It holds while number is that of the
 * call, plus 1, and begin its begin.
 */
#define NVS_SITE_ARGS 8

struct nvs_spool_site {
	uint64_t number; /* of the call, plus 1 */
	uint64_t begin; /* as of the call */
	uint32_t stack; /* NVS_NONE: not known */
	uint32_t nargs; /* the first ones of those that a CALL record has */
	uint32_t absent; /* bit i: args[i] is not known */
	uint32_t reserved;
	uint64_t args[NVS_SITE_ARGS];
};

struct nvs_spool_ring {
	uint32_t ring;
	uint32_t thread; /* number of the thread that owns it now, NVS_NONE: free */
	uint32_t tid; /* its owner, 0: free; claimed and given back by compare-and-swap */
	uint32_t generation; /* owners so far */
	uint64_t head; /* bytes committed since the start */
	uint64_t rung; /* head behind the last record whose doorbell was rung for certain */
	uint64_t reserved0[4];
	uint64_t tail; /* bytes known to be in the trace; own cache line */
	uint64_t reserved1[7];
	uint32_t ncalls; /* calls that the owner is in, the outermost first; own cache line */
	uint32_t reserved2;
	struct nvs_spool_call calls[NVS_SPOOL_CALLS];
	struct nvs_spool_site site;
};

/*
 * What the trap knows of a channel, where a kill leaves it readable. claim: the next sequence
 * number
 * << NVS_PUT_BITS | the last GP_PUT taken over, in one word so that a doorbell claims its entries
 * by one compare-and-swap.
 */
#define NVS_PUT_BITS 24
#define NVS_LOST_CHANGING (1ull << 63) /* in lost: it and its kin were being changed */

struct nvs_spool_channel {
	uint64_t claim;
	uint32_t channel; /* number; NVS_NONE: slot is free */
	uint32_t lost_reason; /* enum nvs_gap_reason */
	uint64_t lost; /* submissions not recorded and not yet told by a GAP record;
			  NVS_LOST_CHANGING */
	uint64_t lost_bytes;
	uint64_t lost_from; /* sequence of the first of them */
	uint32_t lost_put; /* old_put of the first of them */
	uint32_t lost_end; /* new_put of the last of them */
	uint64_t progress_address; /* GPU address of the progress-release slot, 0 not known yet */
	uint64_t extended_base; /* address bits 56:40 of segments, from the last control entry */
};

/* How far the GPU was with a channel at the library's last look, some ten times a second. */
struct nvs_spool_done {
	uint64_t address; /* GPU address of the progress-release slot; 0: nothing is known */
	uint64_t value[2]; /* the 16 bytes in it: payload, and GPU timestamp */
	uint64_t time; /* ticks of the look */
	uint32_t channel; /* number */
	uint32_t get; /* GP_GET, NVS_NONE: not known */
};

/* ---- the same in records, at an end in order ---- */

/* Behind a CALL_BEGIN with NVS_BEGIN_SITED, of a call that is in flight. */
struct nvs_call_begin_site {
	uint32_t stack; /* NVS_NONE: not known */
	uint32_t nargs; /* of the API record's, the first ones */
	uint32_t absent;
	uint32_t reserved;
	uint64_t args[];
};

/* Behind a CHANNEL_GONE with NVS_CHAN_GONE_DONE: what stood in its progress-release slot. */
struct nvs_channel_done {
	uint64_t address; /* of the slot */
	uint64_t value[2]; /* the 16 bytes in it */
};

#pragma GCC diagnostic pop
#ifdef __cplusplus
}
#endif

#endif
