/* SPDX-License-Identifier: MIT */
/* LINK: trap */
/*
 * Thread buffers: claimed by threads that start and end, filled while another thread drains them,
 * and full. Also the list of modules, which stays valid while a thread without a buffer reads it.
 */
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/unit/fakering.h"
#include "trap/buffer/process.h"

#define THREADS 8
#define RECORDS 20000

struct numbered {
	struct nvs_rec rec;
	uint64_t thread, number;
	uint64_t fill[13];
};

static atomic_int running;

static void *writer_of_records(void *arg)
{
	for (uint64_t i = 0; i < RECORDS; i++) {
		struct numbered r = {.rec = {.type = 900, .size = (uint32_t)sizeof(r)}};

		/* Sizes differ, so that records meet the end of the ring at every offset. */
		r.rec.size = (uint32_t)(sizeof(r) - i % 13 * 8);
		r.thread = (uintptr_t)arg;
		r.number = i;
		for (int k = 0; k < 13; k++)
			r.fill[k] = i * 31 + (uint64_t)k;
		if (nvs_record_write(&r.rec))
			return (void *)1;
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static bool filled_right(const struct numbered *r)
{
	for (uint64_t k = 0; k < (r->rec.size - offsetof(struct numbered, fill)) / 8; k++)
		if (r->fill[k] != r->number * 31 + k)
			return false;
	return true;
}

/* Every record of every thread arrives once, in order, whole, and times never go back in a ring. */
static void test_concurrent(void)
{
	pthread_t threads[THREADS];
	uint64_t next[THREADS] = {0}, last_time[64] = {0};
	uint32_t undrained[64] = {0};
	uint64_t wrong = 0, seen = 0;
	bool done = false;

	atomic_store(&running, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, writer_of_records, (void *)i);
	while (!done) {
		done = !atomic_load(&running);
		fake_heartbeat++;
		for (uint32_t n = 0; n < nvs_buffer_count(); n++) {
			struct nvs_rec *rec;

			while ((rec = fake_next(nvs_buffer_at(n), &undrained[n]))) {
				struct numbered *r = (void *)rec;

				wrong += rec->time < last_time[n];
				last_time[n] = rec->time;
				if (rec->type != 900)
					continue;
				wrong += r->thread >= THREADS || r->number != next[r->thread]++ ||
					 !filled_right(r);
				seen++;
			}
		}
	}
	for (int i = 0; i < THREADS; i++) {
		void *ret;

		pthread_join(threads[i], &ret);
		CHECK(!ret);
	}
	CHECK(wrong == 0);
	CHECK(seen == (uint64_t)THREADS * RECORDS);
}

static void *one_record(void *arg)
{
	struct nvs_rec_remark r = {.rec = {.type = NVS_REC_REMARK, .size = sizeof(r)}};

	return (void *)(intptr_t)nvs_record_write(&r.rec);
}

/* Far more threads than rings, one after the other: the rings of the dead are used again. */
static void test_reuse(void)
{
	uint32_t undrained[64] = {0};
	int errors = 0, threads_seen = 0;

	for (int i = 0; i < 500; i++) {
		pthread_t t;
		void *ret;

		pthread_create(&t, NULL, one_record, NULL);
		pthread_join(t, &ret);
		errors += ret != NULL;
		for (uint32_t n = 0; n < nvs_buffer_count(); n++) {
			struct nvs_rec *rec;

			while ((rec = fake_next(nvs_buffer_at(n), &undrained[n])))
				threads_seen += rec->type == NVS_REC_THREAD;
		}
	}
	CHECK(errors == 0);
	CHECK(threads_seen == 500);
	/* A thread that was joined may still be ending. */
	for (int i = 0; i < 10000 && nvs_buffer_sweep() < nvs_buffer_count() - 1; i++)
		usleep(1000);
	CHECK(nvs_buffer_sweep() >= nvs_buffer_count() - 1);
}

/* A record that a signal handler writes while one is being written goes elsewhere; both stay whole.
 *  */
static void test_nested(void)
{
	struct nvs_buffer *ring = nvs_buffer_own();
	struct nvs_rec_remark *outer = nvs_buffer_reserve(ring, sizeof(*outer), true);
	struct nvs_rec_remark inner = {.rec = {.type = NVS_REC_REMARK, .size = sizeof(inner)}};
	uint64_t head = ring->shared->head;

	/* That of nvs_buffer_own(), which has returned: compilers place its frame differently. */
	ring->activity = (struct nvs_activity){0};
	CHECK(outer != NULL);
	CHECK(nvs_record_write(&inner.rec) == 0);
	CHECK(ring->shared->head == head);
	memset(outer, 0, sizeof(*outer));
	outer->rec.type = NVS_REC_REMARK;
	outer->rec.size = sizeof(*outer);
	nvs_buffer_commit(ring, sizeof(*outer));
	CHECK(ring->shared->head == head + sizeof(*outer));
}

/* Nobody drains and the heartbeat stands still: the wait ends by itself, and nothing is
 * overwritten. */
static void test_stall(void)
{
	struct nvs_buffer *ring = nvs_buffer_own();
	uint64_t tail = ring->shared->tail, waits = ring->counters[NVS_COUNT_WAITS];
	struct numbered r = {.rec = {.type = 900, .size = sizeof(r)}};
	int err = 0;

	while (!err)
		err = nvs_record_write(&r.rec);
	CHECK(err == -ENOBUFS);
	CHECK(ring->counters[NVS_COUNT_WAITS] == waits + 1);
	CHECK(ring->counters[NVS_COUNT_WAIT_NS] >= 1000000000u);
	CHECK(ring->shared->head - tail <= ring->bytes);
	ring->shared->tail = ring->shared->head;
}

static uint64_t late_bytes;
static int keep_late(const void *record, uint32_t size)
{
	const struct nvs_rec *rec = record;

	late_bytes += rec->size == size ? size : 0;
	return 0;
}

/* After the writer has ended in order, records go to late() and the ring stands still. */
static void test_late(void)
{
	struct nvs_buffer *ring = nvs_buffer_own();
	uint64_t head = ring->shared->head;
	struct nvs_rec_remark r = {.rec = {.type = NVS_REC_REMARK, .size = sizeof(r)}};

	nvs_writer_signal.late = keep_late;
	atomic_store(&nvs_writer_signal.ended, 1);
	CHECK(nvs_record_write(&r.rec) == 0);
	CHECK(late_bytes == sizeof(r));
	CHECK(ring->shared->head == head);
	atomic_store(&nvs_writer_signal.ended, 0);
}

static struct nvs_module_view modules[3];

static void *publish_modules(void *arg)
{
	return nvs_modules_publish(arg);
}

/* In the middle of the list of modules, another thread takes it away. */
static int take_away(struct dl_phdr_info *info, size_t size, void *data)
{
	pthread_t t;
	void *old;

	pthread_create(&t, NULL, publish_modules, &modules[1]);
	pthread_join(t, &old);
	*(void **)data = old;
	return 1;
}

static void *taken = &taken;

static int slow_unwinder(void **pcs, int max)
{
	nvs_modules_iterate(take_away, &taken);
	return 0;
}

/* Who warms the unwinder reads the modules: they stay for as long, and no longer. */
static void test_warm(void)
{
	static const struct dl_phdr_info one;

	modules[0] = (struct nvs_module_view){.nmodules = 1, .modules = &one};
	CHECK(nvs_modules_publish(&modules[0]) == NULL);
	nvs_process->options.backtrace = true;
	nvs_callsite_set(slow_unwinder, true);
	nvs_callsite_warm();
	CHECK(taken == NULL);
	CHECK(!nvs_in_trap());
	CHECK(nvs_modules_publish(&modules[2]) == &modules[1]);
}

/* Further down the stack, as in a handler. */
__attribute__((noinline)) static struct nvs_buffer *enter_below(void)
{
	struct nvs_buffer *volatile ring = nvs_buffer_enter();

	return ring;
}

/* A record, and one in a handler that interrupts it: neither is waited for by their own thread. */
static void test_own_rings(void)
{
	struct nvs_buffer *outer = nvs_buffer_enter(), *inner = enter_below();

	CHECK(outer && inner && outer != inner);
	CHECK(nvs_modules_publish(&modules[0]) == &modules[2]);
	nvs_buffer_leave(inner);
	nvs_buffer_leave(outer);
}

/* A forked child finds the trap as if it had never been started. */
static void test_fork(void)
{
	struct nvs_rec_remark r = {.rec = {.type = NVS_REC_REMARK, .size = sizeof(r)}};
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(nvs_record_write(&r.rec) == -ENOBUFS && !nvs_buffer_count() && !nvs_view_get()
			      ? 0
			      : 1);
	waitpid(pid, &status, 0);
	CHECK(status == 0);
}

int main(void)
{
	struct nvs_trap_options options = {.backtrace = false};

	CHECK(nvs_trap_init(&options) == 0);
	fake_rings(16, 65536);
	test_concurrent();
	test_reuse();
	test_nested();
	test_stall();
	test_late();
	test_warm();
	test_own_rings();
	test_fork();
	return test_result();
}
