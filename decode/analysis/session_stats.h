/* SPDX-License-Identifier: MIT */
/* Counts for the summary: calls by entry point, failures, and launches by doorbell. Memory use
 * depends on the number of entry points and errors, not of calls. */
#ifndef NVSNOOP_DECODE_ANALYSIS_SESSION_STATS_H
#define NVSNOOP_DECODE_ANALYSIS_SESSION_STATS_H

#include "decode/analysis/api_stats.h"
#include "decode/query/source.h"

struct nvs_session_api_stats {
	struct nvs_api_calls api; /* all calls of an entry point; TIMES is without LOADING */
	/* Launches that loaded the kernel's code. */
	struct nvs_durations loading;
	uint64_t longest, begin; /* ticks; of TIMES */
};

struct nvs_session_stats {
	struct nvs_source *source;
	struct nvs_api_calls_list apis; /* struct nvs_session_api_stats */
	uint64_t calls;
	/* Outermost calls: the first of all that do not set up. */
	struct nvs_duration_sum outermost[2];
	uint64_t instantiated, graph_launches; /* successful ones */
	struct nvs_duration_sum instantiating;
	uint64_t setup_submissions; /* by setup calls */
	uint64_t launch_submissions, launch_bytes; /* of doorbells that launched something */
	uint64_t driver_launches; /* made by the driver in copies and memsets */
	/* The current submission. */
	uint64_t launches;
};

/* Adds a reader that counts: see nvs_source_add_reader(). Returns 0 or -ENOMEM. */
int nvs_facts_begin(struct nvs_session_stats *f, struct nvs_source *s);
/* Adds the counts, except those by entry point. */
void nvs_facts_sum(struct nvs_session_stats *into, const struct nvs_session_stats *from);
void nvs_facts_free(struct nvs_session_stats *f);

/* Returns true if the API sets up contexts, modules and entry points. */
bool nvs_facts_is_setup(const struct nvs_call_api *api);
/* Host time of all calls, and of those of one entry point, ns. */
uint64_t nvs_facts_all_ns(const struct nvs_session_stats *f);
uint64_t nvs_facts_ns(const struct nvs_session_api_stats *api);

#endif
