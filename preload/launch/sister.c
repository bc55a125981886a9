/* SPDX-License-Identifier: MIT */
/*
 * `nvsnoop report ...` is nvsnoop-report, the program beside this one or in PATH; and who gives a
 * trace, or a word that is nearly one of these, gets a hint.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "preload/launch/launch.h"

static const char *const sisters[] = {"report"};

void nvs_launch_sister(char **argv)
{
	char path[PATH_MAX], folder[PATH_MAX], *word = argv[1];

	for (size_t i = 0; word && i < sizeof(sisters) / sizeof(*sisters); i++) {
		if (strcmp(word, sisters[i]))
			continue;
		argv[1] = path;
		nvs_launch_folder(folder, sizeof(folder));
		if (snprintf(path, sizeof(path), "%s/nvsnoop-%s", folder, sisters[i]) <
		    (int)sizeof(path))
			execv(path, argv + 1);
		snprintf(path, sizeof(path), "nvsnoop-%s", sisters[i]);
		execvp(path, argv + 1);
		argv[1] = word;
	}
}

/* How many letters must change, come or go to make B of A; at most 9 of each count. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[10], columns = (unsigned)strnlen(b, 9);

	for (unsigned k = 0; k <= columns; k++)
		row[k] = k;
	for (unsigned i = 0; a[i] && i < 9; i++) {
		unsigned corner = row[0]++;

		for (unsigned k = 1; k <= columns; k++) {
			unsigned change = corner + (a[i] != b[k - 1]);

			corner = row[k];
			if (row[k - 1] + 1 < change)
				change = row[k - 1] + 1;
			row[k] = corner + 1 < change ? corner + 1 : change;
		}
	}
	return row[columns];
}

static bool is_trace(const char *name)
{
	static const unsigned char zstd[4] = {0x28, 0xb5, 0x2f, 0xfd};
	unsigned char head[4] = {0};
	FILE *file = fopen(name, "re");

	if (!file)
		return false;
	if (fread(head, 1, sizeof(head), file) != sizeof(head))
		head[0] = 0;
	fclose(file);
	return !memcmp(head, zstd, sizeof(zstd));
}

void nvs_launch_hint(const char *program)
{
	if (is_trace(program)) {
		fprintf(stderr, "It is a trace: nvsnoop report %s\n", program);
		return;
	}
	for (size_t i = 0; i < sizeof(sisters) / sizeof(*sisters); i++)
		if (distance(program, sisters[i]) <= 2) {
			fprintf(stderr, "Did you mean 'nvsnoop %s'?\n", sisters[i]);
			return;
		}
}
