/* SPDX-License-Identifier: MIT */
/* The program's own live page, and its counts summed over all threads. */
#ifndef LIVEPAGE_H
#define LIVEPAGE_H

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "app.h"
#include "nvsnoop/live.h"

/* ---- the page ---- */

static const struct nvs_live *page;

static void find_page(void)
{
	char path[512];
	struct stat st;
	int fd;

	/* By itself, to be compared with. */
	if (!*getenv("NVSNOOP_OUT"))
		return;
	snprintf(path, sizeof(path), "%s/nvsnoop.%d.live", getenv("XDG_RUNTIME_DIR"),
		 (int)getpid());
	fd = open(path, O_RDONLY | O_NOFOLLOW);
	EXPECT(fd >= 0 && !fstat(fd, &st), "no page at %s", path);
	EXPECT((st.st_mode & 07777) == 0600, "mode %o", st.st_mode);
	page = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	EXPECT(page != MAP_FAILED, "no mapping");
	EXPECT(page->magic == NVS_LIVE_MAGIC && page->version == NVS_LIVE_VERSION, "no page");
	EXPECT(page->bytes == (uint64_t)st.st_size && page->pid == (uint32_t)getpid(), "not ours");
	close(fd);
}

static const void *row(enum nvs_live_table_number which, uint32_t n)
{
	const struct nvs_live_table *t = &page->tables[which];

	return (const char *)page + t->offset + (uint64_t)n * t->row_bytes;
}

static uint32_t rows(enum nvs_live_table_number which)
{
	return __atomic_load_n(&page->tables[which].used, __ATOMIC_ACQUIRE);
}

static uint64_t load(const uint64_t *from)
{
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

static const char *string(uint32_t offset)
{
	return (const char *)row(NVS_LIVE_STRINGS, offset);
}

struct figures {
	uint64_t launches, calls, copies, copied, submissions, doorbells, kernels, graph;
};
#define FIGURES (sizeof(struct figures) / sizeof(uint64_t))

/* Calls of cuLaunchKernel, from its histogram. */
static uint64_t launch_calls(const char *slot)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < rows(NVS_LIVE_APIS); i++) {
		const struct nvs_live_api *api = row(NVS_LIVE_APIS, i);
		const struct nvs_live_api_count *c =
			(const void *)(slot + page->slot_apis + i * page->slot_api_bytes);

		if (strcmp(string(api->name), "cuLaunchKernel"))
			continue;
		for (int b = 0; b < NVS_LIVE_BUCKETS; b++)
			sum += load(&c->buckets[b]);
	}
	return sum;
}

static __attribute__((unused)) struct figures read_page(void)
{
	struct figures f = {0};

	for (uint32_t i = 0; i < rows(NVS_LIVE_SLOTS); i++) {
		const struct nvs_live_slot *s = row(NVS_LIVE_SLOTS, i);
		const struct nvs_live_copy *c = &s->copies[NVS_LIVE_D2H][NVS_LIVE_SYNC];

		f.launches += load(&s->launches);
		f.calls += launch_calls((const char *)s);
		f.copies += load(&c->calls);
		f.copied += load(&c->bytes);
		f.submissions += load(&s->counts[NVS_LIVE_SUBMISSIONS]) +
				 load(&s->counts[NVS_LIVE_SKIPPED]) +
				 load(&s->counts[NVS_LIVE_LOST_SUBMISSIONS]);
		f.doorbells += load(&s->counts[NVS_LIVE_DOORBELLS]);
		for (uint32_t k = 0; k < rows(NVS_LIVE_KERNELS); k++) {
			const struct nvs_live_kernel_count *n =
				(const void *)((const char *)s + page->slot_kernels +
					       k * page->slot_kernel_bytes);

			f.kernels += load(&n->direct);
			f.graph += load(&n->graph);
		}
	}
	return f;
}

#endif
