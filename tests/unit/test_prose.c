/* SPDX-License-Identifier: MIT */
/* LINK: decode/cli/sentence.o decode/cli/output.o decode */
/* Sentences: units at their limits, quoting for a shell, and line breaks. */
#include <stdlib.h>
#include <string.h>
#include "decode/cli/sentence.h"
#include "tests/unit/expect.h"

static char *text;
static size_t length;

static FILE *begin(void)
{
	free(text);
	text = NULL;
	return open_memstream(&text, &length);
}

/* Blanks at which no line ends stand as such. */
static bool came(FILE *f, const char *expected)
{
	bool same;

	fclose(f);
	same = !strcmp(text, expected);
	if (!same)
		printf("came '%s', not '%s'\n", text, expected);
	return same;
}

#define SAID(expected, call)               \
	do {                               \
		FILE *f = begin();         \
                                           \
		call;                      \
		EXPECT(came(f, expected)); \
	} while (0)

#define _ "\u00a0"
#define US _ "\u00b5s"

static void test_numbers(void)
{
	char digits[32];

	EXPECT(!strcmp(nvs_grouped(digits, 0), "0"));
	EXPECT(!strcmp(nvs_grouped(digits, 999), "999"));
	EXPECT(!strcmp(nvs_grouped(digits, 1000), "1,000"));
	EXPECT(!strcmp(nvs_grouped(digits, 123456), "123,456"));
	EXPECT(!strcmp(nvs_grouped(digits, UINT64_MAX), "18,446,744,073,709,551,615"));
	SAID("1" _ "gap", nvs_say_count(f, 1, "gap", "gaps"));
	SAID("1,234" _ "gaps", nvs_say_count(f, 1234, "gap", "gaps"));
}

static void test_units(void)
{
	SAID("1" _ "byte", nvs_say_bytes(f, 1));
	SAID("999" _ "bytes", nvs_say_bytes(f, 999));
	SAID("1.00" _ "kB", nvs_say_bytes(f, 1000));
	SAID("10.0" _ "kB", nvs_say_bytes(f, 9996));
	SAID("999" _ "kB", nvs_say_bytes(f, 999499));
	SAID("1.00" _ "MB", nvs_say_bytes(f, 999500));
	SAID("1.23" _ "TB", nvs_say_bytes(f, 1234567890123));
	SAID("18,446,744" _ "TB", nvs_say_bytes(f, UINT64_MAX));
	SAID("0" _ "ns", nvs_say_ns(f, 0, 3));
	SAID("999" _ "ns", nvs_say_ns(f, 999, 3));
	SAID("1.00" US, nvs_say_ns(f, 999.6, 3));
	SAID("6.42" US, nvs_say_ns(f, 6420, 3));
	SAID("318" _ "ms", nvs_say_ns(f, 318e6, 3));
	SAID("1.00" _ "s", nvs_say_ns(f, 999.6e6, 3));
	SAID("86,400" _ "s", nvs_say_ns(f, 86400e9, 3));
	/* Two digits. */
	SAID("8.4" US, nvs_say_ns(f, 8446, 2));
	SAID("10" US, nvs_say_ns(f, 9996, 2));
	SAID("120" US, nvs_say_ns(f, 123690, 2));
	SAID("1.0" _ "ms", nvs_say_ns(f, 996000, 2));
	SAID("0" _ "%", nvs_say_share(f, 0, 10));
	SAID("0.5" _ "%", nvs_say_share(f, 5, 1000));
	SAID("1" _ "%", nvs_say_share(f, 95, 10000));
	SAID("0" _ "%", nvs_say_share(f, 5, 0));
}

static void test_words(void)
{
	SAID("trace.zst", nvs_say_word(f, "trace.zst"));
	SAID("./-x", nvs_say_word(f, "-x"));
	SAID("''", nvs_say_word(f, ""));
	SAID("'a b'\\''c'", nvs_say_word(f, "a b'c"));
	SAID("'$(rm)'", nvs_say_word(f, "$(rm)"));
	SAID("'\u00e4'", nvs_say_word(f, "\u00e4"));
	SAID("$'a\\012\\'\\033'", nvs_say_word(f, "a\n'\033"));
	SAID("$'\\377'", nvs_say_word(f, "\377"));
	SAID("ab\u2026", nvs_say_text(f, "abc", 2));
	SAID("\\x1b[2J", nvs_say_text(f, "\033[2J", 10));
}

static void test_lines(void)
{
	struct nvs_out out = {.width = 30};

	out.file = begin();
	nvs_print_wrapped(&out, "- nine words that go on to the next line, 12" _ "ms", 2);
	EXPECT(came(out.file, "- nine words that go on to the\n  next line, 12 ms\n"));
	/* The number goes with its unit. */
	out.file = begin();
	nvs_print_wrapped(&out, "twenty-seven letters in all 12" _ "ms", 0);
	EXPECT(came(out.file, "twenty-seven letters in all\n12 ms\n"));
	/* Too long for any line. */
	out.file = begin();
	nvs_print_wrapped(&out, "a xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx b", 2);
	EXPECT(came(out.file, "a\n  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n  b\n"));
}

int main(void)
{
	test_numbers();
	test_units();
	test_words();
	test_lines();
	free(text);
	return expect_done();
}
