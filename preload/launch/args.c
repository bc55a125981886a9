/* SPDX-License-Identifier: MIT */
/* The launcher's command line. The recording options are the keys of NVSNOOP_OPTIONS: they come
 * from the library's table, are checked by its parser and are passed on as one option string. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "decode/cli/options.h"
#include "decode/cli/units.h"
#include "preload/launch/launch.h"
#include "preload/base/options.h"

static const struct nvs_option own_options[] = {
	{"output", "FILE",
	 "write the trace to FILE; in it %p is the pid, %e the program, %h the host, %q{VAR} a "
	 "variable, %% a percent sign; none: no trace, only the live page of nvsnoop-top",
	 NVS_DEFAULT_OUT, "a file name", .letter = 'o',
	 NVS_OPTION_INTO(TEXT, struct nvs_launch_args, out), .min = 1},
	{"stat", .help = "print a summary on stderr at the end; the trace is kept only with -o",
	 NVS_OPTION_INTO(CONSTANT, struct nvs_launch_args, stat), .min = true},
};
enum { OWN_OPTIONS = sizeof(own_options) / sizeof(*own_options) };

/* A relative FILE or DIR refers to the launcher's working directory, even if the program changes
 * its own. Returns the value to pass on, which is in BUFFER if a directory was prepended. */
static const char *from_here(const struct nvs_option *option, const char *value, char *buffer,
			     size_t size)
{
	char folder[PATH_MAX];

	if (!value || *value == '/' || !*value || !strcmp(value, "off"))
		return value;
	if (strncmp(option->argument, "FILE", 4) && strncmp(option->argument, "DIR", 3))
		return value;
	if (!getcwd(folder, sizeof(folder)) ||
	    snprintf(buffer, size, "%s/%s", strcmp(folder, "/") ? folder : "", value) >= (int)size)
		return value;
	return buffer;
}

/* Checks the value of a key and adds it to the options for the library. */
static int take_key(const struct nvs_option *option, void *target, const char *value)
{
	struct nvs_launch_args *args = target;
	char path[2 * PATH_MAX];

	value = from_here(option, value, path, sizeof(path));
	if (nvs_option_store(option->context, &args->values, value))
		return NVS_OPTION_WRONG;
	if (nvs_options_append(args->options, sizeof(args->options), option->name, value))
		return nvs_usage_error("--%s: too long", option->name);
	return 0;
}

/* Fills TABLE with the launcher's options and the keys. */
static void fill_table(struct nvs_option *table)
{
	const struct nvs_option *key = nvs_option_table;

	memcpy(table, own_options, sizeof(own_options));
	for (table += OWN_OPTIONS; key->help; key++, table++) {
		*table = *key;
		table->set = take_key;
		table->context = key;
	}
}

/* Joins the environment's options and those of the command line. Returns -1 to continue. */
static int join_options(struct nvs_launch_args *args)
{
	const char *environment = getenv(NVS_ENV_OPTIONS) ?: "";
	char given[sizeof(args->options)];
	char error[256];

	if (!getenv(NVS_ENV_OPTIONS) && getenv(NVS_ENV_WRONG))
		fputs("nvsnoop: " NVS_WRONG_TEXT "\n", stderr);
	strcpy(given, args->options);
	if (snprintf(args->options, sizeof(args->options), "%s%s%s", environment,
		     *environment && *given ? "," : "", given) >= (int)sizeof(args->options))
		return nvs_usage_error(NVS_ENV_OPTIONS ": too long");
	if (nvs_options_parse(&args->values, args->options, error, sizeof(error)))
		return nvs_usage_error("%s%s", *environment ? NVS_ENV_OPTIONS ": " : "", error);
	return -1;
}

int nvs_launch_args_parse(int argc, char **argv, struct nvs_launch_args *args)
{
	struct nvs_option table[NVS_OPTIONS_MAX] = {0};
	struct nvs_command_line line = {
		.program = "nvsnoop",
		.usage = "Usage: nvsnoop [-o FILE] [options] [--] program [args]\n"
			 "       nvsnoop report [nvsnoop-report's arguments]\n"
			 "       nvsnoop record [nvsnoop-record's arguments]\n"
			 "\n"
			 "Runs a program and records what the NVIDIA driver in it sends to the "
			 "GPU.\n",
		.notes = "Exits with the program's status; 1 if it cannot be run, 2 for usage "
			 "errors.\n"
			 "NVSNOOP_OUT and NVSNOOP_OPTIONS give defaults. Read a trace with "
			 "nvsnoop-report.\n",
		.options = table,
		.target = args,
		.in_order = true,
	};
	int status;

	*args = (struct nvs_launch_args){0};
	nvs_option_defaults(&args->values);
	fill_table(table);
	status = nvs_command_line_parse(&line, argc, argv);
	if (status < 0)
		status = join_options(args);
	if (status >= 0)
		return status;
	if (line.operand >= argc)
		return nvs_usage_error("no program to run");
	args->program = argv + line.operand;
	return -1;
}
