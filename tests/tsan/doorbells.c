/* SPDX-License-Identifier: MIT */
/*
 * Under ThreadSanitizer: threads are created and end while they ring doorbells, on channels of
 * their own and on a shared one. One thread publishes views and modules continuously, another
 * drains the thread buffers into frames. These parts are the library's: buffers, capture,
 * publication, merge. Ends with `N passed, N failed`; a race fails it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "preload/writer/merge.h"
#include "preload/base/preload.h"
#include "trap/buffer/process.h"

#define CHANNELS 4u
#define ENTRIES 256u
#define THREADS 6
#define LIVES 12 /* threads one after the other, each */
#define BELLS 300 /* of one thread */
#define BUFFER_BYTES (64u << 10)
#define VA 0x200000000ull
#define MEMORY (1u << 20)

static int passed, failed;
#define CHECK(cond)                                                                     \
	do {                                                                            \
		if (cond) {                                                             \
			passed++;                                                       \
		} else {                                                                \
			failed++;                                                       \
			printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond); \
		}                                                                       \
	} while (0)

/* A channel as a driver has it: under a lock of its own. */
static struct {
	pthread_mutex_t lock;
	uint64_t buffer[ENTRIES];
	uint32_t put;
	struct nvs_spool_channel state;
} channels[CHANNELS];
static uint8_t *memory;
static struct nvs_doorbell doorbell = {.map = 1};
static _Atomic int stop;
static _Atomic uint64_t rung;
static uint64_t heartbeat;
static struct nvs_merge *merge;
static uint64_t frames, drained;

/* The merge's memory. */
void *nvs_alloc(size_t bytes)
{
	return calloc(1, bytes);
}

void nvs_free(void *p, size_t bytes)
{
	free(p);
}

/* ---- views ---- */

static struct nvs_view *make_view(uint64_t generation)
{
	struct full {
		struct nvs_view view;
		struct nvs_segment_map map;
		struct nvs_channel channels[CHANNELS];
		uint32_t hash[CHANNELS * 4];
	} *f = calloc(1, sizeof(*f));

	f->map = (struct nvs_segment_map){.gpu_va = VA, .size = MEMORY, .cpu = (uintptr_t)memory};
	for (uint32_t i = 0; i < CHANNELS; i++) {
		uint32_t h = nvs_channel_hash(0, 0x100 + i);

		f->channels[i] = (struct nvs_channel){.number = i,
						      .token = 0x100 + i,
						      .entries = ENTRIES,
						      .gpfifo = channels[i].buffer,
						      .put = &channels[i].put,
						      .state = &channels[i].state};
		while (f->hash[h % (CHANNELS * 4)])
			h++;
		f->hash[h % (CHANNELS * 4)] = i + 1;
	}
	f->view = (struct nvs_view){.generation = generation,
				    .ndoorbells = 1,
				    .doorbells = &doorbell,
				    .nmaps = 1,
				    .maps = &f->map,
				    .nchannels = CHANNELS,
				    .channels = f->channels,
				    .channel_mask = CHANNELS * 4 - 1,
				    .channel_hash = f->hash};
	return &f->view;
}

static void *publish(void *arg)
{
	for (uint64_t i = 2; !stop; i++) {
		struct nvs_module_view *modules = calloc(1, sizeof(*modules));

		modules->subs = i / 8;
		free(nvs_view_publish(make_view(i)));
		free(nvs_modules_publish(modules));
		nvs_wait_for_traps();
	}
	return NULL;
}

/* ---- doorbells ---- */

static void ring_one(uint32_t c, uint32_t i)
{
	uint32_t n = 1 + i % 3;

	pthread_mutex_lock(&channels[c].lock);
	for (uint32_t k = 0; k < n; k++) {
		channels[c].buffer[channels[c].put] = (VA + c * 4096 + k * 64) |
						      (uint64_t)(8 + i % 8) << 42;
		channels[c].put = (channels[c].put + 1) % ENTRIES;
	}
	{
		struct nvs_buffer *buffer = nvs_buffer_enter();
		struct nvs_doorbell_event event = {.doorbell = &doorbell,
						   .token = 0x100 + c,
						   .stack = NVS_NONE,
						   .time = nvs_clock_now()};

		if (buffer) {
			nvs_capture_doorbell(buffer, nvs_view_get(), &event);
			__atomic_store_n(&buffer->shared->rung, buffer->shared->head,
					 __ATOMIC_RELEASE);
			nvs_buffer_leave(buffer);
		} else {
			atomic_fetch_add(&nvs_process->bufferless, 1);
			nvs_capture_lost(nvs_view_get(), &event);
			atomic_fetch_sub(&nvs_process->bufferless, 1);
		}
	}
	pthread_mutex_unlock(&channels[c].lock);
	atomic_fetch_add(&rung, 1);
}

static void *ring_many(void *arg)
{
	uint32_t c = (uint32_t)(uintptr_t)arg % CHANNELS;

	for (uint32_t i = 0; i < BELLS; i++) {
		struct nvs_rec_attr attr = {.rec = {.type = NVS_REC_ATTR, .size = sizeof(attr)},
					    .key = 999};

		ring_one(i % 16 ? c : (c + 1) % CHANNELS, i);
		if (i % 32 == 0)
			nvs_record_write(&attr.rec);
	}
	return NULL;
}

static void *live_and_die(void *arg)
{
	for (int i = 0; i < LIVES; i++) {
		pthread_t t;

		pthread_create(&t, NULL, ring_many, arg);
		pthread_join(t, NULL);
	}
	return NULL;
}

/* ---- the writer ---- */

static void count_frame(const struct nvs_zframe *frame)
{
	if (!frame)
		return;
	frames++;
	drained += frame->counts.submissions;
	nvs_merge_commit(frame);
}

static void drain_until(uint64_t limit)
{
	const struct nvs_zframe *frame;

	nvs_merge_collect(merge, limit);
	while ((frame = nvs_merge_next(merge)))
		count_frame(frame);
	count_frame(nvs_merge_take_rest(merge));
}

static void *drain(void *arg)
{
	while (!stop) {
		uint64_t sum = 0;

		nvs_buffer_sweep();
		drain_until(nvs_clock_now());
		for (uint32_t i = 0; i < nvs_buffer_count(); i++)
			sum += nvs_count_of(nvs_buffer_at(i), NVS_COUNT_SUBMISSIONS);
		__atomic_fetch_add(&heartbeat, 1 + (sum == UINT64_MAX), __ATOMIC_RELEASE);
		usleep(200);
	}
	return NULL;
}

static void add_buffers(int n)
{
	for (int i = 0; i < n; i++) {
		struct nvs_spool_buffer *shared = aligned_alloc(4096, 4096);
		int fd = memfd_create("ring", 0);
		uint8_t *data = mmap(NULL, BUFFER_BYTES * 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
				     -1, 0);

		memset(shared, 0, sizeof(*shared));
		shared->buffer = nvs_buffer_count();
		shared->thread = NVS_NONE;
		if (ftruncate(fd, BUFFER_BYTES) ||
		    mmap(data, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 0) == MAP_FAILED ||
		    mmap(data + BUFFER_BYTES, BUFFER_BYTES, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
		    nvs_buffer_add(shared, data, BUFFER_BYTES,
				   (uint8_t *)aligned_alloc(4096, NVS_TRAP_STACK) + NVS_TRAP_STACK,
				   calloc(1, NVS_KNOWN_STACKS_BYTES)))
			abort();
		close(fd);
	}
}

int main(void)
{
	struct nvs_trap_options options = {.use_ticks = true};
	pthread_t threads[THREADS], publisher, writer;
	uint64_t counted = 0, lost = 0;

	memory = aligned_alloc(4096, MEMORY);
	memset(memory, 1, MEMORY);
	if (nvs_trap_init(&options))
		abort();
	add_buffers(16);
	nvs_writer_signal.heartbeat = &heartbeat;
	merge = nvs_merge_new(BUFFER_BYTES, 0);
	for (uint32_t i = 0; i < CHANNELS; i++) {
		pthread_mutex_init(&channels[i].lock, NULL);
		channels[i].state.channel = i;
	}
	nvs_view_publish(make_view(1));
	pthread_create(&publisher, NULL, publish, NULL);
	pthread_create(&writer, NULL, drain, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, live_and_die, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	stop = 1;
	pthread_join(publisher, NULL);
	pthread_join(writer, NULL);
	drain_until(UINT64_MAX);
	for (uint32_t i = 0; i < nvs_buffer_count(); i++) {
		counted += nvs_count_of(nvs_buffer_at(i), NVS_COUNT_SUBMISSIONS);
		lost += nvs_count_of(nvs_buffer_at(i), NVS_COUNT_LOST_SUBMISSIONS);
	}
	CHECK(rung == (uint64_t)THREADS * LIVES * BELLS);
	CHECK(counted + lost == rung);
	CHECK(drained == counted && !lost && frames > 1);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
