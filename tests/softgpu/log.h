/* SPDX-License-Identifier: MIT */
/*
 * The truth: what the stand-in driver and the software GPU log while a test runs, for logcheck.
 *
 * SOFTGPU_LOG=path names a sparse file which both map shared, so that it outlives a kill. It starts
 * with struct sg_log_head in a page of its own; records follow, each a multiple of 64 bytes. Room
 * is taken by an atomic addition to head; the record's own head (magic, size) is written first,
 * then its payload, then state. After a kill a record may be all zeros (room taken, nothing
 * written: look on every 64 bytes for the next magic) or have state SG_LOG_OPEN (not whole, to be
 * ignored).
 *
 * The driver logs a doorbell before it rings and sets SG_LOG_RUNG in flags when the store has been
 * done: a record without it may or may not have reached the GPU.
 */
#ifndef SOFTGPU_LOG_H
#define SOFTGPU_LOG_H

#include <stdint.h>

#define SG_LOG_FILE_MAGIC 0x31474f4c55504753ull /* "SGPULOG1" */
#define SG_LOG_REC_MAGIC 0x43524753u /* "SGRC" */
#define SG_LOG_FIRST 4096 /* offset of the first record */
#define SG_LOG_LIMIT (12ull << 30) /* size of the sparse file */

enum sg_log_type {
	SG_LOG_CHANNEL = 1, /* GPU: a channel was allocated */
	SG_LOG_CHANNEL_FREE = 2, /* GPU: and freed; same record */
	SG_LOG_DOORBELL = 3, /* driver */
	SG_LOG_FETCH = 4, /* GPU: an entry was consumed */
	SG_LOG_FAULT = 5, /* GPU: an access hit no mapping; struct sg_log_fetch with the address in
			     entry */
};

enum { SG_LOG_OPEN = 0, SG_LOG_WHOLE = 1 };
#define SG_LOG_RUNG (1u << 0)

struct sg_log_head {
	uint64_t magic;
	uint64_t head; /* offset behind the last room taken */
	uint64_t limit;
	uint32_t serial; /* channels so far, over all processes */
	uint32_t lost; /* records that found no room */
};

struct sg_log_rec {
	uint32_t magic;
	uint32_t size;
	uint16_t type; /* enum sg_log_type */
	uint16_t reserved;
	uint32_t flags; /* SG_LOG_RUNG */
	uint32_t state; /* SG_LOG_OPEN, SG_LOG_WHOLE; written last */
	uint32_t pid;
	uint32_t tid;
	uint32_t gpu; /* minor number */
};

/* 64 bytes. */
struct sg_log_channel {
	struct sg_log_rec rec;
	uint32_t serial; /* which channel this is, all through the log */
	uint32_t client, handle;
	uint32_t token;
	uint32_t entries;
	uint32_t get; /* GP_GET at the free */
	uint32_t put; /* GP_PUT in USERD at the free */
	uint32_t reserved;
};

/* Followed by nentries times struct sg_log_entry, then the bytes of all segments in order. */
struct sg_log_doorbell {
	struct sg_log_rec rec;
	uint32_t serial;
	uint32_t token;
	uint32_t old_put, new_put;
	uint32_t nentries;
	uint32_t reserved;
	uint64_t number; /* doorbells of this channel, from 0 */
};

struct sg_log_entry {
	uint64_t entry;
	uint64_t bytes; /* of its segment in this record */
};

/* 64 bytes. */
struct sg_log_fetch {
	struct sg_log_rec rec;
	uint32_t serial;
	uint32_t index; /* of the entry in the ring */
	uint64_t entry;
	uint64_t bytes; /* of the segment fetched */
	uint64_t hash; /* sg_hash() of them */
};

/* FNV-1a over dwords. */
static inline uint64_t sg_hash(const uint32_t *p, uint64_t ndwords)
{
	uint64_t h = 0xcbf29ce484222325ull;

	while (ndwords--)
		h = (h ^ *p++) * 0x100000001b3ull;
	return h;
}

/* ---- the writing side, log.c ---- */

/* Maps SOFTGPU_LOG; NULL when it is not set. Once for each library. */
struct sg_log_head *sg_log_open(void);
/* Room for a record of SIZE bytes with its head filled in; NULL: no log, or full. */
void *sg_log_begin(uint16_t type, uint32_t size, uint32_t gpu);
void sg_log_commit(void *rec);
/* Next channel serial; counts in the log where there is one, else in this process. */
uint32_t sg_log_serial(void);

#endif
