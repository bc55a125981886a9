/* SPDX-License-Identifier: MIT */
/*
 * The live page's file: its name, layout and end. A store to a page of a full file system raises
 * SIGBUS, so blocks are allocated before anything is written. Tables start with blocks for what
 * most programs need, and the library's thread adds more in advance; rows needed before that count
 * as "other". Parts without blocks are not mapped: they would use address space, and memory if the
 * program locks all its mappings.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "preload/base/clock.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"
#include "preload/live/live.h"
#include "trap/low/sys.h"

#define HEAD_BYTES 4096u
#define STRING_BYTES (4u << 20)
#define RESULT_ROWS 512
#define FAULT_ROWS 32
#define PROC_BYTES (64u << 10) /* of a file in /proc, as far as it is read */

struct nvs_live_page *nvs_live_own;

#define SLOT_BYTES                                                                              \
	(sizeof(struct nvs_live_slot) + NVS_LIVE_API_ROWS * sizeof(struct nvs_live_api_count) + \
	 NVS_LIVE_KERNEL_ROWS * sizeof(struct nvs_live_kernel_count))

_Static_assert(offsetof(struct nvs_live_slot, counts) % 64 == 0, "counters have their own lines");
_Static_assert(sizeof(struct nvs_live) <= HEAD_BYTES, "the head has room");

/* In file order: tables that get all their blocks at once come first. */
static const struct page_layout {
	enum nvs_live_table_number which;
	uint32_t rows, row_bytes;
	uint32_t ready; /* rows that have blocks at the start */
} layout[] = {
	{NVS_LIVE_APIS, NVS_LIVE_API_ROWS, sizeof(struct nvs_live_api), NVS_LIVE_API_ROWS},
	{NVS_LIVE_RESULTS, RESULT_ROWS, sizeof(struct nvs_live_result), RESULT_ROWS},
	{NVS_LIVE_KERNELS, NVS_LIVE_KERNEL_ROWS, sizeof(struct nvs_live_kernel),
	 NVS_LIVE_KERNEL_ROWS},
	{NVS_LIVE_GPUS, NVS_LIVE_GPU_ROWS, sizeof(struct nvs_live_gpu), NVS_LIVE_GPU_ROWS},
	{NVS_LIVE_MEMORY, (NVS_LIVE_GPU_ROWS + 1) * NVS_LIVE_KINDS, sizeof(struct nvs_live_memory),
	 (NVS_LIVE_GPU_ROWS + 1) * NVS_LIVE_KINDS},
	{NVS_LIVE_SITE_ROWS, NVS_LIVE_SITE_COUNT, sizeof(struct nvs_live_site),
	 NVS_LIVE_SITE_COUNT},
	{NVS_LIVE_CHANNELS, NVS_LIVE_CHANNEL_ROWS, sizeof(struct nvs_live_channel),
	 NVS_LIVE_CHANNEL_ROWS},
	{NVS_LIVE_FAULTS, FAULT_ROWS, sizeof(struct nvs_live_fault), FAULT_ROWS},
	{NVS_LIVE_GPU_TIMES, NVS_LIVE_KERNEL_ROWS, sizeof(struct nvs_live_gpu_time),
	 NVS_LIVE_KERNEL_ROWS},
	{NVS_LIVE_GPU_WORK, NVS_LIVE_GPU_ROWS *NVS_LIVE_ENGINES, sizeof(struct nvs_live_gpu_time),
	 NVS_LIVE_GPU_ROWS *NVS_LIVE_ENGINES},
	{NVS_LIVE_STRINGS, STRING_BYTES, 1, 1u << 20},
	{NVS_LIVE_ALLOCS, NVS_LIVE_ALLOC_ROWS, sizeof(struct nvs_live_alloc), 4096},
	{NVS_LIVE_SLOTS, NVS_LIVE_SLOT_ROWS, SLOT_BYTES, 0},
};
#define NLAYOUT (sizeof(layout) / sizeof(*layout))

/* ---- the file's name ---- */

/* A process in another PID namespace may have the same number; whether it runs is unknown. */
static bool of_this_namespace(int fd, uint64_t namespace)
{
	struct nvs_live head;

	return nvs_syscall(SYS_pread64, fd, (long)&head, sizeof(head), 0, 0, 0) != sizeof(head) ||
	       head.magic != NVS_LIVE_MAGIC || head.pid_namespace == namespace;
}

/* Removes an existing file of our name, unless it is in use: then this process maps it, as another
 * copy of this library does. Otherwise its process has ended, for example the previous program in
 * this process. */
static bool clear_away(const char *path, uint64_t namespace)
{
	int fd = nvs_sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	struct stat st;
	bool gone;

	if (fd < 0)
		return fd == -ENOENT;
	gone = !nvs_sys_fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       of_this_namespace(fd, namespace) && !nvs_file_contains("/proc/self/maps", path) &&
	       !nvs_sys_unlink(path);
	nvs_sys_close(fd);
	return gone;
}

static int create_file(struct nvs_outfile *file, uint64_t namespace, char *folder)
{
	int err = nvs_live_find_directory(folder) ? -EEXIST : -EACCES;
	char path[PATH_MAX];

	for (unsigned n = 0; err == -EEXIST && n < NVS_LIVE_NAMES; n++) {
		char number[16] = "";

		if (n)
			snprintf(number, sizeof(number), ".%u", n);
		snprintf(path, sizeof(path), "%s/nvsnoop.%d%s" NVS_LIVE_SUFFIX, folder,
			 nvs_sys_getpid(), number);
		err = nvs_outfile_create(file, path, O_RDWR, false);
		if (err == -EEXIST && clear_away(path, namespace))
			err = nvs_outfile_create(file, path, O_RDWR, false);
	}
	return err;
}

/* ---- the file's contents ---- */

/* GPU times are in the page only where no trace has them all. */
static bool has_gpu_times(void)
{
	return nvs_options()->untraced && nvs_options()->values.timing;
}

static bool is_laid_out(enum nvs_live_table_number which)
{
	return (which != NVS_LIVE_GPU_TIMES && which != NVS_LIVE_GPU_WORK) || has_gpu_times();
}

static uint64_t lay_out(struct nvs_live *head, uint64_t *blocks)
{
	uint64_t at = HEAD_BYTES;

	*blocks = 0;
	for (size_t i = 0; i < NLAYOUT; i++) {
		const struct page_layout *l = &layout[i];
		struct nvs_live_table *t = &head->tables[l->which];

		if (!is_laid_out(l->which))
			continue;
		/* A table that grows starts on its own page. If it has no row at first, rows are
		 * mapped one by one, so each has its own pages. */
		if (l->ready < l->rows)
			at = nvs_page_up(at);
		*t = (struct nvs_live_table){
			.offset = at,
			.rows = l->rows,
			.row_bytes = l->ready ? l->row_bytes : (uint32_t)nvs_page_up(l->row_bytes)};
		at = (at + (uint64_t)t->rows * t->row_bytes + 63) & ~63ull;
		if (l->ready == l->rows)
			*blocks = at;
	}
	return nvs_page_up(at);
}

/* Opens the file by its name each time, so that it is neither in the program's table of descriptors
 * nor in the writer's. */
static int open_again(const struct nvs_live_page *p, struct nvs_outfile *file)
{
	*file = p->file;
	file->fd = -1;
	return nvs_session_is_confined() ? -EPERM : nvs_outfile_fd(file);
}

/* Maps bytes [FROM, TO) of the file, whole pages, at AT; NULL: anywhere. */
static uint8_t *map_part(int fd, uint8_t *at, uint64_t from, uint64_t to)
{
	uint8_t *p = nvs_sys_mmap(at, to - from, PROT_READ | PROT_WRITE,
				  MAP_SHARED | (at ? MAP_FIXED : 0), fd, from);

	if (p)
		nvs_sys_madvise(p, to - from, MADV_DONTFORK);
	return p;
}

/* Reserves addresses for a table whose rows must be contiguous as it grows. */
static uint8_t *reserve_table(const struct nvs_live_table *t)
{
	uint64_t bytes = (uint64_t)t->rows * t->row_bytes;
	uint8_t *p = nvs_sys_mmap(NULL, bytes, PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p)
		nvs_syscall(SYS_munlock, (long)p, bytes, 0, 0, 0, 0);
	return p;
}

/* Allocates and maps blocks up to a total of ROWS rows. */
static int make_rows(struct nvs_live_page *p, int fd, enum nvs_live_table_number which,
		     uint64_t rows)
{
	const struct nvs_live_table *t = &p->head->tables[which];
	uint64_t ready = p->ready[which], from = t->offset + ready * t->row_bytes;
	uint64_t to = t->offset + rows * t->row_bytes;
	int err = nvs_file_allocate(fd, from, to);
	uint8_t *at;

	if (err)
		return err;
	if (which == NVS_LIVE_SLOTS) {
		at = map_part(fd, NULL, from, to);
		p->newest.at = at;
		p->newest.first = ready;
	} else {
		if (!p->grown[which])
			p->grown[which] = reserve_table(t);
		at = p->grown[which]
			     ? map_part(fd, p->grown[which] + ready * t->row_bytes, from, to)
			     : NULL;
	}
	if (!at)
		return -ENOMEM;
	if (!ready)
		p->grown[which] = at;
	__atomic_store_n(&p->ready[which], rows, __ATOMIC_RELEASE);
	return 0;
}

/* Opens the file for this. */
static void add_rows(struct nvs_live_page *p, enum nvs_live_table_number which, uint64_t rows)
{
	struct nvs_outfile file;

	if (open_again(p, &file) >= 0)
		make_rows(p, file.fd, which, rows);
	nvs_outfile_close(&file);
}

static void set_text(char *to, size_t size, const char *from)
{
	for (size_t i = 0; i + 1 < size && from && from[i]; i++)
		to[i] = from[i];
}

static void fill_rank(struct nvs_live *head, const struct nvs_rank *r)
{
	if (!r->launcher)
		return;
	set_text(head->launcher, sizeof(head->launcher), r->launcher);
	set_text(head->rank, sizeof(head->rank), r->rank);
	set_text(head->size, sizeof(head->size), r->size);
	set_text(head->local_rank, sizeof(head->local_rank), r->local);
	set_text(head->job, sizeof(head->job), r->job);
}

static void set_workload(struct nvs_live_page *p)
{
	struct nvs_workload w = nvs_options()->workload;
	char *text = nvs_alloc(PROC_BYTES);

	if (text) {
		nvs_sys_read_file("/proc/self/cgroup", text, PROC_BYTES);
		nvs_workload_parse_cgroup(&w, text);
		nvs_sys_read_file("/proc/self/mountinfo", text, PROC_BYTES);
		nvs_workload_parse_mounts(&w, text);
		nvs_free(text, PROC_BYTES);
	}
	for (int i = 0; i < NVS_LIVE_WORKLOADS; i++)
		if (*w.text[i])
			p->head->workload[i] = nvs_live_string_new(p, w.text[i], strlen(w.text[i]));
}

/* Sets the clock's rate as measured since load; it becomes more precise with time. */
static void set_clock(struct nvs_live_page *p)
{
	struct nvs_clock_sample now = nvs_clock_read();
	struct nvs_live_clock *c = &p->head->clock;
	uint64_t mult = 1ull << 32;

	/* At exit the library's thread may still be doing this. */
	if (atomic_exchange(&p->setting_clock, 1))
		return;
	if (nvs_process->options.use_ticks && now.ticks > p->first_ticks &&
	    now.mono_ns > p->first_ns)
		mult = (uint64_t)(((unsigned __int128)(now.mono_ns - p->first_ns) << 32) /
				  (now.ticks - p->first_ticks));
	atomic_store_explicit(&p->mult, mult, memory_order_relaxed);
	__atomic_store_n(&c->sequence, c->sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&c->ticks, now.ticks, __ATOMIC_RELAXED);
	__atomic_store_n(&c->mono_ns, now.mono_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&c->real_ns, now.real_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&c->mult, mult, __ATOMIC_RELAXED);
	__atomic_store_n(&c->sequence, c->sequence + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&p->head->heard, now.mono_ns, __ATOMIC_RELAXED);
	atomic_store(&p->setting_clock, 0);
}

static void fill_head(struct nvs_live_page *p, const struct nvs_live_identity *facts,
		      uint64_t namespace)
{
	const struct nvs_options *o = nvs_options();
	struct nvs_live *head = p->head;
	char exe[PATH_MAX];

	head->version = NVS_LIVE_VERSION;
	head->head_bytes = sizeof(*head);
	head->pid = (uint32_t)nvs_sys_getpid();
	head->uid = geteuid();
	head->start_time = nvs_live_start_time("self");
	head->pid_namespace = namespace;
	nvs_live_read_boot(head->boot);
	memcpy(head->session, facts->session, sizeof(head->session));
	head->state = NVS_LIVE_RUNNING;
	head->flags = (o->values.api ? NVS_LIVE_API : 0) |
		      (o->values.api && o->values.backtrace ? NVS_LIVE_SITES : 0) |
		      (has_gpu_times() ? NVS_LIVE_TIMED : 0) | (o->untraced ? NVS_LIVE_RECORDS : 0);
	head->slot_apis = sizeof(struct nvs_live_slot);
	head->slot_api_bytes = sizeof(struct nvs_live_api_count);
	head->slot_kernels = head->slot_apis +
			     NVS_LIVE_API_ROWS * sizeof(struct nvs_live_api_count);
	head->slot_kernel_bytes = sizeof(struct nvs_live_kernel_count);
	set_text(head->program, sizeof(head->program), facts->program);
	set_text(head->host, sizeof(head->host), facts->host);
	set_text(head->driver, sizeof(head->driver), facts->driver);
	fill_rank(head, &o->rank);
	p->strings = 1; /* 0 means no string */
	nvs_sys_readlink("/proc/self/exe", exe, sizeof(exe));
	set_workload(p);
	head->exe = *exe ? nvs_live_string_new(p, exe, strlen(exe)) : 0;
	for (size_t i = 0; i < NLAYOUT; i++)
		if (layout[i].which == NVS_LIVE_APIS || layout[i].which == NVS_LIVE_RESULTS ||
		    layout[i].which == NVS_LIVE_KERNELS || layout[i].which == NVS_LIVE_SITE_ROWS)
			head->tables[layout[i].which].used = 1; /* row 0: other */
	head->tables[NVS_LIVE_MEMORY].used = head->tables[NVS_LIVE_MEMORY].rows;
	head->tables[NVS_LIVE_GPU_TIMES].used = head->tables[NVS_LIVE_GPU_TIMES].rows;
	head->tables[NVS_LIVE_GPU_WORK].used = head->tables[NVS_LIVE_GPU_WORK].rows;
	p->first_ns = o->loaded_ns;
	p->first_ticks = o->loaded_ticks;
	set_clock(p);
	head->begun = head->clock.real_ns;
}

static int map_file(struct nvs_live_page *p)
{
	struct nvs_live head = {0};
	uint64_t blocks, bytes = lay_out(&head, &blocks);
	int err = nvs_sys_over_limit(bytes) ? -EFBIG : nvs_sys_ftruncate(p->file.fd, bytes);

	if (!err)
		err = nvs_file_allocate(p->file.fd, 0, blocks);
	if (err)
		return err;
	p->base = map_part(p->file.fd, NULL, 0, blocks);
	if (!p->base)
		return -ENOMEM;
	p->head = (void *)p->base;
	p->head->bytes = bytes;
	memcpy(p->head->tables, head.tables, sizeof(head.tables));
	for (size_t i = 0; i < NLAYOUT && !err; i++)
		if (!is_laid_out(layout[i].which))
			continue;
		else if (layout[i].ready == layout[i].rows)
			p->ready[layout[i].which] = layout[i].rows;
		else if (layout[i].ready)
			err = make_rows(p, p->file.fd, layout[i].which, layout[i].ready);
	/* Slot 0 is shared by all threads without one. */
	return err ? err : make_rows(p, p->file.fd, NVS_LIVE_SLOTS, 1);
}

static uint64_t own_namespace(void)
{
	struct stat st;

	return nvs_sys_stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

int nvs_live_create(const struct nvs_live_identity *facts, char *folder)
{
	uint64_t namespace = own_namespace();
	struct nvs_live_page *p;
	int err;

	*folder = '\0';
	if (!nvs_options()->values.live)
		return -EPERM;
	p = nvs_alloc(sizeof(*p));
	if (!p)
		return -ENOMEM;
	err = create_file(&p->file, namespace, folder);
	if (err) {
		nvs_free(p, sizeof(*p));
		return err;
	}
	err = map_file(p);
	if (err) {
		nvs_outfile_unlink(&p->file);
		nvs_outfile_close(&p->file);
		nvs_free(p, sizeof(*p));
		return err;
	}
	fill_head(p, facts, namespace);
	p->head->tables[NVS_LIVE_SLOTS].used = 1;
	nvs_outfile_close(&p->file);
	nvs_live_own = p;
	__atomic_store_n((struct nvs_live_page **)nvs_slot(NVS_SLOT_LIVE), p, __ATOMIC_RELEASE);
	__atomic_store_n(&p->head->magic, NVS_LIVE_MAGIC, __ATOMIC_RELEASE);
	nvs_live_clear_stale();
	return 0;
}

void nvs_live_set_trace(const char *path)
{
	struct nvs_live_page *p = nvs_live_page();

	if (!p || !*path)
		return;
	NVS_LOCK_SCOPE();
	__atomic_store_n(&p->head->trace, nvs_live_string_new(p, path, strlen(path)),
			 __ATOMIC_RELEASE);
	__atomic_fetch_or(&p->head->flags, NVS_LIVE_TRACED, __ATOMIC_RELEASE);
}

void nvs_live_add_slots(uint32_t number)
{
	struct nvs_live_page *p = nvs_live_page();

	if (p && number <= p->head->tables[NVS_LIVE_SLOTS].rows &&
	    number > p->ready[NVS_LIVE_SLOTS])
		add_rows(p, NVS_LIVE_SLOTS, number);
}

static bool is_short(const struct nvs_live_page *p, enum nvs_live_table_number which)
{
	const struct nvs_live_table *t = &p->head->tables[which];
	uint64_t ready = p->ready[which];

	return __atomic_load_n(&t->used, __ATOMIC_RELAXED) >= ready / 2 && ready < t->rows;
}

/* Allocates blocks in advance. */
static void grow_table(struct nvs_live_page *p, enum nvs_live_table_number which)
{
	const struct nvs_live_table *t = &p->head->tables[which];
	uint64_t more = p->ready[which] * 2;

	if (is_short(p, which))
		add_rows(p, which, more < t->rows ? more : t->rows);
}

bool nvs_live_is_short(void)
{
	const struct nvs_live_page *p = nvs_live_page();

	return p && (is_short(p, NVS_LIVE_STRINGS) || is_short(p, NVS_LIVE_ALLOCS));
}

void nvs_live_grow(void)
{
	struct nvs_live_page *p = nvs_live_page();

	if (!p)
		return;
	grow_table(p, NVS_LIVE_STRINGS);
	grow_table(p, NVS_LIVE_ALLOCS);
}

void nvs_live_heartbeat(void)
{
	struct nvs_live_page *p = nvs_live_page();

	if (!p)
		return;
	nvs_live_scan_slots(p);
	set_clock(p);
	__atomic_fetch_add(&p->head->heartbeat, 1, __ATOMIC_RELEASE);
}

void nvs_live_set_driver(const char *version)
{
	struct nvs_live_page *p = nvs_live_page();

	if (p && !p->head->driver[0])
		set_text(p->head->driver, sizeof(p->head->driver), version);
}

void nvs_live_set_executing(bool on)
{
	struct nvs_live_page *p = nvs_state_is_borrowed() ? NULL : nvs_live_page();
	uint32_t from = on ? NVS_LIVE_RUNNING : NVS_LIVE_EXECUTING;

	if (p)
		__atomic_compare_exchange_n(&p->head->state, &from,
					    on ? NVS_LIVE_EXECUTING : NVS_LIVE_RUNNING, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void nvs_live_close(void)
{
	struct nvs_live_page *p = nvs_live_page();

	if (!p)
		return;
	nvs_live_scan_slots(p);
	set_clock(p);
	__atomic_store_n(&p->head->state, NVS_LIVE_ENDED, __ATOMIC_RELEASE);
	if (!nvs_session_is_confined())
		nvs_outfile_unlink(&p->file);
}
