/* SPDX-License-Identifier: MIT */
/*
 * ends return|exit|_exit|thread|abort: doorbells at the end of a program: in atexit handlers, in
 * destructors of the program and of threads, immediately before _exit. Each waits for the work and
 * checks it.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "app.h"
#include "tests/softgpu/softgpu.h"

static struct softgpu_channel *ch;
static CUcontext context;
static pthread_key_t key;

/* _exit here: a failure must be seen whatever is running. */
static void submit(const char *where)
{
	for (int i = 0; i < 5; i++) {
		uint32_t n = softgpu_submit_count(ch);

		if (softgpu_wait(ch, softgpu_payload(ch)) || softgpu_counted(ch) != n) {
			fprintf(stderr, "ends: in %s the GPU counted %u, not %u\n", where,
				softgpu_counted(ch), n);
			_exit(1);
		}
	}
}

static void at_exit_first(void)
{
	submit("the first atexit handler");
}

static void at_exit_last(void)
{
	submit("the last atexit handler");
}

__attribute__((destructor)) static void destructor(void)
{
	if (ch)
		submit("a destructor");
}

static void thread_destructor(void *p)
{
	submit("a thread's destructor");
}

static void *thread(void *arg)
{
	CK(cuCtxSetCurrent(context));
	pthread_setspecific(key, (void *)1);
	submit("a thread");
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	pthread_t t;

	atexit(at_exit_last);
	context = app_context(0);
	ch = softgpu_channel_at(1);
	atexit(at_exit_first);
	submit("main");
	puts("ends ok");
	fflush(stdout);
	if (!strcmp(how, "exit"))
		exit(7);
	if (!strcmp(how, "_exit"))
		_exit(9);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "thread")) {
		pthread_key_create(&key, thread_destructor);
		pthread_create(&t, NULL, thread, NULL);
		pthread_join(t, NULL);
	}
	return 0;
}
