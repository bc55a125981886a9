/* SPDX-License-Identifier: MIT */
/* images TRACE: prints a line for each load of code in it, and writes each distinct image to
 * image.NUMBER. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "nvsnoop/decode.h"

/* Of each thread's first calls, by their numbers. */
static const char *name_of[64][64];

static int on_call(void *arg, struct nvs_trace *trace, const struct nvs_call *call)
{
	if (call->thread < 64 && call->number < 64)
		name_of[call->thread][call->number] = nvs_call_api_name(call);
	return 0;
}

static int write_bytes(const struct nvs_trace_image *image)
{
	char path[32];
	FILE *out;
	bool whole;

	snprintf(path, sizeof(path), "image.%u", image->image);
	out = fopen(path, "wb");
	whole = out && fwrite(image->data, 1, image->ndata, out) == image->ndata;
	return !out || fclose(out) || !whole ? -1 : 0;
}

static int on_image(void *arg, struct nvs_trace *trace, const struct nvs_trace_image *image)
{
	static const char *const kinds[] = {"other", "ptx", "cubin", "fatbin"};
	const char *name = image->thread < 64 && image->call < 64
				   ? name_of[image->thread][image->call]
				   : NULL;

	printf("%" PRId32 " %s %s %" PRIu64 " %" PRIu64 " %s%s%s\n", (int32_t)image->image,
	       image->kind < 4 ? kinds[image->kind] : "?", name ? name : "-", image->given,
	       image->ndata,
	       image->whole  ? "whole"
	       : image->data ? "part"
			     : "none",
	       image->flags & NVS_IMAGE_CHOSEN ? " chosen" : "",
	       image->flags & NVS_IMAGE_UNREAD ? " unread" : "");
	return image->data ? write_bytes(image) : 0;
}

int main(int argc, char **argv)
{
	struct nvs_consumer c = {.size = sizeof(c), .call = on_call, .image = on_image};
	struct nvs_error err = {""};
	struct nvs_trace *t;
	int r;

	if (argc != 2 || nvs_trace_open(&t, argv[1], NULL, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	r = nvs_trace_read(t, &c, NULL, &err);
	if (r)
		fprintf(stderr, "%s\n", err.text);
	nvs_trace_close(t);
	return r != 0;
}
