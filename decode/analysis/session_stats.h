/* SPDX-License-Identifier: MIT */
/*
 * What the summary counts while a trace is read: calls by entry point, failures and
 * launches by doorbell. Bounded by how many entry points and kinds of failures there are, not by
 * calls.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_SESSION_STATS_H
#define NVSNOOP_DECODE_ANALYSIS_SESSION_STATS_H

#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"
#include "decode/query/durations.h"

struct nvs_facts_api {
	struct nvs_facts_api_key {
		uint32_t api;
	} key;
	const struct nvs_call_api *entry;
	uint64_t calls, submissions;
	bool uncounted; /* what they submitted is not known */
	struct nvs_times times; /* of those that returned, but for the loading ones */
	/* Launches that copied as well: what the kernel needed, its code above all. */
	struct nvs_times loading;
	uint64_t longest, begin; /* of TIMES: ticks */
};

struct nvs_facts_error {
	struct nvs_facts_error_key {
		uint32_t api, result;
	} key;
	const struct nvs_call_api *entry;
	uint64_t count;
};

struct nvs_facts {
	struct nvs_source *source;
	struct nvs_rows apis, errors;
	uint64_t calls;
	/* Of calls that were not made inside of others: first of all but those that set up. */
	struct nvs_total outermost[2];
	uint64_t instantiated, graph_launches; /* with success */
	struct nvs_total instantiating;
	uint64_t setup_submissions; /* by calls that set up */
	uint64_t launch_submissions, launch_bytes; /* of doorbells that launched something */
	uint64_t driver_launches; /* that the driver made in calls for copies and memsets */
	/* Of the submission in progress. */
	uint64_t launches;
};

/* S is going to be read into F. */
void nvs_facts_begin(struct nvs_facts *f, struct nvs_source *s, struct nvs_reader *reader);
/* Adds the counts, but for those by entry point. */
void nvs_facts_sum(struct nvs_facts *into, const struct nvs_facts *from);
void nvs_facts_free(struct nvs_facts *f);

/* Is it called to have contexts, modules and entry points at all? */
bool nvs_facts_is_setup(const struct nvs_call_api *api);
/* Host time, ns: in all calls, and in those of one entry point. */
uint64_t nvs_facts_all_ns(const struct nvs_facts *f);
uint64_t nvs_facts_ns(const struct nvs_facts_api *api);

#endif
