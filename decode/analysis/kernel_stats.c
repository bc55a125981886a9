/* SPDX-License-Identifier: MIT */
/* One row per kernel: its shapes, and the stacks that launched it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/grow.h"
#include "decode/base/hash.h"
#include "decode/analysis/kernel_stats.h"

/* Key of the set "seen": a shape, a stack or a call site of one kernel. */
struct thing {
	uint64_t id;
	union {
		struct nvs_shape shape;
		uint64_t site[3]; /* hashes of its names; [2]: 1 of a call site, 2 of a stack */
	};
};

/* Functions without a name are identified by trace and handle. */
static uint64_t id_of(const struct nvs_kernels *k, const struct nvs_kernel *kernel)
{
	const uint64_t own[2] = {k->source->index, kernel->handle};

	if (!*kernel->name)
		return nvs_hash64(own, sizeof(own));
	return nvs_hash64(kernel->name, strlen(kernel->name)) +
	       (k->source->query->per_trace ? k->source->index : 0);
}

struct nvs_kernel_row *nvs_kernel_row(struct nvs_kernels *k, struct nvs_kernel *kernel)
{
	struct nvs_kernel_row *row;

	if (kernel && k->last && k->last->kernel == kernel)
		return k->last;
	row = k->last = kernel ? nvs_rows_at(&k->rows, &kernel) : NULL;
	if (!row || row->source)
		return row;
	row->source = k->source;
	row->id = id_of(k, kernel);
	return row;
}

static void free_parts(void *item)
{
	struct nvs_kernel_row *row = item;

	nvs_durations_free(&row->times);
	free(row->stacks);
	free(row->reason);
	free(row->parameters);
	free(row->name);
}

void nvs_kernel_row_free(struct nvs_kernel_row *row)
{
	free_parts(row);
	free(row);
}

void nvs_kernels_free(struct nvs_kernels *k)
{
	nvs_kernels_finish(k);
	nvs_rows_free(&k->rows, free_parts);
	nvs_rows_free(&k->unseen, NULL);
}

/* Returns true if no row of this kernel has had THING before. */
static bool is_new(struct nvs_kernels *k, struct nvs_kernel_row *row, const struct thing *thing)
{
	int r = nvs_distinct_add(k->seen, nvs_hash64(thing, sizeof(*thing)));

	row->many |= r < 0;
	return r > 0;
}

void nvs_kernel_add_shape(struct nvs_kernels *k, struct nvs_kernel_row *row,
			  const struct nvs_shape *shape)
{
	struct thing thing = {.id = row->id, .shape = *shape};

	for (uint32_t i = 0; i < row->told; i++)
		if (!memcmp(&row->shape[i], shape, sizeof(*shape)))
			return;
	if (!is_new(k, row, &thing))
		return;
	if (row->told < NVS_SHAPES)
		row->shape[row->told++] = *shape;
	row->nshapes++;
}

int nvs_kernel_add_stack(struct nvs_kernels *k, struct nvs_kernel_row *row, uint32_t stack)
{
	struct thing thing = {.id = row->id, .site = {stack, k->source->index, 2}};
	uint32_t *own;

	if (stack == NVS_NONE || (row->nstacks && row->stacks[row->nstacks - 1] == stack) ||
	    !is_new(k, row, &thing))
		return 0;
	own = NVS_APPEND(row->stacks, row->nstacks, row->stacks_room, 4, UINT32_MAX);
	if (!own)
		return -ENOMEM;
	*own = stack;
	return 0;
}

/* A call site as in --by-callsite: several stacks may lead through one. */
void nvs_kernel_count_sites(struct nvs_kernels *k, struct nvs_kernel_row *row)
{
	for (uint32_t i = 0; i < row->nstacks; i++) {
		const struct nvs_callsite *site = nvs_trace_callsite(k->source->trace,
								     row->stacks[i]);
		struct thing thing = {.id = row->id, .site = {0, 0, 1}};

		thing.site[0] = nvs_hash64(site->site, strlen(site->site));
		thing.site[1] = nvs_hash64(site->site_module, strlen(site->site_module));
		row->nsites += is_new(k, row, &thing);
	}
}
