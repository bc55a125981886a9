/* SPDX-License-Identifier: MIT */
/* A ring of batches over a pipeline with one thread. */
#include <errno.h>
#include <stdlib.h>
#include "decode/base/batches.h"
#include "decode/base/pipeline.h"

_Static_assert(NVS_BATCHES <= NVS_PIPELINE_JOBS, "all batches fit in the pipeline");

int nvs_batches_init(struct nvs_batches *b, size_t bytes, void (*run)(void *batch))
{
	*b = (struct nvs_batches){.bytes = bytes};
	b->pipeline = nvs_pipeline_new(1, run);
	return b->pipeline ? 0 : -ENOMEM;
}

void *nvs_batches_start(struct nvs_batches *b)
{
	void **next = b->all + b->next % NVS_BATCHES;

	if (b->running == NVS_BATCHES) {
		nvs_pipeline_take(b->pipeline);
		b->running--;
	}
	if (!*next)
		*next = calloc(1, b->bytes);
	b->next += *next != NULL;
	return b->now = *next;
}

void nvs_batches_put(struct nvs_batches *b)
{
	if (!b->now)
		return;
	nvs_pipeline_put(b->pipeline, b->now);
	b->running++;
	b->now = NULL;
}

void nvs_batches_drain(struct nvs_batches *b)
{
	nvs_batches_put(b);
	while (nvs_pipeline_take(b->pipeline))
		b->running--;
}

void nvs_batches_free(struct nvs_batches *b, void (*item)(void *batch))
{
	nvs_pipeline_free(b->pipeline);
	for (uint32_t i = 0; i < NVS_BATCHES; i++) {
		if (item && b->all[i])
			item(b->all[i]);
		free(b->all[i]);
	}
}
