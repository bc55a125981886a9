/* SPDX-License-Identifier: MIT */
/*
 * Unpacks the next frame in a thread while the caller processes the current one: frames are
 * independent, and unpacking takes about as long as processing. There are two buffers, so memory
 * stays bounded; frames and errors are returned in the same order as without the thread.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include "decode/trace/input.h"

#define STACK ((size_t)256 << 10) /* zstd's tables are not on the stack */

struct nvs_read_ahead {
	pthread_t thread;
	bool quit;
	sem_t wanted, ready; /* a frame is wanted, is ready; the members below belong to the thread
			      * in between */
	int result; /* of nvs_frame_unpack */
	struct nvs_error err;
	struct nvs_input in; /* the file and its buffers, except for the caller's frame */
};

static void wait_for(sem_t *s)
{
	while (sem_wait(s)) /* interrupted by a signal */
		;
}

static void *run_ahead(void *arg)
{
	struct nvs_read_ahead *a = arg;

	nvs_budget_count_in(&a->in.aside);
	for (a->result = 1; a->result == 1; sem_post(&a->ready)) {
		wait_for(&a->wanted);
		if (__atomic_load_n(&a->quit, __ATOMIC_RELAXED))
			break;
		a->result = nvs_frame_unpack(&a->in, &a->err);
	}
	return NULL;
}

/* Blocks all signals in the thread: they belong to the program. */
static int start_thread(struct nvs_read_ahead *a)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&a->thread, &attr, run_ahead, a);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return r;
}

void nvs_read_ahead_start(struct nvs_input *in)
{
	struct nvs_read_ahead *a;
	cpu_set_t cpus;

	if (!sched_getaffinity(0, sizeof(cpus), &cpus) && CPU_COUNT(&cpus) < 2)
		return;
	a = calloc(1, sizeof(*a));
	if (!a)
		return;
	sem_init(&a->wanted, 0, 1);
	sem_init(&a->ready, 0, 0);
	a->in = *in;
	a->in.frame = NULL;
	a->in.frame_room = a->in.frame_size = 0;
	a->in.is_ahead = true;
	if (start_thread(a)) {
		free(a);
		return;
	}
	in->ahead = a;
}

/* Makes the budget independent of how far the thread has read ahead. */
static void count_ahead(struct nvs_input *next)
{
	nvs_budget_read(next->deferred_read);
	nvs_budget_add(&next->aside);
	next->deferred_read = 0;
}

/* Keeps the caller's current frame, and restores all other state from the thread. */
void nvs_read_ahead_stop(struct nvs_input *in)
{
	struct nvs_read_ahead *a = in->ahead;
	struct nvs_input last = *in;

	if (!a)
		return;
	__atomic_store_n(&a->quit, true, __ATOMIC_RELAXED);
	sem_post(&a->wanted);
	pthread_join(a->thread, NULL);
	free(a->in.frame);
	count_ahead(&a->in);
	*in = a->in;
	in->is_ahead = false;
	in->frame = last.frame;
	in->frame_room = last.frame_room;
	in->frame_size = last.frame_size;
	in->frame_offset = last.frame_offset;
	in->ahead = NULL;
	sem_destroy(&a->ready);
	sem_destroy(&a->wanted);
	free(a);
}

/* Swaps the processed frame for the one that is ready. */
static void swap_frames(struct nvs_input *in, struct nvs_input *next)
{
	uint8_t *frame = in->frame;
	size_t room = in->frame_room;

	in->frame = next->frame;
	in->frame_room = next->frame_room;
	in->frame_size = next->frame_size;
	next->frame = frame;
	next->frame_room = room;
	count_ahead(next);
}

int nvs_read_ahead_frame(struct nvs_input *in, struct nvs_error *err)
{
	struct nvs_read_ahead *a = in->ahead;
	int r;

	wait_for(&a->ready);
	r = a->result;
	in->offset = a->in.offset;
	in->frame_offset = a->in.frame_offset;
	in->eof = a->in.eof;
	if (r == 1) {
		swap_frames(in, &a->in);
		sem_post(&a->wanted);
		return r;
	}
	if (err)
		*err = a->err;
	nvs_read_ahead_stop(in);
	return r;
}
