/* SPDX-License-Identifier: MIT */
/*
 * The launcher's parts: what it was asked for, the program it runs, and the closing line over the
 * traces that the whole process tree wrote.
 */
#ifndef NVSNOOP_PRELOAD_LAUNCH_LAUNCH_H
#define NVSNOOP_PRELOAD_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "preload/base/options.h"

enum { NVS_EXIT_ERROR = 1, NVS_EXIT_USAGE = 2 };

/* ---- args.c: the command line ---- */

struct nvs_launch_args {
	const char *out; /* -o, NULL: not given */
	bool stat; /* --stat */
	char options[4096]; /* as the library takes them: "key=value,..."; "" for none */
	struct nvs_option_values values; /* what these say */
	char **program; /* ends in NULL, as execvp() takes it */
};

/*
 * Reads the command line into ARGS. Returns -1 to go on; otherwise the exit status with which all
 * is done: help or version was printed, or a message on what was wrong.
 */
int nvs_launch_args_parse(int argc, char **argv, struct nvs_launch_args *args);

/* ---- refuse.c: what cannot be recorded is not run ---- */

/* No trace is asked for. */
bool nvs_launch_untraced(const struct nvs_launch_args *args);
/* Can the trace, the buffers and the trigger file be where they are to be? -1: yes; otherwise the
 * exit status, after a message. */
int nvs_launch_refuse(const struct nvs_launch_args *args);

/* ---- sister.c: nvsnoop-report and its like ---- */

/* Becomes the program that argv[1] is short for ("report": nvsnoop-report). Returns -1 where it is
 * none; the exit status, after a message, where that is not there. */
int nvs_launch_sister(char **argv);
/* False, after a message: nvsnoop-SISTER is not there. */
bool nvs_launch_sister_there(const char *sister);
/* Returns where it is not there, or cannot be run: errno. */
void nvs_launch_become(const char *sister, char **argv);
/* What to call it: beside ARGV0 if that is a path. */
void nvs_launch_sister_name(char *name, size_t size, const char *argv0, const char *sister);
/* Has the names put into TRACE that its program, which was killed, had no time to write. */
void nvs_launch_embed(char *trace);
/* What may have been meant by a PROGRAM that cannot be run, on stderr. */
void nvs_launch_hint(const char *program);

/* ---- environment.c: what the program finds in its environment ---- */

/* The folder in which this program lies. */
void nvs_launch_folder(char *folder, size_t size);
/* Puts the library's path at PATH (SIZE bytes). 0, or -1 after a message. */
int nvs_launch_find_library(char *path, size_t size);
/* Sets LD_PRELOAD, NVSNOOP_OUT and NVSNOOP_OPTIONS. 0, or -1 after a message. */
int nvs_launch_environment(const struct nvs_launch_args *args, const char *library);

/* ---- child.c: running the program ---- */

/*
 * Runs PROGRAM to its end, passing on signals sent to us, and puts its wait status into STATUS.
 * 0, or -errno when it could not be started.
 */
int nvs_launch_run(char **program, int *status);
/* Ends this process as the child ended: with its exit status, or by its signal. */
_Noreturn void nvs_launch_end_as(int status);

/* ---- elf.c ---- */

/* Opens PROGRAM as execvp() would find it; -1: it cannot. */
int nvs_launch_open_program(const char *program);

/* True: PROGRAM is there, but not NAME, which is to run or to load it. */
bool nvs_launch_lacks_interpreter(const char *program, char *name, size_t size);

/* Why nothing could be preloaded into PROGRAM ("is statically linked, ..."); NULL: it could, or
 * nobody knows. */
const char *nvs_launch_cannot_preload(const char *program);

/* ---- sanitizer.c ---- */

/* Whether the file of that name, of LENGTH bytes, is a sanitizer's run-time library. */
bool nvs_launch_is_sanitizer(const char *name, size_t length);
/* The one that PROGRAM is linked with; false: none. */
bool nvs_launch_sanitizer(const char *program, char *name, size_t size);

/* ---- stat.c: --stat ---- */

/* Are the traces for the summary alone? */
bool nvs_launch_stat_private(const struct nvs_launch_args *args);
/* Makes a place for traces that are not kept, and puts it into ARGS->out. 0, or -1 after a message.
 */
int nvs_launch_stat_open(struct nvs_launch_args *args);
/* Prints the summary of the N traces on stderr. */
void nvs_launch_stat_print(const char *argv0, char **traces, size_t n);
/* And what is not kept goes. */
void nvs_launch_stat_close(void);

/* ---- summary.c: what was written ---- */

/*
 * Makes the private file to which the library of each process appends one line when its trace is
 * ended, and names it in the environment. 0, or -1 after a message.
 */
int nvs_launch_summary_open(void);
/* Prints the closing line for all of them, after the summary that --stat asks for, and removes the
 * file. Not RAN: there is nothing to be said. */
void nvs_launch_summary_close(const struct nvs_launch_args *args, const char *argv0, bool ran);

/* "nvsnoop: ..." on stderr. */
__attribute__((format(printf, 1, 2))) void nvs_launch_say(const char *format, ...);

#endif
