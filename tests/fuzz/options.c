/* SPDX-License-Identifier: MIT */
/* FUZZ: preload/base/option_table.o decode/cli/units.o */
/* Option strings. A wrong one leaves nothing set; a right one survives being written out again. */
#include <stdlib.h>
#include <string.h>
#include "preload/base/options.h"
#include "tests/fuzz/fuzz.h"

static void check_message(const char *error, size_t size)
{
	FUZZ_HOLDS(memchr(error, 0, size) && *error);
	for (; *error; error++)
		FUZZ_HOLDS((unsigned char)*error >= ' ' && *error != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nvs_option_values values, standard;
	char *text = strndup((const char *)data, size), *comma, out[256] = "";
	char error[160];

	if (!text)
		abort();
	nvs_option_defaults(&values);
	nvs_option_defaults(&standard);
	if (nvs_options_parse(&values, text, error, sizeof(error))) {
		FUZZ_HOLDS(!memcmp(&values, &standard, sizeof(values)));
		check_message(error, sizeof(error));
	}
	/* A short room for the message is enough for the end of it. */
	error[7] = 'x';
	nvs_options_parse(&values, text, error, 7);
	FUZZ_HOLDS(error[7] == 'x');
	/* Any text as a value comes back whole, commas and all. */
	comma = strchr(text, ',');
	if (!nvs_options_append(out, sizeof(out), "spool", text) && *text) {
		nvs_option_defaults(&values);
		if (!nvs_options_parse(&values, out, error, sizeof(error)) && strcmp(text, "off"))
			FUZZ_HOLDS(!strcmp(values.spool_dir, text) ||
				   (comma && !strchr(out, '\\')));
	}
	free(text);
	return 0;
}
