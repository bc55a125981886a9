/* SPDX-License-Identifier: MIT */
/*
 * Internals of the stand-in driver. It drives the software GPU as libcuda.so 580 drives a Hopper:
 * with the same device calls, the same layout of rings, pushbuffers and semaphores, and submissions
 * of the same form.
 */
#ifndef SOFTGPU_DRIVER_H
#define SOFTGPU_DRIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../cudadrv.h"
#include "../log.h"
#include "../options.h"
#include "../release.h"
#include "../softgpu.h"

#define API __attribute__((visibility("default"), noinline))
/* A separate stack frame between the API call and the doorbell. */
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
enum sg_layout sg_layout(void); /* as set by SOFTGPU */
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
	pthread_mutex_t lock; /* protects device calls, devices and contexts */
	bool up, gone;
	uint32_t gone_pid;
	int ctl, uvm, uvm_mm;
	uint32_t client, next_handle;
	uint32_t ndevices;
	struct sg_device device[SG_DEVICES];
	bool xfer; /* SOFTGPU=xfer: allocations go through NV_ESC_IOCTL_XFER_CMD */
	/* SOFTGPU=next: a possible future release: inlines smaller copies, fetches none, and
	 * launches in another order with one more method */
	bool next;
	bool turned; /* SOFTGPU=turned: starts the channel groups in another order */
	bool idle; /* SOFTGPU=idle: finds no copy in flight when it copies from page-locked memory
		    */
	bool busy; /* SOFTGPU=busy: finds a copy in flight whenever it checks */
	bool blackwell; /* channels of class c96f; the device writes GP_GET all the same */
	bool untold; /* SOFTGPU=untold: reads tokens from the error notifier instead of requesting
			them */
	enum sg_layout layout;
};
extern struct sg_driver sg_driver;

uint32_t sg_handle(void);
int sg_open_node(const char *path);
/* Returns NV_STATUS, or 0xffffffff if the call itself failed. */
uint32_t sg_alloc(uint32_t parent, uint32_t handle, uint32_t cls, void *params);
uint32_t sg_alloc_on(int fd, uint32_t parent, uint32_t handle, uint32_t cls, void *params);
uint32_t sg_control(uint32_t object, uint32_t cmd, void *params, uint32_t size);
/* A command whose parameters are irrelevant. */
void sg_control_quiet(uint32_t object, uint32_t cmd);
uint32_t sg_rm_free(uint32_t parent, uint32_t handle);
/* Maps MEMORY [0, SIZE) with a new fd of node PATH, at AT if given. Returns NULL on failure. */
void *sg_map(uint32_t device, uint32_t memory, uint64_t size, const char *path, void *at, int prot,
	     bool update);
void sg_unmap(uint32_t device, uint32_t memory, void *p, uint64_t size);
uint32_t sg_uvm(unsigned long request, void *params, uint32_t status_offset);
/* Maps MEMORY at GPU address VA. */
uint32_t sg_external_map(struct sg_device *d, uint64_t va, uint64_t size, uint32_t memory);
/* Maps it for one more device at the same address; unmaps it there. */
uint32_t sg_external_show(struct sg_device *d, uint64_t va, uint64_t size, uint32_t memory);
uint32_t sg_external_hide(struct sg_device *d, uint64_t va, uint64_t size);
uint32_t sg_external_free(uint64_t va, uint64_t size);
uint32_t sg_pin(struct sg_device *d, uint32_t handle, void *p, uint64_t size);
/* Allocates a memory object of class 0040 (on the GPU) or 003e (system). */
uint32_t sg_memory_alloc(struct sg_device *d, uint32_t handle, uint32_t cls, uint64_t size);
uint32_t sg_memory_free(struct sg_device *d, uint32_t handle);
/* The same for virtual memory, of class 50a0. */
uint32_t sg_virtual_alloc(struct sg_device *d, uint32_t handle, uint32_t vaspace);

/* device.c */
CUresult sg_driver_up(void);
CUresult sg_device_up(struct sg_device *d);

/* ---- channel.c ---- */

struct sg_inflight {
	uint32_t start, end; /* bytes of the pushbuffer chunk; none if equal */
	uint32_t payload;
	uint32_t slot, count; /* ring entries */
	bool raw; /* no release: done when GP_GET has passed it */
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
		userd_at; /* object of the ring; offsets in it; USERD's may be in its own object */
	uint8_t *object_cpu, *first_cpu; /* first_cpu: used if there are two mappings */
	uint32_t own_ring, own_pb; /* handles */
	uint8_t *pb;
	uint64_t pb_va; /* its GPU address; differs only for channels with their own memory */
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

/* Takes the channel's lock and reserves NDWORDS in its pushbuffer. Returns NULL if the channel is
 * dead. */
uint32_t *sg_channel_begin(struct softgpu_channel *ch, uint32_t ndwords);
/* Submits the segment that ends at END and contains a release, with one entry and one doorbell.
 * Releases the lock. */
void sg_channel_submit(struct softgpu_channel *ch, uint32_t *end);
void sg_channel_cancel(struct softgpu_channel *ch);
/* Appends the release of the channel's next payload. */
uint32_t *sg_push_progress(struct softgpu_channel *ch, uint32_t *p, uint32_t d);
/* Puts entries into the ring and rings the doorbell. The lock is held; the caller has waited for
 * space in the ring. */
void sg_channel_kick(struct softgpu_channel *ch, const uint64_t *entries, uint32_t n);
bool sg_channel_room(struct softgpu_channel *ch, uint32_t entries);
CUresult sg_channel_wait(struct softgpu_channel *ch, uint32_t payload);
bool sg_channel_done(const struct softgpu_channel *ch, uint32_t payload);
bool sg_channel_dead(const struct softgpu_channel *ch);
/* fault.c: the error of the channel's context, which it finds out if the channel has just died or a
 * kernel of it has failed an assertion. */
CUresult sg_channel_error(struct softgpu_channel *ch);
/* The same for any channel, for a call that could not submit. */
CUresult sg_context_failed(struct sg_context *ctx);
uint32_t sg_waits(uint32_t what); /* see softgpu.h */
CUresult sg_channel_create(struct softgpu_channel *ch, struct sg_context *ctx, uint32_t index,
			   bool copy, uint32_t group, uint32_t share, bool own);
void sg_channel_destroy(struct softgpu_channel *ch);
bool sg_channel_map_again(struct softgpu_channel *ch, bool move);
extern softgpu_store sg_store;
/* doorbell.S: the only doorbell store of the driver. */
void sg_ring_doorbell(volatile void *address, uint32_t token);

/* ---- context.c ---- */

/* Position of a stream: the channel and payload to wait for. */
struct sg_point {
	struct softgpu_channel *ch;
	uint32_t payload;
};

struct sg_block;
struct sg_context {
	struct sg_context *next;
	struct sg_device *device;
	uint64_t base; /* start of its address window; the real driver's starts at 0x200000000 */
	uint32_t group[5], share; /* channel groups: compute, and four copy runlists */
	uint32_t memory[16]; /* handles of the fixed objects */
	uint32_t nmemory;
	uint32_t ring_handle, error_parent;
	uint32_t userd_handle; /* system memory, if the layout has USERDs there */
	uint8_t *userd_cpu;
	struct softgpu_channel ch[SG_CHANNELS];
	pthread_mutex_t lock; /* protects streams, memory, events and modules */
	struct CUstream_st *streams;
	struct CUstream_st *null_stream;
	uint32_t stream_count;
	uint64_t null_last; /* packed position of the null stream */
	uint8_t event_used[8192];
	struct sg_block *blocks; /* device memory */
	struct sg_context *reader[SG_DEVICES]; /* contexts with peer access */
	uint8_t graph_used[512]; /* bitmap of graph descriptors in use */
	CUdeviceptr consts, code;
	void *staging[4]; /* two for each direction, 1 MiB each, page-locked */
	pthread_mutex_t staging_lock;
	uint32_t staging_turn[2];
	struct sg_point staging_busy[4];
	CUmodule builtin;
	volatile uint32_t *doorbell;
	uint32_t extra_ring; /* bit N: place 20 + N in the ring object is taken */
	bool primary;
	_Atomic uint32_t error; /* CUresult of all calls after a fault; 0: none */
	uint32_t debugger; /* handle of the object that asks for the SMs' errors */
	_Atomic uint32_t settled; /* sg_wait_settled() */
	uint32_t refs;
};

CUresult sg_context_create(struct sg_context **ctx, struct sg_device *d);
void sg_context_destroy(struct sg_context *ctx);
/* Current context. Returns NULL if there is none. */
struct sg_context *sg_current(void);
/* With `patient`: waits a few seconds, before the program's first work in a context, until a tool's
 * thread has registered memory there and left it. */
void sg_wait_settled(struct sg_context *context);
void sg_registered(struct sg_context *context);
/* init.c: the first submissions of a new context. */
CUresult sg_context_first(struct sg_context *ctx);

/* ---- memory.c ---- */

CUdeviceptr sg_device_alloc(struct sg_context *ctx, uint64_t size);
bool sg_device_free(struct sg_context *ctx, CUdeviceptr p);
void sg_device_free_all(struct sg_context *ctx);
void *sg_host_alloc(struct sg_context *ctx, uint64_t size);
bool sg_host_free(void *p);
void sg_host_unregister_all(struct sg_context *ctx);
/* Unregisters memory from the GPU without notifying its owner, or, with AGAIN, pins it again. */
bool sg_host_repin(struct sg_context *ctx, bool again);
/* True if [p, p + n) is page-locked memory registered with the GPU. */
bool sg_host_pinned(const void *p, uint64_t n);
bool sg_is_device(struct sg_context *ctx, CUdeviceptr p);
bool sg_is_pinned(CUdeviceptr p);
/* Maps all memory of CTX for another device, or unmaps it there. The context's lock is held. */
bool sg_device_show(struct sg_context *ctx, struct sg_device *d);
void sg_device_hide(struct sg_context *ctx, struct sg_device *d);

/* ---- allocators.c ---- */

/* Returns false if the memory is from no pool. */
bool sg_pool_free(CUdeviceptr p);

/* ---- peer.c ---- */

/* Ends FROM's access to memory of CTX. Returns false if it had none. */
bool sg_peer_drop(struct sg_context *ctx, struct sg_context *from);

/* ---- stream.c ---- */

struct CUgraph_st;
struct CUgraphNode_st;

/* The nodes that the next captured work depends on. */
struct sg_captured {
	struct CUgraph_st *graph; /* NULL: not captured */
	struct CUgraphNode_st *after[4];
	uint32_t n;
};

struct CUstream_st {
	struct CUstream_st *next;
	struct sg_context *ctx;
	bool null, non_blocking;
	struct softgpu_channel *compute, *up, *down;
	uint64_t last; /* packed position; other streams read it without a lock */
	uint64_t kernel_sem; /* semaphore of the last launch until something acquires it; else 0 */
	uint32_t kernel_payload; /* value of the semaphore when the launch is done */
	struct sg_point wait[16]; /* positions to acquire before the next work */
	uint32_t nwait;
	struct sg_captured capture;
	pthread_mutex_t lock; /* held from taking the acquires until the new position is stored */
};

static inline uint64_t sg_pack(struct sg_point p)
{
	return (uint64_t)(p.ch->index + 1) << 32 | p.payload;
}

/* ch is NULL if nothing was submitted yet. */
static inline struct sg_point sg_unpack(struct sg_context *ctx, const uint64_t *packed)
{
	uint64_t v = __atomic_load_n(packed, __ATOMIC_ACQUIRE);

	return (struct sg_point){v ? &ctx->ch[(v >> 32) - 1] : NULL, (uint32_t)v};
}

/* Stream S of the current context; its null stream if S is NULL. Returns NULL without a context or
 * if S is no stream. */
struct CUstream_st *sg_stream(CUstream s);
/* Begins work of S on CH: takes the stream's lock, then the channel's, and writes the acquires that
 * the order needs. Leaves space for NDWORDS. sg_stream_submit() ends the segment. */
uint32_t *sg_stream_begin(struct CUstream_st *s, struct softgpu_channel *ch, uint32_t ndwords);
/* The same for a kernel, which acquires its predecessor itself. */
uint32_t *sg_stream_begin_launch(struct CUstream_st *s, uint32_t ndwords);
CUresult sg_stream_submit(struct CUstream_st *s, struct softgpu_channel *ch, uint32_t *end);
CUresult sg_stream_wait(struct CUstream_st *s);
/* The stream's last launch releases PAYLOAD at SEM when it has ended. */
void sg_stream_kernel(struct CUstream_st *s, uint64_t sem, uint32_t payload);
bool sg_streams_run(struct sg_context *ctx); /* true while a grid of one of its streams runs */

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
	void *bytes; /* its code from a cubin, or a substitute */
	bool uploaded;
};
struct CUmod_st {
	struct sg_context *ctx;
	struct CUfunc_st *functions;
	CUdeviceptr code;
	void *cubin; /* a copy whose kernels are interpreted: SOFTGPU=sass */
	bool placed; /* its variables: variables.c */
};

struct CUfunc_st *sg_function_new(struct CUmod_st *m, const char *name, size_t n);
/* CTX may be NULL for a library. */
CUresult sg_module_load(CUmodule *out, const void *image, struct sg_context *ctx);
CUresult sg_place_variables(struct CUmod_st *m); /* variables.c */
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
/* Words in the descriptor of a launch: constant bank 0 and QMD. */
#define SG_CONSTS_WORDS 132
#define SG_QMD_WORDS 96
void sg_fill_consts(uint32_t *w, const struct sg_launch *l, uint64_t consts, uint64_t qmd,
		    uint32_t number);
void sg_fill_qmd(uint32_t *w, const struct sg_launch *l, uint64_t consts);
uint32_t sg_launch_number(void);
/* Uploads DATA to the device as code, with the brackets that code needs. */
CUresult sg_upload_code(struct sg_context *ctx, CUdeviceptr to, const void *data, uint32_t bytes);
/* Launches one of the driver's own kernels (enum sg_program_op) with 64-bit parameters. */
CUresult sg_launch_builtin(struct CUstream_st *s, uint32_t op, const uint64_t *params, uint32_t n,
			   uint32_t threads);
CUresult sg_builtin_load(struct sg_context *ctx);
CUmodule sg_module_new(struct sg_context *ctx);
void sg_module_drop(CUmodule m);

uint32_t *sg_push_pcas(uint32_t *p, uint64_t qmd, uint32_t action);
enum { SG_PCAS_SCHEDULE = 0xa, SG_PCAS_DECREMENT = 7 }; /* INVALIDATE_PREFETCH_COPY_SCHEDULE, ... */

/* Reads kernelParams, or the buffer form in extra. */
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
	CUgraph child; /* child graph, or the body of a conditional node */
	struct sg_condition *condition;
	CUgraphNode original; /* node it was copied from */
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
/* Returns NULL if the graph has a conditional node. */
CUgraph sg_graph_copy(CUgraph g);
CUresult sg_node_params(struct sg_launch *l, const CUDA_KERNEL_NODE_PARAMS *p);
/* S, which need not be captured yet, waits for an event that was recorded in another stream. */
void sg_capture_join(struct CUstream_st *s, const struct sg_captured *event);
/* Adds a launch to S, which is being captured. */
CUresult sg_capture_launch(struct CUstream_st *s, const struct sg_launch *l);
/* The same for an allocation. */
CUresult sg_capture_alloc(struct CUstream_st *s, CUdeviceptr *p, size_t size);
CUresult sg_capture_free(struct CUstream_st *s, CUdeviceptr p);

#endif
