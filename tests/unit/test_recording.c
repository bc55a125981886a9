/* SPDX-License-Identifier: MIT */
/* A session without a GPU, from start to end, in a process for each case: which files it leaves,
 * what is in them, and that it does not change the program's own. */
/* LINK: preload -lzstd */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "preload/base/preload.h"
#include "preload/rm/rm.h"
#include "tests/unit/recorded.h"

static int passed, failed;
#define CHECK(cond)                                                                     \
	do {                                                                            \
		if (cond) {                                                             \
			passed++;                                                       \
		} else {                                                                \
			failed++;                                                       \
			printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond); \
		}                                                                       \
	} while (0)

/* ---- acting ---- */

static void mark(uint64_t sequence)
{
	struct nvs_rec_submission sub = {
		.rec = {.type = NVS_REC_SUBMISSION, .size = sizeof(sub)},
		.sequence = sequence,
	};

	nvs_record_write(&sub.rec);
}

static void start(void)
{
	nvs_session_start();
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void put_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

static bool file_is(const char *path, const char *text)
{
	size_t size;
	char *data = (char *)slurp(path, &size);
	bool same = data && !strcmp(data, text);

	free(data);
	return same;
}

static void *mark_many(void *arg)
{
	uint64_t first = (uint64_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < 20000; i++)
		mark(first + i);
	return NULL;
}

static void mark_with_threads(void)
{
	pthread_t threads[4];

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, mark_many, (void *)(i * 20000));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* Runs act_NAME in a process and a folder of its own; its stderr is left in the file "stderr". */
static int run(const char *name, const char *options)
{
	char folder[] = "/tmp/nvsnoop-test.XXXXXX";
	int status, fd;
	pid_t pid;

	fflush(stdout);
	if (!mkdtemp(folder) || chdir(folder))
		abort();
	pid = fork();
	if (pid == 0) {
		fd = open("stderr", O_WRONLY | O_CREAT | O_APPEND, 0600);
		dup2(fd, 2);
		close(fd);
		setenv("NVSNOOP_OUT", "trace.zst", 0);
		setenv("NVSNOOP_OPTIONS", options, 1);
		/* The options are read once a process, and this one has read them. */
		execl("/proc/self/exe", "test_recording", name, NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status;
}

static char *said(void)
{
	size_t size;

	return (char *)slurp("stderr", &size);
}

static void clean(void)
{
	char folder[512];
	struct dirent *e;
	DIR *d;

	if (!getcwd(folder, sizeof(folder)) || strncmp(folder, "/tmp/nvsnoop-test.", 18))
		abort();
	d = opendir(".");
	while ((e = readdir(d)))
		unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	if (chdir("/") || rmdir(folder))
		printf("%s: cannot be removed\n", folder);
}

/* ---- cases ---- */

static void act_in_order(void)
{
	struct contents c;
	struct stat st;

	CHECK(!nvs_session_is_active());
	start();
	CHECK(nvs_session_is_active());
	/* The first frame is there before anything else happens. */
	c = read_trace("trace.zst");
	CHECK(c.frames >= 1 && c.header && c.whole);
	CHECK(stat("trace.zst", &st) == 0 && (st.st_mode & 0777) == 0600);
	CHECK(stat("trace.zst.spool", &st) == 0 && (st.st_mode & 0777) == 0600);
	nvs_rm_set_driver("580.159.04");
	mark_with_threads();
	nvs_session_finish();
	nvs_session_finish();
}

static void test_in_order(void)
{
	int status = run("in_order", "");
	struct contents c = read_trace("trace.zst");
	char *text = said();

	CHECK(status == 0);
	CHECK(c.whole && c.header && c.totals && c.end && c.seekable);
	CHECK(c.marks == 80000 && c.mark_sum == 80000ull * 79999 / 2);
	CHECK(c.head.flags & NVS_HDR_CRASH_SAFE && c.head.flags & NVS_HDR_BACKTRACE);
	CHECK(c.head.version == NVS_TRACE_VERSION && c.head.buffer_bytes == 1 << 20);
	CHECK(c.clocks >= 2 && c.modules >= 2 && c.threads >= 5 && c.t.threads >= 5);
	CHECK(strstr(c.exe, "test_recording") && !strcmp(c.driver, "580.159.04"));
	CHECK(c.t.raw_bytes > 80000 * sizeof(struct nvs_rec_submission));
	CHECK(!exists("trace.zst.spool") && !exists("trace.zst.spool.late"));
	/* One line, once. */
	CHECK(strstr(text, "nvsnoop: trace.zst: ") == text &&
	      strstr(text, ", 0 gaps; next: nvsnoop-report trace.zst\n"));
	CHECK(strchr(text, '\n') == text + strlen(text) - 1);
	free(text);
	clean();
}

static pthread_barrier_t together;

/* Whoever comes second waits for the first: nobody makes a channel ahead of the trace. */
static void *start_main(void *arg)
{
	pthread_barrier_wait(&together);
	nvs_session_start();
	CHECK(nvs_session_is_active());
	mark((uint64_t)(uintptr_t)arg);
	return NULL;
}

static void act_at_once(void)
{
	pthread_t threads[8];

	pthread_barrier_init(&together, NULL, 8);
	for (uintptr_t i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, start_main, (void *)(i + 1));
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	nvs_session_finish();
}

static void test_at_once(void)
{
	int status = run("at_once", "quiet");
	struct contents c = read_trace("trace.zst");

	CHECK(status == 0 && c.whole && c.end && c.marks == 8 && c.mark_sum == 36);
	CHECK(!exists("trace.zst.spool"));
	clean();
}

static void act_late(void)
{
	start();
	mark(1);
	nvs_session_finish();
	CHECK(!exists("trace.zst.spool"));
	CHECK(nvs_session_is_active());
	mark(2);
	CHECK(exists("trace.zst.spool") && !exists("trace.zst.spool.late"));
	closefrom(3);
	mark(3);
	closefrom(3);
	mark(4);
}

static void test_late(void)
{
	int status = run("late", "quiet");
	struct contents c = read_trace("trace.zst"), late = {0};
	struct nvs_spool head;
	size_t size;
	uint8_t *spool = slurp("trace.zst.spool", &size);
	char *text = said();

	CHECK(status == 0 && c.whole && c.end && c.marks == 1);
	CHECK(!strcmp(text, ""));
	CHECK(spool && size > 4096);
	memcpy(&head, spool, sizeof(head));
	CHECK(head.magic == NVS_SPOOL_MAGIC && head.kind == NVS_SPOOL_LATE &&
	      head.buffer_offset == 4096);
	CHECK(!memcmp(head.session, c.head.session, 16) && head.pid == c.head.pid);
	CHECK(walk(&late, spool + head.buffer_offset, size - head.buffer_offset));
	CHECK(late.marks == 3 && late.mark_sum == 9 && late.marks_late == 3);
	free(spool);
	free(text);
	clean();
}

/* Another process has the name by now. */
static void act_replaced(void)
{
	start();
	mark(1);
	nvs_session_finish();
	put_file("trace.zst.spool", "another's");
	mark(2);
}

static void test_replaced(void)
{
	int status = run("replaced", "quiet");

	CHECK(status == 0);
	CHECK(file_is("trace.zst.spool", "another's") && !exists("trace.zst.spool.late"));
	clean();
}

static void act_killed(void)
{
	start();
	mark_with_threads();
	mark(80000);
	kill(getpid(), SIGKILL);
}

/* Frames and buffers together hold each record once. */
static void test_killed(void)
{
	int status = run("killed", "buffer=4M");
	struct contents c = read_trace("trace.zst");
	size_t size;
	uint8_t *spool = slurp("trace.zst.spool", &size);
	struct nvs_spool head;
	char *text = said();

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK(c.header && c.whole && !c.end && !strcmp(text, ""));
	memcpy(&head, spool, sizeof(head));
	CHECK(head.magic == NVS_SPOOL_MAGIC && head.kind == NVS_SPOOL_BUFFERS && !head.ended);
	CHECK(head.buffers >= 4 && head.buffer_bytes == 4 << 20 && head.channels == 4096);
	CHECK(!memcmp(head.session, c.head.session, 16));
	for (uint32_t i = 0; i < head.buffers; i++) {
		const uint8_t *at = spool + head.buffer_offset + i * (4096 + head.buffer_bytes);
		struct nvs_spool_buffer buffer;
		uint64_t from, length;
		uint8_t *straight;

		memcpy(&buffer, at, sizeof(buffer));
		CHECK(buffer.buffer == i && buffer.head - buffer.tail <= head.buffer_bytes);
		length = buffer.head - buffer.tail;
		from = buffer.tail % head.buffer_bytes;
		straight = malloc(length + 1);
		for (uint64_t k = 0; k < length; k++)
			straight[k] = at[4096 + (from + k) % head.buffer_bytes];
		CHECK(walk(&c, straight, length));
		free(straight);
	}
	/* A frame that was written, but not yet ticked off, is told apart by its ranges. */
	CHECK(c.marks >= 80001);
	free(spool);
	free(text);
	clean();
}

static void act_short(void)
{
	start();
	mark(1);
	nvs_session_finish();
}

static void act_taken(void)
{
	put_file("trace.zst", "precious");
	act_short();
}

static void test_taken(void)
{
	int status = run("taken", "");
	char *text = said(), name[64];
	struct contents c;
	unsigned pid = 0;

	CHECK(status == 0 && file_is("trace.zst", "precious"));
	CHECK(sscanf(text, "nvsnoop: trace.%u.zst (the requested name was taken): ", &pid) == 1);
	snprintf(name, sizeof(name), "trace.%u.zst", pid);
	c = read_trace(name);
	CHECK(c.whole && c.end && c.head.pid == pid);
	free(text);
	clean();
	run("taken", "overwrite");
	c = read_trace("trace.zst");
	CHECK(c.whole && c.end && c.marks == 1);
	clean();
}

static void act_links(void)
{
	put_file("victim", "precious");
	if (symlink("victim", "trace.zst"))
		abort();
	act_short();
}

static void act_stale_spool(void)
{
	put_file("trace.zst.spool", "precious");
	act_short();
}

static void test_links(void)
{
	static const char *const options[] = {"quiet", "quiet,overwrite"};

	for (int i = 0; i < 2; i++) {
		CHECK(run("links", options[i]) == 0);
		CHECK(file_is("victim", "precious") && file_is("trace.zst", "precious"));
		clean();
	}
	CHECK(run("stale_spool", "quiet") == 0);
	CHECK(file_is("trace.zst.spool", "precious") && !exists("trace.zst"));
	clean();
}

/* A trace that another process is writing is never overwritten. */
static void act_busy(void)
{
	int go[2], back[2];
	char c = 0;
	pid_t pid;

	if (pipe(go) || pipe(back))
		abort();
	pid = fork();
	if (pid == 0) {
		start();
		mark(1);
		if (write(go[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			abort();
		nvs_session_finish();
		_exit(0);
	}
	if (read(go[0], &c, 1) != 1)
		abort();
	act_short();
	if (write(back[1], &c, 1) != 1)
		abort();
	waitpid(pid, NULL, 0);
	CHECK(read_trace("trace.zst").head.pid == (uint32_t)pid);
	CHECK(read_trace("trace.zst").end);
}

static void test_busy(void)
{
	CHECK(run("busy", "overwrite,quiet") == 0);
	clean();
}

/* The program closes what it does not know, and opens files of its own at those numbers. */
/* Low file descriptors, as a program counts on them; high ones, where a few of ours may be. */
static int open_fds(bool low)
{
	int n = 0;

	for (int fd = 0; fd < 20000; fd++)
		n += (fd < 512) == low && fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void act_closed(void)
{
	int before = open_fds(true), top;
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	top = limit.rlim_cur < 16384 ? (int)limit.rlim_cur : 16384;
	start();
	CHECK(open_fds(true) == before);
	CHECK(open_fds(false) <= 2);
	mark_many(0);
	for (int round = 0; round < 20; round++) {
		closefrom(3);
		for (int fd = top - 34; fd < top; fd++) {
			int own = open("own", O_RDWR | O_CREAT, 0600);

			dup2(own, fd);
			close(own);
		}
		mark_many(0);
	}
	nvs_session_finish();
}

static void test_closed(void)
{
	struct contents c;

	CHECK(run("closed", "quiet,buffer=64K") == 0);
	c = read_trace("trace.zst");
	CHECK(c.whole && c.end && c.seekable && c.marks == 21 * 20000);
	CHECK(file_is("own", ""));
	clean();
}

static void act_full(void)
{
	struct rlimit limit = {200000, 200000};

	start();
	setrlimit(RLIMIT_FSIZE, &limit);
	/* Random payloads do not shrink. */
	for (int i = 0; i < 3000; i++) {
		struct {
			struct nvs_rec_submission sub;
			uint32_t noise[300];
		} big = {.sub.rec = {.type = NVS_REC_SUBMISSION, .size = sizeof(big)}};
		static uint32_t x = 1;

		for (int k = 0; k < 300; k++)
			big.noise[k] = x = x * 1664525u + 1013904223u;
		nvs_record_write(&big.sub.rec);
	}
	nvs_session_finish();
}

static void test_full(void)
{
	int status = run("full", "");
	struct contents c = read_trace("trace.zst");
	char *text = said();
	struct stat st;

	CHECK(status == 0);
	CHECK(c.whole && c.header && stat("trace.zst", &st) == 0 && st.st_size <= 200000);
	CHECK(strstr(text, "WRITING FAILED (File too large)"));
	if (c.end)
		CHECK(c.gap_submissions + c.marks == 3000 &&
		      c.t.lost_submissions == c.gap_submissions);
	else
		CHECK(exists("trace.zst.spool"));
	free(text);
	clean();
}

/* A limit on file sizes that leaves no room for the spool sends the program no signal. */
static void act_limited(void)
{
	struct rlimit limit = {100000, 100000};

	setrlimit(RLIMIT_FSIZE, &limit);
	act_short();
	mark(2);
}

/* Nor one that leaves no room for anything. */
static void act_nothing_allowed(void)
{
	struct rlimit limit = {0, 0};

	setrlimit(RLIMIT_FSIZE, &limit);
	act_short();
}

static void test_limited(void)
{
	int status = run("limited", "quiet");
	struct contents c = read_trace("trace.zst");

	CHECK(status == 0 && c.whole && c.end && c.marks == 1);
	CHECK(!(c.head.flags & NVS_HDR_CRASH_SAFE));
	clean();
	CHECK(run("nothing_allowed", "") == 0);
	clean();
}

static void act_forked(void)
{
	int status;
	pid_t pid;

	start();
	mark(1);
	pid = fork();
	if (pid == 0) {
		CHECK(!nvs_session_is_active());
		mark(100);
		nvs_session_finish();
		/* A session of its own, under another name. */
		start();
		CHECK(nvs_session_is_active());
		mark(2);
		nvs_session_finish();
		fflush(stdout);
		_exit(failed ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	CHECK(status == 0);
	mark(3);
	nvs_session_finish();
	{
		char name[64];
		struct contents c;

		snprintf(name, sizeof(name), "trace.%d.zst", (int)pid);
		c = read_trace(name);
		CHECK(c.whole && c.end && c.marks == 1 && c.mark_sum == 2);
	}
}

static void test_forked(void)
{
	struct contents c;

	CHECK(run("forked", "quiet") == 0);
	c = read_trace("trace.zst");
	CHECK(c.whole && c.end && c.marks == 2 && c.mark_sum == 4);
	clean();
}

static void act_unwritable(void)
{
	setenv("NVSNOOP_OUT", "no/such/folder/trace.zst", 1);
	start();
	CHECK(!nvs_session_is_active());
	mark(1);
	nvs_session_finish();
	nvs_session_finish();
}

static void test_unwritable(void)
{
	int status = run("unwritable", "");
	char *text = said();

	CHECK(status == 0);
	CHECK(!strcmp(text, "nvsnoop: nothing was recorded: no/such/folder/trace.zst: "
			    "No such file or directory\n"));
	free(text);
	clean();
}

static void test_options_wrong(void)
{
	int status = run("short", "spool=off,quite");
	char *text = said();
	struct contents c = read_trace("trace.zst");

	CHECK(status == 0 && c.end && c.head.flags & NVS_HDR_CRASH_SAFE);
	CHECK(strstr(text, "nvsnoop: NVSNOOP_OPTIONS: unknown option 'quite'; did you mean "
			   "'quiet'? (all options were ignored); trace.zst: ") == text);
	free(text);
	clean();
}

static void test_spool_off(void)
{
	struct contents c;

	CHECK(run("short", "spool=off,quiet") == 0);
	c = read_trace("trace.zst");
	CHECK(c.end && c.marks == 1 && !(c.head.flags & NVS_HDR_CRASH_SAFE));
	clean();
	CHECK(run("short", "spool=/no/such/folder,quiet") == 0);
	c = read_trace("trace.zst");
	CHECK(c.end && !(c.head.flags & NVS_HDR_CRASH_SAFE));
	clean();
}

static void act_summary(void)
{
	char path[600], folder[512];

	if (!getcwd(folder, sizeof(folder)))
		abort();
	snprintf(path, sizeof(path), "%s/summary", folder);
	put_file("summary", "");
	setenv("NVSNOOP_SUMMARY", path, 1);
	act_short();
}

static void test_summary(void)
{
	int status = run("summary", "");
	char *text = said(), *summary, folder[512], path[256], flags[32], path2[256];
	unsigned pid = 0, pid2 = 1;
	unsigned long long subs = 1, gaps = 1, bytes = 0;
	size_t size;

	CHECK(status == 0 && !strcmp(text, "") && getcwd(folder, sizeof(folder)));
	summary = (char *)slurp("summary", &size);
	CHECK(summary &&
	      sscanf(summary, "%u\t0\t0\t0\t%255s\tstarted\n%u\t%llu\t%llu\t%llu\t%255s\t%31s\n",
		     &pid, path, &pid2, &subs, &gaps, &bytes, path2, flags) == 8);
	CHECK(pid == pid2 && !strcmp(path, path2) && !strncmp(path, folder, strlen(folder)));
	CHECK(!strcmp(path + strlen(folder), "/trace.zst") && !strcmp(flags, "-"));
	CHECK(subs == 0 && gaps == 0 && bytes > 200);
	free(summary);
	free(text);
	clean();
}

/* More threads at once than there are buffers at first. */
static pthread_barrier_t barrier;

static void *mark_one(void *arg)
{
	pthread_barrier_wait(&barrier);
	mark((uint64_t)(uintptr_t)arg);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void act_crowd(void)
{
	pthread_t threads[60];

	start();
	pthread_barrier_init(&barrier, NULL, 60);
	for (uintptr_t i = 0; i < 60; i++)
		pthread_create(&threads[i], NULL, mark_one, (void *)i);
	for (int i = 0; i < 60; i++)
		pthread_join(threads[i], NULL);
	nvs_session_finish();
}

static void test_crowd(void)
{
	struct contents c;

	CHECK(run("crowd", "quiet,buffer=64K") == 0);
	c = read_trace("trace.zst");
	CHECK(c.whole && c.end && c.marks == 60 && c.mark_sum == 60 * 59 / 2 && c.threads >= 60);
	clean();
}

/* main() ends, another thread goes on and ends last: the process ends with it, and the trace in
 * order. */
static void *outlive_main(void *arg)
{
	mark(7);
	return NULL;
}

static void act_outlived(void)
{
	pthread_t thread;

	start();
	atexit(nvs_session_finish);
	pthread_create(&thread, NULL, outlive_main, NULL);
	pthread_exit(NULL);
}

static void test_outlived(void)
{
	int status = run("outlived", "quiet");
	struct contents c = read_trace("trace.zst");

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK(c.whole && c.end && c.marks == 1);
	clean();
}

static const struct {
	const char *name;
	void (*act)(void);
} acts[] = {
	{"in_order", act_in_order},
	{"at_once", act_at_once},
	{"late", act_late},
	{"replaced", act_replaced},
	{"killed", act_killed},
	{"short", act_short},
	{"taken", act_taken},
	{"links", act_links},
	{"stale_spool", act_stale_spool},
	{"busy", act_busy},
	{"closed", act_closed},
	{"full", act_full},
	{"limited", act_limited},
	{"nothing_allowed", act_nothing_allowed},
	{"forked", act_forked},
	{"unwritable", act_unwritable},
	{"summary", act_summary},
	{"crowd", act_crowd},
	{"outlived", act_outlived},
};

static int act(const char *name)
{
	for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++)
		if (!strcmp(acts[i].name, name))
			acts[i].act();
	fflush(stdout);
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1)
		return act(argv[1]);
	test_in_order();
	test_at_once();
	test_late();
	test_replaced();
	test_killed();
	test_taken();
	test_links();
	test_busy();
	test_closed();
	test_full();
	test_limited();
	test_forked();
	test_unwritable();
	test_options_wrong();
	test_spool_off();
	test_summary();
	test_crowd();
	test_outlived();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
