/* SPDX-License-Identifier: MIT */
/* LINK: decode/cli/json.o decode */
/* The JSON writer: commas, lines, and text that is not what it should be. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "decode/cli/json.h"
#include "tests/unit/expect.h"

static char *text;

static struct nvs_json begin(bool flat)
{
	static size_t size;

	free(text);
	text = NULL;
	return (struct nvs_json){.file = open_memstream(&text, &size), .flat = flat};
}

static const char *end(struct nvs_json *j)
{
	fclose(j->file);
	return text;
}

static void write_all(struct nvs_json *j)
{
	nvs_json_open(j, NULL, '{');
	nvs_json_number(j, "n", UINT64_MAX);
	nvs_json_open(j, "empty", '[');
	nvs_json_close(j, ']');
	nvs_json_open(j, "list", '[');
	for (uint32_t i = 0; i < 2; i++) {
		nvs_json_break(j);
		nvs_json_open(j, NULL, '{');
		nvs_json_known(j, "known", i, i);
		nvs_json_bool(j, "so", i);
		nvs_json_close(j, '}');
	}
	nvs_json_break(j);
	nvs_json_close(j, ']');
	nvs_json_break(j);
	nvs_json_real(j, "x", "%.2f", 1.5);
	nvs_json_real(j, "y", "%.2f", NAN);
	nvs_json_real(j, "z", "%.2f", -INFINITY);
	nvs_json_close(j, '}');
}

static void members(void)
{
	struct nvs_json j = begin(false);

	write_all(&j);
	EXPECT_STR(end(&j), "{\"n\":18446744073709551615,\"empty\":[],\"list\":[\n"
			    "{\"known\":null,\"so\":false},\n{\"known\":1,\"so\":true}\n],\n"
			    "\"x\":1.50,\"y\":null,\"z\":null}");
	j = begin(true);
	write_all(&j);
	EXPECT_STR(end(&j), "{\"n\":18446744073709551615,\"empty\":[],\"list\":["
			    "{\"known\":null,\"so\":false},{\"known\":1,\"so\":true}],"
			    "\"x\":1.50,\"y\":null,\"z\":null}");
}

static void strings(void)
{
	struct nvs_json j = begin(false);

	nvs_json_open(&j, NULL, '[');
	nvs_json_text(&j, NULL, "");
	nvs_json_text(&j, NULL, NULL);
	nvs_json_name(&j, NULL, "");
	nvs_json_name(&j, NULL, NULL);
	nvs_json_name(&j, NULL, "n");
	nvs_json_text(&j, NULL, "a\"b\\c\n\x7f");
	nvs_json_text(&j, NULL, "\xc3\xa9\x80\xe2\x80\x8f");
	nvs_json_close(&j, ']');
	EXPECT_STR(end(&j), "[\"\",null,null,null,\"n\",\"a\\\"b\\\\c\\u000a\\u007f\","
			    "\"\xc3\xa9\\u0080\\u200f\"]");
	j = begin(false);
	nvs_json_string(j.file, "a\0b", 3);
	EXPECT_STR(end(&j), "\"a\\u0000b\"");
}

int main(void)
{
	members();
	strings();
	free(text);
	return expect_done();
}
