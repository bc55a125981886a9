/* SPDX-License-Identifier: MIT */
/* LINK: cli decode decode/export/parquet/file.o decode/export/parquet/delta.o */
/* LINK: decode/export/parquet/thrift.o decode/export/proto.o */
/* A table of few rows takes little of the memory that a trace may take: a trace has many tables. */
#include <stdlib.h>
#include "decode/base/budget.h"
#include "decode/export/parquet/file.h"
#include "decode/export/tables.h"
#include "tests/unit/expect.h"

#define COLUMNS 16
#define MOST (512u << 10) /* bytes of a table with one row; zstd's are not counted */

int main(void)
{
	static struct nvs_cell_column columns[COLUMNS];
	static struct nvs_table_cell cells[COLUMNS];
	struct nvs_table_layout table = {"few", columns, COLUMNS};
	FILE *file = fopen("/dev/null", "w");
	uint64_t before = nvs_budget_left(), taken;
	struct nvs_parquet *p;

	for (int i = 0; i < COLUMNS; i++) {
		columns[i] = (struct nvs_cell_column){"column", i % 2};
		cells[i] = (struct nvs_table_cell){.known = true, .number = i, .text = "text"};
	}
	p = nvs_parquet_new(file, &table);
	EXPECT(p != NULL);
	EXPECT(!nvs_parquet_row(p, cells));
	taken = before - nvs_budget_left();
	if (taken > MOST)
		printf("one row takes %llu bytes\n", (unsigned long long)taken);
	EXPECT(taken <= MOST);
	/* A second row group begins as the first did. */
	for (int i = 0; i < 40000; i++)
		EXPECT(!nvs_parquet_row(p, cells));
	EXPECT(!nvs_parquet_end(p, NULL, 0));
	nvs_parquet_free(p);
	fclose(file);
	EXPECT(before == nvs_budget_left());
	return expect_done();
}
