/* SPDX-License-Identifier: MIT */
/* Batches of rows, and the thread that passes them on. */
#include "decode/export/row_queue.h"
#include <errno.h>
#include "decode/base/batches.h"
#include "decode/export/export_text.h"

#define BATCH_ROWS 512u
#define BATCH_CELLS (16u * BATCH_ROWS)
/* At least the texts of one row. */
#define BATCH_TEXT (2u * NVS_CELLS_MOST * (NVS_EXPORT_TEXT + 1))

struct row_batch {
	struct nvs_row_queue *queue;
	int status; /* of the rows that were passed on */
	uint32_t nrows, ncells, ntext;
	uint8_t table[BATCH_ROWS];
	struct nvs_table_cell cells[BATCH_CELLS];
	char text[BATCH_TEXT];
};

struct nvs_row_queue {
	nvs_table_row_fn *row;
	void *arg;
	struct nvs_batches batches; /* of struct row_batch */
	const struct nvs_table_cell *last[NVS_TABLES]; /* row before, in the same batch */
	int failed; /* of a row; belongs to the thread while it has a batch */
};

static void pass_rows(void *job)
{
	struct row_batch *b = job;
	struct nvs_row_queue *q = b->queue;
	const struct nvs_table_cell *cells = b->cells;

	for (uint32_t i = 0; i < b->nrows && !q->failed; i++) {
		enum nvs_table_id table = (enum nvs_table_id)b->table[i];

		q->failed = q->row(q->arg, table, cells);
		cells += nvs_tables[table].ncolumns;
	}
	b->status = q->failed;
}

struct nvs_row_queue *nvs_row_queue_new(nvs_table_row_fn *row, void *arg)
{
	struct nvs_row_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->row = row;
	q->arg = arg;
	if (!nvs_batches_init(&q->batches, sizeof(struct row_batch), pass_rows))
		return q;
	free(q);
	return NULL;
}

void nvs_row_queue_free(struct nvs_row_queue *q)
{
	if (!q)
		return;
	nvs_batches_free(&q->batches, NULL);
	free(q);
}

/* Makes the next batch the current one. Returns 0, or the failure of an earlier row. */
static int start_batch(struct nvs_row_queue *q)
{
	struct row_batch *b;

	nvs_batches_put(&q->batches);
	memset(q->last, 0, sizeof(q->last));
	b = nvs_batches_start(&q->batches);
	if (!b)
		return -ENOMEM;
	b->queue = q;
	b->nrows = b->ncells = b->ntext = 0;
	return b->status;
}

static bool has_room(const struct row_batch *b, uint32_t ncolumns)
{
	return b->nrows < BATCH_ROWS && BATCH_CELLS - b->ncells >= ncolumns &&
	       BATCH_TEXT - b->ntext >= BATCH_TEXT / 2;
}

/* What exports cut off is not copied. */
static void copy_text(struct row_batch *b, struct nvs_table_cell *cell,
		      const struct nvs_table_cell *last)
{
	size_t n;

	cell->same = last && last->known && !strcmp(last->text, cell->text);
	if (cell->same) {
		cell->text = last->text;
		return;
	}
	n = strnlen(cell->text, NVS_EXPORT_TEXT);
	memcpy(b->text + b->ntext, cell->text, n);
	b->text[b->ntext + n] = '\0';
	cell->text = b->text + b->ntext;
	b->ntext += (uint32_t)n + 1;
}

int nvs_row_queue_add(struct nvs_row_queue *q, enum nvs_table_id table,
		      const struct nvs_table_cell *cells)
{
	const struct nvs_table_layout *t = nvs_tables + table;
	const struct nvs_table_cell *last;
	struct nvs_table_cell *cell;
	struct row_batch *b = q->batches.now;
	int r = b && has_room(b, t->ncolumns) ? 0 : start_batch(q);

	if (r)
		return r;
	b = q->batches.now;
	last = q->last[table];
	q->last[table] = cell = b->cells + b->ncells;
	b->table[b->nrows++] = (uint8_t)table;
	b->ncells += t->ncolumns;
	for (uint32_t i = 0; i < t->ncolumns; i++, cell++) {
		*cell = cells[i];
		if (cell->known && t->columns[i].text)
			copy_text(b, cell, last ? last + i : NULL);
		else
			cell->same = last && last[i].known == cell->known &&
				     (!cell->known || last[i].number == cell->number);
	}
	return 0;
}

int nvs_row_queue_drain(struct nvs_row_queue *q)
{
	nvs_batches_drain(&q->batches);
	return q->failed;
}
