// SPDX-License-Identifier: MIT
/* The public headers in C++: reads a trace up to its first copy. */
#include <nvsnoop/decode.h>
#include <cstdio>

static int on_operation(void *arg, struct nvs_trace *, const struct nvs_operation *o)
{
	nvs_segment_iter segments = nvs_segments(o->submission);
	nvs_segment segment;

	*static_cast<unsigned long long *>(arg) = 0;
	while (nvs_segment_next(&segments, &segment))
		*static_cast<unsigned long long *>(arg) += segment.bytes;
	return o->op->kind == NVS_OP_COPY && o->op->copy.bytes;
}

int main(int argc, char **argv)
{
	unsigned long long bytes = 0;
	nvs_consumer consumer = {};
	nvs_trace *trace;
	nvs_error error;

	consumer.size = sizeof(consumer);
	consumer.operation = on_operation;
	if (nvs_trace_open(&trace, argc > 1 ? argv[1] : "-", nullptr, &error) ||
	    nvs_trace_read(trace, &consumer, &bytes, &error) < 0) {
		std::fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	std::printf("%llu bytes of commands stand with the first copy\n", bytes);
	nvs_trace_close(trace);
	return 0;
}
