/* SPDX-License-Identifier: MIT */
/* Edges of an executable graph: which of its nodes wait for which. */
#ifndef NVSNOOP_DECODE_CALLS_EDGES_H
#define NVSNOOP_DECODE_CALLS_EDGES_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/calls.h"

struct nvs_edges {
	struct nvs_graph_link *links;
	uint32_t n, room;
	bool known; /* there are no others */
	/* Of the event that is being told: */
	struct nvs_graph_edge *told;
	uint32_t ntold, told_room, event;
	bool heard; /* any record */
	bool lacking; /* not all of them are told, or not of what they are */
};

/* An event begins, one that tells many nodes. */
void nvs_edges_begin(struct nvs_edges *e, uint32_t event);
/* 0, -ENOMEM, or -E2BIG: more edges than are kept. */
int nvs_edges_record(struct nvs_edges *e, const struct nvs_rec_graph_edges *rec);
/* The event is over: its N nodes take the place of those from AT to END; OTHERS: of a graph that
 * has others. As above. */
int nvs_edges_settle(struct nvs_edges *e, const struct nvs_graph_node *nodes, uint32_t n,
		     uint32_t at, uint32_t end, bool others);
void nvs_edges_free(struct nvs_edges *e);

/* Of the graph's N nodes, how many are in a row where each waits for the one before it; a child
 * graph, or a conditional node, is as many as the longest such row in it. 0: not known. 0 or
 * -ENOMEM. */
int nvs_edges_longest(const struct nvs_edges *e, const struct nvs_graph_node *nodes, uint32_t n,
		      uint32_t *longest);

#endif
