/* SPDX-License-Identifier: MIT */
/*
 * Makes the traces for tests/cli/report.cases, in the given folder.
 * Their modules are this program, which contains a static "runtime", and the two libraries of
 * tests/golden/fake.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include "tests/unit/mktrace.h"
#include "tests/unit/pbmake.h"

#define CODE() __asm__(".rept 64\n\tnop\n\t.endr")

/* A static libcudart: names in .symtab alone. */
__attribute__((noinline, used)) static void cudaMemcpyAsync(void)
{
	CODE();
}

__attribute__((noinline, used)) static void program_step(void)
{
	CODE();
}

__attribute__((noinline, used)) static void program_run(void)
{
	CODE();
}

/* ---- modules of this process ---- */

struct modules {
	struct mk *m;
	uint32_t n;
	bool wrong_id; /* tell a build-id that the file has not */
};

static const uint8_t *build_id(const struct dl_phdr_info *info, uint32_t *length)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = info->dlpi_phdr + i;
		const uint8_t *at = (const uint8_t *)(info->dlpi_addr + p->p_vaddr),
			      *end = at + p->p_memsz;

		while (p->p_type == PT_NOTE && at + 12 < end) {
			const ElfW(Nhdr) *n = (const void *)at;

			if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4) {
				*length = n->n_descsz;
				return at + 16;
			}
			at += sizeof(*n) + ((n->n_namesz + 3) & ~3u) + ((n->n_descsz + 3) & ~3u);
		}
	}
	*length = 0;
	return NULL;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct modules *all = arg;
	struct nvs_rec_module *rec;
	char self[4096];
	const char *path = info->dlpi_name;
	uint32_t length;
	const uint8_t *id = build_id(info, &length);
	ssize_t n;

	if (!*path) {
		n = readlink("/proc/self/exe", self, sizeof(self) - 1);
		MK_NEED(n > 0);
		self[n] = 0;
		path = self;
	} else if (!strstr(path, "libcuda")) {
		return 0;
	}
	rec = mk_rec(all->m, NVS_REC_MODULE, sizeof(*rec) + length + strlen(path));
	rec->module = all->n++;
	rec->build_id_length = (uint16_t)length;
	rec->path_length = (uint16_t)strlen(path);
	rec->bias = info->dlpi_addr;
	rec->start = UINT64_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = info->dlpi_phdr + i;

		if (p->p_type != PT_LOAD)
			continue;
		if (info->dlpi_addr + p->p_vaddr < rec->start)
			rec->start = info->dlpi_addr + p->p_vaddr;
		rec->end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	memcpy(rec->tail, id, length);
	if (all->wrong_id && strstr(path, "libcuda.so"))
		rec->tail[3] ^= 1;
	memcpy(rec->tail + length, path, strlen(path));
	return 0;
}

/* The library that recorded it, of a build that is here no more: a call's way leads through it. */
#define OWN 0x10000000ull
static void add_own(struct modules *all)
{
	static const char own[] = "/usr/lib/libnvsnoop.so";
	uint32_t length = sizeof(own) - 1;
	struct nvs_rec_module *rec = mk_rec(all->m, NVS_REC_MODULE, sizeof(*rec) + 20 + length);

	rec->module = all->n++;
	rec->build_id_length = 20;
	rec->path_length = (uint16_t)length;
	rec->bias = rec->start = OWN;
	rec->end = OWN + 0x1000;
	memset(rec->tail, 0xab, 20);
	memcpy(rec->tail + 20, own, length);
}

static uint64_t address(void *library, const char *name)
{
	void *p = dlsym(library, name);

	MK_NEED(p);
	return (uint64_t)p;
}

/* ---- the traces ---- */

static void *driver, *runtime;
static char path[4096];

static const char *in(const char *folder, const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* 0: runtime over driver; 1: static runtime over driver; 2: driver; 3: no public entry point */
static void stacks(struct mk *m)
{
	void *(*internal)(void) = (void *(*)(void))dlsym(driver, "cuFakeInternal");
	uint64_t store = (uint64_t)internal() + 2,
		 launch = address(driver, "cuLaunchKernel") + 0x35;
	uint64_t copy = address(driver, "cuMemcpyHtoDAsync_v2") + 0x20;
	uint64_t step = (uint64_t)program_step + 0x11, run = (uint64_t)program_run + 7;
	uint64_t all[4][7] = {
		{store, store + 5, launch, OWN + 0x20, address(runtime, "cudaLaunchKernel") + 9,
		 step, run},
		{store, store + 5, copy, OWN + 0x30, (uint64_t)cudaMemcpyAsync + 0x40, step, run},
		{store, copy, OWN + 0x30, run},
		{store, store + 9, 0x1234},
	};
	static const uint32_t n[] = {7, 7, 4, 3};

	for (uint32_t i = 0; i < 4; i++)
		mk_stack(m, i, n[i], all[i]);
}

static void begin(struct mk *m, const char *folder, const char *name, bool wrong_id)
{
	struct modules modules = {.m = m, .wrong_id = wrong_id};
	struct nvs_rec_gpu *gpu;

	mk_open(m, in(folder, name));
	mk_attr(m, NVS_ATTR_COMMAND, "./app\0two words", 16);
	mk_attr(m, NVS_ATTR_EXE, "/home/user/app", 14);
	mk_attr(m, NVS_ATTR_HOST, "box\033[2J", 7);
	mk_attr(m, NVS_ATTR_KERNEL, "6.1", 3);
	mk_attr(m, NVS_ATTR_DRIVER, "580.159.04", 10);
	gpu = mk_rec(m, NVS_REC_GPU, sizeof(*gpu));
	snprintf(gpu->name, sizeof(gpu->name), "NVIDIA H200");
	m->time = 2000;
	add_own(&modules);
	m->time = 2000;
	dl_iterate_phdr(add_module, &modules);
	mk_thread(m, 0, 100, "app");
	mk_thread(m, 1, 101, "worker, \"1\"");
	mk_channel(m, 0);
	mk_channel(m, 1)->object_class = 0xc56f;
}

static void submit(struct mk *m, uint32_t thread, uint32_t channel, uint32_t stack, uint32_t n)
{
	/* NOP headers but for one method with N - 2 words. */
	struct nvs_rec_submission *s = mk_submission(m, thread, channel, stack, 1, &n, 0);
	uint32_t *words = (uint32_t *)(s->entries + 1);

	memset(words, 0, n * 4);
	words[0] = 1u << 29 | (n - 2) << 16 | 1 << 13 | 0x100 >> 2;
	for (uint32_t i = 1; i < n - 1; i++)
		words[i] = i;
}

static void body(struct mk *m)
{
	for (uint32_t i = 0; i < 6; i++)
		submit(m, i & 1, 0, 0, 12);
	mk_next_frame(m);
	submit(m, 0, 1, 1, 6);
	submit(m, 0, 1, 2, 5);
	submit(m, 1, 1, 2, 8);
	submit(m, 0, 1, 3, 4);
	/* Stacks may come behind their first use. */
	stacks(m);
	submit(m, 0, 1, NVS_NONE, 3);
}

static void finish(struct mk *m)
{
	mk_channel_gone(m, 0);
	mk_channel_gone(m, 1);
	mk_finish(m);
}

static void whole(const char *folder, const char *name, bool wrong_id)
{
	struct mk m;

	begin(&m, folder, name, wrong_id);
	body(&m);
	finish(&m);
}

static void gaps(const char *folder)
{
	struct nvs_rec_remark *remark;
	struct nvs_rec_orphan *orphan;
	struct nvs_rec_gap *gap;
	struct mk m;

	begin(&m, folder, "gaps.zst", false);
	body(&m);
	gap = mk_rec(&m, NVS_REC_GAP, sizeof(*gap));
	gap->channel = 1;
	gap->sequence = 2;
	gap->reason = NVS_GAP_UNMAPPED;
	gap->bytes = m.totals.lost_bytes = 64;
	gap->address = 0x7f0000000000;
	for (int i = 0; i < 2; i++) {
		orphan = mk_rec(&m, NVS_REC_ORPHAN, sizeof(*orphan));
		orphan->token = 0xbad;
		orphan->doorbell = 3;
	}
	remark = mk_rec(&m, NVS_REC_REMARK, sizeof(*remark));
	remark->kind = NVS_REMARK_GPU_DOORBELL;
	m.totals.gaps = 1;
	m.totals.orphans = 2;
	finish(&m);
}

/*
 * A copy channel as a driver uses it for managed memory: each submission releases the channel's own
 * slot, and some an event's behind it, always with 0, which the library then takes for the
 * channel's. LOST: this one is not there.
 */
static void events(const char *folder, const char *name, uint32_t lost)
{
	const uint64_t slot = 0x20460ff30, event = 0x20480ff70;
	static struct pb pb;
	uint64_t told = 0;
	struct mk m;

	begin(&m, folder, name, false);
	for (uint32_t i = 0; i < 40; i++) {
		bool managed = i > 4 && i % 8 < 6;
		struct nvs_rec_submission *s;

		pb.n = 0;
		if (!i)
			pb_inc(&pb, 4, 0, 1, 0xc8b5u);
		else if (managed)
			pb_host_sem(&pb, 0x204a03ff8, 0x43 + i, 3);
		else
			pb_copy(&pb, 0x7f1111e02000, 0x7f111a800000, 4096, 0x182);
		pb_copy_release(&pb, slot, i + 1);
		if (managed)
			pb_copy_release(&pb, event, 0);
		if (i == lost) {
			m.totals.submissions++;
			m.channel[1].sequence++;
			m.channel[1].put++;
			continue;
		}
		s = mk_submission(&m, 0, 1, 2, 1, &pb.n, 0);
		memcpy(s->entries + 1, pb.words, pb.n * 4ull);
		s->progress_address = told;
		told = managed ? event : slot;
	}
	stacks(&m);
	finish(&m);
}

static void crash(const char *folder)
{
	struct mk m, ring = {0};
	struct mk_spool s;

	begin(&m, folder, "crash.zst", false);
	body(&m);
	mk_frame_end(&m);
	mk_close(&m);
	memcpy(ring.channel, m.channel, sizeof(ring.channel));
	ring.time = m.time;
	for (uint32_t i = 0; i < 3; i++)
		submit(&ring, 0, 0, 0, 12);
	mk_spool_open(&s, in(folder, "crash.zst.spool"), m.session, 1);
	mk_spool_buffer(&s, 0, 0, 0, ring.len / 3 * 2, ring.buf, ring.len);
	close(s.fd);
	mk_close(&ring);
}

static void newer(const char *folder)
{
	struct nvs_rec_header *h;
	struct mk m;

	mk_open(&m, in(folder, "newer.zst"));
	h = (struct nvs_rec_header *)(m.buf + sizeof(struct nvs_rec_frame));
	h->version = 7;
	h->min_version = 6;
	mk_frame_end(&m);
	mk_close(&m);
}

static void *library(const char *program, const char *name)
{
	char *slash = strrchr(program, '/');
	void *handle;

	snprintf(path, sizeof(path), "%.*s/fake/%s", (int)(slash - program), program, name);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		fprintf(stderr, "%s\n", dlerror());
	MK_NEED(handle);
	return handle;
}

int main(int argc, char **argv)
{
	static char self[4096];

	if (argc != 2 || !realpath("/proc/self/exe", self)) {
		fprintf(stderr, "usage: mkcases FOLDER\n");
		return 2;
	}
	driver = library(self, "libcuda.so.1");
	runtime = library(self, "libcudart.so.13");
	whole(argv[1], "whole.zst", false);
	whole(argv[1], "other-build.zst", true);
	gaps(argv[1]);
	events(argv[1], "events.zst", NVS_NONE);
	events(argv[1], "lost.zst", 20);
	crash(argv[1]);
	newer(argv[1]);
	return 0;
}
