/* SPDX-License-Identifier: MIT */
/* Output of reports: a file, a terminal or a pager; escaping of untrusted text; colour; the
 * progress line. */
#ifndef NVSNOOP_DECODE_CLI_OUTPUT_H
#define NVSNOOP_DECODE_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum nvs_format { NVS_FORMAT_TEXT, NVS_FORMAT_JSON, NVS_FORMAT_CSV };

/* How it is printed, by the command line. */
struct nvs_print_options {
	enum nvs_format format;
	const char *output; /* -o; NULL: stdout */
	bool overwrite; /* replace an existing file */
	bool folder; /* that is no file: it is made elsewhere */
	const char *sort; /* column; "-name": ascending; NULL: the report's own order */
	uint64_t rows; /* 0: all */
	bool has_rows;
	int color; /* -1: never, 0: auto, 1: always */
	bool pager;
	bool wide; /* all columns at any terminal width */
};

struct nvs_out {
	FILE *file;
	const char *made; /* path of the file that -o created or truncated; else NULL */
	bool terminal;
	bool fit; /* tables are made to fit the width of the terminal */
	bool color;
	bool brief; /* only the first line of a submission is needed from now on */
	uint64_t told; /* rows and submissions so far, including those that -n leaves out */
	bool lines; /* JSON: one object per line */
	int width;
	int pager; /* pid, 0: none */
	int status; /* -errno of the first failure */
};

/* Columns of the terminal at stdout; OTHERWISE if there is none. */
int nvs_terminal_width(int otherwise);
int nvs_out_open(struct nvs_out *out, const struct nvs_print_options *o);
/* Returns 0 or -errno, including -EPIPE. FAILED: the output is incomplete; a file created by -o is
 * removed. */
int nvs_out_close(struct nvs_out *out, bool failed);
/* Untrusted text, escaped. */
void nvs_out_text(struct nvs_out *out, const char *text);
void nvs_out_text_part(struct nvs_out *out, const char *text, size_t length);
void nvs_out_csv(struct nvs_out *out, const char *text); /* quoted if need be */
enum nvs_style { NVS_STYLE_PLAIN, NVS_STYLE_HEAD, NVS_STYLE_GOOD, NVS_STYLE_BAD, NVS_STYLE_DIM };
const char *nvs_out_style(const struct nvs_out *out, enum nvs_style style);
/* The progress line on stderr, of a reading of file ARG; shown after a second. */
void nvs_progress_print(void *arg, uint64_t done, uint64_t total);
void nvs_progress_clear(void);

#endif
