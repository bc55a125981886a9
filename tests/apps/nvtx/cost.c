/* SPDX-License-Identifier: MIT */
/*
 * The cost of an NVTX range: bursts of a push and a pop, small enough for the buffer, and their
 * median; with a plain name and with a registered one. Run it with and without
 * NVTX_INJECTION64_PATH= (empty), with which no tool is attached.
 */
#include <string.h>
#include "../app.h"
#include "nvtx.h"

enum { BURSTS = 41, PAIRS = 1000 };

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
		double start = app_ns();

		for (int i = 0; i < PAIRS; i++) {
			nvtxRangePushA("a name of usual length");
			nvtxRangePop();
		}
		plain[b] = (app_ns() - start) / PAIRS;
		start = app_ns();
		for (int i = 0; i < PAIRS; i++) {
			nvtxDomainRangePushEx(domain, &a);
			nvtxDomainRangePop(domain);
		}
		registered[b] = (app_ns() - start) / PAIRS;
		/* The writer empties the buffer. */
		nanosleep(&rest, NULL);
	}
	printf("push and pop %.1f ns, with a registered name %.1f ns\n", app_median(plain, BURSTS),
	       app_median(registered, BURSTS));
	return 0;
}
