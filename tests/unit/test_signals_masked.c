/* SPDX-License-Identifier: MIT */
/* Handlers of other signals that block ours while they run. */
/* LINK: preload */
#include <setjmp.h>
#include <string.h>
#include <ucontext.h>
#include "tests/unit/sigcases.h"

static sigjmp_buf jump;

static void install_masked(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};

	a.sa_mask = set_of(SIGSEGV, SIGTRAP);
	sigaction(sig, &a, NULL);
}

/* Ours are there from here on at the latest. */
static void block_for_a_moment(void)
{
	sigset_t set = set_of(SIGSEGV, 0);

	sigprocmask(SIG_BLOCK, &set, NULL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void tell_pending(void)
{
	sigset_t set;

	sigpending(&set);
	tell("pending:%s ", mask_text(&set));
}

static void send_within(int sig, siginfo_t *info, void *uc)
{
	sigset_t back;

	memcpy(&back, &((ucontext_t *)uc)->uc_sigmask, 8);
	tell("begin:%d code:%d back:%s ", sig, info->si_code, mask_text(&back));
	tell_mask("in");
	raise(SIGSEGV);
	kill(getpid(), SIGTRAP);
	tell_pending();
	tell("end ");
}

static void case_masked(void)
{
	install(SIGSEGV, note, 0, 0);
	install(SIGTRAP, note, 0, 0);
	install_masked(SIGUSR1, send_within, 0);
	block_for_a_moment();
	install_masked(SIGUSR2, send_within, (int)SA_NODEFER);
	for (int i = 0; i < 2; i++) {
		raise(SIGUSR1);
		tell_mask("after");
		raise(SIGUSR2);
		tell_mask("after");
	}
	install(SIGUSR2, note, 0, 0);
	raise(SIGUSR2);
}

static void tell_and_jump(int sig, siginfo_t *info, void *uc)
{
	tell_mask("in");
	siglongjmp(jump, 1);
}

static void case_masked_jump(void)
{
	install(SIGSEGV, note, 0, 0);
	install_masked(SIGUSR1, tell_and_jump, 0);
	block_for_a_moment();
	for (int i = 0; i < 3; i++)
		if (!sigsetjmp(jump, 1))
			raise(SIGUSR1);
		else
			raise(SIGSEGV);
	tell_mask("after");
}

static void case_masked_fault(void)
{
	install(SIGSEGV, note, 0, 0);
	block_for_a_moment();
	install_masked(SIGUSR1, fault_again, 0);
	raise(SIGUSR1);
}

static void open_and_send(int sig, siginfo_t *info, void *uc)
{
	sigset_t set = set_of(SIGSEGV, 0);

	tell_mask("in");
	raise(SIGSEGV);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	tell_mask("opened");
	raise(SIGUSR2);
}

static void case_masked_nested(void)
{
	install(SIGSEGV, note, 0, 0);
	install(SIGTRAP, note, 0, 0);
	block_for_a_moment();
	install_masked(SIGUSR1, open_and_send, 0);
	install_masked(SIGUSR2, send_within, 0);
	raise(SIGUSR1);
	tell_mask("after");
}

static void case_masked_suspend(void)
{
	sigset_t block = set_of(SIGUSR1, 0), none;

	sigemptyset(&none);
	install(SIGSEGV, note, 0, 0);
	install(SIGTRAP, note, 0, 0);
	block_for_a_moment();
	install_masked(SIGUSR1, send_within, 0);
	sigprocmask(SIG_BLOCK, &block, NULL);
	raise(SIGUSR1);
	tell("%d ", sigsuspend(&none));
	tell_mask("after");
}

/* What is shown is what was set, by the simple forms as well. */
static void case_masked_actions(void)
{
	struct sigaction a = {.sa_handler = plain, .sa_flags = SA_RESTART}, old;

	block_for_a_moment();
	a.sa_mask = set_of(SIGSEGV, SIGUSR2);
	sigaction(SIGUSR1, &a, NULL);
	tell_action(SIGUSR1);
	raise(SIGUSR1);
	tell("%d ", signal(SIGUSR1, SIG_IGN) == plain);
	tell_action(SIGUSR1);
	a.sa_flags = (int)SA_RESETHAND;
	sigaction(SIGUSR1, &a, &old);
	tell("ign:%d ", old.sa_handler == SIG_IGN);
	raise(SIGUSR1);
	tell_action(SIGUSR1);
	install_masked(SIGUSR1, note, 0);
	tell("%d ", __sysv_signal(SIGUSR1, plain) == (handler_fn)(void *)note);
	tell_action(SIGUSR1);
	install_masked(SIGUSR1, note, SA_ONSTACK);
	sigaction(SIGUSR1, NULL, &old);
	tell("same:%d ", old.sa_sigaction == note);
	tell("%d ", sigset(SIGUSR1, SIG_DFL) == (handler_fn)(void *)note);
	tell_action(SIGUSR1);
}

static const struct {
	const char *name;
	void (*act)(void);
} cases[] = {
	{"masked", case_masked},
	{"masked, jump", case_masked_jump},
	{"masked, fault", case_masked_fault},
	{"masked, nested", case_masked_nested},
	{"masked, suspend", case_masked_suspend},
	{"masked, actions", case_masked_actions},
};

int main(int argc, char **argv)
{
	choose(true);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (argc < 2 || !strcmp(argv[1], cases[i].name))
			compare(cases[i].name, cases[i].act);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
