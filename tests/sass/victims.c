/* SPDX-License-Identifier: MIT */
/* Launches of the test kernels: all have the same parameters, the same input and the same space for
 * output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/sass/victims.h"

#define KERNEL(name, gx, gy, bx, by, shared, n, k) {#name, {gx, gy, 1}, {bx, by, 1}, shared, n, k},

const struct victim victims[] = {
#include "tests/sass/kernels.h"
};

const unsigned victim_count = sizeof(victims) / sizeof(*victims);

static const struct victim apart[] = {
#include "tests/sass/apart.h"
};

static const struct victim crowded[] = {
#include "tests/sass/crowded.h"
};

static const struct victim full[] = {
#include "tests/sass/full.h"
};

#undef KERNEL

#define SET(file, victims, since)                                          \
	{                                                                  \
		file, victims, sizeof(victims) / sizeof(*(victims)), since \
	}

const struct victim_set victim_sets[] = {
	SET("kernels", victims, 75),
	SET("apart", apart, 75),
	SET("crowded", crowded, 90),
	SET("full", full, 75),
};

const unsigned victim_set_count = sizeof(victim_sets) / sizeof(*victim_sets);

bool victim_runs_on(const struct victim *v, unsigned arch)
{
	return arch >= 90 || strcmp(v->name, "cluster") != 0;
}

void *victim_file(const char *file, size_t *size)
{
	char path[256], *data;
	FILE *f;

	snprintf(path, sizeof(path), "tests/sass/data/%s", file);
	f = fopen(path, "rb");
	if (!f) {
		perror(path);
		exit(1);
	}
	fseek(f, 0, SEEK_END);
	*size = ftell(f);
	rewind(f);
	data = calloc(1, *size + 1);
	if (!data || fread(data, 1, *size, f) != *size) {
		perror(path);
		exit(1);
	}
	fclose(f);
	return data;
}

bool victim_truth(const struct victim *v, struct victim_truth *t)
{
	static char *text;
	size_t size;

	if (!text)
		text = victim_file("h200.txt", &size);
	for (const char *line = text; line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		unsigned long long memory, warp, thread, pred_on;

		if (sscanf(line, "%15s %llx %llu %llu %llu", t->name, &memory, &warp, &thread,
			   &pred_on) != 5 ||
		    strcmp(t->name, v->name))
			continue;
		t->memory = memory;
		t->counts =
			(struct interp_counts){.warp = warp, .thread = thread, .pred_on = pred_on};
		return true;
	}
	fprintf(stderr, "h200.txt says nothing of %s\n", v->name);
	return false;
}

uint64_t victim_hash(const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < size; i++)
		h = (h ^ p[i]) * 0x100000001b3;
	return h;
}

void victim_input(uint32_t in[VICTIM_WORDS])
{
	uint64_t x = 42;

	for (unsigned i = 0; i < VICTIM_WORDS; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		in[i] = x >> 32;
	}
}

int victim_run(const struct victim *v, const struct victim_run *run, struct interp_counts *counts,
	       uint64_t *memory, char *why, size_t why_size)
{
	static _Alignas(256) uint32_t in[VICTIM_WORDS], out[VICTIM_WORDS];
	struct {
		uint32_t *out;
		const uint32_t *in;
		int n, k;
	} params = {out, in, v->n, v->k};
	struct interp_region regions[] = {{in, sizeof(in)}, {out, sizeof(out)}, run->extra};
	struct interp_launch launch = {.cubin = run->cubin,
				       .size = run->size,
				       .kernel = v->name,
				       .shared = v->shared,
				       .params = &params,
				       .params_size = sizeof(params),
				       .regions = regions,
				       .region_count = 3,
				       .from = run->from,
				       .to = run->to,
				       .seed = run->seed};
	int rc;

	victim_input(in);
	memset(out, 0, sizeof(out));
	memcpy(launch.grid, v->grid, sizeof(v->grid));
	memcpy(launch.block, v->block, sizeof(v->block));
	rc = interp_run(&launch, counts, why, why_size);
	*memory = victim_hash(out, sizeof(out));
	return rc;
}
