/* SPDX-License-Identifier: MIT */
/* LINK: bench cli decode */
/*
 * Reading back cubins of microbenchmarks, which ptxas 13.0 made from bench_write_ptx() for sm_90a:
 * four FFMA between two clock reads, and an array in local memory. Unexpected code is rejected with
 * a reason, patches have their effect, and broken cubins are read without harm.
 */
#include <stdlib.h>
#include "probe/bench/frame/internal.h"
#include "sass/sass.h"
#include "tests/unit/expect.h"

enum { FFMA = 0x023 };

static uint8_t *cubin_of(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = calloc(1, 1 << 16);

	if (!f || !data) {
		perror(path);
		exit(1);
	}
	*size = fread(data, 1, 1 << 16, f);
	fclose(f);
	return data;
}

static void awaited(const uint8_t *data, size_t size)
{
	struct bench_code code = {.name = "ffma", .expect = {{FFMA, 4, 4}}};
	struct bench_cubin c;
	char why[200];

	EXPECT(bench_check_cubin(&c, &code, data, size, why));
	EXPECT(c.nwords > 40 && c.size == size && !memcmp(c.data, data, size));
	bench_cubin_free(&c);
	code.expect[0].least = code.expect[0].most = 5;
	EXPECT(!bench_check_cubin(&c, &code, data, size, why) && !c.data && !c.word);
	EXPECT_STR(why, "opcode 0x023 occurs 4 times between its clock reads, expected 5 to 5");
	code.expect[0] = (struct bench_expect){FFMA, 4, 4};
	code.expect[1] = (struct bench_expect){FFMA + 1, 1, 9};
	EXPECT(!bench_check_cubin(&c, &code, data, size, why));
}

static void local_memory(const uint8_t *data, size_t size)
{
	struct bench_code code = {.name = "local"};
	struct bench_cubin c;
	char why[200];

	EXPECT(!bench_check_cubin(&c, &code, data, size, why));
	EXPECT_STR(why, "it uses 1024 bytes of local memory per thread");
	code.local = true;
	EXPECT(bench_check_cubin(&c, &code, data, size, why));
	bench_cubin_free(&c);
}

/* All FFMA get a stall of 15; *ARG counts them. */
static int stall(uint64_t (*word)[2], uint32_t n, void *arg)
{
	uint32_t *found = arg;

	for (uint32_t i = 0; i < n; i++)
		if ((word[i][0] & 0x1ff) == FFMA) {
			word[i][1] |= 15ull << 41;
			++*found;
		}
	return *found == 4 ? 0 : -1;
}

static int refuse(uint64_t (*word)[2], uint32_t n, void *arg)
{
	return -1;
}

static void patched(const uint8_t *data, size_t size)
{
	uint32_t found = 0, stalled = 0;
	struct bench_code code = {.name = "ffma", .minregs = 128, .patch = stall, .arg = &found};
	struct nvs_cubin_functions functions;
	struct nvs_cubin cubin;
	struct bench_cubin c;
	char why[200];

	EXPECT(bench_check_cubin(&c, &code, data, size, why) && found == 4);
	EXPECT(!nvs_cubin_open(&cubin, c.data, c.size) &&
	       !nvs_cubin_functions(&cubin, &nvs_sass_heap, &functions));
	EXPECT(functions.n == 1 && functions.function[0].registers == 130);
	for (size_t i = 0; i < functions.function[0].size / 16; i++) {
		struct nvs_sass_insn insn;

		nvs_sass_insn(NVS_SASS_HOPPER, functions.function[0].code,
			      functions.function[0].size, i, &insn);
		stalled += nvs_sass_insn_op(&insn) == FFMA && insn.control.stall == 15;
		/* The words that are handed out are as they were. */
		if (nvs_sass_insn_op(&insn) == FFMA)
			EXPECT((c.word[i][1] >> 41 & 15) < 15);
	}
	EXPECT_EQ(stalled, 4);
	nvs_cubin_functions_free(&functions, &nvs_sass_heap);
	bench_cubin_free(&c);
	code.patch = refuse;
	EXPECT(!bench_check_cubin(&c, &code, data, size, why));
	EXPECT_STR(why, "the code to patch was not found");
}

static void broken(uint8_t *data, size_t size)
{
	struct bench_code code = {.name = "ffma", .minregs = 200};
	uint64_t state = 20261123;
	struct bench_cubin c;
	char why[200];

	for (size_t n = 0; n < size; n += 7)
		if (bench_check_cubin(&c, &code, data, n, why))
			bench_cubin_free(&c);
	for (int i = 0; i < 5000; i++) {
		uint8_t *at, old;

		state = state * 6364136223846793005ull + 1442695040888963407ull;
		at = &data[(state >> 33) % size];
		old = *at;
		*at = (uint8_t)(state >> 20);
		if (bench_check_cubin(&c, &code, data, size, why))
			bench_cubin_free(&c);
		*at = old;
	}
	EXPECT(bench_check_cubin(&c, &code, data, size, why));
	bench_cubin_free(&c);
}

int main(void)
{
	size_t size, local_size;
	uint8_t *data = cubin_of("tests/unit/data/bench_ffma.cubin", &size);
	uint8_t *local = cubin_of("tests/unit/data/bench_local.cubin", &local_size);

	awaited(data, size);
	local_memory(local, local_size);
	patched(data, size);
	broken(data, size);
	free(data);
	free(local);
	return expect_done();
}
