/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/*
 * Jobs come back in the order in which they were put in, each run once, with one thread and with
 * several; with one thread they also run in that order. What they allocate is counted when they are
 * taken back.
 */
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include "decode/base/pipeline.h"
#include "decode/base/budget.h"
#include "tests/unit/expect.h"

enum { JOBS = 2000, KEPT = 1 << 16 };

struct job {
	unsigned number, runs, place; /* PLACE: how many ran before it */
	void *kept;
};

static unsigned ran;

static void run_job(void *arg)
{
	struct job *job = arg;

	/* Some take longer than those after them. */
	for (unsigned i = 0; i < job->number % 7; i++)
		sched_yield();
	job->runs++;
	job->place = __atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
	job->kept = malloc(KEPT);
}

static void run_all(unsigned threads)
{
	struct nvs_pipeline *p = nvs_pipeline_new(threads, run_job);
	static struct job jobs[JOBS];
	unsigned put = 0, taken = 0, wrong = 0, unsorted = 0, uncounted = 0;

	memset(jobs, 0, sizeof(jobs));
	ran = 0;
	EXPECT(p && !nvs_pipeline_take(p));
	while (p && taken < JOBS) {
		uint64_t left;
		struct job *job;

		while (put < JOBS && put - taken < NVS_PIPELINE_JOBS) {
			jobs[put].number = put;
			nvs_pipeline_put(p, jobs + put++);
		}
		left = nvs_budget_left();
		job = nvs_pipeline_take(p);
		wrong += !job || job->number != taken || job->runs != 1;
		unsorted += job && job->place != taken;
		uncounted += left - nvs_budget_left() < KEPT;
		free(job ? job->kept : NULL);
		taken++;
	}
	EXPECT(!wrong);
	EXPECT(!uncounted);
	EXPECT(!unsorted || threads > 1);
	EXPECT(p && !nvs_pipeline_take(p));
	nvs_pipeline_free(p);
}

/* What was not taken back has run when the pipeline is freed. */
static void free_early(void)
{
	struct nvs_pipeline *p = nvs_pipeline_new(2, run_job);
	struct job jobs[NVS_PIPELINE_JOBS] = {{0}};
	unsigned runs = 0;

	for (unsigned i = 0; p && i < NVS_PIPELINE_JOBS; i++)
		nvs_pipeline_put(p, jobs + i);
	nvs_pipeline_free(p);
	for (unsigned i = 0; i < NVS_PIPELINE_JOBS; i++) {
		runs += jobs[i].runs;
		free(jobs[i].kept);
	}
	EXPECT(runs == NVS_PIPELINE_JOBS);
}

int main(void)
{
	cpu_set_t first, all;

	sched_getaffinity(0, sizeof(all), &all);
	run_all(1);
	run_all(3);
	free_early();
	/* One processor: no threads. */
	CPU_ZERO(&first);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&first); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &first);
	sched_setaffinity(0, sizeof(first), &first);
	run_all(1);
	free_early();
	return expect_done();
}
