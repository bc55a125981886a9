/* SPDX-License-Identifier: MIT */
/*
 * Shared tables of the code that tracks the resource manager: objects, entities, mappings and
 * channels. Everything here is accessed with nvs_lock held, unless a comment says otherwise; the
 * trap reads only the published view.
 */
#ifndef NVSNOOP_PRELOAD_RM_RM_H
#define NVSNOOP_PRELOAD_RM_RM_H

#include "preload/rm/abi.h"
#include "preload/rm/nvrm.h"
#include "preload/base/preload.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(bytes) nvs_alloc(bytes)
#define uthash_free(p, bytes) nvs_free(p, bytes)
#include <uthash.h>
#include <utlist.h>

#define NVS_MAX_GPUS 64
#define NVS_MAX_UNKNOWN 64

/* ---- spans.c: sorted arrays of address ranges ---- */
struct nvs_address_span {
	uint64_t start, end; /* end is exclusive */
};
struct nvs_address_spans {
	struct nvs_address_span **at; /* sorted by start */
	uint32_t n, room;
	uint64_t longest; /* length of the longest span ever in the array */
};
int nvs_spans_add(struct nvs_address_spans *spans, struct nvs_address_span *span);
void nvs_spans_remove(struct nvs_address_spans *spans, struct nvs_address_span *span);
/* Index of the first span that may reach beyond START. From there on the caller must check each
 * span for overlap, as NVS_SPANS_EACH does. */
uint32_t nvs_spans_from(const struct nvs_address_spans *spans, uint64_t start);
/* Sets M, a pointer to what begins with the span, to each that overlaps [FROM, TO). */
#define NVS_SPANS_EACH(spans, m, from, to)                             \
	for (uint32_t m##_i = nvs_spans_from(spans, from);             \
	     m##_i < (spans)->n && (spans)->at[m##_i]->start < (to) && \
	     ((m) = (void *)(spans)->at[m##_i], true);                 \
	     m##_i++)                                                  \
		if ((spans)->at[m##_i]->end > (from))

#define NVS_SPANS_ALL(spans, m) NVS_SPANS_EACH(spans, m, 0, UINT64_MAX)

/* ---- entity.c, objects.c ---- */
/* The memory or object that a handle and its duplicates refer to. */
struct nvs_entity {
	uint32_t id; /* unique, from 1; never reused */
	uint32_t refs;
	struct nvs_cpu_map *cpu;
	struct nvs_gpu_map *gpu;
};

#define NVS_DOORBELL_BYTES 0x10000 /* size of a usermode object */

/* A successful RM_MAP_MEMORY: what an mmap of the fd it named will show. */
struct nvs_rm_map {
	uint32_t refs;
	struct nvs_driver_object *object; /* NULL after it was unmapped or the object freed */
	uint64_t offset, length; /* in the object */
	bool on_gpu_node; /* for an object below a subdevice */
	uint64_t linear,
		updated; /* addresses by which RM_UNMAP_MEMORY may name it; updated: 0 if none */
	struct nvs_rm_map *prev, *next;
};

#define NVS_MAX_PARAMS 512 /* bytes kept of an object's parameters */

struct nvs_driver_object {
	struct {
		uint32_t client, handle;
	} key;
	uint32_t parent, object_class, gpu;
	uint32_t source_client, source_handle;
	uint32_t file; /* of a client: the open file that owns it */
	uint32_t vaspace; /* handle of the address space it names; 0: none */
	uint32_t engine;
	uint32_t uses; /* number of GPU mappings made with it */
	uint32_t leaving; /* number of calls in progress that may free it */
	uint64_t born; /* value of nvs_rm.calls when it was made, see struct nvs_transit */
	uint32_t params_length;
	uint8_t *params;
	bool system; /* host memory */
	struct nvs_entity *entity;
	struct nvs_channel_entry *channel;
	struct nvs_rm_map *maps;
	struct nvs_driver_object *up, *children, *prev, *next;
	UT_hash_handle hh;
};

/* Field FIELD of the parameters, a struct TYPE, that O was allocated with. 0 if the kept parameters
 * are too short to contain it. */
#define NVS_PARAM(o, type, field)                                                                \
	(NVS_HAS_PARAM(o, type, field) ? ((const struct type *)(const void *)(o)->params)->field \
				       : 0)
#define NVS_HAS_PARAM(o, type, field) \
	((o)->params_length >= offsetof(struct type, field) + sizeof(((struct type *)0)->field))

struct nvs_driver_object *nvs_object_find(uint32_t client, uint32_t handle);
/* Copies the parameters. Returns NULL if out of memory. If the handle exists already, its object
 * was freed unseen and is destroyed first. */
struct nvs_driver_object *nvs_object_add(uint32_t client, uint32_t parent, uint32_t handle,
					 uint32_t object_class, const void *params,
					 uint32_t length);
struct nvs_driver_object *nvs_object_dup(struct nvs_driver_object *source, uint32_t client,
					 uint32_t parent, uint32_t handle);
/* Withdraw: removes the object and all objects below it from the trap's view at the next
 * publication. Afterwards the caller either restores or destroys them. */
void nvs_object_withdraw(struct nvs_driver_object *object);
void nvs_object_restore(struct nvs_driver_object *object);
void nvs_object_destroy(struct nvs_driver_object *object);
/* Withdraws, then destroys, the clients owned by open file FILE. */
void nvs_objects_file_closing(uint32_t file);
void nvs_objects_file_closed(uint32_t file);
/* Number of the GPU address space that the object names or belongs to. 0 only if there is none. */
uint32_t nvs_object_vaspace(const struct nvs_driver_object *object);
struct nvs_entity *nvs_entity_new(void);
void nvs_entity_put(struct nvs_entity *entity);

/* ---- mappings.c ---- */
struct nvs_cpu_map {
	struct nvs_address_span at;
	uint32_t number;
	uint32_t kind; /* enum nvs_map_kind */
	uint32_t client, handle, object_class, gpu;
	uint32_t file; /* number of the /dev/nvidia-uvm file, else 0 */
	int prot; /* as the program requested it */
	int64_t offset; /* offset of at.start in the object */
	uintptr_t alias; /* of a doorbell: writable mapping of the same pages; 0: none */
	uintptr_t real,
		spare; /* extra mappings of memory that may hold rings (shadow.c); 0: none */
	bool armed, guarded; /* armed: in the view; guarded: also write-protected */
	bool hidden; /* released, or in transit: not in the view */
	bool released; /* doorbells only: its object is being freed or was freed */
	uint64_t transit; /* number of the call that is changing its addresses; 0: none */
	struct nvs_entity *entity;
	struct nvs_rm_map *from;
	struct nvs_cpu_map *prev, *next; /* list of the entity's mappings */
};

struct nvs_gpu_map {
	struct nvs_address_span at;
	uint32_t number;
	uint32_t vaspace_handle, vaspace; /* 0: UVM's process-wide address space */
	uint32_t client, handle, object_class, gpu;
	uint32_t file; /* number of the /dev/nvidia-uvm file, else 0 */
	uint32_t gpus; /* number of GPUs it is mapped for */
	uint64_t offset; /* offset in the object */
	uint64_t born; /* as in nvs_driver_object; a part inherits that of the whole */
	struct nvs_driver_object *memory,
		*dma; /* objects it was made with and whose end ends it; NULL for UVM */
	struct nvs_entity *entity;
	struct nvs_gpu_map *prev, *next; /* list of the entity's mappings */
};

static inline bool nvs_map_is_doorbell(const struct nvs_cpu_map *m)
{
	return m->kind == NVS_MAP_DOORBELL;
}
void nvs_map_unlink(struct nvs_cpu_map *map);
/* Prepares [start, end) of the program's address space for a change: splits mappings at both ends
 * and gives back shadows, so that the program changes its own pages. */
void nvs_maps_split(uint64_t start, uint64_t end);
/*
 * Withdraw: takes every mapping in the range that is not in transit for another call out of the
 * view at the next publication, in transit for CALL. Afterwards the caller restores or drops them.
 * Drop also removes mappings in transit for other calls, since those were mapped earlier.
 */
void nvs_maps_withdraw(uint64_t start, uint64_t end, bool with_aliases, uint64_t call);
void nvs_maps_restore(uint64_t start, uint64_t end, uint64_t call);
void nvs_maps_drop(uint64_t start, uint64_t end);
/* Moves the mappings in [from, from + size) that are in transit for CALL to address TO. */
void nvs_maps_move(uint64_t from, uint64_t size, uint64_t to, uint64_t call);
/* Extra mappings that the library makes itself: the alias of a doorbell, or two of ring memory. */
struct nvs_extra_maps {
	uintptr_t alias, real, spare; /* 0: not wanted, or mmap failed */
};
/* Makes the extra mappings for a device fd that was mapped with SIZE, PROT and OFFSET, while the fd
 * is still open. Call without nvs_lock. */
void nvs_maps_make_extra(size_t size, int prot, int fd, off_t offset, struct nvs_extra_maps *more);
/* Enters the mapping of a device fd at P. Takes ownership of MORE and unmaps what it does not need.
 *  */
void nvs_maps_add_new(void *p, size_t size, int prot, int fd, off_t offset,
		      const struct nvs_extra_maps *more);
/* mprotect() in pieces: a guarded doorbell stays write-protected, the rest gets PROT. */
int nvs_maps_protect(uint64_t start, uint64_t end, int prot, uint64_t call);
/* Ends the mprotect() that CALL withdrew mappings for. PROT < 0: it failed. */
void nvs_maps_finish_protect(uint64_t start, uint64_t end, int prot, uint64_t call);
static inline uint64_t nvs_page_up(uint64_t v)
{
	return (v + 4095) & ~4095ull;
}
/* Enters user memory that was pinned under class 0071. */
void nvs_maps_add_pinned(struct nvs_driver_object *object, uint64_t address, uint64_t size);

/* ---- doorbells.c ---- */
/* Protection for a doorbell page that the program maps with PROT: a store must fault wherever the
 * program may store. */
int nvs_doorbell_prot(int prot);
uintptr_t nvs_doorbell_map_alias(size_t size, int fd); /* call without nvs_lock; 0: mmap failed */
/* Enters the doorbell into the view at the next publication, which also write-protects it. */
void nvs_doorbell_enable(struct nvs_cpu_map *map);
void nvs_doorbells_enable_all(void);
/* Bit N is set if GPU N has doorbell pages and all that the program can write to are armed. */
uint64_t nvs_doorbells_armed_gpus(void);
/* Unmaps the alias at the next publication; leaves it mapped if traps may still use the old view.
 *  */
void nvs_doorbell_drop_alias(struct nvs_cpu_map *map);
/*
 * Unmaps retired aliases and, if SHOWN (the published view has every doorbell), guards new
 * doorbells. Returns false if one could not be guarded: the view must be published again without
 * it.
 */
bool nvs_doorbells_finish(bool shown);
/* Remembers for nvs_maps_check() that [start, end) stays mapped but is no longer a doorbell. */
void nvs_maps_add_dead(uint64_t start, uint64_t end);
bool nvs_maps_is_dead(uint64_t start, uint64_t end);
void nvs_doorbell_release(struct nvs_cpu_map *map); /* its object is being freed; the program gets
						       its own protection back */
void nvs_doorbell_leave_open(
	struct nvs_cpu_map *map); /* the free failed; the alias is already gone */

/* ---- rmmaps.c ---- */
void nvs_maps_withdraw_object(struct nvs_driver_object *object); /* doorbells of this handle leave
							     the view and become writable */
void nvs_maps_restore_object(struct nvs_driver_object *object);
void nvs_maps_drop_object(struct nvs_driver_object *object);
void nvs_rm_map_add(struct nvs_driver_object *object, int fd, uint64_t offset, uint64_t length,
		    uint64_t linear);
struct nvs_rm_map *nvs_rm_map_find(struct nvs_driver_object *object, uint64_t linear);
void nvs_rm_map_withdraw(struct nvs_rm_map *map);
void nvs_rm_map_restore(struct nvs_rm_map *map);
void nvs_rm_map_drop(struct nvs_rm_map *map);

/* ---- gpumaps.c ---- */
struct nvs_uvm_range { /* an external range of UVM */
	struct nvs_address_span at;
	uint32_t file;
	uint64_t born; /* as in nvs_driver_object */
};
void nvs_gpu_map_add(
	struct nvs_gpu_map *what); /* template; its entity comes from (client, handle) */
/* Removes the mappings in [start, end) of an address space that were made before CALL. one_gpu:
 * drops one of the GPUs each is mapped for, and removes it with the last. FILE 0: any file. */
#define NVS_ANY_CALL UINT64_MAX
void nvs_gpu_maps_remove(uint32_t vaspace, uint64_t start, uint64_t end, uint32_t file,
			 bool one_gpu, uint64_t call);
void nvs_gpu_maps_drop_object(struct nvs_driver_object *object);
void nvs_gpu_maps_file_closed(uint32_t file);

/* ---- segments.c: GPU mappings joined with CPU mappings, sorted by address ---- */
struct nvs_segs {
	struct nvs_seg *at;
	uint32_t n, room;
};
struct nvs_seg {
	uint64_t gpu_va, size;
	uintptr_t cpu;
	uint32_t vaspace, entity;
};
/* Rebuilds the segments of an entity after its mappings changed. */
void nvs_segments_rebuild(struct nvs_entity *entity);
void nvs_map_changed(struct nvs_cpu_map *map); /* call after the trap's view of it changed */

/* ---- forms.c: structures whose form the call does not show ---- */
#define NVS_CHANNEL_PARAMS_READ 144 /* bytes that any form needs */
/* Finds the form of the parameters P of a channel of CLIENT. Returns NULL if no form fits, or
 * several do. */
const struct nvs_abi_form *nvs_channel_form(uint32_t client, const uint8_t *p);
/* The same for the parameters P of UVM_MAP_EXTERNAL_ALLOCATION after the call. */
const struct nvs_abi_form *nvs_uvm_map_form(const uint8_t *p);
/* Finds the form of the parameters P of UVM_FREE, which begin with the base of a range of LENGTH
 * bytes. The release tells it if LENGTH is 0: no such range is known. */
const struct nvs_abi_form *nvs_uvm_free_form(const uint8_t *p, uint64_t length);

/* ---- channels.c ---- */
struct nvs_channel_entry {
	uint32_t number;
	struct nvs_driver_object *object;
	uint32_t token, entries, flags, engine, group;
	uint32_t vaspace_handle, vaspace;
	uint64_t gpfifo;
	const struct nvs_abi_form *form; /* NULL: unknown, as are the fields that depend on it */
	uint32_t userd_handle;
	uint64_t userd_offset;
	struct nvs_entity *userd; /* NULL: not known yet */
	const volatile uint64_t *ring;
	const volatile uint32_t *put;
	struct nvs_spool_channel *slot;
	bool hidden;
	bool final_put_read,
		final_put_valid; /* put_taken: final_put was read; put_read: the read succeeded */
	uint32_t final_put;
	uint64_t final_claim; /* read together with final_put */
	uint64_t window_claim; /* where a recording window begins or ends */
	struct nvs_channel_done done; /* also read with it; address 0: unreadable */
	struct nvs_shadow *shadow; /* NULL: no shadow */
	struct nvs_timing_pool *pool; /* memory for its GPU timestamps; NULL: none */
	uint32_t chunk; /* index in the pool */
	uint64_t untimed[NVS_UNTIMED_REASONS]; /* counts of shadows that have ended */
	uint64_t timed;
	bool shadow_tried, shadow_due; /* shadow_due: give it back after the last GP_PUT was read */
	bool userd_shared; /* its USERD shares a page with other channels */
	bool shadow_late; /* should be given back, but the GPU was busy */
	uint32_t
		shadow_unrung; /* how often that failed because entries were put but not rung for */
	uint64_t shadow_claim; /* claim at the last refresh */
	uint32_t shadow_idle; /* refreshes since the claim changed */
	bool faulted; /* its FAULT was recorded */
	uint8_t memory_kept; /* faults.c: why the memory around its slot was recorded, 0: it was not
			      */
	uint32_t live_row; /* its row in the live page, plus 1, if the page has its progress too; 0:
			      none yet */
	struct nvs_channel_entry *prev, *next;
};
void nvs_channel_add(struct nvs_driver_object *object);
/* Address at which the process will see the USERD of a channel that is about to be allocated with
 * PARAMS, which is in the program's memory. 0 if it is not mapped. */
uintptr_t nvs_channel_predict_userd(uint32_t client, const void *params);
void nvs_channel_set_token(struct nvs_driver_object *object, uint32_t token);
/* Reads the token from the channel's notifier after the kernel requested it itself. */
void nvs_channel_read_token(struct nvs_channel_entry *channel);
void nvs_channels_read_tokens(void); /* of all channels whose token is unknown */
/* Reads a notification of the channel, NV_CHANNELGPFIFO_NOTIFICATION_TYPE_*. Returns false if it
 * was not written or is unreadable. */
bool nvs_channel_read_notification(const struct nvs_channel_entry *channel, uint32_t type,
				   struct NvNotification *notification);
void nvs_channel_read_put(struct nvs_channel_entry *channel);
/* Call after a publication: reads the last GP_PUT of channels that left the view. */
void nvs_channels_finish(void);
void nvs_channel_remove(struct nvs_channel_entry *channel);
/* done.c: reads the channel's progress-release slot. Returns false if there is none or it is
 * unreadable. */
bool nvs_channel_read_progress(const struct nvs_channel_entry *channel,
			       struct nvs_channel_done *done);
void nvs_channels_spool_progress(void); /* copies the progress of all channels to the spool */
/* faults.c: records that the channel was torn down by an error, the first time that this is seen.
 */
void nvs_channel_find_fault(struct nvs_channel_entry *channel, enum nvs_fault_seen seen);
void nvs_channels_find_faults(enum nvs_fault_seen seen); /* of all channels */
/* Records the error states in PARAMS, an answer that the driver got about CLIENT's channel. */
struct NV83DE_CTRL_DEBUG_READ_ALL_SM_ERROR_STATES_PARAMS;
void nvs_record_sm_errors(uint32_t client,
			  const struct NV83DE_CTRL_DEBUG_READ_ALL_SM_ERROR_STATES_PARAMS *params);
/* Address at which the process sees [OFFSET, OFFSET + SIZE) of ENTITY's object. 0 if it is not
 * mapped. */
uintptr_t nvs_entity_find_address(const struct nvs_entity *entity, int64_t offset, int64_t size);
/* Looks up GPFIFO ring and USERD of every channel again. Returns true if something changed. */
bool nvs_channels_bind(const struct nvs_segment_map *maps, uint32_t n);

/* ---- shadow.c: GPFIFO and USERD in ordinary memory ---- */
/* True if MAP, a mapping of FD, should get the two extra mappings of ring memory. */
bool nvs_shadow_is_possible(const struct nvs_cpu_map *map, int fd);
void nvs_shadow_map_extra(size_t size, int fd, struct nvs_extra_maps *more);
void nvs_shadow_query_power(void); /* call without nvs_lock, before nvs_shadow_is_possible() */
/* Gives back every shadow that has a page in [START, END): the program gets its own pages again.
 * The caller must publish. */
void nvs_shadow_clear(uint64_t start, uint64_t end);
void nvs_shadow_clear_due(struct nvs_channel_entry *channel);
/* Call without nvs_lock before nvs_shadow_clear(): with timing, waits until the GPU can do without
 * the shadow. */
void nvs_shadow_prepare(uint64_t start, uint64_t end);
/* Cuts off shadows whose pages are about to be unmapped and that nvs_shadow_clear() could not give
 * back. */
void nvs_shadow_cut_off(uint64_t start, uint64_t end);
void nvs_shadow_copy_userd(void); /* copies what the GPU wrote to USERD into the shadow */
void nvs_shadow_drop_maps(struct nvs_cpu_map *map); /* the mapping has already left the view */
void nvs_shadow_create(struct nvs_channel_entry *channel);
/* Gives back the channel's shadow, if it has one, because the trap will no longer see its
 * doorbells. */
void nvs_shadow_end(struct nvs_channel_entry *channel);
void nvs_shadow_drop(struct nvs_channel_entry *channel); /* the channel has already left the view */
void nvs_shadow_free_retired(void); /* frees shadows; call when no trap can use an older view */

/* ---- timing.c: GPU timestamps ---- */
/* Prepares timing for a channel that is about to get SHADOW. */
void nvs_timing_begin(struct nvs_channel_entry *channel, struct nvs_shadow *shadow);
void nvs_timing_add_memory(struct nvs_channel_entry *channel); /* if there is memory for it */
/* Ends timing because the channel goes on without a shadow. Returns false if the GPU is not far
 * enough yet. */
bool nvs_timing_end_channel(struct nvs_channel_entry *channel);
bool nvs_timing_step(
	struct nvs_channel_entry *channel); /* one step towards it; true: the GPU is far enough */
void nvs_timing_ring(const struct nvs_channel_entry *channel);
void nvs_timing_drop(struct nvs_channel_entry *channel); /* the channel or its pages have gone */
void nvs_bracket_times_free(struct nvs_shadow *shadow);
/* Forwards everything submitted to the GPU and waits a short time for its timestamps. */
void nvs_timing_drain(struct nvs_channel_entry *channel);
void nvs_timing_record_untimed(
	const struct nvs_channel_entry
		*channel); /* records how many submissions were not timed, and why */
/* Ends timing that uses memory whose GPU mapping in [START, END), or object, is about to go. */
void nvs_timing_retire_memory(uint64_t start, uint64_t end);
void nvs_timing_retire_object(const struct nvs_driver_object *object);

/* ---- tell.c: trace records of the tables ---- */
void nvs_record_gpu(uint32_t gpu);
void nvs_record_object(const struct nvs_driver_object *object);
void nvs_record_object_freed(const struct nvs_driver_object *object);
void nvs_record_cpu_map(const struct nvs_cpu_map *map);
void nvs_record_cpu_unmap(const struct nvs_cpu_map *map);
void nvs_record_gpu_map(const struct nvs_gpu_map *map);
void nvs_record_gpu_unmap(const struct nvs_gpu_map *map);
void nvs_record_channel(const struct nvs_channel_entry *channel);
void nvs_record_channel_freed(const struct nvs_channel_entry *channel, unsigned flags);
void nvs_record_remark(uint32_t kind, uint32_t gpu, uint32_t client, uint32_t handle);
/* Same about object O; its parameters follow the record. */
void nvs_record_remark_params(uint32_t kind, const struct nvs_driver_object *o);
void nvs_record_check_result(uint32_t kind, uint64_t value, uint64_t start, uint64_t end);

/* ---- mapscheck.c: checks /proc/self/maps at exit ---- */
void nvs_maps_check(void);

/* ---- fdkind.c: needs no lock ---- */
#define NVS_FD_KINDS 65536
enum nvs_fd_kind {
	NVS_FD_UNKNOWN,
	NVS_FD_OTHER,
	NVS_FD_MODESET,
	NVS_FD_CTL,
	NVS_FD_GPU,
	NVS_FD_UVM
};
/* The kind of an fd. nvs_fd_kind() always asks the kernel; nvs_fd_kind_for() answers for an ioctl
 * and usually uses the cache. */
enum nvs_fd_kind nvs_fd_kind(int fd);
enum nvs_fd_kind nvs_fd_kind_for(int fd, unsigned long request);
void nvs_fd_set_kind(int fd, enum nvs_fd_kind kind);
void nvs_fd_classify(int fd, const char *path); /* PATH: of a device */
bool nvs_fd_tracked(int fd);

/* ---- files.c ---- */
uint32_t nvs_fd_file(int fd); /* number of the open file behind a device fd */
void nvs_fd_set_map(int fd, struct nvs_rm_map *map);
struct nvs_rm_map *nvs_fd_map(int fd);
void nvs_fd_share(int from, int to); /* TO refers to the same open file */
uint32_t nvs_fd_remove(int fd); /* returns the file that this closed, 0: none */
int nvs_fd_in_range(unsigned first, unsigned last); /* a tracked fd in this range; -1: none */
void nvs_rm_map_put(struct nvs_rm_map *map);

/* ---- entry.c: hooked calls; they take nvs_lock themselves where needed ---- */
/* CHANNEL: the result of nvs_rm_makes_channel(). */
int nvs_rm_ioctl(int fd, unsigned long request, void *arg, bool uvm, bool channel);
void *nvs_maps_mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset,
		    bool device);
int nvs_maps_munmap(void *address, size_t size);
int nvs_maps_mprotect(void *address, size_t size, int prot);
void *nvs_maps_mremap(void *old, size_t old_size, size_t size, int flags, void *to);
void nvs_fd_opened(int fd, const char *path);
void nvs_fd_closing(int fd);
void nvs_fd_closing_range(unsigned first, unsigned last);
void nvs_fd_duped(int from, int to);

/* ---- rm.c, uvm.c ---- */
/* True if the call needs preparation under the lock before it runs. A call that makes a channel
 * always does. Call without nvs_lock. */
bool nvs_rm_needs_before(unsigned request, void *arg);
bool nvs_uvm_needs_before(unsigned long request);
/*
 * A call in progress. No lock is held meanwhile, since the call may never return: the GPU may hang.
 * Whatever it may remove has left the view and is marked as in transit. Whatever another thread
 * makes in the same place meanwhile has a later `born`, and the returning call leaves it alone.
 */
struct nvs_transit {
	uint64_t call; /* its number, from 1; 0: not prepared */
	bool frees; /* it frees the object below */
	uint32_t client, handle;
	struct nvs_rm_map *map; /* mapping it may unmap; NULL: none */
};
/* nvs_rm_before() prepares a call; nvs_rm_after() enters its result, RET. The lock is held. */
void nvs_rm_before(unsigned request, void *arg, struct nvs_transit *transit);
/* Waits for the GPU, where needed, before a call that makes a channel. Call without nvs_lock. */
void nvs_rm_prepare(unsigned request, void *arg);
/* True if a call that returned RET changes no table. Call without nvs_lock. */
bool nvs_rm_changes_nothing(unsigned request, const void *arg, int ret);
void nvs_rm_after(int fd, unsigned request, void *arg, int ret, const struct nvs_transit *transit);
void nvs_uvm_before(unsigned long request, const void *arg);
void nvs_uvm_after(int fd, unsigned long request, void *arg, int ret,
		   const struct nvs_transit *transit);

/* ---- publish.c ---- */
/* Publishes the present state to the trap. The lock is held. */
void nvs_publish_view(void);

/* ---- tables.c ---- */
struct nvs_gpu {
	bool seen;
	bool has_doorbell; /* one of its doorbell pages has been mapped */
	uint32_t architecture, implementation, revision;
	uint8_t uuid[16];
	char name[64];
};
struct nvs_unknown_ioctl {
	uint32_t device, number, bytes;
	uint64_t count;
};
struct nvs_rm {
	uint32_t release; /* 0: unknown */
	bool asked; /* /proc/driver/nvidia/version was read */
	bool live; /* a session runs: changes are recorded and published */
	bool handles_faults; /* the signal handlers are installed: doorbells can be armed */
	bool dirty; /* the published view is older than the tables */
	bool segs_dirty; /* the view's segment array is older too */
	bool stale; /* traps may still use things that left the tables: do not free them */
	bool leaving_channels; /* a hidden channel's last GP_PUT is still to be read */
	bool arming; /* a doorbell in the tables is armed but not write-protected yet */
	struct nvs_retired_alias *aliases; /* doorbells.c */
	struct nvs_driver_object *objects; /* hash, in order of creation */
	struct nvs_address_spans cpu, gpu,
		ranges; /* struct nvs_cpu_map, nvs_gpu_map, nvs_uvm_range */
	struct nvs_segs segs;
	struct nvs_channel_entry *channels;
	struct nvs_published *published;
	uint32_t next_entity, next_cpu_map, next_gpu_map, next_channel, next_file;
	uint64_t calls; /* number of calls begun, see struct nvs_transit */
	_Atomic uint32_t remapping; /* calls in progress that change the address space */
	struct nvs_unmapping *unmappings; /* tables.c */
	uint64_t generation;
	struct nvs_timing_pool *pools; /* timing.c */
	_Atomic bool power_asked;
	bool may_suspend; /* the GPU may power down at run time */
	struct nvs_stash_hole *holes; /* shadow.c */
	struct nvs_shadow *retired; /* traps may still use them */
	struct nvs_gpu gpus[NVS_MAX_GPUS];
	uint32_t unknown_n;
	uint64_t handlers_replaced;
	uint64_t unknown_calls;
	struct nvs_unknown_ioctl unknown[NVS_MAX_UNKNOWN];
	struct nvs_kept_remark {
		struct nvs_rec_remark r;
		uint8_t params[160];
	} remarks[32];
	uint32_t nremarks;
	struct nvs_address_spans dead; /* doorbell pages left mapped after their object was freed */
};
/* Returns NULL only if out of memory. */
struct nvs_rm *nvs_rm(void);
uint32_t nvs_rm_release(void);
void nvs_rm_check_release(void); /* if it is newer than the tables cover, or unknown */
void nvs_rm_set_driver(const char *version); /* as reported by a call */
uint32_t nvs_gpu_by_uuid(const uint8_t *uuid); /* NVS_NONE: unknown */
void nvs_rm_count_unknown(uint32_t device, uint32_t number, uint32_t bytes);
/* Unmaps [START, START + SIZE), a mapping of the library, when the lock is released. The lock is
 * held. */
void nvs_rm_unmap(uintptr_t start, size_t size);
/* nvs_unlock() after a publication; then unmaps what nvs_rm_unmap() queued. */
void nvs_rm_unlock(const sigset_t *saved);
#define NVS_RM_LOCK_SCOPE()                                           \
	sigset_t lock_scope_ __attribute__((cleanup(nvs_rm_unlock))); \
	nvs_lock(&lock_scope_)
/* Copies BYTES, 8 to a page, of the program's memory. Returns false if that is not readable. */
bool nvs_copy_program(void *to, const void *from, size_t bytes);
static inline bool nvs_all_zero(const uint8_t *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (p[i])
			return false;
	return true;
}

#endif
