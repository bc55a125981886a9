/* SPDX-License-Identifier: MIT */
/* A few batches of work that one thread fills while another one runs those before, in order: see
 * pipeline.h. A batch is zeroed when it is created; later it is as its last run left it. */
#ifndef NVSNOOP_DECODE_BASE_BATCHES_H
#define NVSNOOP_DECODE_BASE_BATCHES_H

#include <stddef.h>
#include <stdint.h>

#define NVS_BATCHES 4u

struct nvs_batches {
	struct nvs_pipeline *pipeline;
	size_t bytes; /* of one */
	void *all[NVS_BATCHES], *now; /* NOW: being filled; NULL: none */
	uint32_t next, running; /* next one to fill, of the ring; number in the pipeline */
};

/* Returns 0 or -ENOMEM. */
int nvs_batches_init(struct nvs_batches *b, size_t bytes, void (*run)(void *batch));
/* Makes the next batch the current one, once it has run. Returns NULL if memory is short. */
void *nvs_batches_start(struct nvs_batches *b);
/* Has the current batch run, if there is one. */
void nvs_batches_put(struct nvs_batches *b);
/* The same, and waits until all have run. */
void nvs_batches_drain(struct nvs_batches *b);
/* A current batch that was not put does not run. ITEM, which may be NULL, frees what a batch has.
 */
void nvs_batches_free(struct nvs_batches *b, void (*item)(void *batch));

#endif
