/* SPDX-License-Identifier: MIT */
/* An SQLite database of traces: our tables (NVSNOOP_CALL and so on), and derived from them the
 * tables of Nsight Systems' export with the same meaning, names and columns; their rows have all
 * times known. Kernels, copies and memsets in those tables come from submissions with a GPU time
 * that held one of them and nothing else, and did not wait for other work. */
#ifndef NVSNOOP_DECODE_EXPORT_DATABASE_H
#define NVSNOOP_DECODE_EXPORT_DATABASE_H

#include <sqlite3.h>
#include "decode/export/tables.h"
#include "decode/report/core/report.h"

struct nvs_database {
	const char *name; /* in messages */
	sqlite3 *db;
	sqlite3_stmt *insert[NVS_TABLES];
	bool unused[NVS_TABLES]; /* not filled */
	bool ours; /* the tables of Nsight Systems are not filled */
};

/* All return 0, or -errno after a message. Creates the tables in the file PATH, or if that is "" in
 * a temporary file that ends with the program. Close DB in either case. */
int nvs_database_open(struct nvs_database *db, const char *path, const char *name);
int nvs_database_fill(struct nvs_database *db, struct nvs_run *run);
void nvs_database_close(struct nvs_database *db);

/* Table by its name in the database; NVS_TABLES: not one of ours. */
enum nvs_table_id nvs_database_table(const char *name);
/* Prints the database's message; returns -EIO. */
int nvs_database_error(const struct nvs_database *db);

#endif
