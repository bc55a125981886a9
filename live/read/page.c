/* SPDX-License-Identifier: MIT */
/*
 * Reads and checks a live page: head, table positions, strings and clock. The file is read with
 * pread(), because a mapped file that is truncated meanwhile would kill the reader with SIGBUS. The
 * kernel copies aligned 8-byte words atomically on all supported machines.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "decode/base/grow.h"
#include "live/read/page.h"

#define MAX_STRINGS (16u << 20) /* bytes */
#define TRIES 8 /* attempts to read a row that the process is changing */

int nvs_page_reject(struct nvs_page_file *file, const char *why)
{
	file->wrong = why;
	return -EINVAL;
}

/* Reads exactly LENGTH bytes at OFFSET into TO, after everything that was read before: rows after
 * their number, and the second of two reads after the first. */
static int read_into(struct nvs_page_file *file, void *to, uint64_t offset, uint64_t length)
{
	uint8_t *at = to;

	if (offset > file->size || length > file->size - offset)
		return nvs_page_reject(file, "an offset is outside the file");
	if (length > file->budget)
		return nvs_page_reject(file, "it is too large");
	file->budget -= length;
	atomic_thread_fence(memory_order_acquire);
	while (length) {
		ssize_t n = pread(file->fd, at, length, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return nvs_page_reject(file, "it was cut short");
		at += n;
		offset += (uint64_t)n;
		length -= (uint64_t)n;
	}
	return 0;
}

const uint8_t *nvs_page_read_bytes(struct nvs_page_file *file, uint64_t offset, uint64_t length,
				   int which)
{
	/* Check before allocating: LENGTH comes from the file. */
	if (length > file->size || length > file->budget) {
		nvs_page_reject(file, "it is too large, or an offset is outside the file");
		return NULL;
	}
	if (file->scratch_room[which] < length || !file->scratch[which]) {
		void *more = realloc(file->scratch[which], length + 1);

		if (!more)
			return NULL;
		file->scratch[which] = more;
		file->scratch_room[which] = length;
	}
	return read_into(file, file->scratch[which], offset, length) ? NULL : file->scratch[which];
}

void *nvs_page_add_row(struct nvs_page_list *list, size_t size)
{
	if (list->n == list->room) {
		uint64_t room = list->room;
		void *more = nvs_grow(list->rows, &room, size, 16, UINT32_MAX, false);

		if (!more)
			return NULL;
		list->rows = more;
		list->room = (uint32_t)room;
	}
	return memset((uint8_t *)list->rows + size * list->n++, 0, size);
}

const char *nvs_page_get_string(const struct nvs_page_file *file, uint32_t offset)
{
	return offset && offset < file->nstrings ? file->strings + offset : "";
}

uint64_t nvs_page_time(const struct nvs_page_file *file, uint64_t ticks)
{
	__int128 ns;

	if (!ticks || !file->has_clock)
		return 0;
	ns = (__int128)(int64_t)(ticks - file->clock.ticks) * file->clock.mult;
	ns = file->clock.mono_ns + (ns >> 32);
	return ns < 1 ? 1 : ns > file->page.mono_ns ? file->page.mono_ns : (uint64_t)ns;
}

void nvs_page_finish_counters(const struct nvs_page_file *file, struct nvs_page_counter *sums,
			      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t total = sums[i].more > sums[i].total ? sums[i].more : sums[i].total;

		sums[i].more = file->page.fresh ? 0 : total - sums[i].total;
		sums[i].total = total;
	}
}

/* ---- head ---- */

int nvs_page_read_head(struct nvs_page_file *file, uint64_t size, uint64_t *budget)
{
	struct nvs_live *head = &file->head;

	file->size = size;
	file->wrong = NULL;
	file->budget = *budget < NVS_PAGE_MAX_BYTES ? *budget : NVS_PAGE_MAX_BYTES;
	if (size < sizeof(*head))
		return nvs_page_reject(file, "it is too short");
	if (read_into(file, head, 0, sizeof(*head)))
		return -EINVAL;
	*budget -= sizeof(*head);
	if (head->magic != NVS_LIVE_MAGIC)
		return nvs_page_reject(file, "it is no live page, or not ready yet");
	if (head->version != NVS_LIVE_VERSION)
		return nvs_page_reject(file, "it is of another version of nvsnoop");
	if (head->head_bytes < sizeof(*head))
		return nvs_page_reject(file, "its head is too short");
	return 0;
}

/* Reads the page's clock, which is a seqlock. Keeps the previous value if every attempt overlaps an
 * update. */
static int read_clock(struct nvs_page_file *file)
{
	const uint64_t at = offsetof(struct nvs_live, clock);
	struct nvs_live_clock one = file->head.clock, two;

	for (int i = 0; i < TRIES; i++, one = two) {
		if (read_into(file, &two, at, sizeof(two)))
			return -EINVAL;
		if (one.sequence % 2 || memcmp(&one, &two, sizeof(one)))
			continue;
		file->clock = two;
		file->has_clock = true;
		break;
	}
	return 0;
}

/* Reads the strings added since the last read. Existing strings never change. */
static int read_strings(struct nvs_page_file *file)
{
	const struct nvs_live_table *t = file->head.tables + NVS_LIVE_STRINGS;
	uint32_t n = t->used < t->rows ? t->used : t->rows;
	char *more;

	if (n > MAX_STRINGS || (n && t->row_bytes != 1))
		return nvs_page_reject(file, "its strings are too large");
	if (n <= file->nstrings)
		return 0;
	if (t->offset > file->size || n > file->size - t->offset)
		return nvs_page_reject(file, "its strings are outside the file");
	if (n >= file->strings_room) {
		more = realloc(file->strings, 2ul * n + 1);
		if (!more)
			return -ENOMEM;
		file->strings = more;
		file->strings_room = 2 * n + 1;
	}
	if (read_into(file, file->strings + file->nstrings, t->offset + file->nstrings,
		      n - file->nstrings))
		return -EINVAL;
	file->nstrings = n;
	file->strings[n] = 0;
	return 0;
}

static void copy_text(char *to, const char *from, size_t size)
{
	memcpy(to, from, size);
	to[size - 1] = 0;
}

static void copy_head(struct nvs_page_file *file, uint64_t now)
{
	const struct nvs_live *head = &file->head;
	struct nvs_page *page = &file->page;

	page->fresh = !file->last_ns;
	page->span_ns = page->fresh ? 0 : now - file->last_ns;
	page->mono_ns = now;
	page->pid = head->pid;
	page->start_time = head->start_time;
	page->flags = head->flags;
	page->begun_ns = head->begun;
	page->heard_ns = head->heard < now ? head->heard : now;
	if (head->failed_rows > page->failed_rows)
		page->failed_rows = head->failed_rows;
	memcpy(page->session, head->session, sizeof(page->session));
	copy_text(page->program, head->program, sizeof(page->program));
	copy_text(page->host, head->host, sizeof(page->host));
	copy_text(page->launcher, head->launcher, sizeof(page->launcher));
	copy_text(page->rank, head->rank, sizeof(page->rank));
	copy_text(page->size, head->size, sizeof(page->size));
	copy_text(page->local_rank, head->local_rank, sizeof(page->local_rank));
	copy_text(page->job, head->job, sizeof(page->job));
	copy_text(page->driver, head->driver, sizeof(page->driver));
	for (int i = 0; i < NVS_LIVE_WORKLOADS; i++)
		page->workload[i] = nvs_page_get_string(file, head->workload[i]);
	page->exe = nvs_page_get_string(file, head->exe);
	page->trace = head->flags & NVS_LIVE_TRACED ? nvs_page_get_string(file, head->trace) : "";
}

int nvs_page_read(struct nvs_page_file *file, uint64_t size, uint64_t *budget, uint64_t now,
		  uint32_t flags)
{
	uint64_t before;
	int r = nvs_page_read_head(file, size, budget);

	if (r)
		return r;
	before = file->budget;
	r = read_clock(file);
	r = r ? r : read_strings(file);
	if (!r) {
		copy_head(file, now);
		r = nvs_page_read_names(file);
		r = r ? r : nvs_page_read_slots(file);
		r = r ? r : nvs_page_read_tables(file, flags);
		if (!r)
			file->last_ns = now;
	}
	*budget -= before - file->budget;
	return r;
}

void nvs_page_free(struct nvs_page_file *file)
{
	struct nvs_page_list *lists[] = {
		&file->apis,	    &file->api_counts, &file->results, &file->faults,
		&file->kernels,	    &file->gpus,       &file->memory,  &file->sites,
		&file->allocs,	    &file->channels,   &file->threads, &file->memory_places,
		&file->channel_rows};

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		free(lists[i]->rows);
	free(file->strings);
	free(file->path);
	free(file->scratch[0]);
	free(file->scratch[1]);
	if (file->fd >= 0)
		close(file->fd);
	memset(file, 0, sizeof(*file));
	file->fd = -1;
}
