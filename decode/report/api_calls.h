/* SPDX-License-Identifier: MIT */
/* For --by-api: how often each entry point was called, how long it took, and how it failed. */
#ifndef NVSNOOP_DECODE_REPORT_API_CALLS_H
#define NVSNOOP_DECODE_REPORT_API_CALLS_H

#include "decode/report/report.h"
#include "decode/report/times.h"

struct nvs_api_calls {
	/* While it is read: names are known when all has been. */
	struct nvs_api_calls_key {
		uint32_t trace, api, stack;
		uint32_t thread; /* only where threads are selected */
		uint32_t silent; /* submitted nothing: who called is not known */
	} key;
	const struct nvs_call_api *entry;
	const char *api;
	const char *runtime_api; /* of the calls that submitted; "" */
	bool uncounted; /* what they submitted is not known */
	uint64_t calls, failed, captured;
	uint64_t open; /* never returned, or left otherwise */
	struct nvs_times times;
	struct nvs_api_error {
		uint32_t result;
		uint64_t count, first; /* which of all failures */
	} * error;
	uint32_t nerrors;
	uint64_t others; /* failed with one more than are told apart */
	char *errors; /* "CUDA_ERROR_NOT_FOUND 3, ..." */
};

struct nvs_api_calls_list {
	struct nvs_rows rows; /* struct nvs_api_calls */
	struct nvs_api_calls **named; /* by name, in the order in which they came */
	size_t n;
	uint64_t failures;
};

/* One call of S more. 0 or -ENOMEM. */
int nvs_api_calls_add(struct nvs_api_calls_list *list, struct nvs_source *s,
		      const struct nvs_call *call);
/* All has been read: sums up by name what the command line selects. */
int nvs_api_calls_name(struct nvs_api_calls_list *list, struct nvs_source *sources);
void nvs_api_calls_free(struct nvs_api_calls_list *list);

#endif
