/* SPDX-License-Identifier: MIT */
/* Counting for the live page when threads interfere or exit in the middle: the lock, the ledger of
 * memory, slots that change owners, full tables, unmapped memory. */
/* LINK: preload */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "preload/api/intercept/api.h"
#include "preload/base/sys.h"
#include "preload/live/memory.h"
#include "tests/unit/expect.h"

enum { ROWS = 8, ROW_BYTES = 256 };

/* A page whose tables have a few rows each. */
static struct nvs_live_page *make_page(void)
{
	struct nvs_live_page *p = calloc(1, sizeof(*p));
	uint64_t bytes = 4096, at = bytes, memory = sizeof(struct nvs_live_memory);

	bytes += NVS_LIVE_TABLES * ROWS * ROW_BYTES +
		 (NVS_LIVE_GPU_ROWS + 1) * NVS_LIVE_KINDS * memory;
	p->base = calloc(1, bytes);
	p->head = (void *)p->base;
	for (int i = 0; i < NVS_LIVE_TABLES; i++) {
		static const uint32_t size[NVS_LIVE_TABLES] = {
			[NVS_LIVE_STRINGS] = 1,
			[NVS_LIVE_APIS] = sizeof(struct nvs_live_api),
			[NVS_LIVE_KERNELS] = sizeof(struct nvs_live_kernel),
			[NVS_LIVE_SITE_ROWS] = sizeof(struct nvs_live_site),
			[NVS_LIVE_ALLOCS] = sizeof(struct nvs_live_alloc),
		};
		struct nvs_live_table *t = &p->head->tables[i];

		*t = (struct nvs_live_table){.offset = at, .rows = ROWS, .row_bytes = size[i]};
		p->ready[i] = ROWS;
		if (i == NVS_LIVE_STRINGS)
			p->ready[i] = t->rows = ROWS * ROW_BYTES;
		at += i == NVS_LIVE_MEMORY ? (NVS_LIVE_GPU_ROWS + 1) * NVS_LIVE_KINDS * memory
					   : ROWS * ROW_BYTES;
	}
	p->head->tables[NVS_LIVE_APIS].used = p->head->tables[NVS_LIVE_SITE_ROWS].used = 1;
	p->strings = 1;
	return p;
}

static void free_page(struct nvs_live_page *p)
{
	free(p->base);
	free(p);
}

/* ---- the lock ---- */

static _Atomic uint32_t lock;

static void *try_it(void *arg)
{
	(void)arg;
	return (void *)(uintptr_t)nvs_live_lock(&lock);
}

static bool had_by_another(void)
{
	pthread_t thread;
	void *had = NULL;

	EXPECT(!pthread_create(&thread, NULL, try_it, NULL));
	pthread_join(thread, &had);
	return had;
}

/* No thread of these has a buffer, and so a number of its own. */
static void test_lock(void)
{
	uint32_t mine;

	EXPECT(nvs_live_lock(&lock));
	mine = lock;
	EXPECT(mine != 0);
	/* By a handler that has interrupted us. */
	EXPECT(!nvs_live_lock(&lock));
	EXPECT_EQ(lock, mine);
	EXPECT(!had_by_another());
	/* Its holder never comes back: nobody waits for it again. */
	EXPECT(lock != mine);
	for (int i = 0; i < 100; i++)
		EXPECT(!had_by_another());
	/* It does after all. */
	nvs_live_unlock(&lock);
	EXPECT(had_by_another());
}

/* ---- memory ---- */

static const struct nvs_live_memory *device(struct nvs_live_page *p)
{
	return (struct nvs_live_memory *)nvs_live_table(p, NVS_LIVE_MEMORY) + NVS_LIVE_DEVICE;
}

static void give(struct nvs_live_page *p, uint64_t address, uint64_t context)
{
	nvs_live_alloc_add(p, &(struct nvs_live_allocation){.value = address,
							    .bytes = 4096,
							    .context = context,
							    .kind = NVS_LIVE_DEVICE,
							    .stack = NVS_NONE});
}

/* What was taken has gone with its context before its free returned, and its row has been given to
 * another allocation. */
static void test_row_of_another(bool freed)
{
	struct nvs_live_page *p = make_page();
	uint64_t token;

	give(p, 0x10000, 1);
	token = nvs_live_free_begin(p, NVS_SPACE_ADDRESS, 0x10000);
	EXPECT(token);
	nvs_live_free_context(p, 1);
	give(p, 0x20000, 2);
	EXPECT_EQ(p->head->tables[NVS_LIVE_ALLOCS].used, 1);
	nvs_live_free_end(p, token, freed, NVS_LIVE_DEVICE);
	EXPECT_EQ(device(p)->live_count, 1);
	EXPECT_EQ(device(p)->live, 4096);
	EXPECT_EQ(device(p)->ended, 1);
	nvs_live_free_cancel(p, token);
	token = nvs_live_free_begin(p, NVS_SPACE_ADDRESS, 0x20000);
	nvs_live_free_end(p, token, true, NVS_LIVE_DEVICE);
	EXPECT_EQ(device(p)->live_count, 0);
	EXPECT_EQ(device(p)->frees, 1);
	free_page(p);
}

/* ---- tables ---- */

/* An entry point without a row is looked for once. */
static void test_full_table(void)
{
	struct nvs_live_page *p = make_page();

	for (uint32_t i = 0; i < ROWS - 1; i++)
		EXPECT_EQ(nvs_live_api_row(p, i, "cuName", "group"), i + 1);
	EXPECT_EQ(p->head->failed_rows, 0);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(nvs_live_api_row(p, ROWS, "cuOther", "group"), 0);
	EXPECT_EQ(p->head->failed_rows, 1);
	EXPECT_EQ(nvs_live_api_row(p, 1, "cuName", "group"), 2);
	EXPECT_EQ(p->head->tables[NVS_LIVE_APIS].used, ROWS);
	free_page(p);
}

/* Who saw that an owner had gone comes too late: there is another one. */
static void test_owners(void)
{
	struct nvs_live_slot slot = {.generation = 1};
	uint32_t seen = nvs_live_generation(&slot);

	nvs_live_free_slot(&slot, nvs_live_generation(&slot));
	EXPECT_EQ(slot.generation, 2);
	nvs_live_free_slot(&slot, nvs_live_generation(&slot));
	EXPECT_EQ(slot.generation, 2);
	slot.generation++;
	nvs_live_free_slot(&slot, seen);
	EXPECT_EQ(slot.generation, 3);
}

/* ---- memory that is not there ---- */

static void test_readable(void)
{
	uint8_t *at = mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("test", 0);
	uint8_t *file = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	sigset_t before, after;

	memset(at, 0xff, 12288);
	EXPECT(!ftruncate(fd, 4096) && !mprotect(at + 4096, 4096, PROT_NONE) &&
	       !munmap(at + 8192, 4096));
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	errno = 0;
	EXPECT(nvs_sys_readable(at + 4088));
	EXPECT(!nvs_sys_readable(at + 4096));
	EXPECT(!nvs_sys_readable(at + 8192));
	EXPECT(!nvs_sys_readable(NULL));
	EXPECT(nvs_sys_readable(file + 4088));
	EXPECT(!nvs_sys_readable(file + 4096)); /* behind its end: SIGBUS */
	EXPECT_EQ(errno, 0);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	EXPECT(!memcmp(&before, &after, 8)); /* as many as there are */
	close(fd);
}

/* ---- kernels ---- */

enum { PLACES = 8, CHANGES = 100000 };

struct lookup {
	struct nvs_live_page *page;
	uint64_t key[2];
	_Atomic bool stop;
	uint32_t wrong, found;
};

/* The row of a function has the number of the function. */
static void *look_up(void *arg)
{
	struct lookup *l = arg;
	const struct nvs_live_kernel *rows = nvs_live_table(l->page, NVS_LIVE_KERNELS);

	while (!atomic_load(&l->stop))
		for (uint32_t i = 0; i < 2; i++) {
			bool known;
			uint32_t row = nvs_live_kernel(l->page, l->key[i], &known);

			l->found += known;
			l->wrong += known && rows[row].function != i + 1;
		}
	return NULL;
}

/* Two handles take one place in turns, while another thread looks both up. */
static void test_one_place(void)
{
	const struct nvs_live_kernel_info facts = {0};
	struct lookup l = {.page = make_page()};
	uint64_t key = 0;
	pthread_t thread;

	l.page->head->tables[NVS_LIVE_KERNELS].used = 1;
	for (uint32_t n = 0; n < PLACES + 2;) {
		if (nvs_hash(++key, NVS_LIVE_HANDLE_BITS))
			continue;
		if (n < PLACES)
			nvs_live_kernel_new(l.page, key, 3, &facts);
		else
			l.key[n - PLACES] = key;
		n++;
	}
	EXPECT(!pthread_create(&thread, NULL, look_up, &l));
	for (uint32_t i = 0; i < CHANGES; i++)
		nvs_live_kernel_new(l.page, l.key[i % 2], i % 2 + 1, &facts);
	atomic_store(&l.stop, true);
	pthread_join(thread, NULL);
	EXPECT_EQ(l.wrong, 0);
	free_page(l.page);
}

/* Generations of handles have 16 bits, and begin anew: the handle may be another function's. */
static void test_generations(void)
{
	const struct nvs_live_kernel_info facts = {0};
	struct nvs_live_page *page = make_page();
	uint64_t key = nvs_api_known_key(0x1000);
	bool known;

	page->head->tables[NVS_LIVE_KERNELS].used = 1;
	*nvs_slot(NVS_SLOT_LIVE) = page;
	nvs_live_kernel_new(page, key, 0x1000, &facts);
	nvs_live_kernel(page, key, &known);
	EXPECT(known);
	for (uint32_t i = 0; i < 1u << 16; i++)
		nvs_api_before_unload(NULL);
	EXPECT_EQ(nvs_api_known_key(0x1000), key);
	nvs_live_kernel(page, key, &known);
	EXPECT(!known);
	*nvs_slot(NVS_SLOT_LIVE) = NULL;
	free_page(page);
}

int main(void)
{
	test_lock();
	test_row_of_another(true);
	test_row_of_another(false);
	test_full_table();
	test_owners();
	test_readable();
	test_one_place();
	test_generations();
	return expect_done();
}
