/* SPDX-License-Identifier: MIT */
/*
 * The live page: what a process that is recorded has done up to now, in a shared file of its own
 * that any program of the same user (and root) may map and read at any time. The library writes it,
 * whether it writes a trace or not (NVSNOOP_OUT=none). Comes with nvsnoop/trace.h, whose enums and
 * numbers it uses.
 *
 * WHERE. nvsnoop.PID.live, and where that name is taken nvsnoop.PID.N.live (N 1 to 9), in the first
 * of these folders that the user owns and nobody else may write (mode & 022 is 0), not through a
 * symbolic link:
 *   1. $XDG_RUNTIME_DIR, where it begins with '/'
 *   2. /run/user/UID
 *   3. /tmp/nvsnoop-UID, which the library makes with mode 0700
 * UID is the effective one, in decimal. A reader looks into all three, since the program may have
 * had another environment than it has; root looks into /run/user/N and /tmp/nvsnoop-N of every user
 * N as well, and takes from each only what that N owns.
 *
 * WHOSE. Readers open with O_NOFOLLOW | O_NONBLOCK and believe only a plain file of mode 0600 of
 * the folder's owner. What stands in it is the program's to change: every offset and number is
 * checked against the size that fstat() gave, and text is escaped. It never shrinks while its
 * process lives but a hostile one may: a reader that must not die of SIGBUS reads it with pread().
 *
 * WHICH PROCESS. A page is alive while /proc/PID exists, the process' start time (field 22 of
 * /proc/PID/stat) is start_time, and /proc/sys/kernel/random/boot_id is boot. pid_namespace is the
 * inode of /proc/PID/ns/pid: of another one than its own a reader cannot tell, and goes by heard.
 * At the end of the process the page is given the state ENDED and its name goes (who has it open
 * reads the last totals). A killed process leaves it: a reader that finds it dead may unlink it. A
 * fork has no page until it uses a GPU itself; a program that executes another one leaves its page
 * in the state EXECUTING, which is as good as dead once heard is older than 2 s.
 *
 * HOW TO READ. Numbers are in the machine's order, little-endian; nothing is locked. A number of 8
 * bytes is read by one aligned load and is whole; numbers side by side may be of slightly different
 * moments. What is called a counter below never goes back. The rest may.
 *   - head.magic last written: without it the page is not ready. version: another one is refused.
 *   - A table is head.tables[which]: ROWS of ROW_BYTES each at OFFSET, of which the first USED are
 *     valid (read USED with acquire). Rows get longer in later versions, at their ends: step by
 *     row_bytes, refuse one that is smaller than the structure. Row 0 of APIS, KERNELS, SITES and
 *     RESULTS is what found no room of its own ("other"): always valid, its name is 0.
 *   - A string is its offset in the STRINGS table, ended by a NUL, never changed; 0: none.
 *   - Slots: each belongs to one thread at a time, its only writer, and counts on where the thread
 *     before it has ended: the sum over all slots is the process'. What threads without a slot have
 *     submitted is counted in slots that belong to nobody, or in slot 0, ten times a second by our
 *     own thread; their calls are not counted. Within a slot stand, at slot_apis, USED rows of
 * struct nvs_live_api_count (one for each row of APIS), and at slot_kernels those of struct
 *     nvs_live_kernel_count (for each row of KERNELS).
 *   - What belongs to the slot's thread alone (tid to nvtx) is of it while generation is odd and
 * the same before and after the reading, and tid is not 0.
 *   - A call in flight is read so: number, begin, api, number again; it is one if both numbers are
 *     the same and ncalls, read last, is greater than its index.
 * Memory that is not used yet is zero, and takes no room: the file is sparse.
 *
 * UNITS. Bytes, nanoseconds, and ticks of the session's clock where it says so:
 * ns of CLOCK_MONOTONIC = clock.mono_ns + (ticks - clock.ticks) * clock.mult / 2^32, signed and in
 * 128 bits; read clock.sequence before and after: the same, and even. mult is 2^32 where ticks are
 * ns.
 */
#ifndef NVSNOOP_LIVE_H
#define NVSNOOP_LIVE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NVS_LIVE_MAGIC 0x314556494c53564eull /* "NVSLIVE1" */
#define NVS_LIVE_VERSION 1
#define NVS_LIVE_SUFFIX ".live"
#define NVS_LIVE_NAMES 10 /* nvsnoop.PID.live, nvsnoop.PID.1.live, ... */
#define NVS_LIVE_UNKNOWN UINT64_MAX /* of a number that says so */

enum nvs_live_state {
	NVS_LIVE_RUNNING = 1,
	NVS_LIVE_EXECUTING = 2, /* another program is about to run in this process, or does */
	NVS_LIVE_ENDED = 3, /* in order; the totals are the last */
};

/* nvs_live.flags */
#define NVS_LIVE_TRACED (1u << 0) /* a trace is written too: its path is trace */
#define NVS_LIVE_API (1u << 1) /* calls are observed; else only what doorbells show is counted */
#define NVS_LIVE_SITES (1u << 2) /* memory has call sites */

enum nvs_live_table_number {
	NVS_LIVE_SLOTS,
	NVS_LIVE_STRINGS, /* rows of one byte; used counts bytes */
	NVS_LIVE_APIS,
	NVS_LIVE_RESULTS,
	NVS_LIVE_KERNELS,
	NVS_LIVE_GPUS,
	NVS_LIVE_MEMORY, /* row GPU * NVS_LIVE_KINDS + kind; GPU 0: of none, or not known */
	NVS_LIVE_SITE_ROWS,
	NVS_LIVE_ALLOCS,
	NVS_LIVE_CHANNELS,
	NVS_LIVE_TABLES = 16 /* room for as many */
};

struct nvs_live_table {
	uint64_t offset; /* in the file, multiple of 64 */
	uint32_t rows; /* at most */
	uint32_t row_bytes;
	uint32_t used; /* counter */
	uint32_t reserved;
};

/* By our own thread, ten times a second. */
struct nvs_live_clock {
	uint64_t sequence; /* odd: being changed */
	uint64_t ticks, mono_ns, real_ns; /* of one moment; real_ns since 1970 */
	uint64_t mult; /* ns = ticks * mult / 2^32 */
};

/* At offset 0. Written once before magic, but for what says otherwise. */
struct nvs_live {
	uint64_t magic; /* NVS_LIVE_MAGIC */
	uint32_t version; /* NVS_LIVE_VERSION */
	uint32_t head_bytes; /* sizeof(struct nvs_live) of the writer */
	uint64_t bytes; /* of the file */
	uint32_t pid;
	uint32_t uid;
	uint64_t start_time; /* field 22 of /proc/PID/stat */
	uint64_t pid_namespace;
	uint8_t boot[16]; /* boot_id, the digits of its text two by two */
	uint8_t session[16]; /* as in the trace and its spool */
	uint32_t state; /* enum nvs_live_state; changes */
	uint32_t flags; /* NVS_LIVE_* */
	uint64_t heartbeat; /* counter: rounds of our own thread, about ten a second */
	uint64_t heard; /* CLOCK_MONOTONIC of the last round, ns */
	struct nvs_live_clock clock; /* changes */
	uint64_t begun; /* real time at the start of the session, ns */
	uint64_t failed_rows; /* counter: what found no room in a table */
	uint64_t slot_apis, slot_kernels; /* offsets in a slot */
	uint32_t slot_api_bytes, slot_kernel_bytes; /* of their rows */
	char program[64]; /* short name; texts end with a NUL and are cut */
	char host[64];
	char launcher[32]; /* "" where no launcher of several processes is known */
	char rank[16], size[16], local_rank[16];
	char job[64];
	char driver[64]; /* version; changes once from "" */
	uint32_t exe, trace; /* strings: paths, 0 not known, or no trace */
	struct nvs_live_table tables[NVS_LIVE_TABLES]; /* by enum nvs_live_table_number */
	uint64_t reserved[32];
};

/* ---- what a slot counts ---- */

/*
 * From doorbells, in the order of enum nvs_counter of the library. Submissions that were made are
 * SUBMISSIONS + SKIPPED + LOST_SUBMISSIONS, and so their entries and bytes.
 */
enum nvs_live_count {
	NVS_LIVE_SUBMISSIONS, /* recorded in the trace */
	NVS_LIVE_ENTRIES, /* of the GPFIFO: of those */
	NVS_LIVE_SEGMENTS,
	NVS_LIVE_BYTES, /* of commands: of those */
	NVS_LIVE_FAST, /* reached by a jump, not a fault */
	NVS_LIVE_GAP_RECORDS,
	NVS_LIVE_LOST_SUBMISSIONS, /* wanted in the trace and not recorded */
	NVS_LIVE_LOST_BYTES,
	NVS_LIVE_ORPHANS, /* doorbells of no known channel */
	NVS_LIVE_WAITS, /* a full buffer made a doorbell wait for the writer */
	NVS_LIVE_WAIT_NS,
	NVS_LIVE_STEPPED,
	NVS_LIVE_FOREIGN, /* faults of the program's */
	NVS_LIVE_SKIPPED, /* submissions only counted: all of them without a trace */
	NVS_LIVE_SKIPPED_BYTES,
	NVS_LIVE_SKIPPED_ENTRIES,
	NVS_LIVE_LOST_ENTRIES,
	NVS_LIVE_DOORBELLS, /* stores to a doorbell; one may carry no or several submissions */
	NVS_LIVE_COUNTS = 24 /* room for as many */
};

#define NVS_LIVE_GAPS 16 /* by enum nvs_gap_reason: submissions or segments lost; not CHOICE */

/* By where the data is: H host, D device (arrays too). */
enum nvs_live_direction {
	NVS_LIVE_H2D,
	NVS_LIVE_D2H,
	NVS_LIVE_D2D,
	NVS_LIVE_H2H,
	NVS_LIVE_P2P, /* between devices, by cuMemcpyPeer and its kin */
	NVS_LIVE_ANY, /* not known: a batch, or what the driver knows no kind of */
	NVS_LIVE_DIRECTIONS = 8
};

enum nvs_live_mode { NVS_LIVE_SYNC, NVS_LIVE_ASYNC, NVS_LIVE_MODES };

/* Copies by calls that succeeded and were not captured; graphs' copies are not in it. */
struct nvs_live_copy {
	uint64_t calls, bytes;
	uint64_t ns; /* the calls took, on the host */
};

/*
 * Why a call that only hands work over (launches, copies, memsets) took 0.1 ms or more and ten
 * times what half of its thread's calls of that API take, or copied synchronously: each counts
 * once, under the first of these that is seen, from RING on.
 */
enum nvs_live_stall {
	NVS_LIVE_STALL_UNKNOWN, /* a full pushbuffer, other threads inside the driver ... */
	NVS_LIVE_STALL_RING, /* the channel's ring was full */
	NVS_LIVE_STALL_MODULE, /* its kernel was launched for the first time: code goes up then */
	NVS_LIVE_STALL_MEMORY, /* it made or mapped objects of the resource manager */
	NVS_LIVE_STALL_COPY, /* it copies synchronously */
	NVS_LIVE_STALLS = 7 /* room for as many */
};

struct nvs_live_stalled {
	uint64_t calls;
	uint64_t ns; /* they took */
};

#define NVS_LIVE_SIZES 20
#define NVS_LIVE_BUCKETS 31
#define NVS_LIVE_BUCKET_SHIFT 6
/*
 * Calls that are over, by how long they took: bucket i holds those of less than 2^(i + SHIFT) ns
 * that no bucket before it holds, the last one the rest. Calls: the sum of the buckets.
 */
struct nvs_live_api_count {
	uint64_t ns;
	uint64_t buckets[NVS_LIVE_BUCKETS];
};

struct nvs_live_kernel_count {
	uint64_t direct; /* launches by a call that succeeded, not captured */
	/* ... by graphs: nodes of the graphs launched; not those of conditional bodies, whose
	 * number only the GPU knows */
	uint64_t graph;
};

#define NVS_LIVE_CALLS 8 /* nested deeper, a call is not shown */

struct nvs_live_call {
	uint64_t begin; /* ticks */
	uint64_t number; /* of the thread, as in CALL records; changes with every call */
	uint32_t api; /* row of APIS */
	uint32_t reserved;
};

#define NVS_LIVE_RANGES 8

/* Of pushed NVTX ranges (not started ones) the outermost; the name is cut. */
struct nvs_live_range {
	uint64_t begin; /* ticks */
	char name[56];
};

struct nvs_live_slot {
	uint32_t generation; /* owners so far, times two; odd: there is one */
	uint32_t tid; /* as the process itself sees it */
	uint32_t thread; /* its number in the trace */
	uint32_t ncalls; /* in flight, the outermost first; may be more than there is room for */
	char name[16];
	struct nvs_live_call calls[NVS_LIVE_CALLS];
	uint32_t nranges; /* open; may be more than there is room for */
	uint32_t ranges_sequence; /* odd: being changed */
	struct nvs_live_range ranges[NVS_LIVE_RANGES];
	uint64_t reserved[3];
	/* From here on counters. Of a line of its own. */
	uint64_t counts[NVS_LIVE_COUNTS]; /* by enum nvs_live_count */
	uint64_t gaps[NVS_LIVE_GAPS];
	struct nvs_live_copy copies[NVS_LIVE_DIRECTIONS][NVS_LIVE_MODES];
	uint64_t launches; /* of kernels, by calls: the sum of direct over KERNELS */
	uint64_t graph_launches;
	uint64_t graph_kernels; /* the sum of graph over KERNELS */
	uint64_t graph_copies; /* copy nodes of the graphs launched, and their bytes */
	uint64_t graph_copy_bytes;
	uint64_t graph_sets; /* memset nodes */
	uint64_t graphs_unknown; /* launches of graphs whose nodes are not known */
	uint64_t left; /* calls that ended without a result: by a jump, an exception */
	uint64_t captured; /* calls that became part of a graph */
	struct nvs_live_stalled stalls[NVS_LIVE_STALLS];
	uint64_t sets, set_bytes; /* memsets by calls that succeeded and were not captured */
	/*
	 * Copies as in copies[], by their bytes: bucket i holds those of at most 4^i bytes that no
	 * bucket before it holds, the last one the rest.
	 */
	uint64_t copy_sizes[NVS_LIVE_DIRECTIONS][NVS_LIVE_SIZES];
	uint64_t reserved_counts[15];
};

/* ---- rows ---- */

struct nvs_live_api {
	uint32_t name; /* "cuLaunchKernel" */
	uint32_t group; /* "launch" */
};

/* How often a call gave a result that is not CUDA_SUCCESS; counted up atomically. */
struct nvs_live_result {
	uint32_t api; /* row of APIS */
	uint32_t result; /* CUresult; row 0: any */
	uint64_t count; /* counter */
};

/* Functions of one name are one row, whichever modules they are in. */
struct nvs_live_kernel {
	uint32_t name; /* mangled; 0 in a row but the first: the driver did not tell it */
	uint32_t registers; /* per thread */
	uint64_t function; /* handle it was seen with first */
	uint32_t shared, local; /* bytes */
	uint32_t max_threads; /* per block; 0: this and the three above are not known */
	uint32_t reserved;
};

struct nvs_live_gpu {
	uint8_t uuid[16];
	uint32_t instance; /* of the resource manager: GPU of the trace's records */
	uint32_t ordinal; /* CUdevice in this process, NVS_NONE not known; changes */
	char name[64];
};

/* As in nvsnoop-report --memory. */
enum nvs_live_kind {
	NVS_LIVE_DEVICE,
	NVS_LIVE_ASYNC_POOL, /* cuMemAllocAsync */
	NVS_LIVE_GRAPH, /* by a graph's node, at each launch of it; not in conditional bodies */
	NVS_LIVE_PHYSICAL, /* cuMemCreate */
	NVS_LIVE_ARRAY,
	NVS_LIVE_MANAGED,
	NVS_LIVE_HOST,
	NVS_LIVE_REGISTERED,
	NVS_LIVE_RESERVED, /* addresses alone */
	NVS_LIVE_IMPORTED, /* of another process; its size is not known: 0 */
	NVS_LIVE_EXTERNAL, /* of another API */
	NVS_LIVE_KINDS = 16
};

/* All atomically. Bytes are those asked for; of rows with a pitch, those with it. */
struct nvs_live_memory {
	uint64_t live, live_count; /* not freed; never more than was given out */
	uint64_t peak;
	uint64_t allocs, bytes; /* counters: that succeeded, and their bytes */
	uint64_t frees; /* counter */
	uint64_t failed_allocs,
		failed_frees; /* counters; a free of an unknown address is of GPU 0 and
				 of the kind of the call: DEVICE for cuMemFree */
	uint64_t ended; /* counter: freed with their context */
	/* counters: had no room in ALLOCS, so that live and live_count lack them */
	uint64_t untracked, untracked_bytes;
	uint64_t
		freed; /* counter: bytes of those that were freed, by calls or with their context */
	uint64_t reserved[4];
};

#define NVS_LIVE_FRAMES 8

/* Where memory was asked for. Counters as above. */
struct nvs_live_site {
	uint32_t name; /* "libtorch_cuda.so+0x1234", or a symbol; 0 not known yet; changes once */
	uint32_t api; /* row of APIS */
	uint32_t stack; /* number of the STACK record in the trace */
	uint32_t nframes;
	uint64_t live, live_count, peak, allocs, bytes;
	uint64_t frames[NVS_LIVE_FRAMES]; /* return addresses in the process, the innermost first */
};

/* One allocation that is live. A row is reused. */
struct nvs_live_alloc {
	uint64_t address; /* or a handle; 0: the row is free. Read first and last: the same */
	uint64_t bytes;
	uint64_t time; /* ticks when the call had returned */
	uint16_t kind, gpu; /* enum nvs_live_kind; row of GPUS + 1, 0 none */
	uint32_t tid;
	uint32_t site; /* row of SITE_ROWS */
	uint32_t reserved;
	uint64_t serial; /* of all that were given out, from 1 */
};

/* nvs_live_channel.flags */
#define NVS_LIVE_CHANNEL_ALIVE (1u << 0)
#define NVS_LIVE_CHANNEL_BOUND (1u << 1) /* its ring is known */

/*
 * By our own thread, ten times a second: all of a row is of that moment (CLOCK.ticks), but
 * completed and completed_of, which may be of an earlier one, and the time of a submission, which
 * is up to a tenth of a second late. A row is reused when its channel is gone
 * and there is no other one.
 */
struct nvs_live_channel {
	uint64_t sequence; /* odd: being changed. Read before and after */
	uint32_t channel; /* number of its CHANNEL record; NVS_NONE: free */
	uint32_t flags;
	uint32_t gpu; /* row of GPUS + 1; 0 not known */
	uint32_t object_class, engine, token;
	uint32_t entries; /* of the GPFIFO, 0 not known */
	uint32_t put, get; /* GP_PUT and GP_GET in USERD; get NVS_NONE: not known */
	uint32_t used; /* entries that the GPU has not taken, NVS_NONE: not known */
	uint64_t submitted; /* counter: submissions, recorded or not */
	/* Of those, by its release slot; NVS_LIVE_UNKNOWN: not known. The slot tells that a channel
	 * has passed them: the grid launched last may run on, a semaphore of its own has its end.
	 */
	uint64_t completed;
	uint64_t wanted, released; /* payload of the last submission's release, and the one that
				      stands in the slot; NVS_LIVE_UNKNOWN: not known */
	uint64_t release_address; /* GPU address of the slot, 0 not known */
	uint64_t submitted_at; /* ticks when the last submission was seen; 0: none yet */
	uint64_t completed_at; /* ticks when completed last changed; 0: never */
	/* What was submitted when completed was read: the two are of one moment, and what lies
	 * between them is pending. submitted is later where the program submits too fast for both.
	 * NVS_LIVE_UNKNOWN: the last submission releases nothing that is known */
	uint64_t completed_of;
	uint64_t reserved[3];
};

#ifdef __cplusplus
}
#endif

#endif
