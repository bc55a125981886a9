/* SPDX-License-Identifier: MIT */
/* LINK: live decode */
/* Reading live pages: sums, differences between two readings, exited processes, which pages are
 * trusted, and inconsistent pages. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include "live/read/page_set.h"
#include "tests/live/page.h"
#include "tests/unit/expect.h"

static char folder[] = "/tmp/nvsnoop-test.XXXXXX";
static struct live_page page;

static const struct nvs_page *only(struct nvs_pages *pages)
{
	EXPECT_EQ(nvs_pages_update(pages), 0);
	EXPECT_EQ(nvs_pages_count(pages), 1);
	return nvs_pages_count(pages) ? nvs_pages_get(pages, 0) : NULL;
}

static const char *path_of(uint32_t pid, const char *middle)
{
	static char paths[2][256]; /* two may stand in one call */
	static int at;
	char *path = paths[at++ % 2];

	snprintf(path, sizeof(paths[0]), "%s/nvsnoop.%u%s.live", folder, pid, middle);
	return path;
}

static const struct nvs_page_api *api(const struct nvs_page *p, const char *name)
{
	for (uint32_t i = 0; i < p->napis; i++)
		if (!strcmp(p->apis[i].name, name))
			return p->apis + i;
	return p->apis;
}

static struct nvs_pages *open_pages(void)
{
	struct nvs_pages *pages;

	EXPECT_EQ(nvs_pages_open(&pages, NVS_PAGES_ALLOCS), 0);
	EXPECT_EQ(nvs_pages_restrict(pages, folder), 0);
	return pages;
}

static void check_rows(const struct nvs_page *p)
{
	EXPECT_EQ(p->nresults, 2);
	EXPECT_EQ(p->results[1].result, 2);
	EXPECT_EQ(p->results[1].count.total, 1);
	EXPECT_EQ(p->failed.total, 1);
	EXPECT_EQ(api(p, "cuMemAlloc_v2")->failed.total, 1);
	EXPECT_EQ(p->nkernels, 3);
	EXPECT_STR(p->kernels[1].name, "_Z4gemmPKfS0_Pfi");
	EXPECT_EQ(p->kernels[1].direct.total, 610);
	EXPECT_EQ(p->kernels[2].graph.total, 200);
	EXPECT_EQ(p->nmemory, 2);
	EXPECT_EQ(p->device_live, 24ull << 30);
	EXPECT_EQ(p->host_live, 64ull << 20);
	EXPECT_EQ(p->nallocs, 2);
	EXPECT_EQ(p->allocs[0].bytes, 24ull << 30);
	EXPECT_EQ(p->nsites, 2);
	EXPECT_STR(p->sites[1].name, "libtrain.so+0x1234");
	EXPECT_EQ(p->nchannels, 1);
	EXPECT_EQ(p->channels[0].pending, 7);
	EXPECT_EQ(p->pending, 7);
}

static void test_figures(void)
{
	struct nvs_pages *pages = open_pages();
	const struct nvs_page *p;

	live_page_example(&page, (uint32_t)getpid(), 10);
	EXPECT_EQ(live_page_write(&page, folder), 0);
	p = only(pages);
	if (!p)
		return;
	EXPECT(p->fresh && !p->gone);
	EXPECT_EQ(p->uid, geteuid());
	EXPECT_STR(p->program, "train");
	EXPECT_STR(p->exe, "/usr/bin/train");
	EXPECT_STR(p->rank, "3");
	EXPECT_EQ(p->launches.total, 1010 + 200);
	EXPECT_EQ(p->launches.more, 0);
	EXPECT_EQ(p->submissions.total, 1020 + 100 + 2);
	EXPECT_EQ(p->bytes.total, 10 * (102 * 400 + 1000));
	EXPECT_EQ(p->gaps[NVS_GAP_DROPPED].total, 2);
	EXPECT_EQ(api(p, "cuLaunchKernel")->calls.total, 1010);
	EXPECT_EQ(api(p, "cuLaunchKernel")->ns.total, 1010 * 2000);
	EXPECT_EQ(p->calls.total, 1010 + 10 + 100 + 4);
	EXPECT_EQ(p->copied.total, 100ull << 22);
	EXPECT_EQ(p->copy[NVS_LIVE_H2D][NVS_LIVE_ASYNC].calls.total, 100);
	check_rows(p);
	EXPECT_EQ(p->nthreads, 2);
	EXPECT_EQ(p->threads[0].ncalls, 1);
	EXPECT_STR(p->apis[p->threads[0].calls[0].api].name, "cuStreamSynchronize");
	EXPECT_EQ(p->threads[0].calls[0].begin_ns, page.head.clock.mono_ns - 250000000);
	EXPECT_STR(p->threads[0].ranges[0].name, "step");
	nvs_pages_close(pages);
}

/* What came between two looks; a page that goes back is not believed. */
static void test_between(void)
{
	struct nvs_pages *pages = open_pages();
	const struct nvs_page *p;

	live_page_example(&page, (uint32_t)getpid(), 10);
	live_page_write(&page, folder);
	only(pages);
	live_page_example(&page, (uint32_t)getpid(), 15);
	live_page_write(&page, folder);
	p = only(pages);
	EXPECT(p && !p->fresh && p->span_ns);
	EXPECT_EQ(p->launches.more, 5 * 121);
	EXPECT_EQ(p->kernels[1].direct.more, 5 * 61);
	EXPECT_EQ(api(p, "cuLaunchKernel")->calls.more, 5 * 101);
	EXPECT_EQ(p->channels[0].submitted.more, 5 * 102);
	EXPECT_EQ(p->failed.more, 0);
	live_page_example(&page, (uint32_t)getpid(), 3);
	live_page_write(&page, folder);
	p = only(pages);
	EXPECT_EQ(p->launches.total, 15 * 121);
	EXPECT_EQ(p->launches.more, 0);
	EXPECT_EQ(p->submissions.total, 112 * 15 + 2);
	EXPECT_EQ(api(p, "cuLaunchKernel")->calls.total, 101 * 15);
	nvs_pages_close(pages);
}

/* Its last totals are shown once, and what it left is cleared away. */
static void test_killed(void)
{
	struct nvs_pages *pages = open_pages();
	const struct nvs_page *p;
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	unlink(path_of((uint32_t)getpid(), ""));
	live_page_example(&page, (uint32_t)pid, 10);
	live_page_write(&page, folder);
	p = only(pages);
	EXPECT(p && !p->gone);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	p = only(pages);
	EXPECT(p && p->gone);
	EXPECT_EQ(p ? p->launches.total : 0, 1210);
	EXPECT_EQ(nvs_pages_update(pages), 0);
	EXPECT_EQ(nvs_pages_count(pages), 0);
	EXPECT(access(path_of((uint32_t)pid, ""), F_OK));
	/* One that was dead before anybody looked is not shown at all. */
	live_page_write(&page, folder);
	EXPECT_EQ(nvs_pages_update(pages), 0);
	EXPECT_EQ(nvs_pages_count(pages), 0);
	EXPECT(access(path_of((uint32_t)pid, ""), F_OK));
	nvs_pages_close(pages);
}

/* In order: the name goes, and who has it open reads on. */
static void test_ended(void)
{
	struct nvs_pages *pages = open_pages();
	const struct nvs_page *p;
	int fd;

	live_page_example(&page, (uint32_t)getpid(), 10);
	live_page_write(&page, folder);
	only(pages);
	fd = open(path_of((uint32_t)getpid(), ""), O_WRONLY);
	live_page_example(&page, (uint32_t)getpid(), 11);
	page.head.state = NVS_LIVE_ENDED;
	EXPECT_EQ(pwrite(fd, &page, sizeof(page), 0), sizeof(page));
	unlink(path_of((uint32_t)getpid(), ""));
	p = only(pages);
	EXPECT(p && p->gone);
	EXPECT_EQ(p ? p->launches.more : 0, 121);
	EXPECT_EQ(nvs_pages_update(pages), 0);
	EXPECT_EQ(nvs_pages_count(pages), 0);
	close(fd);
	nvs_pages_close(pages);
}

/* Another start time, another boot, another page of the same process that is newer. */
static void test_same_pid(void)
{
	struct nvs_pages *pages = open_pages();
	const struct nvs_page *p;

	live_page_example(&page, (uint32_t)getpid(), 10);
	page.head.state = NVS_LIVE_EXECUTING;
	live_page_write(&page, folder);
	EXPECT(!rename(path_of((uint32_t)getpid(), ""), path_of((uint32_t)getpid(), ".1")));
	page.head.state = NVS_LIVE_RUNNING;
	page.head.begun += 1000;
	live_page_write(&page, folder);
	p = only(pages);
	EXPECT_EQ(p ? p->begun_ns : 0, page.head.begun);
	unlink(path_of((uint32_t)getpid(), ""));
	unlink(path_of((uint32_t)getpid(), ".1"));
	nvs_pages_close(pages);
	/* The program before another one is there for as long as it is heard. */
	pages = open_pages();
	page.head.state = NVS_LIVE_EXECUTING;
	live_page_write(&page, folder);
	only(pages);
	page.head.heard -= 3000000000ull;
	live_page_write(&page, folder);
	p = only(pages);
	EXPECT(p && p->gone);
	unlink(path_of((uint32_t)getpid(), ""));
	nvs_pages_close(pages);

	pages = open_pages();
	live_head(&page, (uint32_t)getpid());
	page.head.state = NVS_LIVE_RUNNING;
	page.head.start_time++;
	live_page_write(&page, folder);
	EXPECT_EQ(nvs_pages_update(pages), 0);
	EXPECT_EQ(nvs_pages_count(pages), 0);
	live_head(&page, (uint32_t)getpid());
	page.head.boot[3] ^= 1;
	live_page_write(&page, folder);
	EXPECT_EQ(nvs_pages_update(pages), 0);
	EXPECT_EQ(nvs_pages_count(pages), 0);
	/* In another name space of pids its word counts while it is heard. */
	live_head(&page, (uint32_t)getpid());
	page.head.pid_namespace++;
	page.head.start_time++;
	live_page_write(&page, folder);
	only(pages);
	page.head.heard -= 60000000000ull;
	live_page_write(&page, folder);
	p = only(pages);
	EXPECT(p && p->gone);
	unlink(path_of((uint32_t)getpid(), ""));
	nvs_pages_close(pages);
}

/* Refused, with the reason; nothing is shown of it. */
static void refused(const char *why)
{
	struct nvs_pages *pages = open_pages();
	const char *said = NULL;

	EXPECT_EQ(nvs_pages_update(pages), 0);
	EXPECT_EQ(nvs_pages_count(pages), 0);
	EXPECT_EQ(nvs_pages_refused(pages, &said), 1);
	EXPECT(said && strstr(said, why));
	if (said && !strstr(said, why))
		printf("said \"%s\", not \"%s\"\n", said, why);
	nvs_pages_close(pages);
	unlink(path_of((uint32_t)getpid(), ""));
}

static void test_strangers(void)
{
	const char *path = path_of((uint32_t)getpid(), "");
	char other[256];

	live_page_example(&page, (uint32_t)getpid(), 10);
	live_page_write(&page, folder);
	EXPECT(!chmod(path, 0644));
	refused("0600");
	snprintf(other, sizeof(other), "%s/elsewhere", folder);
	live_page_write(&page, folder);
	EXPECT(!rename(path_of((uint32_t)getpid(), ""), other));
	EXPECT(!symlink(other, path_of((uint32_t)getpid(), "")));
	refused("cannot be opened");
	EXPECT(!mkfifo(path_of((uint32_t)getpid(), ""), 0600));
	refused("regular file");
	page.head.pid++;
	unlink(other);
	live_page_write(&page, folder);
	EXPECT(!rename(path_of(page.head.pid, ""), path_of((uint32_t)getpid(), "")));
	refused("differs from its name");
	live_page_example(&page, (uint32_t)getpid(), 10);
	live_page_write(&page, folder);
	EXPECT(!truncate(path_of((uint32_t)getpid(), ""), 100));
	refused("too short");
	live_page_write(&page, folder);
	EXPECT(!truncate(path_of((uint32_t)getpid(), ""), sizeof(page) - LIVE_STRINGS));
	refused("outside");
	/* A folder that others may write into is not looked into. */
	live_page_write(&page, folder);
	EXPECT(!chmod(folder, 0777));
	{
		struct nvs_pages *pages = open_pages();

		EXPECT_EQ(nvs_pages_update(pages), 0);
		EXPECT_EQ(nvs_pages_count(pages), 0);
		nvs_pages_close(pages);
	}
	EXPECT(!chmod(folder, 0700));
	unlink(path_of((uint32_t)getpid(), ""));
}

static void test_lies(void)
{
	static const enum nvs_live_table_number tables[] = {
		NVS_LIVE_SLOTS,	  NVS_LIVE_STRINGS, NVS_LIVE_APIS,   NVS_LIVE_RESULTS,
		NVS_LIVE_KERNELS, NVS_LIVE_GPUS,    NVS_LIVE_MEMORY, NVS_LIVE_SITE_ROWS,
		NVS_LIVE_ALLOCS,  NVS_LIVE_CHANNELS};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		live_page_example(&page, (uint32_t)getpid(), 10);
		page.head.tables[tables[i]].offset = sizeof(page) - 8;
		live_page_write(&page, folder);
		refused("");
		live_page_example(&page, (uint32_t)getpid(), 10);
		page.head.tables[tables[i]].rows = page.head.tables[tables[i]].used = UINT32_MAX;
		live_page_write(&page, folder);
		refused("");
		live_page_example(&page, (uint32_t)getpid(), 10);
		page.head.tables[tables[i]].row_bytes = i == 1 ? 2 : 3;
		live_page_write(&page, folder);
		refused("");
	}
	live_page_example(&page, (uint32_t)getpid(), 10);
	page.head.slot_apis = UINT64_MAX - 8;
	live_page_write(&page, folder);
	refused("short");
	live_page_example(&page, (uint32_t)getpid(), 10);
	page.head.version++;
	live_page_write(&page, folder);
	refused("version");
}

/* Faults are kept by their numbers: a page whose numbers change with each look is refused at last.
 */
static void test_faults_without_end(void)
{
	struct nvs_pages *pages = open_pages();
	uint32_t most = 0, looks = 0;

	live_page_example(&page, (uint32_t)getpid(), 10);
	page.head.tables[NVS_LIVE_FAULTS].used = LIVE_FAULTS;
	do {
		for (uint32_t i = 0; i < LIVE_FAULTS; i++)
			page.faults[i].number = LIVE_FAULTS * looks + i;
		live_page_write(&page, folder);
		EXPECT_EQ(nvs_pages_update(pages), 0);
		if (nvs_pages_count(pages))
			most = nvs_pages_get(pages, 0)->nfaults;
	} while (nvs_pages_count(pages) && ++looks < 1000);
	EXPECT_EQ(most, 1024);
	nvs_pages_close(pages);
	unlink(path_of((uint32_t)getpid(), ""));
}

/* A program that submits faster than it can be looked at: what it submitted since is not pending.
 */
static void test_submitted_since(void)
{
	struct nvs_pages *pages = open_pages();
	const struct nvs_page *p;

	live_page_example(&page, (uint32_t)getpid(), 10);
	page.channels[0].submitted += 20000;
	live_page_write(&page, folder);
	p = only(pages);
	if (p) {
		EXPECT_EQ(p->channels[0].pending, 7);
		EXPECT_EQ(p->pending, 7);
		EXPECT_EQ(p->channels[0].submitted.total, 102 * 10 + 7 + 20000);
	}
	page.channels[0].completed_of = NVS_LIVE_UNKNOWN;
	live_page_write(&page, folder);
	EXPECT_EQ(nvs_pages_update(pages), 0);
	if (nvs_pages_count(pages) == 1)
		EXPECT_EQ(nvs_pages_get(pages, 0)->channels[0].pending, NVS_LIVE_UNKNOWN);
	nvs_pages_close(pages);
	unlink(path_of((uint32_t)getpid(), ""));
}

/* Numbers that name what is not there name nothing; texts without an end have one. */
static void test_wild(void)
{
	struct nvs_pages *pages = open_pages();
	const struct nvs_page *p;

	live_page_example(&page, (uint32_t)getpid(), 10);
	memset(page.head.program, 'x', sizeof(page.head.program));
	memset(page.head.rank, 0xff, sizeof(page.head.rank));
	page.apis[1].name = UINT32_MAX;
	page.kernels[1].name = page.head.tables[NVS_LIVE_STRINGS].used;
	page.slots[1].slot.calls[0].api = 4000000000u;
	page.slots[1].slot.ncalls = UINT32_MAX;
	page.slots[1].slot.nranges = UINT32_MAX;
	page.slots[1].slot.calls[0].begin = UINT64_MAX / 2;
	page.results[1].api = 77;
	page.allocs[0].gpu = 99;
	page.allocs[0].site = 99;
	page.sites[1].nframes = 1000;
	page.channels[0].gpu = 9;
	page.channels[0].completed = page.channels[0].submitted + 1;
	live_page_write(&page, folder);
	p = only(pages);
	if (!p)
		return;
	EXPECT_EQ(strlen(p->program), sizeof(p->program) - 1);
	EXPECT_STR(p->apis[1].name, "");
	EXPECT_STR(p->kernels[1].name, "");
	EXPECT_EQ(p->threads[0].ncalls, NVS_LIVE_CALLS);
	EXPECT_EQ(p->threads[0].calls[0].api, 0);
	EXPECT_EQ(p->threads[0].calls[0].begin_ns, p->mono_ns);
	EXPECT_EQ(p->threads[0].nranges, NVS_LIVE_RANGES);
	EXPECT_EQ(p->results[1].api, 0);
	EXPECT_EQ(p->allocs[0].gpu, 0);
	EXPECT_EQ(p->allocs[0].site, 0);
	EXPECT_EQ(p->sites[1].nframes, NVS_LIVE_FRAMES);
	EXPECT_EQ(p->channels[0].gpu, 0);
	EXPECT_EQ(p->channels[0].pending, NVS_LIVE_UNKNOWN);
	/* It is cut short while it is open. */
	EXPECT(!truncate(path_of((uint32_t)getpid(), ""), 5000));
	EXPECT_EQ(nvs_pages_update(pages), 0);
	EXPECT_EQ(nvs_pages_count(pages), 0);
	nvs_pages_close(pages);
	unlink(path_of((uint32_t)getpid(), ""));
}

/* A process that came and ended between two looks is had by the notice alone. */
static void come_and_go(struct nvs_pages *pages)
{
	const struct nvs_page *p;
	int fd;

	live_page_example(&page, (uint32_t)getpid(), 10);
	page.head.magic = 0;
	live_page_write(&page, folder);
	EXPECT(nvs_pages_open_new(pages));
	EXPECT(nvs_pages_open_new(pages)); /* still not ready */
	live_page_example(&page, (uint32_t)getpid(), 10);
	live_page_write(&page, folder);
	EXPECT(!nvs_pages_open_new(pages)); /* no file came, but this one is looked at again */
	fd = open(path_of((uint32_t)getpid(), ""), O_WRONLY);
	page.head.state = NVS_LIVE_ENDED;
	EXPECT_EQ(pwrite(fd, &page, sizeof(page), 0), sizeof(page));
	unlink(path_of((uint32_t)getpid(), ""));
	close(fd);
	EXPECT(!nvs_pages_open_new(pages));
	p = only(pages);
	EXPECT(p && p->gone && p->launches.total == 1210);
	EXPECT_EQ(nvs_pages_update(pages), 0);
	EXPECT_EQ(nvs_pages_count(pages), 0);
}

static void test_notice(void)
{
	struct nvs_pages *pages = open_pages();
	char away[256];

	EXPECT(nvs_pages_watch(pages) >= 0);
	EXPECT_EQ(nvs_pages_update(pages), 0);
	EXPECT(!nvs_pages_open_new(pages));
	come_and_go(pages);
	/* Another folder of that name, the first one still there; then one instead of it. */
	snprintf(away, sizeof(away), "%s.away", folder);
	EXPECT(!rename(folder, away) && !mkdir(folder, 0700));
	EXPECT_EQ(nvs_pages_update(pages), 0);
	come_and_go(pages);
	EXPECT(!rmdir(away) && !rmdir(folder) && !mkdir(folder, 0700));
	EXPECT(!nvs_pages_open_new(pages));
	EXPECT_EQ(nvs_pages_update(pages), 0);
	come_and_go(pages);
	nvs_pages_close(pages);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	test_figures();
	test_between();
	test_killed();
	test_ended();
	test_same_pid();
	test_strangers();
	test_lies();
	test_faults_without_end();
	test_submitted_since();
	test_wild();
	test_notice();
	rmdir(folder);
	return expect_done();
}
