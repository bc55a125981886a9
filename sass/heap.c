/* SPDX-License-Identifier: MIT */
/* Memory from malloc, for our own programs. */
#include <stdlib.h>
#include "sass/sass.h"

static void *get_zeroed(void *arg, size_t size)
{
	return calloc(1, size);
}

static void put_back(void *arg, void *p, size_t size)
{
	free(p);
}

const struct nvs_sass_memory nvs_sass_heap = {.get = get_zeroed, .put = put_back};
