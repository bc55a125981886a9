/* SPDX-License-Identifier: MIT */
/* Sums up the counter records of a trace by kernel name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/hash.h"
#include "decode/analysis/instruction_counts.h"

static uint64_t key_of(const char *name, size_t length)
{
	uint64_t hash = nvs_hash64(name, length);

	return hash ? hash : 1;
}

/* A counter number may be reused: the last record holds. */
static int set_text(char **to, const char *text, size_t length)
{
	free(*to);
	*to = strndup(text, length);
	return *to ? 0 : -ENOMEM;
}

static int add_image(struct nvs_kernel_counts *c, const struct nvs_rec_counter *rec)
{
	uint64_t key = key_of(rec->text, rec->reason_length);
	struct nvs_image_reason_count *row = nvs_rows_at(&c->images, &key);

	if (!row || (!row->reason && set_text(&row->reason, rec->text, rec->reason_length)))
		return -ENOMEM;
	row->images++;
	return 0;
}

static int set_counter(struct nvs_kernel_counts *c, const struct nvs_rec_counter *rec)
{
	uint64_t key = key_of(rec->text, rec->length);
	struct nvs_kernel_count *row;

	c->first = rec->first;
	c->end = rec->end;
	if (!rec->length)
		return add_image(c, rec);
	row = nvs_rows_at(&c->rows, &key);
	if (!row || (!row->name && set_text(&row->name, rec->text, rec->length)))
		return -ENOMEM;
	if (rec->rec.flags & (NVS_COUNT_WARP | NVS_COUNT_THREAD))
		row->flags |= rec->rec.flags;
	else if (set_text(&row->reason, rec->text + rec->length, rec->reason_length))
		return -ENOMEM;
	row->instructions = rec->instructions;
	row->registers[0] = rec->registers[0];
	row->registers[1] = rec->registers[1];
	/* An absurd number: ignore it. */
	return nvs_number_set(&c->counters, rec->counter, row) == -ENOMEM ? -ENOMEM : 0;
}

static void add_counts(struct nvs_kernel_counts *c, const struct nvs_rec_count *rec)
{
	c->last_unread = rec->rec.flags & NVS_COUNT_UNREAD;
	c->unread += c->last_unread;
	for (uint32_t i = 0; i < rec->ncounts; i++) {
		const struct nvs_count *count = rec->counts + i;
		struct nvs_kernel_count *row = nvs_kernel_counts_at(c, count->counter);

		if (!row)
			continue;
		row->warp += count->warp;
		row->thread += count->thread;
		row->wrapped |= count->flags & NVS_COUNT_WRAPPED ? NVS_COUNT_THREAD : 0;
		row->wrapped |= count->flags & NVS_COUNT_WARPS_WRAPPED ? NVS_COUNT_WARP : 0;
	}
}

int nvs_kernel_counts_record(struct nvs_kernel_counts *c, const struct nvs_rec *rec)
{
	if (!c->rows.size) {
		c->rows = NVS_ROWS(struct nvs_kernel_count, hash);
		c->images = NVS_ROWS(struct nvs_image_reason_count, hash);
	}
	if (rec->type == NVS_REC_COUNTER)
		return set_counter(c, (const void *)rec);
	if (rec->type == NVS_REC_COUNT)
		add_counts(c, (const void *)rec);
	return 0;
}

struct nvs_kernel_count *nvs_kernel_counts_find(const struct nvs_kernel_counts *c, const char *name)
{
	uint64_t key = key_of(name, strlen(name));

	return c->rows.n ? nvs_rows_find(&c->rows, &key) : NULL;
}

static void free_row(void *row)
{
	free(((struct nvs_kernel_count *)row)->name);
	free(((struct nvs_kernel_count *)row)->reason);
}

static void free_image(void *row)
{
	free(((struct nvs_image_reason_count *)row)->reason);
}

void nvs_kernel_counts_free(struct nvs_kernel_counts *c)
{
	nvs_numbers_free(&c->counters, NULL);
	nvs_rows_free(&c->rows, free_row);
	nvs_rows_free(&c->images, free_image);
}
