/* SPDX-License-Identifier: MIT */
/* LINK: preload */
/*
 * The late spool's file is created by the first thread of the program that needs it. Whatever
 * happens to that thread, no other waits for long, and no incomplete file is left. Also the list
 * of modules, which a thread of the program updates at a dlclose().
 */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include "insns.h"
#include "preload/base/state.h"
#include "preload/writer/session.h"
#include "tests/unit/fakering.h"

#define THREADS 8

static struct nvs_recorder session;
static struct nvs_spool head;
static char folder[] = "/tmp/nvsnoop-test.XXXXXX", file[64];

static int record(void)
{
	struct nvs_rec_remark r = {.rec = {.type = NVS_REC_REMARK, .size = sizeof(r)}};

	return nvs_late_record(&r, sizeof(r));
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : st.st_size;
}

static void set_up(void)
{
	session.head = &head;
	snprintf(session.spool.path, sizeof(session.spool.path), "%s/spool", folder);
	snprintf(file, sizeof(file), "%s/spool.late", folder);
	nvs_late_prepare(&session);
	*nvs_slot(NVS_SLOT_SESSION) = &session;
}

static void *one_record(void *arg)
{
	return (void *)(intptr_t)record();
}

static void test_together(void)
{
	pthread_t threads[THREADS];
	sigset_t before = {0}, after = {0};
	off_t first;

	sigprocmask(SIG_BLOCK, NULL, &before);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, one_record, NULL);
	for (int i = 0; i < THREADS; i++) {
		void *ret;

		pthread_join(threads[i], &ret);
		CHECK(!ret);
	}
	first = size_of(file);
	CHECK(first > 0 && record() == 0);
	CHECK(size_of(file) == first + (off_t)sizeof(struct nvs_rec_remark));
	sigprocmask(SIG_BLOCK, NULL, &after);
	CHECK(!memcmp(&before, &after, sizeof(before)));
	unlink(file);
}

/* ---- a handler in the middle: of a sandbox, which the kernel asks at certain calls ---- */

static sigjmp_buf jump;
static bool leave;
static int nested, asked;

static void on_call(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	/* Other handlers come afterwards. */
	CHECK(sigismember(&uc->uc_sigmask, SIGUSR1));
	asked++;
	if (info->si_syscall == SYS_prctl)
		return;
	if (leave)
		siglongjmp(jump, 1);
	nested = record();
	insn_set_result(uc, nvs_sys4(SYS_openat, insn_argument(uc, 0), insn_argument(uc, 1),
				     insn_argument(uc, 2) & ~O_EXCL, insn_argument(uc, 3)));
}

/* A new file, and the name of the thread, which is asked for with its first record. */
static void trap_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_EXCL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	struct sigaction a = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER};

	sigaction(SIGSYS, &a, NULL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		abort();
}

/* Who made it has jumped away: the others give it up, and are not kept waiting twice. */
static void left(void)
{
	leave = true;
	if (!sigsetjmp(jump, 1)) {
		record();
		CHECK(false);
	}
	for (int i = 0; i < 100; i++)
		CHECK(record() == -EIO);
	CHECK(size_of(file) == -1);
}

/* Who made it is interrupted for long: what comes of it is not used, and is not left lying. */
static void slow(void)
{
	leave = false;
	CHECK(record() == -EIO && nested == -EIO);
	CHECK(record() == -EIO);
	CHECK(size_of(file) == -1);
}

/* What is done around a dlclose() is done with a lock that others wait for. */
static void closing(void)
{
	struct nvs_trap_options options = {.drop = true};

	CHECK(nvs_trap_init(&options) == 0);
	fake_rings(2, 65536);
	*nvs_slot(NVS_SLOT_MODULES) = nvs_alloc(4096);
	atomic_store(&nvs_state()->session_active, 1);
	CHECK(dlclose(dlopen(NULL, RTLD_NOW)) == 0);
	CHECK(asked > 0);
}

/* In a child, which has its own filter, and its own time. */
static void in_child(void (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		passed = failed = 0;
		set_up();
		trap_calls();
		alarm(60);
		fn();
		fflush(stdout);
		_exit(failed != 0);
	}
	waitpid(pid, &status, 0);
	if (status)
		printf("status %#x\n", status);
	CHECK(status == 0);
}

int main(void)
{
	if (!mkdtemp(folder))
		abort();
	in_child(left);
	in_child(slow);
	in_child(closing);
	set_up();
	test_together();
	CHECK(rmdir(folder) == 0);
	return test_result();
}
