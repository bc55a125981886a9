/* SPDX-License-Identifier: MIT */
/* FUZZ: decode */
/* Fuzz target: launch descriptors of every compute class, and the scheduler following them through
 * an image of memory. */
#include <string.h>
#include "decode/gpu/sched.h"
#include "tests/fuzz/fuzz.h"

static void qmd_run(void *arg, const struct nvs_sched_run *run)
{
	++*(uint64_t *)arg;
}

static void qmd_loop(void *arg, uint64_t address)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t classes[] = {0xa0c0, 0xb1c0, 0xc1c0, 0xc3c0, 0xc5c0, 0xc7c0,
					   0xc9c0, 0xcbc0, 0xcdc0, 0xcec0, 0x1234};
	struct nvs_memimage *image = nvs_memimage_new(4);
	struct nvs_qmd_layouts *layouts = nvs_qmd_layouts_new();
	struct nvs_sched *sked = nvs_sched_new(image, layouts);
	uint64_t runs = 0;
	struct nvs_sched_sink sink = {qmd_run, qmd_loop, &runs};

	/* First byte: class and action; then a descriptor, which lies at the next of 64 slots. */
	for (uint32_t slot = 0; size > 1; slot++) {
		uint32_t words[96] = {0}, cls = classes[data[0] % 11];
		size_t n = size - 1 < sizeof(words) ? size - 1 : sizeof(words);
		uint64_t address = (uint64_t)(slot % 64 + 1) * 0x200;
		struct nvs_qmd qmd;

		memcpy(words, data + 1, n);
		nvs_qmd_decode(layouts, words, n / 4, cls, &qmd);
		nvs_qmd_classify(layouts, words, n / 4, cls);
		nvs_memimage_write(image, address, words, sizeof(words));
		if (data[0] & 0x80)
			nvs_memimage_mark_kept(image, address, sizeof(words));
		nvs_sched_trigger(sked, address, data[0] % 13, cls, &sink);
		nvs_memimage_copy(image, words[0] % 65536, address, words[1] % 8192);
		nvs_memimage_invalidate(image, words[2],
					words[3] % 3 ? words[3] % 9000 : UINT64_MAX);
		data += n + 1;
		size -= n + 1;
	}
	nvs_qmd_layouts_free(layouts);
	nvs_sched_free(sked);
	nvs_memimage_free(image);
	return 0;
}
