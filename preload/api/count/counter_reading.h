/* SPDX-License-Identifier: MIT */
/*
 * count=: kernels that count their own instructions. load.c hands the driver code that counts in
 * place of the program's, counters.c keeps the counters in the GPU's memory and who they belong to,
 * counting.c says when they are read, and reads them.
 *
 * Contract: on threads of the program, around its own calls, never in the trap. The driver is asked
 * by its own entry points, with nvs_calls.quiet, and never under nvs_lock. Nothing waits for the
 * GPU without end, but exact=sync, which is there to wait.
 */
#ifndef NVSNOOP_PRELOAD_API_COUNT_COUNTER_READING_H
#define NVSNOOP_PRELOAD_API_COUNT_COUNTER_READING_H

#include "preload/api/intercept/api.h"

/* The driver's functions, asked for once. Arguments: CUDA driver API. */
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

/* A name that kernels have, whatever their modules. */
struct nvs_counted_name {
	struct nvs_counted_name *next; /* of its bucket */
	uint64_t hash;
	struct nvs_kernel_counter *first; /* of those with this name */
	_Atomic bool in_graph; /* a launch of any graph may run it */
	uint32_t length;
	char text[];
};

/* The latest launch whose counts may not have been read: ticks behind it, 0: none; its stream, and
 * the context that was current. */
struct nvs_launch_mark {
	_Atomic uint64_t at, stream, context;
};

struct nvs_kernel_counter {
	struct nvs_kernel_counter *next, *same; /* in the order of their memory; of its name */
	struct nvs_counted_name *name;
	uint64_t address; /* on the GPU; 0: it does not count */
	uint32_t number;
	uint64_t warp, thread; /* as they were read last */
	bool copied; /* by the reading that is under way */
	uint32_t place; /* where in its memory */
	bool unsure; /* part of what it has grown by may be of before the window */
	struct nvs_launch_mark launched;
};

#define NVS_COUNTING_PIECE (2ull << 20) /* of memory: multiples of it, at such addresses */

#define NVS_SEVERAL UINT64_MAX /* streams, contexts */

struct nvs_counting_context {
	_Atomic uint64_t context, stream; /* a stream of ours in it */
};
#define NVS_COUNTING_CONTEXTS 64
#define NVS_COUNTED_NAMES 4096 /* buckets */
#define NVS_COUNTED_FUNCTIONS (1u << 14)

/* A COUNTER that was due before there was a trace. */
struct nvs_counter_untold {
	struct nvs_counter_untold *next;
	struct nvs_rec_counter rec;
};

struct nvs_counting {
	struct nvs_counting_driver driver;
	bool able; /* the driver has all of them */
	_Atomic uint32_t lock; /* what follows up to memory; held while the driver is asked */
	uint64_t lock_mask; /* signals that who holds it had blocked before */
	uint64_t room, room_end; /* of the newest piece of memory */
	bool apart; /* a GPU that cannot reach the memory of another is among them */
	uint32_t ncounters;
	struct nvs_kernel_counter *_Atomic first, *last;
	struct nvs_counter_untold *_Atomic untold; /* the latest first */
	struct nvs_counted_name *_Atomic name[NVS_COUNTED_NAMES];
	struct nvs_counting_context contexts[NVS_COUNTING_CONTEXTS];
	/* By function handle and generation (nvs_api_known_key()) */
	struct {
		_Atomic uint64_t key;
		struct nvs_counted_name *_Atomic name; /* NULL: it does not count */
	} function[NVS_COUNTED_FUNCTIONS];
	struct nvs_launch_mark graphs;
	_Atomic uint32_t reading; /* a thread is at what follows */
	bool discard; /* what this reading finds is of before the window */
	_Atomic bool missed; /* a window began that could not be read: to be noted */
	uint8_t *memory; /* to read into, registered with the driver */
	/* Stream of ours that may still write there, 0: none; and its context. */
	_Atomic uint64_t outstanding;
	uint64_t outstanding_context;
	uint64_t read_end, read_cost; /* ticks of the latest reading */
	uint64_t credit; /* ticks that readings may still take */
};

/* counting.c: NULL: nothing is counted. Made when the first code is loaded. */
struct nvs_counting *nvs_counting(void);
struct nvs_counting *nvs_counting_start(void);

/* counters.c */
/* False: the driver lacks one that is needed. */
bool nvs_counting_find_driver(struct nvs_counting_driver *d);
/* Calls of the driver's from here on are ours, and no capture is disturbed by them. */
void nvs_counting_enter(struct nvs_counting *c, int *mode);
void nvs_counting_leave(struct nvs_counting *c, int mode);
void nvs_counting_nap(long ns);
/* No handler of the program's comes in between, which might jump out. False: not to be had in time.
 */
bool nvs_counting_lock(struct nvs_counting *c);
void nvs_counting_unlock(struct nvs_counting *c);
/* Zeroed memory that every GPU of the process sees at the address returned; 0: none, and *WHY. In a
 * current context, under the lock. */
uint64_t nvs_counting_room(struct nvs_counting *c, uint64_t bytes, const char **why);
/* Ours in the current context; 0: there is none. */
uint64_t nvs_counting_stream(struct nvs_counting *c);
/* False: it has not come to its end within MS. */
bool nvs_counting_wait(struct nvs_counting *c, uint64_t stream, unsigned ms);
/* Under the lock: the counter of kernel NAME at ADDRESS; NULL: no memory. */
struct nvs_kernel_counter *nvs_counting_add(struct nvs_counting *c, const char *name,
					    uint64_t address);
struct nvs_counted_name *nvs_counting_find(struct nvs_counting *c, const char *name);
/* NULL: it does not count. */
struct nvs_counted_name *nvs_counting_function(struct nvs_counting *c, uint64_t function);

/* load.c: what could not be told before. */
void nvs_load_tell(struct nvs_counting *c);

/* counting.c */
void nvs_counting_in_graph(uint64_t function);
/* True: all that was due has been read. */
bool nvs_counting_read(enum nvs_count_cause cause, uint64_t number);
/* load.c: the call is over; what was put in place of the program's arguments is taken back, and
 * where the driver refused it, the program's own is handed on. */
void nvs_load_done(struct nvs_api_frame *frame);
/* What was made of code, by its HANDLE, is no more. */
void nvs_load_forget(uint64_t handle);

#endif
