/* SPDX-License-Identifier: MIT */
/* What the parts of the study of graphs share: chains of kernels, what a row holds, its outcome. */
#ifndef NVSNOOP_PROBE_STUDIES_GRAPH_H
#define NVSNOOP_PROBE_STUDIES_GRAPH_H

#include "probe/studies.h"

/* ---- chain.c: kernels behind each other on one stream, as a graph and one by one ---- */

struct probe_chain {
	void *stream, *module, *kernel;
	struct probe_memory data;
	void *graph, *exec; /* of the chain that is there */
	double instantiate_us;
};

/* Ends the program where the driver has no graphs. */
void probe_chain_open(struct probe_chain *c);
/* The graph of N kernels: captured, instantiated, uploaded, and all of it done. */
void probe_chain_make(struct probe_chain *c, uint32_t n);
void probe_chain_drop(struct probe_chain *c);
void probe_chain_close(struct probe_chain *c);
/* These return microseconds in the calls, and do not wait for the GPU. */
double probe_chain_launch(struct probe_chain *c);
double probe_chain_kernels(struct probe_chain *c, uint32_t n);
void probe_chain_wait(struct probe_chain *c);

/* ---- one length ---- */

struct probe_launches {
	uint32_t nodes;
	double us_p50, us_p10, us_p90; /* launches behind a synchronise */
	double back_to_back_us; /* those behind another, the median; NAN where there is none */
	double kernels_us; /* of all calls that launch the kernels one by one, the median */
	double instantiate_us;
	/* As recorded, NAN where it is not known: */
	double bytes_first, bytes, doorbells, entries, back_to_back_bytes;
	double upload_bytes, kernels_bytes, kernels_doorbells;
};

/* Lengths asked for, in order, to ROWS (PROBE_NODES_MAX of them at most); how many. */
uint32_t probe_graph_plan(const struct probe_options *options, struct probe_launches *rows);
/* Runs the same once more, recorded, and fills in what is known by it. */
void probe_graph_record(const struct probe_options *options, struct probe_launches *rows,
			uint32_t n);

/* ---- graph_result.c ---- */

struct probe_table;
/* Adds to the table's notes: what was published, steps, fits. */
void probe_graph_derive(struct probe_table *table, const struct probe_launches *rows, uint32_t n);
/* Pictures into FOLDER. */
void probe_graph_draw(const struct probe_launches *rows, uint32_t n,
		      const struct probe_session *session, const char *folder);

#endif
