/* SPDX-License-Identifier: MIT */
/* FUZZ: trap/arch/x86_64/insn.o trap/arch/x86_64/site.o trap/arch/x86_64/width.o */
/* Machine code of strangers: the decoder, and the judgement on store sites, never look beyond it.
 *  */
#include <stdlib.h>
#include <string.h>
#include "trap/arch/site.h"
#include "tests/fuzz/fuzz.h"

#define BASE 0x400000u

static void site(const uint8_t *code, size_t size, size_t at, size_t function)
{
	struct nvs_site_text text = {.bytes = code, .address = BASE, .size = size};
	struct nvs_insn insn;
	struct nvs_site plan;

	/* Only stores are ever judged: of anything else it may be part of a cave itself. */
	if (!nvs_insn_decode(&insn, code + at, size - at) || insn.opcode != 0x89 || !insn.memory)
		return;
	text.function = function < size ? BASE + function : 0;
	if (nvs_site_analyse(&plan, &text, BASE + at, BASE + 0x100000) != NVS_SITE_OK)
		return;
	FUZZ_HOLDS(plan.store == BASE + at && plan.length >= NVS_SITE_HEAD);
	FUZZ_HOLDS(plan.resume == plan.store + plan.length && plan.resume <= BASE + size);
	FUZZ_HOLDS(plan.cave >= BASE && plan.cave + NVS_SITE_TAIL <= BASE + size);
	FUZZ_HOLDS(plan.cave >= plan.store + plan.length ||
		   plan.cave + NVS_SITE_TAIL <= plan.store);
	FUZZ_HOLDS(!memcmp(plan.store_old, code + at, NVS_SITE_HEAD));
	FUZZ_HOLDS(!memcmp(plan.cave_old, code + (plan.cave - BASE), NVS_SITE_TAIL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = size > 2 ? data[0] | (size_t)data[1] << 8 : 0, n = size > 2 ? size - 2 : 0;
	uint8_t *code = malloc(n + 1); /* of its own, so that every byte too far is seen */
	struct nvs_insn insn;
	int length;

	if (!code || n == 0) {
		free(code);
		return 0;
	}
	code = realloc(code, n);
	memcpy(code, data + 2, n);
	for (size_t i = 0; i < n; i += (size_t)length) {
		length = nvs_insn_decode(&insn, code + i, n - i);
		FUZZ_HOLDS(length >= 0 && length <= NVS_INSN_MAX && (size_t)length <= n - i);
		FUZZ_HOLDS(!length || insn.length == length);
		if (!length)
			length = 1;
	}
	site(code, n, at % n, at % 3 ? at % 7 : n);
	free(code);
	return 0;
}
