/* SPDX-License-Identifier: MIT */
/* Numbers, sizes and names as the closing line prints them. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "preload/base/text.h"

struct nvs_text nvs_text_number(uint64_t n)
{
	struct nvs_text to;
	char digits[24], *at = to.text;
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);

	for (int i = 0; i <= length; i++) {
		if (i && i < length && (length - i) % 3 == 0)
			*at++ = ',';
		*at++ = digits[i];
	}
	return to;
}

struct nvs_text nvs_text_size(uint64_t bytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB"};
	double size = (double)bytes / 1000;
	struct nvs_text to;
	int unit = 0;

	for (; size >= 999.95 && unit < 3; unit++)
		size /= 1000;
	if (bytes < 1000)
		snprintf(to.text, sizeof(to.text), "%u bytes", (unsigned)bytes);
	else
		snprintf(to.text, sizeof(to.text), "%.1f %s", size, units[unit]);
	return to;
}

size_t nvs_text_quote(const char *name, char *out, size_t size)
{
	bool plain = (*name != '-' && !name[strspn(name, NVS_SHELL_PLAIN)]) || size < 8;
	size_t n = (size_t)snprintf(out, size, "%s", plain ? name : *name == '-' ? "./'" : "'");

	if (plain)
		return n < size ? n : size - 1;
	for (; *name && n + 6 < size; name++) {
		const char *quote = *name == '\'' ? "'\\''" : NULL;
		char c = (unsigned char)*name < ' ' || *name == 127 ? '?' : *name;

		n += quote ? strlen(strcpy(out + n, quote)) : 1;
		if (!quote)
			out[n - 1] = c;
	}
	strcpy(out + n, "'");
	return n + 1;
}
