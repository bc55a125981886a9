/* SPDX-License-Identifier: MIT */
/* Bounded tables indexed by number. */
#ifndef NVSNOOP_DECODE_BASE_NUMBERS_H
#define NVSNOOP_DECODE_BASE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>
#include "nvsnoop/decode.h"

#define NVS_NUMBERS_PAGE 128u
struct nvs_numbers {
	void **page[NVS_MAX_NUMBER / NVS_NUMBERS_PAGE];
	uint32_t count; /* highest number + 1 */
};
static inline void *nvs_number_get(const struct nvs_numbers *table, uint32_t number)
{
	return number < NVS_MAX_NUMBER && table->page[number / NVS_NUMBERS_PAGE]
		       ? table->page[number / NVS_NUMBERS_PAGE][number % NVS_NUMBERS_PAGE]
		       : NULL;
}
int nvs_number_set(struct nvs_numbers *table, uint32_t number, void *item);
/* Returns the item at NUMBER. If there is none, adds one of BYTES zero bytes. Returns NULL if
 * memory is short. */
void *nvs_number_make(struct nvs_numbers *table, uint32_t number, size_t bytes);
void nvs_numbers_free(struct nvs_numbers *table,
		      void (*item)(void *)); /* called for each item; NULL if items are not
					      * pointers */

#endif
