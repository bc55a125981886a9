/* SPDX-License-Identifier: MIT */
/*
 * The launcher's command line. The recording options are the keys of NVSNOOP_OPTIONS: they come
 * from the library's table, are checked by its parser and are passed on as one option string.
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "preload/launch/launch.h"
#include "preload/base/options.h"

#define OWN_OPTIONS 4
#define OPT_STAT 1
#define FIRST_KEY 256 /* getopt's value of the first key in the table */
#define HELP_COLUMN 29
#define HELP_WIDTH 80
#define MAX_OPTIONS 40

static const struct option own_options[OWN_OPTIONS] = {
	{"output", required_argument, NULL, 'o'},
	{"stat", no_argument, NULL, OPT_STAT},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
};

/* Returns the launcher's options followed by the table's; a switch takes no argument. */
static const struct option *all_options(void)
{
	static struct option options[MAX_OPTIONS + 1];
	size_t n = OWN_OPTIONS;

	memcpy(options, own_options, sizeof(own_options));
	for (size_t i = 0; nvs_option_table[i].key && n < MAX_OPTIONS; i++, n++)
		options[n] = (struct option){
			.name = nvs_option_table[i].key,
			.has_arg = nvs_option_table[i].value ? required_argument : no_argument,
			.val = FIRST_KEY + (int)i,
		};
	return options;
}

static int usage_error(void)
{
	fputs("Try 'nvsnoop --help'.\n", stderr);
	return NVS_EXIT_USAGE;
}

/* Prints TEXT from *COLUMN on, wrapped at 80 columns and indented to the help column. */
static void print_words(const char *text, size_t *column)
{
	while (*text) {
		size_t length = strcspn(text, " ");

		if (*column + 1 + length > HELP_WIDTH) {
			printf("\n%*s", HELP_COLUMN - 1, "");
			*column = HELP_COLUMN - 1;
		}
		*column += printf(" %.*s", (int)length, text);
		text += length + strspn(text + length, " ");
	}
}

static void print_option(const struct nvs_option *option)
{
	size_t column;
	char text[64];

	snprintf(text, sizeof(text), "%s--%s%s%s", strcmp(option->key, "quiet") ? "    " : "-q, ",
		 option->key, option->value ? "=" : "", option->value ?: "");
	column = (size_t)printf("  %-*s", HELP_COLUMN - 3, text);
	if (column >= HELP_COLUMN)
		column = HELP_WIDTH; /* the option is too wide */
	print_words(option->help, &column);
	if (option->standard) {
		snprintf(text, sizeof(text), "(%s)", option->standard);
		print_words(text, &column);
	}
	putchar('\n');
}

static void print_options(bool inner)
{
	for (const struct nvs_option *option = nvs_option_table; option->key; option++)
		if (option->inner == inner)
			print_option(option);
}

static int print_help(void)
{
	fputs("Usage: nvsnoop [-o FILE] [options] [--] program [args]\n"
	      "       nvsnoop report [nvsnoop-report's arguments]\n"
	      "\n"
	      "Runs a program and records what the NVIDIA driver in it sends to the GPU.\n"
	      "\n"
	      "  -o, --output=FILE          write the trace to FILE; in it %p is the pid, %e\n"
	      "                             the program, %h the host, %q{VAR} a variable, %%\n"
	      "                             a percent sign\n"
	      "                             (" NVS_DEFAULT_OUT ");\n"
	      "                             none: no trace, only the live page of nvsnoop-top\n"
	      "      --stat                 print a summary on stderr at the end; the trace\n"
	      "                             is kept only with -o\n",
	      stdout);
	print_options(false);
	fputs("  -h, --help                 this text\n"
	      "  -V, --version              print the version\n"
	      "\n"
	      "For tests and debugging:\n",
	      stdout);
	print_options(true);
	fputs("\n"
	      "Exits with the program's status; 1 if it cannot be run, 2 for usage errors.\n"
	      "NVSNOOP_OUT and NVSNOOP_OPTIONS give defaults. Read a trace with nvsnoop-report.\n",
	      stdout);
	return 0;
}

static int finish_stdout(void)
{
	if (fflush(stdout) != EOF && !ferror(stdout))
		return 0;
	nvs_launch_print("cannot write to stdout");
	return NVS_EXIT_ERROR;
}

/*
 * A relative FILE or DIR refers to the launcher's working directory, even if the program changes
 * its own. Returns the value to pass on, which is in BUFFER if a directory was prepended.
 */
static const char *from_here(const struct nvs_option *option, const char *value, char *buffer,
			     size_t size)
{
	char folder[PATH_MAX];

	if (!value || !option->value || *value == '/' || !*value || !strcmp(value, "off"))
		return value;
	if (strncmp(option->value, "FILE", 4) && strncmp(option->value, "DIR", 3))
		return value;
	if (!getcwd(folder, sizeof(folder)) ||
	    snprintf(buffer, size, "%s/%s", strcmp(folder, "/") ? folder : "", value) >= (int)size)
		return value;
	return buffer;
}

static int take_key(const struct nvs_option *option, const char *value,
		    struct nvs_launch_args *args)
{
	const char *key = option->key;
	char path[2 * PATH_MAX];
	struct nvs_option_values values;
	char error[256];

	value = from_here(option, value, path, sizeof(path));
	nvs_option_defaults(&values);
	if (nvs_option_set(&values, key, value, error, sizeof(error))) {
		nvs_launch_print("%s", error);
		return usage_error();
	}
	if (nvs_options_append(args->options, sizeof(args->options), key, value)) {
		nvs_launch_print("--%s: too long", key);
		return usage_error();
	}
	return -1;
}

static const struct nvs_option *find_key(const char *key)
{
	const struct nvs_option *option = nvs_option_table;

	while (option->key && strcmp(option->key, key))
		option++;
	return option;
}

/* Handles one option. Returns -1 to continue. */
static int take_option(int c, struct nvs_launch_args *args)
{
	switch (c) {
	case 'o':
		args->out = optarg;
		if (*optarg)
			return -1;
		nvs_launch_print("-o: the file name is empty");
		return usage_error();
	case OPT_STAT:
		args->stat = true;
		return -1;
	case 'q':
		return take_key(find_key("quiet"), NULL, args);
	case 'h':
		print_help();
		return finish_stdout();
	case 'V':
		puts("nvsnoop " NVS_VERSION);
		return finish_stdout();
	case '?':
		return usage_error();
	default:
		return take_key(&nvs_option_table[c - FIRST_KEY], optarg, args);
	}
}

/* Joins the environment's options and those of the command line. Returns -1 to continue. */
static int merge_options(struct nvs_launch_args *args)
{
	const char *environment = getenv(NVS_ENV_OPTIONS) ?: "";
	char given[sizeof(args->options)];
	char error[256];

	strcpy(given, args->options);
	if (snprintf(args->options, sizeof(args->options), "%s%s%s", environment,
		     *environment && *given ? "," : "", given) >= (int)sizeof(args->options)) {
		nvs_launch_print(NVS_ENV_OPTIONS ": too long");
		return usage_error();
	}
	if (nvs_options_parse(&args->values, args->options, error, sizeof(error))) {
		nvs_launch_print("%s%s", *environment ? NVS_ENV_OPTIONS ": " : "", error);
		return usage_error();
	}
	return -1;
}

int nvs_launch_args_parse(int argc, char **argv, struct nvs_launch_args *args)
{
	static char name[] = "nvsnoop";
	int c, status;

	*args = (struct nvs_launch_args){0};
	argv[0] = name; /* getopt starts its messages with it */
	while ((c = getopt_long(argc, argv, "+o:qhV", all_options(), NULL)) != -1) {
		status = take_option(c, args);
		if (status >= 0)
			return status;
	}
	status = merge_options(args);
	if (status >= 0)
		return status;
	if (optind >= argc) {
		nvs_launch_print("no program to run");
		return usage_error();
	}
	args->program = argv + optind;
	return -1;
}
