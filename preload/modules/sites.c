/* SPDX-License-Identifier: MIT */
/* Finds the executable mapping around each store site that the trap has seen, from the loader's
 * list. The trap does the patching. */
#include <link.h>
#include "preload/base/next.h"
#include "preload/modules/elf.h"
#include "preload/modules/modules.h"
#include "preload/writer/session.h"
#include "trap/arch/site.h"
#include "trap/enter/patch.h"

struct text_search {
	uintptr_t address;
	struct nvs_site_text *text;
};

/* Sets the slack: the bytes from END, the end of a segment, to the end of its page; none if another
 * segment uses some of them. */
static void find_slack(const struct dl_phdr_info *info, uintptr_t end, struct nvs_site_text *text)
{
	uintptr_t page_end = nvs_page_up(end);

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && start < page_end && start + ph->p_memsz > end)
			return;
	}
	text->slack = end;
	text->slack_end = page_end;
}

static int find_segment(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct text_search *s = arg;
	const ElfW(Phdr) *ph = nvs_elf_find_text(info, s->address);
	uintptr_t start;

	if (!ph)
		return 0;
	start = info->dlpi_addr + ph->p_vaddr;
	*s->text = (struct nvs_site_text){
		.bytes = (const uint8_t *)start, .address = start, .size = ph->p_filesz};
	find_slack(info, start + ph->p_memsz, s->text);
	return 1;
}

/* Asks the loader, not the snapshot: a module that was unloaded since must not be read. */
static bool find_text(uintptr_t address, struct nvs_site_text *text)
{
	struct text_search s = {address, text};

	return nvs_next()->dl_iterate_phdr(find_segment, &s) == 1;
}

/* Runs in dl_iterate_phdr(), under the loader's recursive lock: the code that is analysed and
 * patched stays loaded. */
static int patch_sites(struct dl_phdr_info *info, size_t size, void *arg)
{
	nvs_patch_pending_sites(find_text);
	return 1;
}

/* Checked again: the work takes time before it writes. */
bool nvs_sites_may_patch(void)
{
	struct nvs_recorder *session = nvs_session();

	return session && nvs_writer_check_sandbox(session) && !nvs_session_is_confined();
}

bool nvs_sites_is_due(void)
{
	/* Patching opens, maps and protects memory, which a sandbox may not allow. */
	return nvs_patch_pending() && !nvs_session_is_confined();
}

void nvs_sites_patch(void)
{
	nvs_next()->dl_iterate_phdr(patch_sites, NULL);
}

void nvs_sites_record(void)
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
			nvs_record_write(&rec.rec);
	}
}
