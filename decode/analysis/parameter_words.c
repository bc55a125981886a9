/* SPDX-License-Identifier: MIT */
/* See parameter_words.h. */
#include <string.h>
#include "decode/analysis/parameter_words.h"

bool nvs_parameters_next(const struct nvs_launch_parameters *of,
			 const struct nvs_memory_ranges *ranges, struct nvs_parameter_word *w)
{
	for (uint32_t at = w->next; at + 8 <= of->size; at += 4) {
		uint64_t value;
		const struct nvs_memory_range *range;

		memcpy(&value, of->bytes + at, sizeof(value));
		range = nvs_memory_range_at(ranges, value);
		if (!range)
			continue;
		*w = (struct nvs_parameter_word){at, value, range, value - range->address, at + 8};
		return true;
	}
	return false;
}

void nvs_kernel_parameters_begin(struct nvs_parameter_reader *r, const struct nvs_cubin *cubin,
				 const struct nvs_cubin_function *function)
{
	r->at = 0;
	r->known = function->info && nvs_cubin_section(cubin, function->info, &r->info);
}

bool nvs_kernel_parameters_next(struct nvs_parameter_reader *r,
				struct nvs_kernel_parameter *parameter)
{
	struct nvs_cubin_attribute a;

	while (r->known && nvs_cubin_attribute(&r->info, &r->at, &a)) {
		uint32_t words[3]; /* index; number | offset << 16; flags | size << 18 */

		if (a.code != NVS_ATTR_KPARAM_INFO || a.size < sizeof(words))
			continue;
		memcpy(words, a.value, sizeof(words));
		*parameter = (struct nvs_kernel_parameter){words[1] & 0xffff, words[1] >> 16,
							   words[2] >> 18};
		return true;
	}
	return false;
}
