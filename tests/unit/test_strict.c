/* SPDX-License-Identifier: MIT */
/* LINK: fuzzed/tests/fuzz/strict.o fuzzed/tests/fuzz/keys.o decode */
/* The strict parsers for the output of reports: they accept valid text and nothing else. */
#include <stdlib.h>
#include <unistd.h>
#include "tests/fuzz/strict.h"
#include "tests/unit/expect.h"

typedef const char *(*parser)(const char *text, size_t size, size_t *at);

struct sample {
	const char *text;
	size_t size;
};

#define S(text)                        \
	{                              \
		text, sizeof(text) - 1 \
	}

static void all(parser parse, const struct sample *samples, size_t n, int well)
{
	for (size_t i = 0; i < n; i++) {
		char exact[96]; /* not a byte more than there is, for sanitizers */
		size_t at = 0;
		int passes;
		char *text = exact + sizeof(exact) - samples[i].size;

		memcpy(text, samples[i].text, samples[i].size);
		passes = !parse(text, samples[i].size, &at);
		if (!expect_(passes == well && at <= samples[i].size, __FILE__, __LINE__))
			printf("%.*s\n", (int)samples[i].size, samples[i].text);
	}
}

#define ALL(parse, well, ...)                                                  \
	do {                                                                   \
		static const struct sample samples[] = {__VA_ARGS__};          \
		all(parse, samples, sizeof(samples) / sizeof(*samples), well); \
	} while (0)

/* Keys as a page has them. */
static void keys(void)
{
	char path[] = "/tmp/nvsnoop-test.XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	EXPECT(f);
	EXPECT(strict_keys(path));
	fputs("| key | type | |\n|---|---|---|\n| `n`, `m` | number | |\n| `r` | real | |\n"
	      "| `t` | text | as `x` |\n| `b` | boolean | |\n| `a_ns` | number | |\n| `l` | list | "
	      "|\n"
	      "| `fields` | object | |\n\n| other | type |\n| `y` | text | |\n",
	      f);
	fclose(f);
	EXPECT_EQ(strict_keys(path), 0);
	unlink(path);
	ALL(strict_json, 1, S("{}"), S("{\"n\":1,\"m\":18446744073709551615}"), S("{\"r\":-1.50}"),
	    S("{\"t\":\"x\",\"b\":true}"), S("{\"b\":false,\"n\":null}"), S("{\"a_ns\":-12}"),
	    S("{\"l\":[{\"n\":1}]}"), S("{\"report\":1,\"rows\":[{\"t\":null}]}"),
	    S("{\"fields\":{\"X\":{\"Y\":1}},\"n\":1}"));
	ALL(strict_json, 0, S("{\"n\":-1}"), S("{\"n\":1.0}"), S("{\"n\":\"1\"}"), S("{\"t\":1}"),
	    S("{\"t\":\"\"}"), S("{\"b\":1}"), S("{\"b\":\"true\"}"), S("{\"r\":\"1\"}"),
	    S("{\"l\":{}}"), S("{\"fields\":[]}"), S("{\"x\":1}"), S("{\"y\":\"\"}"),
	    S("{\"rows\":[{\"x\":1}]}"), S("{\"fields\":{},\"X\":1}"));
}

int main(void)
{
	ALL(strict_utf8, 1, S(""), S("a\x7f\n"), S("\xc3\xa9"), S("\xe2\x80\xa6"),
	    S("\xed\x9f\xbf"), S("\xf0\x9f\x98\x80"), S("\xf4\x8f\xbf\xbf"));
	ALL(strict_utf8, 0, S("\x80"), S("\xc3"), S("\xc3\xa9\x80"), S("\xc0\xaf"),
	    S("\xe0\x80\xaf"), S("\xe2\x80"), S("\xed\xa0\x80"), S("\xf0\x80\x80\x80"),
	    S("\xf4\x90\x80\x80"), S("\xf8\x88\x80\x80\x80"), S("\xe2\x28\xa1"));
	ALL(strict_json, 1, S("{}"), S(" [ ] \n"), S("0"), S("-0.50e+10"),
	    S("18446744073709551615"), S("null"),
	    S("{\"a\":[true,false,null,\"\"],\"b\":{\"a\":1}}"),
	    S("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\xc3\xa9\""));
	ALL(strict_json, 0, S(""), S("{"), S("["), S("[1,]"), S("{\"a\":1,}"), S("{a:1}"),
	    S("{\"a\"}"), S("{'a':1}"), S("{\"a\":1,\"a\":2}"), S("01"), S("1."), S(".5"), S("+1"),
	    S("1e"), S("-"), S("nan"), S("inf"), S("-nan"), S("0x10"), S("1 2"), S("[1 2]"),
	    S("\"\\x80\""), S("\"\\u12g4\""), S("\"\\u12\""), S("\"\\ud83d\""), S("\"\\ude00\""),
	    S("\"\\ud83d\\u0041\""), S("\"a\nb\""), S("\"\x80\""), S("\"\xc3\xa9\x80\""), S("\""),
	    S("\"a"), S("\"a\0b\""), S("nul"), S("True"), S("[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]"));
	ALL(strict_json_lines, 1, S(""), S("{}\n"), S("{\"a\":1}\n{\"a\":2}\n"));
	ALL(strict_json_lines, 0, S("{}"), S("{}\n{\n}\n"), S("[]\n"), S("{} {}\n"), S("{}\n\n"),
	    S("\n"));
	ALL(strict_csv, 1, S(""), S("a\r\n"), S("a,b\r\n,\r\n"), S("a\r\n\"x, \"\"y\"\"\"\r\n"),
	    S("\xc3\xa9\r\n"));
	ALL(strict_csv, 0, S("a"), S("a\n"), S("a\r"), S("a,b\r\nc\r\n"), S("a\r\nb,c\r\n"),
	    S("a\"b\r\n"), S("\"a\r\n"), S("\"a\"b\r\n"), S("\x80\r\n"), S("a\tb\r\n"),
	    S("\"a\nb\"\r\n"));
	keys();
	return expect_done();
}
