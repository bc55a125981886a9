/* SPDX-License-Identifier: MIT */
/* inflight kill|exit: threads hang in calls, one of them in its first, and the process is killed or
 * returns from main(). Prints these calls: "in-flight NAME TID". */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "app.h"

static CUcontext context;
static CUstream stuck;
static CUevent event;

struct waiter {
	const char *name;
	_Atomic int tid;
	bool known; /* has called before */
};

static void *wait_for_ever(void *arg)
{
	struct waiter *w = arg;

	if (w->known) {
		CK(cuCtxSetCurrent(context));
		CK(cuStreamQuery(NULL));
	}
	w->tid = (int)syscall(SYS_gettid);
	if (!strcmp(w->name, "cuStreamSynchronize"))
		cuStreamSynchronize(stuck);
	else
		cuEventSynchronize(event);
	return NULL;
}

/* From where it says its number on, nothing but the call makes it sleep, or takes processor time.
 *  */
static bool inside(int tid)
{
	unsigned long user = 0, kernel = 0;
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%*d %*s %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state,
			 &user, &kernel) != 3)
		state = 0;
	if (f)
		fclose(f);
	return state == 'S' || user + kernel > 5;
}

int main(int argc, char **argv)
{
	static struct waiter waiters[] = {{"cuStreamSynchronize", 0, true},
					  {"cuStreamSynchronize", 0, false},
					  {"cuEventSynchronize", 0, false}};
	pthread_t thread;
	CUdeviceptr d;

	context = app_context(0);
	CK(cuMemAlloc_v2(&d, 4096));
	CK(cuMemsetD32_v2(d, 0, 1024));
	CK(cuCtxSynchronize());
	CK(cuStreamCreate(&stuck, CU_STREAM_NON_BLOCKING));
	CK(cuEventCreate(&event, 0));
	/* Nobody ever writes there. */
	CK(cuStreamWaitValue32_v2(stuck, d, 1, 0));
	CK(cuEventRecord(event, stuck));
	for (int i = 0; i < 3; i++) {
		if (pthread_create(&thread, NULL, wait_for_ever, &waiters[i]))
			abort();
		while (!waiters[i].tid || !inside(waiters[i].tid))
			usleep(1000);
		printf("in-flight %s %d\n", waiters[i].name, waiters[i].tid);
	}
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "kill"))
		kill(getpid(), SIGKILL);
	return 0;
}
