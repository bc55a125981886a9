/* SPDX-License-Identifier: MIT */
/*
 * What the page of --html holds of a trace: text, deflated and in base64, in elements that are no
 * script. So nothing of a trace stands in the page in letters of its own, and little of it is
 * large.
 */
#ifndef NVSNOOP_DECODE_EXPORT_HTML_PACK_H
#define NVSNOOP_DECODE_EXPORT_HTML_PACK_H

#include <stdio.h>
#include "decode/report/core/report.h"

/* What a page holds at most, so that a browser can still read it. Tests have smaller bounds. */
#ifndef NVS_HTML_ROWS
#define NVS_HTML_ROWS 20000u /* of a table, where -n does not say */
#define NVS_HTML_EVENTS 2000000u /* of the timeline, */
#define NVS_HTML_TIMES (32ull << 20) /* and bytes of the page for it */
#define NVS_HTML_EACH (512u << 10) /* bytes of text of one submission */
#define NVS_HTML_WORDS (40ull << 20) /* bytes of the page: beyond them no words, */
#define NVS_HTML_HEADS (48ull << 20) /* and beyond these nothing of the stream */
#define NVS_PACK_BYTES (256u << 10) /* of text in one element, where it can be cut there */
#endif

struct nvs_pack {
	FILE *out; /* the page */
	const char *kind; /* data-pack */
	uint32_t process; /* of the traces, from 1; 0: of all */
	bool heads; /* data-heads: of submissions the first line alone */
	uint64_t at, items; /* number of the first thing in it, and how many they are */
	char *text;
	size_t n, room;
	uint64_t packed; /* bytes of the page so far */
	int status; /* -errno of the first failure */
};

void nvs_pack_put(struct nvs_pack *p, const char *text, size_t n);
void nvs_pack_print(struct nvs_pack *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Writes the element, if there is anything for it, and begins the next. 0, or status. */
int nvs_pack_flush(struct nvs_pack *p);
/* The same as of a text of its own; frees. */
int nvs_pack_end(struct nvs_pack *p);
/* A file that WRITE gets all of; NULL: none to be had. */
FILE *nvs_pack_file(void *arg, ssize_t (*write)(void *arg, const char *text, size_t n));
/* What nvs_pack_file() takes for a pack. */
ssize_t nvs_pack_write(void *pack, const char *text, size_t n);

/* html_times.c: the timeline, as packs of names, times and details. LEFT: what there was no room
 * for. */
struct nvs_html_left {
	uint64_t events, from_ns; /* of the timeline, and where the first of them was */
	uint64_t words,
		submissions; /* submissions without their words, and those not there at all */
	uint64_t lines; /* of single submissions that are very long */
};
int nvs_html_times(struct nvs_run *run, struct nvs_html_left *left);

/* html_stream.c: what DUMP prints, in packs, and a pack of words that explain the methods in it. */
int nvs_html_stream(struct nvs_run *dump, struct nvs_html_left *left);

#endif
