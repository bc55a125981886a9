/* SPDX-License-Identifier: MIT */
/* Names as the command line selects them: a glob, /a regular expression/, and ! before either. */
#ifndef NVSNOOP_DECODE_CLI_PATTERN_H
#define NVSNOOP_DECODE_CLI_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#define NVS_MAX_PATTERNS 64
/* Bytes of a regular expression, and of a name that one is held against: what comes behind is not
 * looked at. */
#define NVS_PATTERN_TEXT 512

struct nvs_pattern {
	const char *text; /* as given, behind the ! */
	bool excludes;
	bool is_regex;
	regex_t regex;
};

struct nvs_patterns {
	struct nvs_pattern list[NVS_MAX_PATTERNS];
	uint32_t n;
};

/* TEXT is kept. NULL, or what is wrong with it. */
const char *nvs_patterns_add(struct nvs_patterns *list, const char *text);
void nvs_patterns_free(struct nvs_patterns *list);
/* Does it fit NAME? Without regard to its !. */
bool nvs_pattern_is(const struct nvs_pattern *p, const char *name);
/* Is what ARG stands for selected: by one of those without !, if there are any, and by none with
 * it? IS tells whether a pattern fits. */
bool nvs_patterns_pass(const struct nvs_patterns *list,
		       bool (*is)(const struct nvs_pattern *p, const void *arg), const void *arg);

#endif
