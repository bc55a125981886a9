/* SPDX-License-Identifier: MIT */
/* LINK: interp */
/*
 * The interpreter of kernel code, compared with an H200: each test kernel writes the same memory
 * and executes exactly as many instructions as ncu counted. For other architectures only the
 * memory is compared, for some of them with results computed in C.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/sass/victims.h"
#include "tests/unit/expect.h"

/*
 * Its two loops jump into each other, and the GPU now and then joins threads that happen to stand
 * at the same instruction: how many times warps ran is no property of the program there. Nor is
 * there more than one architecture with clusters.
 */
static bool joins_by_chance(const struct victim *v)
{
	return !strcmp(v->name, "tangled");
}

static void one(const struct victim *v, unsigned arch, const void *cubin, size_t size)
{
	struct victim_run run = {.cubin = cubin, .size = size};
	struct interp_counts counts = {0};
	struct victim_truth truth;
	char why[256] = "", is[400], should[64];
	uint64_t memory;
	int rc;

	EXPECT(victim_truth(v, &truth));
	rc = victim_run(v, &run, &counts, &memory, why, sizeof(why));
	snprintf(is, sizeof(is), "%s on sm_%u%s%s", v->name, arch, rc ? ": " : "", rc ? why : "");
	snprintf(should, sizeof(should), "%s on sm_%u", v->name, arch);
	EXPECT_STR(is, should);
	EXPECT_EQ(memory, truth.memory);
	if (arch != 90)
		return;
	if (!joins_by_chance(v))
		EXPECT_EQ(counts.warp, truth.counts.warp);
	EXPECT_EQ(counts.thread, truth.counts.thread);
	EXPECT_EQ(counts.pred_on, truth.counts.pred_on);
}

static void architecture(unsigned arch)
{
	char file[64];
	size_t size;
	void *cubin;

	snprintf(file, sizeof(file), "kernels-sm_%u.cubin", arch);
	cubin = victim_file(file, &size);
	for (unsigned i = 0; i < victim_count; i++)
		if (victim_runs_on(&victims[i], arch))
			one(&victims[i], arch, cubin, size);
	free(cubin);
}

/* What full.cu's kernels of MANY sums leave, in C. */
static uint64_t expected(const struct victim *v, unsigned many)
{
	static uint32_t in[VICTIM_WORDS], out[VICTIM_WORDS];

	victim_input(in);
	memset(out, 0, sizeof(out));
	for (unsigned t = 0; t < v->grid[0] * v->block[0]; t++) {
		uint32_t u[64];

		for (unsigned i = 0; i < many; i++)
			u[i] = in[t] * (i + 3) ^ ((unsigned)v->n + i);
		for (int j = 0; j < v->k; j++) {
			for (unsigned i = 0; i < many; i++)
				u[i] = u[i] * 5 + u[(i + 1) % many];
			u[7] += u[0] & 1 ? 7 : 0;
		}
		for (unsigned i = 0; i < many; i++)
			out[i * 96 + t] = u[i];
	}
	return victim_hash(out, sizeof(out));
}

static void in_c(unsigned arch)
{
	struct interp_counts counts = {0};
	char file[64], why[256] = "";
	uint64_t memory;
	size_t size;
	void *cubin;

	snprintf(file, sizeof(file), "full-sm_%u.cubin", arch);
	cubin = victim_file(file, &size);
	for (unsigned s = 0; s < victim_set_count; s++)
		for (unsigned i = 0; i < victim_sets[s].count; i++) {
			const struct victim *v = &victim_sets[s].victims[i];
			unsigned many = !strcmp(v->name, "full")    ? 54
					: !strcmp(v->name, "forty") ? 34
								    : 0;
			struct victim_run run = {.cubin = cubin, .size = size};

			if (!many)
				continue;
			EXPECT_EQ(victim_run(v, &run, &counts, &memory, why, sizeof(why)), 0);
			EXPECT_EQ(memory, expected(v, many));
		}
	free(cubin);
}

/* The interpreter says what it cannot do, and where. */
static void refused(void)
{
	struct interp_counts counts = {0};
	char why[256] = "";
	uint64_t memory;
	size_t size;
	char *cubin = victim_file("kernels-sm_90.cubin", &size);
	struct victim_run run = {.cubin = cubin, .size = size};
	struct victim v = victims[0];

	v.name = "none";
	EXPECT(victim_run(&v, &run, &counts, &memory, why, sizeof(why)) == -1);
	EXPECT(!strcmp(why, "the cubin has no kernel none"));
	/* more threads than there is memory for them */
	v = victims[0];
	v.n = 1 << 30;
	v.grid[0] = 200;
	EXPECT(victim_run(&v, &run, &counts, &memory, why, sizeof(why)) == -1);
	EXPECT(strstr(why, "is in no region that add may touch"));
	/* each first instruction becomes one that is none */
	for (size_t i = 0; i + 16 <= size; i += 16)
		if (!memcmp(cubin + i, "\x82\x7b\x01\xff\x00\x0a\x00\x00", 8))
			memcpy(cubin + i, "\xff\x71", 2);
	EXPECT(victim_run(&victims[0], &run, &counts, &memory, why, sizeof(why)) == -1);
	EXPECT(strstr(why, "opcode 1ff"));
	free(cubin);
}

/* In all kernels that begin as `add` does: bits of byte BYTE of the word NUMBER. */
static void change(char *cubin, size_t size, unsigned number, unsigned byte, unsigned clear,
		   unsigned set)
{
	for (size_t i = 0; i + 128 <= size; i += 16)
		if (!memcmp(cubin + i + 112, "\x4d\x09\x00\x00", 4) &&
		    !memcmp(cubin + i, "\x82\x7b\x01\xff", 4))
			cubin[i + number * 16 + byte] = (cubin[i + number * 16 + byte] & ~clear) |
							set;
}

/* What the GPU would not wait for: barriers and stalls, taken away from code that is right. */
static void hazards(void)
{
	size_t size;
	char *cubin = victim_file("kernels-sm_90.cubin", &size);
	struct victim_run run = {.cubin = cubin, .size = size};
	struct interp_counts counts = {0};
	char why[256] = "";
	uint64_t memory;

	/* IMAD waits for S2R: bits 116 to 121 */
	change(cubin, size, 4, 14, 0xf0, 0);
	EXPECT(victim_run(&victims[0], &run, &counts, &memory, why, sizeof(why)) == -1);
	EXPECT_STR(why, "add at 0x40: opcode c24 does not wait for what is loaded into R0");
	change(cubin, size, 4, 14, 0, 0x10);
	/* ISETP's stall, before @P0 EXIT: bits 105 to 108 */
	change(cubin, size, 6, 13, 0x1e, 0);
	EXPECT(victim_run(&victims[0], &run, &counts, &memory, why, sizeof(why)) == -1);
	EXPECT_STR(why, "add at 0x70: opcode 94d reads, 1 cycles behind opcode c0c, P0");
	free(cubin);
}

int main(void)
{
	architecture(75);
	architecture(80);
	architecture(90);
	in_c(75);
	in_c(80);
	in_c(90);
	refused();
	hazards();
	return expect_done();
}
