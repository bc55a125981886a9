/* SPDX-License-Identifier: MIT */
/* FUZZ: decode */
/*
 * Spools of strangers. The input is one without the holes: 4 bytes size of what comes first, which
 * is the trace's plain stream (none: killed before its first frame), then the spool, whose buffers
 * are put to their places: each as its head's 64 bytes and then 4 KiB of data, or less at the end.
 */
#include <stdlib.h>
#include <string.h>
#include "nvsnoop/trace.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/reading.h"

#define BUFFER 4096u
#define HEAD 4096u
#define MAX_BUFFERS 8u

/* As much of N bytes as there are left. */
static void take(void *to, size_t n, const uint8_t **data, size_t *size)
{
	if (n > *size)
		n = *size;
	memcpy(to, *data, n);
	*data += n;
	*size -= n;
}

static const char *spool_file(const uint8_t *data, size_t size)
{
	static uint8_t image[2 * HEAD + MAX_BUFFERS * (HEAD + BUFFER)];
	struct nvs_spool head = {.magic = NVS_SPOOL_MAGIC};
	size_t buffers = 0;

	memset(image, 0, sizeof(image));
	take(&head, sizeof(head), &data, &size);
	memcpy(image, &head, sizeof(head));
	take(image + HEAD, 256, &data, &size);
	for (; size && buffers < MAX_BUFFERS; buffers++) {
		uint8_t *at = image + 2 * HEAD + buffers * (HEAD + BUFFER);

		take(at, sizeof(struct nvs_spool_buffer), &data, &size);
		take(at + HEAD, BUFFER, &data, &size);
	}
	return fuzz_file(FUZZ_SPOOL, image, 2 * HEAD + buffers * (HEAD + BUFFER));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *trace;
	uint32_t n = 0;

	take(&n, sizeof(n), &data, &size);
	n = n < size ? n : (uint32_t)size;
	trace = n ? fuzz_trace_file(data, n) : fuzz_file(FUZZ_TRACE, "", 0);
	fuzz_read(trace, spool_file(data + n, size - n));
	return 0;
}
