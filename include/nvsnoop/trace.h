/* SPDX-License-Identifier: MIT */
/* The trace format: written by the preloaded library, read by everything else. docs/trace-format.md
 * describes it for readers of other languages. */
#ifndef NVSNOOP_TRACE_H
#define NVSNOOP_TRACE_H

#include <stdint.h>
#include "nvsnoop/allocation.h"
#include "nvsnoop/count.h"
#include "nvsnoop/fault.h"
#include "nvsnoop/graph.h"
#include "nvsnoop/image.h"
#include "nvsnoop/nvtx.h"
#include "nvsnoop/record.h"
#include "nvsnoop/snapshot.h"
#include "nvsnoop/spool.h"

/*
 * A trace file is a sequence of independent, checksummed zstd frames. A trace that was closed
 * normally ends with a seek table in zstd's seekable format (a skippable frame). `zstd -d` of the
 * file gives the plain stream: whole records, none of which crosses a frame. All numbers are
 * little-endian. Every record starts with struct nvs_rec, its size is a multiple of 8, and a reader
 * skips unknown types. Fields are only added at a record's end (before its variable part, whose
 * offset follows from its sizes); another meaning of existing bytes raises NVS_TRACE_VERSION.
 *
 * The spool file next to the trace holds the buffers from which the frames are made, in the same
 * records. After a kill it still holds the records that had not reached the trace: nvsnoop/spool.h.
 *
 * Order: the records of one buffer are ordered by time. The writer merges buffers by time so that a
 * record never comes before another one that happened before it (submissions of a channel in order,
 * an object before its use). Stacks, names, threads and kernels may come after their first use.
 */
#ifdef __cplusplus
extern "C" {
#endif
/* Records end in arrays without a size, which are not in ISO C++. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

#define NVS_TRACE_MAGIC 0x31504f4f4e53564eull /* "NVSNOOP1" */
#define NVS_TRACE_VERSION 2 /* 2: records may be stored as differences */

enum nvs_rec_type {
	NVS_REC_PAD = 0, /* filler, to be skipped */
	NVS_REC_FRAME = 1, /* first of every frame: struct nvs_rec_frame */
	NVS_REC_HEADER = 2, /* second record of the first frame */
	NVS_REC_ATTR = 3, /* one string about the session */
	NVS_REC_CLOCK = 4, /* calibration point of the clock */
	NVS_REC_THREAD = 5,
	NVS_REC_MODULE = 6, /* a loaded ELF object */
	NVS_REC_MODULE_GONE = 7,
	NVS_REC_STACK = 8,
	NVS_REC_GPU = 9,
	NVS_REC_OBJECT = 10, /* resource manager object allocated or duplicated */
	NVS_REC_OBJECT_GONE = 11,
	NVS_REC_CPU_MAP = 12, /* memory object (or doorbell page) mapped into the process */
	NVS_REC_CPU_MAP_GONE = 13,
	NVS_REC_GPU_MAP = 14, /* memory object mapped into a GPU's address space */
	NVS_REC_GPU_MAP_GONE = 15,
	NVS_REC_CHANNEL = 16, /* repeated with the same number when more is known of it */
	NVS_REC_CHANNEL_GONE = 17,
	NVS_REC_SUBMISSION = 18,
	NVS_REC_DATA = 19, /* a piece of a segment whose submission has NVS_SUB_MORE */
	NVS_REC_GAP = 20, /* something that could not be recorded, and why */
	NVS_REC_ORPHAN = 21, /* a doorbell whose token belongs to no known channel */
	NVS_REC_CHECK = 22, /* outcome of a check made by the library */
	NVS_REC_REMARK = 23, /* something that the doorbell page cannot show, and why */
	NVS_REC_IOCTL = 24, /* number of device calls of one kind that passed through unchanged */
	NVS_REC_TOTALS = 25, /* the library's own counts */
	NVS_REC_END = 26, /* the trace was closed normally */
	/* 32..63: calls of the CUDA API, described at their structures */
	NVS_REC_API = 32, /* an entry point, before its first call */
	NVS_REC_CALL_BEGIN = 33, /* a call in flight that submits */
	NVS_REC_CALL = 34, /* a call that has returned */
	NVS_REC_KERNEL = 35, /* attributes of a function handle */
	NVS_REC_GRAPH = 36, /* nodes of an executable graph */
	NVS_REC_NAME = 37, /* symbol of an address in a stack */
	NVS_REC_GRAPH_EDGES = 38, /* dependencies between nodes of an executable graph */
	NVS_REC_IMAGE = 39, /* code passed to the driver: nvsnoop/image.h */
	/* 40..43: nvsnoop/nvtx.h */
	NVS_REC_NVTX_NAME = 40, /* of a domain, a registered string, a category */
	NVS_REC_NVTX_BEGIN = 41, /* a range was pushed or started */
	NVS_REC_NVTX_END = 42, /* ... popped or ended */
	NVS_REC_NVTX_MARK = 43,
	/* 44..45: long runs */
	NVS_REC_WINDOW = 44, /* recording begins or ends */
	NVS_REC_PART = 45, /* the trace before this point was not kept */
	/* 46..48: the GPU's own time */
	NVS_REC_GPU_TIME = 46, /* GPU timestamps of a submission, or of an empty bracket */
	NVS_REC_GPU_CLOCK = 47, /* a GPU's clock and the session's at one moment */
	NVS_REC_UNTIMED = 48, /* submissions of a channel without a GPU_TIME, and why */
	NVS_REC_ALLOCATION = 49, /* memory allocated before the trace: nvsnoop/allocation.h */
	NVS_REC_COUNTER = 50, /* nvsnoop/count.h: a kernel that counts, or why it does not */
	NVS_REC_COUNT = 51, /* instructions executed by such kernels since the previous COUNT */
	NVS_REC_FAULT = 52, /* nvsnoop/fault.h: a channel's error notifier was written */
	NVS_REC_SM_ERROR = 53, /* error states of SMs, as the driver read them */
	NVS_REC_FAULT_MEMORY = 54, /* a page of semaphores when a fault was seen */
	NVS_REC_SNAPSHOT = 55, /* memory before or after a launch: nvsnoop/snapshot.h */
	/* 64 and up are reserved for measurements */
};

/* Maximum size of a record, and of the records in a frame, whatever the size of the library's
 * buffers is: a reader may refuse a small file whose frames unpack to much more. */
#define NVS_LARGEST_RECORD (8u << 20)

/*
 * One launch is much like the previous one, so in a frame a record may be stored as its difference
 * to an earlier one. Then its type has the bit NVS_REC_DELTA, and each of its 32-bit words is the
 * difference to the same word of the earlier record, modulo 2^32. Not changed are the words of
 * type, flags and size and the two after time (thread, and channel or API).
 *
 * The earlier record is the latest one in the frame with the same nvs_delta_slot() for which
 * nvs_delta_kept() holds; nvs_delta_like() holds for the two. Readers get whole records:
 * NVS_REC_DELTA occurs only in the file.
 */
#define NVS_REC_DELTA 0x8000u
#define NVS_DELTA_SLOTS 4096u

/* True if REC, an array of words, may be stored as a difference, and be the base of others. */
static inline int nvs_delta_kept(const uint32_t *rec)
{
	uint32_t type = rec[0] & 0xffff & ~NVS_REC_DELTA;

	return rec[1] >= 24 && rec[1] % 4 == 0 &&
	       (type == NVS_REC_SUBMISSION || type == NVS_REC_CALL_BEGIN || type == NVS_REC_CALL);
}

static inline uint32_t nvs_delta_slot(const uint32_t *rec)
{
	uint32_t type = rec[0] & 0xffff & ~NVS_REC_DELTA;
	uint32_t h = (type * 31 + rec[1]) * 0x9e3779b1u ^ rec[4] * 0xc2b2ae35u ^
		     rec[5] * 0x85ebca6bu;

	return (h ^ h >> 15) % NVS_DELTA_SLOTS;
}

/* True if two records have the same type, size and two words after time. */
static inline int nvs_delta_like(const uint32_t *a, const uint32_t *b)
{
	return ((a[0] ^ b[0]) & 0xffff & ~NVS_REC_DELTA) == 0 && a[1] == b[1] && a[4] == b[4] &&
	       a[5] == b[5];
}

/* The range of a buffer that a frame holds. Records of the spool that are in a frame already are
 * skipped when the spool is merged. */
struct nvs_buffer_range {
	uint32_t buffer;
	uint32_t reserved;
	uint64_t from, to; /* positions in bytes, counted from the start of the session */
};

/*
 * rec.flags of a FRAME record: a part of a trace that keeps its last bytes begins with frames that
 * repeat the state known by then. A reader of the preceding parts skips them. They have the number
 * of the frame that follows them; their ranges are those of the preceding parts.
 */
#define NVS_FRAME_AGAIN (1u << 0)

struct nvs_rec_frame {
	struct nvs_rec rec;
	uint64_t number; /* 0, 1, 2, ... */
	uint32_t nranges;
	uint32_t reserved;
	struct nvs_buffer_range ranges[];
};

enum nvs_clock { NVS_CLOCK_MONOTONIC = 1, NVS_CLOCK_TSC = 2 };

/* nvs_rec_header.flags */
#define NVS_HDR_CRASH_SAFE (1u << 0) /* the buffers are in a spool file that outlives a kill */
#define NVS_HDR_BACKTRACE (1u << 1) /* call sites are recorded */
#define NVS_HDR_STEP (1u << 2) /* trap=step */
#define NVS_HDR_DROP (1u << 3) /* overflow=drop */
#define NVS_HDR_HEADERS (1u << 4) /* level=headers: segments are NVS_SEG_SKIPPED */
/* Level=counts: submissions come as GAP records of NVS_GAP_CHOICE */
#define NVS_HDR_COUNTS (1u << 5)
/* Recording is switched on and off (WINDOW records); skipped submissions are NVS_GAP_CHOICE */
#define NVS_HDR_TRIGGER (1u << 6)
/* Only the last bytes are kept: the trace may begin in the middle, with a PART record */
#define NVS_HDR_KEEP_LAST (1u << 7)

struct nvs_rec_header {
	struct nvs_rec rec;
	uint64_t magic; /* NVS_TRACE_MAGIC */
	uint32_t version; /* NVS_TRACE_VERSION of the writer */
	uint32_t min_version; /* oldest reader version that can read this trace */
	uint8_t session[16]; /* random; the same in the spool */
	uint32_t pid, ppid;
	uint32_t clock; /* enum nvs_clock */
	uint32_t flags; /* NVS_HDR_* */
	uint64_t realtime_ns; /* time of day at the start, since 1970 */
	uint64_t buffer_bytes; /* size of one buffer */
};

enum nvs_attr {
	NVS_ATTR_COMMAND = 1, /* argv, each string terminated by a NUL */
	NVS_ATTR_EXE = 2,
	NVS_ATTR_HOST = 3,
	NVS_ATTR_CWD = 4,
	NVS_ATTR_KERNEL = 5, /* release of the operating system's kernel */
	NVS_ATTR_DRIVER = 6, /* version of the NVIDIA driver, "580.159.04" */
	NVS_ATTR_OPTIONS = 7, /* value of NVSNOOP_OPTIONS */
	NVS_ATTR_SPOOL = 8, /* path of the spool file */
	NVS_ATTR_CPU = 9,
	NVS_ATTR_VERSION = 10, /* version of nvsnoop */
	NVS_ATTR_UNWINDER = 11, /* "libunwind", "backtrace", "libgcc" (aarch64) or "none" */
	NVS_ATTR_LAUNCHER = 12, /* launcher of the job, if there is one: "torchrun", "Slurm" ... */
	NVS_ATTR_RANK = 13,
	NVS_ATTR_WORLD_SIZE = 14, /* number of ranks */
	NVS_ATTR_LOCAL_RANK = 15, /* rank among those of its host */
	NVS_ATTR_JOB = 16, /* the launcher's name for the job */
	/* Maximum error of the system's time of day at the start in us, according to the system;
	 * "unkept": it is not synchronised */
	NVS_ATTR_CLOCK_ERROR = 17,
	/* Another tool's library in NVTX_INJECTION64_PATH, which gets the ranges and marks */
	NVS_ATTR_NVTX = 24,
};

struct nvs_rec_attr {
	struct nvs_rec rec;
	uint32_t key; /* enum nvs_attr */
	uint32_t length; /* bytes of value, without padding */
	char value[];
};

/* rec.time corresponds to mono_ns of CLOCK_MONOTONIC and real_ns of CLOCK_REALTIME. */
struct nvs_rec_clock {
	struct nvs_rec rec;
	uint64_t mono_ns;
	uint64_t real_ns;
};

struct nvs_rec_thread {
	struct nvs_rec rec;
	uint32_t thread; /* number in this trace, from 0 */
	uint32_t tid;
	char name[16];
};

struct nvs_rec_module {
	struct nvs_rec rec;
	uint32_t module; /* number in this trace */
	uint16_t build_id_length; /* bytes at tail[] */
	uint16_t path_length; /* bytes after the build id */
	uint64_t bias; /* run-time address minus address in the file */
	uint64_t start, end; /* addresses covered, end excluded */
	uint8_t tail[];
};

struct nvs_rec_module_gone {
	struct nvs_rec rec;
	uint32_t module;
	uint32_t reserved;
};

/* pc[0] is the interrupted instruction (the doorbell store), the others are return addresses. */
struct nvs_rec_stack {
	struct nvs_rec rec;
	uint32_t stack;
	uint32_t nframes;
	uint64_t pc[];
};

/* rec.flags of a NAME record */
#define NVS_NAME_EXPORTED (1u << 0) /* the name is also that of an exported symbol */

/*
 * Symbol of an address in a stack, so that the module's file is not needed: the symbol's name as in
 * the file (C++ names mangled), and the exported symbol that contains the address, if that is
 * another one. A return address is looked up one byte lower, where the call is. Comes after its
 * STACK, at any time, also after END; a second record for an address adds what was unknown before.
 * text: name, exported name, source file, without NULs; an empty name: there is none.
 */
struct nvs_rec_name {
	struct nvs_rec rec;
	uint32_t module; /* NVS_NONE: in no module, for example code generated at run time */
	uint32_t line; /* in the source file, 0: unknown */
	/* in the module's file, without its bias; without a module the run-time address */
	uint64_t address;
	uint64_t offset; /* from the beginning of the symbol */
	uint64_t exported_offset;
	uint16_t name_length, exported_length, file_length;
	uint16_t reserved;
	char text[];
};

struct nvs_rec_gpu {
	struct nvs_rec rec;
	uint32_t gpu; /* device instance, as in the parameters of class 0080 */
	uint32_t architecture; /* MC_GET_ARCH_INFO: 0x180 Hopper, ...; 0: unknown */
	uint32_t implementation;
	uint32_t revision;
	uint8_t uuid[16];
	char name[64];
};

/* params: the allocation parameters after the call, if their size is known. */
struct nvs_rec_object {
	struct nvs_rec rec;
	uint32_t client, handle, parent;
	uint32_t object_class; /* 0xc86f */
	uint32_t gpu;
	uint32_t source_client, source_handle; /* of a duplicate, else 0 */
	uint32_t params_length;
	uint8_t params[];
};

struct nvs_rec_object_gone {
	struct nvs_rec rec;
	uint32_t client, handle;
};

enum nvs_map_kind {
	NVS_MAP_MEMORY = 1, /* an object's bytes */
	NVS_MAP_DOORBELL = 2, /* a usermode object, armed unless NVS_MAP_UNARMED */
	NVS_MAP_UVM = 3, /* /dev/nvidia-uvm: GPU address equals CPU address */
	NVS_MAP_PINNED = 4, /* user pages under class 0071, no mmap */
};
#define NVS_MAP_UNARMED (1u << 0) /* rec.flags: a doorbell page that could not be armed */

struct nvs_rec_cpu_map {
	struct nvs_rec rec;
	uint32_t map; /* number in this trace */
	uint32_t kind; /* enum nvs_map_kind */
	uint32_t client, handle;
	uint32_t object_class;
	uint32_t gpu;
	uint64_t address, size;
	uint64_t offset; /* of the mapping's first byte in the object */
};

struct nvs_rec_cpu_map_gone {
	struct nvs_rec rec;
	uint32_t map;
	uint32_t reserved;
};

struct nvs_rec_gpu_map {
	struct nvs_rec rec;
	uint32_t map; /* number in this trace; not the numbering of CPU_MAP */
	uint32_t vaspace; /* handle of the address space; 0: UVM's, of the whole process */
	uint32_t client, handle;
	uint32_t object_class;
	uint32_t gpu; /* GPU of the memory object, NVS_NONE for system memory */
	uint64_t address, size; /* GPU virtual */
	uint64_t offset; /* offset in the object */
};

struct nvs_rec_gpu_map_gone {
	struct nvs_rec rec;
	uint32_t map;
	uint32_t reserved;
};

/* nvs_rec_channel.flags */
#define NVS_CHAN_BOUND (1u << 0) /* GPFIFO and USERD are mapped and known */
/* Its class has another kind of doorbell (Pascal and older): not captured */
#define NVS_CHAN_NO_DOORBELL (1u << 1)
#define NVS_CHAN_SHADOW (1u << 2) /* GPFIFO and USERD are shadowed in ordinary memory */
#define NVS_CHAN_NO_GET (1u << 3) /* its USERD has no GP_GET (Blackwell and later) */

struct nvs_rec_channel {
	struct nvs_rec rec;
	uint32_t channel; /* number in this trace, from 0 */
	uint32_t client, handle;
	uint32_t object_class;
	uint32_t gpu;
	uint32_t engine; /* NV2080_ENGINE_TYPE_*, of the channel or its group */
	uint32_t group; /* handle of the channel group or device above it */
	uint32_t token; /* work submit token, NVS_NONE: not known yet */
	uint32_t entries; /* number of entries in the GPFIFO */
	uint32_t flags; /* NVS_CHAN_* */
	uint64_t gpfifo; /* GPU virtual address of the GPFIFO */
	uint32_t userd_handle;
	uint32_t vaspace;
	uint64_t userd_offset;
};

/* rec.flags of a CHANNEL_GONE record, written when the channel is freed or at the end */
#define NVS_CHAN_GONE_AT_EXIT (1u << 0) /* it was still alive at the end */
#define NVS_CHAN_GONE_PUT_UNKNOWN (1u << 1) /* USERD could not be read: final_put is invalid */
#define NVS_CHAN_GONE_DONE (1u << 2) /* followed by a struct nvs_channel_done (spool.h) */
#define NVS_CHAN_GONE_WINDOW (1u << 3) /* with AT_EXIT: only the trace ends */

struct nvs_rec_channel_gone {
	struct nvs_rec rec;
	uint32_t channel;
	uint32_t final_put; /* GP_PUT in USERD */
	uint32_t last_put; /* the last one recorded */
	uint32_t reserved;
	uint64_t submissions; /* sequence numbers used, recorded or not: the next sequence number */
};

/* rec.flags of a submission */
#define NVS_SUB_MORE (1u << 0) /* segments marked NVS_SEG_FOLLOWS come in DATA records */
#define NVS_SUB_LATE (1u << 1) /* rung after the writer had ended */
/* Bits 15:8: depth of the call in flight that it belongs to, 0: unknown */
#define NVS_SUB_CALL_SHIFT 8
/* More entries of the previous doorbell; not counted as a submission */
#define NVS_SUB_CONTINUED (1u << 2)
/* Found at the end, after the last doorbell seen, thread unknown: perhaps not rung */
#define NVS_SUB_UNCERTAIN (1u << 3)
/* Entries and segments (padded to 8 bytes) are followed by 8 more bytes: GP_GET as last seen, which
 * may be a tenth of a second old, and 4 reserved bytes. */
#define NVS_SUB_GET (1u << 4)

enum nvs_segment_state {
	NVS_SEG_HERE = 0, /* all its bytes are in this record */
	NVS_SEG_FOLLOWS = 1, /* its bytes come in DATA records of the same thread */
	NVS_SEG_NONE = 2, /* control entry, or length 0 */
	NVS_SEG_GAP = 3, /* not recorded; a GAP record says why */
	NVS_SEG_SKIPPED = 4, /* not recorded: excluded by the level that the user chose */
};

struct nvs_gp_entry {
	uint64_t entry; /* as read from the GPFIFO */
	uint32_t state; /* enum nvs_segment_state */
	uint32_t bytes; /* in this record, for NVS_SEG_HERE; else of the segment */
};

/* Followed by entries[nentries] and then the bytes of all NVS_SEG_HERE segments, in order. */
struct nvs_rec_submission {
	struct nvs_rec rec;
	uint32_t thread;
	uint32_t channel;
	uint64_t sequence; /* of the channel, from 0 */
	uint32_t doorbell; /* number of the CPU_MAP that was written */
	uint32_t token; /* value stored to the doorbell */
	/* Entries [old_put, new_put), modulo the size of the GPFIFO; equal: nothing new */
	uint32_t old_put, new_put;
	uint32_t stack; /* NVS_NONE: not taken */
	uint32_t nentries;
	/* GPU address of the channel's progress-release slot, 0: unknown */
	uint64_t progress_address;
	uint64_t progress[2]; /* the 16 bytes in it at this time: payload and GPU timestamp */
	struct nvs_gp_entry entries[];
};

#define NVS_DATA_LAST (1u << 0) /* rec.flags: the submission is complete with this record */

struct nvs_rec_data {
	struct nvs_rec rec;
	uint32_t thread;
	uint32_t channel;
	uint64_t sequence;
	uint32_t entry; /* index in the submission's entries */
	uint32_t bytes; /* at data[], without padding */
	uint64_t offset; /* in the segment */
	uint8_t data[];
};

enum nvs_gap_reason {
	NVS_GAP_UNMAPPED = 1, /* the segment's GPU address is in no mapping known to the process */
	NVS_GAP_FAULT = 2, /* reading it faulted */
	NVS_GAP_DROPPED = 3, /* buffer full and overflow=drop */
	NVS_GAP_STALLED = 4, /* buffer full and the writer made no progress for 1 s */
	NVS_GAP_NO_BUFFER = 5, /* no buffer for the thread */
	NVS_GAP_UNBOUND = 6, /* the channel's GPFIFO or USERD is not mapped */
	NVS_GAP_DISARMED = 7, /* a store that cannot be emulated: its page was disarmed */
	NVS_GAP_WRITE = 8, /* the output could not be written */
	/* Not recorded by the user's choice: level=counts, or outside of windows; not a loss */
	NVS_GAP_CHOICE = 9,
};

/* rec.flags of a GAP record of NVS_GAP_CHOICE: recorded in parts that were not kept */
#define NVS_GAP_NOT_KEPT (1u << 0)

/*
 * bytes: lost bytes of commands, 0: unknown. submissions: number of them (0: a part of a submission
 * that is otherwise recorded). A run of lost submissions of a channel is one record: sequence is
 * that of the first, [old_put, new_put) the entries of all.
 */
struct nvs_rec_gap {
	struct nvs_rec rec;
	uint32_t thread;
	uint32_t channel; /* NVS_NONE: not of a single channel */
	uint64_t sequence;
	uint32_t reason; /* enum nvs_gap_reason */
	uint32_t entry; /* NVS_NONE: not a single entry */
	uint64_t submissions;
	uint64_t bytes;
	uint64_t address; /* GPU address of the segment, or CPU address of the page */
	uint32_t old_put, new_put;
};

struct nvs_rec_orphan {
	struct nvs_rec rec;
	uint32_t thread;
	uint32_t doorbell;
	uint32_t token;
	uint32_t stack;
};

enum nvs_check_kind {
	/* /proc/self/maps read at the end; value: doorbell mappings not armed */
	NVS_CHECK_MAPS = 1,
	NVS_CHECK_UNARMED = 2, /* one of them: [start, end) */
	NVS_CHECK_HANDLER = 3, /* our signal handler had been replaced; value: how often */
	NVS_CHECK_SITE = 4, /* a store site; start: its address, value: enum nvs_site_refusal */
};

/* Why a store site is not patched. Each of its stores then traps. */
enum nvs_site_refusal {
	NVS_SITE_PATCHED = 0,
	NVS_SITE_FORM = 1, /* not a mov of a 32-bit register to [base + displacement] */
	NVS_SITE_SURROUNDINGS = 2, /* jump target inside, no cave, or unknown instructions */
	NVS_SITE_NO_NEAR = 3, /* no memory in reach for the trampoline, and no slack */
	NVS_SITE_NO_WRITE = 4, /* the code cannot be changed here */
	NVS_SITE_NO_BARRIER = 5, /* no core-serialising membarrier */
	NVS_SITE_NOT_YET = 6, /* first seen too shortly before the end */
};

struct nvs_rec_check {
	struct nvs_rec rec;
	uint32_t kind; /* enum nvs_check_kind */
	uint32_t reserved;
	uint64_t value;
	uint64_t start, end;
};

enum nvs_remark_kind {
	/* A usermode object is mapped for the GPU, which may ring the doorbell itself */
	NVS_REMARK_GPU_DOORBELL = 1,
	NVS_REMARK_KERNEL_CHANNEL = 2, /* channels of the kernel driver (UVM) submit on this GPU */
	NVS_REMARK_NO_DOORBELL = 3, /* a channel of a class without doorbell exists */
	NVS_REMARK_IMPORTED = 4, /* objects came from another process */
	/* Channels are in use, and no mapping of a doorbell page is known: nothing is recorded */
	NVS_REMARK_NO_DOORBELL_PAGE = 5,
	/* The driver's release (NVS_ATTR_DRIVER) is newer than those the library knows */
	NVS_REMARK_NEWER_RELEASE = 6,
	/* the driver's release could not be determined; one was assumed */
	NVS_REMARK_NO_RELEASE = 7,
	/* The parameters of a channel have an unknown format; their first bytes follow the record
	 */
	NVS_REMARK_CHANNEL_FORM = 8,
	/* The size of an ioctl's parameters is unknown, or it makes objects in an unknown way;
	 * CLIENT is its number, HANDLE the size in bytes */
	NVS_REMARK_CALL_FORM = 9,
	NVS_REMARK_UVM_FORM = 10, /* the same for a call of UVM, without a size */
	/* Parameters were passed serialized and not read; CLIENT: the class or control */
	NVS_REMARK_SERIALIZED = 11,
	/* An object is mapped whose class is not known to be memory; CLIENT: the class */
	NVS_REMARK_MAPPED_CLASS = 12,
	/* A mapping is taken for a doorbell page by its size and place; its object's class is
	 * unknown */
	NVS_REMARK_LIKELY_DOORBELL = 13,
	/* Confidential computing is enabled: the CPU cannot read commands in protected memory */
	NVS_REMARK_CONFIDENTIAL = 14,
};

struct nvs_rec_remark {
	struct nvs_rec rec;
	uint32_t kind; /* enum nvs_remark_kind */
	uint32_t gpu;
	uint32_t client, handle; /* the object concerned */
};

struct nvs_rec_ioctl {
	struct nvs_rec rec;
	uint32_t device; /* 0: nvidiactl or GPU, 1: UVM */
	uint32_t number;
	uint32_t bytes; /* size field of the request, 0 for UVM */
	uint32_t reserved;
	uint64_t count;
};

struct nvs_rec_totals {
	struct nvs_rec rec;
	uint64_t submissions; /* recorded, whole or in part */
	uint64_t entries;
	uint64_t segments; /* recorded whole */
	uint64_t bytes; /* of those segments */
	uint64_t gaps; /* GAP records */
	uint64_t lost_submissions;
	uint64_t lost_bytes;
	uint64_t orphans;
	uint64_t channels;
	uint64_t threads;
	uint64_t stacks;
	uint64_t unknown_ioctls;
	uint64_t waits; /* a full buffer made a doorbell wait */
	uint64_t wait_ns;
	uint64_t stepped; /* stores that were single-stepped */
	uint64_t foreign_faults; /* faults passed on to the program */
	uint64_t writer_cpu_ns;
	uint64_t raw_bytes; /* of records, before compression */
	uint64_t fast; /* submissions that came through a patched store site */
	uint64_t skipped; /* submissions not recorded by the user's choice */
	uint64_t skipped_bytes;
};

/* rec.flags of an END record */
#define NVS_END_GOES_ON (1u << 0) /* of a trace on demand: the process goes on */

struct nvs_rec_end {
	struct nvs_rec rec;
};

/* ---- long runs ---- */

enum nvs_window_cause {
	NVS_WINDOW_START = 0, /* the state when the trace begins */
	NVS_WINDOW_DELAY = 1, /* --delay has passed */
	NVS_WINDOW_DURATION = 2,
	NVS_WINDOW_TRIGGER = 3, /* by the trigger file */
	NVS_WINDOW_PROFILER = 4, /* cuProfilerStart, cuProfilerStop */
	NVS_WINDOW_SIZE = 5, /* --max-size is reached, or --keep-last can create no further part */
	NVS_WINDOW_DEMAND = 6, /* nvsnoop-record */
};

/* From here on this number of submissions is recorded. */
struct nvs_rec_window {
	struct nvs_rec rec;
	uint32_t cause; /* enum nvs_window_cause */
	uint32_t reserved;
	uint64_t submissions; /* 0: none; INT64_MAX: all until the next WINDOW */
};

/*
 * In the first frame of a part, after HEADER: the part begins at rec.time. Records in its frames of
 * NVS_FRAME_AGAIN are older; the earlier submissions of a channel are in a GAP of NVS_GAP_NOT_KEPT.
 * The counts are those of the preceding parts, as in TOTALS.
 */
struct nvs_rec_part {
	struct nvs_rec rec;
	uint64_t number; /* 1, 2, ...; the session's first part, 0, has no such record */
	uint64_t before; /* the preceding part is the file of this name with the suffix ".N" */
	uint64_t limit; /* bytes to keep */
	uint64_t submissions, entries, segments, bytes, gaps, lost_submissions, lost_bytes, orphans;
};

/* ---- the GPU's own time ---- */

enum nvs_timing_kind {
	NVS_TIMING_DISPATCH = 1, /* begin: the channel reached the submission; end: 0, not known */
	/* begin: all earlier work was done; end: its own work was done. The engine waited until it
	 * was idle for both: a copy engine, in traces of earlier versions any engine */
	NVS_TIMING_WORK = 2,
	/* An empty bracket right before the submission of this sequence: the cost of the two
	 * timestamps */
	NVS_TIMING_EMPTY = 3,
	/* begin: the channel reached the submission, earlier work may still have been in progress;
	 * end: the kernels it launched, or the engine's work, was done. Neither waited */
	NVS_TIMING_REACHED = 4,
};

/* Of a submission recorded before it. Nanoseconds of its GPU's clock, in steps of 32. */
struct nvs_rec_gpu_time {
	struct nvs_rec rec; /* time: when it was read, which may be any time after it was written */
	uint32_t channel;
	uint32_t kind; /* enum nvs_timing_kind */
	uint64_t sequence;
	uint64_t begin, end;
	/* With timing=sample: it was drawn as one of so many, or is NVS_NOT_DRAWN. 0: all
	 * submissions are timed */
	uint64_t every;
};
#define NVS_NOT_DRAWN UINT64_MAX /* it shows when the next one, which was drawn, could begin */

/* A GPU's clock was at ns at a time between before and after, in ticks of the session's clock. */
struct nvs_rec_gpu_clock {
	struct nvs_rec rec;
	uint32_t gpu;
	uint32_t reserved;
	uint64_t ns;
	uint64_t before, after;
};

enum nvs_untimed_reason {
	NVS_UNTIMED_METHOD = 1, /* begins or ends in the middle of a method's data */
	NVS_UNTIMED_SEMAPHORE = 2, /* the channel sets the registers of a semaphore in pieces */
	NVS_UNTIMED_BEHIND = 3, /* earlier timestamps of the channel had not been written yet */
	NVS_UNTIMED_EARLY = 4, /* before there was memory for timestamps */
	NVS_UNTIMED_UNREADABLE =
		5, /* a segment could not be read, so the end of its methods is unknown */
	NVS_UNTIMED_TOGETHER = 6, /* reached the GPU together with one left behind */
	NVS_UNTIMED_RING = 7, /* its entries fill the GPFIFO */
	NVS_UNTIMED_ENDING = 8, /* the context, or the channel's shadow, was about to end */
	NVS_UNTIMED_NO_SHADOW = 9, /* the channel's GPFIFO is not shadowed */
	NVS_UNTIMED_NO_MEMORY = 10, /* no memory that its GPU can reach could be allocated */
	NVS_UNTIMED_SHARED = 11, /* another channel's USERD may come to be in the same page */
	NVS_UNTIMED_NO_GET = 12, /* the channel's USERD has no GP_GET (Blackwell) */
	NVS_UNTIMED_NOT_DRAWN = 13, /* timing=sample */
};
#define NVS_UNTIMED_REASONS 14

/* Written at the channel's end, one for each reason. */
struct nvs_rec_untimed {
	struct nvs_rec rec;
	uint32_t channel;
	uint32_t reason; /* enum nvs_untimed_reason */
	uint64_t submissions;
};

/*
 * ---- calls of the CUDA driver API ----
 *
 * A thread's calls nest. A call is identified by (thread, number); its depth is its nesting level,
 * 1 being the outermost. A CALL record is written when the call is over. If a submission happens
 * inside a call without any record yet, a CALL_BEGIN of the call (and of the calls around it) comes
 * first among the records of the thread: a submission with depth D in its flags belongs to the call
 * of the latest CALL_BEGIN of depth D of its thread. A call that has not returned when the trace
 * ends comes last, as a CALL_BEGIN with NVS_BEGIN_IN_FLIGHT; after a kill, the spool's buffers
 * contain these calls.
 */

/* rec.flags of an API record */
#define NVS_API_PASSED (1u << 0) /* it was looked up, but its calls are not observed */

/*
 * text: name, group ("launch", "copy", ...), then "name:kind" for each recorded argument, each
 * terminated by a NUL. Kinds: u8 u16 u32 i32 u64 ptr devptr str, and handles: function kernel
 * module library stream event context graph node exec pool.
 */
struct nvs_rec_api {
	struct nvs_rec rec;
	uint32_t api; /* number in this trace */
	uint32_t nargs;
	uint32_t reserved;
	uint32_t length; /* bytes of text */
	char text[];
};

/* rec.flags of a CALL_BEGIN record */
/* The trace ends without a CALL of it; the call may have a CALL_BEGIN already */
#define NVS_BEGIN_IN_FLIGHT (1u << 0)
#define NVS_BEGIN_SITED (1u << 1) /* followed by a struct nvs_call_begin_site (spool.h) */

struct nvs_rec_call_begin {
	struct nvs_rec rec; /* time: that of the submission that caused it, or the end */
	uint32_t thread;
	uint32_t api;
	uint64_t number; /* of the call on its thread, from 0 */
	uint64_t begin; /* ticks */
	uint32_t depth; /* nesting level within the thread's calls, 1: the outermost */
	uint32_t reserved;
};

/* rec.flags of a CALL record */
#define NVS_CALL_BEGUN (1u << 0) /* it has a CALL_BEGIN */
#define NVS_CALL_UNWOUND (1u << 1) /* left by an exception or the end of its thread: no result */
/* Left by a jump, noticed at `end`: no result, no arguments */
#define NVS_CALL_ABANDONED (1u << 2)
/* Its stream was being captured: it became part of a graph, nothing ran */
#define NVS_CALL_CAPTURED (1u << 3)
#define NVS_CALL_EARLY (1u << 4) /* before the trace began; thread may be NVS_NONE */
/* It has no recorded submission, and took long, allocates, frees or synchronizes: 8 bytes with the
 * number of its STACK precede args */
#define NVS_CALL_SITED (1u << 5)

/*
 * args[i] is the value of the API record's argument i, not sign-extended for any kind, unless bit i
 * of absent is set. For a str it is bytes stored | length << 32 (all ones: NULL); the stored
 * bytes follow args, one string after the other.
 */
struct nvs_rec_call {
	struct nvs_rec rec;
	uint32_t thread;
	uint32_t api;
	uint64_t number;
	uint64_t begin; /* ticks; 0: the same as in its CALL_BEGIN */
	uint64_t end; /* ticks; 0: rec.time */
	uint32_t result; /* CUresult */
	uint32_t absent; /* bit i: args[i] is unknown */
	uint16_t depth; /* 1: the outermost */
	uint16_t nargs;
	uint32_t bytes; /* of strings */
	uint64_t args[];
};

/* rec.flags of a KERNEL record */
#define NVS_KERNEL_ATTRS (1u << 0) /* registers to max_threads are known */
/* The driver reported the name; else see the call that made the handle */
#define NVS_KERNEL_NAMED (1u << 1)

/* From here on the handle means this function. Comes with its first launch, or with the graph that
 * contains it. */
struct nvs_rec_kernel {
	struct nvs_rec rec;
	uint64_t function; /* CUfunction or CUkernel */
	uint32_t registers; /* per thread */
	uint32_t shared; /* static, bytes */
	uint32_t local; /* bytes per thread */
	uint32_t max_threads; /* per block */
	uint32_t reserved;
	uint32_t length; /* bytes of name */
	char name[];
};

#pragma GCC diagnostic pop
#ifdef __cplusplus
}
#endif

/* Former names. */
#define nvs_ring_range nvs_buffer_range /* deprecated */
#define NVS_GAP_NO_RING NVS_GAP_NO_BUFFER /* deprecated */
#define ring_bytes buffer_bytes /* deprecated */

#endif
