/* SPDX-License-Identifier: MIT */
/* How often each entry point was called, how long it took, and how it failed; by API or call site.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_API_STATS_H
#define NVSNOOP_DECODE_ANALYSIS_API_STATS_H

#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"
#include "decode/query/durations.h"

struct nvs_api_calls {
	/* While it is read: names are known when all has been. */
	struct nvs_api_calls_key {
		uint32_t trace, api, stack;
		uint32_t thread; /* only where threads are selected, or told apart */
		uint32_t silent; /* submitted nothing, and who called is not known */
	} key;
	const struct nvs_call_api *entry;
	const struct nvs_source *source; /* NULL: several */
	uint32_t group; /* of rows that are summed up: with --per-trace the trace, else 0 */
	const char *api;
	const char *runtime_api; /* of the calls that submitted; "" */
	const char *site, *module; /* likewise, where sites are told apart */
	bool uncounted; /* what they submitted is not known */
	uint64_t calls, failed, captured;
	uint64_t open; /* never returned, or left otherwise */
	struct nvs_times times;
	struct nvs_total within; /* of that, what other rows tell of: calls inside these */
	struct nvs_api_error {
		uint32_t result;
		uint64_t count, first; /* which of all failures */
	} * error;
	uint32_t nerrors;
	uint64_t others; /* failed with one more than are told apart */
	char *errors; /* "CUDA_ERROR_NOT_FOUND 3, ..." */
};

struct nvs_api_calls_list {
	bool sites, threads; /* are told apart */
	struct nvs_rows rows; /* struct nvs_api_calls */
	struct nvs_api_calls **named; /* by name, in the order in which they came */
	size_t n;
	uint64_t failures;
	struct nvs_rows inner; /* calls inside one that goes on */
};

/* One call of S more, where times select it. 0 or -ENOMEM. */
int nvs_api_calls_add(struct nvs_api_calls_list *list, struct nvs_source *s,
		      const struct nvs_call *call);
/* Does the command line select this one of list->rows? Once all has been read. */
bool nvs_api_calls_selected(const struct nvs_api_calls *a, const struct nvs_source *sources);
/* Host time of its calls but for that of those inside them, ns. */
uint64_t nvs_api_calls_own(const struct nvs_api_calls *a);
/* All has been read: sums up by name what the command line selects. */
int nvs_api_calls_name(struct nvs_api_calls_list *list, struct nvs_source *sources);
void nvs_api_calls_free(struct nvs_api_calls_list *list);

#endif
