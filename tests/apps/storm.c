/* SPDX-License-Identifier: MIT */
/*
 * storm SEED ACTS END [PLUGIN]: threads submit, on their own channels and by the API, while they
 * receive signals whose handlers submit too. Another thread performs ACTS random acts from SEED:
 * children of every kind; channels, contexts, doorbell pages, libraries and threads created and
 * destroyed. The program then exits as END says or, with "any", as SEED determines. Software GPU
 * only.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "app.h"
#include "tests/softgpu/softgpu.h"

#define THREADS 3
#define LIMIT 100 /* seconds for all of it */

extern char **environ;
static _Atomic int stop;
static CUcontext context;
static const char *plugin;
static uint64_t state;

/* One channel to submit by, one for the handlers that interrupt the thread. */
struct worker {
	pthread_t thread;
	struct softgpu_channel *own, *handlers;
	uint32_t counted, by_handler;
};
static struct worker workers[THREADS];
static __thread struct worker *me;

static uint32_t draw(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 33) % below;
}

/* ---- those who submit ---- */

static void on_signal(int sig)
{
	if (me)
		me->by_handler = softgpu_submit_count(me->handlers);
}

static void *submit(void *arg)
{
	char room[65536];
	stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)}, none = {.ss_flags = SS_DISABLE};
	CUdeviceptr word;
	uint32_t n = 0;

	me = arg;
	CK(cuCtxSetCurrent(context));
	CK(cuMemAlloc_v2(&word, 4096));
	sigaltstack(&stack, NULL);
	while (!stop) {
		me->counted = softgpu_submit_count(me->own);
		if (++n % 64 == 0)
			CK(cuMemsetD32_v2(word, n, 16));
		if (n % 256 == 0)
			EXPECT(app_word(word) == n, "%u", n);
	}
	sigaltstack(&none, NULL);
	me = NULL;
	return NULL;
}

static void check(struct softgpu_channel *ch, uint32_t n)
{
	EXPECT(!softgpu_wait(ch, softgpu_payload(ch)), "channel died");
	EXPECT(softgpu_counted(ch) == n, "%u counted of %u", softgpu_counted(ch), n);
}

static void workers_begin(void)
{
	for (int i = 0; i < THREADS; i++) {
		workers[i].own = softgpu_channel_create(i & 1, 64, i & 2);
		workers[i].handlers = softgpu_channel_create(0, 64, true);
		EXPECT(workers[i].own && workers[i].handlers, "no channels");
		pthread_create(&workers[i].thread, NULL, submit, &workers[i]);
	}
}

static void workers_end(void)
{
	stop = 1;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		check(workers[i].own, workers[i].counted);
		check(workers[i].handlers, workers[i].by_handler);
	}
}

/* ---- acts ---- */

static void buried(pid_t pid)
{
	int status;

	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		       WEXITSTATUS(status) == 0,
	       "a child ended with %#x", status);
}

static void act_fork(void)
{
	uint32_t how = draw(4);
	pid_t pid = fork();

	if (pid) {
		buried(pid);
		return;
	}
	alarm(30);
	free(malloc(100000));
	if (how == 0)
		execl("/bin/true", "true", NULL);
	if (how == 1)
		closefrom(3);
	if (how == 2) {
		fclose(stdout);
		exit(0);
	}
	_exit(0);
}

static void act_fork_bare(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		_exit(0);
	buried(pid);
}

static void act_vfork(void)
{
	pid_t pid = vfork();

	if (!pid) {
		closefrom(3);
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	buried(pid);
}

static void act_spawn(void)
{
	char *const argv[] = {"true", NULL};
	pid_t pid;

	EXPECT(!posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ), "spawn");
	buried(pid);
}

static void act_channel(void)
{
	struct softgpu_channel *ch = softgpu_channel_create(draw(2), draw(2) ? 512 : 64, draw(2));
	uint32_t n = 0, many = 1 + draw(100);

	EXPECT(ch, "no channel");
	for (uint32_t i = 0; i < many; i++)
		n = softgpu_submit_count(ch);
	check(ch, n);
	softgpu_channel_destroy(ch);
}

static void act_context(void)
{
	CUcontext c;
	uint32_t n = 0;

	CK(cuCtxCreate_v2(&c, 0, 0));
	for (int i = 0; i < 20; i++)
		n = softgpu_submit_count(softgpu_channel_at(1));
	check(softgpu_channel_at(1), n);
	CK(cuCtxDestroy_v2(c));
	CK(cuCtxSetCurrent(context));
}

/* A doorbell page more, protected, put over, or plainly taken away. */
static void act_page(void)
{
	volatile uint32_t *bell = softgpu_map_doorbell(draw(2), false);
	void *page = (void *)((uintptr_t)bell & ~0xffful);

	EXPECT(bell, "no page");
	switch (draw(3)) {
	case 0:
		EXPECT(!mprotect(page, 0x10000, PROT_NONE) &&
			       !mprotect(page, 0x10000, PROT_READ | PROT_WRITE),
		       "mprotect");
		break;
	case 1:
		EXPECT(mmap(page, 0x10000, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page,
		       "mmap");
		*bell = 1;
		EXPECT(*bell == 1, "the program's own store got lost");
	}
	softgpu_unmap_doorbell(bell);
}

static void act_library(void)
{
	void *handle = plugin ? dlopen(plugin, RTLD_NOW) : NULL;

	if (handle)
		dlclose(handle);
}

static void *short_life(void *arg)
{
	struct softgpu_channel *ch;
	uint32_t n = 0;

	CK(cuCtxSetCurrent(context));
	ch = softgpu_channel_create(0, 64, false);
	EXPECT(ch, "no channel");
	for (int i = 0; i < 10; i++)
		n = softgpu_submit_count(ch);
	check(ch, n);
	softgpu_channel_destroy(ch);
	return NULL;
}

static void act_thread(void)
{
	pthread_t t;

	EXPECT(!pthread_create(&t, NULL, short_life, NULL), "thread");
	pthread_join(t, NULL);
}

static void act_signals(void)
{
	for (uint32_t i = 0, n = 1 + draw(30); i < n; i++)
		pthread_kill(workers[draw(THREADS)].thread, draw(2) ? SIGUSR1 : SIGUSR2);
}

/* Numbers closed that are nobody's, and one of the program's own which must stay what it is. */
static void act_descriptors(void)
{
	int fds[2];
	char c = 7;

	EXPECT(!pipe(fds), "pipe");
	for (int i = 0; i < 50; i++)
		close(dup(fds[0]));
	EXPECT(write(fds[1], &c, 1) == 1 && read(fds[0], &c, 1) == 1 && c == 7,
	       "the pipe is another's");
	close(fds[0]);
	close(fds[1]);
}

static void (*const acts[])(void) = {act_fork,	  act_fork_bare, act_vfork,   act_spawn,
				     act_channel, act_context,	 act_page,    act_library,
				     act_thread,  act_signals,	 act_signals, act_descriptors};

/* ---- the end ---- */

static const char *const ends[] = {"return", "exit", "exit-now",   "abort", "kill",
				   "segv",   "exec", "quick-exit", "joined"};
#define ENDS (sizeof(ends) / sizeof(ends[0]))

static void end(const char *how)
{
	static const char said[] = "storm ok\n";

	if (!strcmp(how, "joined") || !strcmp(how, "quick-exit"))
		workers_end();
	printf("%s\n%s", how, said);
	fflush(stdout);
	if (!strcmp(how, "exit"))
		exit(0);
	if (!strcmp(how, "exit-now"))
		_exit(0);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "segv"))
		*(volatile int *)(uintptr_t)(state & 16) = 1;
	if (!strcmp(how, "exec"))
		execl("/bin/true", "true", NULL);
	if (!strcmp(how, "quick-exit"))
		quick_exit(0);
}

int main(int argc, char **argv)
{
	struct sigaction on_stack = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
	struct sigaction plain = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	const char *how = argc > 3 ? argv[3] : "any";
	long n = argc > 2 ? atol(argv[2]) : 50;

	state = (argc > 1 ? strtoull(argv[1], NULL, 0) : 1) * 0x9e3779b97f4a7c15u | 1;
	plugin = argc > 4 ? argv[4] : NULL;
	alarm(LIMIT);
	/* One waits until the other is over: they share a channel. */
	sigaddset(&plain.sa_mask, SIGUSR2);
	sigaddset(&on_stack.sa_mask, SIGUSR1);
	sigaction(SIGUSR1, &plain, NULL);
	sigaction(SIGUSR2, &on_stack, NULL);
	context = app_context(0);
	workers_begin();
	for (long i = 0; i < n; i++)
		acts[draw(sizeof(acts) / sizeof(acts[0]))]();
	end(strcmp(how, "any") ? how : ends[draw(ENDS)]);
	return 0;
}
