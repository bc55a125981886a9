/* SPDX-License-Identifier: MIT */
/*
 * Runs one fuzz target over the files of the folders or names given, without libFuzzer: each as it is, cut in half
 * and with one bit changed, the same ones every time. Prints how many inputs there were.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "tests/fuzz/fuzz.h"

#define LONGEST (1u << 20)
#define VARIANTS 8 /* single bits of each input */

static unsigned long inputs;

/* An exact copy on the heap, so that a byte too far is noticed. */
static void try(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	inputs++;
}

static void try_file(const char *path)
{
	static uint8_t data[LONGEST];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file) {
		printf("%s: cannot be opened\n0 passed, 1 failed\n", path);
		exit(1);
	}
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	try(data, size);
	try(data, size / 2);
	for (uint32_t i = 0, at = 12345; size && i < VARIANTS; i++) {
		at = at * 1664525u + 1013904223u;
		data[(at >> 8) % size] ^= (uint8_t)(1u << (at & 7));
		try(data, size);
		data[(at >> 8) % size] ^= (uint8_t)(1u << (at & 7));
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void try_folder(const char *path)
{
	char *names[4096], full[PATH_MAX];
	DIR *dir = opendir(path);
	struct dirent *e;
	size_t n = 0;

	while (dir && (e = readdir(dir)) && n < 4096)
		if (e->d_name[0] != '.')
			names[n++] = strdup(e->d_name);
	if (dir)
		closedir(dir);
	qsort(names, n, sizeof(*names), by_name);
	for (size_t i = 0; i < n; i++) {
		snprintf(full, sizeof(full), "%s/%s", path, names[i]);
		try_file(full);
		free(names[i]);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct stat st;

		if (!stat(argv[i], &st) && S_ISDIR(st.st_mode))
			try_folder(argv[i]);
		else
			try_file(argv[i]);
	}
	try((const uint8_t *)"", 0);
	printf("%lu inputs\n", inputs);
	return 0;
}
