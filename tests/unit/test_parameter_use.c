/* SPDX-License-Identifier: MIT */
/* LINK: sass */
/* What kernels do with the memory of their parameters, by their code; damaged code. */
#include <errno.h>
#include <stdlib.h>
#include "sass/sass.h"
#include "tests/unit/expect.h"

/* Words of the parameters, as bits. UNKNOWN: those that must not count as only read. */
static const struct {
	const char *kernel;
	uint64_t loaded, stored, added, unknown;
} known[] = {
	{"saxpy", 3, 1, 0, 0},	      {"read_only", 1, 0, 0, 0}, {"histogram", 2, 0, 1, 0},
	{"gather", 6, 1, 0, 0},	      {"by_struct", 2, 1, 0, 0}, {"sum_list", 1, 2, 0, 0},
	{"scale_list", 3, 1, 0, 2},   {"keep", 0, 1, 0, 2},	 {"call", 3, 1, 0, 2},
	{"choose", 3, 0, 0, 3},	      {"transpose", 2, 1, 0, 0}, {"waiting", 2, 1, 0, 0},
	{"copy_vectors", 2, 1, 0, 0},
};
#define KNOWN (sizeof(known) / sizeof(*known))

static uint8_t *load(const char *path, size_t *size)
{
	uint8_t *data = malloc(1 << 20);
	FILE *f = fopen(path, "rb");

	if (!f) {
		perror(path);
		exit(1);
	}
	*size = fread(data, 1, 1 << 20, f);
	fclose(f);
	return realloc(data, *size);
}

static void check_kernel(const struct nvs_cubin *cubin, const struct nvs_cubin_function *f)
{
	struct nvs_sass_parameter_use use;
	size_t i = 0;

	while (i < KNOWN && strcmp(known[i].kernel, f->name) != 0)
		i++;
	EXPECT(i < KNOWN);
	EXPECT_EQ(nvs_sass_parameter_use(cubin, f, &nvs_sass_heap, &use), 0);
	if (i == KNOWN)
		return;
	/* A number that is a parameter may be an index; a pointer is not. */
	EXPECT_EQ(use.loaded & 3 & ~known[i].loaded, 0);
	EXPECT_EQ(known[i].loaded & ~use.loaded, 0);
	EXPECT_EQ(use.stored, known[i].stored);
	EXPECT_EQ(use.added, known[i].added);
	EXPECT_EQ(use.unknown & 3, known[i].unknown);
	EXPECT_EQ(use.waits, cubin->arch >= 90 && !strcmp(f->name, "waiting"));
}

static void check_cubin(const char *path)
{
	struct nvs_cubin_functions all;
	struct nvs_cubin cubin;
	size_t size;
	uint8_t *data = load(path, &size);
	uint32_t kernels = 0;

	EXPECT_EQ(nvs_cubin_open(&cubin, data, size), 0);
	EXPECT_EQ(nvs_cubin_functions(&cubin, &nvs_sass_heap, &all), 0);
	for (uint32_t i = 0; i < all.n; i++)
		if (all.function[i].kernel) {
			check_kernel(&cubin, all.function + i);
			kernels++;
		}
	EXPECT_EQ(kernels, KNOWN);
	nvs_cubin_functions_free(&all, &nvs_sass_heap);
	free(data);
}

/* Any code ends, within its bounds. */
static void check_damage(const char *path)
{
	struct nvs_sass_parameter_use use;
	struct nvs_cubin_functions all;
	struct nvs_cubin cubin;
	size_t size;
	uint8_t *data = load(path, &size);

	for (uint32_t round = 0; round < 60; round++) {
		EXPECT_EQ(nvs_cubin_open(&cubin, data, size), 0);
		EXPECT_EQ(nvs_cubin_functions(&cubin, &nvs_sass_heap, &all), 0);
		for (uint32_t i = 0; i < all.n; i++) {
			uint8_t *code = (uint8_t *)all.function[i].code;

			code[(round * 7919u + i * 31u) % all.function[i].size] ^=
				(uint8_t)(1u << round % 8);
			if (all.function[i].kernel)
				EXPECT_EQ(nvs_sass_parameter_use(&cubin, all.function + i,
								 &nvs_sass_heap, &use),
					  0);
		}
		nvs_cubin_functions_free(&all, &nvs_sass_heap);
	}
	free(data);
}

static void *get_nothing(void *arg, size_t size)
{
	uint32_t *left = arg;

	return (*left)-- ? calloc(1, size) : NULL;
}

static void put_back(void *arg, void *p, size_t size)
{
	free(p);
}

static void check_memory(const char *path)
{
	struct nvs_sass_parameter_use use;
	struct nvs_cubin_functions all;
	struct nvs_cubin cubin;
	size_t size;
	uint8_t *data = load(path, &size);
	int r = -ENOMEM;

	nvs_cubin_open(&cubin, data, size);
	nvs_cubin_functions(&cubin, &nvs_sass_heap, &all);
	for (uint32_t n = 0; r && n < 9; n++) {
		uint32_t left = n;
		const struct nvs_sass_memory memory = {get_nothing, put_back, &left};

		EXPECT_EQ(r, -ENOMEM);
		r = nvs_sass_parameter_use(&cubin, all.function, &memory, &use);
	}
	EXPECT_EQ(r, 0);
	nvs_cubin_functions_free(&all, &nvs_sass_heap);
	free(data);
}

int main(void)
{
	check_cubin("tests/sass/data/uses-sm_75.cubin");
	check_cubin("tests/sass/data/uses-sm_80.cubin");
	check_cubin("tests/sass/data/uses-sm_90.cubin");
	check_damage("tests/sass/data/uses-sm_90.cubin");
	check_memory("tests/sass/data/uses-sm_80.cubin");
	return expect_done();
}
