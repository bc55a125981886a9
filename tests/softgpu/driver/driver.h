/* SPDX-License-Identifier: MIT */
/*
 * The stand-in driver, inside. It drives the software GPU as libcuda.so 580 drives a Hopper: the
 * same device calls, the same layout of rings, pushbuffers and semaphores, submissions of the same
 * shape.
 */
#ifndef SOFTGPU_DRIVER_H
#define SOFTGPU_DRIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../cudadrv.h"
#include "../log.h"
#include "../softgpu.h"

#define API __attribute__((visibility("default"), noinline))
/* A frame of its own between the API call and the doorbell */
#define LEVEL __attribute__((noinline))

#define SG_DEVICES 4
#define SG_COMPUTE_CHANNELS 8
#define SG_CHANNELS 20
#define SG_RING 1024

/* ---- layout.c ---- */

enum sg_layout {
	SG_LAYOUT_DRIVER,
	SG_LAYOUT_SLOTS,
	SG_LAYOUT_TOGETHER,
	SG_LAYOUT_ODD,
	SG_LAYOUT_CROSSED,
	SG_LAYOUT_SYSTEM,
	SG_LAYOUT_BESIDE
};
enum sg_layout sg_layout(void); /* as SOFTGPU says */
void sg_layout_place(enum sg_layout layout, uint32_t n, uint64_t slots, uint64_t *ring,
		     uint64_t *userd);

/* ---- rm.c: device calls ---- */

struct sg_device {
	bool present, up;
	uint32_t minor, gpu_id;
	uint32_t handle, subdevice, vaspace, virtual_memory; /* RM handles */
	int fd; /* /dev/nvidiaN kept open */
	uint8_t uuid[16];
	uint32_t usermode[2]; /* objects: BAR0, BAR1 */
	volatile uint32_t *page[2];
	char name[128];
};

struct sg_driver {
	pthread_mutex_t lock; /* device calls, devices, contexts */
	bool up, gone;
	uint32_t gone_pid;
	int ctl, uvm, uvm_mm;
	uint32_t client, next_handle;
	uint32_t ndevices;
	struct sg_device device[SG_DEVICES];
	bool xfer; /* SOFTGPU=xfer: allocations go through NV_ESC_IOCTL_XFER_CMD */
	/* SOFTGPU=next: as a release to come might do it: smaller copies inline, none fetched,
	 * launches in another order and with a method more */
	bool next;
	bool turned; /* SOFTGPU=turned: groups of channels are begun in another order */
	bool idle; /* SOFTGPU=idle: it finds none when it copies from page-locked memory */
	bool busy; /* SOFTGPU=busy: it finds a copy in flight whenever it looks for one */
	bool untold; /* SOFTGPU=untold: tokens are taken from the error notifier, not asked for */
	uint32_t release; /* major number, as the kernel told it */
	uint32_t usermode; /* class of doorbell pages */
	enum sg_layout layout;
};
extern struct sg_driver sg_driver;

uint32_t sg_handle(void);
int sg_open_node(const char *path);
/* NV_STATUS, or 0xffffffff when the call itself failed. */
uint32_t sg_alloc(uint32_t parent, uint32_t handle, uint32_t cls, void *params);
uint32_t sg_alloc_on(int fd, uint32_t parent, uint32_t handle, uint32_t cls, void *params);
uint32_t sg_control(uint32_t object, uint32_t cmd, void *params, uint32_t size);
/* A command whose parameters do not matter. */
void sg_control_quiet(uint32_t object, uint32_t cmd, uint32_t size);
uint32_t sg_rm_free(uint32_t parent, uint32_t handle);
/* Maps MEMORY [0, SIZE) from a fresh fd of node PATH, at AT if given. NULL: failed. */
void *sg_map(uint32_t device, uint32_t memory, uint64_t size, const char *path, void *at, int prot,
	     bool update);
void sg_unmap(uint32_t device, uint32_t memory, void *p, uint64_t size);
uint32_t sg_uvm(unsigned long request, void *params, uint32_t status_offset);
/* Shows MEMORY at GPU address VA. */
uint32_t sg_external_map(struct sg_device *d, uint64_t va, uint64_t size, uint32_t memory);
/* To one more device, at the same address; and to it no more. */
uint32_t sg_external_show(struct sg_device *d, uint64_t va, uint64_t size, uint32_t memory);
uint32_t sg_external_hide(struct sg_device *d, uint64_t va, uint64_t size);
uint32_t sg_external_free(uint64_t va, uint64_t size);
uint32_t sg_pin(struct sg_device *d, uint32_t handle, void *p, uint64_t size);
/* Memory object of class 0040 (on the GPU) or 003e (system). */
uint32_t sg_memory_alloc(struct sg_device *d, uint32_t handle, uint32_t cls, uint64_t size);

/* device.c */
CUresult sg_driver_up(void);
CUresult sg_device_up(struct sg_device *d);

/* ---- channel.c ---- */

struct sg_inflight {
	uint32_t start, end; /* bytes of the pushbuffer chunk; equal: none */
	uint32_t payload;
	uint32_t slot, count; /* ring entries */
	bool raw; /* without a release: gone when GP_GET has passed */
};

struct softgpu_channel {
	struct sg_context *ctx;
	uint32_t index;
	bool copy, own;
	pthread_mutex_t lock;
	uint32_t handle, notifier_handle, engine[2];
	uint32_t *notifier;
	uint32_t token, serial, entries, put;
	volatile uint64_t *ring;
	volatile uint32_t *userd;
	uint64_t ring_va;
	uint64_t object_va, ring_at,
		userd_at; /* the object that holds the ring; offsets, USERD's in its own object */
	uint8_t *object_cpu, *first_cpu; /* first_cpu: if there are two mappings */
	uint32_t own_ring, own_pb; /* handles */
	uint8_t *pb;
	uint64_t pb_va; /* its GPU address: the same, but for channels with memory of their own */
	uint32_t pb_size, pb_pos;
	uint64_t progress_va;
	volatile uint32_t *progress;
	uint32_t payload; /* last submitted */
	uint32_t *rung;
	uint64_t doorbells, ext_base;
	struct sg_inflight fly[SG_RING];
	uint32_t fly_head, fly_tail; /* counts */
	uint32_t launches; /* slots for descriptors and constants */
	uint32_t counted;
};

/* Takes the channel's lock and returns room for NDWORDS in its pushbuffer; NULL: the channel is
 * dead. */
uint32_t *sg_channel_begin(struct softgpu_channel *ch, uint32_t ndwords);
/* The segment ends at END, with a release in it: one entry, one doorbell; lets the lock go. */
void sg_channel_submit(struct softgpu_channel *ch, uint32_t *end);
void sg_channel_cancel(struct softgpu_channel *ch);
/* Appends the release of the channel's next payload. */
uint32_t *sg_push_progress(struct softgpu_channel *ch, uint32_t *p, uint32_t d);
/* Puts entries into the ring and rings; under the lock. Room in the ring was waited for. */
void sg_channel_kick(struct softgpu_channel *ch, const uint64_t *entries, uint32_t n);
bool sg_channel_room(struct softgpu_channel *ch, uint32_t entries);
CUresult sg_channel_wait(struct softgpu_channel *ch, uint32_t payload);
bool sg_channel_done(const struct softgpu_channel *ch, uint32_t payload);
bool sg_channel_dead(const struct softgpu_channel *ch);
uint32_t sg_waits(uint32_t what); /* as softgpu.h has it */
CUresult sg_channel_create(struct softgpu_channel *ch, struct sg_context *ctx, uint32_t index,
			   bool copy, uint32_t group, uint32_t share, bool own);
void sg_channel_destroy(struct softgpu_channel *ch);
bool sg_channel_map_again(struct softgpu_channel *ch, bool move);
extern softgpu_store sg_store;
/* doorbell.S: the one store of the driver. */
void sg_ring_doorbell(volatile void *address, uint32_t token);

/* ---- context.c ---- */

/* Where a stream stands: channel and payload to wait for. */
struct sg_point {
	struct softgpu_channel *ch;
	uint32_t payload;
};

struct sg_block;
struct sg_context {
	struct sg_context *next;
	struct sg_device *device;
	uint64_t base; /* of its window of addresses: what the real one has at 0x200000000 */
	uint32_t group[5], share; /* channel groups: compute, and four copy runlists */
	uint32_t memory[16]; /* handles of the fixed objects */
	uint32_t nmemory;
	uint32_t ring_handle, error_parent;
	uint32_t userd_handle; /* system memory, if the layout has USERDs there */
	uint8_t *userd_cpu;
	struct softgpu_channel ch[SG_CHANNELS];
	pthread_mutex_t lock; /* streams, memory, events, modules */
	struct CUstream_st *streams;
	struct CUstream_st *null_stream;
	uint32_t stream_count;
	uint64_t null_last; /* packed point of the null stream */
	uint8_t event_used[8192];
	struct sg_block *blocks; /* device memory */
	struct sg_context *reader[SG_DEVICES]; /* those that have access to it as a peer's */
	uint8_t graph_used[512]; /* descriptors of graphs in use: bits */
	CUdeviceptr consts, code;
	void *staging[4]; /* two up, two down, 1 MiB each; pinned */
	pthread_mutex_t staging_lock;
	uint32_t staging_turn[2];
	struct sg_point staging_busy[4];
	CUmodule builtin;
	volatile uint32_t *doorbell;
	uint32_t extra_ring; /* bit n: place 20 + n in the ring object is taken */
	bool primary;
	_Atomic uint32_t settled; /* sg_wait_settled() */
	uint32_t refs;
};

CUresult sg_context_create(struct sg_context **ctx, struct sg_device *d);
void sg_context_destroy(struct sg_context *ctx);
/* Current context, NULL: none. */
struct sg_context *sg_current(void);
/*
 * With `patient`: a program does nothing in a context until somebody has registered memory there
 * and left it, as a tool's thread does; for a few seconds.
 */
void sg_wait_settled(struct sg_context *context);
void sg_registered(struct sg_context *context);
/* init.c: what a new context submits first. */
CUresult sg_context_first(struct sg_context *ctx);

/* ---- memory.c ---- */

CUdeviceptr sg_device_alloc(struct sg_context *ctx, uint64_t size);
bool sg_device_free(struct sg_context *ctx, CUdeviceptr p);
void sg_device_free_all(struct sg_context *ctx);
void *sg_host_alloc(struct sg_context *ctx, uint64_t size);
bool sg_host_free(void *p);
void sg_host_unregister_all(struct sg_context *ctx);
/* Takes registered memory from the GPU without telling its owner, or, again, pins it once more. */
bool sg_host_repin(struct sg_context *ctx, bool again);
/* Whether [p, p + n) is page-locked memory that the GPU knows. */
bool sg_host_pinned(const void *p, uint64_t n);
bool sg_is_device(struct sg_context *ctx, CUdeviceptr p);
bool sg_is_pinned(CUdeviceptr p);
/* All that CTX has, to another device, or to it no more; under the context's lock. */
bool sg_device_show(struct sg_context *ctx, struct sg_device *d);
void sg_device_hide(struct sg_context *ctx, struct sg_device *d);

/* ---- allocators.c ---- */

/* False: it is of no pool. */
bool sg_pool_free(CUdeviceptr p);

/* ---- peer.c ---- */

/* FROM has access to no memory of CTX any more; false: it had none. */
bool sg_peer_drop(struct sg_context *ctx, struct sg_context *from);

/* ---- stream.c ---- */

struct CUgraph_st;
struct CUstream_st {
	struct CUstream_st *next;
	struct sg_context *ctx;
	bool null, non_blocking;
	struct softgpu_channel *compute, *up, *down;
	uint64_t last; /* packed point: read by other streams without a lock */
	uint64_t kernel_sem; /* of the last launch, until something has acquired it; else 0 */
	uint32_t kernel_payload; /* what it reads when the launch is done */
	struct sg_point wait[16]; /* points to acquire before the next work */
	uint32_t nwait;
	struct CUgraph_st *capture;
	pthread_mutex_t lock; /* held from taking the acquires to noting the new point */
};

static inline uint64_t sg_pack(struct sg_point p)
{
	return (uint64_t)(p.ch->index + 1) << 32 | p.payload;
}

/* ch NULL: nothing yet. */
static inline struct sg_point sg_unpack(struct sg_context *ctx, const uint64_t *packed)
{
	uint64_t v = __atomic_load_n(packed, __ATOMIC_ACQUIRE);

	return (struct sg_point){v ? &ctx->ch[(v >> 32) - 1] : NULL, (uint32_t)v};
}

/* Stream S of the current context (NULL: its null stream); NULL: no context, or not a stream. */
struct CUstream_st *sg_stream(CUstream s);
/*
 * Begins work of S on CH: takes the stream's lock, then the channel's, and writes the acquires that
 * its order demands; room for NDWORDS more. sg_stream_submit() ends the segment.
 */
uint32_t *sg_stream_begin(struct CUstream_st *s, struct softgpu_channel *ch, uint32_t ndwords);
/* The same for a kernel, which acquires the kernel before it by itself. */
uint32_t *sg_stream_begin_launch(struct CUstream_st *s, uint32_t ndwords);
CUresult sg_stream_submit(struct CUstream_st *s, struct softgpu_channel *ch, uint32_t *end);
CUresult sg_stream_wait(struct CUstream_st *s);
/* Its last launch releases PAYLOAD at SEM when it has ended. */
void sg_stream_kernel(struct CUstream_st *s, uint64_t sem, uint32_t payload);
bool sg_streams_run(struct sg_context *ctx); /* a grid of one of its streams has not ended */

/* ---- launch.c, module.c ---- */

struct CUfunc_st {
	struct CUfunc_st *next;
	struct CUmod_st *module;
	char *name;
	CUdeviceptr code;
	uint32_t code_bytes;
	uint32_t nparams;
	uint32_t param_size[64], param_offset[64];
	uint32_t params_bytes;
	void *bytes; /* its code, of a cubin, or what stands for it */
	bool uploaded;
};
struct CUmod_st {
	struct sg_context *ctx;
	struct CUfunc_st *functions;
	CUdeviceptr code;
	void *cubin; /* a copy, where its kernels are to be interpreted: SOFTGPU=sass */
};

struct CUfunc_st *sg_function_new(struct CUmod_st *m, const char *name, size_t n);
/* CTX may be NULL, of a library. */
CUresult sg_module_load(CUmodule *out, const void *image, struct sg_context *ctx);
/* ---- cubin.c ---- */
bool sg_is_cubin(const void *image);
CUresult sg_cubin_parse(struct CUmod_st *m, const void *image);

struct sg_launch {
	struct CUfunc_st *fn;
	uint32_t grid[3], block[3], shared;
	uint32_t params_bytes;
	uint8_t params[4096];
};
CUresult sg_launch(struct CUstream_st *s, const struct sg_launch *l);
/* Descriptor words of a launch: constants bank 0 and QMD. */
#define SG_CONSTS_WORDS 132
#define SG_QMD_WORDS 96
void sg_fill_consts(uint32_t *w, const struct sg_launch *l, uint64_t consts, uint64_t qmd,
		    uint32_t number);
void sg_fill_qmd(uint32_t *w, const struct sg_launch *l, uint64_t consts);
uint32_t sg_launch_number(void);
/* Brackets and uploads DATA to the device as code. */
CUresult sg_upload_code(struct sg_context *ctx, CUdeviceptr to, const void *data, uint32_t bytes);
/* One of the driver's own kernels (enum sg_program_op) with 64-bit parameters. */
CUresult sg_launch_builtin(struct CUstream_st *s, uint32_t op, const uint64_t *params, uint32_t n,
			   uint32_t threads);
CUresult sg_builtin_load(struct sg_context *ctx);
CUmodule sg_module_new(struct sg_context *ctx);
void sg_module_drop(CUmodule m);

uint32_t *sg_push_pcas(uint32_t *p, uint64_t qmd, uint32_t action);
enum { SG_PCAS_SCHEDULE = 0xa, SG_PCAS_DECREMENT = 7 }; /* INVALIDATE_PREFETCH_COPY_SCHEDULE, ... */

/* kernelParams, or the buffer form in extra. */
CUresult sg_take_params(struct sg_launch *l, void **params, void **extra);

/* ---- graph.c ---- */

/* CUgraphNodeType */
enum {
	SG_NODE_KERNEL = 0,
	SG_NODE_GRAPH = 4,
	SG_NODE_EMPTY = 5,
	SG_NODE_ALLOC = 10,
	SG_NODE_FREE = 11,
	SG_NODE_CONDITIONAL = 13
};

struct sg_condition {
	struct sg_condition *next;
	uint32_t value;
};
struct CUgraphNode_st {
	struct CUgraphNode_st *next;
	CUgraph graph;
	int type;
	struct sg_launch launch;
	CUgraph child; /* child graph, or body of a conditional node */
	struct sg_condition *condition;
	CUgraphNode original; /* of which it is a copy */
	CUdeviceptr address; /* of memory that it allocates or frees */
	size_t bytes;
};
struct sg_edge {
	CUgraphNode from, to;
	CUgraphEdgeData data;
};
struct CUgraph_st {
	CUgraphNode first;
	struct sg_edge *edges;
	size_t nedges;
	struct sg_condition *conditions;
};
void sg_graph_free(CUgraph g); /* may be NULL */
/* NULL: there is a conditional node in it. */
CUgraph sg_graph_copy(CUgraph g);
CUresult sg_node_params(struct sg_launch *l, const CUDA_KERNEL_NODE_PARAMS *p);
/* A launch into S, which is being captured. */
CUresult sg_capture_launch(struct CUstream_st *s, const struct sg_launch *l);
/* And one of memory. */
CUresult sg_capture_alloc(struct CUstream_st *s, CUdeviceptr *p, size_t size);
CUresult sg_capture_free(struct CUstream_st *s, CUdeviceptr p);

#endif
