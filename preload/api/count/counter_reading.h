/* SPDX-License-Identifier: MIT */
/*
 * count=: instruction counting in kernels. load.c gives the driver instrumented code instead of the
 * program's; counters.c manages the counters in GPU memory and their names; counting.c decides when
 * to read them, and reads them. Contract: runs on threads of the program, around its own calls,
 * never in the trap. Calls driver entry points with nvs_calls.quiet raised, never under nvs_lock.
 * Waits for the GPU are bounded, except with exact=sync.
 */
#ifndef NVSNOOP_PRELOAD_API_COUNT_COUNTER_READING_H
#define NVSNOOP_PRELOAD_API_COUNT_COUNTER_READING_H

#include "preload/api/intercept/api.h"

/* Driver functions, looked up once. Arguments as in the CUDA driver API. */
struct nvs_counting_driver {
	int (*get_current)(uint64_t *context);
	int (*push)(uint64_t context);
	int (*pop)(uint64_t *context);
	int (*get_device)(int *device);
	int (*device_count)(int *n);
	int (*exchange_mode)(int *mode);
	int (*granularity)(size_t *bytes, const void *prop, int option);
	int (*reserve)(uint64_t *at, size_t bytes, size_t alignment, uint64_t wish, uint64_t flags);
	int (*create)(uint64_t *handle, size_t bytes, const void *prop, uint64_t flags);
	int (*map)(uint64_t at, size_t bytes, size_t offset, uint64_t handle, uint64_t flags);
	int (*access)(uint64_t at, size_t bytes, const void *to, size_t n);
	int (*set)(uint64_t at, uint8_t value, size_t bytes, uint64_t stream);
	int (*copy)(void *to, uint64_t from, size_t bytes, uint64_t stream);
	int (*enlist)(void *p, size_t bytes, unsigned flags);
	int (*stream_create)(uint64_t *stream, unsigned flags);
	int (*stream_query)(uint64_t stream);
	int (*stream_wait)(uint64_t stream);
};

/* A kernel name, shared by kernels of different modules. */
struct nvs_counted_name {
	struct nvs_counted_name *next; /* next in the bucket */
	uint64_t hash;
	struct nvs_kernel_counter *first; /* list of counters with this name */
	_Atomic bool in_graph; /* some graph may launch it */
	uint32_t length;
	char text[];
};

/* The latest launch whose counts may be unread: ticks after it (0: none), its stream, and the
 * context that was current. */
struct nvs_launch_mark {
	_Atomic uint64_t at, stream, context;
};

struct nvs_kernel_counter {
	struct nvs_kernel_counter *next,
		*same; /* next: in order of their memory; same: same name */
	struct nvs_counted_name *name;
	uint64_t address; /* on the GPU; 0: not counted */
	uint32_t number;
	uint64_t warp, thread; /* values at the last read */
	bool copied; /* by the read in progress */
	uint32_t place; /* offset in the read buffer */
	bool unsure; /* part of its growth may be from before the window */
	struct nvs_launch_mark launched;
};

#define NVS_COUNTING_PIECE (2ull << 20) /* unit and alignment of memory */

#define NVS_SEVERAL UINT64_MAX /* several streams or contexts */

struct nvs_counting_context {
	_Atomic uint64_t context, stream; /* stream: ours in this context */
};
#define NVS_COUNTING_CONTEXTS 64
#define NVS_COUNTED_NAMES 4096 /* hash buckets */
#define NVS_COUNTED_FUNCTIONS (1u << 14)

/* A COUNTER record to write when the session starts. */
struct nvs_counter_pending {
	struct nvs_counter_pending *next;
	struct nvs_rec_counter rec;
};

struct nvs_counting {
	struct nvs_counting_driver driver;
	bool able; /* the driver has all functions */
	_Atomic uint32_t lock; /* protects the counters, their names and their memory; held during
				  driver calls */
	uint64_t lock_mask; /* signal mask of the lock's holder */
	uint64_t room, room_end; /* free part of the newest piece of memory */
	bool apart; /* some GPU cannot reach another's memory */
	uint32_t ncounters;
	struct nvs_kernel_counter *_Atomic first, *last;
	struct nvs_counter_pending *_Atomic unwritten; /* newest first */
	struct nvs_counted_name *_Atomic name[NVS_COUNTED_NAMES];
	struct nvs_counting_context contexts[NVS_COUNTING_CONTEXTS];
	/* By function handle and generation (nvs_api_known_key()). */
	struct {
		_Atomic uint64_t key;
		struct nvs_counted_name *_Atomic name; /* NULL: not counted */
	} function[NVS_COUNTED_FUNCTIONS];
	struct nvs_launch_mark graphs;
	_Atomic uint32_t reading; /* tid of the thread that owns the fields below; 0: none */
	bool discard; /* the read in progress discards counts from before the window */
	_Atomic bool missed; /* the read at the start of a window failed */
	uint8_t *memory; /* read buffer, registered with the driver */
	/* Stream of ours that may still write to the buffer, 0: none; and its context. */
	_Atomic uint64_t outstanding;
	uint64_t outstanding_context;
	uint64_t read_end, read_cost; /* end and duration of the latest read, in ticks */
	uint64_t credit; /* ticks that reads may still take */
};

/* counting.c: NULL: nothing is counted. nvs_counting_start() creates it when the first code is
 * loaded. */
struct nvs_counting *nvs_counting(void);
struct nvs_counting *nvs_counting_start(void);

/* counters.c */
/* Returns false if the driver lacks a required function. */
bool nvs_counting_find_driver(struct nvs_counting_driver *d);
/* Brackets driver calls made by the library: they are not recorded and do not disturb captures. */
void nvs_counting_enter(struct nvs_counting *c, int *mode);
void nvs_counting_leave(struct nvs_counting *c, int mode);
/* Also blocks signals, since a handler might leave by a longjmp. Returns false after a timeout. */
bool nvs_counting_lock(struct nvs_counting *c);
void nvs_counting_unlock(struct nvs_counting *c);
/* Allocates zeroed memory at an address that is the same on every GPU of the process. Returns 0 and
 * sets *WHY on failure. Needs a current context and the lock. */
uint64_t nvs_counting_alloc(struct nvs_counting *c, uint64_t bytes, const char **why);
/* The library's stream in the current context. Returns 0 if there is none. */
uint64_t nvs_counting_stream(struct nvs_counting *c);
/* Returns false if STREAM has not finished within MS milliseconds. */
bool nvs_counting_wait(struct nvs_counting *c, uint64_t stream, unsigned ms);
/* Adds a counter for kernel NAME at ADDRESS, under the lock. Returns NULL if out of memory. */
struct nvs_kernel_counter *nvs_counting_add(struct nvs_counting *c, const char *name,
					    uint64_t address);
/* Returns NULL if the function is not counted. */
struct nvs_counted_name *nvs_counting_function(struct nvs_counting *c, uint64_t function);

/* load.c: writes the records that were kept until the session started. */
void nvs_counters_record(struct nvs_counting *c);

/* counting.c */
void nvs_counting_in_graph(uint64_t function);
/* Returns true if everything due was read. */
bool nvs_counting_read(enum nvs_count_cause cause, uint64_t number);
/* load.c: call after a load. Restores the program's arguments and, if the driver refused the
 * instrumented code, loads the program's own. */
void nvs_load_finish(struct nvs_api_frame *frame);
/* Frees the code kept for HANDLE, a module or library that was unloaded. */
void nvs_load_free_image(uint64_t handle);

#endif
