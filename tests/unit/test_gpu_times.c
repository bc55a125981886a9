/* SPDX-License-Identifier: MIT */
/* The live page's GPU times: what is taken as the time of a submission, in whichever order the
 * times come, and sums that are those of decode/query/estimate.c. */
/* LINK: preload decode/query/estimate.o -lm */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "decode/query/estimate.h"
#include "nvsnoop/trace.h"
#include "preload/live/gpu_times.h"
#include "trap/buffer/process.h"
#include "tests/unit/expect.h"

#define GPU 7u

static const struct nvs_live_gpu_time *kernel_row(uint32_t row)
{
	return (const struct nvs_live_gpu_time *)nvs_live_table(nvs_live_own, NVS_LIVE_GPU_TIMES) +
	       row;
}

static const struct nvs_live_gpu_time *work_row(enum nvs_live_engine engine)
{
	return (const struct nvs_live_gpu_time *)nvs_live_table(nvs_live_own, NVS_LIVE_GPU_WORK) +
	       engine;
}

static void take(struct nvs_timing_sink *s, uint32_t kind, uint64_t sequence, uint64_t begin,
		 uint64_t end, uint64_t every, uint64_t key)
{
	struct nvs_rec_gpu_time time = {
		.kind = kind, .sequence = sequence, .begin = begin, .end = end, .every = every};

	s->take(s, &time, key, every && every != NVS_NOT_DRAWN);
}

/* Kernels: the begin is the end of the submission before it. */
static void order(uint32_t kernel)
{
	struct nvs_timing_sink *s = nvs_live_gpu_sink_new(GPU, false);
	const struct nvs_live_gpu_time *t = kernel_row(kernel),
				       *all = work_row(NVS_LIVE_COMPUTE_ENGINE);

	take(s, NVS_TIMING_REACHED, 0, 100, 150, 1, 0x1000); /* the first one of the channel */
	EXPECT_EQ(t->timed, 1);
	EXPECT_EQ(t->ns, 50);
	take(s, NVS_TIMING_REACHED, 4, 200, 500, NVS_NOT_DRAWN, 0);
	EXPECT_EQ(t->timed, 1);
	take(s, NVS_TIMING_REACHED, 5, 300, 800, 10, 0x1000); /* began at 500 */
	EXPECT_EQ(t->timed, 2);
	EXPECT_EQ(t->weight, 11);
	EXPECT_EQ(t->ns, 50 + 10 * 300);
	/* The one before it comes later. */
	take(s, NVS_TIMING_REACHED, 9, 1000, 1700, 2, 0x1000);
	EXPECT_EQ(t->timed, 2);
	take(s, NVS_TIMING_REACHED, 8, 900, 1500, NVS_NOT_DRAWN, 0);
	EXPECT_EQ(t->timed, 3);
	EXPECT_EQ(t->ns, 50 + 10 * 300 + 2 * 200);
	/* The one before it has no end, or none is known: left out. */
	take(s, NVS_TIMING_DISPATCH, 19, 2000, 0, NVS_NOT_DRAWN, 0);
	take(s, NVS_TIMING_REACHED, 20, 2000, 2100, 1, 0x1000);
	take(s, NVS_TIMING_REACHED, 30, 2000, 2100, 1, 0x1000);
	EXPECT_EQ(t->timed, 3);
	/* An end before the begin. */
	take(s, NVS_TIMING_REACHED, 40, 3000, 4000, NVS_NOT_DRAWN, 0);
	take(s, NVS_TIMING_REACHED, 41, 3100, 3900, 1, 0x1000);
	EXPECT_EQ(t->timed, 3);
	/* An unknown key, and none: other work. */
	take(s, NVS_TIMING_REACHED, 42, 3900, 4010, 1, 0x2000);
	take(s, NVS_TIMING_REACHED, 43, 4000, 4110, 1, 0);
	EXPECT_EQ(kernel_row(0)->timed, 2);
	EXPECT_EQ(kernel_row(0)->ns, 110 + 100);
	EXPECT_EQ(all->timed, 5);
	EXPECT_EQ(t->timed, 3);
	s->free(s);
}

/* Copies: both ends wait, and an empty bracket is subtracted. */
static void copies(void)
{
	struct nvs_timing_sink *s = nvs_live_gpu_sink_new(GPU, true);
	const struct nvs_live_gpu_time *t = work_row(NVS_LIVE_COPY_ENGINE);
	uint64_t kernels = kernel_row(0)->timed;

	take(s, NVS_TIMING_WORK, 9, 1000, 3000, 3, 0);
	EXPECT_EQ(t->ns, 3 * 2000);
	for (uint64_t i = 0; i < 40; i++) /* the median of the last ones: 64 */
		take(s, NVS_TIMING_EMPTY, i, 500, 500 + (i % 2 ? 64 : i < 30 ? 96 : 32), 0, 0);
	take(s, NVS_TIMING_WORK, 20, 5000, 6064, 1, 0);
	EXPECT_EQ(t->ns, 3 * 2000 + 1000);
	take(s, NVS_TIMING_WORK, 21, 7000, 7032, 1, 0); /* shorter than that */
	EXPECT_EQ(t->ns, 3 * 2000 + 1000);
	EXPECT_EQ(t->timed, 3);
	EXPECT_EQ(kernel_row(0)->timed, kernels);
	s->free(s);
}

static void sums(uint32_t kernel)
{
	struct nvs_timing_sink *s = nvs_live_gpu_sink_new(GPU, false);
	const struct nvs_live_gpu_time *t = kernel_row(kernel), before = *t;
	struct nvs_estimate want = {.n = 0}, got;
	double half, want_half = 0;

	srand(1);
	for (uint64_t i = 1; i < 4000; i += 2) {
		uint64_t ns = 1000 + (uint64_t)rand() % 500, every = 1 + (uint64_t)rand() % 50;

		take(s, NVS_TIMING_REACHED, i - 1, i * 10000, i * 10000 + 5000, NVS_NOT_DRAWN, 0);
		take(s, NVS_TIMING_REACHED, i, i * 10000 + 10, i * 10000 + 5000 + ns, every,
		     0x1000);
		nvs_estimate_add(&want, (double)ns, every);
	}
	got = (struct nvs_estimate){.n = t->timed - before.timed,
				    .weight = (double)(t->weight - before.weight),
				    .sum = (double)(t->ns - before.ns),
				    .squares = t->squares - before.squares,
				    .rest = t->rest - before.rest,
				    .rest_sum = t->rest_sum - before.rest_sum,
				    .rest_squares = t->rest_squares - before.rest_squares};
	EXPECT_EQ(got.n, want.n);
	EXPECT(fabs(nvs_estimate_mean(&got) - nvs_estimate_mean(&want)) < 1e-6);
	EXPECT(nvs_estimate_error(&got, &half) && nvs_estimate_error(&want, &want_half));
	EXPECT(fabs(half - want_half) < 1e-3 && half > 0);
	s->free(s);
}

int main(void)
{
	static const uint8_t session[16] = {1}, uuid[16] = {2};
	const struct nvs_live_identity facts = {session, "host", "test", ""};
	const struct nvs_live_kernel_info info = {.name = "kernel"};
	char folder[] = "/tmp/nvsnoop-test.XXXXXX", found[PATH_MAX / 2];
	uint32_t kernel;

	setenv("XDG_RUNTIME_DIR", mkdtemp(folder), 1);
	setenv("NVSNOOP_OUT", "none", 1);
	setenv("NVSNOOP_OPTIONS", "quiet,timing=sample", 1);
	EXPECT(!nvs_trap_state_init(&(struct nvs_trap_options){.level = NVS_LEVEL_NONE}));
	EXPECT(!nvs_live_create(&facts, found) && !strcmp(found, folder));
	EXPECT(nvs_live_own->head->flags & NVS_LIVE_TIMED);
	EXPECT_EQ(nvs_live_gpu(nvs_live_own, uuid, GPU, 0, "GPU"), 1);
	kernel = nvs_live_kernel_new(nvs_live_own, 0x1000, 0x1000, &info);
	EXPECT(kernel);
	order(kernel);
	copies();
	sums(kernel);
	nvs_live_close();
	rmdir(folder);
	return expect_done();
}
