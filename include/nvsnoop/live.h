/* SPDX-License-Identifier: MIT */
/*
 * The live page: counters of a recorded process up to now, in a shared file that any program of the
 * same user (and root) may map and read at any time. The library writes it, with or without a trace
 * (NVSNOOP_OUT=none). Uses enums and numbers of nvsnoop/trace.h.
 */
#ifndef NVSNOOP_LIVE_H
#define NVSNOOP_LIVE_H

#include <stdint.h>

/*
 * LOCATION. nvsnoop.PID.live, or, if that name is taken, nvsnoop.PID.N.live (N 1 to 99), in the
 * first of these folders that the user owns and no other user may write (mode & 022 is 0), not
 * through a symbolic link:
 *
 *   1. $XDG_RUNTIME_DIR, if it begins with '/'
 *   2. /run/nvsnoop/UID, which the library creates with mode 0700 if /run/nvsnoop exists
 *   3. /run/user/UID
 *   4. /tmp/nvsnoop-UID, which the library creates with mode 0700
 *
 * UID is the effective user id, in decimal. A reader looks into all of them, since the program may
 * have another environment. Root also looks into /run/nvsnoop/N, /run/user/N and /tmp/nvsnoop-N of
 * every user N, and accepts from each only files owned by N. /run/nvsnoop is for containers that
 * share it: a directory of the host with mode 1777 (docs/cluster.md).
 *
 * TRUST. Readers open with O_NOFOLLOW | O_NONBLOCK and accept only a plain file of mode 0600 that
 * belongs to the folder's owner. The program can change its contents: every offset and number is
 * checked against the size that fstat() returned, and text is escaped. The file never shrinks while
 * its process lives, but a hostile process may truncate it: a reader that must not die of SIGBUS
 * reads it with pread().
 *
 * LIFETIME. A page is alive while /proc/PID exists, the process' start time (field 22 of
 * /proc/PID/stat) is start_time, and /proc/sys/kernel/random/boot_id is boot. pid_namespace is the
 * inode of /proc/PID/ns/pid: for a namespace other than its own a reader cannot check these, and
 * relies on heard. When the process exits, the page gets the state ENDED and is unlinked (a reader
 * that has it open reads the final totals). A killed process leaves it: a reader that finds it dead
 * may unlink it; one of another PID namespace, if it was not heard for NVS_LIVE_ABANDONED_NS. A
 * fork has no page until it uses a GPU itself. A program that executes another one leaves its page
 * in the state EXECUTING, which counts as dead once heard is older than 2 s.
 *
 * READING. Numbers are little-endian; nothing is locked. A number of 8 bytes is read by one aligned
 * load and is consistent; adjacent numbers may be of slightly different times. Fields marked
 * "counter" never decrease; others may.
 *
 *   - head.magic is written last: without it the page is not ready. version: refuse an unknown one.
 *   - A table is head.tables[which]: ROWS of ROW_BYTES each at OFFSET, of which the first USED are
 *     valid (read USED with acquire). Later versions may append fields to rows: step by row_bytes,
 *     refuse one that is smaller than the structure. Row 0 of APIS, KERNELS, SITES and RESULTS
 *     collects everything for which the table had no free row ("other"): it is always valid, its
 *     name is 0.
 *   - A string is its offset in the STRINGS table, terminated by a NUL, never changed; 0: none.
 *   - Slots: each belongs to one thread at a time, its only writer. It is not reset when the thread
 *     ends: the next thread continues its counters, and the sum over all slots is that of the
 *     process. Submissions of threads without a slot are counted in slots without an owner, or in
 *     slot 0, ten times a second by the library's own thread; their calls are not counted. Within a
 *     slot, USED rows of struct nvs_live_api_count are at slot_apis (one for each row of APIS), and
 *     those of struct nvs_live_kernel_count at slot_kernels (one for each row of KERNELS).
 *   - The fields tid to ranges belong to the slot's thread. They are valid if generation is odd and
 *     the same before and after reading, and tid is not 0.
 *   - To read a call in flight, read number, begin, api, number again: it is valid if both numbers
 *     are the same and ncalls, read last, is greater than its index.
 *
 * Unused memory is zero and takes no space: the file is sparse.
 *
 * UNITS. Bytes, nanoseconds, and ticks of the session's clock where stated:
 *
 *   ns of CLOCK_MONOTONIC = clock.mono_ns + (ticks - clock.ticks) * clock.mult / 2^32
 *
 * signed and in 128 bits; clock.sequence must be even and the same before and after reading. mult
 * is 2^32 if ticks are ns.
 */
#ifdef __cplusplus
extern "C" {
#endif

#define NVS_LIVE_MAGIC 0x314556494c53564eull /* "NVSLIVE1" */
#define NVS_LIVE_VERSION 1
#define NVS_LIVE_SUFFIX ".live"
#define NVS_LIVE_NAMES 100 /* nvsnoop.PID.live, nvsnoop.PID.1.live, ... */
#define NVS_LIVE_SHARED "/run/nvsnoop"
#define NVS_LIVE_ABANDONED_NS (24 * 3600 * 1000000000ull)
#define NVS_LIVE_UNKNOWN UINT64_MAX /* an unknown number, in fields that allow it */

enum nvs_live_state {
	NVS_LIVE_RUNNING = 1,
	/* the process is about to execute another program, or already runs it */
	NVS_LIVE_EXECUTING = 2,
	NVS_LIVE_ENDED = 3, /* exited normally; the totals are final */
};

/* nvs_live.flags */
#define NVS_LIVE_TRACED (1u << 0) /* a trace is written too, to the path `trace` */
#define NVS_LIVE_API (1u << 1) /* calls are observed; else only doorbells are counted */
#define NVS_LIVE_SITES (1u << 2) /* memory has call sites */
#define NVS_LIVE_TIMED (1u << 3) /* GPU times are sampled (timing=sample) */
#define NVS_LIVE_RECORDS (1u << 4) /* a trace can be requested: nvsnoop/request.h */

/* What a cluster calls the process. */
enum nvs_live_workload {
	NVS_LIVE_POD,
	NVS_LIVE_POD_NAMESPACE,
	NVS_LIVE_POD_UID,
	NVS_LIVE_CONTAINER,
	NVS_LIVE_CONTAINER_ID, /* 64 hexadecimal digits */
	NVS_LIVE_NODE,
	NVS_LIVE_SLURM_JOB,
	NVS_LIVE_WORKLOADS = 8 /* space for as many */
};

enum nvs_live_table_number {
	NVS_LIVE_SLOTS,
	NVS_LIVE_STRINGS, /* rows of one byte; used counts bytes */
	NVS_LIVE_APIS,
	NVS_LIVE_RESULTS,
	NVS_LIVE_KERNELS,
	NVS_LIVE_GPUS,
	NVS_LIVE_MEMORY, /* row GPU * NVS_LIVE_KINDS + kind; GPU 0: none, or unknown */
	NVS_LIVE_SITE_ROWS,
	NVS_LIVE_ALLOCS,
	NVS_LIVE_CHANNELS,
	NVS_LIVE_FAULTS, /* has no rows in pages of earlier versions */
	NVS_LIVE_GPU_TIMES, /* a row for each of KERNELS; no rows without NVS_LIVE_TIMED */
	NVS_LIVE_GPU_WORK, /* row GPU * NVS_LIVE_ENGINES + engine; likewise */
	NVS_LIVE_TABLES = 16 /* space for as many */
};

struct nvs_live_table {
	uint64_t offset; /* offset in the file, multiple of 64 */
	uint32_t rows; /* maximum number of rows */
	uint32_t row_bytes;
	uint32_t used; /* counter */
	uint32_t reserved;
};

/* Written by the library's own thread, ten times a second. */
struct nvs_live_clock {
	uint64_t sequence; /* odd: being changed */
	uint64_t ticks, mono_ns, real_ns; /* of the same time; real_ns since 1970 */
	uint64_t mult; /* ns = ticks * mult / 2^32 */
};

/* At offset 0. Written once, before magic, except where stated otherwise. */
struct nvs_live {
	uint64_t magic; /* NVS_LIVE_MAGIC */
	uint32_t version; /* NVS_LIVE_VERSION */
	uint32_t head_bytes; /* sizeof(struct nvs_live) of the writer */
	uint64_t bytes; /* size of the file */
	uint32_t pid;
	uint32_t uid;
	uint64_t start_time; /* field 22 of /proc/PID/stat */
	uint64_t pid_namespace;
	uint8_t boot[16]; /* boot_id, pairs of its hexadecimal digits */
	uint8_t session[16]; /* as in the trace and its spool */
	uint32_t state; /* enum nvs_live_state; changes */
	uint32_t flags; /* NVS_LIVE_* */
	/* counter: iterations of the library's own thread, about ten a second */
	uint64_t heartbeat;
	uint64_t heard; /* CLOCK_MONOTONIC of the last iteration, ns */
	struct nvs_live_clock clock; /* changes */
	uint64_t begun; /* real time at the start of the session, ns */
	uint64_t failed_rows; /* counter: events for which a table had no free row */
	uint64_t slot_apis, slot_kernels; /* offsets in a slot */
	uint32_t slot_api_bytes, slot_kernel_bytes; /* of their rows */
	char program[64]; /* short name; texts are terminated by a NUL and truncated */
	char host[64];
	char launcher[32]; /* "" if no launcher of several processes is known */
	char rank[16], size[16], local_rank[16];
	char job[64];
	char driver[64]; /* version; changes once from "" */
	uint32_t exe, trace; /* strings: paths, 0: unknown, or no trace */
	struct nvs_live_table tables[NVS_LIVE_TABLES]; /* by enum nvs_live_table_number */
	uint32_t workload[NVS_LIVE_WORKLOADS]; /* strings, by enum nvs_live_workload; 0: unknown */
	uint64_t reserved[27];
	uint64_t requests; /* incremented by others, see nvsnoop/request.h */
};

/* ---- counters of a slot ---- */

/* Counts of doorbells, in the order of the library's enum nvs_counter. The total number of
 * submissions is SUBMISSIONS + SKIPPED + LOST_SUBMISSIONS; entries and bytes likewise. */
enum nvs_live_count {
	NVS_LIVE_SUBMISSIONS, /* recorded in the trace */
	NVS_LIVE_ENTRIES, /* GPFIFO entries of those */
	NVS_LIVE_SEGMENTS,
	NVS_LIVE_BYTES, /* bytes of commands of those */
	NVS_LIVE_FAST, /* that came by a jump, not a fault */
	NVS_LIVE_GAP_RECORDS,
	NVS_LIVE_LOST_SUBMISSIONS, /* to be recorded in the trace, but lost */
	NVS_LIVE_LOST_BYTES,
	NVS_LIVE_ORPHANS, /* doorbells of no known channel */
	NVS_LIVE_WAITS, /* a full buffer made a doorbell wait for the writer */
	NVS_LIVE_WAIT_NS,
	NVS_LIVE_STEPPED,
	NVS_LIVE_FOREIGN, /* faults of the program itself */
	NVS_LIVE_SKIPPED, /* submissions that were only counted: all of them without a trace */
	NVS_LIVE_SKIPPED_BYTES,
	NVS_LIVE_SKIPPED_ENTRIES,
	NVS_LIVE_LOST_ENTRIES,
	NVS_LIVE_DOORBELLS, /* stores to a doorbell; each may carry none or several submissions */
	NVS_LIVE_COUNTS = 24 /* space for as many */
};

#define NVS_LIVE_GAPS 16 /* by enum nvs_gap_reason: lost submissions or segments; not CHOICE */

/* By the location of the data: H host, D device (including arrays). */
enum nvs_live_direction {
	NVS_LIVE_H2D,
	NVS_LIVE_D2H,
	NVS_LIVE_D2D,
	NVS_LIVE_H2H,
	NVS_LIVE_P2P, /* between devices, by cuMemcpyPeer and variants */
	NVS_LIVE_ANY, /* unknown: a batch, or memory of a kind that the driver does not report */
	NVS_LIVE_DIRECTIONS = 8
};

enum nvs_live_mode { NVS_LIVE_SYNC, NVS_LIVE_ASYNC, NVS_LIVE_MODES };

/* Copies by calls that succeeded and were not captured; copies of graphs are not included. */
struct nvs_live_copy {
	uint64_t calls, bytes;
	uint64_t ns; /* duration of the calls on the host */
};

/*
 * Why a call that only hands work over (launches, copies, memsets) took 0.1 ms or more and ten
 * times the median of its thread's calls of that API, or copied synchronously. Each call counts
 * once, under the first of these that applies, from RING on.
 */
enum nvs_live_stall {
	NVS_LIVE_STALL_UNKNOWN, /* a full pushbuffer, other threads inside the driver ... */
	NVS_LIVE_STALL_RING, /* the channel's GPFIFO was full */
	/* its kernel was launched for the first time: code is uploaded then */
	NVS_LIVE_STALL_MODULE,
	NVS_LIVE_STALL_MEMORY, /* it allocated or mapped objects of the resource manager */
	NVS_LIVE_STALL_COPY, /* it copies synchronously */
	NVS_LIVE_STALLS = 7 /* space for as many */
};

struct nvs_live_stalled {
	uint64_t calls;
	uint64_t ns; /* total duration */
};

#define NVS_LIVE_SIZES 20
#define NVS_LIVE_BUCKETS 31
#define NVS_LIVE_BUCKET_SHIFT 6
/* Completed calls by duration: bucket i counts those of less than 2^(i + SHIFT) ns that are in no
 * earlier bucket, the last one the rest. The number of calls is the sum of the buckets. */
struct nvs_live_api_count {
	uint64_t ns;
	uint64_t buckets[NVS_LIVE_BUCKETS];
};

struct nvs_live_kernel_count {
	uint64_t direct; /* launches by a call that succeeded, not captured */
	/* launches by graphs: nodes of the launched graphs, except those of conditional bodies,
	 * whose number only the GPU knows */
	uint64_t graph;
};

#define NVS_LIVE_CALLS 8 /* a call nested deeper is not shown */

struct nvs_live_call {
	uint64_t begin; /* ticks */
	uint64_t number; /* of the thread, as in CALL records; changes with every call */
	uint32_t api; /* row of APIS */
	uint32_t reserved;
};

#define NVS_LIVE_RANGES 8

/* The outermost of the pushed NVTX ranges (not started ones); the name is truncated. */
struct nvs_live_range {
	uint64_t begin; /* ticks */
	char name[56];
};

struct nvs_live_slot {
	uint32_t generation; /* incremented when an owner begins and when it ends; odd: there is one
			      */
	uint32_t tid; /* in the PID namespace of the process */
	uint32_t thread; /* its number in the trace */
	uint32_t ncalls; /* calls in flight, outermost first; may exceed NVS_LIVE_CALLS */
	char name[16];
	struct nvs_live_call calls[NVS_LIVE_CALLS];
	uint32_t nranges; /* open ranges; may exceed NVS_LIVE_RANGES */
	uint32_t ranges_sequence; /* odd: being changed */
	struct nvs_live_range ranges[NVS_LIVE_RANGES];
	uint64_t reserved[3];
	/* Counters from here on. In their own cache line. */
	uint64_t counts[NVS_LIVE_COUNTS]; /* by enum nvs_live_count */
	uint64_t gaps[NVS_LIVE_GAPS];
	struct nvs_live_copy copies[NVS_LIVE_DIRECTIONS][NVS_LIVE_MODES];
	uint64_t launches; /* kernel launches by calls: the sum of direct over KERNELS */
	uint64_t graph_launches;
	uint64_t graph_kernels; /* the sum of graph over KERNELS */
	uint64_t graph_copies; /* copy nodes of the launched graphs, and their bytes */
	uint64_t graph_copy_bytes;
	uint64_t graph_sets; /* memset nodes */
	uint64_t graphs_unknown; /* launches of graphs with unknown nodes */
	uint64_t left; /* calls that ended without a result: by a jump or an exception */
	uint64_t captured; /* calls that became part of a graph */
	struct nvs_live_stalled stalls[NVS_LIVE_STALLS];
	uint64_t sets, set_bytes; /* memsets by calls that succeeded and were not captured */
	/* Copies as in copies[], by size: bucket i counts those of at most 4^i bytes that are in no
	 * earlier bucket, the last one the rest. */
	uint64_t copy_sizes[NVS_LIVE_DIRECTIONS][NVS_LIVE_SIZES];
	uint64_t reserved_counts[15];
};

/* ---- rows ---- */

struct nvs_live_api {
	uint32_t name; /* "cuLaunchKernel" */
	uint32_t group; /* "launch" */
};

/* How often a call returned a result other than CUDA_SUCCESS; incremented atomically. */
struct nvs_live_result {
	uint32_t api; /* row of APIS */
	uint32_t result; /* CUresult; row 0: any */
	uint64_t count; /* counter */
};

/* Functions with the same name share one row, even in different modules. */
struct nvs_live_kernel {
	uint32_t name; /* mangled; 0 except in the first row: the driver did not report it */
	uint32_t registers; /* per thread */
	uint64_t function; /* the handle it was first seen with */
	uint32_t shared, local; /* bytes */
	uint32_t max_threads; /* per block; 0: this and the three above are unknown */
	uint32_t reserved;
};

struct nvs_live_gpu {
	uint8_t uuid[16];
	uint32_t instance; /* instance in the resource manager, the GPU of the trace's records */
	uint32_t ordinal; /* CUdevice in this process, NVS_NONE: unknown; changes */
	char name[64];
};

/* The same kinds as in nvsnoop-report --memory. */
enum nvs_live_kind {
	NVS_LIVE_DEVICE,
	NVS_LIVE_ASYNC_POOL, /* cuMemAllocAsync */
	NVS_LIVE_GRAPH, /* by a graph's node, at each launch; not in conditional bodies */
	NVS_LIVE_PHYSICAL, /* cuMemCreate */
	NVS_LIVE_ARRAY,
	NVS_LIVE_MANAGED,
	NVS_LIVE_HOST,
	NVS_LIVE_REGISTERED,
	NVS_LIVE_RESERVED, /* addresses only */
	NVS_LIVE_IMPORTED, /* from another process; its size is unknown: 0 */
	NVS_LIVE_EXTERNAL, /* from another API */
	NVS_LIVE_KINDS = 16
};

/* All updated atomically. Bytes are those requested; for pitched rows, including the pitch. */
struct nvs_live_memory {
	uint64_t live, live_count; /* not freed; never more than was allocated */
	uint64_t peak;
	uint64_t allocs, bytes; /* counters: successful allocations, and their bytes */
	uint64_t frees; /* counter */
	uint64_t failed_allocs,
		/* counters; a free of an unknown address counts for GPU 0 and the kind of the
		 * call: DEVICE for cuMemFree */
		failed_frees;
	uint64_t ended; /* counter: freed with their context */
	/* counters: allocations without a row in ALLOCS, not included in live and live_count */
	uint64_t untracked, untracked_bytes;
	uint64_t freed; /* counter: bytes freed, by calls or with their context */
	uint64_t reserved[4];
};

#define NVS_LIVE_FRAMES 8

/* A place that allocates memory. Counters as above. */
struct nvs_live_site {
	uint32_t name; /* "libtorch_cuda.so+0x1234", or a symbol; 0: not known yet; changes once */
	uint32_t api; /* row of APIS */
	uint32_t stack; /* number of the STACK record in the trace */
	uint32_t nframes;
	uint64_t live, live_count, peak, allocs, bytes;
	uint64_t frames[NVS_LIVE_FRAMES]; /* return addresses in the process, innermost first */
};

/* A live allocation. Rows are reused. */
struct nvs_live_alloc {
	/* or a handle; 0: the row is free. Must be the same when read first and last */
	uint64_t address;
	uint64_t bytes;
	uint64_t time; /* ticks when the call returned */
	uint16_t kind, gpu; /* enum nvs_live_kind; row of GPUS + 1, 0: none */
	uint32_t tid;
	uint32_t site; /* row of SITE_ROWS */
	uint32_t reserved;
	uint64_t serial; /* number of the allocation, from 1 */
};

/* nvs_live_channel.flags */
#define NVS_LIVE_CHANNEL_ALIVE (1u << 0)
#define NVS_LIVE_CHANNEL_BOUND (1u << 1) /* its GPFIFO is known */

/*
 * Written by the library's own thread, ten times a second. All fields of a row are of the same time
 * (CLOCK.ticks), except completed and completed_of, which may be older, and the time of a
 * submission, which is up to a tenth of a second late. The row of a freed channel is reused when
 * there is no other one.
 */
struct nvs_live_channel {
	uint64_t sequence; /* odd: being changed. Read it before and after */
	uint32_t channel; /* number of its CHANNEL record; NVS_NONE: free */
	uint32_t flags;
	uint32_t gpu; /* row of GPUS + 1; 0: unknown */
	uint32_t object_class, engine, token;
	uint32_t entries; /* entries in the GPFIFO, 0: unknown */
	uint32_t put, get; /* GP_PUT and GP_GET in USERD; get NVS_NONE: unknown */
	uint32_t used; /* entries that the GPU has not taken, NVS_NONE: unknown */
	uint64_t submitted; /* counter: submissions, recorded or not */
	/* Completed submissions, by its release slot; NVS_LIVE_UNKNOWN: unknown. The slot shows
	 * that the channel has passed them: the last launched grid may still run, its end has its
	 * own semaphore. */
	uint64_t completed;
	/* payload of the last submission's release, and the current one in the slot;
	 * NVS_LIVE_UNKNOWN: unknown */
	uint64_t wanted, released;
	uint64_t release_address; /* GPU address of the slot, 0: unknown */
	uint64_t submitted_at; /* ticks when the last submission was seen; 0: none yet */
	uint64_t completed_at; /* ticks when completed last changed; 0: never */
	/* The number of submissions when completed was read: the two are of the same time, and
	 * their difference is pending. submitted is later if the program submits too fast for both.
	 * NVS_LIVE_UNKNOWN: the last submission has no known release */
	uint64_t completed_of;
	uint64_t reserved[3];
};

/* Faults of the GPU with one number; written under a lock of the library. */
struct nvs_live_fault {
	uint32_t number; /* as in FAULT records */
	uint32_t channel; /* the first channel of the latest one */
	uint64_t count; /* counter: channel groups that it ended */
	uint64_t time; /* ticks when the latest was seen */
	uint64_t reserved[2];
};

enum nvs_live_engine { NVS_LIVE_COMPUTE_ENGINE, NVS_LIVE_COPY_ENGINE, NVS_LIVE_ENGINES };

/*
 * GPU time of submissions that were drawn at random, each of which stands for EVERY ones (w): the
 * sums from which decode/query/estimate.c computes mean and error. In GPU_TIMES that of submissions
 * that launch this kernel and no other; row 0 has all other work of compute channels. In GPU_WORK
 * all work of a GPU's channels; what runs at the same time counts for each channel. Submissions
 * whose begin or end is unknown are missing: launches of graphs, and what waited for another
 * channel. Written by the library's threads, one at a time.
 */
struct nvs_live_gpu_time {
	uint64_t timed; /* counter: submissions drawn and timed */
	uint64_t weight; /* counter: sum of w */
	uint64_t ns; /* counter: sum of w * ns, the estimate of the total */
	double squares; /* sum of w * ns^2 */
	double rest, rest_sum, rest_squares; /* sums of w * (w - 1) * ns^0, ^1 and ^2 */
	uint64_t reserved;
};

#ifdef __cplusplus
}
#endif

#endif
