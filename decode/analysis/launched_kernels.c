/* SPDX-License-Identifier: MIT */
/* Finds the kernels that ran or are in a graph, by name, with the address of their code. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/hash.h"
#include "decode/analysis/launched_kernels.h"

static struct nvs_launched_kernel *find_kernel(struct nvs_launched_kernels *ran, const char *name,
					       size_t length)
{
	uint64_t key = nvs_hash64(name, length);
	struct nvs_launched_kernel *k = nvs_rows_at(&ran->rows, &key);

	if (k && !k->name) {
		k->registers = UINT32_MAX;
		k->name = strndup(name, length);
	}
	return k && k->name ? k : NULL;
}

static int on_record(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec)
{
	const struct nvs_rec_kernel *attributes = (const void *)rec;
	struct nvs_launched_kernel *k;
	size_t length;

	if (rec->type != NVS_REC_KERNEL)
		return 0;
	length = strnlen(attributes->name, attributes->length);
	if (!length)
		return 0;
	k = find_kernel(arg, attributes->name, length);
	if (k && rec->flags & NVS_KERNEL_ATTRS)
		k->registers = attributes->registers;
	return k ? 0 : -ENOMEM;
}

static int on_operation(void *arg, struct nvs_trace *trace, const struct nvs_operation *o)
{
	struct nvs_launched_kernels *ran = arg;
	uint32_t i = ran->at % NVS_RAN_RECENT;

	if (!o->grid || !o->call)
		return 0;
	ran->at++;
	ran->recent[i].thread = o->call->thread;
	ran->recent[i].call = o->call->number;
	ran->recent[i].program = o->grid->program;
	return 0;
}

static int on_launch(void *arg, struct nvs_trace *trace, const struct nvs_launch *launch)
{
	struct nvs_launched_kernels *ran = arg;
	struct nvs_launched_kernel *k;

	if (!*launch->kernel || !nvs_call_ran(launch->call))
		return 0;
	k = find_kernel(ran, launch->kernel, strlen(launch->kernel));
	for (uint32_t i = 0; k && i < NVS_RAN_RECENT; i++)
		if (ran->recent[i].program && ran->recent[i].thread == launch->call->thread &&
		    ran->recent[i].call == launch->call->number)
			k->address = ran->recent[i].program;
	return k ? 0 : -ENOMEM;
}

int nvs_launched_kernels_read(struct nvs_launched_kernels *ran, struct nvs_trace *trace,
			      struct nvs_error *err)
{
	const struct nvs_consumer consumer = {
		.size = sizeof(consumer),
		.flags = NVS_READ_CALLS,
		.record = on_record,
		.operation = on_operation,
		.launch = on_launch,
	};

	ran->rows = NVS_ROWS(struct nvs_launched_kernel, key);
	return nvs_trace_read(trace, &consumer, ran, err);
}

struct nvs_launched_kernel *nvs_launched_kernels_find(struct nvs_launched_kernels *ran,
						      const char *name)
{
	uint64_t key = nvs_hash64(name, strlen(name));
	size_t n = ran->rows.n;
	struct nvs_launched_kernel *k = nvs_rows_at(&ran->rows, &key);

	/* nvs_rows_at() has just created it. */
	if (k && ran->rows.n != n)
		k->name = NULL;
	return k && k->name ? k : NULL;
}

static void free_kernel(void *row)
{
	free(((struct nvs_launched_kernel *)row)->name);
}

void nvs_launched_kernels_free(struct nvs_launched_kernels *ran)
{
	nvs_rows_free(&ran->rows, free_kernel);
}
