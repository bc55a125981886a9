/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/*
 * The fuzz targets without libFuzzer: over the corpus in tests/fuzz/corpus, over every prefix of
 * it, and over a fixed number of mutations (FUZZ_ROUNDS in the environment asks for more; the seed
 * is printed, FUZZ_SEED sets it). The sanitized build of this program is the one that finds
 * something.
 */
#include <dirent.h>
#include <stdlib.h>
#include "tests/unit/expect.h"

#define FUZZ_ENTRY fuzz_pb
static int fuzz_pb(const uint8_t *data, size_t size);
#include "tests/fuzz/pb.c"
#undef FUZZ_ENTRY
#define FUZZ_ENTRY fuzz_class
static int fuzz_class(const uint8_t *data, size_t size);
#include "tests/fuzz/class.c"
#undef FUZZ_ENTRY
#define FUZZ_ENTRY fuzz_qmd
static int fuzz_qmd(const uint8_t *data, size_t size);
#include "tests/fuzz/qmd.c"
#undef FUZZ_ENTRY
#define FUZZ_ENTRY fuzz_reader
static int fuzz_reader(const uint8_t *data, size_t size);
#include "tests/fuzz/reader.c"

static const struct {
	const char *name;
	int (*run)(const uint8_t *data, size_t size);
} targets[] = {
	{"pb", fuzz_pb},
	{"class", fuzz_class},
	{"qmd", fuzz_qmd},
	{"reader", fuzz_reader},
};

#define LONGEST_INPUT 65536u

static uint64_t state;

static uint32_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32);
}

/* The tree that the program was built from, wherever it is run. */
static const char *corpus_root(void)
{
	static char path[4096];
	const char *end = strstr(__FILE__, "tests/unit/");

	snprintf(path, sizeof(path), "%.*stests/fuzz/corpus", (int)(end - __FILE__), __FILE__);
	return path;
}

static size_t load(const char *target, const char *name, uint8_t *data)
{
	char path[8192];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%s", corpus_root(), target, name);
	f = fopen(path, "rb");
	if (f) {
		n = fread(data, 1, LONGEST_INPUT, f);
		fclose(f);
	}
	return n;
}

static void mutate(uint8_t *data, size_t *size)
{
	for (uint32_t i = next() % 8 + 1; i && *size; i--) {
		size_t at = next() % *size, from = next() % *size;

		switch (next() % 5) {
		case 0:
			data[at] ^= (uint8_t)(1u << next() % 8);
			break;
		case 1:
			data[at] = (uint8_t)next();
			break;
		case 2: /* a number that is often at an edge */
			for (size_t k = at; k < at + 4 && k < *size; k++)
				data[k] = next() % 2 ? 0xff : 0;
			break;
		case 3:
			*size = at;
			break;
		default:
			memmove(data + at, data + from, *size - (at > from ? at : from));
		}
	}
}

static void over(uint32_t t, const char *name, uint64_t rounds)
{
	static uint8_t data[LONGEST_INPUT], changed[LONGEST_INPUT];
	size_t n = load(targets[t].name, name, data);

	EXPECT(n > 0);
	EXPECT_EQ(targets[t].run(data, n), 0);
	for (size_t cut = 0; cut < n; cut += 1 + n / 50)
		EXPECT_EQ(targets[t].run(data, cut), 0);
	for (uint64_t i = 0; i < rounds; i++) {
		size_t size = n;

		memcpy(changed, data, n);
		mutate(changed, &size);
		EXPECT_EQ(targets[t].run(changed, size), 0);
	}
}

int main(void)
{
	const char *seed = getenv("FUZZ_SEED"), *rounds = getenv("FUZZ_ROUNDS");
	char path[8192];

	state = seed ? strtoull(seed, NULL, 0) : 20251121;
	printf("seed %llu\n", (unsigned long long)state);
	state = state * 0x9e3779b97f4a7c15ull | 1;
	for (uint32_t t = 0; t < sizeof(targets) / sizeof(targets[0]); t++) {
		uint32_t files = 0;
		DIR *d;

		snprintf(path, sizeof(path), "%s/%s", corpus_root(), targets[t].name);
		d = opendir(path);
		EXPECT(d);
		for (struct dirent *e; d && (e = readdir(d));) {
			if (e->d_name[0] == '.')
				continue;
			over(t, e->d_name, rounds ? strtoull(rounds, NULL, 0) : 100);
			files++;
		}
		EXPECT(files > 0);
		if (d)
			closedir(d);
	}
	return expect_done();
}
