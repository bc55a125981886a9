/* SPDX-License-Identifier: MIT */
/* FUZZ: cli decode live/read/page.o live/read/page_tables.o live/read/slots.o */
/* FUZZ: live/read/enum_names.o */
/* FUZZ: live/read/page_set.o live/read/process_alive.o live/top/text_page.o */
/* FUZZ: live/top/process_detail.o */
/* FUZZ: live/top/columns.o live/top/processes.o live/top/json.o live/top/print.o */
/* FUZZ: live/top/header.o decode/query/estimate.o */
/* Live pages of strangers: read twice, as two looks do, the second time with a byte changed, and
 * shown in every way there is. What comes out is bounded, and fit for a terminal. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "live/read/page.h"
#include "live/top/columns.h"
#include "tests/fuzz/fuzz.h"

#define NOW 1000000000000ull

static void check_text(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		FUZZ_HOLDS(((unsigned char)text[i] >= ' ' && (unsigned char)text[i] < 0x7f) ||
			   text[i] == '\n');
}

/* Numbers that name rows lie within them. */
static void check_page(const struct nvs_page *page)
{
	for (uint32_t i = 0; i < page->nresults; i++)
		FUZZ_HOLDS(!page->results[i].api || page->results[i].api < page->napis);
	for (uint32_t i = 0; i < page->nallocs; i++)
		FUZZ_HOLDS(page->allocs[i].gpu <= page->ngpus &&
			   page->allocs[i].kind < NVS_LIVE_KINDS &&
			   (!page->allocs[i].site || page->allocs[i].site < page->nsites));
	for (uint32_t i = 0; i < page->nchannels; i++)
		FUZZ_HOLDS(page->channels[i].gpu <= page->ngpus &&
			   page->channels[i].submitted_ns <= page->mono_ns);
	for (uint32_t i = 0; i < page->nthreads; i++)
		for (uint32_t k = 0; k < page->threads[i].ncalls; k++)
			FUZZ_HOLDS(page->threads[i].calls[k].begin_ns <= page->mono_ns);
}

static void show(struct nvs_page *page)
{
	struct nvs_top_options o = {.npids = 1};
	struct nvs_top_row row = {.page = page, .user = "user", .command = "\033command"};
	struct nvs_top top = {
		.options = &o, .rows = &row, .nrows = 1, .sort = nvs_top_columns, .interval = 1};
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);

	if (!file)
		abort();
	row.call = page->nthreads && page->threads->ncalls
			   ? nvs_top_api_name(page, page->threads->calls->api)
			   : NULL;
	nvs_top_print_text(&top, file);
	o.npids = 0;
	nvs_top_print_text(&top, file);
	nvs_top_print_blocks(&top, file);
	fflush(file);
	check_text(text, length);
	o.npids = 1;
	nvs_top_print_json(&top, file);
	fclose(file);
	free(text);
}

/* What was counted does not go back. */
static void look(struct nvs_page_file *page, const uint8_t *data, size_t size, uint64_t now)
{
	uint64_t budget = 64 << 20, launches = page->page.launches.total,
		 calls = page->page.calls.total;

	if (pwrite(page->fd, data, size, 0) != (ssize_t)size)
		abort();
	if (nvs_page_read(page, size, &budget, now, NVS_PAGES_ALLOCS)) {
		FUZZ_HOLDS(page->wrong);
		return;
	}
	FUZZ_HOLDS(page->page.launches.total >= launches && page->page.calls.total >= calls);
	check_page(&page->page);
	show(&page->page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nvs_page_file page = {.fd = memfd_create("page", MFD_CLOEXEC)};
	uint8_t *changed = malloc(size + 1);

	if (page.fd < 0 || !changed)
		abort();
	look(&page, data, size, NOW);
	memcpy(changed, data, size);
	if (size > 9000)
		changed[(data[8999] << 8 | data[8998]) % size] ^= data[8997];
	look(&page, changed, size, NOW + 1000000000);
	/* Cut short under its reader. */
	if (!ftruncate(page.fd, (off_t)(size / 2)))
		FUZZ_HOLDS(nvs_page_read(&page, size, &(uint64_t){64 << 20}, NOW + 2000000000, 0) ||
			   !size || page.page.mono_ns);
	free(changed);
	nvs_page_free(&page);
	nvs_top_kernel_names_free();
	return 0;
}
