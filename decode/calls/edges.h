/* SPDX-License-Identifier: MIT */
/* Dependence edges between the nodes of an executable graph. */
#ifndef NVSNOOP_DECODE_CALLS_EDGES_H
#define NVSNOOP_DECODE_CALLS_EDGES_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/calls.h"

struct nvs_edges {
	struct nvs_graph_link *links;
	uint32_t n, room;
	bool known; /* the list is complete */
	/* The event whose records are being read: */
	struct nvs_graph_edge *told;
	uint32_t nevent_edges, event_edge_room, event;
	bool has_record; /* it has an edges record */
	bool is_incomplete; /* edges are missing, or refer to unknown nodes */
};

/* Begins an event that describes many nodes. */
void nvs_edges_begin(struct nvs_edges *e, uint32_t event);
/* Returns 0, -ENOMEM, or -E2BIG if there are more edges than the limit. */
int nvs_edges_record(struct nvs_edges *e, const struct nvs_rec_graph_edges *rec);
/* Ends the event: its N nodes replace those from AT to END. OTHERS: the graph has other nodes as
 * well. Returns as above. */
int nvs_edges_finish(struct nvs_edges *e, const struct nvs_graph_node *nodes, uint32_t n,
		     uint32_t at, uint32_t end, bool others);
void nvs_edges_free(struct nvs_edges *e);

/*
 * Computes the length of the longest dependence chain among the graph's N nodes; a child graph or
 * conditional node counts as the longest chain inside it. *LONGEST is 0 if unknown. Returns 0 or
 * -ENOMEM.
 */
int nvs_edges_longest_path(const struct nvs_edges *e, const struct nvs_graph_node *nodes,
			   uint32_t n, uint32_t *longest);

#endif
