/* SPDX-License-Identifier: MIT */
/* LINK: decode/cli/json.o decode */
/* The JSON writer: commas, lines, and text that is not what it should be. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/text.h"
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

/* Text is looked at eight characters at a time. Each length up to some words, with a special
 * character at each place: the same as one character at a time. */
static void escapes_at(const char *raw, size_t n, bool plain)
{
	char whole[256], one[256] = "", json[256], each[256], *to = each;

	for (size_t i = 0; i < n; i++) {
		char piece[8];

		strcat(one, nvs_escape(piece, sizeof(piece), raw + i, 1));
		to = nvs_json_escape(to, raw + i, 1);
	}
	*to = '\0';
	*nvs_json_escape(json, raw, n) = '\0';
	EXPECT_STR(nvs_escape(whole, sizeof(whole), raw, n), one);
	EXPECT_STR(json, each);
	EXPECT_EQ(nvs_is_plain(raw, n), plain);
	/* As much as fits, and nothing of a character that does not. */
	for (size_t room = 1; plain && room <= n; room++) {
		nvs_escape(whole, room, raw, n);
		EXPECT_EQ(strlen(whole), room - 1);
		EXPECT_EQ(memcmp(whole, raw, room - 1), 0);
	}
}

static void escapes(void)
{
	static const char special[] = {'\n', '\x1f', '\x7f', '\x80', '\xff', '\0'};
	char raw[40];

	for (size_t n = 0; n < sizeof(raw); n++) {
		for (size_t i = 0; i < n; i++)
			raw[i] = (char)(' ' + (7 * i + n) % 95);
		escapes_at(raw, n, true);
		for (size_t at = 0; at < n; at++) {
			char kept = raw[at];

			for (size_t i = 0; i < sizeof(special); i++) {
				raw[at] = special[i];
				escapes_at(raw, n, false);
			}
			raw[at] = kept;
		}
	}
}

int main(void)
{
	members();
	strings();
	escapes();
	free(text);
	return expect_done();
}
