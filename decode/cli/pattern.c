/* SPDX-License-Identifier: MIT */
/* Lists of globs and regular expressions from the command line. */
#include <fnmatch.h>
#include <string.h>
#include "decode/cli/pattern.h"

static const char *compile_regex(struct nvs_pattern *p)
{
	char text[NVS_PATTERN_TEXT];
	size_t n = strlen(p->text);

	p->is_regex = n > 2 && p->text[0] == '/' && p->text[n - 1] == '/';
	if (!p->is_regex)
		return NULL;
	n -= 2;
	if (n >= sizeof(text))
		return "regular expression too long:";
	memcpy(text, p->text + 1, n);
	text[n] = '\0';
	return regcomp(&p->regex, text, REG_EXTENDED | REG_NOSUB) ? "invalid regular expression"
								  : NULL;
}

const char *nvs_patterns_add(struct nvs_patterns *list, const char *text)
{
	struct nvs_pattern *p = list->list + list->n;
	const char *trouble;

	if (list->n == NVS_MAX_PATTERNS)
		return "too many filters at";
	p->excludes = *text == '!';
	p->text = text + p->excludes;
	if (p->excludes && !*p->text)
		return "nothing to exclude in";
	trouble = compile_regex(p);
	list->n += !trouble;
	return trouble;
}

void nvs_patterns_free(struct nvs_patterns *list)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->list[i].is_regex)
			regfree(&list->list[i].regex);
	list->n = 0;
}

bool nvs_pattern_matches(const struct nvs_pattern *p, const char *name)
{
	char text[NVS_PATTERN_TEXT];
	size_t n;

	if (!p->is_regex)
		return !fnmatch(p->text, name, 0);
	n = strnlen(name, sizeof(text) - 1);
	memcpy(text, name, n);
	text[n] = '\0';
	return !regexec(&p->regex, text, 0, NULL, 0);
}

bool nvs_patterns_select(const struct nvs_patterns *list,
			 bool (*is)(const struct nvs_pattern *p, const void *arg), const void *arg)
{
	bool asked = false, found = false;

	for (uint32_t i = 0; i < list->n; i++) {
		const struct nvs_pattern *p = list->list + i;

		if (p->excludes && is(p, arg))
			return false;
		asked |= !p->excludes;
		found = found || (!p->excludes && is(p, arg));
	}
	return found || !asked;
}
