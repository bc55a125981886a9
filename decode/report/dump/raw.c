/* SPDX-License-Identifier: MIT */
/* --raw: decodes bare files of pushbuffer dwords, one method per line. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "decode/gpu/class.h"
#include "decode/gpu/pb.h"
#include "decode/report/dump/methods.h"
#include "decode/report/core/report.h"
#include "decode/gpu/resync.h"

/* Dwords that were read but not decoded yet. */
struct dword_window {
	FILE *file;
	const char *path;
	uint64_t offset; /* of words[start] in the file, bytes */
	size_t start, end;
	bool ends; /* end of file was reached */
	uint32_t words[2 * NVS_RESYNC_AHEAD];
};

struct raw {
	struct nvs_dumper dumper;
	struct nvs_ops *ops;
	struct nvs_ops_channel *channel;
	/* Decoding lost track at this GPU address: skip until headers make sense again. */
	bool lost;
	uint64_t lost_at;
};

static void on_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		   const struct nvs_class *cls)
{
	struct raw *raw = arg;

	nvs_dump_run(&raw->dumper, c, run, cls);
	/* The rest of the segment is ignored, but the file has no segment lengths. */
	if (run->form == NVS_PB_END_SEGMENT) {
		raw->lost = true;
		raw->lost_at = run->address + 4;
	}
}

static void on_fault(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_fault *fault)
{
	struct raw *raw = arg;

	nvs_dump_fault(&raw->dumper, fault);
	if (fault->kind == NVS_PB_RESERVED_HEADER) {
		raw->lost = true;
		raw->lost_at = fault->address;
	}
}

/* "1=cbc0", "host=c86f" */
static int bind_class(struct nvs_ops_channel_info *info, const char *text)
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

static void fill_window(struct dword_window *w)
{
	size_t left = w->end - w->start, n;

	if (w->ends || left >= NVS_RESYNC_AHEAD)
		return;
	memmove(w->words, w->words + w->start, 4 * left);
	n = fread(w->words + left, 1, sizeof(w->words) - 4 * left, w->file);
	w->ends = n < sizeof(w->words) - 4 * left;
	w->start = 0;
	w->end = left + n / 4;
	if (n % 4)
		fprintf(stderr,
			"nvsnoop-report: %s: offset %" PRIu64
			": %zu bytes after the last whole dword are ignored\n",
			w->path, w->offset + 4 * w->end, n % 4);
}

static void consume_words(struct dword_window *w, size_t n)
{
	w->start += n;
	w->offset += 4 * n;
}

/* Decodes one window as one GPFIFO entry, which has 2^21 - 1 dwords at most; a method's data may
 * continue in the next window. */
static void decode_window(struct raw *raw, struct dword_window *w)
{
	size_t n = w->end - w->start;
	uint64_t address = w->offset & 0xfffffffffcull;
	struct nvs_gp gp;

	nvs_ops_begin(raw->channel, 0, 0);
	nvs_ops_entry(raw->channel, (uint64_t)n << 42 | address, &gp);
	nvs_ops_feed(raw->channel, w->words + w->start, n);
	consume_words(w, raw->lost ? (raw->lost_at - address) / 4 : n);
}

static int decode_file(struct raw *raw, struct dword_window *w)
{
	uint64_t passed = 0;
	size_t n;

	for (fill_window(w); w->start < w->end; fill_window(w)) {
		if (!raw->lost) {
			decode_window(raw, w);
			continue;
		}
		raw->lost = !nvs_resync(raw->channel, w->words + w->start, w->end - w->start,
					w->ends, &n);
		consume_words(w, n);
		passed += n;
		if (raw->lost && w->start < w->end)
			continue;
		nvs_dump_report_skipped(&raw->dumper, w->offset - 4 * passed, passed);
		passed = 0;
	}
	nvs_ops_end(raw->channel);
	if (ferror(w->file)) {
		fprintf(stderr, "nvsnoop-report: %s: cannot be read: %s\n", w->path,
			strerror(errno));
		return -EIO;
	}
	return 0;
}

/* Returns 0, or -EBADMSG if dwords were skipped. */
static int check_complete(const struct nvs_dumper *d, const char *path)
{
	if (!d->passed)
		return 0;
	fprintf(stderr, "nvsnoop-report: %s: %" PRIu64 " dword%s skipped\n", path, d->passed,
		d->passed == 1 ? " was" : "s were");
	return -EBADMSG;
}

static int read_file(struct raw *raw, const struct nvs_ops_channel_info *info, FILE *f,
		     const char *path)
{
	struct nvs_ops_sink sink = {.run = on_run, .fault = on_fault, .arg = raw};
	struct dword_window *w = calloc(1, sizeof(*w));
	int r = -ENOMEM;

	raw->ops = nvs_ops_new(&sink);
	raw->channel = raw->ops ? nvs_ops_channel_new(raw->ops, info) : NULL;
	if (w && raw->channel) {
		w->file = f;
		w->path = path;
		r = decode_file(raw, w);
	}
	nvs_ops_free(raw->ops);
	free(w);
	return r;
}

static int print_file(struct nvs_out *out, const struct nvs_ops_channel_info *info,
		      const char *path, const struct nvs_options_report *o)
{
	bool json = o->print.format == NVS_FORMAT_JSON;
	struct raw raw = {.dumper = {.out = out, .json = json, .each = !json, .full = o->verbose}};
	FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
	int r;

	if (!f) {
		fprintf(stderr, "nvsnoop-report: %s: cannot be opened: %s\n", path,
			strerror(errno));
		return -errno;
	}
	r = read_file(&raw, info, f, path);
	if (!r)
		r = nvs_dump_end(&raw.dumper);
	if (!r)
		r = check_complete(&raw.dumper, path);
	nvs_dump_free(&raw.dumper);
	if (f != stdin)
		fclose(f);
	return r;
}

static int print(struct nvs_run *run)
{
	const struct nvs_options_report *o = run->options;
	struct nvs_ops_channel_info info = {0};
	int r = 0, one;

	for (uint32_t i = 0; i < o->nmore && !r; i++)
		r = bind_class(&info, o->more[i]);
	for (int i = 0; i < o->nfiles && (!r || r == -EBADMSG); i++) {
		one = print_file(run->out, &info, o->files[i], o);
		r = one ? one : r;
	}
	return r;
}

static const struct nvs_report_option subch = {
	.name = "subch",
	.argument = "N=CLASS",
	.help = "with --raw: class of a subchannel; may be given for each",
	.man = "With\n.BR \\-\\-raw :\nclass of a subchannel; may be given for each.",
};

NVS_REPORT(
	raw, .name = "raw", .group = NVS_WITHOUT_TRACE, .place = 220, .option = &subch,
	.help = "TRACE... are bare files of pushbuffer dwords; exits 1 if some had to be skipped",
	.man = "Takes bare files of pushbuffer dwords. After a dword that is not a header, or the "
	       "end of a segment, decoding resumes where\nheaders with known methods follow each "
	       "other again. The number of skipped dwords is printed, and the exit status is 1 if "
	       "there were any. Methods\nare known for classes that are bound, by\n.B "
	       "\\-\\-subch\nor in the file itself.",
	.needs = NVS_NEED_FILES, .prints = NVS_PRINTS_TEXT | NVS_PRINTS_JSON | NVS_PRINTS_LINES,
	.print = print);
