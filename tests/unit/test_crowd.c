/* SPDX-License-Identifier: MIT */
/* LINK: trap */
/*
 * More threads than buffers: threads without their own borrow one for each record. Nothing is
 * lost, no system call checks which threads are alive, and a buffer that was left by a jump is
 * reused.
 */
#include <alloca.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include "insns.h"
#include "tests/unit/fakering.h"
#include "trap/buffer/process.h"

#define RINGS 32u
#define THREADS 60u
#define RECORDS 1000

static pthread_barrier_t all;
static _Atomic int refused;

static int record(void)
{
	struct nvs_rec_remark r = {.rec = {.type = NVS_REC_REMARK, .size = sizeof(r)}};

	return nvs_record_write(&r.rec);
}

static void *stay(void *arg)
{
	if (record())
		refused++;
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	return NULL;
}

static uint32_t owned(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nvs_buffer_count(); i++)
		n += nvs_buffer_at(i)->shared->tid != 0;
	return n;
}

static uint32_t count_records(uint32_t type)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nvs_buffer_count(); i++) {
		uint32_t undrained = 0;
		struct nvs_rec *rec;

		while ((rec = fake_next(nvs_buffer_at(i), &undrained)))
			n += rec->type == type;
	}
	return n;
}

static volatile int calls;

static void on_sys(int sig, siginfo_t *info, void *context)
{
	calls++;
	insn_set_result(context, 0);
}

/* From here on this thread's questions after other threads, and its naps, are counted. */
static void count_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_nanosleep, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	struct sigaction sys = {.sa_flags = SA_SIGINFO, .sa_sigaction = on_sys};

	sigaction(SIGSYS, &sys, NULL);
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* Far below its caller's frame: as a handler does, which may jump out of it. */
__attribute__((noinline)) static struct nvs_buffer *enter_below(void)
{
	volatile char *room = alloca(8192);

	room[0] = 0;
	return nvs_buffer_enter();
}

static void *borrow(void *arg)
{
	struct nvs_buffer *outer, *inner;
	int lost = 0;

	CHECK(record() == 0);
	count_records(NVS_REC_REMARK);
	count_calls();
	for (int i = 0; i < RECORDS; i++)
		lost += record() != 0;
	CHECK(lost == 0 && count_records(NVS_REC_REMARK) == RECORDS);
	CHECK(calls == 0);
	for (int i = 0; i < RECORDS; i++)
		lost += !enter_below();
	CHECK(lost == 0 && owned() <= RINGS - 1);
	CHECK(record() == 0);
	outer = nvs_buffer_enter();
	inner = enter_below();
	CHECK(outer && inner && outer != inner);
	nvs_buffer_leave(inner);
	nvs_buffer_leave(outer);
	return NULL;
}

int main(void)
{
	struct nvs_trap_options options = {.backtrace = false};
	pthread_t threads[THREADS], t;
	uint32_t own;

	CHECK(nvs_trap_init(&options) == 0);
	fake_rings(RINGS, 262144);
	/* More were wanted, and could not be made. */
	atomic_store(&nvs_writer_signal.full, 1);
	pthread_barrier_init(&all, NULL, THREADS + 1);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, stay, NULL);
	pthread_barrier_wait(&all);
	CHECK(refused == 0);
	CHECK(count_records(NVS_REC_THREAD) == THREADS);
	own = owned();
	CHECK(own == RINGS - RINGS / NVS_SHARED_EVERY);
	pthread_create(&t, NULL, borrow, NULL);
	pthread_join(t, NULL);
	CHECK(owned() == own);
	pthread_barrier_wait(&all);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* Who comes now has one of its own. */
	CHECK(nvs_buffer_sweep() == own);
	CHECK(nvs_buffer_own() != NULL);
	return test_result();
}
