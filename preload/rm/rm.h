/* SPDX-License-Identifier: MIT */
/*
 * What the files that follow the resource manager share: objects, what they stand for, and where
 * that is mapped. All of it is touched under nvs_lock only; the trap sees nothing but the published
 * view.
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

/* ---- spans.c: sorted rows of address ranges ---- */
struct nvs_span {
	uint64_t start, end; /* end excluded */
};
struct nvs_spans {
	struct nvs_span **at; /* by start */
	uint32_t n, room;
	uint64_t longest; /* of any span that has been in the row */
};
int nvs_spans_add(struct nvs_spans *spans, struct nvs_span *span);
void nvs_spans_remove(struct nvs_spans *spans, struct nvs_span *span);
/* Index of the first span that may reach beyond START; those that do overlap are to be picked from
 * there on. */
uint32_t nvs_spans_from(const struct nvs_spans *spans, uint64_t start);
#define NVS_SPANS_EACH(spans, i, from, to)                        \
	for (uint32_t i = nvs_spans_from(spans, from);            \
	     i < (spans)->n && (spans)->at[i]->start < (to); i++) \
		if ((spans)->at[i]->end > (from))

/* ---- entity.c, objects.c ---- */
/* What a handle and its duplicates name in common. */
struct nvs_entity {
	uint32_t id; /* never used twice, from 1 */
	uint32_t refs;
	struct nvs_cpu_map *cpu;
	struct nvs_gpu_map *gpu;
};

/* RM_MAP_MEMORY as it was answered: what an mmap of the named fd will show. */
struct nvs_rm_map {
	uint32_t refs;
	struct nvs_object *object; /* NULL: unmapped, or the object is gone */
	uint64_t offset, length; /* in the object */
	uint64_t linear, updated; /* by which RM_UNMAP_MEMORY may name it; updated: 0 none */
	struct nvs_rm_map *prev, *next;
};

struct nvs_object {
	struct {
		uint32_t client, handle;
	} key;
	uint32_t parent, object_class, gpu;
	uint32_t source_client, source_handle;
	uint32_t file; /* for a client: the open file it lives on */
	uint32_t vaspace; /* handle of the address space it names, 0 none */
	uint32_t engine;
	uint32_t uses; /* GPU mappings made with it */
	uint32_t leaving; /* calls in transit that may free it */
	uint64_t born; /* the number of calls before it was made: struct nvs_transit */
	uint32_t params_length;
	uint8_t *params;
	bool system; /* memory of the host */
	struct nvs_entity *entity;
	struct nvs_channel_entry *channel;
	struct nvs_rm_map *maps;
	struct nvs_object *up, *children, *prev, *next;
	UT_hash_handle hh;
};

/* A field of the parameters that O was made with, which are of struct TYPE; 0 where they were too
 * short to have it. */
#define NVS_PARAM(o, type, field)                                                                \
	(NVS_HAS_PARAM(o, type, field) ? ((const struct type *)(const void *)(o)->params)->field \
				       : 0)
#define NVS_HAS_PARAM(o, type, field) \
	((o)->params_length >= offsetof(struct type, field) + sizeof(((struct type *)0)->field))

struct nvs_object *nvs_object_find(uint32_t client, uint32_t handle);
/*
 * Parameters are copied. NULL: no memory. A handle that is there already is taken as freed unseen.
 */
struct nvs_object *nvs_object_add(uint32_t client, uint32_t parent, uint32_t handle,
				  uint32_t object_class, const void *params, uint32_t length);
struct nvs_object *nvs_object_dup(struct nvs_object *source, uint32_t client, uint32_t parent,
				  uint32_t handle);
/*
 * The object and all below it: taken from the trap's view, by the next publication, then either put
 * back or gone.
 */
void nvs_object_withdraw(struct nvs_object *object);
void nvs_object_restore(struct nvs_object *object);
void nvs_object_destroy(struct nvs_object *object);
/* Clients that live on open file FILE are withdrawn, and gone with it. */
void nvs_objects_file_closing(uint32_t file);
void nvs_objects_file_closed(uint32_t file);
/* Number of the GPU address space the object names or stands in; 0 only for none at all. */
uint32_t nvs_object_vaspace(const struct nvs_object *object);
struct nvs_entity *nvs_entity_new(void);
void nvs_entity_put(struct nvs_entity *entity);

/* ---- mappings.c ---- */
struct nvs_cpu_map {
	struct nvs_span at;
	uint32_t number;
	uint32_t kind; /* enum nvs_map_kind */
	uint32_t client, handle, object_class, gpu;
	uint32_t file; /* of /dev/nvidia-uvm, else 0 */
	int prot; /* as the program asked */
	int64_t offset; /* of at.start in the object */
	uintptr_t alias; /* doorbell: writable mapping of the same pages */
	uintptr_t real, spare; /* memory that may hold rings: shadow.c; 0 none */
	bool armed, guarded; /* in the view; and refused stores */
	bool hidden; /* one of the next two: not in the view */
	bool released; /* its object is on its way out, or has been; a doorbell's only */
	uint64_t transit; /* the call that is to change its addresses; 0: none */
	struct nvs_entity *entity;
	struct nvs_rm_map *from;
	struct nvs_cpu_map *prev, *next; /* of the entity */
};

struct nvs_gpu_map {
	struct nvs_span at;
	uint32_t number;
	uint32_t vaspace_handle, vaspace; /* 0: the process-wide one of UVM */
	uint32_t client, handle, object_class, gpu;
	uint32_t file; /* of /dev/nvidia-uvm, else 0 */
	uint32_t gpus; /* mapped for so many */
	uint64_t offset; /* in the object */
	uint64_t born; /* as of an object; a part's is the whole's */
	struct nvs_object *memory, *dma; /* by which it was made and dies; NULL for UVM */
	struct nvs_entity *entity;
	struct nvs_gpu_map *prev, *next; /* of the entity */
};

static inline bool nvs_map_is_doorbell(const struct nvs_cpu_map *m)
{
	return m->kind == NVS_MAP_DOORBELL;
}
void nvs_map_unlink(struct nvs_cpu_map *map);
/*
 * For a range of the program's address space that is about to change: no mapping crosses its ends,
 * and what the program is going to change are its own pages.
 */
void nvs_maps_split(uint64_t start, uint64_t end);
/*
 * All in it that is in no other call's transit leaves the view, by the next publication, for call
 * CALL. Then it is put back, or is gone: what another call has in transit there as well, since it
 * was mapped before.
 */
void nvs_maps_withdraw(uint64_t start, uint64_t end, bool with_aliases, uint64_t call);
void nvs_maps_restore(uint64_t start, uint64_t end, uint64_t call);
void nvs_maps_drop(uint64_t start, uint64_t end);
/* The mappings in [from, from + size) that are in CALL's transit now lie at TO. */
void nvs_maps_move(uint64_t from, uint64_t size, uint64_t to, uint64_t call);
/* More mappings of our own: a doorbell's alias, or two of memory that may hold rings. */
struct nvs_more_maps {
	uintptr_t alias, real, spare; /* 0: not wanted, or not to be had */
};
/* Under no lock: the device's fd has been mapped with SIZE, PROT and OFFSET. Makes what it is to
 * have, while the fd is there. */
void nvs_maps_map_more(size_t size, int prot, int fd, off_t offset, struct nvs_more_maps *more);
/* The device's fd has been mapped at P. Takes of MORE what it has use for, and gives the rest back.
 */
void nvs_maps_mapped(void *p, size_t size, int prot, int fd, off_t offset,
		     const struct nvs_more_maps *more);
/* mprotect() piece by piece: guarded doorbells get what keeps them so, the rest PROT. */
int nvs_maps_protect(uint64_t start, uint64_t end, int prot, uint64_t call);
/* It was done, after what CALL withdrew; PROT < 0: refused. */
void nvs_maps_protected(uint64_t start, uint64_t end, int prot, uint64_t call);
static inline uint64_t nvs_page_up(uint64_t v)
{
	return (v + 4095) & ~4095ull;
}
/* User pages under class 0071. */
void nvs_maps_pinned(struct nvs_object *object, uint64_t address, uint64_t size);

/* ---- doorbells.c ---- */
/* What the page may really be: a store is always to fault where the program may store. */
int nvs_doorbell_prot(int prot);
uintptr_t nvs_doorbell_map_alias(size_t size, int fd); /* under no lock; 0: it cannot be had */
/* In the view with the next publication, and refuses stores from then on. */
void nvs_doorbell_arm(struct nvs_cpu_map *map);
void nvs_maps_arm_all(void);
/* Bit N: GPU N has doorbell pages, and the trap sees each that the program may store to. */
uint64_t nvs_doorbells_seen(void);
/* Given back by the next publication, or left to traps that are still about. */
void nvs_doorbell_retire_alias(uintptr_t alias, size_t size);
void nvs_doorbell_drop_alias(struct nvs_cpu_map *map);
/* After a publication; SHOWN: the view has every doorbell. False: one cannot be guarded, and is to
 * leave the view again. */
bool nvs_doorbells_settle(bool shown);
/* For the last check: [start, end) stays mapped, and is nobody's doorbell any more. */
void nvs_maps_left(uint64_t start, uint64_t end);
bool nvs_maps_is_left(uint64_t start, uint64_t end);
void nvs_doorbell_release(
	struct nvs_cpu_map *map); /* its object goes; the page is the program's again */
void nvs_doorbell_give_up(struct nvs_cpu_map *map); /* it stayed after all, without its alias */

/* ---- rmmaps.c ---- */
void nvs_maps_withdraw_object(
	struct nvs_object *object); /* doorbells of this handle: out and open again */
void nvs_maps_restore_object(struct nvs_object *object);
void nvs_maps_drop_object(struct nvs_object *object);
void nvs_rm_map_add(struct nvs_object *object, int fd, uint64_t offset, uint64_t length,
		    uint64_t linear);
struct nvs_rm_map *nvs_rm_map_find(struct nvs_object *object, uint64_t linear);
void nvs_rm_map_withdraw(struct nvs_rm_map *map);
void nvs_rm_map_restore(struct nvs_rm_map *map);
void nvs_rm_map_drop(struct nvs_rm_map *map);

/* ---- gpumaps.c ---- */
struct nvs_range { /* external range of UVM */
	struct nvs_span at;
	uint32_t file;
	uint64_t born; /* as of an object */
};
void nvs_gpu_map_add(
	struct nvs_gpu_map *what); /* template; entity from what->memory or by (client, handle) */
/* What is mapped in [start, end) of an address space, and was before call CALL began, goes;
 * one_gpu: for one of the GPUs it is mapped for. FILE 0: any. */
#define NVS_ANY_CALL UINT64_MAX
void nvs_gpu_maps_remove(uint32_t vaspace, uint64_t start, uint64_t end, uint32_t file,
			 bool one_gpu, uint64_t call);
void nvs_gpu_maps_drop_object(struct nvs_object *object);
void nvs_gpu_maps_file_closed(uint32_t file);

/* ---- segments.c: the join of both, by address ---- */
struct nvs_segs {
	struct nvs_seg *at;
	uint32_t n, room;
};
struct nvs_seg {
	uint64_t gpu_va, size;
	uintptr_t cpu;
	uint32_t vaspace, entity;
};
/* The entity's mappings have changed. */
void nvs_segs_update(struct nvs_entity *entity);
void nvs_map_touched(struct nvs_cpu_map *map); /* what the trap sees of it has changed */

/* ---- forms.c: structures that move without the call showing it ---- */
/* Offsets in the parameters that a channel is made with. */
struct nvs_channel_form {
	uint32_t since; /* release */
	uint16_t userd_memory, userd_offset, engine;
};
#define NVS_CHANNEL_PARAMS_READ 144 /* bytes: what any form is read of */
/* Of the parameters P of a channel of CLIENT; NULL: none of the forms fits, or several do. */
const struct nvs_channel_form *nvs_channel_form(uint32_t client, const uint8_t *p);

/* ---- channels.c ---- */
struct nvs_channel_entry {
	uint32_t number;
	struct nvs_object *object;
	uint32_t token, entries, flags, engine, group;
	uint32_t vaspace_handle, vaspace;
	uint64_t gpfifo;
	const struct nvs_channel_form *form; /* NULL: not known, nor what depends on it */
	uint32_t userd_handle;
	uint64_t userd_offset;
	struct nvs_entity *userd; /* NULL: not known yet */
	const volatile uint64_t *ring;
	const volatile uint32_t *put;
	struct nvs_spool_channel *slot;
	bool hidden;
	bool put_taken, put_read; /* final_put has been asked for, and was to be had */
	uint32_t final_put;
	uint64_t final_claim; /* read with it */
	struct nvs_channel_done done; /* likewise; address 0: it could not be read */
	struct nvs_shadow *shadow; /* NULL: none */
	struct nvs_timing_pool *pool; /* its times lie there, NULL: nowhere */
	uint32_t chunk; /* of it */
	uint64_t untimed[NVS_UNTIMED_REASONS]; /* under shadows that are no more */
	uint64_t timed;
	bool shadow_tried,
		shadow_due; /* due: to be given back when the last GP_PUT has been read */
	bool userd_shared; /* its USERD is one of several of a page */
	bool shadow_late; /* was to be given back, and the GPU was busy */
	uint32_t
		shadow_unrung; /* times that it was not, since something was put and not rung for */
	uint64_t shadow_claim; /* state at the last refresh */
	uint32_t shadow_idle; /* refreshes since that has changed */
	uint32_t live_row; /* its row of the live page, plus 1, if that says so too; 0: none yet */
	struct nvs_channel_entry *prev, *next;
};
void nvs_channel_add(struct nvs_object *object);
/* Where the USERD of a channel will be seen that is about to be allocated with PARAMS, in the
 * program's memory; 0: nowhere. */
uintptr_t nvs_channel_expected(uint32_t client, const void *params);
void nvs_channel_token(struct nvs_object *object, uint32_t token);
/* The kernel has asked for the token itself, and written it to the channel's notifier. */
void nvs_channel_read_token(struct nvs_channel_entry *channel);
void nvs_channel_read_put(struct nvs_channel_entry *channel);
/* After a publication, for channels that are not in the view any more. */
void nvs_channels_settle(void);
void nvs_channel_remove(struct nvs_channel_entry *channel);
/* done.c: what stands in its progress-release slot. False: nothing that can be read. */
bool nvs_channel_read_done(const struct nvs_channel_entry *channel, struct nvs_channel_done *done);
void nvs_channels_see_done(void); /* of all, into the spool */
/* Where the process sees [OFFSET, OFFSET + SIZE) of what ENTITY stands for; 0: nowhere. */
uintptr_t nvs_entity_seen_at(const struct nvs_entity *entity, int64_t offset, int64_t size);
/* Finds ring and USERD of every channel anew; true: something changed. */
bool nvs_channels_bind(const struct nvs_segment_map *maps, uint32_t n);

/* ---- shadow.c: GPFIFO and USERD in ordinary memory ---- */
/* Whether MAP, of FD, is to have two more; made under no lock. */
bool nvs_shadow_wants(const struct nvs_cpu_map *map, int fd);
void nvs_shadow_map_more(size_t size, int fd, struct nvs_more_maps *more);
void nvs_shadow_ask_power(void); /* under no lock, ahead of the first nvs_shadow_wants() */
/* The program's own pages again where a shadow has one in [START, END); to be published. */
void nvs_shadow_clear(uint64_t start, uint64_t end);
void nvs_shadow_clear_due(struct nvs_channel_entry *channel);
/* Under no lock, ahead of nvs_shadow_clear(): waits for the GPU where timing needs it. */
void nvs_shadow_prepare(uint64_t start, uint64_t end);
/* The pages are about to go, whatever nvs_shadow_clear() could not give back. */
void nvs_shadow_cut(uint64_t start, uint64_t end);
void nvs_shadow_bring_over(void); /* what the GPU wrote to USERD */
void nvs_shadow_unmapped(struct nvs_cpu_map *map); /* out of the view already */
void nvs_shadow_try(struct nvs_channel_entry *channel);
/* The program's own pages again, if it has a shadow: nothing will carry what it writes. */
void nvs_shadow_end(struct nvs_channel_entry *channel);
void nvs_shadow_drop(struct nvs_channel_entry *channel); /* out of the view already */
void nvs_shadow_collect(void); /* no trap has a view of before */

/* ---- timing.c: the GPU's own time ---- */
/* SHADOW is about to be the channel's. */
void nvs_timing_begin(struct nvs_channel_entry *channel, struct nvs_shadow *shadow);
void nvs_timing_arm_one(struct nvs_channel_entry *channel); /* if there is memory for it */
/* Its channel is to go on without a shadow. False: not now, the GPU is not so far. */
bool nvs_timing_end(struct nvs_channel_entry *channel);
bool nvs_timing_step(struct nvs_channel_entry *channel); /* towards that */
void nvs_timing_ring(const struct nvs_channel_entry *channel);
void nvs_timing_gone(struct nvs_channel_entry *channel); /* the channel is no more */
void nvs_timing_free(struct nvs_shadow *shadow);
/* What is submitted reaches the GPU, and times that come soon the trace. */
void nvs_timing_drain(struct nvs_channel_entry *channel);
void nvs_timing_tell(const struct nvs_channel_entry *channel); /* what was not timed, and why */
/* GPU mappings in [START, END) are about to go. */
void nvs_timing_memory_goes(uint64_t start, uint64_t end);
void nvs_timing_object_goes(const struct nvs_object *object);

/* ---- tell.c: records ---- */
void nvs_tell_gpu(uint32_t gpu);
void nvs_tell_object(const struct nvs_object *object);
void nvs_tell_object_gone(const struct nvs_object *object);
void nvs_tell_cpu_map(const struct nvs_cpu_map *map);
void nvs_tell_cpu_map_gone(const struct nvs_cpu_map *map);
void nvs_tell_gpu_map(const struct nvs_gpu_map *map);
void nvs_tell_gpu_map_gone(const struct nvs_gpu_map *map);
void nvs_tell_channel(const struct nvs_channel_entry *channel);
void nvs_tell_channel_gone(const struct nvs_channel_entry *channel, unsigned flags);
void nvs_tell_remark(uint32_t kind, uint32_t gpu, uint32_t client, uint32_t handle);
void nvs_tell_check(uint32_t kind, uint64_t value, uint64_t start, uint64_t end);

/* ---- mapscheck.c: /proc/self/maps at the end ---- */
void nvs_maps_check(void);

/* ---- fdkind.c: under no lock ---- */
#define NVS_FD_KINDS 65536
enum nvs_fd_kind {
	NVS_FD_UNKNOWN,
	NVS_FD_OTHER,
	NVS_FD_MODESET,
	NVS_FD_CTL,
	NVS_FD_GPU,
	NVS_FD_UVM
};
/*
 * What the fd is now. The first asks the kernel; the second answers for an ioctl, mostly without.
 */
enum nvs_fd_kind nvs_fd_kind(int fd);
enum nvs_fd_kind nvs_fd_kind_for(int fd, unsigned long request);
void nvs_fd_set_kind(int fd, enum nvs_fd_kind kind);
void nvs_fd_learn(int fd, const char *path); /* of a device */
bool nvs_fd_tracked(int fd);

/* ---- files.c ---- */
uint32_t nvs_fd_file(int fd); /* number of the open file behind a device fd */
void nvs_fd_set_map(int fd, struct nvs_rm_map *map);
struct nvs_rm_map *nvs_fd_map(int fd);
void nvs_fd_share(int from, int to); /* TO is of the same open file */
uint32_t nvs_fd_forget(int fd); /* the open file that is gone with it, 0: none */
int nvs_fd_in_range(unsigned first, unsigned last); /* a known fd of these, -1: none */
void nvs_rm_map_put(struct nvs_rm_map *map);

/* ---- entry.c: hooked calls; they take the lock where there is something to do ---- */
/* CHANNEL: as nvs_rm_makes_channel() says. */
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
/* Under no lock: something must happen ahead of the call, for which the lock is taken; as it must
 * ahead of one that makes a channel. */
bool nvs_rm_begins(unsigned request, void *arg);
bool nvs_uvm_begins(unsigned long request);
/*
 * A call between its two halves. No lock is held then, since it may never return: the GPU may hang.
 * What it may take away has left the view, and says that it is in transit; what another thread has
 * made in the same place meanwhile was born later, and is left alone when it returns.
 */
struct nvs_transit {
	uint64_t call; /* its number, from 1; 0: nothing happened ahead of it */
	bool frees; /* an object: */
	uint32_t client, handle;
	struct nvs_rm_map *map; /* that it may unmap; NULL: none */
};
/* Under the lock: what must happen ahead of the call, and what came of it, after it has returned
 * RET. */
void nvs_rm_before(unsigned request, void *arg, struct nvs_transit *transit);
/* What is waited for under no lock, ahead of a call that makes a channel. */
void nvs_rm_prepare(unsigned request, void *arg);
/* Under no lock, of a call that has returned RET: nothing comes of it. */
bool nvs_rm_teaches_nothing(unsigned request, const void *arg, int ret);
void nvs_rm_after(int fd, unsigned request, void *arg, int ret, const struct nvs_transit *transit);
void nvs_uvm_before(unsigned long request, const void *arg);
void nvs_uvm_after(int fd, unsigned long request, void *arg, int ret,
		   const struct nvs_transit *transit);

/* ---- publish.c ---- */
/* Makes the trap see the present state, under the lock. */
void nvs_publish(void);

/* ---- tables.c ---- */
struct nvs_gpu {
	bool seen;
	bool has_doorbell; /* a doorbell page of it has been mapped */
	uint32_t architecture, implementation, revision;
	uint8_t uuid[16];
	char name[64];
};
struct nvs_unknown {
	uint32_t device, number, bytes;
	uint64_t count;
};
struct nvs_rm {
	uint32_t release; /* 0 not known */
	bool asked; /* /proc/driver/nvidia/version has been read */
	bool live; /* the session has been told everything: changes are recorded and published */
	bool handles_faults; /* the signal handlers are in place: doorbells can be armed */
	bool dirty; /* the view is older than the tables */
	bool segs_dirty; /* so is its row of segments */
	bool stale; /* traps may still be on what has left the tables: it is not given back */
	bool leaving_channels; /* one is hidden whose last GP_PUT has not been read */
	bool arming; /* a doorbell is in the view, or will be, that does not refuse stores yet */
	struct nvs_retired_alias *aliases; /* doorbells.c */
	struct nvs_object *objects; /* hash, in the order of making */
	struct nvs_spans cpu, gpu, ranges; /* struct nvs_cpu_map, nvs_gpu_map, nvs_range */
	struct nvs_segs segs;
	struct nvs_channel_entry *channels;
	struct nvs_published *published;
	uint32_t next_entity, next_cpu_map, next_gpu_map, next_channel, next_file;
	uint64_t calls; /* that have begun: struct nvs_transit */
	_Atomic uint32_t remapping; /* of these, those that change the address space, now */
	struct nvs_unmapping *unmappings; /* tables.c */
	uint64_t generation;
	struct nvs_timing_pool *pools; /* timing.c */
	_Atomic bool power_asked;
	bool may_suspend; /* the GPU may lose power at run time */
	struct nvs_stash_hole *holes; /* shadow.c */
	struct nvs_shadow *retired; /* traps may still know them */
	struct nvs_gpu gpus[NVS_MAX_GPUS];
	uint32_t unknown_n;
	uint64_t handlers_replaced;
	uint64_t unknown_calls;
	struct nvs_unknown unknown[NVS_MAX_UNKNOWN];
	struct nvs_rec_remark remarks[32];
	uint32_t nremarks;
	struct nvs_spans dead; /* doorbell pages whose object went before they did */
};
/* NULL only when the kernel gives no memory. */
struct nvs_rm *nvs_rm(void);
uint32_t nvs_rm_release(void);
void nvs_rm_remark_release(void); /* if it is newer than all that are known, or not known */
void nvs_rm_driver(const char *version); /* as a call told it */
uint32_t nvs_gpu_by_uuid(const uint8_t *uuid); /* NVS_NONE: none is known */
void nvs_rm_count_unknown(uint32_t device, uint32_t number, uint32_t bytes);
/* [START, START + SIZE), a mapping of our own, goes when the lock is given back. Under the lock. */
void nvs_rm_unmap(uintptr_t start, size_t size);
/* nvs_unlock() behind a publication: what is to be unmapped then goes. */
void nvs_rm_unlock(const sigset_t *saved);
/* Copies from memory of the program that may not be there: 8 bytes up to a page. */
bool nvs_peek(void *to, const void *from, size_t bytes);

#endif
