/* SPDX-License-Identifier: MIT */
/*
 * The launcher's command line. The options are the keys of NVSNOOP_OPTIONS, so they are handed on
 * as one option string, which the library's own parser has checked.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "preload/launch/launch.h"
#include "preload/options.h"

static const char help[] =
	"Usage: nvsnoop [-o FILE] [options] [--] program [args]\n"
	"\n"
	"Runs a program and records what the NVIDIA driver in it sends to the GPU.\n"
	"\n"
	"  -o, --output=FILE      write the trace to FILE; in its name %p is the process, %e the\n"
	"                         program, %h the host, %q{VAR} a variable, %% a percent sign\n"
	"                         (nvsnoop.%e.%p.zst)\n"
	"      --overwrite        write over a trace that is there\n"
	"  -q, --quiet            no closing line\n"
	"      --trap=MODE        how a doorbell gets through: emulate, or step (emulate)\n"
	"      --backtrace=on|off take the call site of each submission (on)\n"
	"      --overflow=MODE    when a buffer is full: wait, or drop and count (wait)\n"
	"      --buffer=SIZE      size of one thread's buffer, as 64K or 4M (4M)\n"
	"      --spool=DIR|off    where the buffers lie that outlive a kill (beside the trace)\n"
	"  -h, --help             this text\n"
	"  -V, --version          print the version\n"
	"\n"
	"Exits as the program does; 1 when it could not be run, 2 for a wrong command line.\n"
	"NVSNOOP_OUT and NVSNOOP_OPTIONS give defaults. Read a trace with nvsnoop-report.\n";

enum { OPT_OVERWRITE = 256, OPT_KEY_VALUE };

/* Long options of value OPT_KEY_VALUE go on as "name=argument". */
static const struct option options[] = {
	{"output", required_argument, NULL, 'o'},
	{"overwrite", no_argument, NULL, OPT_OVERWRITE},
	{"quiet", no_argument, NULL, 'q'},
	{"trap", required_argument, NULL, OPT_KEY_VALUE},
	{"backtrace", required_argument, NULL, OPT_KEY_VALUE},
	{"overflow", required_argument, NULL, OPT_KEY_VALUE},
	{"buffer", required_argument, NULL, OPT_KEY_VALUE},
	{"spool", required_argument, NULL, OPT_KEY_VALUE},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static int usage_error(void)
{
	fputs("Try 'nvsnoop --help'.\n", stderr);
	return NVS_EXIT_USAGE;
}

/* Appends "key[=value]" to the option string. */
static int add_option(char **string, const char *key, const char *value)
{
	char *more;

	if (asprintf(&more, "%s%s%s%s%s", *string, **string ? "," : "", key, value ? "=" : "",
		     value ? value : "") < 0)
		return -1;
	free(*string);
	*string = more;
	return 0;
}

static int print_and_leave(const char *text)
{
	if (fputs(text, stdout) == EOF || fflush(stdout) == EOF) {
		nvs_launch_say("cannot write to stdout");
		return NVS_EXIT_ERROR;
	}
	return 0;
}

/* One option; -1 to go on. */
static int take_option(int c, int index, struct nvs_launch_args *args)
{
	switch (c) {
	case 'o':
		args->out = optarg;
		return -1;
	case 'q':
		args->quiet = true;
		return add_option(&args->options, "quiet", NULL) ? NVS_EXIT_ERROR : -1;
	case OPT_OVERWRITE:
		return add_option(&args->options, "overwrite", NULL) ? NVS_EXIT_ERROR : -1;
	case OPT_KEY_VALUE:
		if (strchr(optarg, ',')) {
			nvs_launch_say("--%s: a comma cannot stand in '%s'", options[index].name,
				       optarg);
			return usage_error();
		}
		return add_option(&args->options, options[index].name, optarg) ? NVS_EXIT_ERROR
									       : -1;
	case 'h':
		return print_and_leave(help);
	case 'V':
		return print_and_leave("nvsnoop " NVS_VERSION "\n");
	default:
		return usage_error();
	}
}

int nvs_launch_args_parse(int argc, char **argv, struct nvs_launch_args *args)
{
	struct nvs_options parsed;
	const char *wrong;
	int c, index = 0, status;

	*args = (struct nvs_launch_args){.options = calloc(1, 1)};
	if (!args->options)
		return NVS_EXIT_ERROR;
	argv[0] = "nvsnoop"; /* getopt begins its messages with it */
	while ((c = getopt_long(argc, argv, "+o:qhV", options, &index)) != -1) {
		status = take_option(c, index, args);
		if (status >= 0)
			return status;
	}
	wrong = nvs_options_parse(args->options, &parsed);
	if (wrong) {
		nvs_launch_say("%s: %s", args->options, wrong);
		return usage_error();
	}
	if (args->out && !*args->out) {
		nvs_launch_say("-o: the file has no name");
		return usage_error();
	}
	if (optind >= argc) {
		nvs_launch_say("no program to run");
		return usage_error();
	}
	args->program = argv + optind;
	return -1;
}
