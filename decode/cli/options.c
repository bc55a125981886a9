/* SPDX-License-Identifier: MIT */
/* Parses the command line of a program and prints its --help, from the table of its options. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "decode/cli/units.h"

#define HELP_COLUMN 23
#define HELP_WIDTH 80
#define FIRST_LONG 256 /* what getopt returns for the first entry of the table */

static const struct nvs_option own_options[] = {
	{"help", .letter = 'h', .help = "print this and exit"},
	{"version", .letter = 'V', .help = "print the version and exit"},
	{0},
};

static const char *program = "nvsnoop";

int nvs_usage_error(const char *format, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	fprintf(stderr, "%s: ", program);
	for (const char *p = text; *p; p++) /* it may quote any input */
		fprintf(stderr, (unsigned char)*p < ' ' || *p == 127 ? "\\x%02x" : "%c", *p);
	fprintf(stderr, "\nTry '%s --help'.\n", program);
	return NVS_USAGE_ERROR;
}

/* ---- --help ---- */

/* Prints TEXT from COLUMN on, wrapped. Returns the column after it. */
static int print_words(const char *text, int column)
{
	while (*text) {
		int length = (int)strcspn(text, " ");

		if (column + 1 + length > HELP_WIDTH)
			column = printf("\n%*s", HELP_COLUMN - 1, "") - 1;
		column += printf(" %.*s", length, text);
		text += length + (int)strspn(text + length, " ");
	}
	return column;
}

static void print_option(const struct nvs_option *o)
{
	int column = o->letter ? printf("  -%c, --%s", o->letter, o->name)
			       : printf("  --%s", o->name);
	char standard[64];

	if (o->argument)
		column += printf(o->optional ? "[=%s]" : "=%s", o->argument);
	if (column < HELP_COLUMN - 1)
		column += printf("%*s", HELP_COLUMN - 1 - column, "");
	else
		column = HELP_WIDTH; /* the text begins on a line of its own */
	column = print_words(o->help, column);
	if (o->standard) {
		snprintf(standard, sizeof(standard), "(%s)", o->standard);
		print_words(standard, column);
	}
	putchar('\n');
}

static void print_options(const struct nvs_option *o)
{
	if (o->name)
		putchar('\n');
	for (; o->name || o->help; o++)
		if (!o->name)
			printf("\n%s\n%s%s%s", o->help, o->argument ? "  $ " : "",
			       o->argument ?: "", o->argument ? "\n" : "");
		else if (o->help)
			print_option(o);
}

static void print_help(const struct nvs_command_line *line)
{
	fputs(line->usage, stdout);
	print_options(line->options);
	print_options(own_options);
	if (line->notes)
		printf("\n%s", line->notes);
}

int nvs_finish_stdout(void)
{
	/* A write error of text beyond the buffer shows in ferror() only. */
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	fprintf(stderr, "%s: output: %s\n", program, strerror(errno));
	return 1;
}

/* ---- parsing ---- */

struct getopt_table {
	struct option options[NVS_OPTIONS_MAX + 3];
	char letters[2 * NVS_OPTIONS_MAX + 3];
};

static void add_options(struct getopt_table *table, size_t n, const struct nvs_option *options)
{
	char *letter = table->letters + strlen(table->letters);

	for (size_t i = 0; options[i].name || options[i].help; i++) {
		const struct nvs_option *o = options + i;

		if (!o->name || strchr(o->name, '='))
			continue;
		table->options[n++] = (struct option){
			.name = o->name,
			.has_arg = o->optional ? optional_argument : o->argument != NULL,
			.val = options == own_options ? o->letter : FIRST_LONG + (int)i,
		};
		if (o->letter)
			*letter++ = o->letter;
		if (o->letter && o->argument)
			*letter++ = ':';
	}
	*letter = '\0';
}

/* Finds what getopt returned: the entry of a long option, or a letter. */
static const struct nvs_option *find_option(const struct nvs_option *options, int c)
{
	const struct nvs_option *o = options;

	if (c >= FIRST_LONG)
		return options + (c - FIRST_LONG);
	while (o->letter != c)
		o++;
	return o;
}

/* ARGUMENT is an unknown option, or the beginning of several. */
static void suggest_option(const struct nvs_option *options, const char *argument)
{
	size_t length = strcspn(argument + 2, "=");
	const char *name;

	for (const struct nvs_option *o = options; o->name || o->help; o++)
		if (o->name && !strncmp(o->name, argument + 2, length))
			return;
	name = nvs_option_nearest(options, argument + 2, length);
	if (name)
		fprintf(stderr, "Did you mean '--%.*s'?\n", (int)strcspn(name, "="), name);
}

static int take_option(struct nvs_command_line *line, int c, const char *argument)
{
	const struct nvs_option *o;
	const char *word;
	char rule[256];
	size_t length;
	int status;

	if (c == '?') { /* getopt has printed the reason */
		if (!optopt && !strncmp(argument, "--", 2))
			suggest_option(line->options, argument);
		fprintf(stderr, "Try '%s --help'.\n", program);
		return NVS_USAGE_ERROR;
	}
	if (c == 'h' || c == 'V') {
		if (c == 'h')
			print_help(line);
		else
			printf("%s " NVS_VERSION "\n", program);
		return nvs_finish_stdout();
	}
	o = find_option(line->options, c);
	line->given[o - line->options] = true;
	status = nvs_option_store(o, line->target, optarg);
	if (status != NVS_OPTION_WRONG)
		return status ? status : -1;
	nvs_option_rule(o, rule, sizeof(rule));
	length = o->kind == NVS_OPTION_WORD && o->argument && optarg
			 ? nvs_word_nearest(o->argument, optarg, &word)
			 : 0;
	if (length)
		return nvs_usage_error("--%s must be %s, not '%s'; did you mean '%.*s'?", o->name,
				       rule, optarg, (int)length, word);
	return nvs_usage_error("--%s must be %s, not '%s'", o->name, rule, optarg);
}

/* The next file would have the number of a closed stream, and what is written to that would be
 * written into it. Writing still fails, and a program that is executed has the stream closed. */
static void fill_closed_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int nvs_command_line_parse(struct nvs_command_line *line, int argc, char **argv)
{
	struct getopt_table table = {.letters = "+"};
	int c, status = -1;

	fill_closed_streams();
	if (!line->in_order)
		table.letters[0] = '\0';
	add_options(&table, 0, own_options);
	add_options(&table, 2, line->options);
	program = line->program;
	if (argc)
		argv[0] = (char *)program; /* getopt begins its messages with it */
	while (status < 0 &&
	       (c = getopt_long(argc, argv, table.letters, table.options, NULL)) != -1)
		status = take_option(line, c, argv[optind - 1]);
	line->operand = optind;
	return status;
}

bool nvs_option_given(const struct nvs_command_line *line, const char *name)
{
	for (size_t i = 0; line->options[i].name || line->options[i].help; i++)
		if (line->options[i].name && !strcmp(line->options[i].name, name))
			return line->given[i];
	return false;
}
