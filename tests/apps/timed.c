/* SPDX-License-Identifier: MIT */
/*
 * timed [repin]: waits until the library's own entries appear in the last channel, then copies 32
 * KiB to 1 MiB to the GPU, three times each, one after the other. If there are none after a while,
 * it prints that and copies anyway.
 *
 * repin: all registered memory is first taken from the GPU and pinned again after a while, and the
 * program waits for such entries once more.
 */
#include <time.h>
#include "app.h"
#include "tests/softgpu/softgpu.h"

#define LAST_CHANNEL 19
#define TRIES 5000

static uint64_t fetched(struct softgpu_channel *ch)
{
	struct softgpu_channel_info info;

	softgpu_channel_info(ch, &info);
	return softgpu_channel_fetches(info.client, info.handle);
}

static bool has_others(struct softgpu_channel *ch)
{
	uint64_t before = fetched(ch);

	softgpu_wait(ch, softgpu_submit_nop(ch, 8, 0));
	/* The last of them may come behind the program's. */
	return fetched(ch) > before + 1;
}

static void wait_for_others(void)
{
	struct timespec nap = {0, 1000000};
	int tries = 0;

	while (!has_others(softgpu_channel_at(LAST_CHANNEL)) && tries++ < TRIES)
		nanosleep(&nap, NULL);
	if (tries >= TRIES)
		puts("nobody else is there");
}

int main(int argc, char **argv)
{
	struct timespec pause = {0, 200000000};
	CUdeviceptr to;
	void *from;
	CUstream s;

	app_context(0);
	wait_for_others();
	if (argc > 1) {
		softgpu_repin(false);
		if (has_others(softgpu_channel_at(LAST_CHANNEL)))
			puts("somebody else writes to memory that is gone");
		nanosleep(&pause, NULL);
		if (!softgpu_repin(true))
			puts("memory that was registered is not there any more");
		wait_for_others();
	}
	CK(cuMemHostAlloc(&from, 1u << 20, 0));
	CK(cuMemAlloc_v2(&to, 1u << 20));
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (size_t n = 1; n <= 32; n++)
		for (int k = 0; k < 3; k++) {
			CK(cuMemcpyHtoDAsync_v2(to, from, n << 15, s));
			CK(cuStreamSynchronize(s));
		}
	puts("timed ok");
	return 0;
}
