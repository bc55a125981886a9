/* SPDX-License-Identifier: MIT */
/*
 * Internals of the software GPU: device files, resource-manager objects, memory, page tables,
 * channels.
 *
 * Lock order: sg_lock, then a GPU's lock. sg_lock protects everything that device calls use (files,
 * objects); each GPU's lock protects what its engine uses (page tables, channels, doorbell pages).
 */
#ifndef SOFTGPU_GPU_H
#define SOFTGPU_GPU_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../sys.h"
#include "../log.h"
#include "../options.h"
#include "../release.h"

#define SG_MAX_GPUS 4
#define SG_NO_GPU 0xffffffffu
#define SG_RING_MAX (1u << 20)

/* ---- options: SOFTGPU="gpus=2,poison,usermode=c861,release=525.147.05" ---- */
struct sg_options {
	uint32_t gpus;
	bool poison; /* overwrites consumed data at once; consumes only what was rung for */
	bool eager; /* consumes up to PUT before the doorbell rings */
	bool clock; /* timestamps from a clock that only transfers advance: sg_spend() */
	bool time; /* with clock: TIME_0 and TIME_1 of the doorbell page in BAR1 show it */
	bool own; /* with poison: a ring of whole pages may have entries of others, whose PUT counts
		     when rung for */
	bool unstated; /* leaves the status of the token's notification unchanged */
	bool stated_late; /* changes it when the channel is scheduled */
#define SG_TOKEN_STATED 0xffff0000u
	bool machine; /* programs are machine code, as real drivers load it */
	bool unguarded; /* refuses to take write access from a doorbell page */
	bool once; /* refuses to map a doorbell page twice for one open file */
	uint32_t usermode; /* class of doorbell pages */
	enum {
		SG_WELL,
		SG_WRONG,
		SG_MUTE,
		SG_FAULT
	} ill; /* error injected into payloads from SG_MARK on */
};
/* Payloads from this one on are from a program that submits by itself. */
#define SG_MARK 0x70000000u
extern struct sg_options sg_options;

/* ---- memory.c ---- */

/* A separate piece of memory; the program and the GPU each have their own mapping. */
struct sg_memory {
	int fd;
	uint32_t refs;
	uint64_t size; /* whole pages */
	uint8_t *map; /* the GPU's mapping */
};
/* NAME is shown in /proc/self/maps for the program's mappings. Returns NULL if out of memory. */
struct sg_memory *sg_memory_new(const char *name, uint64_t size);
/* Turns the program's pages [at, at + size) into a mapping of the new memory. */
struct sg_memory *sg_memory_pin(uint64_t at, uint64_t size);
struct sg_memory *sg_memory_get(struct sg_memory *m);
void sg_memory_put(struct sg_memory *m); /* accepts NULL */

/* GPU address space. */
struct sg_pte {
	uint64_t va, size, offset;
	struct sg_memory *memory;
};
struct sg_vaspace {
	uint32_t refs;
	uint32_t count, room;
	uint64_t generation; /* number of changes */
	struct sg_pte *pte; /* sorted by va, not overlapping */
};
struct sg_vaspace *sg_vaspace_new(void);
void sg_vaspace_put(struct sg_vaspace *v);
int sg_vaspace_map(struct sg_vaspace *v, uint64_t va, uint64_t size, struct sg_memory *m,
		   uint64_t offset);
/* Removes [va, va + size), splitting entries that cross its ends. */
void sg_vaspace_unmap(struct sg_vaspace *v, uint64_t va, uint64_t size);
/* The GPU's pointer to VA, and the number of bytes that follow it. Returns NULL if not mapped. */
uint8_t *sg_vaspace_find(struct sg_vaspace *v, uint64_t va, uint64_t *left);

/* ---- channels ---- */

struct sg_engine_compute {
	uint32_t reg[64]; /* methods 0x100 to 0x1fc */
	uint64_t out; /* address of the next inline byte */
	uint64_t line_left, lines_left, line_bytes, pitch;
	uint64_t line_start;
	uint32_t fill_count; /* 3800 */
	uint64_t source; /* 3808 */
	bool source_low_next;
	uint32_t pcas;
	uint32_t qmd_high, qmd_low; /* address >> 8 of the inline descriptor */
	uint32_t report[3];
};

struct sg_engine_copy {
	uint32_t reg[512]; /* methods 0 to 0x7fc */
};

struct sg_channel {
	struct sg_channel *next;
	struct sg_gpu *gpu;
	struct sg_vaspace *vaspace;
	struct sg_memory *userd_memory, *notifier;
	volatile uint32_t *userd; /* GPU's mapping of it */
	uint32_t serial, client, handle, object_class, token, engine;
	uint32_t group; /* handle of the channel group */
	uint64_t ring; /* GPU address */
	uint32_t entries, get;
	uint32_t
		rung; /* GP_PUT of the last doorbell, or SOFTGPU_RINGING from before the next GP_PUT
			 until it has rung, if the driver reports it; SG_NO_GPU: it does not */
	uint32_t seen_rung; /* with `own`: the last value used */
	uint64_t fetches; /* number of entries fetched */
	uint32_t bells; /* number of times the token was seen in a doorbell page */
	bool scheduled, dead, bell;
	bool held; /* with `own`: its driver is about to ring */
	uint64_t grid; /* descriptor of a running program that spins; 0: none */
	uint32_t grid_action;
	uint32_t due; /* the number of an error of one of its kernels: it ends with the segment */
	/* The segment being executed. */
	uint32_t *buf;
	uint64_t buf_room; /* dwords */
	uint32_t pos, len; /* dwords */
	uint64_t ext_base;
	/* The method header being executed. */
	uint32_t method, count, subch;
	uint8_t kind; /* 1 INC, 3 NON_INC, 5 ONE_INC */
	uint16_t bound[8]; /* class on each subchannel */
	uint32_t host[64]; /* host method registers */
	struct sg_engine_compute compute;
	struct sg_engine_copy copy;
};

/* A task descriptor that waits for others. */
struct sg_task {
	struct sg_task *next;
	uint64_t address;
	uint32_t pending; /* remaining dependencies */
	bool installed; /* waits to be scheduled */
	uint32_t qmd[96];
};

/* What NV83DE_CTRL_CMD_DEBUG_READ_ALL_SM_ERROR_STATES answers about the group that faulted last. */
struct sg_errors {
	uint32_t client, group;
	uint32_t mmu; /* faultInfo; 0: no MMU fault */
	uint32_t first, n; /* SMs with the states below */
	uint32_t global, warp;
	uint64_t address, pc;
};

struct sg_gpu {
	uint32_t minor;
	struct sg_errors errors;
	struct sg_channel *waiting; /* waits for its engine to be idle */
	pthread_mutex_t lock;
	pthread_t thread;
	bool started;
	uint32_t kick; /* futex: set when a thread waits for the engine */
	uint32_t asleep;
	uint32_t wanted; /* number of device calls waiting for the lock */
	struct sg_channel *channels;
	struct sg_memory *bells[64]; /* usermode pages */
	uint64_t bar1; /* bitmap of pages in which TIME reads as zero */
	uint64_t bells_other; /* doorbells whose token belongs to no channel */
	uint64_t spent; /* with `clock`: ns that transfers took */
	uint32_t nbells;
	uint32_t next_chid;
	uint32_t chids[64]; /* bitmap of channel ids in use: 2048 */
	struct sg_task *tasks[256];
};
extern struct sg_gpu sg_gpus[SG_MAX_GPUS];

/* engine.c */
void sg_gpu_start(struct sg_gpu *g);
void sg_gpu_lock(struct sg_gpu *g);
void sg_gpu_unlock(struct sg_gpu *g);
void sg_gpu_forget(void); /* for a forked child, which has no engine thread */
/* Removes CH from its GPU and frees it. The GPU's lock is held. */
void sg_channel_free(struct sg_channel *ch);

/* execute.c: returns false if the channel must wait (acquire); call it again later. */
bool sg_execute(struct sg_channel *ch);
#define SG_MMU_FAULT 31
#define SG_MMU_INFO 0x85010400 /* as seen on an H100 for a store */
/* An MMU fault at VA: ends the channel and all others of its group. */
void sg_fault(struct sg_channel *ch, uint64_t va);
/* Ends them with an error of this number (Xid). */
void sg_end_group(struct sg_channel *ch, uint32_t number, uint64_t va);
bool sg_read(struct sg_channel *ch, uint64_t va, void *to, uint64_t n);
bool sg_write(struct sg_channel *ch, uint64_t va, const void *from, uint64_t n);
/* Semaphore release: writes 4 bytes, or 16 with the time at 8. */
void sg_release(struct sg_channel *ch, uint64_t va, uint64_t payload, bool wide, bool stamp);
/* With `clock`: the GPU's time. */
uint64_t sg_clock(const struct sg_gpu *g);
/* Advances the clock by a transfer of BYTES, through the compute class or the copy engine. */
void sg_spend(struct sg_channel *ch, bool inline_data, uint64_t bytes);
void sg_reduce(struct sg_channel *ch, uint64_t va, uint32_t payload, uint32_t op, bool is_signed);

/* compute.c, copy.c: execute one method write; compute accepts runs of inline data. */
/* Return false if the channel must wait and retry the same word. */
bool sg_compute_method(struct sg_channel *ch, uint32_t method, uint32_t data);
void sg_compute_inline(struct sg_channel *ch, const uint32_t *data, uint32_t n);
void sg_copy_method(struct sg_channel *ch, uint32_t method, uint32_t data);
/* tasks.c: SEND_*PCAS*; action as in SEND_SIGNALING_PCAS2_B. */
bool sg_pcas(struct sg_channel *ch, uint64_t qmd, uint32_t action); /* also may return false */
bool sg_idle(struct sg_channel *ch); /* true if no program of the channel spins */
/* The host's wait for idle: true if no channel of the context on this engine has a program that
 * spins. While one waits, the engine fetches nothing from any of them. */
bool sg_engine_idle(struct sg_channel *ch);
bool sg_engine_waits(struct sg_channel *ch);
/* builtin.c: runs a descriptor's program if it is one of builtin.h. */
void sg_run_program(struct sg_channel *ch, const uint32_t *qmd);
/* True if the program would still spin: its value has not arrived. */
bool sg_program_spins(struct sg_channel *ch, const uint32_t *qmd);

/* ---- files.c: open device files ---- */

enum sg_node { SG_NODE_CTL = 1, SG_NODE_GPU, SG_NODE_UVM };

struct sg_file {
	struct sg_file *next;
	uint64_t ino;
	int32_t refs; /* number of descriptors */
	enum sg_node node;
	uint32_t minor; /* GPU */
	/* The mmap context of an open file, of which there is one. */
	struct sg_memory *area;
	uint64_t area_offset, area_size;
	bool bell_mapped; /* its doorbell page has been mapped */
};

extern pthread_mutex_t sg_lock;
/* Returns NULL if FD is not one of our devices. sg_lock is held. */
struct sg_file *sg_file_of(int fd);
bool sg_any_file(void);

/* ---- rm.c, control.c, uvm.c ---- */

struct sg_object {
	struct sg_object *next; /* next in its hash bucket */
	uint32_t client, handle, parent, object_class;
	uint32_t minor; /* minor of its GPU, or SG_NO_GPU */
	struct sg_memory *memory;
	struct sg_vaspace *vaspace;
	struct sg_channel *channel;
	uint32_t engine, vaspace_handle; /* of a channel group, context share or virtual memory */
	bool scheduled; /* of a channel group */
	uint64_t pinned; /* class 0071: address in the program */
	uint64_t dma_base; /* class 50a0 */
	uint64_t owner; /* root client: inode of its file */
};
struct sg_object *sg_object_find(uint32_t client, uint32_t handle);
/* These return the result of ioctl(): 0 or -errno. */
int sg_rm_ioctl(struct sg_file *f, uint32_t nr, uint32_t size, void *arg);
int sg_uvm_ioctl(struct sg_file *f, unsigned long request, void *arg);
/* Returns NV_STATUS. */
uint32_t sg_rm_control(uint32_t client, uint32_t object, uint32_t cmd, void *params, uint32_t size);
void sg_rm_file_gone(struct sg_file *f);
bool sg_is_usermode(uint32_t object_class);
bool sg_is_bell(uint32_t minor, const struct sg_memory *m);
void sg_uvm_file_gone(struct sg_file *f);
/* The semaphore pool mapped at an address of the UVM device that equals its offset. Returns NULL if
 * there is none. */
struct sg_memory *sg_uvm_pool(uint64_t address, uint64_t size, uint64_t *offset);
void sg_device_uuid(uint32_t minor, uint8_t uuid[16]);
void sg_uvm_unregister(struct sg_vaspace *v);

enum {
	NV_OK = 0,
	NV_ERR_INSERT_DUPLICATE_NAME = 0x19,
	NV_ERR_INSUFFICIENT_RESOURCES = 0x1a,
	NV_ERR_INVALID_ADDRESS = 0x1e,
	NV_ERR_INVALID_ARGUMENT = 0x1f,
	NV_ERR_INVALID_CLASS = 0x22,
	NV_ERR_INVALID_CLIENT = 0x23,
	NV_ERR_INVALID_COMMAND = 0x24,
	NV_ERR_INVALID_DEVICE = 0x26,
	NV_ERR_INVALID_LIMIT = 0x2e,
	NV_ERR_INVALID_OBJECT_HANDLE = 0x33,
	NV_ERR_INVALID_OBJECT_PARENT = 0x36,
	NV_ERR_INVALID_PARAM_STRUCT = 0x3a,
	NV_ERR_NO_MEMORY = 0x51,
	NV_ERR_NOT_SUPPORTED = 0x56,
	NV_ERR_STATE_IN_USE = 0x63,
};

#endif
