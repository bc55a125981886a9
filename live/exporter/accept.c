/* SPDX-License-Identifier: MIT */
/*
 * Parses an Accept header such as "application/openmetrics-text;version=1.0.0,text/plain;q=0.5". An
 * OpenMetrics range with another version than ours is ignored. Wildcards select the default, plain
 * text.
 */
#include <string.h>
#include <strings.h>
#include "live/exporter/accept.h"

/* A token of the header, without surrounding blanks. */
struct header_token {
	const char *text;
	size_t n;
};

static struct header_token next_word(const char **at, const char *ends)
{
	struct header_token w;

	*at += strspn(*at, " \t");
	w.text = *at;
	w.n = strcspn(*at, ends);
	*at += w.n;
	while (w.n && strchr(" \t", w.text[w.n - 1]))
		w.n--;
	return w;
}

static bool token_equals(struct header_token w, const char *text)
{
	return w.n == strlen(text) && !strncasecmp(w.text, text, w.n);
}

/* Parses a quality value such as "0.75". Returns thousandths; 0 if malformed. */
static int parse_quality(struct header_token w)
{
	int q = 0, scale = 1000;

	if (!w.n || (w.text[0] != '0' && w.text[0] != '1') || (w.n > 1 && w.text[1] != '.') ||
	    w.n > 5)
		return 0;
	for (size_t i = 0; i < w.n; i++) {
		if (i == 1)
			continue;
		if (w.text[i] < '0' || w.text[i] > '9')
			return 0;
		q += (w.text[i] - '0') * scale;
		scale /= 10;
	}
	return q > 1000 ? 1000 : q;
}

bool nvs_prefers_openmetrics(const char *accept)
{
	int open = 0, plain = 0;

	while (accept && *accept) {
		struct header_token type = next_word(&accept, ";,");
		bool ours = true;
		int q = 1000;

		while (*accept == ';') {
			struct header_token name, value;

			accept++;
			name = next_word(&accept, "=;,");
			value = (struct header_token){"", 0};
			if (*accept == '=') {
				accept++;
				value = next_word(&accept, ";,");
			}
			if (token_equals(name, "q"))
				q = parse_quality(value);
			else if (token_equals(name, "version") &&
				 token_equals(type, "application/openmetrics-text"))
				ours = token_equals(value, "1.0.0");
		}
		if (token_equals(type, "application/openmetrics-text") && ours && q > open)
			open = q;
		else if (token_equals(type, "text/plain") && q > plain)
			plain = q;
		accept += *accept == ',';
	}
	return open && open >= plain;
}
