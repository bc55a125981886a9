/* SPDX-License-Identifier: MIT */
/* Data of the trace in the page of --html: text, deflated and in base64, in script elements that
 * are never executed. So no text from a trace can be parsed as HTML, and the page stays small. */
#ifndef NVSNOOP_DECODE_EXPORT_HTML_PACK_H
#define NVSNOOP_DECODE_EXPORT_HTML_PACK_H

#include <stdio.h>
#include "decode/report/core/report.h"

/* Limits of a page, so that a browser can load it. Tests use smaller ones. */
#ifndef NVS_HTML_ROWS
#define NVS_HTML_ROWS 20000u /* rows of a table without -n */
#define NVS_HTML_EVENTS 2000000u /* events of the timeline */
#define NVS_HTML_NODES 1000000u /* of graphs, counted again when they change between launches */
#define NVS_HTML_TIMES (32ull << 20) /* bytes of the page for the timeline */
#define NVS_HTML_EACH (512u << 10) /* bytes of text per submission */
#define NVS_HTML_WORDS (40ull << 20) /* bytes of the page, after which methods are left out */
#define NVS_HTML_HEADS (48ull << 20) /* bytes, after which submissions are left out */
#define NVS_PACK_BYTES (256u << 10) /* bytes of text in one element, if it can be split there */
#endif

struct nvs_html_press;

struct nvs_html_pack {
	FILE *out; /* the page */
	struct nvs_html_press *press; /* NULL: elements are written at once */
	const char *kind; /* data-pack */
	uint32_t process; /* number of the trace, from 1; 0: all */
	bool heads; /* data-heads: only the first line of each submission */
	bool folds; /* its text is folded: see fold.h */
	uint64_t at, items; /* number of the first item in it, and number of items */
	char *text;
	size_t n, room;
	int status; /* -errno of the first failure */
};

void nvs_html_pack_put(struct nvs_html_pack *p, const char *text, size_t n);
void nvs_html_pack_print(struct nvs_html_pack *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* With a comma after it. */
void nvs_html_pack_number(struct nvs_html_pack *p, int64_t number);
/* Writes the element, unless it is empty, and begins the next. Returns status. */
int nvs_html_pack_flush(struct nvs_html_pack *p);
/* Writes the last element and frees the text. Returns status. */
int nvs_html_pack_end(struct nvs_html_pack *p);
/* Deflates the elements of its packs in other threads, and writes them to OUT in order. Nothing
 * else may write to OUT meanwhile. Returns NULL if memory is short. */
struct nvs_html_press *nvs_html_press_new(FILE *out);
/* Returns true if its elements so far are larger than LIMIT, in bytes of the page. */
bool nvs_html_press_exceeds(struct nvs_html_press *press, uint64_t limit);
/* After the end of its packs. NULL is allowed. */
void nvs_html_press_free(struct nvs_html_press *press);

/* Returns a stream that writes to WRITE; NULL on failure. */
FILE *nvs_html_pack_open(void *arg, ssize_t (*write)(void *arg, const char *text, size_t n));
/* WRITE of a stream into a pack. */
ssize_t nvs_html_pack_write(void *pack, const char *text, size_t n);

/* timeline.c: the timeline, as packs of names, times and details. LEFT counts what did not fit.
 */
struct nvs_html_left_out {
	uint64_t events, from_ns; /* events that did not fit, and time of the first of them */
	uint64_t words, submissions; /* submissions without methods, and those left out */
	uint64_t lines; /* lines left out of very long submissions */
};
int nvs_html_print_timeline(struct nvs_run *run, struct nvs_html_left_out *left);

/* stream.c: output of --dump in packs, and a pack that describes the methods in it. */
int nvs_html_print_stream(struct nvs_run *dump, struct nvs_html_left_out *left);

#endif
