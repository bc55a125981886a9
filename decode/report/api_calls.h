/* SPDX-License-Identifier: MIT */
/* For --by-api: how often each entry point was called, how long it took, and how it failed. */
#ifndef NVSNOOP_DECODE_REPORT_API_CALLS_H
#define NVSNOOP_DECODE_REPORT_API_CALLS_H

#include "decode/report/calls.h"

struct nvs_api_calls {
	const char *api; /* own copy */
	const char *runtime_api; /* of the calls that submitted; "" */
	bool silent; /* those that submitted nothing: who called is not known */
	bool uncounted; /* what they submitted is not known */
	uint64_t calls, failed, captured;
	uint64_t open; /* never returned, or left otherwise */
	struct nvs_times times;
	struct nvs_api_error {
		uint32_t result;
		uint64_t count;
	} * error; /* in the order in which they came */
	uint32_t nerrors;
	uint64_t others; /* failed with one more than are told apart */
	char *errors; /* "CUDA_ERROR_NOT_FOUND 3, ..." */
};

/* Of all traces that hold calls; *LIST to be freed by nvs_api_calls_free(). 0 or -errno. */
int nvs_api_calls_collect(struct nvs_source *s, uint32_t n, struct nvs_api_calls **list,
			  size_t *count);
void nvs_api_calls_free(struct nvs_api_calls *list, size_t count);

#endif
