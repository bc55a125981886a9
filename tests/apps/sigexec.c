/* SPDX-License-Identifier: MIT */
/*
 * sigexec: blocks and ignores SIGSEGV and SIGTRAP while it submits, and prints what the programs
 * that it runs inherit, for every way to run one. Its output is the same without a tool. Software
 * GPU only.
 */
#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include "sigapp.h"

extern char **environ;
static const char *self;
static char *told[] = {"sigexec", "told", NULL};

/* The kernel's own word, in a program without a tool. */
static int tell(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long long word, pending = 0;
	char line[256];

	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "SigPnd: %llx", &word) == 1 ||
		    sscanf(line, "ShdPnd: %llx", &word) == 1)
			pending |= word;
		if (sscanf(line, "SigBlk: %llx", &word) == 1)
			printf("  blocked %llx", word);
		if (sscanf(line, "SigIgn: %llx", &word) == 1)
			printf(" ignored %llx", word);
	}
	printf(" pending %llx\n", pending);
	return 0;
}

/* What a program with the tool believes. */
static int believe(void)
{
	struct sigaction a, b;

	show_mask("  mask");
	show_pending("  pending");
	sigaction(SIGSEGV, NULL, &a);
	sigaction(SIGTRAP, NULL, &b);
	printf("  ignored: %d %d\n", a.sa_handler == SIG_IGN, b.sa_handler == SIG_IGN);
	return 0;
}

static void run(int way)
{
	int fd = open(self, O_RDONLY | O_CLOEXEC);

	switch (way) {
	case 0:
		execve(self, told, environ);
		break;
	case 1:
		execv(self, told);
		break;
	case 2:
		execvp(self, told);
		break;
	case 3:
		execvpe(self, told, environ);
		break;
	case 4:
		execl(self, "sigexec", "told", NULL);
		break;
	case 5:
		execlp(self, "sigexec", "told", NULL);
		break;
	case 6:
		execle(self, "sigexec", "told", NULL, environ);
		break;
	case 7:
		fexecve(fd, told, environ);
		break;
	case 8:
		execveat(AT_FDCWD, self, told, environ, 0);
		break;
	}
}

/* Nothing here returns into what the parent still needs. */
static pid_t run_in_vfork(void)
{
	pid_t pid = vfork();

	if (!pid) {
		execve("/nowhere", told, environ);
		execve(self, told, environ);
		_exit(1);
	}
	return pid;
}

static pid_t run_in_vfork_open(void)
{
	sigset_t set = set_of(SIGSEGV, 0, 0);
	pid_t pid = vfork();

	if (!pid) {
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
		signal(SIGTRAP, SIG_DFL);
		execve(self, told, environ);
		_exit(1);
	}
	return pid;
}

static void done(const char *what, pid_t pid)
{
	int status;

	EXPECT(waitpid(pid, &status, 0) == pid && !status, "%s: %x", what, status);
	submit(2);
}

static void spawn(void)
{
	posix_spawnattr_t attr;
	sigset_t hup = set_of(SIGHUP, 0, 0), segv = set_of(SIGSEGV, 0, 0);
	pid_t pid;

	printf("posix_spawn\n");
	EXPECT(!posix_spawn(&pid, self, NULL, NULL, told, environ), "posix_spawn");
	done("posix_spawn", pid);
	EXPECT(!posix_spawnp(&pid, self, NULL, NULL, told, environ), "posix_spawnp");
	done("posix_spawnp", pid);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigdefault(&attr, &segv);
	EXPECT(!posix_spawn(&pid, self, NULL, &attr, told, environ), "posix_spawn");
	done("with attributes", pid);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &hup);
	EXPECT(!posix_spawn(&pid, self, NULL, &attr, told, environ), "posix_spawn");
	done("with a mask", pid);
	posix_spawnattr_destroy(&attr);
}

static void every_way(const char *what)
{
	pid_t pid;

	printf("%s\n", what);
	for (int way = 0; way < 9; way++) {
		fflush(stdout);
		pid = fork();
		if (!pid) {
			run(way);
			_exit(1);
		}
		done(what, pid);
	}
	done("vfork", run_in_vfork());
	done("vfork, opened", run_in_vfork_open());
}

static void fail(void)
{
	errno = 0;
	execl("/nowhere", "nowhere", NULL);
	printf("failed: errno %d\n", errno);
	show_mask("  mask");
	show_pending("  pending");
	submit(2);
	believe();
}

int main(int argc, char **argv)
{
	sigset_t set = set_of(SIGSEGV, SIGTRAP, SIGUSR1);
	char *preload = getenv("LD_PRELOAD");

	if (argc > 1 && !strcmp(argv[1], "told"))
		return tell();
	if (argc > 1 && !strcmp(argv[1], "believe"))
		return believe();
	self = argv[0];
	submit_begin();
	preload = strdup(preload ? preload : "");
	unsetenv("LD_PRELOAD");
	every_way("nothing");
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	every_way("blocked");
	spawn();
	signal(SIGTRAP, SIG_IGN);
	every_way("blocked and ignored");
	set = set_of(SIGTRAP, 0, 0);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	signal(SIGSEGV, SIG_IGN);
	every_way("both ignored");
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
	fail();
	submit_end();
	if (argc > 1) {
		setenv("LD_PRELOAD", preload, 1);
		told[1] = "believe";
	}
	execv(self, told);
	return 1;
}
