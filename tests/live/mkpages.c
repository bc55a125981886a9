/* SPDX-License-Identifier: MIT */
/*
 * Makes live pages of processes that do nothing: mkpages FOLDER N [hostile]. Prints their process
 * ids, one per line, then "ready". A number on standard input sets the rounds that all of them
 * have done; "end I" lets process I exit normally, "kill I" kills it, "hang I S" lets S seconds
 * pass in which nothing happened in process I. Each line is answered by "ok". All processes exit
 * when the input ends.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "tests/live/page.h"

#define MOST 1024

static struct live_page page;
static const char *folder;
static pid_t pids[MOST];
static uint64_t begun[MOST];
static int n, hostile;

/* Names that would do something to a terminal that they reach. */
static void make_hostile(void)
{
	uint32_t kernel = page.head.tables[NVS_LIVE_KERNELS].used - 1;

	strcpy(page.head.program, "\033[2J\033]0;owned\007evil\n\r\tname");
	strcpy(page.head.rank, "\033[31m9");
	strcpy(page.head.host, "\xe2\x80\xaehost\xff");
	strcpy(page.slots[1].slot.name, "a\033cb");
	strcpy(page.slots[1].slot.ranges[0].name, "r\nange\x9b"
						  "5m");
	page.apis[1].name = live_string(&page, "cu\033[H\"\\Launch");
	page.kernels[kernel].name = live_string(&page, "k\033[2Kernel\xc3\xa9\xe6\xbc\xa2");
}

static void write_page(int i, uint64_t rounds, uint64_t quiet_s)
{
	live_page_example(&page, (uint32_t)pids[i], rounds * (uint64_t)(i + 1));
	page.channels[0].submitted_at -= quiet_s * 1000000000;
	page.channels[0].completed_at -= quiet_s * 1000000000;
	page.slots[1].slot.calls[0].begin -= quiet_s * 1000000000;
	page.head.begun = begun[i];
	sprintf(page.head.rank, "%d", i);
	if (hostile)
		make_hostile();
	if (live_page_write(&page, folder))
		exit(1);
}

static void page_name(char *path, size_t size, int i)
{
	snprintf(path, size, "%s/nvsnoop.%d.live", folder, (int)pids[i]);
}

static void end(int i, int in_order)
{
	char path[4096];
	int fd;

	page_name(path, sizeof(path), i);
	fd = open(path, O_RDWR);
	if (in_order && fd >= 0) {
		uint32_t state = NVS_LIVE_ENDED;

		if (pwrite(fd, &state, sizeof(state), offsetof(struct nvs_live, state)) != 4)
			exit(1);
		unlink(path);
	}
	if (fd >= 0)
		close(fd);
	kill(pids[i], SIGKILL);
	waitpid(pids[i], NULL, 0);
}

static void start(int i)
{
	pids[i] = fork();
	if (!pids[i]) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	begun[i] = live_clock(CLOCK_REALTIME);
	write_page(i, 10, 0);
	printf("%d\n", (int)pids[i]);
}

int main(int argc, char **argv)
{
	char line[64], path[4096];
	unsigned long long seconds;
	int hanging;

	folder = argc > 2 ? argv[1] : "";
	n = argc > 2 ? atoi(argv[2]) : 0;
	hostile = argc > 3;
	if (n < 1 || n > MOST)
		return 2;
	for (int i = 0; i < n; i++)
		start(i);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, "end ", 4))
			end(atoi(line + 4), 1);
		else if (!strncmp(line, "kill ", 5))
			end(atoi(line + 5), 0);
		else if (sscanf(line, "hang %d %llu", &hanging, &seconds) == 2)
			write_page(hanging, 10, seconds);
		else
			for (int i = 0; i < n; i++)
				write_page(i, strtoull(line, NULL, 10), 0);
		puts("ok");
		fflush(stdout);
	}
	for (int i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		page_name(path, sizeof(path), i);
		unlink(path);
	}
	return 0;
}
