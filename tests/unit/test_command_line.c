/* SPDX-License-Identifier: MIT */
/* The option table: what a command line stores, what is refused and how, and --help. */
/* LINK: cli decode */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "decode/cli/units.h"

static int passed, failed;
#define CHECK(cond)                                                                     \
	do {                                                                            \
		if (cond) {                                                             \
			passed++;                                                       \
		} else {                                                                \
			failed++;                                                       \
			printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond); \
		}                                                                       \
	} while (0)

struct target {
	const char *file;
	char copy[8];
	bool flag, second, on;
	uint32_t word, count;
	uint64_t wide, size, ns;
};

static int set_even(const struct nvs_option *option, void *target, const char *text)
{
	uint64_t n;

	if (!text)
		text = "2";
	if (!nvs_read_number(&text, option->max, &n) || n % 2)
		return NVS_OPTION_WRONG;
	if (n == 66)
		return nvs_usage_error("66 is taken by '%s'", (const char *)option->context);
	((struct target *)target)->count = (uint32_t)n;
	return 0;
}

#define INTO(kind, field) NVS_OPTION_INTO(kind, struct target, field)

static const struct nvs_option options[] = {
	{"file", "FILE", "a file", "none", "a file name", 'f', INTO(TEXT, file), .min = 1},
	{"copy", "TEXT", "a short text", INTO(COPY, copy)},
	{.help = "Numbers:", .argument = "prog --size=1M"},
	{"flag", .help = "set something", .letter = 'x', INTO(CONSTANT, flag), .min = true},
	{"word", "a|bc|def",
	 "one of three, with a text so long that it has to be wrapped twice, "
	 "which takes more than a hundred and twenty characters of it",
	 INTO(WORD, word)},
	{"second", "no|yes", "one of two", INTO(WORD, second)},
	{"switch", "on|off", "a switch", INTO(SWITCH, on)},
	{"number", "N", "a number", INTO(NUMBER, count), .min = 3, .max = 70},
	{"wide", "N", NULL, NULL, "a number", INTO(NUMBER, wide), .max = UINT64_MAX},
	{"size", "SIZE", "a size", INTO(SIZE, size), .min = 10, .max = 1ull << 40},
	{"seconds", "SECONDS", "a time", INTO(SECONDS, ns), .max = 100 * NVS_NS},
	{"even", "N", "an even number", .optional = true, .max = 100, .set = set_even,
	 .context = "me"},
	{"show=this", .help = "a line of --help only"},
	{NULL},
};

static struct target target;
static struct nvs_command_line line;
static char said[4096];

/* Parses the words of TEXT; what is printed on FD comes into SAID. */
static int parse_of(int fd, const char *text)
{
	static char copy[256];
	char *argv[16] = {(char *)"prog"};
	int argc = 1, saved, status;
	FILE *file = tmpfile();

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	target = (struct target){.on = true};
	line = (struct nvs_command_line){.program = "prog",
					 .usage = "Usage: prog\n",
					 .notes = "The end.\n",
					 .options = options,
					 .target = &target,
					 .in_order = line.in_order};
	fflush(NULL);
	saved = dup(fd);
	dup2(fileno(file), fd);
	optind = 0;
	status = nvs_command_line_parse(&line, argc, argv);
	fflush(NULL);
	dup2(saved, fd);
	close(saved);
	rewind(file);
	said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
	fclose(file);
	return status;
}

static int parse(const char *text)
{
	return parse_of(STDERR_FILENO, text);
}

static bool refused(const char *text, const char *message)
{
	return parse(text) == NVS_USAGE_ERROR && strstr(said, message) &&
	       strstr(said, "\nTry 'prog --help'.\n");
}

static void test_values(void)
{
	CHECK(parse("") == -1 && !said[0] && line.operand == 1);
	CHECK(parse("-f a --copy=abcdefg -x --word=bc --second yes --switch=off") == -1);
	CHECK(!strcmp(target.file, "a") && !strcmp(target.copy, "abcdefg") && target.flag);
	CHECK(target.word == 1 && target.second && !target.on);
	CHECK(nvs_option_given(&line, "flag") && !nvs_option_given(&line, "number"));
	CHECK(parse("--number=70 --wide=0xffffffffffffffff --size=2k --seconds=1.25") == -1);
	CHECK(target.count == 70 && target.wide == UINT64_MAX && target.size == 2048);
	CHECK(target.ns == 1250000000);
	CHECK(parse("--even") == -1 && target.count == 2);
	CHECK(parse("--even=8") == -1 && target.count == 8);
	CHECK(parse("-fb --num 5") == -1 && !strcmp(target.file, "b") && target.count == 5);
}

static void test_refused(void)
{
	CHECK(refused("--number=2", "prog: --number must be a number from 3 to 70, not '2'"));
	CHECK(refused("--number=71", "not '71'") && refused("--number=5x", "not '5x'"));
	CHECK(refused("--number=", "not ''") && refused("--number=-5", "not '-5'"));
	CHECK(refused("--wide=18446744073709551616", "must be a number, not"));
	CHECK(refused("--word=b", "must be a|bc|def, not 'b'") && refused("--word=a|bc", "not"));
	CHECK(refused("--switch=yes", "must be on|off, not 'yes'"));
	CHECK(refused("--copy=abcdefgh", "--copy") && refused("--copy=", "must be TEXT"));
	CHECK(refused("-f \1x --file=", "must be a file name, not ''"));
	CHECK(refused("--size=9", "SIZE") && refused("--size=2T", "SIZE"));
	CHECK(refused("--size=99999999999999999999K", "SIZE") && refused("--size=1KB", "SIZE"));
	CHECK(refused("--seconds=.5", "SECONDS") && refused("--seconds=1.", "SECONDS"));
	CHECK(refused("--seconds=101", "SECONDS") && refused("--seconds=1e1", "SECONDS"));
	CHECK(refused("--even=7", "must be N, not '7'"));
	CHECK(refused("--even=66", "prog: 66 is taken by 'me'"));
	CHECK(refused("--nothing", "unrecognized option '--nothing'"));
	CHECK(refused("--s=1", "ambiguous") && refused("--flag=1", "doesn't allow an argument"));
	CHECK(refused("--show=this", "'--show=this'"));
	CHECK(refused("--word=\1\033", "not '\\x01\\x1b'"));
}

static void test_order(void)
{
	CHECK(parse("a -x b") == -1 && line.operand == 2 && target.flag);
	line.in_order = true;
	CHECK(parse("-x a --nothing") == -1 && line.operand == 2 && target.flag);
	CHECK(parse("-- --flag") == -1 && line.operand == 2 && !target.flag);
	line.in_order = false;
}

static void test_help(void)
{
	CHECK(parse_of(STDOUT_FILENO, "--help --nothing") == 0);
	CHECK(strstr(said, "Usage: prog\n\n  -f, --file=FILE      a file (none)\n") == said);
	CHECK(strstr(said,
		     "\n\nNumbers:\n  $ prog --size=1M\n  -x, --flag           set something\n"));
	CHECK(strstr(said, "  --show=this          a line of --help only\n"));
	CHECK(!strstr(said, "--wide"));
	CHECK(strstr(said, "\n\n  -h, --help           print this and exit\n"));
	CHECK(!strcmp(said + strlen(said) - 10, "\nThe end.\n"));
	for (const char *p = said; *p; p += strcspn(p, "\n") + 1)
		CHECK(strcspn(p, "\n") <= 80);
	CHECK(parse_of(STDOUT_FILENO, "-V") == 0 && !strcmp(said, "prog " NVS_VERSION "\n"));
}

static void test_units(void)
{
	const char *text = "12K,rest";
	uint64_t value;

	CHECK(nvs_read_size(&text, 1 << 20, &value) && value == 12 << 10 && !strcmp(text, ",rest"));
	text = "0x1fg";
	CHECK(nvs_read_number(&text, 100, &value) && value == 31 && !strcmp(text, "g"));
	text = "0x";
	CHECK(!nvs_read_number(&text, 100, &value));
	text = "2.0000000019s";
	CHECK(nvs_read_decimal(&text, NVS_NS, 3 * NVS_NS, &value) && value == 2000000001);
	CHECK(!strcmp(text, "s"));
	text = "2.5";
	CHECK(nvs_read_decimal(&text, 1, 10, &value) && value == 2 && !strcmp(text, ".5"));
	text = "18446744073.9";
	CHECK(!nvs_read_decimal(&text, NVS_NS, UINT64_MAX, &value));
	CHECK(nvs_word_index("a|bc", "bc") == 1 && nvs_word_index("a|bc", "") == -1);
}

int main(void)
{
	test_values();
	test_refused();
	test_order();
	test_help();
	test_units();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
