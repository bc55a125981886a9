/* SPDX-License-Identifier: MIT */
/*
 * The packers' threads, each of which can hold one frame. The second gets work only while the first
 * is busy, so that its memory is touched only when needed. zstd works in the library's memory, not
 * in the program's heap.
 */
#define ZSTD_STATIC_LINKING_ONLY
#include <errno.h>
#include <zstd.h>
#include "preload/base/ownthread.h"
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "preload/writer/packer.h"
#include "trap/low/sys.h"

#define LEVEL 1
#define WINDOW_LOG 20 /* a frame: similar launches may be at its start */
#define NAP_MS 1000 /* bounds the cost of a lost wake */

/* ---- one frame ---- */

static void free_pack(struct nvs_pack_memory *pack)
{
	nvs_free(pack->workspace, pack->workspace_size);
	nvs_free(pack->packed, pack->packed_size);
	nvs_free(pack->delta, pack->delta_size);
	nvs_free(pack->slots, NVS_DELTA_SLOTS * sizeof(*pack->slots));
	*pack = (struct nvs_pack_memory){0};
}

static int make_pack(struct nvs_pack_memory *pack, size_t largest)
{
	*pack = (struct nvs_pack_memory){.workspace_size = ZSTD_estimateCCtxSize(LEVEL),
					 .packed_size = ZSTD_compressBound(largest),
					 .delta_size = largest};
	pack->workspace = nvs_alloc(pack->workspace_size);
	pack->packed = nvs_alloc(pack->packed_size);
	pack->delta = nvs_alloc(pack->delta_size);
	pack->slots = nvs_alloc(NVS_DELTA_SLOTS * sizeof(*pack->slots));
	pack->cctx = pack->workspace ? ZSTD_initStaticCCtx(pack->workspace, pack->workspace_size)
				     : NULL;
	if (!pack->cctx || !pack->packed || !pack->delta || !pack->slots) {
		free_pack(pack);
		return -ENOMEM;
	}
	/* A static context starts without parameters, not with the defaults. */
	ZSTD_CCtx_reset(pack->cctx, ZSTD_reset_session_and_parameters);
	ZSTD_CCtx_setParameter(pack->cctx, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(pack->cctx, ZSTD_c_windowLog, WINDOW_LOG);
	ZSTD_CCtx_setParameter(pack->cctx, ZSTD_c_contentSizeFlag, 1);
	ZSTD_CCtx_setParameter(pack->cctx, ZSTD_c_checksumFlag, 1);
	return 0;
}

static ssize_t pack_frame(struct nvs_pack_memory *pack, const struct nvs_zframe *frame)
{
	size_t packed;

	if (!frame->counts.records)
		return 0;
	if (frame->size > pack->delta_size)
		return -EINVAL;
	nvs_delta_frame(pack->delta, frame->data, frame->size, pack->slots);
	packed = ZSTD_compress2(pack->cctx, pack->packed, pack->packed_size, pack->delta,
				frame->size);
	return ZSTD_isError(packed) ? -EINVAL : (ssize_t)packed;
}

/* ---- the threads ---- */

static void wait_turn(struct nvs_packers *all, uint32_t ticket)
{
	uint32_t turn;

	while ((turn = atomic_load(&all->turn)) != ticket)
		nvs_sys_futex_wait(&all->turn, turn, NAP_MS);
}

static void write_one(struct nvs_packers *all, struct nvs_pack_memory *pack,
		      const struct nvs_zframe *frame, uint32_t ticket)
{
	ssize_t size = pack_frame(pack, frame);

	wait_turn(all, ticket);
	all->commit(all->arg, frame, pack->packed, size);
	atomic_store(&all->turn, ticket + 1);
	nvs_sys_futex_wake(&all->turn);
}

static void run_packer(void *arg)
{
	struct nvs_packer *p = arg;
	struct nvs_packers *all = p->all;

	all->begin(all->arg);
	for (;;) {
		while (!atomic_load_explicit(&p->full, memory_order_acquire)) {
			if (atomic_load(&all->finishing))
				return;
			nvs_sys_futex_wait(&p->full, 0, NAP_MS);
		}
		write_one(all, &p->pack, p->frame, p->ticket);
		atomic_store(&p->cpu_ns, nvs_read_clock(CLOCK_THREAD_CPUTIME_ID));
		atomic_store_explicit(&p->full, 0, memory_order_release);
		atomic_fetch_add(&all->given, 1);
		nvs_sys_futex_wake(&all->given);
	}
}

int nvs_packers_init(struct nvs_packers *all, size_t largest)
{
	all->largest = largest;
	return make_pack(&all->each[0].pack, largest);
}

void nvs_packers_start(struct nvs_packers *all, uint32_t n)
{
	for (; all->running < n && all->running < NVS_PACKERS; all->running++) {
		struct nvs_packer *p = &all->each[all->running];

		p->all = all;
		if (all->running && make_pack(&p->pack, all->largest))
			return;
		if (nvs_own_thread_start("nvsnoop-zstd", NVS_OWN_STACK, run_packer, p)) {
			if (all->running)
				free_pack(&p->pack);
			return;
		}
	}
}

static struct nvs_packer *free_one(struct nvs_packers *all)
{
	for (uint32_t i = 0; i < all->running; i++)
		if (!atomic_load_explicit(&all->each[i].full, memory_order_acquire))
			return &all->each[i];
	return NULL;
}

void nvs_packers_write(struct nvs_packers *all, const struct nvs_zframe *frame)
{
	nvs_packers_wait(all);
	write_one(all, &all->each[0].pack, frame, all->tickets++);
}

void nvs_packers_submit(struct nvs_packers *all, const struct nvs_zframe *frame)
{
	struct nvs_packer *p;

	if (!all->running) {
		nvs_packers_write(all, frame);
		return;
	}
	while (!(p = free_one(all))) {
		uint32_t seen = atomic_load(&all->given);

		if (!free_one(all))
			nvs_sys_futex_wait(&all->given, seen, NAP_MS);
	}
	p->frame = frame;
	p->ticket = all->tickets++;
	atomic_store_explicit(&p->full, 1, memory_order_release);
	nvs_sys_futex_wake(&p->full);
}

void nvs_packers_wait(struct nvs_packers *all)
{
	wait_turn(all, all->tickets);
}

void nvs_packers_finish(struct nvs_packers *all)
{
	nvs_packers_wait(all);
	atomic_store(&all->finishing, 1);
	for (uint32_t i = 0; i < all->running; i++)
		nvs_sys_futex_wake(&all->each[i].full);
}

void nvs_packers_free(struct nvs_packers *all)
{
	free_pack(&all->each[0].pack);
}

uint64_t nvs_packers_cpu_ns(const struct nvs_packers *all)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < all->running; i++)
		sum += atomic_load(&all->each[i].cpu_ns);
	return sum;
}
