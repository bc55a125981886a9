/* SPDX-License-Identifier: MIT */
/*
 * life WHAT [ARGUMENT]: process operations (fork, exec, threads, exits) while the program submits.
 * Every case submits before and, if possible, after the operation, checks the GPU's results, and
 * prints "life ok" last.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "app.h"

#define CHILDREN 20

extern char **environ;
static const char *argument;
static CUcontext context;
static CUfunction add;
static CUdeviceptr word;
static uint32_t expected;
static _Atomic int stop;

/* ---- work ---- */

static void begin(void)
{
	context = app_context(0);
	add = app_kernel("softgpu_add");
	CK(cuMemAlloc_v2(&word, 4096));
	CK(cuMemsetD32_v2(word, 0, 1));
}

static void work(int n)
{
	for (int i = 0; i < n; i++, expected += 3)
		app_add(add, word, 3, NULL);
	CK(cuCtxSynchronize());
	EXPECT(app_word(word) == expected, "%u of %u", app_word(word), expected);
}

static void *submit_on(void *arg)
{
	uint32_t mine = 0;
	CUdeviceptr d;
	CUstream s;

	CK(cuCtxSetCurrent(context));
	CK(cuMemAlloc_v2(&d, 4096));
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuMemsetD32Async(d, 0, 1, s));
	while (!stop) {
		app_add(add, d, 1, s);
		if (++mine % 64 == 0)
			CK(cuStreamSynchronize(s));
	}
	CK(cuStreamSynchronize(s));
	EXPECT(app_word(d) == mine, "%u of %u", app_word(d), mine);
	return NULL;
}

static pthread_t others[3];

static void others_begin(void)
{
	for (int i = 0; i < 3; i++)
		pthread_create(&others[i], NULL, submit_on, NULL);
}

static void others_end(void)
{
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(others[i], NULL);
}

static void wait_ok(pid_t pid, int code)
{
	int status;

	EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == code,
	       "child %d ended with %#x", (int)pid, status);
}

/* ---- children ---- */

/* What children do that know nothing of a GPU: memory, locks, the loader, signals; then they end in
 * several ways. */
static int one_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	return 1;
}

static void be_child(int i)
{
	void *p = malloc(100000);

	free(p);
	alarm(20);
	dl_iterate_phdr(one_module, NULL);
	if (i % 4 == 0)
		execl("/bin/true", "true", NULL);
	if (i % 4 == 1)
		_exit(0);
	if (i % 4 == 2)
		_Exit(0);
	fclose(stdout);
	exit(0);
}

static void fork_some(bool raw)
{
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();

		/* A child of the bare call has locks of libc as they were. */
		if (!pid && raw)
			_exit(0);
		if (!pid)
			be_child(i);
		wait_ok(pid, 0);
	}
}

static void act_fork(void)
{
	work(50);
	fork_some(false);
	work(50);
}

static void act_fork_threads(void)
{
	others_begin();
	for (int i = 0; i < 5; i++) {
		fork_some(false);
		work(20);
	}
	others_end();
}

static void *nothing(void *arg)
{
	return arg;
}

/* A new thread makes the library ask the loader what is loaded, and at the same moment comes a
 * fork. */
static void act_fork_storm(void)
{
	for (int i = 0; i < 1500; i++) {
		pthread_t t;
		pid_t pid;

		pthread_create(&t, NULL, nothing, NULL);
		for (volatile int spin = 0; spin < i % 64 * 100; spin++)
			;
		pid = fork();
		if (!pid) {
			alarm(5);
			dl_iterate_phdr(one_module, NULL);
			_exit(0);
		}
		pthread_join(t, NULL);
		wait_ok(pid, 0);
	}
	work(50);
}

/* A child that rings its parent's doorbell page, as far as it has it, harms only itself. */
static void act_fork_submits(void)
{
	pid_t pid;
	int status;

	work(200);
	pid = fork();
	if (!pid) {
		struct rlimit none = {0, 0};

		setrlimit(RLIMIT_CORE, &none);
		alarm(10);
		if (cuMemsetD32_v2(word, 9, 1) != CUDA_SUCCESS)
			_exit(0);
		_exit(0);
	}
	EXPECT(waitpid(pid, &status, 0) == pid, "no child");
	work(200);
}

/* The child makes a trace of its own, under a name of its own. */
static void act_fork_first(void)
{
	pid_t pid = fork();

	begin();
	work(30);
	if (!pid) {
		fflush(stdout);
		exit(0);
	}
	wait_ok(pid, 0);
}

static void act_vfork(void)
{
	others_begin();
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = vfork();

		if (!pid) {
			/* As programs do: what is inherited goes away, and this table is the
			 * child's own. */
			for (int fd = 3; fd < 100; fd++)
				close(fd);
			dup2(1, 50);
			closefrom(3);
			execl("/bin/true", "true", NULL);
			_exit(127);
		}
		wait_ok(pid, 0);
		work(10);
	}
	others_end();
}

static void act_spawn(void)
{
	char *const argv[] = {"true", NULL};
	posix_spawn_file_actions_t actions;

	others_begin();
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid;

		posix_spawn_file_actions_init(&actions);
		posix_spawn_file_actions_addclosefrom_np(&actions, 3);
		EXPECT(!posix_spawn(&pid, "/bin/true", &actions, NULL, argv, environ), "spawn");
		posix_spawn_file_actions_destroy(&actions);
		wait_ok(pid, 0);
		work(10);
	}
	others_end();
}

static int cloned(void *arg)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	close(fd);
	_exit(3);
}

static void act_clone(void)
{
	static char stack[1 << 16] __attribute__((aligned(16)));

	others_begin();
	for (int i = 0; i < CHILDREN; i++) {
		/* All memory shared, nothing else; then nothing shared, by the bare call. */
		wait_ok(clone(cloned, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
			      NULL),
			3);
		wait_ok(clone(cloned, stack + sizeof(stack), SIGCHLD, NULL), 3);
		work(10);
	}
	fork_some(true);
	others_end();
}

static void act_daemon(void)
{
	int out = dup(1), null = open("/dev/null", O_RDWR);

	(void)null;
	if (daemon(argument && !strcmp(argument, "stay"), 0))
		exit(1);
	dup2(out, 1);
	begin();
	work(50);
}

/* Its child works on with its standard error, until its standard input ends. */
static void act_lingers(void)
{
	int fds[2];
	char c;

	EXPECT(!pipe(fds), "pipe");
	if (fork()) {
		close(fds[1]);
		EXPECT(read(fds[0], &c, 1) == 1, "the child ended");
		exit(0);
	}
	close(fds[0]);
	setsid();
	begin();
	work(50);
	EXPECT(write(fds[1], "x", 1) == 1, "write");
	while (read(0, &c, 1) == 1)
		;
}

/* By the end its descriptor 2 is a file of its own. */
static void act_own_stderr(void)
{
	work(50);
	close(2);
	EXPECT(open("data", O_RDWR | O_CREAT | O_TRUNC, 0600) == 2, "open");
	EXPECT(write(2, "DATA", 4) == 4, "write");
}

static void act_exec(void)
{
	work(300);
	others_begin();
	work(300);
	fflush(stdout);
	execl(argument, argument, NULL);
	EXPECT(0, "exec: %s", strerror(errno));
}

/* One that fails costs nothing. */
static void act_exec_fails(void)
{
	work(50);
	EXPECT(execl("/no/such/program", "x", NULL) == -1 && errno == ENOENT, "exec");
	EXPECT(execl("/dev/null", "x", NULL) == -1 && errno == EACCES, "exec");
	work(50);
}

/* ---- ends ---- */

static void say_ok(void)
{
	puts("life ok");
	fflush(stdout);
}

static void act_exit_now(void)
{
	work(300);
	say_ok();
	_exit(7);
}

static void act_exit_now_threads(void)
{
	others_begin();
	work(300);
	say_ok();
	_Exit(7);
}

static void act_abort(void)
{
	others_begin();
	work(300);
	say_ok();
	abort();
}

static void act_segv(void)
{
	others_begin();
	work(300);
	say_ok();
	*(volatile int *)(uintptr_t)(expected * 16) = 1;
}

static void at_quick(void)
{
	work(5);
}

static void act_quick_exit(void)
{
	work(300);
	at_quick_exit(at_quick);
	say_ok();
	quick_exit(7);
}

static void act_kill(void)
{
	others_begin();
	work(300);
	say_ok();
	kill(getpid(), SIGKILL);
}

static void at_end(void)
{
	work(20);
}

/* Submissions behind main, in order and in other threads. */
static void act_atexit(void)
{
	atexit(at_end);
	others_begin();
	work(100);
	say_ok();
	exit(0);
}

static void *outlives(void *arg)
{
	struct timespec nap = {0, 300000000};

	CK(cuCtxSetCurrent(context));
	work(100);
	nanosleep(&nap, NULL);
	work(100);
	say_ok();
	/* The software GPU has a thread too: nobody is the last one. */
	exit(0);
}

static void act_outlive(void)
{
	pthread_t t;

	work(100);
	pthread_create(&t, NULL, outlives, NULL);
	pthread_exit(NULL);
}

/* ---- descriptors, places, rights ---- */

static bool is_device(int fd)
{
	char name[64], to[PATH_MAX] = "";

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return readlink(name, to, sizeof(to) - 1) > 0 && strstr(to, "nvidia");
}

static void act_close_all(void)
{
	for (int round = 0; round < 20; round++) {
		for (int fd = 3; fd < 20000; fd++)
			if (!is_device(fd))
				round % 2 ? close(fd) : syscall(SYS_close, fd);
		/* Files of the program's own come to lie where ours were. */
		for (int fd = 3; fd < 40; fd++)
			open("mine", O_RDWR | O_CREAT, 0600);
		work(50);
		for (int fd = 3, from = 3; fd <= 20000; fd++)
			if (fd == 20000 || is_device(fd)) {
				if (fd > from)
					close_range((unsigned)from, (unsigned)fd - 1, 0);
				from = fd + 1;
			}
		work(50);
	}
}

/* The program sees no descriptor that it would not have without us. */
static void act_list_fds(void)
{
	struct dirent *e;
	DIR *d;
	int n = 0;

	work(50);
	d = opendir("/proc/self/fd");
	while ((e = readdir(d))) {
		char to[PATH_MAX] = "";

		n += readlinkat(dirfd(d), e->d_name, to, sizeof(to) - 1) > 0;
		if (argument)
			printf("%s %s\n", e->d_name, to);
	}
	closedir(d);
	printf("%d descriptors\n", n);
}

static int name_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	if (*info->dlpi_name)
		printf("module %s\n", slash ? slash + 1 : info->dlpi_name);
	return 0;
}

/* What is loaded by the time that the GPU works: the loader takes it for what the program asks for
 * by the same soname. Then a module that the argument names. */
static void act_modules(void)
{
	void *handle;

	work(50);
	dl_iterate_phdr(name_module, NULL);
	if (!argument)
		return;
	handle = dlopen(argument, RTLD_NOW);
	EXPECT(handle, "%s", dlerror());
	work(50);
}

/* What a program opens stays its own, while it opens and closes as fast as it can. */
static void act_own_fds(void)
{
	struct stat st, mine;
	int fd = open("mine", O_RDWR | O_CREAT, 0600);

	fstat(fd, &mine);
	others_begin();
	for (int i = 0; i < 30000; i++) {
		int a = dup(fd);

		EXPECT(a >= 0 && !fstat(a, &st) && st.st_ino == mine.st_ino,
		       "descriptor %d is another's", a);
		/* A close too many, as buggy programs do: of a number that is nobody's at this
		 * moment. */
		close(a);
		syscall(SYS_close, a);
		EXPECT(!fstat(fd, &st) && st.st_ino == mine.st_ino, "descriptor %d is another's",
		       fd);
	}
	others_end();
}

static void act_chdir(void)
{
	EXPECT(!chdir("/"), "chdir");
	begin();
	work(50);
	EXPECT(!chdir("/tmp"), "chdir");
	work(50);
}

static void act_chroot(void)
{
	work(50);
	EXPECT(!mkdir(argument, 0755) || errno == EEXIST, "mkdir");
	EXPECT(!chroot(argument) && !chdir("/"), "chroot");
	work(50);
	atexit(at_end);
}

static void act_setuid(void)
{
	work(50);
	EXPECT(!setgid(65534) && !setuid(65534), "setuid");
	work(50);
	atexit(at_end);
}

/* ---- loss ---- */

/* Bytes that do not pack. */
static void pour(int n)
{
	static uint32_t noise[12000];
	uint32_t x = 1;

	for (int i = 0; i < n; i++) {
		for (size_t k = 0; k < sizeof(noise) / 4; k++)
			noise[k] = x = x * 1664525u + 1013904223u;
		CK(cuMemcpyHtoD_v2(word, noise, sizeof(noise)));
	}
	CK(cuMemsetD32_v2(word, expected, 1));
}

static void act_quota(void)
{
	struct rlimit limit = {(rlim_t)atol(argument), RLIM_INFINITY};
	const char *trace = getenv("NVSNOOP_OUT");
	struct stat st = {0};

	/* The software GPU's memory is files too, and there by now. */
	work(50);
	EXPECT(!setrlimit(RLIMIT_FSIZE, &limit), "setrlimit");
	/* It may have been written beyond that before. */
	if (trace && !stat(trace, &st))
		printf("had %lld\n", (long long)st.st_size);
	work(50);
	pour(100);
	work(50);
	atexit(at_end);
}

static void act_pour(void)
{
	work(50);
	pour(argument ? atoi(argument) : 200);
	work(50);
}

/* Says when it has begun, goes on, and says how long that took. */
static void act_hang(void)
{
	struct timespec a, b;
	char c;

	work(50);
	puts("begun");
	fflush(stdout);
	EXPECT(read(0, &c, 1) >= 0, "stdin");
	clock_gettime(CLOCK_MONOTONIC, &a);
	pour(200);
	work(200);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%d seconds\n", (int)(b.tv_sec - a.tv_sec));
}

/* ---- what the library's threads have of the thread that made them ---- */

static int own_threads(void (*look)(const char *name, pid_t tid))
{
	struct dirent *d;
	DIR *all = opendir("/proc/self/task");
	int n = 0;

	EXPECT(all, "%s", strerror(errno));
	while ((d = readdir(all))) {
		char path[300], name[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", d->d_name);
		f = *d->d_name == '.' ? NULL : fopen(path, "r");
		if (!f || !fgets(name, sizeof(name), f) || strncmp(name, "nvsnoop", 7))
			*name = '\0';
		if (f)
			fclose(f);
		if (*name)
			look(name, (pid_t)atoi(d->d_name));
		n += *name != '\0';
	}
	closedir(all);
	return n;
}

static cpu_set_t cores;

static void look_at_schedule(const char *name, pid_t tid)
{
	cpu_set_t its;

	EXPECT(sched_getscheduler(tid) == SCHED_OTHER, "%spolicy %d", name,
	       sched_getscheduler(tid));
	EXPECT(!sched_getaffinity(tid, sizeof(its), &its) && CPU_EQUAL(&its, &cores), "%s%d cores",
	       name, CPU_COUNT(&its));
}

/* A real-time thread, or where that is not allowed a batch one, bound to one core, opens the GPU.
 */
static void act_schedule(void)
{
	struct sched_param fifo = {.sched_priority = 50}, none = {0};
	cpu_set_t one;

	EXPECT(!sched_getaffinity(0, sizeof(cores), &cores), "%s", strerror(errno));
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &cores))
			CPU_SET(i, &one);
	EXPECT(!sched_setaffinity(0, sizeof(one), &one), "%s", strerror(errno));
	if (sched_setscheduler(0, SCHED_FIFO, &fifo))
		EXPECT(!sched_setscheduler(0, SCHED_BATCH, &none), "%s", strerror(errno));
	begin();
	work(50);
	printf("%d threads\n", own_threads(look_at_schedule));
	EXPECT(!sched_setscheduler(0, SCHED_OTHER, &none), "%s", strerror(errno));
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool well = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return well;
}

/* It starts in a file system of its own, leaves it, and unmounts it. */
static void act_unmount(void)
{
	char map[64];

	snprintf(map, sizeof(map), "0 %d 1\n", getuid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) || !write_file("/proc/self/uid_map", map) ||
	    mount("none", argument, "tmpfs", 0, NULL)) {
		printf("no mount: %s\n", strerror(errno));
		return;
	}
	EXPECT(!chdir(argument), "%s", strerror(errno));
	begin();
	work(50);
	EXPECT(!chdir("/"), "%s", strerror(errno));
	EXPECT(!umount(argument), "%s", strerror(errno));
	work(50);
}

/* ---- the table ---- */

static const struct {
	const char *name;
	void (*act)(void);
	bool begun; /* with a context before the act */
} cases[] = {
	{"fork", act_fork, true},
	{"fork-threads", act_fork_threads, true},
	{"fork-storm", act_fork_storm, true},
	{"fork-submits", act_fork_submits, true},
	{"fork-first", act_fork_first, false},
	{"vfork", act_vfork, true},
	{"spawn", act_spawn, true},
	{"clone", act_clone, true},
	{"daemon", act_daemon, false},
	{"lingers", act_lingers, false},
	{"own-stderr", act_own_stderr, true},
	{"exec", act_exec, true},
	{"exec-fails", act_exec_fails, true},
	{"exit-now", act_exit_now, true},
	{"exit-now-threads", act_exit_now_threads, true},
	{"abort", act_abort, true},
	{"segv", act_segv, true},
	{"quick-exit", act_quick_exit, true},
	{"kill", act_kill, true},
	{"atexit", act_atexit, true},
	{"outlive", act_outlive, true},
	{"close-all", act_close_all, true},
	{"list-fds", act_list_fds, true},
	{"modules", act_modules, true},
	{"own-fds", act_own_fds, true},
	{"chdir", act_chdir, false},
	{"chroot", act_chroot, true},
	{"setuid", act_setuid, true},
	{"schedule", act_schedule, false},
	{"unmount", act_unmount, false},
	{"quota", act_quota, true},
	{"pour", act_pour, true},
	{"hang", act_hang, true},
};

int main(int argc, char **argv)
{
	argument = argc > 2 ? argv[2] : NULL;
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[1]))
			continue;
		if (cases[i].begun)
			begin();
		cases[i].act();
		say_ok();
		return 0;
	}
	fprintf(stderr, "life: no such case\n");
	return 2;
}
