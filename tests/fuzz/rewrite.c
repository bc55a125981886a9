/* SPDX-License-Identifier: MIT */
/* FUZZ: sass */
/*
 * Cubins of strangers, rewritten so that they count: in every way, by words that a stranger's
 * assembler made. What comes out can be read, and holds each kernel that was rewritten with the
 * instructions that were added.
 */
#include <string.h>
#include "sass/count.h"
#include "tests/fuzz/fuzz.h"

#define MOST (1u << 18) /* bytes of a cubin */

static uint64_t counters(void *arg, const char *kernel)
{
	(void)arg;
	return strlen(kernel) % 5 == 4 ? 0 : 0x7f0000100000;
}

/* Any words will do: that those of an assembler are the right ones is tested elsewhere. */
static void make_words(struct nvs_count_words *words, uint32_t arch)
{
	memset(words, 0, sizeof(*words));
	words->arch = arch;
	words->split = arch >= 90;
	words->descriptor = 0x208;
	for (unsigned i = 0; i < NVS_COUNT_WORDS; i++)
		words->word[i][0] = 0x7918;
}

static uint32_t instructions(const struct nvs_cubin_functions *functions, const char *name)
{
	for (uint32_t i = 0; i < functions->n; i++)
		if (functions->function[i].kernel && !strcmp(functions->function[i].name, name))
			return (uint32_t)(functions->function[i].size / 16);
	return 0;
}

static void look(const struct nvs_instrumented *counted)
{
	struct nvs_cubin_functions functions;
	struct nvs_cubin c;

	FUZZ_HOLDS(!nvs_cubin_open(&c, counted->cubin, counted->size));
	if (nvs_cubin_functions(&c, &nvs_sass_heap, &functions))
		return;
	for (uint32_t i = 0; i < counted->n; i++) {
		const struct nvs_instrumented_kernel *k = &counted->kernel[i];

		FUZZ_HOLDS(!k->counters || !k->why);
		FUZZ_HOLDS(!k->counters || k->added > 0);
		if (k->counters && functions.n == 1)
			FUZZ_HOLDS(instructions(&functions, k->name) == k->instructions + k->added);
	}
	nvs_cubin_functions_free(&functions, &nvs_sass_heap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nvs_count_words words;
	struct nvs_instrumented counted;
	struct nvs_cubin c;
	const char *missing;

	if (size > MOST || nvs_cubin_open(&c, data, size))
		return 0;
	nvs_count_words(data, size, &words, &missing);
	for (unsigned way = 0; way < 12; way++) {
		struct nvs_count_options options = {
			.skip_off = way & 1,
			.warps = way % 3 == 1,
			.place = (enum nvs_count_place)(way % 3),
			.home = (enum nvs_count_home)(way % 4),
			.from = way % 5,
			.to = way % 7,
			.counters = counters,
		};

		make_words(&words, c.arch);
		if (nvs_count_rewrite(data, size, &words, &options, &nvs_sass_heap, &counted))
			continue;
		FUZZ_HOLDS(!counted.rewritten == !counted.cubin);
		if (counted.cubin)
			look(&counted);
		nvs_instrumented_free(&counted, &nvs_sass_heap);
	}
	return 0;
}
