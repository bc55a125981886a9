/* SPDX-License-Identifier: MIT */
/* The C library's memory, for programs of our own. */
#include <stdlib.h>
#include "sass/sass.h"

static void *get(void *arg, size_t size)
{
	return calloc(1, size);
}

static void put(void *arg, void *p, size_t size)
{
	free(p);
}

const struct nvs_sass_memory nvs_sass_heap = {.get = get, .put = put};
