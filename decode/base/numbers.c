/* SPDX-License-Identifier: MIT */
/* Two-level tables indexed by number: numbers above the maximum are refused, sparse ones cost
 * little. */
#include <errno.h>
#include <stdlib.h>
#include "decode/base/numbers.h"

int nvs_number_set(struct nvs_numbers *table, uint32_t number, void *item)
{
	void ***page;

	if (number >= NVS_MAX_NUMBER)
		return -E2BIG;
	page = &table->page[number / NVS_NUMBERS_PAGE];
	if (!*page)
		*page = calloc(NVS_NUMBERS_PAGE, sizeof(**page));
	if (!*page)
		return -ENOMEM;
	(*page)[number % NVS_NUMBERS_PAGE] = item;
	if (number >= table->count)
		table->count = number + 1;
	return 0;
}

void *nvs_number_make(struct nvs_numbers *table, uint32_t number, size_t bytes)
{
	void *item = nvs_number_get(table, number);

	if (item)
		return item;
	item = calloc(1, bytes);
	if (!item || !nvs_number_set(table, number, item))
		return item;
	free(item);
	return NULL;
}

void nvs_numbers_free(struct nvs_numbers *table, void (*item)(void *))
{
	for (size_t i = 0; i * NVS_NUMBERS_PAGE < table->count; i++) {
		for (size_t j = 0; table->page[i] && j < NVS_NUMBERS_PAGE; j++)
			if (item && table->page[i][j])
				item(table->page[i][j]);
		free(table->page[i]);
		table->page[i] = NULL;
	}
	table->count = 0;
}
