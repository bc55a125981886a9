/* SPDX-License-Identifier: MIT */
/*
 * live WHAT: looks at its own live page while it works, and holds it against what it has done.
 *
 *   counts ROUNDS   4 threads at full speed: what the page says is never less than what had been
 *                   done before it was read, never more than what had been begun after, and at rest
 *                   exactly that; no figure goes back
 *   threads N       the same with threads that come and go, 8 at a time
 *   kernels N       as many kernels, each launched once, by name
 *   weeks ROUNDS    channels, kernels, threads, memory: prints by how much memory has grown
 *   hold            waits in a call for its end
 *   short           lives for a moment
 *   fork, exec      a child that uses the GPU itself; another program in this process
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "app.h"
#include "nvsnoop/live.h"

enum { THREADS = 4, AT_ONCE = 8 };

/* ---- the page ---- */

static const struct nvs_live *page;

static void find_page(void)
{
	char path[512];
	struct stat st;
	int fd;

	/* By itself, to be compared with. */
	if (!*getenv("NVSNOOP_OUT"))
		return;
	snprintf(path, sizeof(path), "%s/nvsnoop.%d.live", getenv("XDG_RUNTIME_DIR"),
		 (int)getpid());
	fd = open(path, O_RDONLY | O_NOFOLLOW);
	EXPECT(fd >= 0 && !fstat(fd, &st), "no page at %s", path);
	EXPECT((st.st_mode & 07777) == 0600, "mode %o", st.st_mode);
	page = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	EXPECT(page != MAP_FAILED, "no mapping");
	EXPECT(page->magic == NVS_LIVE_MAGIC && page->version == NVS_LIVE_VERSION, "no page");
	EXPECT(page->bytes == (uint64_t)st.st_size && page->pid == (uint32_t)getpid(), "not ours");
	close(fd);
}

static const void *row(enum nvs_live_table_number which, uint32_t n)
{
	const struct nvs_live_table *t = &page->tables[which];

	return (const char *)page + t->offset + (uint64_t)n * t->row_bytes;
}

static uint32_t rows(enum nvs_live_table_number which)
{
	return __atomic_load_n(&page->tables[which].used, __ATOMIC_ACQUIRE);
}

static uint64_t load(const uint64_t *from)
{
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

static const char *string(uint32_t offset)
{
	return (const char *)row(NVS_LIVE_STRINGS, offset);
}

struct figures {
	uint64_t launches, calls, copies, copied, submissions, doorbells, kernels, graph;
};
#define FIGURES (sizeof(struct figures) / sizeof(uint64_t))

/* Calls of cuLaunchKernel, from its histogram. */
static uint64_t launch_calls(const char *slot)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < rows(NVS_LIVE_APIS); i++) {
		const struct nvs_live_api *api = row(NVS_LIVE_APIS, i);
		const struct nvs_live_api_count *c =
			(const void *)(slot + page->slot_apis + i * page->slot_api_bytes);

		if (strcmp(string(api->name), "cuLaunchKernel"))
			continue;
		for (int b = 0; b < NVS_LIVE_BUCKETS; b++)
			sum += load(&c->buckets[b]);
	}
	return sum;
}

static struct figures read_page(void)
{
	struct figures f = {0};

	for (uint32_t i = 0; i < rows(NVS_LIVE_SLOTS); i++) {
		const struct nvs_live_slot *s = row(NVS_LIVE_SLOTS, i);
		const struct nvs_live_copy *c = &s->copies[NVS_LIVE_D2H][NVS_LIVE_SYNC];

		f.launches += load(&s->launches);
		f.calls += launch_calls((const char *)s);
		f.copies += load(&c->calls);
		f.copied += load(&c->bytes);
		f.submissions += load(&s->counts[NVS_LIVE_SUBMISSIONS]) +
				 load(&s->counts[NVS_LIVE_SKIPPED]) +
				 load(&s->counts[NVS_LIVE_LOST_SUBMISSIONS]);
		f.doorbells += load(&s->counts[NVS_LIVE_DOORBELLS]);
		for (uint32_t k = 0; k < rows(NVS_LIVE_KERNELS); k++) {
			const struct nvs_live_kernel_count *n =
				(const void *)((const char *)s + page->slot_kernels +
					       k * page->slot_kernel_bytes);

			f.kernels += load(&n->direct);
			f.graph += load(&n->graph);
		}
	}
	return f;
}

/* ---- work, and who looks on ---- */

static CUcontext context;
static CUfunction add;
static CUdeviceptr words;
static _Atomic uint64_t begun, done, copies_begun, copies_done;
static _Atomic int resting;
static struct figures base; /* before the threads */

/* A launch and, now and then, a copy: each is a submission of its own. */
static void one_round(CUstream s, uint32_t i)
{
	uint32_t v;

	atomic_fetch_add(&begun, 1);
	app_add(add, words, 1, s);
	atomic_fetch_add(&done, 1);
	if (i % 16)
		return;
	atomic_fetch_add(&copies_begun, 1);
	CK(cuMemcpyDtoH_v2(&v, words + 64, 4));
	atomic_fetch_add(&copies_done, 1);
}

static void between(const char *what, uint64_t least, uint64_t n, uint64_t most)
{
	EXPECT(least <= n && n <= most, "%s: %llu, not from %llu to %llu", what,
	       (unsigned long long)n, (unsigned long long)least, (unsigned long long)most);
}

static void *look_on(void *arg)
{
	struct figures last = base, f;
	uint64_t looks = 0;

	(void)arg;
	while (!atomic_load(&resting)) {
		uint64_t least = atomic_load(&done), copied = atomic_load(&copies_done), most;

		f = read_page();
		most = atomic_load(&begun);
		between("launches", base.launches + least, f.launches, base.launches + most);
		between("calls", base.calls + least, f.calls, base.calls + most);
		between("kernels", base.kernels + least, f.kernels, base.kernels + most);
		between("copies", base.copies + copied, f.copies,
			base.copies + atomic_load(&copies_begun));
		between("submissions", base.submissions + least, f.submissions, UINT64_MAX);
		for (size_t i = 0; i < FIGURES; i++)
			EXPECT(((uint64_t *)&f)[i] >= ((uint64_t *)&last)[i],
			       "figure %zu goes back", i);
		last = f;
		looks++;
	}
	return (void *)looks;
}

static void begin(void)
{
	context = app_context(0);
	add = app_kernel("softgpu_add");
	CK(cuMemAlloc_v2(&words, 4096));
	CK(cuMemsetD32_v2(words, 0, 1024));
	CK(cuCtxSynchronize());
	find_page();
	if (page)
		base = read_page();
}

/* All is done: what the page says is what was done, and what the GPU has counted. */
static void at_rest(void)
{
	struct figures f;
	uint64_t n = atomic_load(&done), copies = atomic_load(&copies_done);

	CK(cuCtxSynchronize());
	f = read_page();
	between("launches", base.launches + n, f.launches, base.launches + n);
	between("calls", base.calls + n, f.calls, base.calls + n);
	between("kernels", base.kernels + n, f.kernels, base.kernels + n);
	between("copies", base.copies + copies, f.copies, base.copies + copies);
	between("copied", base.copied + 4 * copies, f.copied, base.copied + 4 * copies);
	EXPECT(app_word(words) == (uint32_t)n, "the GPU counted otherwise");
	printf("%llu launches, %llu copies, %llu submissions, %llu doorbells\n",
	       (unsigned long long)n, (unsigned long long)copies, (unsigned long long)f.submissions,
	       (unsigned long long)f.doorbells);
}

static uint32_t per_thread;

static void *work(void *arg)
{
	CUstream s;

	(void)arg;
	CK(cuCtxSetCurrent(context));
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (uint32_t i = 0; i < per_thread; i++)
		one_round(s, i);
	CK(cuStreamSynchronize(s));
	CK(cuStreamDestroy_v2(s));
	return NULL;
}

static void *work_shortly(void *arg)
{
	CK(cuCtxSetCurrent(context));
	for (uint32_t i = 0; i < 3; i++)
		one_round(NULL, i + 1);
	return arg;
}

static void run_threads(void *(*what)(void *), uint32_t n, uint32_t at_once)
{
	pthread_t t[AT_ONCE], onlooker;
	void *looks;

	EXPECT(!pthread_create(&onlooker, NULL, look_on, NULL), "no thread");
	for (uint32_t i = 0; i < n; i += at_once) {
		uint32_t k = n - i < at_once ? n - i : at_once;

		for (uint32_t j = 0; j < k; j++)
			EXPECT(!pthread_create(&t[j], NULL, what, NULL), "no thread");
		for (uint32_t j = 0; j < k; j++)
			pthread_join(t[j], NULL);
	}
	atomic_store(&resting, 1);
	pthread_join(onlooker, &looks);
	EXPECT(looks, "nobody looked");
	at_rest();
}

/* ---- kernels ---- */

static CUmodule module_of(uint32_t first, uint32_t n)
{
	char *text = malloc(256 + n * 64ull), *p = text;
	CUmodule m;

	p += sprintf(p, ".version 7.0\n.target sm_70\n.address_size 64\n");
	for (uint32_t i = first; i < first + n; i++)
		p += sprintf(p, ".visible .entry kernel_%u()\n{\n\tret;\n}\n", i);
	CK(cuModuleLoadData(&m, text));
	free(text);
	return m;
}

static void launch_each(uint32_t first, uint32_t n)
{
	CUmodule m = module_of(first, n);
	CUfunction f;
	char name[32];

	for (uint32_t i = first; i < first + n; i++) {
		snprintf(name, sizeof(name), "kernel_%u", i);
		CK(cuModuleGetFunction(&f, m, name));
		CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	}
	CK(cuCtxSynchronize());
	CK(cuModuleUnload(m));
}

static void kernels(uint32_t n)
{
	struct figures f;

	for (uint32_t i = 0; i < n; i += 100)
		launch_each(i, n - i < 100 ? n - i : 100);
	f = read_page();
	between("launches", base.launches + n, f.launches, base.launches + n);
	between("kernels", base.kernels + n, f.kernels, base.kernels + n);
	printf("%u rows, %llu without room\n", rows(NVS_LIVE_KERNELS),
	       (unsigned long long)page->failed_rows);
}

/* ---- for weeks ---- */

static long resident(void)
{
	long pages = 0, all;
	FILE *f = fopen("/proc/self/statm", "r");

	EXPECT(f && fscanf(f, "%ld %ld", &all, &pages) == 2, "no statm");
	fclose(f);
	return pages * 4;
}

static void one_week(uint32_t i)
{
	CUstream s[4];
	CUdeviceptr d;
	pthread_t t;

	for (int k = 0; k < 4; k++)
		CK(cuStreamCreate(&s[k], CU_STREAM_NON_BLOCKING));
	launch_each(i % 8 * 20, 20);
	for (int k = 0; k < 50; k++) {
		CK(cuMemAlloc_v2(&d, 100));
		app_add(add, words, 1, s[k % 4]);
		CK(cuMemFree_v2(d));
	}
	EXPECT(!pthread_create(&t, NULL, work_shortly, NULL), "no thread");
	pthread_join(t, NULL);
	CK(cuCtxSynchronize());
	for (int k = 0; k < 4; k++)
		CK(cuStreamDestroy_v2(s[k]));
}

static void weeks(uint32_t rounds)
{
	long before = 0;

	for (uint32_t i = 0; i < rounds; i++) {
		one_week(i);
		if (i == rounds / 4)
			before = resident();
	}
	printf("grown by %ld KiB", resident() - before);
	if (!page) {
		puts("");
		return;
	}
	printf(", %u slots, %u kernels, %u allocations, %u channels, %u bytes of "
	       "strings\n",
	       rows(NVS_LIVE_SLOTS), rows(NVS_LIVE_KERNELS), rows(NVS_LIVE_ALLOCS),
	       rows(NVS_LIVE_CHANNELS), rows(NVS_LIVE_STRINGS));
}

/* ---- processes ---- */

static void in_child(void)
{
	pid_t child = fork();
	int status;

	EXPECT(child >= 0, "no child");
	if (!child) {
		/* The library begins anew, and so does the driver. */
		execl("/proc/self/exe", "live", "short", NULL);
		_exit(1);
	}
	EXPECT(waitpid(child, &status, 0) == child && !status, "the child: %#x", status);
	EXPECT(page->state == NVS_LIVE_RUNNING, "the parent's state is %u", page->state);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	uint32_t n = argc > 2 ? (uint32_t)atoi(argv[2]) : 1000;

	begin();
	per_thread = n;
	if (!strcmp(what, "counts"))
		run_threads(work, THREADS, THREADS);
	else if (!strcmp(what, "threads"))
		run_threads(work_shortly, n, AT_ONCE);
	else if (!strcmp(what, "kernels"))
		kernels(n);
	else if (!strcmp(what, "weeks"))
		weeks(n);
	else if (!strcmp(what, "fork"))
		in_child();
	else if (!strcmp(what, "hold"))
		puts("holding"), fflush(stdout), getchar();
	else if (!strcmp(what, "exec"))
		execl("/proc/self/exe", "live", "short", NULL);
	puts("live ok");
	return 0;
}
