/* SPDX-License-Identifier: MIT */
/*
 * The reference log: written by the stand-in driver and the software GPU during a test, read by
 * logcheck.
 *
 * SOFTGPU_LOG=path names a sparse file that both map shared, so that it survives a kill. It starts
 * with struct sg_log_head in its own page; records follow, each a multiple of 64 bytes. Space is
 * reserved by an atomic addition to head; the record's head (magic, size) is written first, then
 * its payload, then state. After a kill a record may be all zeros (space reserved, nothing written:
 * search every 64 bytes for the next magic) or have state SG_LOG_OPEN (incomplete, ignore it).
 *
 * The driver logs a doorbell before it rings and sets SG_LOG_RUNG in flags after the store: a
 * record without that flag may or may not have reached the GPU.
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
	SG_LOG_CHANNEL_FREE = 2, /* GPU: a channel was freed; same record */
	SG_LOG_DOORBELL = 3, /* driver */
	SG_LOG_FETCH = 4, /* GPU: an entry was consumed */
	SG_LOG_FAULT = 5, /* GPU: an access hit no mapping; struct sg_log_fetch with the address in
			     entry */
};

enum { SG_LOG_OPEN = 0, SG_LOG_WHOLE = 1 };
#define SG_LOG_RUNG (1u << 0)

struct sg_log_head {
	uint64_t magic;
	uint64_t head; /* offset of the next free space */
	uint64_t limit;
	uint32_t serial; /* number of channels so far, over all processes */
	uint32_t lost; /* records dropped because the file was full */
};

struct sg_log_rec {
	uint32_t magic;
	uint32_t size;
	uint16_t type; /* enum sg_log_type */
	uint16_t reserved;
	uint32_t flags; /* SG_LOG_RUNG */
	uint32_t state; /* SG_LOG_OPEN or SG_LOG_WHOLE; written last */
	uint32_t pid;
	uint32_t tid;
	uint32_t gpu; /* minor number */
};

/* 64 bytes. */
struct sg_log_channel {
	struct sg_log_rec rec;
	uint32_t serial; /* identifies the channel in the whole log */
	uint32_t client, handle;
	uint32_t token;
	uint32_t entries;
	uint32_t get; /* GP_GET when it was freed */
	uint32_t put; /* GP_PUT in USERD when it was freed */
	uint32_t reserved;
};

/* Followed by nentries struct sg_log_entry, then the bytes of all segments in order. */
struct sg_log_doorbell {
	struct sg_log_rec rec;
	uint32_t serial;
	uint32_t token;
	uint32_t old_put, new_put;
	uint32_t nentries;
	uint32_t reserved;
	uint64_t number; /* number of this doorbell in its channel, from 0 */
};

struct sg_log_entry {
	uint64_t entry;
	uint64_t bytes; /* bytes of its segment in this record */
};

/* 64 bytes. */
struct sg_log_fetch {
	struct sg_log_rec rec;
	uint32_t serial;
	uint32_t index; /* of the entry in the ring */
	uint64_t entry;
	uint64_t bytes; /* of the segment fetched */
	uint64_t hash; /* sg_hash() of the bytes */
};

/* FNV-1a over dwords. */
static inline uint64_t sg_hash(const uint32_t *p, uint64_t ndwords)
{
	uint64_t h = 0xcbf29ce484222325ull;

	while (ndwords--)
		h = (h ^ *p++) * 0x100000001b3ull;
	return h;
}

/* ---- writing, log.c ---- */

/* Maps SOFTGPU_LOG, once per library. Returns NULL if it is not set. */
struct sg_log_head *sg_log_open(void);
/* Reserves a record of SIZE bytes and fills its head. Returns NULL without a log or if it is full.
 *  */
void *sg_log_begin(uint16_t type, uint32_t size, uint32_t gpu);
void sg_log_commit(void *rec);
/* Next channel serial, counted in the log if there is one, else in this process. */
uint32_t sg_log_serial(void);

#endif
