/* SPDX-License-Identifier: MIT */
/*
 * What a range costs: bursts of a push and a pop, small enough for the buffer, and the median over
 * them; once with a name in plain text and once with a registered one. Run it with and without
 * NVTX_INJECTION64_PATH= (empty), with which nobody listens.
 */
#include <string.h>
#include <time.h>
#include "../app.h"
#include "nvtx.h"

enum { BURSTS = 41, PAIRS = 1000 };

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return a < b ? -1 : a > b;
}

static double median(double *v)
{
	qsort(v, BURSTS, sizeof(*v), compare);
	return v[BURSTS / 2];
}

int main(void)
{
	struct timespec rest = {0, 20000000};
	double plain[BURSTS], registered[BURSTS];
	nvtxDomainHandle_t domain = nvtxDomainCreateA("cost");
	nvtxEventAttributes_t a;

	memset(&a, 0, sizeof(a));
	a.version = NVTX_VERSION;
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = nvtxDomainRegisterStringA(domain, "a name of usual length");
	app_context(0);
	for (int b = 0; b < BURSTS; b++) {
		double start = now_ns();

		for (int i = 0; i < PAIRS; i++) {
			nvtxRangePushA("a name of usual length");
			nvtxRangePop();
		}
		plain[b] = (now_ns() - start) / PAIRS;
		start = now_ns();
		for (int i = 0; i < PAIRS; i++) {
			nvtxDomainRangePushEx(domain, &a);
			nvtxDomainRangePop(domain);
		}
		registered[b] = (now_ns() - start) / PAIRS;
		/* The writer empties the buffer. */
		nanosleep(&rest, NULL);
	}
	printf("push and pop %.1f ns, with a registered name %.1f ns\n", median(plain),
	       median(registered));
	return 0;
}
