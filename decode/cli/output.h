/* SPDX-License-Identifier: MIT */
/* Where reports are printed: a file, a terminal or a pager, and how text is escaped there. */
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
	bool overwrite; /* a file of that name */
	bool folder; /* that is no file: it is made elsewhere */
	const char *sort; /* column, NULL: the report's own order; "-name" ascending */
	uint64_t rows; /* 0: all */
	bool has_rows;
	int color; /* -1: never, 0: auto, 1: always */
	bool pager;
	bool wide; /* all columns, whatever the terminal's width */
};

struct nvs_out {
	FILE *file;
	const char *made; /* its path, where -o asked for it and it was not there; else NULL */
	bool terminal;
	bool fit; /* a person reads it: tables are made to fit the width */
	bool color;
	uint64_t told; /* rows and submissions so far, those that -n leaves out among them */
	bool lines; /* JSON: each object on a line of its own */
	int width;
	int pager; /* process, 0: none */
	int status; /* -errno of the first failure */
};

int nvs_out_open(struct nvs_out *out, const struct nvs_print_options *o);
/* 0, or -errno of what went wrong; EPIPE is among it. FAILED: what is there is no report; a file of
 * -o goes then. */
int nvs_out_close(struct nvs_out *out, bool failed);
/* Untrusted text, escaped. */
void nvs_out_text(struct nvs_out *out, const char *text);
void nvs_out_part(struct nvs_out *out, const char *text, size_t length);
void nvs_out_json(struct nvs_out *out, const char *text, size_t length);
void nvs_out_csv(struct nvs_out *out, const char *text);
enum nvs_style { NVS_STYLE_PLAIN, NVS_STYLE_HEAD, NVS_STYLE_GOOD, NVS_STYLE_BAD, NVS_STYLE_DIM };
const char *nvs_out_style(const struct nvs_out *out, enum nvs_style style);
/* The progress line; nothing where stderr is no terminal. */
void nvs_progress(void *arg, uint64_t done, uint64_t total);
void nvs_progress_clear(void);

#endif
