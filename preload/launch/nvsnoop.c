/* SPDX-License-Identifier: MIT */
/* nvsnoop: runs a program with the recording library preloaded, and prints what was written. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include "preload/base/names.h"
#include "preload/launch/launch.h"

/* Checks and sets up everything before the program starts. Returns -1, or the exit status after a
 * message. */
static int prepare_run(struct nvs_launch_args *args)
{
	char library[PATH_MAX];
	int status = args->stat && !nvs_launch_subcommand_exists("report")
			     ? NVS_EXIT_ERROR
			     : nvs_launch_preflight(args);

	if (status >= 0)
		return status;
	if (nvs_launch_find_library(library, sizeof(library)) || nvs_launch_stat_open(args))
		return NVS_EXIT_ERROR;
	return nvs_launch_set_environment(args, library) || nvs_launch_summary_open()
		       ? NVS_EXIT_ERROR
		       : -1;
}

static void print_failure(const char *program, int error)
{
	char interpreter[PATH_MAX], name[PATH_MAX];

	if (error == ENOENT &&
	    nvs_launch_lacks_interpreter(program, interpreter, sizeof(interpreter))) {
		nvs_name_printable(interpreter, name, sizeof(name));
		nvs_launch_print("cannot run %s: its interpreter '%s' does not exist", program,
				 name);
		return;
	}
	nvs_launch_print("cannot run %s: %s", program, strerror(error));
	nvs_launch_print_hint(program);
}

int main(int argc, char **argv)
{
	struct nvs_launch_args args;
	const char *argv0 = argv[0];
	int error, status = nvs_launch_subcommand(argv);

	if (status >= 0 || (status = nvs_launch_args_parse(argc, argv, &args)) >= 0)
		return status;
	status = prepare_run(&args);
	if (status >= 0) {
		nvs_launch_stat_close();
		return status;
	}
	error = nvs_launch_run(args.program, &status);
	if (error)
		print_failure(args.program[0], -error);
	nvs_launch_summary_close(&args, argv0, !error);
	nvs_launch_stat_close();
	if (error)
		return NVS_EXIT_ERROR;
	nvs_launch_end_as(status);
}
