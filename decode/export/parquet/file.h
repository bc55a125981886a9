/* SPDX-License-Identifier: MIT */
/* A Parquet file of one table, written row by row: nullable columns of 64-bit numbers or text. Rows
 * are buffered and written as row groups: numbers as differences, text with a dictionary per column
 * and group; pages are compressed by zstd. */
#ifndef NVSNOOP_DECODE_EXPORT_PARQUET_FILE_H
#define NVSNOOP_DECODE_EXPORT_PARQUET_FILE_H

#include <stdio.h>
#include "decode/export/tables.h"

struct nvs_parquet;

/* FILE belongs to the caller. Returns NULL if memory is short. */
struct nvs_parquet *nvs_parquet_new(FILE *file, const struct nvs_table_layout *table);
/* Returns 0 or -ENOMEM. */
int nvs_parquet_row(struct nvs_parquet *p, const struct nvs_table_cell *cells);
/* Key-value metadata of the file. */
struct nvs_parquet_note {
	const char *key;
	char value[256];
};
/* Writes buffered rows and the footer. Returns 0 or -ENOMEM. */
int nvs_parquet_end(struct nvs_parquet *p, const struct nvs_parquet_note *notes, uint32_t nnotes);
void nvs_parquet_free(struct nvs_parquet *p);

#endif
