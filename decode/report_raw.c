/* SPDX-License-Identifier: MIT */
/* --raw: a bare file of pushbuffer dwords, without a trace: one line a method. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/dump_methods.h"
#include "decode/report.h"

#define CHUNK 16384u /* dwords read at a time */

struct raw {
	struct nvs_dumper dumper;
	struct nvs_ops *ops;
	struct nvs_ops_channel *channel;
};

static void on_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		   const struct nvs_class *cls)
{
	nvs_dump_run(arg, c, run, cls);
}

static void on_fault(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_fault *fault)
{
	nvs_dump_fault(arg, fault);
}

/* "1=cbc0", "host=c86f" */
static int bind(struct nvs_ops_channel_info *info, const char *text)
{
	const char *name = strchr(text, '=');
	const struct nvs_class *cls = name ? nvs_class_by_name(name + 1) : NULL;
	bool host = name && name - text == 4 && !strncmp(text, "host", 4);

	if (cls && host && cls->kind == NVS_KIND_HOST) {
		info->host_class = cls->id;
		return 0;
	}
	if (cls && name == text + 1 && *text >= '0' && *text <= '7' && cls->kind != NVS_KIND_HOST) {
		info->defaults[*text - '0'] = cls->id;
		return 0;
	}
	fprintf(stderr,
		"nvsnoop-report: --subch %s: give N=CLASS with N from 0 to 7 (or host=CLASS); "
		"--classes "
		"lists them\n",
		text);
	return -EINVAL;
}

static int feed(struct raw *raw, FILE *f, const char *path)
{
	static uint32_t words[CHUNK];
	size_t n, total = 0;
	struct nvs_gp gp;

	/* An entry holds 2^21 - 1 dwords at most: as many of them as it takes. */
	nvs_ops_begin(raw->channel, 0);
	while ((n = fread(words, 1, sizeof(words), f)) > 0) {
		if (n % 4) {
			fprintf(stderr,
				"nvsnoop-report: %s: offset %zu: %zu bytes after the last whole "
				"dword are "
				"left out\n",
				path, total + n - n % 4, n % 4);
			if (n < 4)
				break;
		}
		nvs_ops_entry(raw->channel, (uint64_t)(n / 4) << 42 | (total & 0xfffffffffcull),
			      &gp);
		nvs_ops_feed(raw->channel, words, n / 4);
		total += n;
	}
	nvs_ops_end(raw->channel);
	if (ferror(f)) {
		fprintf(stderr, "nvsnoop-report: %s: cannot be read: %s\n", path, strerror(errno));
		return -EIO;
	}
	return 0;
}

static int one_file(struct nvs_out *out, const struct nvs_ops_channel_info *info, const char *path,
		    const struct nvs_options_report *o)
{
	bool json = o->format == NVS_FORMAT_JSON;
	struct raw raw = {.dumper = {.out = out, .json = json, .each = !json, .full = o->verbose}};
	struct nvs_ops_sink sink = {.run = on_run, .fault = on_fault, .arg = &raw.dumper};
	FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
	int r = -ENOMEM;

	if (!f) {
		fprintf(stderr, "nvsnoop-report: %s: cannot be opened: %s\n", path,
			strerror(errno));
		return -errno;
	}
	raw.ops = nvs_ops_new(&sink);
	raw.channel = raw.ops ? nvs_ops_channel_new(raw.ops, info) : NULL;
	if (raw.channel)
		r = feed(&raw, f, path);
	if (!r)
		r = nvs_dump_end(&raw.dumper);
	nvs_dump_free(&raw.dumper);
	nvs_ops_free(raw.ops);
	if (f != stdin)
		fclose(f);
	return r;
}

int nvs_report_raw(struct nvs_out *out, const struct nvs_options_report *o)
{
	struct nvs_ops_channel_info info = {0};
	int r = 0;

	if (o->format == NVS_FORMAT_CSV) {
		fputs("nvsnoop-report: --raw is text or json\n", stderr);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < o->nsubch && !r; i++)
		r = bind(&info, o->subch[i]);
	for (int i = 0; i < o->nfiles && !r; i++)
		r = one_file(out, &info, o->files[i], o);
	return r;
}
