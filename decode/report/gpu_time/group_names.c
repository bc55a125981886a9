/* SPDX-License-Identifier: MIT */
/* Names and sorts the rows of --gpu-time. Called at the end of each trace, and before printing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/report/gpu_time/grouping.h"
#include "decode/query/durations.h"

/* ---- names ---- */

static int name_kernel(struct nvs_gpu_row *row)
{
	const struct nvs_kernel *k = row->key.what;
	char text[32];

	snprintf(text, sizeof(text), "[function 0x%llx]", (unsigned long long)k->handle);
	row->mangled = strdup(k->name);
	row->name = *k->name ? nvs_demangle(k->name) : strdup(text);
	return row->name && row->mangled ? 0 : -ENOMEM;
}

static int name_graph(struct nvs_gpu_row *row)
{
	row->exec = nvs_handles_exec_at(row->key.each->handles, (uint32_t)row->key.number)->handle;
	return asprintf(&row->name, "graph %llu", (unsigned long long)row->key.number) < 0 ? -ENOMEM
											   : 0;
}

static int name_range(struct nvs_gpu_row *row)
{
	const struct nvs_nvtx_node *node = row->key.what;

	row->range = strdup(node->name);
	row->name = nvs_nvtx_path(node);
	return row->name && row->range ? 0 : -ENOMEM;
}

int nvs_gpu_row_name(struct nvs_gpu_row *row, enum nvs_gpu_by by)
{
	if (by == NVS_GPU_BY_API) {
		row->name = strdup(row->key.what);
		return row->name ? 0 : -ENOMEM;
	}
	if (by == NVS_GPU_BY_RANGE && row->key.what)
		return name_range(row);
	if (by == NVS_GPU_BY_KERNEL && row->key.what)
		return name_kernel(row);
	if (by <= NVS_GPU_BY_GRAPH && row->key.number != NVS_UNKNOWN)
		return name_graph(row);
	return 0;
}

static void free_row(void *item)
{
	struct nvs_gpu_row *row = item;

	nvs_durations_free(&row->times);
	nvs_durations_free(&row->queue);
	nvs_durations_free(&row->idle);
	free(row->name);
	free(row->range);
	free(row->mangled);
}

void nvs_gpu_rows_free(struct nvs_gpu_state *state)
{
	nvs_rows_free(&state->rows, free_row);
}

/* ---- sorting ---- */

static int compare_names(const void *pa, const void *pb)
{
	const struct nvs_gpu_row *a = *(const struct nvs_gpu_row *const *)pa,
				 *b = *(const struct nvs_gpu_row *const *)pb;
	uint32_t ia = a->key.each->source->index, ib = b->key.each->source->index;
	int r = (ia > ib) - (ia < ib);

	return r ? r : strcmp(a->name ? a->name : "", b->name ? b->name : "");
}

static int compare_numbers(const void *pa, const void *pb)
{
	const struct nvs_gpu_row *a = *(const struct nvs_gpu_row *const *)pa,
				 *b = *(const struct nvs_gpu_row *const *)pb;

	return compare_names(pa, pb) ?: NVS_CMP(a->key.number, b->key.number);
}

static void merge_sums(struct nvs_gpu_sums *a, const struct nvs_gpu_sums *b)
{
	a->submissions += b->submissions;
	a->timed += b->timed;
	a->works += b->works;
	a->subtracted += b->subtracted;
	a->too_short += b->too_short;
	a->overlapping += b->overlapping;
	a->overlap_ns = nvs_gpu_sum(a->overlap_ns, b->overlap_ns);
	a->unseen |= b->unseen;
	a->bracket_ns = nvs_gpu_sum(a->bracket_ns, b->bracket_ns);
	a->empty_ns = nvs_gpu_sum(a->empty_ns, b->empty_ns);
	a->launches += b->launches;
	a->several += b->several;
	a->launches_unknown |= b->launches_unknown;
	a->waited += b->waited;
	nvs_estimate_merge(&a->sample, &b->sample);
	nvs_estimate_merge(&a->all, &b->all);
	a->empty_error = nvs_gpu_greater(a->empty_error, b->empty_error);
}

int nvs_gpu_row_merge(struct nvs_gpu_row *into, const struct nvs_gpu_row *from)
{
	int r = nvs_durations_merge(&into->times, &from->times);

	r = r ? r : nvs_durations_merge(&into->queue, &from->queue);
	r = r ? r : nvs_durations_merge(&into->idle, &from->idle);
	into->error_ns = nvs_gpu_greater(into->error_ns, from->error_ns);
	into->mixed |= from->mixed ||
		       (into->empty.count && from->empty.count && into->channel != from->channel);
	into->spread = nvs_gpu_greater(into->spread, from->spread);
	if (!into->empty.count) {
		into->empty = from->empty;
		into->channel = from->channel;
	}
	merge_sums(&into->sums, &from->sums);
	return r;
}

static void free_whole(struct nvs_gpu_row *row)
{
	free_row(row);
	free(row);
}

/* Merges rows of one API, which may have several numbers, and drops rows without submissions,
 * such as streams that did no work. */
int nvs_gpu_rows_sort(struct nvs_gpu_state *state)
{
	struct nvs_rows *rows = &state->rows;
	size_t n = 0;
	int r = 0;

	if (rows->n)
		qsort(rows->row, rows->n, sizeof(*rows->row), compare_numbers);
	for (size_t i = 0; i < rows->n; i++) {
		struct nvs_gpu_row *from = rows->row[i], *into = n ? rows->row[n - 1] : NULL;

		if (!r && !from->sums.submissions) {
			free_whole(from);
		} else if (state->by != NVS_GPU_BY_API || r || !n || compare_names(&into, &from)) {
			rows->row[n++] = from;
		} else {
			r = nvs_gpu_row_merge(into, from);
			free_whole(from);
		}
	}
	rows->n = n;
	return r;
}
