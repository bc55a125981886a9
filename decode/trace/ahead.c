/* SPDX-License-Identifier: MIT */
/*
 * Unpacks the next frame in a thread while the last one is being read: frames are independent, and
 * unpacking takes about as long as reading. There are two buffers, so memory stays bounded; frames
 * and failures come in the order in which they come without it.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include "decode/trace/input.h"

#define STACK ((size_t)256 << 10) /* zstd's tables are not on it */

struct nvs_ahead {
	pthread_t thread;
	pthread_mutex_t lock; /* for what follows; IN is the thread's while ready is not set */
	pthread_cond_t changed;
	bool ready, quit;
	int result; /* of nvs_frame_unpack */
	struct nvs_error err;
	struct nvs_input in; /* the file and its buffers, but for the frame that is being read */
};

static void *work(void *arg)
{
	struct nvs_ahead *a = arg;
	int r = 1;

	while (r == 1) {
		pthread_mutex_lock(&a->lock);
		while (a->ready && !a->quit)
			pthread_cond_wait(&a->changed, &a->lock);
		r = a->quit ? 0 : 1;
		pthread_mutex_unlock(&a->lock);
		if (!r)
			break;
		r = nvs_frame_unpack(&a->in, &a->err);
		pthread_mutex_lock(&a->lock);
		a->result = r;
		a->ready = true;
		pthread_cond_signal(&a->changed);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

/* With all signals blocked: they are the program's. */
static int begin(struct nvs_ahead *a)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&a->thread, &attr, work, a);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return r;
}

void nvs_ahead_start(struct nvs_input *in)
{
	struct nvs_ahead *a;
	cpu_set_t cpus;

	if (!sched_getaffinity(0, sizeof(cpus), &cpus) && CPU_COUNT(&cpus) < 2)
		return;
	a = calloc(1, sizeof(*a));
	if (!a)
		return;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	a->in = *in;
	a->in.frame = NULL;
	a->in.frame_room = a->in.frame_size = 0;
	if (begin(a)) {
		free(a);
		return;
	}
	in->ahead = a;
}

/* The last frame stays where it is read; everything else comes back. */
void nvs_ahead_stop(struct nvs_input *in)
{
	struct nvs_ahead *a = in->ahead;
	struct nvs_input last = *in;

	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->quit = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	free(a->in.frame);
	*in = a->in;
	in->frame = last.frame;
	in->frame_room = last.frame_room;
	in->frame_size = last.frame_size;
	in->frame_offset = last.frame_offset;
	in->ahead = NULL;
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* The frame that is ready for the one that was read. */
static void exchange(struct nvs_input *in, struct nvs_input *next)
{
	uint8_t *frame = in->frame;
	size_t room = in->frame_room;

	in->frame = next->frame;
	in->frame_room = next->frame_room;
	in->frame_size = next->frame_size;
	next->frame = frame;
	next->frame_room = room;
}

int nvs_ahead_frame(struct nvs_input *in, struct nvs_error *err)
{
	struct nvs_ahead *a = in->ahead;
	int r;

	pthread_mutex_lock(&a->lock);
	while (!a->ready)
		pthread_cond_wait(&a->changed, &a->lock);
	r = a->result;
	in->offset = a->in.offset;
	in->frame_offset = a->in.frame_offset;
	in->eof = a->in.eof;
	if (r == 1) {
		exchange(in, &a->in);
		a->ready = false;
		pthread_cond_signal(&a->changed);
	} else if (err) {
		*err = a->err;
	}
	pthread_mutex_unlock(&a->lock);
	if (r != 1)
		nvs_ahead_stop(in);
	return r;
}
