/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the graph study: chains of kernels, result rows, evaluation. */
#ifndef NVSNOOP_PROBE_STUDIES_GRAPH_H
#define NVSNOOP_PROBE_STUDIES_GRAPH_H

#include "probe/studies.h"

/* ---- chain.c: consecutive kernels on one stream, as a graph and one by one ---- */

struct probe_chain {
	void *stream, *module, *kernel;
	struct probe_memory data;
	void *graph, *exec; /* of the current chain */
	double instantiate_us;
};

/* Exits if the driver has no graphs. */
void probe_chain_open(struct probe_chain *c);
/* Captures, instantiates and uploads a graph of N kernels, and waits. */
void probe_chain_build(struct probe_chain *c, uint32_t n);
void probe_chain_destroy(struct probe_chain *c);
void probe_chain_close(struct probe_chain *c);
/* Return the microseconds spent in the calls; they do not wait for the GPU. */
double probe_chain_launch(struct probe_chain *c);
double probe_chain_kernels(struct probe_chain *c, uint32_t n);
void probe_chain_wait(struct probe_chain *c);

/* ---- one length ---- */

struct probe_launches {
	uint32_t nodes;
	double us_p50, us_p10, us_p90; /* launches after a synchronize */
	double back_to_back_us; /* back-to-back launches, the median; NAN if there are none */
	double kernels_us; /* all calls that launch the kernels one by one, the median */
	double instantiate_us;
	/* From the recording; NAN if unknown: */
	double bytes_first, bytes, doorbells, entries, back_to_back_bytes;
	double upload_bytes, kernels_bytes, kernels_doorbells;
};

/* Runs the same launches again, recorded, and fills in the recorded values. */
void probe_graph_record(const struct probe_options *options, struct probe_launches *rows,
			uint32_t n);

/* ---- graph_result.c ---- */

struct probe_table;
/* Adds notes to the table: published results, steps, fits. */
void probe_graph_derive(struct probe_table *table, const struct probe_launches *rows, uint32_t n);
/* Writes plots to FOLDER. */
void probe_graph_draw(const struct probe_launches *rows, uint32_t n,
		      const struct probe_session *session, const char *folder);

#endif
