/* SPDX-License-Identifier: MIT */
/*
 * A program that handles its own faults, as managed runtimes do: null checks by SIGSEGV and
 * siglongjmp, a guard page that its handler unprotects, and kernels in between. Prints how many
 * faults it recovered from.
 */
#include <csetjmp>
#include <csignal>
#include <sys/mman.h>
#include <unistd.h>
#include "common.cuh"

enum { ROUNDS = 2000 };

static sigjmp_buf back;
static volatile int recovered, opened;
static char *guard;

__global__ void count(unsigned *counter)
{
	++*counter;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	if ((char *)info->si_addr >= guard && (char *)info->si_addr < guard + 4096) {
		mprotect(guard, 4096, PROT_READ | PROT_WRITE);
		opened = opened + 1;
		return;
	}
	recovered = recovered + 1;
	siglongjmp(back, 1);
}

int main()
{
	struct sigaction action = {}, old = {};
	unsigned *counter, host;

	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGSEGV, &action, nullptr);
	guard = (char *)mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(cudaMalloc(&counter, sizeof(*counter)));
	CHECK(cudaMemset(counter, 0, sizeof(*counter)));
	for (int i = 0; i < ROUNDS; i++) {
		if (!sigsetjmp(back, 1))
			*(volatile int *)(uintptr_t)(i % 64) = 1;
		count<<<1, 1>>>(counter);
		mprotect(guard, 4096, PROT_NONE);
		guard[i % 4096] = 1;
		count<<<1, 1>>>(counter);
	}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(&host, counter, sizeof(host), cudaMemcpyDeviceToHost));
	sigaction(SIGSEGV, nullptr, &old);
	printf("recovered %d, opened %d, kernels %u, handler %s\n", recovered, opened, host,
	       old.sa_sigaction == on_fault ? "kept" : "LOST");
	return 0;
}
