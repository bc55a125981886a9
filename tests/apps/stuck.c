/* SPDX-License-Identifier: MIT */
/*
 * stuck exit|interrupt|memory PATH: a thread frees memory of a GPU that hangs (SOFTGPU_STUCK is
 * PATH), and its call never returns. Meanwhile the program exits, is interrupted, or allocates
 * memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "app.h"

static const char *path;
static CUcontext context;

static _Atomic int *waits_here; /* seen by a child as well */

/* The driver's call does not return. PATH names the file that says so (SOFTGPU_STUCK). */
static void *free_for_ever(void *arg)
{
	CUdeviceptr p;

	CK(cuCtxSetCurrent(context));
	CK(cuMemAlloc_v2(&p, 8 << 20));
	close(open(path, O_CREAT | O_RDWR, 0600));
	*waits_here = 1;
	cuMemFree_v2(p);
	return arg;
}

static void wait_for_stuck(void)
{
	while (!*waits_here || !access(path, F_OK))
		sched_yield();
}

static void *do_nothing(void *arg)
{
	return arg;
}

static void share_flag(void)
{
	waits_here = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(waits_here != MAP_FAILED, "%s", strerror(errno));
}

static void begin_stuck(void)
{
	pthread_t t;

	share_flag();
	pthread_create(&t, NULL, free_for_ever, NULL);
	wait_for_stuck();
}

/* ^C ends it. */
static void be_interrupted(void)
{
	share_flag();
	if (!fork()) {
		wait_for_stuck();
		kill(getppid(), SIGINT);
		_exit(0);
	}
	free_for_ever(NULL);
}

static void on_signal(int sig)
{
	(void)sig;
}

/* Ordinary memory in pieces so large that they may hold mappings of the GPU, descriptors, signals
 * and threads. */
static void use_memory(void)
{
	const size_t size = 256 << 20;
	char *p;
	pthread_t t;

	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	EXPECT(p != MAP_FAILED && !mprotect(p, size, PROT_READ), "%s", strerror(errno));
	EXPECT(mmap(p, size / 2, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p,
	       "%s", strerror(errno));
	EXPECT(!munmap(p, size), "%s", strerror(errno));
	EXPECT(dup2(open("/dev/null", O_RDWR), 100) == 100 && !close(100), "%s", strerror(errno));
	EXPECT(signal(SIGUSR1, on_signal) == SIG_DFL, "%s", strerror(errno));
	EXPECT(!pthread_create(&t, NULL, do_nothing, NULL) && !pthread_join(t, NULL), "thread");
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	path = argv[2];
	context = app_context(0);
	if (!strcmp(argv[1], "interrupt"))
		be_interrupted();
	begin_stuck();
	if (!strcmp(argv[1], "memory"))
		use_memory();
	puts("stuck ok");
	return 0;
}
