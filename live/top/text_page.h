/* SPDX-License-Identifier: MIT */
/* A page of text: lines made of styled pieces. The same page is drawn on a terminal or, without
 * styles, printed to a pipe. */
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
	NVS_TOP_NAME, /* section name */
	NVS_TOP_GOOD,
	NVS_TOP_WARN,
	NVS_TOP_BAD,
	NVS_TOP_HEAD, /* table heading */
	NVS_TOP_CHOSEN, /* heading of the sort column */
	NVS_TOP_STYLES
};

struct nvs_text_piece {
	size_t text; /* offset in the sheet's text; terminated by 0 */
	uint32_t columns; /* width on the terminal */
	uint8_t style;
};

struct nvs_text_line {
	uint32_t first, n; /* pieces */
};

struct nvs_text_page {
	char *text;
	size_t used, room;
	struct nvs_text_piece *pieces;
	uint32_t npieces, pieces_room;
	struct nvs_text_line *lines;
	uint32_t nlines, lines_room;
	uint32_t at; /* columns used in the line in progress */
	bool utf8; /* the terminal shows UTF-8 */
	bool failed; /* out of memory: the page is incomplete */
};

/* Empties the page; its memory is kept for reuse. */
void nvs_text_page_clear(struct nvs_text_page *s);
void nvs_text_page_free(struct nvs_text_page *s);
/* Appends formatted text to the line in progress. */
void nvs_text_page_printf(struct nvs_text_page *s, enum nvs_top_style style, const char *format,
			  ...) __attribute__((format(printf, 3, 4)));
/* Pads the line in progress to a column. */
void nvs_text_page_pad(struct nvs_text_page *s, enum nvs_top_style style, uint32_t column);
/* Appends untrusted text, escaped and cut to at most COLUMNS, with a ~ at the cut. Pads it to WIDTH
 * columns: on the right, or on the left if WIDTH is negative. */
void nvs_text_page_add_escaped(struct nvs_text_page *s, enum nvs_top_style style, const char *text,
			       uint32_t columns, int width);
void nvs_text_page_end_line(struct nvs_text_page *s); /* ends the line in progress */
/* Prints plain text without trailing blanks. */
void nvs_text_page_print(const struct nvs_text_page *s, FILE *file);

/* Escapes TEXT for a UTF-8 or ASCII terminal and cuts it to COLUMNS. Returns the columns used. */
uint32_t nvs_escape_to_columns(char *to, size_t room, const char *text, uint32_t columns,
			       bool utf8);

/* ---- numbers in at most 5 columns; times in at most 6 ---- */

#define NVS_FIGURE 16 /* size of the buffer for a formatted number */

const char *nvs_figure_count(char to[NVS_FIGURE], double n); /* "12.3k" */
const char *nvs_figure_plain(char to[NVS_FIGURE], double n); /* "0.12", "12.3", "12k" */
const char *nvs_figure_time(char to[NVS_FIGURE], uint64_t ns); /* "350ms", "12m03s" */

#endif
