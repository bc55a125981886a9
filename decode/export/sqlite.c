/* SPDX-License-Identifier: MIT */
/* --export=sqlite: the database of database.h as a file. */
#include "decode/export/database.h"
#include "decode/report/core/report.h"

static int print(struct nvs_run *run)
{
	const char *path = run->options->print.output;
	struct nvs_database db = {NULL};
	int r = nvs_database_open(&db, path, path);

	if (!r)
		r = nvs_database_fill(&db, run);
	nvs_database_close(&db);
	return r;
}

NVS_REPORT(export_sqlite, .name = "export=sqlite", .group = NVS_EXPORTS, .place = 330,
	   .help = "an SQLite database: calls, submissions, ranges and "
		   "more, also by Nsight Systems' tables; -o FILE",
	   .man = "An SQLite database in the file of\n.BR \\-o .\nCalls, submissions, ranges, "
		  "channels, graphs and stacks are in nvsnoop's own tables (NVSNOOP_CALL ...); "
		  "calls, ranges, threads and stacks are also\nin the tables of Nsight Systems "
		  "(CUPTI_ACTIVITY_KIND_RUNTIME, NVTX_EVENTS ...), for tools written for it. GPU "
		  "work, by the times of\n.BR timing=work ,\nis in NVSNOOP_GPU_WORK; kernels, "
		  "copies and memsets with a separate time are also in CUPTI_ACTIVITY_KIND_KERNEL, "
		  "_MEMCPY and _MEMSET.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_NAMES, .prints = NVS_PRINTS_TEXT | NVS_PRINTS_FILE,
	   .print = print);
