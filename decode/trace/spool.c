/* SPDX-License-Identifier: MIT */
/* The spool file of a trace: records that were in thread buffers but in no frame when the program
 * died, merged in time order; or submissions rung after the trace was closed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "decode/trace/internal.h"

#define MIN_PAGE 4096u
#define MAX_PAGE 65536u
#define MAX_BUFFERS 65536
typedef unsigned long long ull; /* for printing */

/* ---- opening ---- */

/* Of the page that precedes a buffer's data. */
static uint64_t page_bytes(const struct nvs_spool *h)
{
	return h->page_bytes ? h->page_bytes : MIN_PAGE;
}

static bool is_head_valid(const struct nvs_spool *h, uint64_t size)
{
	if (h->magic != NVS_SPOOL_MAGIC || h->version != NVS_SPOOL_VERSION)
		return false;
	if (h->kind == NVS_SPOOL_LATE)
		return h->buffer_offset >= sizeof(*h) && h->buffer_offset <= size &&
		       !(h->buffer_offset % 8);
	if (h->kind != NVS_SPOOL_BUFFERS || h->buffers > MAX_BUFFERS)
		return false;
	if (page_bytes(h) < MIN_PAGE || page_bytes(h) > MAX_PAGE || page_bytes(h) % MIN_PAGE)
		return false;
	if (h->buffer_bytes < MIN_PAGE || h->buffer_bytes > 1ull << 32 ||
	    h->buffer_bytes & (h->buffer_bytes - 1))
		return false;
	if (h->buffer_offset % 8 || h->buffer_offset > size)
		return false;
	return (size - h->buffer_offset) / (page_bytes(h) + h->buffer_bytes) >= h->buffers;
}

static bool try_open(struct nvs_trace *t, struct nvs_spool_file *f, const char *path,
		     bool any_session)
{
	struct stat st;

	/* The path may come from an untrusted trace: open regular files only. */
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0) {
		f->fd = 0;
		return false;
	}
	f->size = 0;
	if (fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		f->size = (uint64_t)st.st_size;
	if (f->size >= sizeof(f->head) && nvs_spool_read(f->fd, &f->head, sizeof(f->head), 0) &&
	    is_head_valid(&f->head, f->size) &&
	    (any_session ||
	     !memcmp(f->head.session, t->session.header.session, sizeof(f->head.session)))) {
		f->path = strdup(path);
		return true;
	}
	close(f->fd);
	f->fd = 0;
	return false;
}

/* Looks next to the trace, or at the path given by an option or the trace; SUFFIX is appended. */
static bool find_spool(struct nvs_trace *t, struct nvs_spool_file *f, const char *suffix,
		       bool any_session)
{
	const char *attr = t->session.attr[NVS_ATTR_SPOOL], *base = t->path, *dot = ".spool";

	for (int i = 0; i < 2; i++) {
		char *name;
		bool found;

		if (t->options.spool || i) {
			base = t->options.spool ? t->options.spool : attr;
			dot = "";
			/* From a trace accept only absolute paths, and only spools of the same
			 * session. */
			if (!t->options.spool && (!attr || attr[0] != '/'))
				return false;
			any_session = any_session && t->options.spool;
		}
		if (!strcmp(base, "-") || asprintf(&name, "%s%s%s", base, dot, suffix) < 0)
			continue;
		found = try_open(t, f, name, any_session);
		free(name);
		if (found || t->options.spool)
			return found;
	}
	return false;
}

/* Records the submissions after the last doorbell that was certainly rung. */
static void note_uncertain(struct nvs_trace *t, struct nvs_spool_cursor *c)
{
	struct nvs_spool_file *f = t->spools;
	uint64_t pos = c->head.rung;
	const struct nvs_rec *rec;
	const char *what;

	if (pos > c->head.head || c->head.head - pos > c->bytes || pos % 8 || c->head.head % 8)
		return;
	while (pos < c->head.head && (rec = nvs_spool_cursor_record(f, c, pos, &what))) {
		const struct nvs_rec_submission *s = (const void *)rec;

		pos += rec->size;
		if (rec->type != NVS_REC_SUBMISSION || f->nuncertain >= NVS_MAX_UNCERTAIN)
			continue;
		if (!f->uncertain)
			f->uncertain = calloc(1, NVS_MAX_UNCERTAIN * sizeof(*f->uncertain));
		if (!f->uncertain)
			return;
		f->uncertain[f->nuncertain].channel = s->channel;
		f->uncertain[f->nuncertain++].sequence = s->sequence;
	}
}

bool nvs_spool_uncertain(const struct nvs_trace *t, uint32_t channel, uint64_t sequence)
{
	const struct nvs_spool_file *f = t->spools;

	for (uint32_t i = 0; i < f->nuncertain; i++)
		if (f->uncertain[i].channel == channel && f->uncertain[i].sequence == sequence)
			return true;
	return false;
}

static void open_buffers(struct nvs_trace *t, struct nvs_spool_file *f)
{
	for (uint32_t i = 0; i < f->head.buffers; i++) {
		struct nvs_spool_cursor *c = f->buffers + i;
		uint64_t page = page_bytes(&f->head);
		uint64_t at = f->head.buffer_offset + i * (page + f->head.buffer_bytes);

		c->number = i;
		c->bytes = f->head.buffer_bytes;
		c->base = at + page;
		if (!nvs_spool_read(f->fd, &c->head, sizeof(c->head), at))
			memset(&c->head, 0, sizeof(c->head));
		if (!f->head.ended && !t->running)
			note_uncertain(t, c);
	}
}

static int open_file(struct nvs_trace *t, struct nvs_spool_file *f)
{
	uint32_t n;

	if (f->head.kind == NVS_SPOOL_LATE)
		f->head.buffers = 1;
	n = f->head.buffers ? f->head.buffers : 1;
	t->running |= nvs_spool_running(f);
	f->buffers = calloc(1, n * sizeof(*f->buffers));
	f->heap = calloc(1, n * sizeof(*f->heap));
	if (!f->buffers || !f->heap || !f->path)
		return -ENOMEM;
	for (int i = 0; i < 2; i++)
		if (f->head.clock_mono_ns[i])
			nvs_clock_add(t, f->head.clock_ticks[i], f->head.clock_mono_ns[i],
				      f->head.clock_real_ns[i]);
	if (f->head.kind == NVS_SPOOL_LATE) {
		f->buffers->base = f->head.buffer_offset;
		f->buffers->head.head = f->size - f->buffers->base;
	} else {
		open_buffers(t, f);
	}
	return 0;
}

static void close_file(struct nvs_spool_file *f)
{
	if (f->fd > 0)
		close(f->fd);
	for (uint32_t i = 0; f->buffers && i < f->head.buffers; i++)
		free(f->buffers[i].buf);
	free(f->buffers);
	free(f->heap);
	free(f->uncertain);
	free(f->path);
	memset(f, 0, sizeof(*f));
}

/* The user named a file that is not the trace's spool. With several traces it may be another one's,
 * which is a finding, not an error. */
static int check_named(struct nvs_trace *t, struct nvs_error *err)
{
	const char *path = t->options.spool;
	struct nvs_spool_file f = {0};
	bool is_spool;

	if (access(path, R_OK))
		return nvs_fail(err, -errno, "%s: %s", path, strerror(errno));
	is_spool = try_open(t, &f, path, true);
	close_file(&f);
	return is_spool ? 0 : nvs_fail(err, -EINVAL, "%s: is not a spool", path);
}

int nvs_spool_open(struct nvs_trace *t, bool any_session, struct nvs_error *err)
{
	int r = 0;

	if (find_spool(t, t->spools, "", any_session)) {
		t->session.spool_read = true;
		r = open_file(t, t->spools);
	} else if (t->options.spool) {
		r = check_named(t, err);
	}
	/* If the thread buffers' spool still exists, late records are in a second file. */
	if (!r && !any_session && find_spool(t, t->spools + 1, ".late", false))
		r = t->spools[1].head.kind == NVS_SPOOL_LATE ? open_file(t, t->spools + 1) : 0;
	return r;
}

void nvs_spool_close(struct nvs_trace *t)
{
	close_file(t->spools);
	close_file(t->spools + 1);
}

bool nvs_spool_has_buffers(const struct nvs_trace *t)
{
	return t->spools->buffers && t->spools->head.kind == NVS_SPOOL_BUFFERS;
}

void nvs_spool_mark_seen(struct nvs_trace *t, const struct nvs_buffer_range *range)
{
	struct nvs_spool_cursor *c;

	if (!nvs_spool_has_buffers(t) || range->buffer >= t->spools->head.buffers)
		return;
	c = t->spools->buffers + range->buffer;
	if (range->from != c->seen)
		nvs_trace_add_finding(t, NVS_FINDING_PROBLEM,
				      "thread buffer %u: bytes %llu to %llu are in no frame",
				      range->buffer, (ull)c->seen, (ull)range->from);
	if (range->to > c->seen)
		c->seen = range->to;
}

void nvs_spool_restart(struct nvs_trace *t)
{
	for (uint32_t i = 0; t->spools->buffers && i < t->spools->head.buffers; i++)
		t->spools->buffers[i].seen = 0;
}

/* ---- merging ---- */

static bool is_earlier(const struct nvs_spool_cursor *a, const struct nvs_spool_cursor *b)
{
	return a->time != b->time ? a->time < b->time : a->number < b->number;
}

static void sift_down(struct nvs_spool_file *f, uint32_t i)
{
	for (;;) {
		uint32_t least = i, left = 2 * i + 1;
		struct nvs_spool_cursor *c = f->heap[i];

		for (uint32_t k = left; k < left + 2 && k < f->heap_count; k++)
			if (is_earlier(f->heap[k], f->heap[least]))
				least = k;
		if (least == i)
			return;
		f->heap[i] = f->heap[least];
		f->heap[least] = c;
		i = least;
	}
}

/* Finds the record at the cursor. Returns false if there is none, or it cannot be read. */
static bool find_record(struct nvs_trace *t, struct nvs_spool_file *f, struct nvs_spool_cursor *c)
{
	const struct nvs_rec *rec;
	const char *what;

	if (!c->bytes)
		nvs_spool_cursor_skip_holes(f, c);
	if (c->pos >= c->head.head)
		return false;
	rec = nvs_spool_cursor_record(f, c, c->pos, &what);
	if (rec) {
		c->time = rec->time;
		return true;
	}
	/* A plain spool may end in the middle of a record that was being appended. */
	if (c->bytes)
		nvs_trace_add_finding(
			t, NVS_FINDING_PROBLEM,
			"%s: thread buffer %u, position %llu: %s; the %llu bytes after it are lost",
			f->path, c->number, (ull)c->pos, what, (ull)(c->head.head - c->pos));
	else
		nvs_trace_add_finding(t, NVS_FINDING_REMARK, "%s: offset %llu: %s", f->path,
				      (ull)(c->base + c->pos), what);
	c->pos = c->head.head;
	return false;
}

static bool begin_buffer(struct nvs_trace *t, struct nvs_spool_file *f, struct nvs_spool_cursor *c)
{
	uint64_t head = c->head.head;

	c->buf_len = 0;
	if (!c->bytes) {
		c->pos = 0;
		return find_record(t, f, c);
	}
	if (c->head.tail > c->seen)
		nvs_trace_add_finding(
			t, NVS_FINDING_PROBLEM,
			"thread buffer %u: bytes %llu to %llu are in frames missing from the file",
			c->number, (ull)c->seen, (ull)c->head.tail);
	c->pos = c->head.tail > c->seen ? c->head.tail : c->seen;
	if (head <= c->pos)
		return false;
	if (head - c->pos > c->bytes || head % 8 || c->pos % 8) {
		nvs_trace_add_finding(t, NVS_FINDING_PROBLEM,
				      "%s: thread buffer %u: head %llu and tail %llu are invalid",
				      f->path, c->number, (ull)head, (ull)c->pos);
		return false;
	}
	return find_record(t, f, c);
}

bool nvs_spool_start(struct nvs_trace *t, uint32_t which)
{
	struct nvs_spool_file *f = t->spools + which;

	t->spool = f;
	f->heap_count = f->flight_buffer = f->flight_call = 0;
	/* While it is being recorded, data that is not in frames may be overwritten at any time. */
	for (uint32_t i = 0; f->buffers && i < f->head.buffers && !t->running; i++)
		if (begin_buffer(t, f, f->buffers + i))
			f->heap[f->heap_count++] = f->buffers + i;
	for (uint32_t i = f->heap_count / 2; i-- > 0;)
		sift_down(f, i);
	return f->buffers;
}

/* Adds the call site, if the library had time to record it. */
static void add_site(struct nvs_spool_file *f, const struct nvs_spool_site *site,
		     const struct nvs_spool_call *call)
{
	uint32_t nargs = site->nargs < NVS_SITE_ARGS ? site->nargs : NVS_SITE_ARGS;

	if (site->number != call->number + 1 || site->begin != call->begin)
		return;
	f->flight.rec.rec.flags |= NVS_BEGIN_SITED;
	f->flight.rec.rec.size += (uint32_t)sizeof(f->flight.site) + nargs * 8;
	f->flight.site = (struct nvs_call_begin_site){site->stack, nargs, site->absent, 0};
	memcpy(f->flight.args, site->args, nargs * 8ul);
}

/* After all records, returns the calls that each buffer's thread had not returned from. */
static int next_in_flight(struct nvs_trace *t, const struct nvs_rec **rec)
{
	struct nvs_spool_file *f = t->spool;
	uint64_t last = f->head.heard > t->session.last_time ? f->head.heard : t->session.last_time;

	if (f->head.kind != NVS_SPOOL_BUFFERS || f->head.ended)
		return 0;
	for (; f->flight_buffer < f->head.buffers; f->flight_buffer++, f->flight_call = 0) {
		const struct nvs_spool_buffer *buffer = &f->buffers[f->flight_buffer].head;
		const struct nvs_spool_call *call = &buffer->calls[f->flight_call];

		if (!buffer->tid || f->flight_call >= buffer->ncalls ||
		    f->flight_call >= NVS_SPOOL_CALLS)
			continue;
		f->flight.rec = (struct nvs_rec_call_begin){
			.rec = {NVS_REC_CALL_BEGIN, NVS_BEGIN_IN_FLIGHT, sizeof(f->flight.rec),
				last},
			.thread = buffer->thread,
			.api = call->api,
			.number = call->number,
			.begin = call->begin,
			.depth = f->flight_call + 1,
		};
		if (!f->flight_call++)
			add_site(f, &buffer->site, call);
		*rec = &f->flight.rec.rec;
		return 1;
	}
	return 0;
}

int nvs_spool_next(struct nvs_trace *t, const struct nvs_rec **rec, struct nvs_error *err)
{
	struct nvs_spool_file *f = t->spool;
	struct nvs_spool_cursor *c;
	const char *what;

	if (!f->heap_count)
		return next_in_flight(t, rec);
	c = f->heap[0];
	*rec = nvs_spool_cursor_record(f, c, c->pos, &what);
	if (!*rec)
		return nvs_fail(err, -EBADMSG, "%s: changed while it was read: %s", f->path, what);
	/* The record stays in the window until nvs_spool_advance(). */
	c->pos += (*rec)->size;
	return 1;
}

void nvs_spool_advance(struct nvs_trace *t)
{
	struct nvs_spool_file *f = t->spool;

	if (!f->heap_count)
		return;
	if (!find_record(t, f, f->heap[0]))
		f->heap[0] = f->heap[--f->heap_count];
	if (f->heap_count)
		sift_down(f, 0);
}

/* ---- losses that were not recorded because of the kill ---- */

static void report_loss(struct nvs_trace *t, const struct nvs_spool_channel *s)
{
	struct nvs_counts *c = &t->session.counts;
	struct nvs_channel_state *chan;
	uint64_t claimed = s->claim >> NVS_PUT_BITS, lost = s->lost & ~NVS_LOST_CHANGING;

	if (s->channel == NVS_NONE)
		return;
	chan = nvs_number_get(&t->channels, s->channel);
	/* Killed after the loss was recorded, before it was reset. */
	if (s->lost & NVS_LOST_CHANGING && chan && s->lost_from < chan->pub.next_sequence)
		lost = 0;
	if (lost && s->lost_reason == NVS_GAP_CHOICE) {
		c->skipped_submissions += lost;
		c->skipped_bytes += s->lost_bytes;
		if (chan) {
			chan->pub.counts.skipped_submissions += lost;
			chan->pub.counts.skipped_bytes += s->lost_bytes;
		}
	} else if (lost) {
		c->lost_submissions += lost;
		c->lost_bytes += s->lost_bytes;
		nvs_trace_add_finding(t, NVS_FINDING_PROBLEM,
				      "channel %u: %llu submissions from %llu on were lost (%s)",
				      s->channel, (ull)lost, (ull)s->lost_from,
				      nvs_gap_reason_name(s->lost_reason));
	} else if (chan && claimed > chan->pub.next_sequence + t->spools->head.buffers) {
		nvs_trace_add_finding(t, NVS_FINDING_PROBLEM,
				      "channel %u: %llu submissions were begun, %llu are recorded",
				      s->channel, (ull)claimed, (ull)chan->pub.next_sequence);
	}
}

void nvs_spool_done(struct nvs_trace *t)
{
	const struct nvs_spool_file *f = t->spools;

	if (!nvs_spool_has_buffers(t) || f->head.ended || !f->head.done_offset)
		return;
	for (uint32_t i = 0; i < f->head.channels && i < NVS_MAX_NUMBER; i++) {
		struct nvs_spool_done s;
		struct nvs_channel_state *chan;

		if (!nvs_spool_read(f->fd, &s, sizeof(s), f->head.done_offset + i * sizeof(s)))
			return;
		chan = s.address ? nvs_number_get(&t->channels, s.channel) : NULL;
		if (!chan || chan->pub.gone)
			continue;
		chan->pub.done = (struct nvs_channel_done){s.address, {s.value[0], s.value[1]}};
		chan->pub.done_time = s.time;
		chan->pub.done_get = s.get;
	}
}

void nvs_spool_report_losses(struct nvs_trace *t)
{
	const struct nvs_spool *h = &t->spools->head;

	if (!nvs_spool_has_buffers(t) || t->running)
		return;
	for (uint32_t i = 0; i < h->channels && i < NVS_MAX_NUMBER; i++) {
		struct nvs_spool_channel s;

		if (!nvs_spool_read(t->spools->fd, &s, sizeof(s),
				    h->channel_offset + i * sizeof(s)))
			break;
		report_loss(t, &s);
	}
	if (h->lost_submissions || h->lost_bytes)
		nvs_trace_add_finding(t, NVS_FINDING_PROBLEM,
				      "%llu submissions, %llu bytes lost without a gap record",
				      (ull)h->lost_submissions, (ull)h->lost_bytes);
	if (h->orphans)
		nvs_trace_add_finding(t, NVS_FINDING_PROBLEM,
				      "%llu orphan doorbells without a record", (ull)h->orphans);
}
