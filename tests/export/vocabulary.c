/* SPDX-License-Identifier: MIT */
/* Prints what a C program gets of a trace, for tests/export/check: submissions, the operations that
 * copy, and launches, one per line. */
#include <inttypes.h>
#include <nvsnoop/decode.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *escape(const char *text)
{
	static char *safe;
	size_t room = 4 * strlen(text) + 1;

	safe = realloc(safe, room);
	return safe ? nvs_escape(safe, room, text, strlen(text)) : "";
}

/* Thread and number of a call; "-" if unknown. */
static void print_call(uint32_t thread, const struct nvs_call *call)
{
	printf("\t%" PRIu32 "\t", thread);
	if (call)
		printf("%" PRIu64, call->number);
	else
		printf("-");
}

static int on_submission(void *arg, struct nvs_trace *trace, const struct nvs_submission *s,
			 const struct nvs_call *call)
{
	(void)arg;
	printf("submission\t%" PRIu64, s->number);
	print_call(s->rec->thread, call);
	return printf("\t%s\n", escape(nvs_submission_api(trace, s, call))) < 0;
}

static int on_operation(void *arg, struct nvs_trace *trace, const struct nvs_operation *o)
{
	const struct nvs_op *op = o->op;

	(void)arg;
	(void)trace;
	if (op->kind == NVS_OP_COPY)
		printf("copy\t%" PRIu64 "\t%s\t%" PRIu64 "\n", o->submission->number,
		       nvs_copy_mode_name(op->copy.mode), op->copy.bytes);
	if (op->kind == NVS_OP_CODE)
		printf("code\t%" PRIu64 "\t%s\t%" PRIu64 "\n", op->code.tag,
		       nvs_copy_mode_name(op->code.mode), op->code.bytes);
	return 0;
}

static int on_launch(void *arg, struct nvs_trace *trace, const struct nvs_launch *l)
{
	(void)arg;
	printf("launch");
	print_call(l->call->thread, l->call);
	return printf("\t%s\n", escape(nvs_trace_demangle(trace, l->kernel))) < 0;
}

int main(int argc, char **argv)
{
	struct nvs_consumer consumer = {.size = sizeof(consumer),
					.flags = NVS_READ_CALLS,
					.submission = on_submission,
					.operation = on_operation,
					.launch = on_launch};
	struct nvs_error error = {""};
	struct nvs_trace *trace;

	if (argc != 2 || nvs_trace_open(&trace, argv[1], NULL, &error))
		return 1;
	/* The first pass finds names. */
	if (nvs_trace_read(trace, NULL, NULL, &error) < 0 ||
	    nvs_trace_read(trace, &consumer, NULL, &error) < 0)
		return 1;
	nvs_trace_close(trace);
	return 0;
}
