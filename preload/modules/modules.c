/* SPDX-License-Identifier: MIT */
/*
 * Loaded modules: the snapshot that answers the unwinder in the trap, and the MODULE records.
 * Asking the loader takes its lock, which a thread of the program may hold for long. So the keeper
 * thread, on which nothing waits (session/keeper.c), checks the loader's counts ten times a second.
 */
#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include "preload/base/ownthread.h"
#include "preload/base/preload.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"
#include "preload/modules/deepbind.h"
#include "preload/modules/elf.h"
#include "preload/modules/modules.h"

#define FORK_WAIT_MS 1000
#define BUILD_ID_MAX 64

struct module {
	uint32_t number;
	bool seen; /* in this round */
	uintptr_t bias, phdr;
	uintptr_t start, end;
};

struct modules {
	_Atomic uint32_t lock;
	uint64_t adds, subs;
	struct nvs_module_view *view; /* published */
	size_t view_bytes;
	struct module *list;
	size_t used, room;
	uint32_t next_number;
	bool begun;
};

static struct modules *get_modules(void)
{
	return *nvs_slot(NVS_SLOT_MODULES);
}

/* ---- the snapshot ---- */

/* One allocation: the view, the modules, their program headers, their names. */
struct view_builder {
	struct nvs_module_view *view;
	struct dl_phdr_info *infos;
	uint8_t *next, *end;
	size_t need;
	uint32_t room;
	uint64_t adds, subs;
};

static int measure_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct view_builder *b = arg;

	b->room++;
	b->need += sizeof(*info) + info->dlpi_phnum * sizeof(ElfW(Phdr)) + strlen(info->dlpi_name) +
		   16;
	b->adds = info->dlpi_adds;
	b->subs = info->dlpi_subs;
	return 0;
}

static void *copy_data(struct view_builder *b, const void *data, size_t size)
{
	uint8_t *p = b->next;

	if ((size_t)(b->end - p) < size)
		return NULL;
	memcpy(p, data, size);
	b->next += (size + 7) & ~7ul;
	if (b->next > b->end)
		b->next = b->end;
	return p;
}

/* Returns nonzero if a module was loaded since the measurement. */
static int add_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct view_builder *b = arg;
	struct dl_phdr_info *copy = &b->infos[b->view->nmodules];

	if (b->view->nmodules == b->room)
		return 1;
	memset(copy, 0, sizeof(*copy));
	memcpy(copy, info, size < sizeof(*copy) ? size : sizeof(*copy));
	copy->dlpi_tls_data = NULL;
	copy->dlpi_phdr = copy_data(b, info->dlpi_phdr, info->dlpi_phnum * sizeof(ElfW(Phdr)));
	copy->dlpi_name = copy_data(b, info->dlpi_name, strlen(info->dlpi_name) + 1);
	if (!copy->dlpi_phdr || !copy->dlpi_name)
		return 1;
	b->view->adds = info->dlpi_adds;
	b->view->subs = info->dlpi_subs;
	b->view->nmodules++;
	return 0;
}

static struct nvs_module_view *build_view(size_t *bytes)
{
	for (int i = 0; i < 8; i++) {
		struct view_builder b = {.need = sizeof(struct nvs_module_view) + 64};

		nvs_next()->dl_iterate_phdr(measure_module, &b);
		b.view = nvs_alloc(b.need);
		if (!b.view)
			return NULL;
		b.infos = (void *)(b.view + 1);
		b.view->modules = b.infos;
		b.next = (uint8_t *)(b.infos + b.room);
		b.end = (uint8_t *)b.view + b.need;
		if (!nvs_next()->dl_iterate_phdr(add_module, &b)) {
			*bytes = b.need;
			return b.view;
		}
		nvs_free(b.view, b.need);
	}
	return NULL;
}

/* ---- the records ---- */

/* Copies the build ID from the notes of INFO. Returns its length, 0 if there is none. */
static size_t build_id(const struct dl_phdr_info *info, uint8_t *id)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const uint8_t *p = (const uint8_t *)info->dlpi_addr + ph->p_vaddr,
			      *end = p + ph->p_memsz;

		while (ph->p_type == PT_NOTE && (size_t)(end - p) >= sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const void *)p;
			size_t name = (note->n_namesz + 3u) & ~3u,
			       desc = (note->n_descsz + 3u) & ~3u;

			p += sizeof(*note);
			if (name + desc > (size_t)(end - p))
				break;
			if (note->n_type == NT_GNU_BUILD_ID && name == 4 && !memcmp(p, "GNU", 4) &&
			    note->n_descsz <= BUILD_ID_MAX) {
				memcpy(id, p + name, note->n_descsz);
				return note->n_descsz;
			}
			p += name + desc;
		}
	}
	return 0;
}

/* The main program has no name; the vDSO's name is not a file. */
static size_t module_path(const struct dl_phdr_info *info, bool first, char *path)
{
	path[0] = '\0';
	if (first)
		nvs_sys_readlink("/proc/self/exe", path, PATH_MAX);
	else if (strstr(info->dlpi_name, "vdso") && info->dlpi_name[0] != '/')
		strcpy(path, "[vdso]");
	else if (strlen(info->dlpi_name) < PATH_MAX)
		strcpy(path, info->dlpi_name);
	return strlen(path);
}

static void record_module(const struct module *m, const struct dl_phdr_info *info, bool first)
{
	struct {
		struct nvs_rec_module rec;
		uint8_t tail[BUILD_ID_MAX + PATH_MAX + 8];
	} room = {.rec = {.module = m->number, .bias = m->bias, .start = m->start, .end = m->end}};
	struct nvs_rec_module *rec = &room.rec;

	rec->build_id_length = (uint16_t)build_id(info, room.tail);
	rec->path_length = (uint16_t)module_path(info, first,
						 (char *)room.tail + rec->build_id_length);
	rec->rec.type = NVS_REC_MODULE;
	rec->rec.size = (uint32_t)(sizeof(*rec) + rec->build_id_length + rec->path_length + 7) &
			~7u;
	nvs_record_write(&rec->rec);
}

static void record_module_gone(const struct module *m)
{
	struct nvs_rec_module_gone rec = {
		.rec = {.type = NVS_REC_MODULE_GONE, .size = sizeof(rec)},
		.module = m->number,
	};

	nvs_record_write(&rec.rec);
}

static struct module *find_module(struct modules *ms, const struct module *like)
{
	for (size_t i = 0; i < ms->used; i++) {
		struct module *m = &ms->list[i];

		if (m->bias == like->bias && m->phdr == like->phdr && m->start == like->start &&
		    m->end == like->end)
			return m;
	}
	return NULL;
}

static struct module *append_module(struct modules *ms, const struct module *m)
{
	if (!NVS_GROW(ms->list, ms->used, ms->room, 64))
		return NULL;
	ms->list[ms->used] = *m;
	ms->list[ms->used].number = ms->next_number++;
	return &ms->list[ms->used++];
}

static void drop_unseen(struct modules *ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < ms->used; i++) {
		if (ms->list[i].seen)
			ms->list[kept++] = ms->list[i];
		else
			record_module_gone(&ms->list[i]);
	}
	ms->used = kept;
}

struct comparison {
	struct modules *ms;
	uint32_t index;
};

/* Runs under the loader's lock, so that the notes read here stay mapped. A record may wait for
 * space in the thread buffer, which the writer frees without taking any lock of the program. */
static int compare_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct comparison *c = arg;
	struct module like = {
		.bias = info->dlpi_addr, .phdr = (uintptr_t)info->dlpi_phdr, .seen = true};
	struct module *m;

	nvs_elf_extent(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, &like.start, &like.end);
	m = find_module(c->ms, &like);
	if (m) {
		m->seen = true;
	} else {
		m = append_module(c->ms, &like);
		if (m)
			record_module(m, info, c->index == 0);
	}
	c->index++;
	return 0;
}

static void record_changes(struct modules *ms)
{
	struct comparison c = {.ms = ms};

	for (size_t i = 0; i < ms->used; i++)
		ms->list[i].seen = false;
	nvs_next()->dl_iterate_phdr(compare_module, &c);
	drop_unseen(ms);
}

/* ---- when to refresh ---- */

void nvs_modules_refresh(void)
{
	struct modules *ms = get_modules();
	struct nvs_module_view *view, *old;
	uint64_t adds, subs;
	size_t bytes;

	nvs_loader_counts(&adds, &subs);
	if (ms->begun && adds == ms->adds && subs == ms->subs)
		return;
	view = build_view(&bytes);
	if (!view)
		return;
	old = nvs_modules_publish(view);
	nvs_free(old, ms->view_bytes);
	ms->view_bytes = bytes;
	ms->adds = view->adds;
	ms->subs = view->subs;
	ms->begun = true;
	record_changes(ms);
}

void nvs_modules_lock(void)
{
	nvs_sys_lock(&get_modules()->lock);
}

void nvs_modules_unlock(void)
{
	nvs_sys_unlock(&get_modules()->lock);
}

static __thread bool fork_holds;

static bool try_lock(struct modules *ms)
{
	for (int i = 0; i < FORK_WAIT_MS; i++) {
		uint32_t holder = 0;

		if (atomic_compare_exchange_strong(&ms->lock, &holder, 1))
			return true;
		nvs_sys_futex_wait(&ms->lock, holder, 1);
	}
	return false;
}

static void before_fork(void)
{
	struct modules *ms = get_modules();

	fork_holds = ms && try_lock(ms);
}

static void after_fork(void)
{
	if (fork_holds)
		nvs_sys_unlock(&get_modules()->lock);
	fork_holds = false;
}

static void in_child(void)
{
	fork_holds = false;
}

/* Registers once; a forked child keeps it. */
static void guard_forks(void)
{
	static _Atomic int done;

	if (!atomic_exchange(&done, 1))
		pthread_atfork(before_fork, after_fork, in_child);
}

int nvs_modules_start(void)
{
	struct modules *ms = nvs_alloc(sizeof(*ms));

	if (!ms)
		return -ENOMEM;
	*nvs_slot(NVS_SLOT_MODULES) = ms;
	guard_forks();
	return 0;
}

void nvs_modules_poll(void)
{
	struct modules *ms = get_modules();
	uint64_t saved;

	if (!ms || !nvs_session_is_active() || nvs_lock_is_mine() || nvs_state_is_borrowed())
		return;
	saved = nvs_sys_block_async();
	if (try_lock(ms)) {
		nvs_modules_refresh();
		nvs_sys_unlock(&ms->lock);
	} else {
		nvs_poll_thread_wake();
	}
	nvs_sys_sigmask(SIG_SETMASK, &saved, NULL);
}
