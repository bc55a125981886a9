/* SPDX-License-Identifier: MIT */
/* Names the allocation sites on the live page: module and address of the first frame outside CUDA,
 * from the snapshot of modules. A reader of the page may find better names. */
#include <link.h>
#include <stdio.h>
#include <string.h>
#include "preload/base/names.h"
#include "preload/live/live.h"
#include "preload/modules/modules.h"
#include "trap/buffer/process.h"

static const struct dl_phdr_info *module_of(const struct nvs_module_view *view, uintptr_t pc)
{
	for (uint32_t i = 0; view && i < view->nmodules; i++) {
		const struct dl_phdr_info *m = &view->modules[i];

		for (int k = 0; k < m->dlpi_phnum; k++) {
			const ElfW(Phdr) *h = &m->dlpi_phdr[k];

			if (h->p_type == PT_LOAD && pc - (m->dlpi_addr + h->p_vaddr) < h->p_memsz)
				return m;
		}
	}
	return NULL;
}

static bool is_cuda(const char *name)
{
	return !strncmp(name, "libcuda.so", 10) || !strncmp(name, "libcudart", 9);
}

static void name_site(struct nvs_live_page *page, const struct nvs_module_view *view,
		      struct nvs_live_site *site)
{
	char text[320] = "";

	for (uint32_t i = 0; i < site->nframes && i < NVS_LIVE_FRAMES; i++) {
		/* A return address; the call precedes it. */
		uintptr_t pc = site->frames[i] - 1;
		const struct dl_phdr_info *m = module_of(view, pc);
		const char *name = !m				   ? "?"
				   : m->dlpi_name && *m->dlpi_name ? nvs_base_name(m->dlpi_name)
								   : page->head->program;

		snprintf(text, sizeof(text), "%.255s+0x%llx", name,
			 (unsigned long long)(site->frames[i] - (m ? m->dlpi_addr : 0)));
		if (m && !is_cuda(name))
			break;
	}
	__atomic_store_n(&site->name, nvs_live_string_new(page, text, strlen(text)),
			 __ATOMIC_RELEASE);
}

void nvs_live_name_sites(void)
{
	struct nvs_live_page *page = nvs_live_page();
	struct nvs_live_site *sites;

	if (!page)
		return;
	sites = nvs_live_table(page, NVS_LIVE_SITE_ROWS);
	NVS_LOCK_SCOPE();
	for (uint32_t i = 1; i < page->head->tables[NVS_LIVE_SITE_ROWS].used; i++)
		if (!sites[i].name && sites[i].nframes)
			name_site(page, atomic_load(&nvs_process->modules), &sites[i]);
}
