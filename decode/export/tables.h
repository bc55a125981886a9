/* SPDX-License-Identifier: MIT */
/* A trace as tables, the same for every export with tables: their columns, and their rows as the
 * traces are walked. docs/exports.md lists the columns. */
#ifndef NVSNOOP_DECODE_EXPORT_TABLES_H
#define NVSNOOP_DECODE_EXPORT_TABLES_H

#include "decode/export/events.h"
#include "decode/report/core/report.h"

struct nvs_cell_column {
	const char *name;
	bool text; /* else numbers */
};

enum nvs_table_id {
	NVS_TABLE_PROCESS,
	NVS_TABLE_GPU,
	NVS_TABLE_THREAD,
	NVS_TABLE_CHANNEL,
	NVS_TABLE_CALL,
	NVS_TABLE_LAUNCH,
	NVS_TABLE_LAUNCH_POINTER,
	NVS_TABLE_SUBMISSION,
	NVS_TABLE_RELEASE,
	NVS_TABLE_GPU_WORK,
	NVS_TABLE_RANGE,
	NVS_TABLE_GRAPH,
	NVS_TABLE_GRAPH_NODE,
	NVS_TABLE_GRAPH_EDGE,
	NVS_TABLE_FRAME,
	NVS_TABLE_MEMORY,
	NVS_TABLES,
};

extern const struct nvs_table_layout {
	const char *name;
	const struct nvs_cell_column *columns;
	uint32_t ncolumns;
} nvs_tables[NVS_TABLES];

#define NVS_CELLS_MOST 32 /* maximum columns of a table */

struct nvs_table_cell {
	bool known; /* else null */
	bool same; /* the value of the table's row before, certainly */
	int64_t number; /* unsigned 64-bit values keep their bits */
	const char *text; /* as in the trace, not escaped */
};

/* Takes a row; returns 0 or -errno. A text stays valid while it is that of the table's next rows.
 */
typedef int nvs_table_row_fn(void *arg, enum nvs_table_id table,
			     const struct nvs_table_cell *cells);
/* Passes every row of RUN's traces to ROW, in another thread. Before the rows of each trace, calls
 * BEGIN if it is not NULL, while ROW is not running. */
int nvs_tables_deliver(struct nvs_run *run,
		       int (*begin)(void *arg, const struct nvs_event_stream *w),
		       nvs_table_row_fn *row, void *arg);

#endif
