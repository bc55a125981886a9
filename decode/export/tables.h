/* SPDX-License-Identifier: MIT */
/*
 * A trace as tables of our own, the same ones for every export that has tables: what stands in
 * them, and rows of them as the traces are walked through. docs/exports.md lists the columns.
 */
#ifndef NVSNOOP_DECODE_EXPORT_TABLES_H
#define NVSNOOP_DECODE_EXPORT_TABLES_H

#include "decode/export/events.h"
#include "decode/report/core/report.h"

struct nvs_cell_column {
	const char *name;
	bool text; /* else a number */
};

/* In this order. */
enum nvs_tables_of {
	NVS_TABLE_PROCESS,
	NVS_TABLE_GPU,
	NVS_TABLE_THREAD,
	NVS_TABLE_CHANNEL,
	NVS_TABLE_CALL,
	NVS_TABLE_LAUNCH,
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

extern const struct nvs_tables_one {
	const char *name;
	const struct nvs_cell_column *columns;
	uint32_t ncolumns;
} nvs_tables[NVS_TABLES];

#define NVS_CELLS_MOST 32 /* columns of a table */

struct nvs_cell {
	bool known; /* else it is null */
	int64_t number; /* what is wider has the bits of an unsigned one */
	const char *text; /* as it stands in the trace: not escaped */
};

/* Every row of RUN's traces to ROW, which returns 0 or -errno. */
typedef int nvs_tables_row(void *arg, const struct nvs_walk *w, enum nvs_tables_of table,
			   const struct nvs_cell *cells);
int nvs_tables_walk(struct nvs_run *run, nvs_tables_row *row, void *arg);

#endif
