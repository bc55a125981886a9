/* SPDX-License-Identifier: MIT */
/*
 * Runs one fuzz target over the given files and folders, without libFuzzer: each file unchanged,
 * truncated in several places, and with a few random changes, which are the same in every run
 * (FUZZ_ROUNDS in the environment for more changes, FUZZ_SEED for others). Prints the seed and the
 * number of inputs.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "tests/fuzz/fuzz.h"

#define LONGEST (1u << 20)
#define CUTS 24 /* of each input */
#define ROUNDS 150 /* of changes to it */

static unsigned long inputs, rounds = ROUNDS;
static uint64_t seed = 20251121, state;

static uint32_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32);
}

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

static void change(uint8_t *data, size_t *size)
{
	for (uint32_t i = next() % 8 + 1; i && *size; i--) {
		size_t at = next() % *size, from = next() % *size;

		switch (next() % 6) {
		case 0:
		case 1:
			data[at] ^= (uint8_t)(1u << next() % 8);
			break;
		case 2:
			data[at] = (uint8_t)next();
			break;
		case 3: /* a number that is often at an edge */
			for (size_t k = at; k < at + 4 && k < *size; k++)
				data[k] = next() % 2 ? 0xff : 0;
			break;
		case 4:
			if (!(next() % 4))
				*size = at;
			break;
		default:
			memmove(data + at, data + from, *size - (at > from ? at : from));
		}
	}
}

static void try_file(const char *path)
{
	static uint8_t data[LONGEST], changed[LONGEST];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file) {
		printf("%s: cannot be opened\n0 passed, 1 failed\n", path);
		exit(1);
	}
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	try(data, size);
	for (size_t cut = 0; cut < size; cut += 1 + size / CUTS)
		try(data, cut);
	for (unsigned long i = 0; size && i < rounds; i++) {
		size_t n = size;

		memcpy(changed, data, size);
		change(changed, &n);
		try(changed, n);
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
	if (getenv("FUZZ_SEED"))
		seed = strtoull(getenv("FUZZ_SEED"), NULL, 0);
	if (getenv("FUZZ_ROUNDS"))
		rounds = strtoul(getenv("FUZZ_ROUNDS"), NULL, 0);
	state = seed * 0x9e3779b97f4a7c15ull | 1;
	for (int i = 1; i < argc; i++) {
		struct stat st;

		if (!stat(argv[i], &st) && S_ISDIR(st.st_mode))
			try_folder(argv[i]);
		else
			try_file(argv[i]);
	}
	try((const uint8_t *)"", 0);
	printf("seed %llu\n%lu inputs\n", (unsigned long long)seed, inputs);
	return 0;
}
