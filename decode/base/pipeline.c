/* SPDX-License-Identifier: MIT */
/* A ring of jobs, and the threads that run them. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include "decode/base/pipeline.h"

#define MOST_THREADS 4u
#define STACK ((size_t)512 << 10)

struct pipeline_job {
	void *job;
	bool done;
	int64_t bytes; /* that the job allocated */
};

struct nvs_pipeline {
	void (*run)(void *job);
	pthread_t threads[MOST_THREADS];
	unsigned nthreads;
	pthread_mutex_t lock; /* for all below */
	pthread_cond_t put, done;
	struct pipeline_job ring[NVS_PIPELINE_JOBS];
	unsigned first, next, end; /* oldest job; next one to run; behind the latest */
	bool quit;
};

static struct pipeline_job *job_at(struct nvs_pipeline *p, unsigned i)
{
	return p->ring + i % NVS_PIPELINE_JOBS;
}

static void run_job(const struct nvs_pipeline *p, struct pipeline_job *job)
{
	nvs_budget_count_in(&job->bytes);
	p->run(job->job);
	nvs_budget_count_in(NULL);
}

static void *run_jobs(void *arg)
{
	struct nvs_pipeline *p = arg;
	struct pipeline_job *job;

	pthread_mutex_lock(&p->lock);
	while (!p->quit) {
		if (p->next == p->end) {
			pthread_cond_wait(&p->put, &p->lock);
			continue;
		}
		job = job_at(p, p->next++);
		pthread_mutex_unlock(&p->lock);
		run_job(p, job);
		pthread_mutex_lock(&p->lock);
		job->done = true;
		pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Blocks all signals in the threads: they belong to the program. */
static void start_threads(struct nvs_pipeline *p, unsigned n)
{
	pthread_attr_t attr;
	sigset_t all, old;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (p->nthreads < n && !pthread_create(p->threads + p->nthreads, &attr, run_jobs, p))
		p->nthreads++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

struct nvs_pipeline *nvs_pipeline_new(unsigned threads, void (*run)(void *job))
{
	struct nvs_pipeline *p = calloc(1, sizeof(*p));
	cpu_set_t set;
	int cpus = sched_getaffinity(0, sizeof(set), &set) ? 2 : CPU_COUNT(&set);

	if (!p)
		return NULL;
	p->run = run;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->put, NULL);
	pthread_cond_init(&p->done, NULL);
	threads = threads < MOST_THREADS ? threads : MOST_THREADS;
	if (cpus > 1)
		start_threads(p, threads < (unsigned)cpus ? threads : (unsigned)cpus);
	return p;
}

void nvs_pipeline_free(struct nvs_pipeline *p)
{
	if (!p)
		return;
	while (nvs_pipeline_take(p))
		;
	pthread_mutex_lock(&p->lock);
	p->quit = true;
	pthread_cond_broadcast(&p->put);
	pthread_mutex_unlock(&p->lock);
	while (p->nthreads)
		pthread_join(p->threads[--p->nthreads], NULL);
	pthread_cond_destroy(&p->done);
	pthread_cond_destroy(&p->put);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void nvs_pipeline_put(struct nvs_pipeline *p, void *job)
{
	struct pipeline_job one = {job, !p->nthreads, 0};

	if (one.done)
		run_job(p, &one);
	pthread_mutex_lock(&p->lock);
	*job_at(p, p->end++) = one;
	p->next += one.done;
	pthread_cond_signal(&p->put);
	pthread_mutex_unlock(&p->lock);
}

void *nvs_pipeline_take(struct nvs_pipeline *p)
{
	struct pipeline_job *oldest;
	void *job = NULL;

	pthread_mutex_lock(&p->lock);
	oldest = job_at(p, p->first);
	if (p->first != p->end) {
		while (!oldest->done)
			pthread_cond_wait(&p->done, &p->lock);
		job = oldest->job;
		nvs_budget_add(&oldest->bytes);
		p->first++;
	}
	pthread_mutex_unlock(&p->lock);
	return job;
}
