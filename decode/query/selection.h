/* SPDX-License-Identifier: MIT */
/* The command line's filters, once the trace has been read; true: it passes. */
#ifndef NVSNOOP_DECODE_QUERY_SELECTION_H
#define NVSNOOP_DECODE_QUERY_SELECTION_H

#include "decode/calls/calls.h"
#include "decode/query/source.h"

bool nvs_filter_thread(const struct nvs_source *s, uint32_t thread);
bool nvs_filter_channel(const struct nvs_source *s, uint32_t channel);
bool nvs_filter_range(const struct nvs_source *s, const struct nvs_submission *sub);
/* By what is called: the name, or one of those that the stack tells. */
bool nvs_filter_api(const struct nvs_source *s, const char *api, uint32_t stack);
/* By range, thread and channel alone. */
bool nvs_filter_submission(const struct nvs_source *s, const struct nvs_submission *sub);
/* By what a call tells nothing of, for the one around it: number and channel. */
bool nvs_filter_around(const struct nvs_source *s, const struct nvs_submission *sub);
/* Does the command line speak of submissions, so that calls are taken by theirs? */
bool nvs_filter_by_submissions(const struct nvs_query *q);
/* Does it have filters by names, which are known when all has been read once? */
bool nvs_filter_by_name(const struct nvs_query *q);
/* By the ranges of NVTX that THREAD had pushed at TIME, while the trace is read. */
bool nvs_filter_nvtx(const struct nvs_source *s, uint32_t thread, uint64_t time);
/* A range or a mark itself, at its beginning and at its end alike. */
struct nvs_nvtx_event;
bool nvs_filter_range_of(const struct nvs_source *s, const struct nvs_nvtx_event *e);
/* By all of them. */
bool nvs_filter(const struct nvs_source *s, const struct nvs_submission *sub,
		const struct nvs_call *call);
/* With SUB, the PRINTED-th one, all that was asked for has been printed. */
bool nvs_filter_past(const struct nvs_source *s, const struct nvs_submission *sub,
		     uint64_t printed);
/* Does the command line select this call? Readers that follow handles are handed all of them. */
bool nvs_filter_call(const struct nvs_source *s, const struct nvs_call *call);
/* Has the command line a filter at all? */
bool nvs_filter_asked(const struct nvs_query *q);
/* On stderr: what there is none of in the N traces, and what was meant perhaps. */
void nvs_filter_explain(const struct nvs_source *sources, uint32_t n);
/* By API and thread alone. */
bool nvs_filter_call_name(const struct nvs_source *s, const struct nvs_call *call);

#endif
