/* SPDX-License-Identifier: MIT */
/* Waiters for the arena's lock sleep: a thread of high priority that spins on its core would
 * prevent the lock's holder from running forever. */
/* LINK: preload */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "preload/base/preload.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"

#define LIMIT_MS 10000

static _Atomic int tid;
static void *got;

static void *allocate(void *arg)
{
	atomic_store(&tid, nvs_sys_gettid());
	got = nvs_alloc(100);
	return NULL;
}

/* The kernel's letter for what the thread does: S sleeps, R runs or would. */
static char state_of(int thread)
{
	char path[64], text[512], *p;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	nvs_sys_read_file(path, text, sizeof(text));
	p = strrchr(text, ')');
	return p ? p[2] : '?';
}

int main(void)
{
	_Atomic uint32_t *lock = &nvs_state()->arena.lock;
	bool sleeps = false;
	pthread_t t;

	nvs_sys_lock(lock);
	pthread_create(&t, NULL, allocate, NULL);
	for (int i = 0; i < LIMIT_MS && !sleeps; i++) {
		usleep(1000);
		sleeps = atomic_load(lock) == 2 && state_of(tid) == 'S';
	}
	nvs_sys_unlock(lock);
	pthread_join(t, NULL);
	printf("%d passed, %d failed\n", sleeps + (got != NULL), !sleeps + !got);
	return sleeps && got ? 0 : 1;
}
