/* SPDX-License-Identifier: MIT */
/* objdump's disassembly of a file, as an independent reference for x86-64. */
#ifndef NVSNOOP_TESTS_OBJDUMP_H
#define NVSNOOP_TESTS_OBJDUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
	uint64_t address;
	uint32_t offset, length; /* in the listing's bytes */
	int64_t target; /* of a direct branch, else -1 */
	bool bad, rip, starts; /* starts: not contiguous with the line before */
	char text[56];
};

struct listing {
	struct line *lines;
	uint8_t *bytes;
	size_t nlines, nbytes, lines_room, bytes_room;
};

static inline void *grow(void *array, size_t need, size_t *room, size_t size)
{
	if (need <= *room)
		return array;
	*room = need * 2;
	array = realloc(array, *room * size);
	if (!array) {
		perror("realloc");
		exit(1);
	}
	return array;
}

/* "  addr:\tb0 b1 b2 \ttext" */
static inline void parse_line(struct listing *list, char *text)
{
	struct line line = {.target = -1, .offset = list->nbytes};
	char *rest, *hex, *word;

	line.address = strtoull(text, &rest, 16);
	if (rest == text || rest[0] != ':' || rest[1] != '\t')
		return;
	rest += 2;
	for (;;) {
		unsigned long byte = strtoul(rest, &hex, 16);

		if (hex != rest + 2)
			break;
		list->bytes = grow(list->bytes, list->nbytes + 1, &list->bytes_room, 1);
		list->bytes[list->nbytes++] = byte;
		line.length++;
		rest = hex + 1;
	}
	while (*rest == ' ' || *rest == '\t')
		rest++;
	rest[strcspn(rest, "\n")] = 0;
	snprintf(line.text, sizeof line.text, "%s", rest);
	line.bad = strstr(rest, "(bad)") || strstr(rest, ".byte") || !*rest;
	line.rip = strstr(rest, "(%rip)") != NULL || strstr(rest, "(%eip)") != NULL;
	word = rest;
	if (!strncmp(word, "bnd ", 4) || !strncmp(word, "notrack ", 8))
		word = strchr(word, ' ') + 1;
	if (*word == 'j' || !strncmp(word, "call", 4) || !strncmp(word, "loop", 4)) {
		hex = strchr(word, ' ');
		while (hex && (*hex == ' ' || *hex == ','))
			hex++;
		if (hex && *hex != '*' && strchr("0123456789abcdef", *hex) && *hex)
			line.target = strtoull(hex, NULL, 16);
	}
	if (list->nlines) {
		struct line *last = &list->lines[list->nlines - 1];

		line.starts = last->address + last->length != line.address;
	}
	list->lines = grow(list->lines, list->nlines + 1, &list->lines_room, sizeof line);
	list->lines[list->nlines++] = line;
}

/* False: no objdump, or nothing disassembled. */
static inline bool objdump(struct listing *list, const char *options, const char *path)
{
	char command[1024], text[1024];
	FILE *in;

	memset(list, 0, sizeof *list);
	snprintf(command, sizeof command,
		 "LC_ALL=C objdump -w -z --insn-width=16 %s '%s' 2>/dev/null", options, path);
	in = popen(command, "r");
	if (!in)
		return false;
	while (fgets(text, sizeof text, in))
		parse_line(list, text);
	return pclose(in) == 0 && list->nlines;
}

static inline void listing_free(struct listing *list)
{
	free(list->lines);
	free(list->bytes);
}

#endif
