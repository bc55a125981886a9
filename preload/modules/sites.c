/* SPDX-License-Identifier: MIT */
/*
 * Where the store sites that the trap has seen lie: the executable mapping around each, from the
 * list of loaded modules. The patching itself is the trap's.
 */
#include <link.h>
#include "preload/base/next.h"
#include "preload/modules/elf.h"
#include "preload/modules/modules.h"
#include "preload/writer/session.h"
#include "trap/code/store_site.h"
#include "trap/enter/patch.h"

#define PAGE 4096u

struct search {
	uintptr_t address;
	struct nvs_site_text *text;
};

/* The bytes from END, the end of a segment, to the end of its page; none if another segment has
 * some of them. */
static void find_slack(const struct dl_phdr_info *info, uintptr_t end, struct nvs_site_text *text)
{
	uintptr_t page_end = (end + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && start < page_end && start + ph->p_memsz > end)
			return;
	}
	text->slack = end;
	text->slack_end = page_end;
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	const ElfW(Phdr) *ph = nvs_elf_text(info, s->address);
	uintptr_t start;

	if (!ph)
		return 0;
	start = info->dlpi_addr + ph->p_vaddr;
	*s->text = (struct nvs_site_text){
		.bytes = (const uint8_t *)start, .address = start, .size = ph->p_filesz};
	find_slack(info, start + ph->p_memsz, s->text);
	return 1;
}

/*
 * Asked of the loader, not of the snapshot: a module that has been unloaded since must not be read.
 */
static bool text_of(uintptr_t address, struct nvs_site_text *text)
{
	struct search s = {address, text};

	return nvs_next()->dl_iterate_phdr(look, &s) == 1;
}

/* In the loader's list and so under its lock, which is recursive: what is analysed and written
 * stays loaded. */
static int work(struct dl_phdr_info *info, size_t size, void *arg)
{
	nvs_patch_work(text_of);
	return 1;
}

/* The work takes its time before it comes to writing. */
bool nvs_sites_may_patch(void)
{
	struct nvs_session *session = nvs_session();

	return session && nvs_writer_look(session) && !nvs_session_confined();
}

bool nvs_sites_due(void)
{
	/* Patching opens, maps and protects: what a sandbox may not allow. */
	return nvs_patch_pending() && !nvs_session_confined();
}

void nvs_sites_work(void)
{
	nvs_next()->dl_iterate_phdr(work, NULL);
}

void nvs_sites_tell(void)
{
	const struct nvs_patch_site *sites = nvs_patch_sites();

	for (int i = 0; i < NVS_MAX_SITES; i++) {
		uint32_t state = atomic_load(&sites[i].state);
		struct nvs_rec_check rec = {
			.rec = {.type = NVS_REC_CHECK, .size = sizeof(rec)},
			.kind = NVS_CHECK_SITE,
			.value = sites[i].refusal,
			.start = sites[i].address,
			.end = sites[i].address + sites[i].length,
		};

		if (state == NVS_PATCH_SEEN || state == NVS_PATCH_DONE ||
		    state == NVS_PATCH_REFUSED)
			nvs_record(&rec.rec);
	}
}
