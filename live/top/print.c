/* SPDX-License-Identifier: MIT */
/* Output without a terminal: text, and GPUprobe's format. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "decode/base/compare.h"
#include "live/top/top.h"

void nvs_top_text(const struct nvs_top *top, FILE *file)
{
	struct nvs_sheet s = {.utf8 = top->utf8};

	if (!top->options->npids) {
		nvs_top_head(&s, top, UINT32_MAX, "");
		nvs_sheet_end(&s);
		nvs_top_list(&s, top, UINT32_MAX);
	}
	for (uint32_t i = 0; i < top->nrows && top->options->npids; i++) {
		if (i)
			nvs_sheet_end(&s);
		nvs_top_detail(&s, top->rows + i, NVS_TOP_ALL);
	}
	nvs_sheet_print(&s, file);
	nvs_sheet_free(&s);
}

/* ---- GPUprobe's format ---- */

static int compare_by_address(const void *a, const void *b)
{
	const struct nvs_page_alloc *one = a, *two = b;

	return NVS_CMP(one->address, two->address);
}

static void put_map(const struct nvs_page *page, FILE *file)
{
	struct nvs_page_alloc *sorted = calloc(page->nallocs + 1, sizeof(*sorted));

	fprintf(file, "process %u\n", page->pid);
	if (!sorted)
		return;
	if (page->nallocs)
		memcpy(sorted, page->allocs, page->nallocs * sizeof(*sorted));
	qsort(sorted, page->nallocs, sizeof(*sorted), compare_by_address);
	for (uint32_t i = 0; i < page->nallocs; i++)
		fprintf(file, "        0x%016llx: %llu Bytes\n",
			(unsigned long long)sorted[i].address, (unsigned long long)sorted[i].bytes);
	free(sorted);
}

/* Kernel names come from the process, so nvs_fit() escapes them. */
static void put_kernels(const struct nvs_top *top, const struct nvs_page *page, FILE *file)
{
	char name[1024];

	fprintf(file, "pid: %u\n", page->pid);
	for (uint32_t i = 0; i < page->nkernels; i++) {
		const struct nvs_page_kernel *k = page->kernels + i;

		if (!(k->direct.total + k->graph.total))
			continue;
		nvs_fit(name, sizeof(name), *k->name ? k->name : "unknown kernel", UINT32_MAX,
			top->utf8);
		fprintf(file, "        0x%llx (%s) -> %llu\n", (unsigned long long)k->function,
			name, (unsigned long long)(k->direct.total + k->graph.total));
	}
}

void nvs_top_blocks(const struct nvs_top *top, FILE *file)
{
	uint64_t allocs = 0, failed = 0, frees = 0, failed_frees = 0, launches = 0;
	time_t now = time(NULL);
	char date[64];
	struct tm tm;

	for (uint32_t i = 0; i < top->nrows; i++) {
		const struct nvs_page *page = top->rows[i].page;

		launches += page->launches.total;
		for (uint32_t k = 0; k < page->nmemory; k++) {
			allocs += page->memory[k].allocs.total;
			failed += page->memory[k].failed_allocs.total;
			frees += page->memory[k].frees.total;
			failed_frees += page->memory[k].failed_frees.total;
		}
	}
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", localtime_r(&now, &tm));
	fprintf(file,
		"========================\n%s\n\n"
		"num_successful_mallocs:  %llu\nnum_failed_mallocs:      %llu\n"
		"num_successful_frees:    %llu\nnum_failed_frees:        %llu\n"
		"per-process memory maps:\n",
		date, (unsigned long long)allocs, (unsigned long long)failed,
		(unsigned long long)frees, (unsigned long long)failed_frees);
	for (uint32_t i = 0; i < top->nrows; i++)
		put_map(top->rows[i].page, file);
	fprintf(file, "\ntotal kernel launches: %llu\n", (unsigned long long)launches);
	for (uint32_t i = 0; i < top->nrows; i++)
		put_kernels(top, top->rows[i].page, file);
	fputs("========================\n", file);
}
