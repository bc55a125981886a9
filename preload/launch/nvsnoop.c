/* SPDX-License-Identifier: MIT */
/*
 * nvsnoop: runs a program with the recording library preloaded, and says at the end what was
 * written.
 */
#include <limits.h>
#include <string.h>
#include "preload/launch/launch.h"

int main(int argc, char **argv)
{
	struct nvs_launch_args args;
	char library[PATH_MAX];
	const char *argv0 = argv[0];
	int error, status;

	nvs_launch_sister(argv);
	status = nvs_launch_args_parse(argc, argv, &args);
	if (status >= 0 || (status = nvs_launch_refuse(&args)) >= 0)
		return status;
	if (nvs_launch_find_library(library, sizeof(library)) ||
	    nvs_launch_environment(&args, library) || nvs_launch_summary_open())
		return NVS_EXIT_ERROR;
	error = nvs_launch_run(args.program, &status);
	if (error) {
		nvs_launch_say("cannot run %s: %s", args.program[0], strerror(-error));
		nvs_launch_hint(args.program[0]);
		nvs_launch_summary_close(argv0, args.program[0], true);
		return NVS_EXIT_ERROR;
	}
	nvs_launch_summary_close(argv0, args.program[0], args.values.quiet);
	nvs_launch_end_as(status);
}
