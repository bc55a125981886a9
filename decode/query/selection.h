/* SPDX-License-Identifier: MIT */
/* The command line's filters, once the trace has been read; true: it passes. */
#ifndef NVSNOOP_DECODE_QUERY_SELECTION_H
#define NVSNOOP_DECODE_QUERY_SELECTION_H

#include "decode/calls/calls.h"
#include "decode/query/source.h"

bool nvs_filter_thread(const struct nvs_source *s, uint32_t thread);
bool nvs_filter_channel(const struct nvs_source *s, uint32_t channel);
/* By API: its name, or a name on the stack. */
bool nvs_filter_api(const struct nvs_source *s, const char *api, uint32_t stack);
/* By range, thread and channel only. */
bool nvs_filter_submission(const struct nvs_source *s, const struct nvs_submission *sub);
/* By number and channel only: what the enclosing call cannot be filtered by. */
bool nvs_filter_around(const struct nvs_source *s, const struct nvs_submission *sub);
/* Returns true if filters select submissions, so that calls are selected by theirs. */
bool nvs_filter_by_submissions(const struct nvs_query *q);
/* Returns true if there are filters by name: names are known after the first pass only. */
bool nvs_filter_by_name(const struct nvs_query *q);
/* By the NVTX ranges open on THREAD at TIME, while the trace is read. */
bool nvs_filter_nvtx(const struct nvs_source *s, uint32_t thread, uint64_t time);
/* A range or a mark itself; the same answer at its begin and end. */
struct nvs_nvtx_event;
bool nvs_filter_nvtx_event(const struct nvs_source *s, const struct nvs_nvtx_event *e);
/* By all filters. */
bool nvs_filter_selects(const struct nvs_source *s, const struct nvs_submission *sub,
			const struct nvs_call *call);
/* Returns true if nothing after SUB, which was printed as number PRINTED, is selected. */
bool nvs_filter_is_past_end(const struct nvs_source *s, const struct nvs_submission *sub,
			    uint64_t printed);
/* For readers that need all calls to follow handles: true if CALL is selected. */
bool nvs_filter_call(const struct nvs_source *s, const struct nvs_call *call);
/* Returns true if there is any filter. */
bool nvs_filter_is_set(const struct nvs_query *q);
/* Prints on stderr which filters match nothing in the N traces, and near names. */
void nvs_filter_explain(const struct nvs_source *sources, uint32_t n);
/* By API and thread only. */
bool nvs_filter_call_name(const struct nvs_source *s, const struct nvs_call *call);

#endif
