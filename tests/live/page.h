/* SPDX-License-Identifier: MIT */
/* A hand-made live page for tests: laid out as a writer does, small, with figures that the test
 * chooses. It is in memory; live_page_write() writes it to a file. */
#ifndef NVSNOOP_TESTS_LIVE_PAGE_H
#define NVSNOOP_TESTS_LIVE_PAGE_H

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "nvsnoop/trace.h"
#include "nvsnoop/live.h"

#define LIVE_SLOTS 4
#define LIVE_APIS 8
#ifndef LIVE_KERNELS
#define LIVE_KERNELS 8
#endif
#define LIVE_RESULTS 8
#define LIVE_FAULTS 4
#define LIVE_GPUS 2
#define LIVE_SITES 4
#define LIVE_ALLOCS 8
#define LIVE_CHANNELS 4
#ifndef LIVE_STRINGS
#define LIVE_STRINGS 2048
#endif

struct live_slot {
	struct nvs_live_slot slot;
	struct nvs_live_api_count apis[LIVE_APIS];
	struct nvs_live_kernel_count kernels[LIVE_KERNELS];
};

struct live_page {
	struct nvs_live head __attribute__((aligned(64)));
	struct live_slot slots[LIVE_SLOTS] __attribute__((aligned(64)));
	struct nvs_live_api apis[LIVE_APIS] __attribute__((aligned(64)));
	struct nvs_live_result results[LIVE_RESULTS] __attribute__((aligned(64)));
	struct nvs_live_fault faults[LIVE_FAULTS] __attribute__((aligned(64)));
	struct nvs_live_kernel kernels[LIVE_KERNELS] __attribute__((aligned(64)));
	struct nvs_live_gpu gpus[LIVE_GPUS] __attribute__((aligned(64)));
	struct nvs_live_memory memory[(LIVE_GPUS + 1) * NVS_LIVE_KINDS]
		__attribute__((aligned(64)));
	struct nvs_live_site sites[LIVE_SITES] __attribute__((aligned(64)));
	struct nvs_live_alloc allocs[LIVE_ALLOCS] __attribute__((aligned(64)));
	struct nvs_live_channel channels[LIVE_CHANNELS] __attribute__((aligned(64)));
	char strings[LIVE_STRINGS] __attribute__((aligned(64)));
};

static uint64_t live_clock_stands
	__attribute__((unused)); /* not 0: at this ns, so that pages are alike */

static inline uint64_t live_clock(clockid_t clock)
{
	struct timespec t;

	if (live_clock_stands)
		return live_clock_stands;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline uint32_t live_string(struct live_page *p, const char *text)
{
	struct nvs_live_table *t = p->head.tables + NVS_LIVE_STRINGS;
	uint32_t at = t->used;

	if (at + strlen(text) + 1 > LIVE_STRINGS)
		abort();
	strcpy(p->strings + at, text);
	t->used += (uint32_t)strlen(text) + 1;
	return at;
}

static inline uint32_t live_row(struct live_page *p, enum nvs_live_table_number table)
{
	if (p->head.tables[table].used == p->head.tables[table].rows)
		abort();
	return p->head.tables[table].used++;
}

static inline uint32_t live_api(struct live_page *p, const char *name, const char *group)
{
	uint32_t row = live_row(p, NVS_LIVE_APIS);

	p->apis[row].name = live_string(p, name);
	p->apis[row].group = live_string(p, group);
	return row;
}

static inline uint32_t live_kernel(struct live_page *p, const char *name)
{
	uint32_t row = live_row(p, NVS_LIVE_KERNELS);

	p->kernels[row].name = live_string(p, name);
	return row;
}

/* Calls that took NS each. */
static inline void live_calls(struct live_page *p, uint32_t slot, uint32_t api, uint64_t calls,
			      uint64_t ns)
{
	int bucket = 0;

	while (bucket < NVS_LIVE_BUCKETS - 1 && ns >> (bucket + NVS_LIVE_BUCKET_SHIFT))
		bucket++;
	p->slots[slot].apis[api].buckets[bucket] += calls;
	p->slots[slot].apis[api].ns += calls * ns;
}

static inline void live_head(struct live_page *p, uint32_t pid)
{
	char path[64], text[1024] = "", *at;
	FILE *file;
	struct stat st;

	p->head.version = NVS_LIVE_VERSION;
	p->head.head_bytes = sizeof(p->head);
	p->head.bytes = sizeof(*p);
	p->head.pid = pid;
	p->head.uid = geteuid();
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	file = fopen(path, "r");
	if (file && fgets(text, sizeof(text), file) && (at = strrchr(text, ')'))) {
		for (int i = 2; i < 22 && at; i++)
			at = strchr(at + 1, ' ');
		p->head.start_time = at ? strtoull(at + 1, NULL, 10) : 0;
	}
	if (file)
		fclose(file);
	p->head.pid_namespace = stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
	file = fopen("/proc/sys/kernel/random/boot_id", "r");
	if (file && fgets(text, sizeof(text), file)) {
		at = text;
		for (int i = 0; i < 16; i++, at += 2) {
			at += *at == '-';
			sscanf(at, "%2hhx", p->head.boot + i);
		}
	}
	if (file)
		fclose(file);
	p->head.state = NVS_LIVE_RUNNING;
	p->head.flags = NVS_LIVE_API | NVS_LIVE_SITES;
	p->head.heard = live_clock(CLOCK_MONOTONIC);
	p->head.clock.ticks = p->head.clock.mono_ns = p->head.heard;
	p->head.clock.real_ns = p->head.begun = live_clock(CLOCK_REALTIME);
	p->head.clock.mult = 1ull << 32;
	p->head.slot_apis = offsetof(struct live_slot, apis);
	p->head.slot_kernels = offsetof(struct live_slot, kernels);
	p->head.slot_api_bytes = sizeof(struct nvs_live_api_count);
	p->head.slot_kernel_bytes = sizeof(struct nvs_live_kernel_count);
}

static inline void live_table(struct live_page *p, enum nvs_live_table_number number,
			      const void *rows, size_t count, size_t size, uint32_t used)
{
	p->head.tables[number] =
		(struct nvs_live_table){.offset = (uint64_t)((const char *)rows - (const char *)p),
					.rows = (uint32_t)count,
					.row_bytes = (uint32_t)size,
					.used = used};
}

#define LIVE_TABLE(p, number, member, used)                                            \
	live_table(p, number, (p)->member, sizeof((p)->member) / sizeof(*(p)->member), \
		   sizeof(*(p)->member), used)

/* Empty, of process PID, which is the page's own until the test says otherwise. */
static inline void live_page_init(struct live_page *p, uint32_t pid)
{
	memset(p, 0, sizeof(*p));
	LIVE_TABLE(p, NVS_LIVE_SLOTS, slots, 1);
	LIVE_TABLE(p, NVS_LIVE_STRINGS, strings, 1);
	LIVE_TABLE(p, NVS_LIVE_APIS, apis, 1);
	LIVE_TABLE(p, NVS_LIVE_RESULTS, results, 1);
	LIVE_TABLE(p, NVS_LIVE_FAULTS, faults, 0);
	LIVE_TABLE(p, NVS_LIVE_KERNELS, kernels, 1);
	LIVE_TABLE(p, NVS_LIVE_GPUS, gpus, 0);
	LIVE_TABLE(p, NVS_LIVE_MEMORY, memory, sizeof(p->memory) / sizeof(*p->memory));
	LIVE_TABLE(p, NVS_LIVE_SITE_ROWS, sites, 1);
	LIVE_TABLE(p, NVS_LIVE_ALLOCS, allocs, 0);
	LIVE_TABLE(p, NVS_LIVE_CHANNELS, channels, 0);
	live_head(p, pid);
	p->head.magic = NVS_LIVE_MAGIC;
}

/* Into FOLDER, under the name that is its own. 0 or -1. */
static inline int live_page_write(const struct live_page *p, const char *folder)
{
	char path[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/nvsnoop.%u.live", folder, p->head.pid);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	n = fd < 0 ? -1 : pwrite(fd, p, sizeof(*p), 0);
	if (fd >= 0)
		close(fd);
	return n == (ssize_t)sizeof(*p) ? 0 : -1;
}

/* ---- one that has something of everything ---- */

static inline uint32_t live_thread(struct live_page *p, uint32_t tid, const char *name)
{
	uint32_t row = live_row(p, NVS_LIVE_SLOTS);
	struct nvs_live_slot *slot = &p->slots[row].slot;

	slot->generation = 1;
	slot->tid = tid;
	slot->thread = row - 1;
	snprintf(slot->name, sizeof(slot->name), "%s", name);
	return row;
}

static inline void live_allocate(struct live_page *p, uint64_t address, uint64_t bytes,
				 enum nvs_live_kind kind, uint32_t gpu, uint32_t site)
{
	struct nvs_live_memory *memory = p->memory + gpu * NVS_LIVE_KINDS + kind;
	uint32_t row = live_row(p, NVS_LIVE_ALLOCS);

	memory->live += bytes;
	memory->live_count++;
	memory->peak = memory->peak > memory->live ? memory->peak : memory->live;
	memory->allocs++;
	memory->bytes += bytes;
	p->sites[site].live += bytes;
	p->sites[site].live_count++;
	p->sites[site].peak = p->sites[site].live;
	p->sites[site].allocs++;
	p->sites[site].bytes += bytes;
	p->allocs[row] = (struct nvs_live_alloc){.address = address,
						 .bytes = bytes,
						 .time = p->head.clock.ticks,
						 .kind = (uint16_t)kind,
						 .gpu = (uint16_t)gpu,
						 .tid = p->head.pid,
						 .site = site,
						 .serial = row + 1};
}

/* The 6000-odd things that a training loop has done after ROUNDS rounds, on one GPU. */
static inline void live_page_example(struct live_page *p, uint32_t pid, uint64_t rounds)
{
	static const uint8_t uuid[16] = {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0,
					 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
	uint32_t launch, copy, sync, alloc, gemm, relu, main_thread, loader;
	struct nvs_live_slot *slot;

	live_page_init(p, pid);
	strcpy(p->head.program, "train");
	strcpy(p->head.host, "node7");
	strcpy(p->head.rank, "3");
	strcpy(p->head.size, "8");
	strcpy(p->head.launcher, "torchrun");
	strcpy(p->head.driver, "580.159.04");
	p->head.exe = live_string(p, "/usr/bin/train");
	memcpy(p->gpus[live_row(p, NVS_LIVE_GPUS)].uuid, uuid, sizeof(uuid));
	strcpy(p->gpus[0].name, "NVIDIA H200");
	launch = live_api(p, "cuLaunchKernel", "launch");
	copy = live_api(p, "cuMemcpyHtoDAsync_v2", "copy");
	sync = live_api(p, "cuStreamSynchronize", "sync");
	alloc = live_api(p, "cuMemAlloc_v2", "memory");
	gemm = live_kernel(p, "_Z4gemmPKfS0_Pfi");
	relu = live_kernel(p, "_Z4reluPfi");
	main_thread = live_thread(p, pid, "train");
	loader = live_thread(p, pid + 1, "loader");
	live_calls(p, main_thread, launch, 100 * rounds, 2000);
	live_calls(p, main_thread, sync, rounds, 9000000);
	live_calls(p, loader, copy, 10 * rounds, 5000);
	live_calls(p, main_thread, alloc, 4, 100000);
	live_calls(p, 0, launch, rounds, 2000); /* by threads that have no slot */
	p->slots[main_thread].kernels[gemm].direct = 60 * rounds;
	p->slots[main_thread].kernels[relu].direct = 40 * rounds;
	p->slots[0].kernels[gemm].direct = rounds;
	p->slots[main_thread].kernels[relu].graph = 20 * rounds;
	slot = &p->slots[main_thread].slot;
	slot->launches = 100 * rounds;
	p->slots[0].slot.launches = rounds;
	slot->graph_launches = rounds;
	slot->graph_kernels = 20 * rounds;
	slot->stalls[NVS_LIVE_STALL_RING] = (struct nvs_live_stalled){2 * rounds, 3000000 * rounds};
	slot->stalls[NVS_LIVE_STALL_UNKNOWN] = (struct nvs_live_stalled){1, 200000};
	slot->counts[NVS_LIVE_SKIPPED] = 102 * rounds;
	slot->counts[NVS_LIVE_SKIPPED_BYTES] = 102 * 400 * rounds;
	slot->counts[NVS_LIVE_SKIPPED_ENTRIES] = 120 * rounds;
	slot->counts[NVS_LIVE_DOORBELLS] = 102 * rounds;
	slot = &p->slots[loader].slot;
	slot->counts[NVS_LIVE_SKIPPED] = 10 * rounds;
	slot->counts[NVS_LIVE_SKIPPED_BYTES] = 10 * 100 * rounds;
	slot->counts[NVS_LIVE_LOST_SUBMISSIONS] = 2;
	slot->gaps[NVS_GAP_DROPPED] = 2;
	slot->copies[NVS_LIVE_H2D][NVS_LIVE_ASYNC] =
		(struct nvs_live_copy){10 * rounds, 10 * (4ull << 20) * rounds, 50000 * rounds};
	p->results[live_row(p, NVS_LIVE_RESULTS)] =
		(struct nvs_live_result){.api = alloc, .result = 2, .count = 1};
	p->faults[live_row(p, NVS_LIVE_FAULTS)] = (struct nvs_live_fault){
		.number = 13, .channel = 2, .count = 2, .time = p->head.clock.ticks - 5000000000};
	p->faults[live_row(p, NVS_LIVE_FAULTS)] = (struct nvs_live_fault){
		.number = 31, .channel = 4, .count = 1, .time = p->head.clock.ticks - 1000000000};
	p->memory[NVS_LIVE_KINDS + NVS_LIVE_DEVICE].failed_allocs = 1;
	p->sites[live_row(p, NVS_LIVE_SITE_ROWS)] =
		(struct nvs_live_site){.name = live_string(p, "libtrain.so+0x1234"), .api = alloc};
	live_allocate(p, 0x7f0000000000, 24ull << 30, NVS_LIVE_DEVICE, 1, 1);
	live_allocate(p, 0x7f8000000000, 64ull << 20, NVS_LIVE_HOST, 0, 0);
	p->channels[live_row(p, NVS_LIVE_CHANNELS)] =
		(struct nvs_live_channel){.channel = 4,
					  .flags = NVS_LIVE_CHANNEL_ALIVE | NVS_LIVE_CHANNEL_BOUND,
					  .gpu = 1,
					  .object_class = 0xc86f,
					  .engine = 1,
					  .token = 0x10,
					  .entries = 1024,
					  .put = 40,
					  .get = 37,
					  .used = 3,
					  .submitted = 102 * rounds + 7,
					  .completed = 102 * rounds,
					  .completed_of = 102 * rounds + 7,
					  .wanted = NVS_LIVE_UNKNOWN,
					  .released = NVS_LIVE_UNKNOWN,
					  .submitted_at = p->head.clock.ticks,
					  .completed_at = p->head.clock.ticks};
	slot = &p->slots[main_thread].slot;
	slot->ncalls = 1;
	slot->calls[0] = (struct nvs_live_call){
		.begin = p->head.clock.ticks - 250000000, .number = 101 * rounds + 5, .api = sync};
	slot->nranges = 1;
	strcpy(slot->ranges[0].name, "step");
	slot->ranges[0].begin = p->head.clock.ticks - 300000000;
}

#endif
