/* SPDX-License-Identifier: MIT */
/*
 * A page of text as it is to stand on a terminal: lines of pieces, each in a style. The same page
 * goes to a screen and, without its styles, into a pipe.
 */
#ifndef NVSNOOP_LIVE_TOP_TEXT_PAGE_H
#define NVSNOOP_LIVE_TOP_TEXT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum nvs_top_style {
	NVS_TOP_PLAIN,
	NVS_TOP_DIM, /* less important */
	NVS_TOP_STRONG,
	NVS_TOP_NAME, /* of a section */
	NVS_TOP_GOOD,
	NVS_TOP_WARN,
	NVS_TOP_BAD,
	NVS_TOP_HEAD, /* of a table */
	NVS_TOP_CHOSEN, /* the head of the column that is sorted by */
	NVS_TOP_STYLES
};

struct nvs_piece {
	size_t text; /* where it begins in the sheet's text, with a 0 at its end */
	uint32_t columns; /* on the terminal */
	uint8_t style;
};

struct nvs_line {
	uint32_t first, n; /* pieces */
};

struct nvs_sheet {
	char *text;
	size_t used, room;
	struct nvs_piece *pieces;
	uint32_t npieces, pieces_room;
	struct nvs_line *lines;
	uint32_t nlines, lines_room;
	uint32_t at; /* columns of the line in progress */
	bool utf8; /* what the terminal shows */
	bool failed; /* no memory: it ends earlier */
};

/* Nothing on it; its memory is kept. */
void nvs_sheet_clear(struct nvs_sheet *s);
void nvs_sheet_free(struct nvs_sheet *s);
/* Adds to the line in progress: text of our own, */
void nvs_sheet_add(struct nvs_sheet *s, enum nvs_top_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* blanks up to a column, */
void nvs_sheet_to(struct nvs_sheet *s, enum nvs_top_style style, uint32_t column);
/*
 * and text of strangers, escaped and cut to at most COLUMNS, with a ~ where it was cut. WIDTH
 * columns are filled with blanks: behind it, or before it if WIDTH is negative.
 */
void nvs_sheet_name(struct nvs_sheet *s, enum nvs_top_style style, const char *text,
		    uint32_t columns, int width);
void nvs_sheet_end(struct nvs_sheet *s); /* of the line */
/* Plain text, trailing blanks left out. */
void nvs_sheet_print(const struct nvs_sheet *s, FILE *file);

/* TEXT escaped for a terminal that shows UTF-8 or only ASCII, cut to COLUMNS. What it takes. */
uint32_t nvs_fit(char *to, size_t room, const char *text, uint32_t columns, bool utf8);

/* ---- figures in few columns: at most 5, but for times, which have at most 6 ---- */

#define NVS_FIGURE 16 /* bytes that a figure may take */

const char *nvs_figure_count(char to[NVS_FIGURE], double n); /* "12.3k" */
const char *nvs_figure_plain(char to[NVS_FIGURE], double n); /* "0.12", "12.3", "12k" */
const char *nvs_figure_time(char to[NVS_FIGURE], uint64_t ns); /* "350ms", "12m03s" */

#endif
