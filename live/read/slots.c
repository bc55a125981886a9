/* SPDX-License-Identifier: MIT */
/* Reads a live page's slots: sums the threads' counters, and copies the calls and ranges in
 * progress. */
#include <errno.h>
#include <string.h>
#include "live/read/page.h"

#define COUNTS offsetof(struct nvs_live_slot, counts)

/* An entry point's counters, summed over all slots in this read. */
struct tally {
	uint64_t ns, buckets[NVS_LIVE_BUCKETS];
};

_Static_assert(sizeof(struct tally) == sizeof(struct nvs_live_api_count), "same members");

static int add_apis(struct nvs_page_file *file, uint64_t slot)
{
	uint32_t n = file->api_counts.n, step = file->head.slot_api_bytes;
	struct tally *tallies = file->api_counts.rows;
	const uint8_t *rows = nvs_page_read_bytes(file, slot + file->head.slot_apis,
						  (uint64_t)n * step, 0);

	for (uint32_t i = 0; rows && i < n; i++) {
		struct nvs_live_api_count count;

		memcpy(&count, rows + (size_t)i * step, sizeof(count));
		tallies[i].ns += count.ns;
		for (int k = 0; k < NVS_LIVE_BUCKETS; k++)
			tallies[i].buckets[k] += count.buckets[k];
	}
	return rows ? 0 : -EINVAL;
}

static int add_kernels(struct nvs_page_file *file, uint64_t slot)
{
	uint32_t n = file->kernels.n, step = file->head.slot_kernel_bytes;
	struct nvs_page_kernel *kernels = file->kernels.rows;
	const uint8_t *rows = nvs_page_read_bytes(file, slot + file->head.slot_kernels,
						  (uint64_t)n * step, 0);

	for (uint32_t i = 0; rows && i < n; i++) {
		struct nvs_live_kernel_count count;

		memcpy(&count, rows + (size_t)i * step, sizeof(count));
		kernels[i].direct.more += count.direct;
		kernels[i].graph.more += count.graph;
	}
	return rows ? 0 : -EINVAL;
}

static void add_counts(struct nvs_page *page, const struct nvs_live_slot *slot)
{
	for (int i = 0; i < NVS_LIVE_COUNTS; i++)
		page->counts[i].more += slot->counts[i];
	for (int i = 0; i < NVS_LIVE_GAPS; i++)
		page->gaps[i].more += slot->gaps[i];
	for (int i = 0; i < NVS_LIVE_DIRECTIONS; i++)
		for (int k = 0; k < NVS_LIVE_MODES; k++) {
			page->copy[i][k].calls.more += slot->copies[i][k].calls;
			page->copy[i][k].bytes.more += slot->copies[i][k].bytes;
			page->copy[i][k].ns.more += slot->copies[i][k].ns;
		}
	for (int i = 0; i < NVS_LIVE_STALLS; i++) {
		page->stalls[i].calls.more += slot->stalls[i].calls;
		page->stalls[i].ns.more += slot->stalls[i].ns;
	}
	for (int i = 0; i < NVS_LIVE_DIRECTIONS; i++)
		for (int k = 0; k < NVS_LIVE_SIZES; k++)
			page->copy_sizes[i][k].more += slot->copy_sizes[i][k];
	page->sets.more += slot->sets;
	page->set_bytes.more += slot->set_bytes;
	page->direct_launches.more += slot->launches;
	page->graph_launches.more += slot->graph_launches;
	page->graph_kernels.more += slot->graph_kernels;
	page->graph_copies.more += slot->graph_copies;
	page->graph_copy_bytes.more += slot->graph_copy_bytes;
	page->graph_sets.more += slot->graph_sets;
	page->graphs_unknown.more += slot->graphs_unknown;
	page->left.more += slot->left;
	page->captured.more += slot->captured;
}

/* ---- calls and ranges in progress ---- */

/* Adds the outermost calls that two reads returned unchanged. */
static void add_calls(const struct nvs_page_file *file, struct nvs_page_thread *thread,
		      const struct nvs_live_slot *one, const struct nvs_live_slot *two)
{
	uint32_t n = one->ncalls < two->ncalls ? one->ncalls : two->ncalls;

	for (uint32_t i = 0; i < NVS_LIVE_CALLS && i < n; i++) {
		const struct nvs_live_call *call = two->calls + i;

		if (memcmp(one->calls + i, call, sizeof(*call)))
			break;
		thread->calls[thread->ncalls++] =
			(struct nvs_page_call){.api = call->api < file->apis.n ? call->api : 0,
					       .number = call->number,
					       .begin_ns = nvs_page_time(file, call->begin)};
	}
}

/* Adds the open ranges that two reads returned unchanged. */
static void add_ranges(const struct nvs_page_file *file, struct nvs_page_thread *thread,
		       const struct nvs_live_slot *one, const struct nvs_live_slot *two)
{
	uint32_t n = one->nranges < two->nranges ? one->nranges : two->nranges;

	if (one->ranges_sequence != two->ranges_sequence || two->ranges_sequence % 2 ||
	    memcmp(one->ranges, two->ranges, sizeof(two->ranges)))
		return;
	for (uint32_t i = 0; i < NVS_LIVE_RANGES && i < n; i++) {
		struct nvs_page_range *range = thread->ranges + thread->nranges++;

		memcpy(range->name, two->ranges[i].name, sizeof(range->name));
		range->name[sizeof(range->name) - 1] = 0;
		range->begin_ns = nvs_page_time(file, two->ranges[i].begin);
	}
}

/* Adds the slot's thread if two reads found the same one. A read copies words in any order, so an
 * unchanged generation alone does not show that the other words belong to it. */
static int add_thread(struct nvs_page_file *file, const struct nvs_live_slot *one,
		      const struct nvs_live_slot *two)
{
	struct nvs_page_thread *thread;

	if (one->generation != two->generation || two->generation % 2 == 0 || !two->tid ||
	    one->tid != two->tid || one->thread != two->thread ||
	    memcmp(one->name, two->name, sizeof(two->name)))
		return 0;
	thread = nvs_page_add_row(&file->threads, sizeof(*thread));
	if (!thread)
		return -ENOMEM;
	thread->tid = two->tid;
	thread->thread = two->thread;
	memcpy(thread->name, two->name, sizeof(thread->name));
	thread->name[sizeof(thread->name) - 1] = 0;
	add_calls(file, thread, one, two);
	add_ranges(file, thread, one, two);
	return 0;
}

/* ---- all slots ---- */

static int read_slot(struct nvs_page_file *file, uint64_t at)
{
	struct nvs_live_slot one, two;
	const uint8_t *bytes = nvs_page_read_bytes(file, at, sizeof(one), 0);
	int r;

	if (!bytes)
		return -EINVAL;
	memcpy(&one, bytes, sizeof(one));
	if (one.generation % 2) {
		bytes = nvs_page_read_bytes(file, at, COUNTS, 0);
		if (!bytes)
			return -EINVAL;
		memcpy(&two, bytes, COUNTS);
		r = add_thread(file, &one, &two);
		if (r)
			return r;
	}
	add_counts(&file->page, &one);
	r = add_apis(file, at);
	return r ? r : add_kernels(file, at);
}

/* Do the counters of entry points and kernels lie within a slot? */
static bool slots_fit(const struct nvs_page_file *file)
{
	const struct nvs_live *head = &file->head;
	uint64_t slot = head->tables[NVS_LIVE_SLOTS].row_bytes;
	uint64_t apis = (uint64_t)file->api_counts.n * head->slot_api_bytes;
	uint64_t kernels = (uint64_t)file->kernels.n * head->slot_kernel_bytes;

	return slot >= sizeof(struct nvs_live_slot) &&
	       head->slot_api_bytes >= sizeof(struct nvs_live_api_count) &&
	       head->slot_kernel_bytes >= sizeof(struct nvs_live_kernel_count) && apis <= slot &&
	       head->slot_apis <= slot - apis && kernels <= slot &&
	       head->slot_kernels <= slot - kernels;
}

#define ALL(page, member)                             \
	((struct nvs_page_counter *)&(page)->member), \
		sizeof((page)->member) / (sizeof(struct nvs_page_counter))

static void finish_apis(struct nvs_page_file *file)
{
	const struct tally *tally = file->api_counts.rows;
	struct nvs_page_api *apis = file->apis.rows;

	for (uint32_t i = 0; i < file->apis.n; i++) {
		apis[i].ns.more = tally[i].ns;
		for (int k = 0; k < NVS_LIVE_BUCKETS; k++) {
			if (apis[i].buckets[k] < tally[i].buckets[k])
				apis[i].buckets[k] = tally[i].buckets[k];
			apis[i].calls.more += apis[i].buckets[k];
		}
		nvs_page_finish_counters(file, &apis[i].ns, 1);
		nvs_page_finish_counters(file, &apis[i].calls, 1);
		file->page.calls.more += apis[i].calls.total;
		file->page.call_ns.more += apis[i].ns.total;
	}
}

static void finish_sums(struct nvs_page_file *file)
{
	struct nvs_page_kernel *kernels = file->kernels.rows;
	struct nvs_page *page = &file->page;

	finish_apis(file);
	for (uint32_t i = 0; i < file->kernels.n; i++) {
		nvs_page_finish_counters(file, &kernels[i].direct, 1);
		nvs_page_finish_counters(file, &kernels[i].graph, 1);
	}
	page->submissions.more = page->counts[NVS_LIVE_SUBMISSIONS].more +
				 page->counts[NVS_LIVE_SKIPPED].more +
				 page->counts[NVS_LIVE_LOST_SUBMISSIONS].more;
	page->entries.more = page->counts[NVS_LIVE_ENTRIES].more +
			     page->counts[NVS_LIVE_SKIPPED_ENTRIES].more +
			     page->counts[NVS_LIVE_LOST_ENTRIES].more;
	page->bytes.more = page->counts[NVS_LIVE_BYTES].more +
			   page->counts[NVS_LIVE_SKIPPED_BYTES].more +
			   page->counts[NVS_LIVE_LOST_BYTES].more;
	page->doorbells.more = page->counts[NVS_LIVE_DOORBELLS].more;
	page->launches.more = page->direct_launches.more + page->graph_kernels.more;
	for (int i = 0; i < NVS_LIVE_DIRECTIONS; i++)
		for (int k = 0; k < NVS_LIVE_MODES; k++) {
			page->copies.more += page->copy[i][k].calls.more;
			page->copied.more += page->copy[i][k].bytes.more;
		}
	nvs_page_finish_counters(file, ALL(page, counts));
	nvs_page_finish_counters(file, ALL(page, gaps));
	nvs_page_finish_counters(file, ALL(page, copy));
	nvs_page_finish_counters(file, ALL(page, stalls));
	nvs_page_finish_counters(file, ALL(page, copy_sizes));
	nvs_page_finish_counters(file, &page->sets, 2);
	for (struct nvs_page_counter *sum = &page->submissions; sum <= &page->copies; sum++)
		if (sum != &page->failed)
			nvs_page_finish_counters(file, sum, 1);
}

/* Zeroes the sums of this read. */
static void reset_sums(struct nvs_page_file *file)
{
	struct nvs_page *page = &file->page;
	struct nvs_page_kernel *kernels = file->kernels.rows;
	struct nvs_page_api *apis = file->apis.rows;
	struct nvs_page_counter *first = page->counts, *end = &page->set_bytes + 1;

	for (struct nvs_page_counter *sum = first; sum < end; sum++)
		sum->more = 0;
	for (uint32_t i = 0; i < file->apis.n; i++)
		apis[i].calls.more = apis[i].failed.more = 0;
	for (uint32_t i = 0; i < file->kernels.n; i++)
		kernels[i].direct.more = kernels[i].graph.more = 0;
	file->threads.n = 0;
}

int nvs_page_read_slots(struct nvs_page_file *file)
{
	const struct nvs_live_table *t = file->head.tables + NVS_LIVE_SLOTS;
	uint32_t n = t->used < t->rows ? t->used : t->rows;
	int r = 0;

	reset_sums(file);
	file->api_counts.n = 0;
	for (uint32_t i = 0; i < file->apis.n; i++)
		if (!nvs_page_add_row(&file->api_counts, sizeof(struct tally)))
			return -ENOMEM;
	if (n && !slots_fit(file))
		return nvs_page_reject(file, "its slots are too short");
	for (uint32_t i = 0; i < n && !r; i++)
		r = t->offset > file->size
			    ? nvs_page_reject(file, "its slots are outside the file")
			    : read_slot(file, t->offset + (uint64_t)i * t->row_bytes);
	if (!r)
		finish_sums(file);
	return r;
}
