/* SPDX-License-Identifier: MIT */
/*
 * live WHAT: reads its own live page while it works, and compares it with what it has done.
 *
 *   counts ROUNDS [hold]
 *                   4 threads at full speed: the page's counts are never less than what was done
 *                   before the reading and never more than what was begun after it, at rest they
 *                   are exact, and no counter decreases. hold: stays until its input ends, for
 *                   other readers of the page
 *   threads N       the same with threads that are created and end, 8 at a time
 *   crowd N         N threads at the same time: those without a slot of their own are counted
 *   kernels N       N kernels, each launched once, by name
 *   weeks ROUNDS    channels, kernels, threads, memory: prints the growth of memory
 *   channels        rows of channels, compared with the software GPU's state
 *   memory          rows of memory, compared with allocations and frees
 *   contexts        rows of memory whose contexts end
 *   jump            leaves a call that frees by a jump
 *   ranges          pushed NVTX ranges, of a live thread and of one that has ended
 *   hold            waits in a call until its input ends
 *   short           exits after a moment
 *   first           the name of the call that created the page and began before it
 *   fork, exec      a child that uses the GPU itself; another program in this process
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "livepage.h"
#include "tests/softgpu/softgpu.h"

enum { THREADS = 4, AT_ONCE = 8 };

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

/* ---- more threads than there are slots ---- */

static pthread_barrier_t all_rang;

static void *ring_beside_all(void *arg)
{
	CK(cuCtxSetCurrent(context));
	for (uint32_t i = 0; i < 3; i++)
		one_round(NULL, i + 1);
	pthread_barrier_wait(&all_rang);
	return arg;
}

static void wait_for_beats(void);

static void crowd(uint32_t n)
{
	pthread_t *t = calloc(n, sizeof(*t));
	struct figures f;

	pthread_barrier_init(&all_rang, NULL, n);
	for (uint32_t i = 0; i < n; i++)
		EXPECT(!pthread_create(&t[i], NULL, ring_beside_all, NULL), "no thread");
	for (uint32_t i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	wait_for_beats();
	f = read_page();
	between("submissions", base.submissions + 3 * n, f.submissions, base.submissions + 3 * n);
	printf("%u threads, %u slots, %llu submissions\n", n, rows(NVS_LIVE_SLOTS),
	       (unsigned long long)f.submissions);
	free(t);
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

/* ---- rows ---- */

/* What our own thread fills in has been filled in since. */
static void wait_for_beats(void)
{
	uint64_t now = load(&page->heartbeat);

	while (load(&page->heartbeat) < now + 3)
		usleep(1000);
}

static const struct nvs_live_channel *channel_of(uint32_t token)
{
	for (uint32_t i = 0; i < rows(NVS_LIVE_CHANNELS); i++) {
		const struct nvs_live_channel *c = row(NVS_LIVE_CHANNELS, i);

		if (c->token == token && (c->flags & NVS_LIVE_CHANNEL_ALIVE))
			return c;
	}
	EXPECT(false, "no row of token %#x", token);
	return NULL;
}

static void channels(void)
{
	struct softgpu_channel *ch[2] = {softgpu_channel_at(5),
					 softgpu_channel_create(false, 64, false)};

	for (int i = 0; i < 2; i++) {
		struct softgpu_channel_info info;
		const struct nvs_live_channel *c;
		uint64_t before;

		softgpu_channel_info(ch[i], &info);
		wait_for_beats();
		c = channel_of(info.token);
		before = load(&c->submitted);
		for (int k = 0; k < 37 + i; k++)
			softgpu_submit_count(ch[i]);
		EXPECT(!softgpu_wait(ch[i], softgpu_payload(ch[i])), "the channel died");
		softgpu_channel_info(ch[i], &info);
		wait_for_beats();
		between("submitted", before + 37 + i, load(&c->submitted), before + 37 + i);
		between("completed", load(&c->submitted), load(&c->completed), load(&c->submitted));
		between("wanted", softgpu_payload(ch[i]), load(&c->wanted), softgpu_payload(ch[i]));
		between("released", softgpu_payload(ch[i]), load(&c->released),
			softgpu_payload(ch[i]));
		between("counted", 37 + i, softgpu_counted(ch[i]), 37 + i);
		EXPECT(c->put == info.put && c->entries == info.entries && !c->used,
		       "put %u of %u, %u of %u entries, %u used", c->put, info.put, c->entries,
		       info.entries, c->used);
	}
	softgpu_channel_destroy(ch[1]);
	wait_for_beats();
	for (uint32_t i = 0, alive = 0; i < rows(NVS_LIVE_CHANNELS); i++) {
		const struct nvs_live_channel *c = row(NVS_LIVE_CHANNELS, i);

		alive += c->flags & NVS_LIVE_CHANNEL_ALIVE;
		EXPECT(alive <= 20, "a channel that is gone is alive");
	}
}

/* Of all GPUs. */
static struct nvs_live_memory memory_of(enum nvs_live_kind kind)
{
	struct nvs_live_memory sum = {0};

	for (uint32_t i = kind; i < rows(NVS_LIVE_MEMORY); i += NVS_LIVE_KINDS) {
		const struct nvs_live_memory *m = row(NVS_LIVE_MEMORY, i);

		for (size_t k = 0; k < sizeof(sum) / 8; k++)
			((uint64_t *)&sum)[k] += load((const uint64_t *)m + k);
	}
	return sum;
}

static void expect_memory(enum nvs_live_kind kind, uint64_t live, uint64_t count, uint64_t peak,
			  uint64_t allocs, uint64_t frees)
{
	struct nvs_live_memory m = memory_of(kind);

	between("live", live, m.live, live);
	between("live_count", count, m.live_count, count);
	between("peak", peak, m.peak, peak);
	between("allocs", allocs, m.allocs, allocs);
	between("frees", frees, m.frees, frees);
}

/* Two mappings beside each other, which are all that holds their memory, go by one call. */
static void unmapped_at_once(void)
{
	CUmemAllocationProp prop = {.type = 1, .location = {1, 0}};
	CUmemGenericAllocationHandle h[2];
	CUdeviceptr at;

	CK(cuMemAddressReserve(&at, 8 << 20, 0, 0, 0));
	for (uint32_t i = 0; i < 2; i++) {
		CK(cuMemCreate(&h[i], 4 << 20, &prop, 0));
		CK(cuMemMap(at + i * (4u << 20), 4 << 20, 0, h[i], 0));
		CK(cuMemRelease(h[i]));
	}
	expect_memory(NVS_LIVE_PHYSICAL, 8 << 20, 2, 8 << 20, 2, 0);
	CK(cuMemUnmap(at, 8 << 20));
	expect_memory(NVS_LIVE_PHYSICAL, 0, 0, 8 << 20, 2, 2);
}

static void expect_device(uint64_t live, uint64_t count, uint64_t with_context)
{
	struct nvs_live_memory m = memory_of(NVS_LIVE_DEVICE);

	between("live", live, m.live, live);
	between("live_count", count, m.live_count, count);
	between("ended", with_context, m.ended, with_context);
}

/* Memory ends with its context, not with another one of the GPU. */
static void contexts_that_end(void)
{
	CUcontext other, primary;
	CUdeviceptr d;

	CK(cuCtxCreate_v2(&other, 0, 0));
	CK(cuMemAlloc_v2(&d, 3000));
	CK(cuMemAlloc_v2(&d, 3000));
	expect_device(4096 + 6000, 3, 0);
	CK(cuCtxDestroy_v2(other));
	expect_device(4096, 1, 2);
	EXPECT(cuCtxDestroy_v2(NULL) != CUDA_SUCCESS, "no context is destroyed");
	CK(cuDevicePrimaryCtxRetain(&primary, 0));
	EXPECT(primary == context, "another primary context");
	CK(cuDevicePrimaryCtxRelease_v2(0));
	expect_device(4096, 1, 2);

	CK(cuCtxCreate_v2(&other, 0, 0));
	CK(cuMemAlloc_v2(&d, 3000));
	CK(cuDevicePrimaryCtxRelease_v2(0));
	expect_device(3000, 1, 3);
	CK(cuDevicePrimaryCtxRetain(&primary, 0));
	CK(cuCtxSetCurrent(primary));
	CK(cuMemAlloc_v2(&d, 5000));
	expect_device(8000, 2, 3);
	CK(cuDevicePrimaryCtxReset_v2(0));
	expect_device(3000, 1, 4);
}

static void memory(void)
{
	enum { N = 100 };
	CUdeviceptr d[N];
	uint64_t sum = 4096; /* words */
	void *host;

	for (uint32_t i = 0; i < N; i++) {
		CK(cuMemAlloc_v2(&d[i], 1000 + i));
		sum += 1000 + i;
	}
	expect_memory(NVS_LIVE_DEVICE, sum, N + 1, sum, N + 1, 0);
	CK(cuMemAllocHost_v2(&host, 5000));
	expect_memory(NVS_LIVE_HOST, 5000, 1, 5000, 1, 0);
	CK(cuMemFreeHost(host));
	expect_memory(NVS_LIVE_HOST, 0, 0, 5000, 1, 1);
	for (uint32_t i = 0; i < N; i++)
		CK(cuMemFree_v2(d[i]));
	expect_memory(NVS_LIVE_DEVICE, 4096, 1, sum, N + 1, N);
	between("freed", sum - 4096, memory_of(NVS_LIVE_DEVICE).freed, sum - 4096);
	unmapped_at_once();
	EXPECT(cuMemFree_v2(d[0]) != CUDA_SUCCESS, "freed twice");
	EXPECT(memory_of(NVS_LIVE_DEVICE).failed_frees == 1, "a free that failed");
}

static sigjmp_buf out;

static void jump_out(int sig)
{
	siglongjmp(out, sig);
}

/* A free that waits for the GPU, and is left by a jump: nobody says that the memory is gone. */
static void jumped_out_of(void)
{
	struct itimerval soon = {.it_value = {.tv_usec = 50000}};
	volatile uint32_t *gate;
	CUdeviceptr d;

	CK(cuMemAllocHost_v2((void **)&gate, 4096));
	CK(cuMemAlloc_v2(&d, 1000));
	*gate = 0;
	CK(cuStreamWaitValue32_v2(NULL, (CUdeviceptr)(uintptr_t)gate, 1, 0));
	signal(SIGALRM, jump_out);
	setitimer(ITIMER_REAL, &soon, NULL);
	if (!sigsetjmp(out, 1)) {
		cuMemFree_v2(d);
		EXPECT(false, "it did not wait");
	}
	/* The next call tells of it. What the driver held it still holds. */
	CK(cuCtxSetCurrent(context));
	expect_memory(NVS_LIVE_DEVICE, 4096 + 1000, 2, 4096 + 1000, 2, 0);
	puts("live ok");
	fflush(stdout);
	_exit(0);
}

static int (*push)(const char *), (*pop)(void);

static const struct nvs_live_slot *slot_of(pid_t tid)
{
	for (uint32_t i = 0; i < rows(NVS_LIVE_SLOTS); i++) {
		const struct nvs_live_slot *s = row(NVS_LIVE_SLOTS, i);

		if (s->tid == (uint32_t)tid && s->generation % 2)
			return s;
	}
	return NULL;
}

static uint32_t left_at; /* the generation of its slot */

static void *leaves_ranges(void *arg)
{
	const struct nvs_live_slot *s;

	CK(cuCtxSetCurrent(context));
	app_add(add, words, 1, NULL);
	push("of a thread");
	s = slot_of(gettid());
	EXPECT(s && s->nranges == 1 && !strcmp(s->ranges[0].name, "of a thread"), "no range");
	left_at = s->generation;
	*(const struct nvs_live_slot **)arg = s;
	return NULL;
}

static void ranges(void)
{
	void *library = dlopen(getenv("NVTX_LIBRARY"), RTLD_NOW);
	const struct nvs_live_slot *s = slot_of(getpid()), *gone;
	char name[16];
	pthread_t t;

	EXPECT(library, "%s", dlerror());
	*(void **)&push = dlsym(library, "nvtxRangePushA");
	*(void **)&pop = dlsym(library, "nvtxRangePop");
	EXPECT(s && !s->nranges, "ranges before the first");
	for (int i = 0; i < NVS_LIVE_RANGES + 2; i++) {
		snprintf(name, sizeof(name), "range %d", i);
		push(name);
	}
	EXPECT(s->nranges == NVS_LIVE_RANGES + 2, "%u ranges", s->nranges);
	for (int i = 0; i < NVS_LIVE_RANGES; i++) {
		snprintf(name, sizeof(name), "range %d", i);
		EXPECT(!strcmp(s->ranges[i].name, name) && s->ranges[i].begin, "%d: %s", i,
		       s->ranges[i].name);
	}
	for (int i = 0; i < NVS_LIVE_RANGES + 2; i++)
		pop();
	EXPECT(!s->nranges, "%u ranges left", s->nranges);
	/* One that ends within its range says nothing of it any more. */
	EXPECT(!pthread_create(&t, NULL, leaves_ranges, &gone), "no thread");
	pthread_join(t, NULL);
	/* The thread says nothing itself when it ends: it is seen. Its slot may have a new owner.
	 */
	for (int i = 0; __atomic_load_n(&gone->generation, __ATOMIC_ACQUIRE) == left_at; i++) {
		EXPECT(i < 100, "its slot is still its own");
		wait_for_beats();
	}
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

/* It is over, and stands where it was shown until the next one does. */
static void first_call(void)
{
	CUdevice d;
	CUcontext c;
	uint32_t found = 0;

	CK(cuInit(0));
	CK(cuDeviceGet(&d, 0));
	CK(cuDevicePrimaryCtxRetain(&c, d));
	find_page();
	for (uint32_t i = 1; i < rows(NVS_LIVE_SLOTS); i++) {
		const struct nvs_live_slot *s = row(NVS_LIVE_SLOTS, i);
		const struct nvs_live_api *api = row(NVS_LIVE_APIS, s->calls[0].api);

		if (s->tid != (uint32_t)getpid())
			continue;
		EXPECT(!strcmp(string(api->name), "cuDevicePrimaryCtxRetain"), "row %u '%s'",
		       s->calls[0].api, string(api->name));
		found++;
	}
	EXPECT(found == 1, "%u slots are this thread's", found);
	puts("live ok");
}

static void until_input_ends(void)
{
	fflush(stdout);
	getchar();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	uint32_t n = argc > 2 ? (uint32_t)atoi(argv[2]) : 1000;

	if (!strcmp(what, "first")) {
		first_call();
		return 0;
	}
	begin();
	per_thread = n;
	if (!strcmp(what, "counts")) {
		run_threads(work, THREADS, THREADS);
		if (argc > 3 && !strcmp(argv[3], "hold"))
			until_input_ends();
	} else if (!strcmp(what, "threads"))
		run_threads(work_shortly, n, AT_ONCE);
	else if (!strcmp(what, "crowd"))
		crowd(n);
	else if (!strcmp(what, "kernels"))
		kernels(n);
	else if (!strcmp(what, "weeks"))
		weeks(n);
	else if (!strcmp(what, "channels"))
		channels();
	else if (!strcmp(what, "memory"))
		memory();
	else if (!strcmp(what, "contexts"))
		contexts_that_end();
	else if (!strcmp(what, "jump"))
		jumped_out_of();
	else if (!strcmp(what, "ranges"))
		ranges();
	else if (!strcmp(what, "fork"))
		in_child();
	else if (!strcmp(what, "hold"))
		puts("holding"), until_input_ends();
	else if (!strcmp(what, "exec"))
		execl("/proc/self/exe", "live", "short", NULL);
	puts("live ok");
	return 0;
}
