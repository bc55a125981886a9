/* SPDX-License-Identifier: MIT */
/* Reads a trace with all functions of the public decoder. Exits as a report does. */
#include <stdio.h>
#include <string.h>
#include "tests/fuzz/reading.h"

int main(int argc, char **argv)
{
	struct nvs_error err = {"usage: consume TRACE"};
	char text[2 * sizeof(err.text)];
	struct nvs_trace *t = NULL;
	int failed = argc < 2 || nvs_trace_open(&t, argv[argc - 1], NULL, &err) ||
		     fuzz_consume(t, &err);

	nvs_trace_close(t);
	if (failed)
		fprintf(stderr, "%s\n", nvs_escape(text, sizeof(text), err.text, strlen(err.text)));
	if (nvs_trace_short())
		fputs("not all could be told\n", stderr);
	return failed || nvs_trace_short();
}
