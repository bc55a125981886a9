/* SPDX-License-Identifier: MIT */
/* mkraw TRACE RAW MEGABYTES: the commands of a trace as plain dwords for --raw, repeated up to the
 * given size. */
#include <stdio.h>
#include <stdlib.h>
#include "decode/trace/stream.h"
#include "nvsnoop/decode.h"

struct raw {
	FILE *file;
	uint64_t bytes;
};

static int on_submission(void *arg, struct nvs_trace *trace, const struct nvs_submission *s)
{
	struct nvs_segment_iter it = nvs_segments(s);
	struct raw *raw = arg;
	struct nvs_segment seg;

	while (nvs_segment_next(&it, &seg)) {
		if (seg.data)
			raw->bytes += 4 * fwrite(seg.data, 4, seg.bytes / 4, raw->file);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct nvs_stream_consumer consumer = {.flags = NVS_READ_WHOLE,
							    .submission = on_submission};
	struct raw raw = {argc == 4 ? fopen(argv[2], "wb") : NULL, 0};
	struct nvs_read_options options = {.size = sizeof(options)};
	struct nvs_error err = {""};
	struct nvs_trace *trace;
	uint64_t last;
	int r;

	if (!raw.file)
		return 2;
	do {
		last = raw.bytes;
		r = nvs_trace_open(&trace, argv[1], &options, &err);
		if (r)
			break;
		r = nvs_stream_read(trace, &consumer, &raw, &err);
		nvs_trace_close(trace);
		last = raw.bytes - last;
	} while (!r && last && raw.bytes < strtoull(argv[3], NULL, 0) * 1000000);
	if (r < 0 || !last || fclose(raw.file)) {
		fprintf(stderr, "mkraw: %s: %s\n", argv[1], *err.text ? err.text : "no dwords");
		return 1;
	}
	return 0;
}
