/* SPDX-License-Identifier: MIT */
/* Rows of tables on their way from the reader of a trace to the export, which takes them in a
 * thread of its own: copied, so nothing in them belongs to the trace, and in order. */
#ifndef NVSNOOP_DECODE_EXPORT_ROW_QUEUE_H
#define NVSNOOP_DECODE_EXPORT_ROW_QUEUE_H

#include "decode/export/tables.h"

struct nvs_row_queue;

/* Returns NULL if memory is short. */
struct nvs_row_queue *nvs_row_queue_new(nvs_table_row_fn *row, void *arg);
/* Adds a copy of CELLS. Returns 0, or the failure of an earlier row. */
int nvs_row_queue_add(struct nvs_row_queue *q, enum nvs_table_id table,
		      const struct nvs_table_cell *cells);
/* Waits until the export has taken all rows. Returns 0, or the failure of one. */
int nvs_row_queue_drain(struct nvs_row_queue *q);
/* Rows that were not taken yet may be dropped. */
void nvs_row_queue_free(struct nvs_row_queue *q);

#endif
