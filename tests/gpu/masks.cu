/* SPDX-License-Identifier: MIT */
/*
 * Kernels launched while all signals are blocked, in ways that no call of the program shows: by
 * the mask of a coroutine, by a mask that a handler has restored, after a jump out of
 * sigsuspend(), and in threads that have them blocked before their first launch, when the driver's
 * store is patched. In between, the program handles faults.
 */
#include <csetjmp>
#include <csignal>
#include <pthread.h>
#include <ucontext.h>
#include "common.cuh"

enum { THREADS = 8, ROUNDS = 2000 };

static sigjmp_buf fault_jump, call_jump;
static ucontext_t main_context, coroutine;
static char stack[256 << 10];
static sigset_t full;
static unsigned *counter;
static volatile int *volatile nowhere = (volatile int *)8;
static int caught;

__global__ void count(unsigned *to)
{
	atomicAdd(to, 1u);
}

static void launch()
{
	count<<<1, 1>>>(counter);
	CHECK(cudaGetLastError());
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	siglongjmp(fault_jump, 1);
}

static void catch_fault()
{
	if (!sigsetjmp(fault_jump, 1))
		*nowhere = 1;
	else
		caught++;
}

static void install(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = {};

	action.sa_sigaction = handler;
	action.sa_flags = SA_SIGINFO;
	sigaction(sig, &action, nullptr);
}

static void in_coroutine()
{
	launch();
}

static void fill_mask(int sig, siginfo_t *info, void *context)
{
	launch();
	sigfillset(&static_cast<ucontext_t *>(context)->uc_sigmask);
}

static void jump_out(int sig, siginfo_t *info, void *context)
{
	siglongjmp(call_jump, 1);
}

static void one_round()
{
	sigset_t none, usr1, but_usr1 = full;

	sigemptyset(&none);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigdelset(&but_usr1, SIGUSR1);
	getcontext(&coroutine);
	coroutine.uc_sigmask = full;
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = sizeof(stack);
	coroutine.uc_link = &main_context;
	makecontext(&coroutine, in_coroutine, 0);
	swapcontext(&main_context, &coroutine);
	catch_fault();
	install(SIGUSR1, fill_mask);
	raise(SIGUSR1);
	launch();
	sigprocmask(SIG_SETMASK, &usr1, nullptr);
	install(SIGUSR1, jump_out);
	raise(SIGUSR1);
	if (!sigsetjmp(call_jump, 1))
		sigsuspend(&but_usr1);
	launch();
	catch_fault();
	sigprocmask(SIG_SETMASK, &none, nullptr);
}

static void *launch_blocked(void *)
{
	for (int i = 0; i < ROUNDS; i++)
		launch();
	return nullptr;
}

int main()
{
	pthread_t threads[THREADS];
	sigset_t old;
	unsigned host;

	sigfillset(&full);
	install(SIGSEGV, on_fault);
	CHECK(cudaMalloc(&counter, sizeof(*counter)));
	CHECK(cudaMemset(counter, 0, sizeof(*counter)));
	pthread_sigmask(SIG_SETMASK, &full, &old);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], nullptr, launch_blocked, nullptr))
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], nullptr);
	pthread_sigmask(SIG_SETMASK, &old, nullptr);
	for (int i = 0; i < ROUNDS; i++)
		one_round();
	CHECK(cudaMemcpy(&host, counter, sizeof(host), cudaMemcpyDeviceToHost));
	printf("caught %d, kernels %u\n", caught, host);
	return 0;
}
