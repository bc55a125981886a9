/* SPDX-License-Identifier: MIT */
/*
 * kill [--each N] [--random N] [--seed S] [--only NAME] [--keep]: kills a program with 4 threads
 * on the software GPU, and compares trace and spool with the log of driver and GPU:
 *   - N times at each named point of a doorbell, and N times at random moments after its first
 *     1,000 submissions, both with the trap only and with shadow and patch
 *   - N times at any moment between start and exit
 *
 * With RELEASE=525.147.05 in the environment, of that driver release.
 *
 * Prints a row for each, then `N passed, N failed`. A kill passes if no submission that was rung
 * is missing, nothing differs, what was not rung is marked and at most one per thread, and
 * --verify reports that the trace ended in a crash and is whole up to it.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/kill/truth.h"

#define POINT_STORE 3 /* trap/low/point.h */
#define POINT_RUNG 4
#define POINT_TIMING 7
#define SHORT -1
#define SHORT_NS 100000000 /* about as long as that one lives */
#define FIRST 1000 /* submissions before a random kill */
#define RANDOM_NS 30000000 /* and within so long behind them */
#define LIMIT_NS 60000000000ull /* for one run: then it hangs */

struct place {
	const char *name;
	int point; /* of trap/low/point.h; 0: a random moment; SHORT: of a program that also begins
		      and ends */
	bool patch, timed;
};

static const struct place places[] = {
	{"trap: before the copy", 1, false, false},
	{"trap: before its commit", 2, false, false},
	{"trap: before the store", 3, false, false},
	{"trap: after the store", 4, false, false},
	{"trap: any moment", 0, false, false},
	{"patch: before the copy", 1, true, false},
	{"patch: before its commit", 2, true, false},
	{"patch: before the store", 3, true, false},
	{"patch: after the store", 4, true, false},
	{"patch: any moment", 0, true, false},
	{"timed: before its GP_PUT", POINT_TIMING, true, true},
	{"timed: any moment", 0, true, true},
	{"both: begin to end", SHORT, false, false},
};

static const char *build;
static char folder[64], trace[96], log_path[96], counter_path[96], killed_path[96];
static uint64_t seed = 20240229;
static bool keep;
static int passed, failed;

/* splitmix64 */
static uint64_t random_number(void)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void nap(uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	nanosleep(&ts, NULL);
}

/* ---- one run ---- */

static void set_environment(const struct place *p, bool poison, bool small, uint64_t count)
{
	const char *release = getenv("RELEASE");
	char text[4096];
	bool patch;

	snprintf(text, sizeof(text), "%s/%slibnvsnoop.so:%s/softgpu/libsoftgpu.so", build,
		 p->point > 0 ? "points/" : "", build);
	setenv("LD_PRELOAD", text, 1);
	snprintf(text, sizeof(text), "%s/softgpu", build);
	setenv("LD_LIBRARY_PATH", text, 1);
	patch = p->point == SHORT ? count & 1 : p->patch;
	snprintf(text, sizeof(text), "quiet,patch=%s,shadow=%s%s%s", patch ? "on" : "off",
		 patch ? "on" : "off", small ? ",buffer=64K" : "", p->timed ? ",timing=work" : "");
	setenv("NVSNOOP_OPTIONS", text, 1);
	setenv("NVSNOOP_OUT", trace, 1);
	setenv("SOFTGPU_LOG", log_path, 1);
	snprintf(text, sizeof(text), "%s%s%s", poison ? p->timed ? "poison,own" : "poison" : "",
		 release ? ",release=" : "", release ? release : "");
	setenv("SOFTGPU", text, 1);
	unsetenv("NVSNOOP_SUMMARY");
	if (p->patch)
		setenv("SUBMIT_PATCHED", "1", 1);
	if (p->point > 0) {
		snprintf(text, sizeof(text), "%d:%" PRIu64 "%s", p->point, count,
			 p->patch ? ":fast" : "");
		setenv("NVSNOOP_TEST_KILL", text, 1);
		setenv("NVSNOOP_TEST_KILLED", killed_path, 1);
	}
}

static pid_t start(const struct place *p, bool poison, bool small, uint64_t count)
{
	char app[4096];
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 1);
	snprintf(app, sizeof(app), "%s/apps/submit", build);
	set_environment(p, poison, small, count);
	execl(app, "submit", "4", p->point == SHORT ? "100" : "1000000", counter_path, NULL);
	_exit(127);
}

/* Waits for the first submissions, then for a moment, and kills. False: the program ended or hangs.
 *  */
static bool kill_any_moment(pid_t pid, const uint64_t *counter)
{
	uint64_t start_ns = now_ns(), moment = random_number() % RANDOM_NS;

	while (__atomic_load_n(counter, __ATOMIC_RELAXED) < FIRST) {
		int status;

		if (now_ns() - start_ns > LIMIT_NS || waitpid(pid, &status, WNOHANG))
			return false;
		nap(200000);
	}
	nap(moment);
	return !kill(pid, SIGKILL);
}

static bool wait_killed(pid_t pid)
{
	uint64_t start_ns = now_ns();
	int status;

	while (!waitpid(pid, &status, WNOHANG)) {
		if (now_ns() - start_ns > LIMIT_NS) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return false;
		}
		nap(500000);
	}
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static uint64_t *make_counter(void)
{
	int fd = open(counter_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	void *p = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, 4096))
		p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		perror(counter_path);
		exit(2);
	}
	close(fd);
	return p;
}

static int verify(void)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		char report[4096];
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		snprintf(report, sizeof(report), "%s/nvsnoop-report", build);
		execl(report, "nvsnoop-report", "--verify", trace, NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void remove_files(void)
{
	char spool[128];

	snprintf(spool, sizeof(spool), "%s.spool", trace);
	unlink(trace);
	unlink(spool);
	unlink(log_path);
	unlink(counter_path);
	unlink(killed_path);
}

static uint32_t killer_of(const struct place *p)
{
	int fd = p->point > 0 ? open(killed_path, O_RDONLY | O_CLOEXEC) : -1;
	uint32_t tid = 0;

	if (fd >= 0 && read(fd, &tid, sizeof(tid)) != sizeof(tid))
		tid = 0;
	if (fd >= 0)
		close(fd);
	return tid;
}

static bool judge(const struct place *p, struct truth *t, bool killed, bool poison)
{
	/* A ring without shadow is seen by the GPU before the doorbell; with poison it waits for
	 * it. With entries of ours among them they do not tell which were rung for. */
	bool fetches = (poison || p->patch) && !p->timed;
	bool may_be_unrung = p->point < POINT_RUNG || p->point == POINT_TIMING;
	uint32_t killer = killer_of(p);
	int code;

	if (!killed || (p->point && !killer)) {
		snprintf(t->text, sizeof(t->text), "the program did not get there, or hangs");
		return false;
	}
	if (!truth_compare(t, log_path, trace, fetches, may_be_unrung ? killer : 0))
		return false;
	if (t->missing || t->different || t->extra || t->unmarked || t->crowded || t->problems ||
	    t->timeless || !t->crash)
		return false;
	if (p->point == POINT_STORE && !t->killer_has) {
		snprintf(t->text, sizeof(t->text), "what was committed is not there");
		return false;
	}
	code = verify();
	if (code != 3)
		snprintf(t->text, sizeof(t->text), "--verify ends with %d", code);
	return code == 3;
}

/* Before the first doorbell there may be no trace yet; the program may have ended by itself; else
 * it is as whole as it can be. */
static bool judge_short(struct truth *t, bool killed)
{
	struct stat st;
	int code;

	if (stat(log_path, &st))
		return true;
	if (!truth_compare(t, log_path, trace, false, 0))
		return !t->rung;
	if (t->missing || t->different || t->extra || t->crowded || t->problems || t->timeless)
		return false;
	code = verify();
	if (code == (t->crash ? 3 : 0) && (killed || !t->crash))
		return true;
	snprintf(t->text, sizeof(t->text), "--verify ends with %d", code);
	return false;
}

static void one_kill(const struct place *p, struct truth *sum, int number)
{
	bool poison = random_number() & 1, small = random_number() & 1, killed;
	uint64_t count = 1 + random_number() % 3000;
	uint64_t *counter = make_counter();
	struct truth t = {0};
	pid_t pid = start(p, poison, small, count);

	if (p->point == SHORT) {
		nap(random_number() % SHORT_NS);
		kill(pid, SIGKILL); /* unless it was faster */
	}
	killed = p->point || kill_any_moment(pid, counter);
	killed = wait_killed(pid) && killed;
	munmap(counter, 4096);
	if (p->point == SHORT ? judge_short(&t, killed) : judge(p, &t, killed, poison)) {
		passed++;
	} else {
		failed++;
		printf("%s, kill %d (poison %d, small buffer %d, count %" PRIu64 "): %s\n", p->name,
		       number, poison, small, count, t.text);
		if (keep) {
			printf("left in %s\n", folder);
			exit(1);
		}
	}
	sum->rung += t.rung;
	sum->recovered += t.recovered;
	sum->missing += t.missing;
	sum->different += t.different + t.extra;
	sum->unrung += t.unrung;
	sum->marked += t.marked;
	remove_files();
}

static void many_kills(const struct place *p, int n)
{
	struct truth sum = {0};

	for (int i = 0; i < n; i++)
		one_kill(p, &sum, i);
	printf("%-26s %5d kills %9" PRIu64 " rung %9" PRIu64 " recovered %4" PRIu64
	       " missing %4" PRIu64 " different; of %5" PRIu64 " doorbells under way %5" PRIu64
	       " marked\n",
	       p->name, n, sum.rung, sum.recovered, sum.missing, sum.different, sum.unrung,
	       sum.marked);
	fflush(stdout);
}

static void make_folder(void)
{
	const char *tmp = getenv("TMPDIR");

	if (snprintf(folder, sizeof(folder), "%s/nvsnoop-kill.XXXXXX", tmp ? tmp : "/tmp") >=
	    (int)sizeof(folder))
		strcpy(folder, "/tmp/nvsnoop-kill.XXXXXX");
	if (!mkdtemp(folder)) {
		perror(folder);
		exit(2);
	}
	snprintf(trace, sizeof(trace), "%s/trace.zst", folder);
	snprintf(log_path, sizeof(log_path), "%s/log", folder);
	snprintf(killed_path, sizeof(killed_path), "%s/killed", folder);
	snprintf(counter_path, sizeof(counter_path), "%s/counter", folder);
}

int main(int argc, char **argv)
{
	const char *only = NULL;
	int each = 20, any = 20;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "0";

		if (!strcmp(argv[i], "--keep")) {
			keep = true;
			continue;
		}
		if (!strcmp(argv[i], "--each"))
			each = atoi(value);
		else if (!strcmp(argv[i], "--random"))
			any = atoi(value);
		else if (!strcmp(argv[i], "--seed"))
			seed = strtoull(value, NULL, 0);
		else if (!strcmp(argv[i], "--only"))
			only = value;
		else
			return fprintf(stderr, "kill: no such option: %s\n", argv[i]), 2;
		i++;
	}
	build = getenv("BUILD") ? realpath(getenv("BUILD"), NULL) : realpath("build", NULL);
	if (!build)
		return perror("build"), 2;
	make_folder();
	printf("seed %" PRIu64 "\n", seed);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (!only || strstr(places[i].name, only))
			many_kills(&places[i], places[i].point > 0 ? each : any);
	rmdir(folder);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
