/* SPDX-License-Identifier: MIT */
/* FUZZ: decode */
/*
 * Fuzz target: the trace reader and everything that follows submissions. The input is the plain
 * stream of records; it is put into one zstd frame, so that what is tried is the reader and not the
 * checksum. With a first byte of 0xff the rest is taken as a file as it stands.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>
#include "decode/calls/decode_submission.h"
#include "decode/calls/progress_check.h"
#include "decode/trace/stream.h"
#include "tests/fuzz/fuzz.h"

struct reader_fuzz {
	struct nvs_trace *trace;
	struct nvs_submission_decoder *follow;
	struct nvs_progress_check *progress;
};

static void reader_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	nvs_progress_check_op(((struct reader_fuzz *)arg)->progress, s, op);
}

static int reader_submission(void *arg, struct nvs_trace *trace, const struct nvs_submission *s)
{
	return nvs_decode_submission(((struct reader_fuzz *)arg)->follow, s, s->number);
}

static int reader_record(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec)
{
	return nvs_decode_record(((struct reader_fuzz *)arg)->follow, rec);
}

static void reader_read(const char *path)
{
	struct nvs_stream_consumer consumer = {NVS_READ_WHOLE, reader_submission, reader_record};
	struct nvs_read_options options = {
		.size = sizeof(options), .partial = true, .no_spool = true};
	struct reader_fuzz f = {0};
	struct nvs_submission_sink sink = {.op = reader_op, .arg = &f};
	struct nvs_error err;

	if (nvs_trace_open(&f.trace, path, &options, &err))
		return;
	f.follow = nvs_submission_decoder_new(f.trace, &sink);
	f.progress = nvs_progress_check_new(f.trace);
	nvs_stream_read(f.trace, &consumer, &f, &err);
	for (uint32_t i = 0; nvs_trace_finding(f.trace, i); i++)
		;
	nvs_submission_decoder_free(f.follow);
	nvs_progress_check_free(f.progress);
	nvs_trace_close(f.trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t room = ZSTD_compressBound(size), n;
	char *frame = malloc(room), path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (size && data[0] == 0xff) {
		n = size - 1 < room ? size - 1 : room;
		memcpy(frame, data + 1, n);
	} else {
		n = ZSTD_compress(frame, room, data, size, 1);
	}
	if (fd >= 0 && !ZSTD_isError(n) && write(fd, frame, n) == (ssize_t)n) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		reader_read(path);
	}
	close(fd);
	free(frame);
	return 0;
}
