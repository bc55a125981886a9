/* SPDX-License-Identifier: MIT */
/* Call counts, host times and errors of each entry point, by API or call site: of --by-api, of the
 * stacks, and of the summary. */
#ifndef NVSNOOP_DECODE_ANALYSIS_API_STATS_H
#define NVSNOOP_DECODE_ANALYSIS_API_STATS_H

#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"
#include "decode/query/durations.h"

/* The names that rows are grouped by. */
struct nvs_api_label {
	uint32_t group; /* with --per-trace the trace, else 0; only rows of one group are merged */
	const char *api;
	const char *runtime_api; /* of calls that submitted; "" */
	const char *site, *module; /* likewise; SITE is NULL unless sites are listed separately */
};

struct nvs_api_calls {
	/* Set while reading. Names are resolved at the end. */
	struct nvs_api_calls_key {
		uint32_t trace, api, stack;
		uint32_t thread; /* 0 unless threads are selected or listed separately */
		uint32_t silent; /* submitted nothing, and its call site is unknown */
	} key;
	const struct nvs_call_api *entry;
	const struct nvs_source *source; /* NULL: from several traces */
	struct nvs_api_label label;
	bool uncounted; /* their submissions are unknown */
	uint64_t calls, failed, captured;
	uint64_t open; /* never returned, or left by an exception */
	uint64_t submissions; /* 0: counted by the caller, if at all */
	struct nvs_durations times;
	struct nvs_duration_sum within; /* time in nested calls that other rows count */
	struct nvs_api_error {
		const struct nvs_call_api *entry;
		uint32_t result;
		uint64_t count, first; /* first: index among all failures */
	} * error;
	uint32_t nerrors;
	uint64_t others; /* failures with errors beyond MAX_ERRORS */
	char *errors; /* "CUDA_ERROR_NOT_FOUND 3, ..." */
};

struct nvs_api_calls_list {
	bool sites, threads; /* list sites or threads separately */
	struct nvs_rows rows; /* struct nvs_api_calls, or a larger one that begins with it */
	struct nvs_api_calls **named; /* sorted by name, then in order of arrival */
	size_t n;
	uint64_t failures;
	struct nvs_rows inner; /* ended calls inside one that has not */
};

/* The row of KEY for an entry point. Returns NULL if memory is short. */
struct nvs_api_calls *nvs_api_calls_row(struct nvs_api_calls_list *list,
					const struct nvs_api_calls_key *key,
					const struct nvs_call_api *entry);
/* Counts CALL and its error, but not its time. Returns 0 or -ENOMEM. */
int nvs_api_calls_count(struct nvs_api_calls_list *list, struct nvs_api_calls *a,
			const struct nvs_call *call);
/* Adds FROM, which is no longer a row, to INTO. Returns 0 or -ENOMEM. */
int nvs_api_row_merge(struct nvs_api_calls *into, struct nvs_api_calls *from);
/* While SOURCE is read. */
struct nvs_api_calls_reader {
	struct nvs_source *source;
	struct nvs_api_calls_list *list; /* of all traces */
};
/* Callback of a reader with such an arg: adds a call if the time selection includes it. */
int nvs_api_calls_add(void *reader, const struct nvs_call *call);
/* Returns true if the command line selects this element of list->rows. Call after reading. */
bool nvs_api_calls_is_selected(const struct nvs_api_calls *a, const struct nvs_source *sources);
/* Call after reading: merges the rows that the command line selects by name. */
int nvs_api_calls_merge(struct nvs_api_calls_list *list, struct nvs_source *sources);
void nvs_api_calls_free(struct nvs_api_calls_list *list);

struct nvs_api_label nvs_api_label_of(const struct nvs_source *s, const struct nvs_callsite *site,
				      const char *api, bool sites);
/* Compares as qsort() expects. */
int nvs_api_label_compare(const struct nvs_api_label *a, const struct nvs_api_label *b);

#endif
