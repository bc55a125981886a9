/* SPDX-License-Identifier: MIT */
/*
 * Processes with hand-made live pages, for readers of pages:
 *
 *	comers churn FOLDER CHILDREN AT_ONCE
 *		CHILDREN processes that start, count up, are seen by the reader, and exit, all
 *		with the same totals
 *	comers names FOLDER NAME...
 *		one that has launched kernel I of these names I + 1 times, and has a row of
 *		everything else that a page can have; until its standard input ends
 *	comers moving FOLDER
 *		one whose busiest kernels change with each line of its standard input
 */
#include <err.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#define LIVE_KERNELS 64
#define LIVE_STRINGS 32768
#include "tests/live/page.h"

enum { STEPS = 400 };

static char path[4096];
static int watch; /* of who reads it */

/* This process' page in FOLDER, as a writer has it: shared. It has its name once it is watched: the
 * folder itself is not, since each process would hear of all the others' readers. */
static struct live_page *begin(const char *folder, const char *program, const char *rank)
{
	static struct live_page made;
	struct live_page *page;
	char nameless[sizeof(path)];
	int fd;

	live_page_init(&made, (uint32_t)getpid());
	made.head.tables[NVS_LIVE_SLOTS].used = LIVE_SLOTS;
	strcpy(made.head.host, "here");
	snprintf(made.head.program, sizeof(made.head.program), "%s", program);
	snprintf(made.head.rank, sizeof(made.head.rank), "%s", rank);
	snprintf(nameless, sizeof(nameless), "%s/comer.%d", folder, getpid());
	snprintf(path, sizeof(path), "%s/nvsnoop.%d.live", folder, getpid());
	fd = open(nameless, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || pwrite(fd, &made, sizeof(made), 0) != sizeof(made))
		err(1, "%s", nameless);
	page = mmap(NULL, sizeof(made), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	watch = inotify_init1(IN_CLOEXEC);
	if (page == MAP_FAILED || inotify_add_watch(watch, nameless, IN_ACCESS) < 0)
		err(1, "mmap, or inotify");
	close(fd);
	if (rename(nameless, path))
		err(1, "%s", path);
	return page;
}

/* The name goes, the totals stay for who has it open. */
static void end(struct live_page *page)
{
	__atomic_store_n(&page->head.state, NVS_LIVE_ENDED, __ATOMIC_RELEASE);
	unlink(path);
}

static void add(uint64_t *to, uint64_t n)
{
	__atomic_store_n(to, *to + n, __ATOMIC_RELAXED);
}

/* Somebody has read something of this process' page. */
static void be_met(void)
{
	struct pollfd p = {.fd = watch, .events = POLLIN};

	if (poll(&p, 1, 60000) != 1)
		errx(1, "nobody looks");
}

static void churn_child(const char *folder)
{
	struct live_page *page = begin(folder, "comer", "");
	uint32_t api = live_api(page, "cuLaunchKernel", "launch");
	uint32_t kernel = live_kernel(page, "_Z4workv");

	for (int i = 0; i < STEPS; i++) {
		struct live_slot *slot = &page->slots[i % 4];

		add(&slot->slot.counts[NVS_LIVE_DOORBELLS], 1);
		add(&slot->slot.counts[NVS_LIVE_SKIPPED], 1);
		add(&slot->slot.counts[NVS_LIVE_SKIPPED_BYTES], 64);
		add(&slot->slot.launches, 1);
		add(&slot->kernels[kernel].direct, 1);
		add(&slot->apis[api].ns, 1500);
		add(&slot->apis[api].buckets[5], 1);
		if (i == STEPS / 2)
			be_met();
	}
	end(page);
	_exit(0);
}

static void churn(const char *folder, int children, int at_once)
{
	int status, running = 0;

	for (int i = 0; i < children; i++) {
		pid_t child;

		while (running >= at_once) {
			if (wait(&status) < 0 || status)
				errx(1, "a process failed");
			running--;
		}
		child = fork();
		if (child < 0)
			err(1, "fork");
		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			churn_child(folder);
		}
		running++;
	}
	while (wait(&status) > 0)
		if (status)
			errx(1, "a process failed");
	printf("%d\n", STEPS);
}

static void until_end(void)
{
	char byte;

	printf("%d\n", getpid());
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
}

/* One of everything. */
static void everything(struct live_page *page)
{
	struct nvs_live_slot *slot = &page->slots[1].slot;
	uint32_t api = live_api(page, "cuMemAlloc_v2", "memory");
	uint32_t sync = live_api(page, "cuCtxSynchronize", "sync");
	struct nvs_live_gpu *gpu = page->gpus + live_row(page, NVS_LIVE_GPUS);

	for (int i = 0; i < 16; i++)
		gpu->uuid[i] = (uint8_t)(i * 17);
	strcpy(gpu->name, "A \"GPU\"\n");
	page->sites[live_row(page, NVS_LIVE_SITE_ROWS)] =
		(struct nvs_live_site){.name = live_string(page, "load\\\"\n\xff"), .api = api};
	for (int i = 0; i < 2; i++)
		live_allocate(page, 0x7f0000000000 + (uint64_t)i * 4096, 1000u << i,
			      NVS_LIVE_DEVICE, 1, 1);
	page->memory[NVS_LIVE_KINDS + NVS_LIVE_DEVICE].peak = 5000;
	page->memory[NVS_LIVE_KINDS + NVS_LIVE_DEVICE].bytes = 6000;
	page->memory[NVS_LIVE_KINDS + NVS_LIVE_DEVICE].freed = 3000;
	page->memory[NVS_LIVE_KINDS + NVS_LIVE_DEVICE].failed_allocs = 4;
	page->results[live_row(page, NVS_LIVE_RESULTS)] = (struct nvs_live_result){api, 2, 4};
	/* One number in two rows, as the library never writes it. */
	page->faults[live_row(page, NVS_LIVE_FAULTS)] = (struct nvs_live_fault){31, 0, 3, 1, {0}};
	page->faults[live_row(page, NVS_LIVE_FAULTS)] = (struct nvs_live_fault){31, 1, 2, 2, {0}};
	page->faults[live_row(page, NVS_LIVE_FAULTS)] =
		(struct nvs_live_fault){UINT32_MAX, 1, 1, 0, {0}};
	live_calls(page, 1, api, 7, 50000);
	live_calls(page, 1, api, 1, 99999650000);
	page->channels[live_row(page, NVS_LIVE_CHANNELS)] =
		(struct nvs_live_channel){.channel = 3,
					  .flags = NVS_LIVE_CHANNEL_ALIVE,
					  .gpu = 1,
					  .entries = 1024,
					  .put = 5,
					  .get = 3,
					  .used = 2,
					  .submitted = 50,
					  .completed = 48,
					  .completed_of = 50};
	/* Freed: nothing of it is shown. */
	page->channels[live_row(page, NVS_LIVE_CHANNELS)] =
		(struct nvs_live_channel){.channel = 2,
					  .gpu = 1,
					  .entries = 1024,
					  .put = 65,
					  .get = 1,
					  .used = 64,
					  .submitted = 65,
					  .completed = 1,
					  .completed_of = 65};
	slot->generation = 1;
	slot->tid = (uint32_t)getpid();
	slot->calls[0] = (struct nvs_live_call){page->head.clock.ticks, 9, sync, 0};
	slot->ncalls = 1;
	slot->counts[NVS_LIVE_DOORBELLS] = 60;
	slot->counts[NVS_LIVE_SUBMISSIONS] = 40;
	slot->counts[NVS_LIVE_SKIPPED] = 6;
	slot->counts[NVS_LIVE_LOST_SUBMISSIONS] = 4;
	slot->counts[NVS_LIVE_BYTES] = 4000;
	slot->gaps[NVS_GAP_DROPPED] = 4;
	slot->copy_sizes[NVS_LIVE_D2H][6] = 2; /* 1 KiB to 4 KiB */
	slot->sets = 1;
	slot->set_bytes = 777;
	slot->stalls[NVS_LIVE_STALL_MODULE] = (struct nvs_live_stalled){3, 1500000000};
	slot->copies[NVS_LIVE_D2H][NVS_LIVE_ASYNC] = (struct nvs_live_copy){2, 8192, 3000};
}

static void names(const char *folder, int n, char **name)
{
	struct live_page *page = begin(folder, "pro\"gram\n\\ \xc3\x28", "7");

	for (int i = 0; i < n; i++)
		page->slots[2].kernels[live_kernel(page, name[i])].direct = (uint64_t)i + 1;
	for (uint32_t i = 1; i <= (uint32_t)n; i++)
		page->kernels[i].function = 0x1000 + i;
	everything(page);
	until_end();
	end(page);
}

static void moving(const char *folder)
{
	struct live_page *page = begin(folder, "moving", "");
	char line[16];

	printf("%d\n", getpid());
	fflush(stdout);
	for (uint32_t round = 0; fgets(line, sizeof(line), stdin); round++) {
		char name[16];
		uint32_t row;

		snprintf(name, sizeof(name), "k%u", round);
		row = live_kernel(page, name);
		for (uint32_t k = 1; k <= row; k++)
			add(&page->slots[k % 3].kernels[k].graph, k == row ? 1000 * round : 1);
		printf("%u\n", round);
		fflush(stdout);
	}
	end(page);
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "churn"))
		churn(argv[2], atoi(argv[3]), atoi(argv[4]));
	else if (argc > 2 && !strcmp(argv[1], "names"))
		names(argv[2], argc - 3, argv + 3);
	else if (argc == 3 && !strcmp(argv[1], "moving"))
		moving(argv[2]);
	else
		errx(2, "comers churn|names|moving FOLDER ...");
	return 0;
}
