/* SPDX-License-Identifier: MIT */
/* Patterns of the command line: a glob, /a regular expression/, and ! before either to exclude. */
#ifndef NVSNOOP_DECODE_CLI_PATTERN_H
#define NVSNOOP_DECODE_CLI_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#define NVS_MAX_PATTERNS 64
/* Maximum length of a regular expression, and of a name that is matched; the rest of a longer name
 * is ignored. */
#define NVS_PATTERN_TEXT 512

struct nvs_pattern {
	const char *text; /* as given, without the ! */
	bool excludes;
	bool is_regex;
	regex_t regex;
};

struct nvs_patterns {
	struct nvs_pattern list[NVS_MAX_PATTERNS];
	uint32_t n;
};

/* TEXT must outlive the list. Returns NULL, or the error message. */
const char *nvs_patterns_add(struct nvs_patterns *list, const char *text);
void nvs_patterns_free(struct nvs_patterns *list);
/* Returns true if the pattern matches NAME; ignores its !. */
bool nvs_pattern_matches(const struct nvs_pattern *p, const char *name);
/* Returns true if the object ARG is selected: it matches a pattern without !, if there are any, and
 * none with it. IS returns whether a pattern matches ARG. */
bool nvs_patterns_select(const struct nvs_patterns *list,
			 bool (*is)(const struct nvs_pattern *p, const void *arg), const void *arg);

#endif
