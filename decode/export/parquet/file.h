/* SPDX-License-Identifier: MIT */
/*
 * A Parquet file of one table, written as rows come: columns of 64-bit numbers and of text, all of
 * which may be null. Some thousand rows are held, then written as a row group; text by a dictionary
 * for each group; pages are zstd.
 */
#ifndef NVSNOOP_DECODE_EXPORT_PARQUET_FILE_H
#define NVSNOOP_DECODE_EXPORT_PARQUET_FILE_H

#include <stdio.h>
#include "decode/export/tables.h"

struct nvs_parquet;

/* Into FILE, which stays the caller's. NULL: no memory. */
struct nvs_parquet *nvs_parquet_new(FILE *file, const struct nvs_tables_one *table);
/* 0 or -ENOMEM. */
int nvs_parquet_row(struct nvs_parquet *p, const struct nvs_cell *cells);
/* What the file says of itself beside its rows. */
struct nvs_parquet_note {
	const char *key;
	char value[256];
};
/* What is held, and the end of the file. 0 or -ENOMEM. */
int nvs_parquet_end(struct nvs_parquet *p, const struct nvs_parquet_note *notes, uint32_t nnotes);
void nvs_parquet_free(struct nvs_parquet *p);

#endif
