/* SPDX-License-Identifier: MIT */
/*
 * Packers: each has room for one frame in its hands. The second one is given work only while the
 * first is busy, so that its memory is touched only where that is needed.
 */
#include <time.h>
#include "preload/base/ownthread.h"
#include "preload/trace/packer.h"

#define NAP_MS 1000 /* a wake that is lost costs no more */

static uint64_t own_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void wait_turn(struct nvs_packers *all, uint32_t ticket)
{
	uint32_t turn;

	while ((turn = atomic_load(&all->turn)) != ticket)
		nvs_sys_futex_wait(&all->turn, turn, NAP_MS);
}

static void write_one(const struct nvs_packer *p)
{
	struct nvs_packers *all = p->all;
	uint32_t ticket = p->ticket;
	ssize_t packed = nvs_pack_frame(p->pack, p->frame, p->size);

	wait_turn(all, ticket);
	all->write(all->arg, p->frame, p->size, &p->counts, p->pack->packed, packed);
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
		write_one(p);
		atomic_store(&p->cpu_ns, own_cpu_ns());
		atomic_store_explicit(&p->full, 0, memory_order_release);
		atomic_fetch_add(&all->given, 1);
		nvs_sys_futex_wake(&all->given);
	}
}

void nvs_packers_start(struct nvs_packers *all, struct nvs_pack *pack, size_t largest)
{
	all->each[0].pack = pack;
	all->each[0].all = all;
	for (uint32_t i = 0; i < NVS_PACKERS; i++) {
		struct nvs_packer *p = &all->each[i];

		p->all = all;
		if (i) {
			p->pack = &p->own;
			if (nvs_pack_init(p->pack, largest))
				return;
		}
		if (nvs_own_thread("nvsnoop-zstd", run_packer, p)) {
			nvs_pack_free(&p->own);
			return;
		}
		all->running++;
	}
}

static struct nvs_packer *free_one(struct nvs_packers *all)
{
	for (uint32_t i = 0; i < all->running; i++)
		if (!atomic_load_explicit(&all->each[i].full, memory_order_acquire))
			return &all->each[i];
	return NULL;
}

void nvs_packers_write(struct nvs_packers *all, const void *frame, size_t size,
		       const struct nvs_merge_counts *counts)
{
	struct nvs_packer own = {
		.all = all, .pack = all->each[0].pack, .frame = frame, .size = size};

	nvs_packers_wait(all);
	own.counts = *counts;
	own.ticket = all->tickets++;
	write_one(&own);
}

void nvs_packers_give(struct nvs_packers *all, const void *frame, size_t size,
		      const struct nvs_merge_counts *counts)
{
	struct nvs_packer *p;

	if (!all->running) {
		nvs_packers_write(all, frame, size, counts);
		return;
	}
	while (!(p = free_one(all))) {
		uint32_t seen = atomic_load(&all->given);

		if (!free_one(all))
			nvs_sys_futex_wait(&all->given, seen, NAP_MS);
	}
	p->frame = frame;
	p->size = size;
	p->counts = *counts;
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

uint64_t nvs_packers_cpu_ns(const struct nvs_packers *all)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < all->running; i++)
		sum += atomic_load(&all->each[i].cpu_ns);
	return sum;
}
