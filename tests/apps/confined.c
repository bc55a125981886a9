/* SPDX-License-Identifier: MIT */
/*
 * confined WHAT [NUMBER]: restrictions on a process, imposed or self-imposed, while it submits.
 * Each case submits before and after the restriction, checks the GPU's results, and prints
 * "confined ok" last.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <time.h>
#include <unistd.h>
#include "app.h"
#include "insns.h"
#include "tests/softgpu/softgpu.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static CUfunction add;
static CUdeviceptr word;
static uint32_t expected;
static long number;

static void begin(void)
{
	app_context(0);
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

/* Longer than the library's own threads rest: whatever they do from time to time, they have done.
 *  */
static void work_on(void)
{
	struct timespec nap = {0, 20000000};

	for (int i = 0; i < 50; i++) {
		work(2);
		nanosleep(&nap, NULL);
	}
}

static void *one_more(void *arg)
{
	CUcontext c;
	uint32_t n = 0;

	CK(cuDevicePrimaryCtxRetain(&c, 0));
	CK(cuCtxSetCurrent(c));
	for (int i = 0; i < 20; i++)
		n = softgpu_submit_count(arg);
	EXPECT(!softgpu_wait(arg, softgpu_payload(arg)) && softgpu_counted(arg) == n, "%u of %u",
	       softgpu_counted(arg), n);
	return NULL;
}

static void a_child(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(0);
	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "a child ended with %#x",
	       status);
}

/* ---- rights ---- */

static void act_not_dumpable(void)
{
	pthread_t t;

	EXPECT(!prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
	       "prctl");
	work(50);
	a_child();
	pthread_create(&t, NULL, one_more, softgpu_channel_at(3));
	pthread_join(t, NULL);
	work_on();
}

static void act_session(void)
{
	EXPECT(setsid() > 0 || errno == EPERM, "setsid");
	umask(0777);
	work_on();
}

static void act_namespaces(void)
{
	EXPECT(!unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_FS |
			CLONE_FILES),
	       "unshare: %s", strerror(errno));
	work(50);
	a_child();
	work_on();
}

/* ---- amounts ---- */

static void act_files(void)
{
	struct rlimit limit;
	int fds[256], n = 0, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = 128;
	EXPECT(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
	while (n < 256 && (fds[n] = dup(null)) >= 0)
		n++;
	EXPECT(errno == EMFILE, "dup: %s", strerror(errno));
	work_on();
	/* All of them are the program's own. */
	while (n--)
		EXPECT(write(fds[n], "x", 1) == 1 && !close(fds[n]), "descriptor %d", fds[n]);
	work(50);
}

/*
 * Address space for what is there, and for no ring more: threads that find none are told as losses.
 * What the threads themselves need is there as well: whatever the library takes of the rest, and
 * however soon, they start and work.
 */
static void act_memory(void)
{
	void *volatile piece;
	static uint8_t stacks[12][64 << 10] __attribute__((aligned(4096)));
	struct rlimit limit = {0, RLIM_INFINITY};
	struct softgpu_channel *ch[12];
	pthread_t t[12];
	pthread_attr_t attr;
	char line[256];
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	pthread_attr_init(&attr);
	for (size_t i = 0; i < COUNT(ch); i++) {
		ch[i] = softgpu_channel_create(0, 64, false);
		EXPECT(ch[i], "channel");
	}
	piece = malloc(64 << 10);
	free(piece); /* stays in the heap */
	EXPECT(f && fgets(line, sizeof(line), f), "statm");
	pages = strtoul(line, NULL, 10);
	fclose(f);
	limit.rlim_cur = pages * 4096 + (6u << 20);
	EXPECT(!setrlimit(RLIMIT_AS, &limit), "setrlimit");
	for (size_t i = 0; i < COUNT(t); i++) {
		pthread_attr_setstack(&attr, stacks[i], sizeof(stacks[i]));
		EXPECT(!pthread_create(&t[i], &attr, one_more, ch[i]), "thread");
	}
	for (size_t i = 0; i < COUNT(t); i++)
		pthread_join(t[i], NULL);
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_AS, &limit);
	work_on();
}

/* Address space for the stacks of threads, and for nothing else: each is made when the one before
 * has submitted and still lives. */
#define STACK_ROOM ((64u << 10) + 2 * 4096u)

static struct {
	atomic_uint worked;
	atomic_bool end;
} stayers;

static void *one_more_that_stays(void *arg)
{
	one_more(arg);
	atomic_fetch_add(&stayers.worked, 1);
	while (!atomic_load(&stayers.end))
		sched_yield();
	return NULL;
}

static void act_room(void)
{
	struct rlimit limit = {0, RLIM_INFINITY};
	struct softgpu_channel *ch[24];
	pthread_t t[COUNT(ch)];
	pthread_attr_t attr;
	unsigned long pages = 0;
	char line[256];
	FILE *f;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (size_t i = 0; i < COUNT(ch); i++) {
		ch[i] = softgpu_channel_create(0, 64, false);
		EXPECT(ch[i], "channel");
	}
	work_on();
	free(malloc(64 << 10));
	f = fopen("/proc/self/statm", "re");
	EXPECT(f && fgets(line, sizeof(line), f), "statm");
	pages = strtoul(line, NULL, 10);
	fclose(f);
	limit.rlim_cur = pages * 4096 + COUNT(t) * STACK_ROOM + (1u << 20);
	EXPECT(!setrlimit(RLIMIT_AS, &limit), "setrlimit");
	for (size_t i = 0; i < COUNT(t); i++) {
		int err = pthread_create(&t[i], &attr, one_more_that_stays, ch[i]);

		EXPECT(!err, "thread %zu: %s", i, strerror(err));
		while (atomic_load(&stayers.worked) <= i)
			sched_yield();
	}
	atomic_store(&stayers.end, true);
	for (size_t i = 0; i < COUNT(t); i++)
		pthread_join(t[i], NULL);
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_AS, &limit);
	work_on();
}

/* Of the address space there is enough, and of memory that can be written what is in the heap. */

/* Bytes, of a line in /proc/self/status. */
static unsigned long status(const char *name)
{
	char text[4096] = "", *at;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	EXPECT(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0, "status");
	close(fd);
	at = strstr(text, name);
	EXPECT(at, "%s", name);
	return strtoul(at + strlen(name), NULL, 10) * 1024;
}

/* Each depth is another stack. */
static __attribute__((noinline)) uint32_t submit_at(struct softgpu_channel *ch, int depth)
{
	volatile uint32_t n = depth ? submit_at(ch, depth - 1) : softgpu_submit_count(ch);

	return n;
}

static void *submit_at_each(void *arg)
{
	uint32_t n = 0;

	for (int depth = 0; depth < 40; depth++)
		n = submit_at(arg, depth);
	EXPECT(!softgpu_wait(arg, softgpu_payload(arg)) && softgpu_counted(arg) == n, "%u of %u",
	       softgpu_counted(arg), n);
	return NULL;
}

/* NUMBER 1: the thread cannot have the heap's, as it would make one of its own. */
static void act_data(void)
{
	struct softgpu_channel *ch = softgpu_channel_create(0, 64, false);
	static uint8_t stack[256 << 10] __attribute__((aligned(4096)));
	struct rlimit limit = {4096, RLIM_INFINITY};
	unsigned long before, after;
	void *volatile piece;
	pthread_attr_t attr;
	pthread_t t;

	EXPECT(ch, "channel");
	work_on();
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, sizeof(stack));
	if (!number)
		mallopt(M_ARENA_MAX, 1);
	piece = malloc(64 << 10);
	free(piece); /* stays in the heap */
	EXPECT(!setrlimit(RLIMIT_DATA, &limit), "setrlimit");
	before = status("VmSize:");
	EXPECT(!pthread_create(&t, &attr, submit_at_each, ch), "thread");
	pthread_join(t, NULL);
	after = status("VmSize:");
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_DATA, &limit);
	EXPECT(after < before + (4u << 20), "%lu bytes more of address space", after - before);
	work_on();
}

static void act_locked(void)
{
	struct rlimit limit = {1 << 16, 1 << 16};

	EXPECT(!setrlimit(RLIMIT_MEMLOCK, &limit) && !mlockall(MCL_FUTURE), "mlockall: %s",
	       strerror(errno));
	work_on();
}

/* ---- sandboxes ---- */

/* For all threads: what is not in the list ends in ACTION. */
static void sandbox(const int *allowed, size_t n, uint32_t action)
{
	struct sock_filter code[160], *p = code;
	struct sock_fprog prog = {.filter = code};

	*p++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					    offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < n; i++) {
		*p++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i],
						    0, 1);
		*p++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	*p++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	prog.len = (unsigned short)(p - code);
	EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
		       !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
				&prog),
	       "seccomp: %s", strerror(errno));
}

/* What this program, its GPU and the C library need from here on; of files, only what is open. */
static const int basics[] = {
	SYS_read,
	SYS_write,
	SYS_pread64,
	SYS_pwrite64,
	SYS_close,
	SYS_fstat,
	SYS_newfstatat,
	SYS_mmap,
	SYS_munmap,
	SYS_mprotect,
	SYS_mremap,
	SYS_madvise,
	SYS_brk,
	SYS_ioctl,
	SYS_futex,
	SYS_nanosleep,
	SYS_clock_nanosleep,
	SYS_clock_gettime,
	SYS_sched_yield,
	SYS_getpid,
	SYS_gettid,
	SYS_tgkill,
	SYS_rt_sigprocmask,
	SYS_rt_sigaction,
	SYS_rt_sigreturn,
	SYS_sigaltstack,
	SYS_exit,
	SYS_exit_group,
	SYS_restart_syscall,
	SYS_prlimit64,
	SYS_rt_tgsigqueueinfo,
	SYS_membarrier,
	SYS_lseek,
	SYS_fcntl,
};

/* The rest is answered by a handler, as brokers do it. */
static _Atomic int brokered;

static void broker(int sig, siginfo_t *info, void *context_)
{
	ucontext_t *uc = context_;

	brokered++;
	insn_set_result(uc, -EACCES);
}

static void act_broker(void)
{
	struct sigaction a = {.sa_sigaction = broker, .sa_flags = SA_SIGINFO};

	sigaction(SIGSYS, &a, NULL);
	sandbox(basics, COUNT(basics), SECCOMP_RET_TRAP);
	EXPECT(open("/dev/null", O_RDONLY) == -1 && errno == EACCES && brokered,
	       "the broker was not asked");
	work_on();
}

static void act_refused(void)
{
	sandbox(basics, COUNT(basics), SECCOMP_RET_ERRNO | EPERM);
	EXPECT(open("/dev/null", O_RDONLY) == -1 && errno == EPERM, "open was not refused");
	work_on();
}

/* A call that takes long, from where the stack has not been before: its stack is taken. */
static __attribute__((noinline)) void far_below(int depth)
{
	volatile char room[16384];

	room[0] = 0;
	if (depth)
		far_below(depth - 1);
	else
		app_kernel("softgpu_add");
	(void)room[0];
}

static void act_killed(void)
{
	sandbox(basics, COUNT(basics), SECCOMP_RET_KILL_PROCESS);
	far_below(16);
	work_on();
}

/* What a thread itself needs at its start is none of what the sandbox allows. */
static _Atomic int begun;

static void *release(void *arg)
{
	struct timespec nap = {0, 700000000};

	CK(cuCtxSetCurrent(arg));
	atomic_store(&begun, 1);
	nanosleep(&nap, NULL);
	CK(cuMemsetD32_v2(word + 64, 1, 1));
	return NULL;
}

/* One call that stays, from right behind the sandbox on. */
static void act_killed_waiting(void)
{
	CUstream stream, other;
	CUcontext context;
	pthread_t t;

	CK(cuCtxGetCurrent(&context));
	CK(cuStreamCreate(&stream, 1));
	CK(cuStreamCreate(&other, 1));
	CK(cuMemsetD32_v2(word + 64, 0, 1));
	CK(cuStreamWaitValue32_v2(stream, word + 64, 1, 0));
	pthread_create(&t, NULL, release, context);
	while (!atomic_load(&begun))
		sched_yield();
	sandbox(basics, COUNT(basics), SECCOMP_RET_KILL_PROCESS);
	CK(cuStreamSynchronize(stream));
	pthread_join(t, NULL);
	work_on();
}

/* More of everything that the live page has a place for than it has room for at first. */
static void act_killed_growing(void)
{
	static CUdeviceptr many[2500];

	sandbox(basics, COUNT(basics), SECCOMP_RET_KILL_PROCESS);
	for (size_t i = 0; i < COUNT(many); i++)
		CK(cuMemAlloc_v2(&many[i], 256));
	work_on();
	for (size_t i = 0; i < COUNT(many); i++)
		CK(cuMemFree_v2(many[i]));
}

/* Each write to a descriptor as high as those of the library fails. */
static void act_failing(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 500, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)(number & 0xfff)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {COUNT(code), code};

	EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
		       !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
				&prog),
	       "seccomp: %s", strerror(errno));
	work_on();
}

/* All that is open, the GPU's own as well; then it ends. */
static void act_close_everything(void)
{
	close_range(3, ~0u, 0);
	closefrom(3);
	EXPECT(open("/dev/null", O_RDONLY) == 3, "the first free number is not 3");
}

/* ---- the table ---- */

static const struct {
	const char *name;
	void (*act)(void);
} cases[] = {
	{"not-dumpable", act_not_dumpable},
	{"session", act_session},
	{"namespaces", act_namespaces},
	{"files", act_files},
	{"memory", act_memory},
	{"room", act_room},
	{"data", act_data},
	{"locked", act_locked},
	{"broker", act_broker},
	{"refused", act_refused},
	{"killed", act_killed},
	{"killed-waiting", act_killed_waiting},
	{"killed-growing", act_killed_growing},
	{"failing", act_failing},
	{"close-everything", act_close_everything},
};

int main(int argc, char **argv)
{
	number = argc > 2 ? atol(argv[2]) : 0;
	for (size_t i = 0; argc > 1 && i < COUNT(cases); i++) {
		if (strcmp(cases[i].name, argv[1]))
			continue;
		begin();
		work(50);
		cases[i].act();
		puts("confined ok");
		return 0;
	}
	fprintf(stderr, "confined: no such case\n");
	return 2;
}
