/* SPDX-License-Identifier: MIT */
/* FUZZ: decode */
/* Fuzz target: look-up of classes, methods and values by whatever numbers and names come. */
#include <string.h>
#include "decode/gpu/method_format.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nvs_line_buffer line = {0};
	char name[64];
	uint32_t n[3];

	while (size >= sizeof(n)) {
		const struct nvs_class *cls;
		struct nvs_method_at at;

		memcpy(n, data, sizeof(n));
		memcpy(name, data, sizeof(n));
		name[sizeof(n)] = '\0';
		data += sizeof(n);
		size -= sizeof(n);
		cls = nvs_class_find(n[0] & 0xffff);
		if (!cls)
			cls = nvs_class_by_name(name);
		if (!cls)
			cls = &nvs_classes[n[0] % nvs_nclasses];
		nvs_line_start(&line);
		if (nvs_method_find(cls, n[1], &at)) {
			nvs_format_method(&line, &at, n[1]);
			nvs_format_fields(&line, at.method, n[2], n[0] & 1);
			nvs_words_address(cls, &at, n[1]);
		}
		nvs_method_by_name(cls, name);
		nvs_format_by_name(cls, name);
	}
	nvs_line_free(&line);
	return 0;
}
