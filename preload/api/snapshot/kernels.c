/* SPDX-License-Identifier: MIT */
/* snapshot=: the kernels whose names match, by handle. A handle is known from the call by which the
 * program got it, which has the name. */
#include <fnmatch.h>
#include <string.h>
#include "preload/api/snapshot/snapshot.h"
#include "preload/base/preload.h"

#define KERNELS 4096u

/* Wiped in a forked child. */
struct matching {
	struct nvs_snapshot_name *names;
	_Atomic uint32_t n;
	struct nvs_snapshot_kernel kernel[KERNELS];
};

/* The lock is held. */
static struct matching *get_matching(void)
{
	void **slot = nvs_slot(NVS_SLOT_SNAPSHOT_KERNELS);

	if (!*slot)
		*slot = nvs_alloc(sizeof(struct matching));
	return *slot;
}

struct nvs_snapshot_name *nvs_snapshot_keep_name(struct nvs_snapshot_name **list, const char *text)
{
	struct nvs_snapshot_name *name = *list;
	size_t length = strlen(text);

	while (name && strcmp(name->text, text))
		name = name->next;
	if (name)
		return name;
	name = nvs_alloc(sizeof(*name) + length + 1);
	if (!name)
		return NULL;
	memcpy(name->text, text, length + 1);
	name->next = *list;
	*list = name;
	return name;
}

/* The lock is held. Returns the entry of FUNCTION, whose handle may be used again, or a new one. */
static struct nvs_snapshot_kernel *get_entry(struct matching *all, uint64_t function)
{
	struct nvs_snapshot_kernel *unused = NULL;

	for (uint32_t i = 0; i < all->n; i++) {
		if (all->kernel[i].function == function)
			return all->kernel + i;
		if (!all->kernel[i].function)
			unused = all->kernel + i;
	}
	if (unused || all->n == KERNELS)
		return unused;
	return all->kernel + all->n++;
}

static void note_function(uint64_t function, uint64_t module, const char *name, bool library)
{
	bool wanted = name && !fnmatch(nvs_options()->values.snapshot, name, 0);
	struct nvs_snapshot_kernel *k;
	struct nvs_snapshot_name *named;
	struct matching *all;

	NVS_LOCK_SCOPE();
	all = get_matching();
	if (!all || (!wanted && !all->n))
		return;
	named = wanted ? nvs_snapshot_keep_name(&all->names, name) : NULL;
	k = get_entry(all, function);
	if (k)
		*k = (struct nvs_snapshot_kernel){named ? function : 0, module, library, library,
						  named ? &named->count : NULL};
}

bool nvs_snapshot_kernel(uint64_t function, struct nvs_snapshot_kernel *found)
{
	const struct matching *all = __atomic_load_n(nvs_slot(NVS_SLOT_SNAPSHOT_KERNELS),
						     __ATOMIC_ACQUIRE);

	if (!all || !all->n || !function)
		return false;
	NVS_LOCK_SCOPE();
	for (uint32_t i = 0; i < all->n; i++)
		if (all->kernel[i].function == function) {
			*found = all->kernel[i];
			return true;
		}
	return false;
}

/* ---- after calls ---- */

void nvs_api_after_get_function(struct nvs_api_frame *f, uint32_t result)
{
	NVS_KEEP_ERRNO();

	if (result || !f->regs[0])
		return;
	note_function(*(uint64_t *)f->regs[0], f->regs[1], (const char *)f->regs[2], false);
	nvs_snapshot_prepare();
}

void nvs_snapshot_got_kernel(uint64_t kernel, uint64_t library, const char *name)
{
	NVS_KEEP_ERRNO();

	note_function(kernel, library, name, true);
	nvs_snapshot_prepare();
}

/* The function of a kernel of a library, in the current context. */
void nvs_api_after_kernel_function(struct nvs_api_frame *f, uint32_t result)
{
	struct nvs_snapshot_kernel k, *own;
	struct matching *all;
	NVS_KEEP_ERRNO();

	if (result || !f->regs[0] || !nvs_snapshot_kernel(f->regs[1], &k))
		return;
	NVS_LOCK_SCOPE();
	all = get_matching();
	own = all ? get_entry(all, *(uint64_t *)f->regs[0]) : NULL;
	if (!own)
		return;
	*own = k;
	own->function = *(uint64_t *)f->regs[0];
	own->is_kernel = false;
}
