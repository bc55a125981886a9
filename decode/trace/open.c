/* SPDX-License-Identifier: MIT */
/* Opens a trace by its first frame, or by its spool if there is no frame; closes it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/sized.h"
#include "decode/trace/internal.h"

static int take_header(struct nvs_trace *t, const struct nvs_rec_header *h, struct nvs_error *err)
{
	if (h->magic != NVS_TRACE_MAGIC)
		return nvs_fail(err, -EBADMSG,
				"%s: offset 0: not an nvsnoop trace (no magic number)", t->path);
	if (h->min_version > NVS_TRACE_VERSION)
		return nvs_fail(err, -EPROTONOSUPPORT,
				"%s: offset 0: written by a newer nvsnoop (format %u, "
				"needs a reader of format %u; this one reads %u): use a newer "
				"nvsnoop-report",
				t->path, h->version, h->min_version, NVS_TRACE_VERSION);
	memcpy(&t->session.header, h, sizeof(*h));
	t->session.first_time = t->session.last_time = h->rec.time;
	return 0;
}

/* Processes the first frame: its header, and data that is needed early (the spool's path). */
static int read_first(struct nvs_trace *t, struct nvs_error *err)
{
	const uint8_t *base = t->in.frame;
	size_t size = t->in.frame_size, pos = 0;

	for (uint32_t index = 0; pos < size; index++) {
		const struct nvs_rec *rec = (const void *)(base + pos);
		const char *what = size - pos < sizeof(*rec) ? "too short"
							     : nvs_record_check(rec, size - pos);
		int r = 0;

		if (!what && index < 2 && rec->type != (index ? NVS_REC_HEADER : NVS_REC_FRAME))
			what = "no header";
		if (what && index < 2)
			return nvs_fail(err, -EBADMSG, "%s: offset 0: not an nvsnoop trace (%s)",
					t->path, what);
		if (what)
			return 0; /* reported when the frame is read */
		if (index == 1)
			r = take_header(t, (const void *)rec, err);
		else if (rec->type == NVS_REC_ATTR)
			nvs_model_update(t, rec);
		else if (rec->type == NVS_REC_PART)
			t->before = ((const struct nvs_rec_part *)rec)->before;
		if (r)
			return r;
		pos += rec->size;
	}
	if (!t->session.header.magic)
		return nvs_fail(err, -EBADMSG, "%s: offset 0: not an nvsnoop trace (empty)",
				t->path);
	return 0;
}

/* Makes a header from the spool if the program was killed before the first frame was complete. */
static void make_header_from_spool(struct nvs_trace *t)
{
	const struct nvs_spool *s = &t->spools->head;
	struct nvs_rec_header *h = &t->session.header;

	h->magic = NVS_TRACE_MAGIC;
	h->version = h->min_version = NVS_TRACE_VERSION;
	memcpy(h->session, s->session, sizeof(h->session));
	h->pid = s->pid;
	h->clock = s->clock_ticks[0] == s->clock_mono_ns[0] ? NVS_CLOCK_MONOTONIC : NVS_CLOCK_TSC;
	h->flags = NVS_HDR_CRASH_SAFE;
	h->realtime_ns = s->clock_real_ns[0];
	h->buffer_bytes = s->buffer_bytes;
	t->session.first_time = t->session.last_time = s->clock_ticks[0];
	t->no_frames = true;
}

/* Adds the part files that precede this one. */
static int open_parts(struct nvs_trace *t, struct nvs_error *err)
{
	int r;

	if (!t->before || !t->in.seekable || !nvs_recorded_window_add_files(t, t->before))
		return 0;
	r = nvs_input_rewind(&t->in, err);
	if (!r)
		r = nvs_input_frame(&t->in, err);
	return r > 0 ? read_first(t, err) : r ? r : -ENODATA;
}

static int open_first(struct nvs_trace *t, struct nvs_error *err)
{
	int r = nvs_input_open(&t->in, t->path, err);

	if (r)
		return r;
	r = nvs_input_frame(&t->in, err);
	if (r > 0) {
		t->first_ready = true;
		r = read_first(t, err);
		if (!r)
			r = open_parts(t, err);
		if (r)
			return r;
		r = t->options.no_spool ? 0 : nvs_spool_open(t, false, err);
		/* Include frames that were written while the spool was opened. */
		if (t->running)
			nvs_input_extend(&t->in);
		return r;
	}
	if (r < 0 && (r != -ENODATA || t->in.frame_offset))
		return r;
	if (!t->options.no_spool) {
		int spool = nvs_spool_open(t, true, err);

		if (spool)
			return spool;
	}
	if (nvs_spool_has_buffers(t)) {
		make_header_from_spool(t);
		return 0;
	}
	if (!r && !strcmp(t->path, "-"))
		return nvs_fail(err, -ENODATA, "-: standard input is empty");
	if (!r)
		return nvs_fail(err, -ENODATA,
				"%s: the file is empty: nothing was written before its program "
				"ended or the disk was full",
				t->path);
	return nvs_fail(err, r,
			"%s: offset 0: ends in the middle of its first frame; nothing can be read",
			t->path);
}

static uint32_t open_traces;

static void count_open(void)
{
	if (__atomic_fetch_add(&open_traces, 1, __ATOMIC_RELAXED))
		nvs_budget_grant(NVS_BUDGET_OPEN);
}

static void count_closed(void)
{
	if (__atomic_fetch_sub(&open_traces, 1, __ATOMIC_RELAXED) > 1)
		nvs_budget_grant(-NVS_BUDGET_OPEN);
}

int nvs_trace_open(struct nvs_trace **trace, const char *path,
		   const struct nvs_read_options *options, struct nvs_error *err)
{
	struct nvs_trace *t;
	int r;

	*trace = NULL;
	count_open();
	t = calloc(1, sizeof(*t));
	if (!t) {
		count_closed();
		return nvs_fail(err, -ENOMEM, "%s: out of memory", path);
	}
	t->in.fd = -1;
	if (options && !nvs_sized_copy(&t->options, sizeof(t->options), options)) {
		free(t);
		count_closed();
		return nvs_fail(err, -EINVAL,
				"%s: nvs_read_options: its size is not set, or it has members that "
				"this library does not know",
				path);
	}
	t->no_thread.pub.thread = NVS_NONE;
	t->path = strdup(path);
	t->session.path = t->path;
	r = t->path ? open_first(t, err) : -ENOMEM;
	if (r) {
		nvs_trace_close(t);
		return r;
	}
	*trace = t;
	return 0;
}

void nvs_trace_close(struct nvs_trace *t)
{
	if (!t)
		return;
	nvs_input_close(&t->in);
	nvs_spool_close(t);
	nvs_order_free(t);
	nvs_callsites_free(t);
	nvs_symbols_free(t);
	nvs_embedded_names_free(t);
	nvs_perfmap_free(t);
	nvs_demangled_free(t);
	nvs_findings_free(t);
	nvs_inflight_free(t);
	nvs_model_free(t);
	free(t->path);
	free(t);
	count_closed();
}

const struct nvs_session *nvs_trace_session(const struct nvs_trace *t)
{
	return &t->session;
}
