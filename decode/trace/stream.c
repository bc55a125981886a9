/* SPDX-License-Identifier: MIT */
/* Reads a trace in one pass: its frames record by record, then the spool. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "decode/trace/internal.h"

/* Sets the user's message for an error of a lower layer. */
static int explain_error(struct nvs_trace *t, int r, const struct nvs_rec *rec)
{
	if (r == -E2BIG)
		return nvs_fail(t->err, r,
				"%s: a record of type %u has an invalid number, or the trace "
				"exceeds a session's limits",
				t->path, rec->type);
	if (r == -EFBIG)
		return nvs_fail(t->err, r, "%s: a submission is larger than %u MiB", t->path,
				NVS_MAX_WHOLE >> 20);
	if (r == -ENOMEM)
		return nvs_fail(t->err, r, "%s: not enough memory for its contents", t->path);
	return r;
}

static int take_submission(struct nvs_trace *t, const struct nvs_rec_submission *rec, size_t ndata)
{
	uint32_t marks = t->source & NVS_MARK_SPOOL;

	if (t->source & NVS_MARK_LATE || rec->rec.flags & NVS_SUB_LATE)
		marks |= NVS_MARK_LATE;
	if (rec->rec.flags & NVS_SUB_UNCERTAIN)
		marks |= NVS_MARK_UNCERTAIN;
	return nvs_order_submission(t, rec, ndata, marks);
}

/* The library is loaded before it has anything to record, so the first calls may begin before the
 * trace. */
static void update_first_time(struct nvs_trace *t, const struct nvs_rec *rec)
{
	bool range = rec->type == NVS_REC_NVTX_BEGIN || rec->type == NVS_REC_NVTX_MARK;
	uint64_t begin = rec->type == NVS_REC_CALL ? ((const struct nvs_rec_call *)rec)->begin
			 : rec->type == NVS_REC_CALL_BEGIN
				 ? ((const struct nvs_rec_call_begin *)rec)->begin
			 : range ? ((const struct nvs_rec_nvtx *)rec)->at
				 : 0;

	if (begin && begin < t->session.first_time)
		t->session.first_time = begin;
}

static int take_other(struct nvs_trace *t, const struct nvs_rec *rec)
{
	uint64_t extended[64];
	uint32_t fixed = nvs_record_fixed(rec->type);
	int r = 0;

	/* A record of an older writer: fields that it lacks are 0. */
	if (rec->size < fixed && fixed <= sizeof(extended)) {
		memset(extended, 0, sizeof(extended));
		memcpy(extended, rec, rec->size);
		rec = (const struct nvs_rec *)(const void *)extended;
	}
	update_first_time(t, rec);
	if (rec->type == NVS_REC_CHANNEL_GONE)
		r = nvs_order_flush(t, ((const struct nvs_rec_channel_gone *)rec)->channel);
	else if (rec->type == NVS_REC_TOTALS)
		r = nvs_order_flush(t, NVS_NONE);
	if (!r)
		r = nvs_model_update(t, rec);
	if (!r && rec->type == NVS_REC_DATA)
		r = nvs_order_data(t, (const void *)rec);
	if (!r && rec->type == NVS_REC_GAP)
		r = nvs_order_gap(t, (const void *)rec);
	if (r)
		return r;
	nvs_verify_record(t, rec);
	if (t->consumer->record &&
	    (rec->type != NVS_REC_DATA || !(t->consumer->flags & NVS_READ_WHOLE)))
		r = t->consumer->record(t->arg, t, rec);
	return r ? r : nvs_model_remove(t, rec);
}

/* Processes one record, which has been checked except for a submission's contents. *WHAT describes
 * an error. */
static int process_record(struct nvs_trace *t, const struct nvs_rec *rec, const char **what)
{
	size_t ndata;
	int r;

	if (rec->time > t->session.last_time)
		t->session.last_time = rec->time;
	if (rec->type == NVS_REC_SUBMISSION) {
		*what = rec->size < sizeof(struct nvs_rec_submission)
				? "a submission is too short"
				: nvs_submission_check((const void *)rec, &ndata);
		r = *what ? -EBADMSG : take_submission(t, (const void *)rec, ndata);
	} else if (rec->type == NVS_REC_PAD) {
		return 0;
	} else if (rec->type > NVS_REC_END && !nvs_record_fixed(rec->type)) {
		t->session.unknown_records++;
		return 0;
	} else {
		r = take_other(t, rec);
	}
	return r < 0 && !*what ? explain_error(t, r, rec) : r;
}

static int bad_record(struct nvs_trace *t, size_t pos, const char *what)
{
	return nvs_fail(t->err, -EBADMSG, "%s: frame at offset %llu, byte %zu of its contents: %s",
			t->path, (unsigned long long)t->in.frame_offset, pos, what);
}

/* Returns true if a frame was read before: a part repeats some, or two files contain the same
 * frames because a kill kept the library from deleting one. */
static bool was_read(const struct nvs_trace *t, const struct nvs_rec *rec, size_t size)
{
	const struct nvs_rec_frame *frame = (const void *)rec;

	if (size < sizeof(*rec) || rec->type != NVS_REC_FRAME || nvs_record_check(rec, size) ||
	    !(t->session.header.flags & NVS_HDR_KEEP_LAST))
		return false;
	return rec->flags & NVS_FRAME_AGAIN ? t->began : frame->number < t->next_frame;
}

static void check_frame(struct nvs_trace *t, const struct nvs_rec_frame *frame)
{
	const struct nvs_buffer_range *range =
		nvs_record_tail(&frame->rec, (uint64_t)frame->nranges * sizeof(*range));

	bool again = frame->rec.flags & NVS_FRAME_AGAIN;

	if (again && !t->began)
		t->next_frame = frame->number;
	t->began |= !again;
	if (frame->number != t->next_frame)
		nvs_trace_add_finding(
			t, NVS_FINDING_PROBLEM, "frame %llu found where frame %llu was expected",
			(unsigned long long)frame->number, (unsigned long long)t->next_frame);
	t->next_frame = frame->number + !again;
	for (uint32_t i = 0; i < frame->nranges; i++)
		nvs_spool_mark_seen(t, range + i);
}

static int read_frame(struct nvs_trace *t)
{
	const uint8_t *base = t->in.frame;
	size_t size = t->in.frame_size, pos = 0;

	if (was_read(t, (const void *)base, size))
		return 0;
	for (uint32_t index = 0; pos < size; index++) {
		const struct nvs_rec *rec = (const void *)(base + pos);
		const char *what = NULL;
		int r = 0;

		if (size - pos < sizeof(*rec))
			return bad_record(t, pos, "a record runs past the end");
		/* A submission's contents are checked by process_record(), which needs the
		 * results. */
		if (rec->type != NVS_REC_SUBMISSION)
			what = nvs_record_check(rec, size - pos);
		else if (rec->size < sizeof(*rec) || rec->size % 8 || rec->size > size - pos)
			what = "a record of invalid size";
		if (!what && (index == 0) != (rec->type == NVS_REC_FRAME))
			what = index ? "a second frame header in one frame"
				     : "the frame does not begin with its header";
		if (!what && rec->type == NVS_REC_HEADER && (index != 1 || t->session.frames))
			what = "a second trace begins here: pass the two as separate files";
		if (!what && rec->type == NVS_REC_FRAME)
			check_frame(t, (const void *)rec);
		else if (!what)
			r = process_record(t, rec, &what);
		if (what)
			return bad_record(t, pos, what);
		if (r)
			return r;
		pos += rec->size;
	}
	t->session.frames++;
	t->session.raw_bytes += size;
	return 0;
}

static bool is_damage(int r)
{
	return r == -ENODATA || r == -EBADMSG || r == -E2BIG || r == -EFBIG;
}

/* Handles a frame that could not be read. Returns 0 if reading may continue with what there is. */
static int handle_bad_frame(struct nvs_trace *t, int r)
{
	struct nvs_error *err = t->err;
	size_t length = strlen(err->text);

	if (r == -ENODATA && t->running)
		return 0; /* it is being written */
	if (r == -ENODATA && nvs_spool_has_buffers(t)) {
		nvs_trace_add_finding(t, NVS_FINDING_REMARK, "%s; its records are in the spool",
				      err->text);
		return 0;
	}
	if (!is_damage(r))
		return r;
	if (t->options.partial) {
		nvs_trace_add_finding(t, NVS_FINDING_PROBLEM, "%s", err->text);
		t->session.end = NVS_END_DAMAGED;
		return 0;
	}
	snprintf(err->text + length, sizeof(err->text) - length,
		 t->session.frames ? "; --partial reports the %llu whole frame%s before it"
				   : "; no whole frame precedes it",
		 (unsigned long long)t->session.frames, t->session.frames == 1 ? "" : "s");
	return r;
}

static int read_frames(struct nvs_trace *t)
{
	for (;;) {
		int r;

		if (t->no_frames)
			return 0;
		r = t->first_ready ? 1 : nvs_input_frame(&t->in, t->err);
		t->first_ready = false;
		/* Includes the seek table, or other data after the last frame. */
		t->session.file_bytes = t->in.size ? t->in.size : t->in.offset;
		if (r == 0)
			return 0;
		if (r > 0)
			r = read_frame(t);
		if (r > 0)
			return r;
		if (r < 0)
			return handle_bad_frame(t, r);
		t->frames_end = t->in.offset;
		if (t->options.progress)
			t->options.progress(t->options.progress_arg, t->in.offset, t->in.size);
	}
}

static int merge_spool(struct nvs_trace *t)
{
	const struct nvs_rec *rec;
	int r;

	while ((r = nvs_spool_next(t, &rec, t->err)) > 0) {
		const char *what = NULL;

		r = process_record(t, rec, &what);
		if (what)
			r = nvs_fail(t->err, -EBADMSG, "%s: %s", t->spool->path, what);
		if (r)
			break;
		nvs_spool_advance(t);
	}
	return r;
}

static int read_spools(struct nvs_trace *t)
{
	int r = 0;

	if (t->session.end == NVS_END_DAMAGED || (t->running && t->end_seen))
		return 0;
	for (uint32_t i = 0; i < 2 && !r; i++) {
		if (!nvs_spool_start(t, i))
			continue;
		t->source = NVS_MARK_SPOOL;
		if (t->spool->head.kind == NVS_SPOOL_LATE)
			t->source |= NVS_MARK_LATE;
		r = merge_spool(t);
	}
	if (!r) {
		nvs_spool_done(t);
		nvs_spool_report_losses(t);
	}
	return r;
}

/* Resets for a new pass: counts are cleared, learned names and times are kept. */
static int restart_pass(struct nvs_trace *t)
{
	struct nvs_session *s = &t->session;
	int r;

	if (!t->first_ready && !t->no_frames) {
		r = nvs_input_rewind(&t->in, t->err);
		if (r)
			return r;
	}
	nvs_order_free(t);
	nvs_findings_free(t);
	nvs_inflight_restart(t);
	nvs_model_restart(t);
	memset(&s->counts, 0, sizeof(s->counts));
	memset(&t->part, 0, sizeof(t->part));
	s->has_totals = false;
	s->end = NVS_END_UNKNOWN;
	s->frames = s->raw_bytes = s->file_bytes = s->unknown_records = 0;
	s->first_submission = s->last_submission = 0;
	t->next_frame = t->number = 0;
	nvs_spool_restart(t);
	t->source = 0;
	t->end_seen = t->began = t->goes_on = false;
	return 0;
}

bool nvs_trace_is_rereadable(const struct nvs_trace *t)
{
	return t->in.seekable;
}

int nvs_stream_read(struct nvs_trace *t, const struct nvs_stream_consumer *consumer, void *arg,
		    struct nvs_error *err)
{
	static const struct nvs_stream_consumer nobody;
	struct nvs_error unused = {""};
	int r;

	t->consumer = consumer ? consumer : &nobody;
	t->arg = arg;
	t->err = err ? err : &unused;
	r = restart_pass(t);
	if (!r)
		r = read_frames(t);
	if (!r)
		r = read_spools(t);
	/* While recording continues, what waits for later data is not lost. */
	if (!r && !(t->running && !t->end_seen))
		r = nvs_order_end(t);
	if (!r) {
		if (t->session.end != NVS_END_DAMAGED)
			t->session.end = t->end_seen  ? NVS_END_ORDERLY
					 : t->running ? NVS_END_RUNNING
						      : NVS_END_CRASH;
		nvs_verify_end(t);
		t->passes++;
	}
	/* Hundreds of traces may stay open at the same time. */
	if (!t->first_ready)
		nvs_input_release(&t->in);
	t->err = NULL;
	return r;
}
