/* SPDX-License-Identifier: MIT */
/* LINK: decode/cli/sentence.o decode/cli/output.o decode/cli/background_file.o decode */
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

	EXPECT(!strcmp(nvs_format_grouped(digits, 0), "0"));
	EXPECT(!strcmp(nvs_format_grouped(digits, 999), "999"));
	EXPECT(!strcmp(nvs_format_grouped(digits, 1000), "1,000"));
	EXPECT(!strcmp(nvs_format_grouped(digits, 123456), "123,456"));
	EXPECT(!strcmp(nvs_format_grouped(digits, UINT64_MAX), "18,446,744,073,709,551,615"));
	SAID("1" _ "gap", fputs(NVS_COUNT(1, "gap", "gaps"), f));
	SAID("1,234" _ "gaps", fputs(NVS_COUNT(1234, "gap", "gaps"), f));
}

static void test_units(void)
{
	SAID("1" _ "byte", fputs(NVS_BYTES(1), f));
	SAID("999" _ "bytes", fputs(NVS_BYTES(999), f));
	SAID("1.00" _ "kB", fputs(NVS_BYTES(1000), f));
	SAID("10.0" _ "kB", fputs(NVS_BYTES(9996), f));
	SAID("999" _ "kB", fputs(NVS_BYTES(999499), f));
	SAID("1.00" _ "MB", fputs(NVS_BYTES(999500), f));
	SAID("1.23" _ "TB", fputs(NVS_BYTES(1234567890123), f));
	SAID("18,446,744" _ "TB", fputs(NVS_BYTES(UINT64_MAX), f));
	SAID("0" _ "ns", fputs(NVS_DURATION(0), f));
	SAID("999" _ "ns", fputs(NVS_DURATION(999), f));
	SAID("1.00" US, fputs(NVS_DURATION(999.6), f));
	SAID("6.42" US, fputs(NVS_DURATION(6420), f));
	SAID("318" _ "ms", fputs(NVS_DURATION(318e6), f));
	SAID("1.00" _ "s", fputs(NVS_DURATION(999.6e6), f));
	SAID("86,400" _ "s", fputs(NVS_DURATION(86400e9), f));
	/* Two digits. */
	SAID("8.4" US, fputs(NVS_ROUGHLY(8446), f));
	SAID("10" US, fputs(NVS_ROUGHLY(9996), f));
	SAID("120" US, fputs(NVS_ROUGHLY(123690), f));
	SAID("1.0" _ "ms", fputs(NVS_ROUGHLY(996000), f));
	SAID("0" _ "%", fputs(NVS_PERCENT(0, 10), f));
	SAID("0.5" _ "%", fputs(NVS_PERCENT(5, 1000), f));
	SAID("1" _ "%", fputs(NVS_PERCENT(95, 10000), f));
	SAID("0" _ "%", fputs(NVS_PERCENT(5, 0), f));
}

static void test_words(void)
{
	SAID("trace.zst", nvs_print_shell_word(f, "trace.zst"));
	SAID("./-x", nvs_print_shell_word(f, "-x"));
	SAID("''", nvs_print_shell_word(f, ""));
	SAID("'a b'\\''c'", nvs_print_shell_word(f, "a b'c"));
	SAID("'$(rm)'", nvs_print_shell_word(f, "$(rm)"));
	SAID("'\u00e4'", nvs_print_shell_word(f, "\u00e4"));
	SAID("$'a\\012\\'\\033'", nvs_print_shell_word(f, "a\n'\033"));
	SAID("$'\\377'", nvs_print_shell_word(f, "\377"));
	SAID("ab\u2026", fputs(NVS_TEXT("abc", 2), f));
	SAID("\\x1b[2J", fputs(NVS_TEXT("\033[2J", 10), f));
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
