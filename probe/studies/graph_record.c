/* SPDX-License-Identifier: MIT */
/* Measures what the launches of graph.c submit, from a trace of a second run of this program. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "probe/studies/graph.h"
#include "probe/lib/self_recording.h"

#define REPEAT 20 /* launches of each kind: the default of the internal study */

struct recording {
	struct probe_launches *rows;
	uint32_t n;
	struct probe_launches *row; /* row being filled */
	uint32_t launches; /* launches of its graph so far */
	uint32_t kernels; /* kernels launched one by one so far */
	double kernels_bytes, kernels_doorbells;
	double upload_bytes; /* of the next graph */
	double bytes[2 * REPEAT], doorbells[REPEAT], entries[REPEAT];
};

/* Stores the results of a length once all its launches have been seen. */
static void finish_row(struct recording *r)
{
	struct probe_launches *row = r->row;

	if (!row || r->launches != 2 * REPEAT)
		return;
	row->upload_bytes = r->upload_bytes;
	row->bytes_first = r->bytes[0];
	row->bytes = probe_median(r->bytes, REPEAT);
	row->doorbells = probe_median(r->doorbells, REPEAT);
	row->entries = probe_median(r->entries, REPEAT);
	/* The first back-to-back launch also follows a synchronize. */
	row->back_to_back_bytes = probe_median(r->bytes + REPEAT + 1, REPEAT - 1);
	if (r->kernels != row->nodes)
		return;
	row->kernels_bytes = r->kernels_bytes;
	row->kernels_doorbells = r->kernels_doorbells;
}

/* One launch without complete data invalidates its length. */
static void discard_row(struct recording *r)
{
	r->row = NULL;
}

static void begin_row(struct recording *r, uint32_t nodes)
{
	finish_row(r);
	r->row = NULL;
	r->launches = r->kernels = 0;
	r->kernels_bytes = r->kernels_doorbells = 0;
	for (uint32_t i = 0; i < r->n; i++)
		if (r->rows[i].nodes == nodes)
			r->row = &r->rows[i];
}

static int on_graph(void *arg, struct nvs_trace *trace, const struct nvs_graph *graph)
{
	struct recording *r = arg;
	const struct nvs_call *call = graph->call;
	uint32_t i;

	if (graph->event != NVS_GRAPH_LAUNCHED)
		return 0;
	if (!r->row || r->row->nodes != graph->nnodes)
		begin_row(r, graph->nnodes);
	i = r->launches++;
	if (!nvs_call_ran(call) || call->uncounted || i >= 2 * REPEAT) {
		discard_row(r);
		return 0;
	}
	r->bytes[i] = (double)call->bytes;
	if (i < REPEAT) {
		r->doorbells[i] = (double)call->submissions;
		r->entries[i] = (double)call->entries;
	}
	return 0;
}

static int on_call(void *arg, struct nvs_trace *trace, const struct nvs_call *call)
{
	struct recording *r = arg;

	if (!nvs_call_ran(call))
		return 0;
	if (!strcmp(nvs_call_api_name(call), "cuGraphUpload")) {
		finish_row(r);
		r->row = NULL;
		r->upload_bytes = (double)call->bytes;
	} else if (r->row && nvs_call_group(call) == NVS_CALL_GROUP_LAUNCH) {
		r->kernels++;
		r->kernels_bytes += (double)call->bytes;
		r->kernels_doorbells += (double)call->submissions;
	}
	return 0;
}

static int on_record(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec)
{
	if (rec->type == NVS_REC_GAP)
		discard_row(arg);
	return 0;
}

void probe_graph_record(const struct probe_options *o, struct probe_launches *rows, uint32_t n)
{
	struct nvs_consumer consumer = {
		.size = sizeof(consumer),
		.graph = on_graph,
		.call = on_call,
		.record = on_record,
	};
	struct recording r = {.rows = rows, .n = n};
	struct probe_child_run run;
	char gpu[32], nodes[64], repeat[32];

	snprintf(gpu, sizeof(gpu), "--gpu=%d", o->gpu);
	snprintf(nodes, sizeof(nodes), "--nodes=%u-%u", rows[0].nodes, rows[n - 1].nodes);
	snprintf(repeat, sizeof(repeat), "--repeat=%d", REPEAT);
	for (uint32_t i = 0; i < n; i++)
		rows[i].bytes_first = rows[i].bytes = rows[i].doorbells = rows[i].entries =
			rows[i].back_to_back_bytes = rows[i].upload_bytes = rows[i].kernels_bytes =
				rows[i].kernels_doorbells = NAN;
	probe_run_child(&run, (const char *const[]){"graph-launches", gpu, nodes, repeat, NULL},
			true);
	probe_child_read_trace(&run, &consumer, &r);
	finish_row(&r);
	probe_child_free(&run);
}
