/* SPDX-License-Identifier: MIT */
/*
 * Jobs that other threads run while the caller prepares the next ones. They are taken back in the
 * order in which they were put in; with one thread they also run in that order. Without a second
 * processor, or if no thread can be created, nvs_pipeline_put() runs the job itself.
 *
 * What a job allocates is counted when it is taken back, so the memory budget does not depend on
 * how far the threads are.
 */
#ifndef NVSNOOP_DECODE_BASE_PIPELINE_H
#define NVSNOOP_DECODE_BASE_PIPELINE_H

#include <stddef.h>

#define NVS_PIPELINE_JOBS 8u /* maximum jobs in a pipeline */

struct nvs_pipeline;

/* At most THREADS threads call RUN, and not more than there are processors. Returns NULL if memory
 * is short. */
struct nvs_pipeline *nvs_pipeline_new(unsigned threads, void (*run)(void *job));
/* Takes back all jobs before it frees the pipeline. NULL is allowed. */
void nvs_pipeline_free(struct nvs_pipeline *p);
/* JOB belongs to the pipeline until it is taken back. */
void nvs_pipeline_put(struct nvs_pipeline *p, void *job);
/* Returns the oldest job once it has run; NULL if there is none. */
void *nvs_pipeline_take(struct nvs_pipeline *p);

#endif
