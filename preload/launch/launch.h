/* SPDX-License-Identifier: MIT */
/* The launcher's modules: command line, checks, the program's run, and the closing line for the
 * traces of the whole process tree. */
#ifndef NVSNOOP_PRELOAD_LAUNCH_LAUNCH_H
#define NVSNOOP_PRELOAD_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "preload/base/options.h"

#define NVS_EXIT_ERROR 1 /* usage errors: NVS_USAGE_ERROR */

/* ---- args.c: the command line ---- */

struct nvs_launch_args {
	const char *out; /* -o; NULL: not given */
	bool stat; /* --stat */
	char options[4096]; /* for the library: "key=value,..."; "" for none */
	struct nvs_option_values values; /* parsed from options */
	char **program; /* NULL-terminated, as execvp() needs it */
};

/* Parses the command line into ARGS. Returns -1 to continue, or the exit status: help or version
 * was printed, or an error message. */
int nvs_launch_args_parse(int argc, char **argv, struct nvs_launch_args *args);

/* ---- preflight.c: checks before the program is started ---- */

/* Returns true if no trace was requested. */
bool nvs_launch_is_untraced(const struct nvs_launch_args *args);
/* Checks that trace, spool and trigger file are usable. Returns -1 if so, else the exit status
 * after a message. */
int nvs_launch_preflight(const struct nvs_launch_args *args);

/* ---- subcommands.c: subcommands, as nvsnoop-report ---- */

/* Executes the program that argv[1] names ("report": nvsnoop-report). Returns -1 if it is no
 * subcommand, or the exit status after a message if the program is not found. */
int nvs_launch_subcommand(char **argv);
/* Returns false, after a message, if nvsnoop-SISTER is not found. */
bool nvs_launch_subcommand_exists(const char *sister);
/* Executes it. Returns only on failure, with errno set. */
void nvs_launch_exec(const char *sister, char **argv);
/* Writes the name to call it by: in the directory of ARGV0 if that is a path. */
void nvs_launch_subcommand_name(char *name, size_t size, const char *argv0, const char *sister);
/* Adds the names to TRACE that its program, which was killed, could not write. */
void nvs_launch_embed_names(char *trace);
/* Prints a hint for a PROGRAM that cannot be run. */
void nvs_launch_print_hint(const char *program);

/* ---- environment.c: the program's environment ---- */

/* Writes the directory of this program to FOLDER. */
void nvs_launch_directory(char *folder, size_t size);
/* Writes the library's path to PATH (SIZE bytes). Returns 0, or -1 after a message. */
int nvs_launch_find_library(char *path, size_t size);
/* Sets LD_PRELOAD, NVSNOOP_OUT and NVSNOOP_OPTIONS. Returns 0, or -1 after a message. */
int nvs_launch_set_environment(const struct nvs_launch_args *args, const char *library);

/* ---- child.c: running the program ---- */

/* Runs PROGRAM to its end, forwards signals, and stores its wait status. Returns 0, or -errno if it
 * could not be started. */
int nvs_launch_run(char **program, int *status);
/* Ends this process as the child ended: with its exit status or by its signal. */
_Noreturn void nvs_launch_end_as(int status);

/* ---- preload_check.c ---- */

/* Opens PROGRAM as execvp() would find it. Returns -1 on failure. */
int nvs_launch_open_program(const char *program);

/* Returns true if PROGRAM exists but its interpreter or loader, NAME, does not. */
bool nvs_launch_lacks_interpreter(const char *program, char *name, size_t size);

/* Returns why nothing can be preloaded into PROGRAM ("is statically linked, ..."); NULL if it can,
 * or if that is unknown. */
const char *nvs_launch_preload_obstacle(const char *program);

/* ---- sanitizer.c ---- */

/* Returns true if the file name of LENGTH bytes is a sanitizer's run-time library. */
bool nvs_launch_is_sanitizer(const char *name, size_t length);
/* Finds the one that PROGRAM is linked with. Returns false if there is none. */
bool nvs_launch_find_sanitizer(const char *program, char *name, size_t size);

/* ---- print_stat.c: --stat ---- */

/* Returns true if the traces are only for the summary. */
bool nvs_launch_stat_is_private(const struct nvs_launch_args *args);
/* Creates a directory for traces that are not kept and stores it in ARGS->out. Returns 0, or -1
 * after a message. */
int nvs_launch_stat_open(struct nvs_launch_args *args);
/* Prints the summary of the N traces on stderr; if TIMED, also the GPU time of kernels. */
void nvs_launch_stat_print(const char *argv0, bool timed, char **traces, size_t n);
/* Removes the traces that are not kept. */
void nvs_launch_stat_close(void);

/* ---- closing_line.c: the closing line ---- */

/* Creates the private file to which the library in each process appends a line at its trace's end,
 * and sets the environment variable. Returns 0, or -1 after a message. */
int nvs_launch_summary_open(void);
/* Prints the summary for --stat, then the closing line for all traces (only if RAN), and removes
 * the file. */
void nvs_launch_summary_close(const struct nvs_launch_args *args, const char *argv0, bool ran);

/* Prints "nvsnoop: ..." on stderr. */
__attribute__((format(printf, 1, 2))) void nvs_launch_print(const char *format, ...);

#endif
