/* SPDX-License-Identifier: MIT */
/*
 * unrung stored|undone|late|past ENTRIES: a thread submits on a channel with a ring of ENTRIES.
 * Then it stores GP_PUT once more and holds back the doorbell while main() returns. Software GPU
 * only.
 *   stored  the doorbell is never rung
 *   undone  the same, and the ring gets a second mapping first
 *   late    the doorbell is rung after all destructors
 *   past    the doorbell is rung where the library does not see it
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "app.h"
#include "tests/softgpu/softgpu.h"

static const char *how;
static CUcontext context;
static struct softgpu_channel *channel;
static _Atomic int stored, go_on, rung;

static void ring(volatile void *address, uint32_t token)
{
	*(volatile uint32_t *)address = token;
}

static void wait_for(_Atomic int *flag)
{
	while (!*flag)
		usleep(100);
}

static void ring_later(volatile void *address, uint32_t token)
{
	void *page = (void *)((uintptr_t)address & ~0xffful);

	if (!strcmp(how, "past")) {
		syscall(SYS_mprotect, page, 4096, PROT_READ | PROT_WRITE);
		ring(address, token);
		syscall(SYS_mprotect, page, 4096, PROT_READ);
		return;
	}
	stored = 1;
	wait_for(&go_on);
	ring(address, token);
}

static void *submit(void *arg)
{
	uint32_t n = 0;

	CK(cuCtxSetCurrent(context));
	softgpu_set_store(ring);
	for (int i = 0; i < 5; i++)
		n = softgpu_submit_count(channel);
	EXPECT(!softgpu_wait(channel, softgpu_payload(channel)), "channel died");
	EXPECT(softgpu_counted(channel) == n, "%u counted of %u", softgpu_counted(channel), n);
	softgpu_set_store(ring_later);
	n = softgpu_submit_count(channel);
	stored = 1;
	EXPECT(!softgpu_wait(channel, softgpu_payload(channel)), "channel died");
	EXPECT(softgpu_counted(channel) == n, "%u counted of %u", softgpu_counted(channel), n);
	rung = 1;
	for (;;)
		pause();
}

/* Streams are flushed behind all destructors. */
static ssize_t at_the_very_end(void *cookie, const char *text, size_t bytes)
{
	go_on = 1;
	wait_for(&rung);
	return (ssize_t)bytes;
}

int main(int argc, char **argv)
{
	cookie_io_functions_t functions = {.write = at_the_very_end};
	FILE *f = fopencookie(NULL, "w", functions);
	pthread_t t;

	EXPECT(argc == 3 && f, "usage");
	how = argv[1];
	context = app_context(0);
	channel = softgpu_channel_create(false, (uint32_t)atoi(argv[2]), true);
	EXPECT(channel, "no channel");
	pthread_create(&t, NULL, submit, NULL);
	wait_for(&stored);
	if (!strcmp(how, "undone"))
		EXPECT(softgpu_channel_map_again(channel, false), "no second mapping");
	if (!strcmp(how, "past"))
		wait_for(&rung);
	if (!strcmp(how, "late"))
		fputc('x', f);
	printf("unrung ok\n");
	return 0;
}
