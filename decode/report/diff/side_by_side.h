/* SPDX-License-Identifier: MIT */
/* The table of --diff: rows by name, with the counts of both traces. */
#ifndef NVSNOOP_DECODE_REPORT_DIFF_SIDE_BY_SIDE_H
#define NVSNOOP_DECODE_REPORT_DIFF_SIDE_BY_SIDE_H

#include "decode/report/diff/diff.h"
#include "decode/report/core/report.h"

enum { NVS_DIFF_API, NVS_DIFF_KERNEL, NVS_DIFF_GRAPH, NVS_DIFF_SITE, NVS_DIFF_KINDS };

struct nvs_diff_count {
	uint64_t calls, submissions, methods;
	uint64_t bytes; /* without those of waits */
	uint64_t waits, wait_bytes;
	uint64_t timed, timed_bytes; /* small copies sent in another way than in the other trace */
	struct nvs_duration_sum host;
};

/* The submission in progress. */
struct nvs_diff_tally {
	uint64_t id;
	uint64_t row[NVS_DIFF_KINDS];
	struct nvs_diff_count count;
	struct nvs_tally ops;
};

struct nvs_diff_row;

struct nvs_diff_state {
	struct nvs_rows rows, group, loose_group;
	struct nvs_diff_side side[2];
	struct nvs_diff_tally tally;
	struct nvs_diff_row *all; /* sums over all rows */
	uint64_t unmatched[2]; /* submissions without a mate */
	uint32_t unordered; /* threads */
	bool uncounted; /* level=counts in one trace: submissions unknown */
	bool unread; /* level=headers or counts in one: their contents unknown */
	int status; /* -errno of the first failure */
};

void nvs_diff_rows_begin(struct nvs_diff_state *st);
void nvs_diff_rows_free(struct nvs_diff_state *st);
/* Returns the index of a row, from 1, and creates it if missing. Returns 0 and sets status if
 * out of memory. */
uint64_t nvs_diff_row_at(struct nvs_diff_state *st, int kind, const char *name, const char *module,
			 uint64_t number);
/* Counts of a row in the trace being read. Row 0 has the sums. */
struct nvs_diff_count *nvs_diff_count_at(struct nvs_diff_each *e, uint64_t row);
void nvs_diff_count_add(struct nvs_diff_count *into, const struct nvs_diff_count *from);
/* Counts S, of trace WHICH, as changed, moved or without a mate. */
void nvs_diff_count_result(struct nvs_diff_state *st, uint64_t row, int which,
			   const struct nvs_diff_submission *s, bool new_pair);
int nvs_diff_rows_print(struct nvs_run *run, struct nvs_diff_state *st);

extern const struct nvs_column nvs_diff_columns[];
#define NVS_DIFF_NCOLUMNS 25
#define NVS_DIFF_COLUMNS .columns = nvs_diff_columns, .ncolumns = NVS_DIFF_NCOLUMNS

#endif
